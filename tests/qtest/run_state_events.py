#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The order in which clients see what becomes of the machine: events, then the reply."""
import json
import signal

from lib import QtestCase, main


class RunStateEvents(QtestCase):
    def talk(self, vm, command, **arguments):
        """All messages up to the reply, without time stamps."""
        q = vm.qmp_client
        vm.qt.flush()
        q.send_raw(json.dumps({'execute': command, 'arguments': arguments}) + '\n')
        out = []
        while not out or 'event' in out[-1]:
            message = q.read_message()
            if 'event' in message:
                self.assertEqual(sorted(message.pop('timestamp')), ['microseconds', 'seconds'])
            out.append(message)
        return out

    def event(self, name, **data):
        return {'event': name, 'data': data} if data else {'event': name}

    DONE = {'return': {}}

    def test_stop_and_go(self):
        vm = self.vm(paused=True)
        resume, stop = self.event('RESUME'), self.event('STOP')
        self.assertEqual(self.talk(vm, 'cont'), [resume, self.DONE])
        self.assertEqual(self.talk(vm, 'cont'), [self.DONE])
        self.assertEqual(self.talk(vm, 'stop'), [stop, self.DONE])
        self.assertEqual(self.talk(vm, 'stop'), [self.DONE])
        self.assertEqual(self.talk(vm, 'cont'), [resume, self.DONE])

    def test_reset_and_power_button(self):
        vm = self.vm()
        reset = self.event('RESET', guest=False, reason='host-qmp-system-reset')
        self.assertEqual(self.talk(vm, 'system_reset'), [reset, self.DONE])
        self.assertEqual(self.talk(vm, 'system_powerdown'), [self.event('POWERDOWN'), self.DONE])
        vm.qmp('stop')
        vm.take_events('STOP')
        self.assertEqual(self.talk(vm, 'system_reset'), [reset, self.DONE])
        self.assertEqual(vm.status(), 'prelaunch', 'reset while it stands: as if just made')

    def test_quit(self):
        vm = self.vm()
        self.assertEqual(self.talk(vm, 'quit'),
                         [self.event('SHUTDOWN', guest=False, reason='host-qmp-quit'), self.DONE])
        self.assertEqual(vm.wait_exit(), 0)

    def test_signal(self):
        vm = self.vm()
        vm.process.send_signal(signal.SIGTERM)
        event = vm.wait_event('SHUTDOWN')
        self.assertEqual(event['data'], {'guest': False, 'reason': 'host-signal'})
        self.assertEqual(vm.wait_exit(), 0)

    def test_reset_that_is_an_end(self):
        """-action reboot=shutdown with -no-shutdown: the machine stays, and must be reset."""
        vm = self.vm('-no-shutdown')
        self.assertEqual(self.talk(vm, 'set-action', reboot='shutdown'), [self.DONE])
        end = self.event('SHUTDOWN', guest=False, reason='host-qmp-system-reset')
        self.assertEqual(self.talk(vm, 'system_reset'), [end, self.event('STOP'), self.DONE])
        self.assertEqual(vm.status(), 'shutdown')
        self.assertEqual(self.talk(vm, 'cont')[-1]['error']['desc'],
                         'Resetting the Virtual Machine is required')
        self.assertEqual(self.talk(vm, 'system_reset'), [end, self.DONE])


if __name__ == '__main__':
    main()
