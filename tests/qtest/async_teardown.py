#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""-run-with async-teardown=on: a process with the same address space outlives this one, and no more."""
import os
import signal

from lib import QtestCase, main


def children(pid):
    with open('/proc/%d/task/%d/children' % (pid, pid)) as f:
        return [int(n) for n in f.read().split()]


def alive(pid):
    try:
        with open('/proc/%d/stat' % pid) as f:
            return f.read().rsplit(')', 1)[1].split()[0] != 'Z'
    except OSError:
        return False


class AsyncTeardown(QtestCase):
    def helper(self, vm):
        child, = children(vm.pid)
        return child

    def test_off(self):
        for args in ((), ('-run-with', 'async-teardown=off')):
            vm = self.vm(*args)
            self.assertEqual(children(vm.pid), [])
            vm.close()

    def test_ends_after_the_process(self):
        for how in ('quit', signal.SIGTERM, signal.SIGKILL):
            with self.subTest(how=how):
                vm = self.vm('-run-with', 'async-teardown=on')
                helper = self.helper(vm)
                # It has the memory, and none of the descriptors but the one that it waits for.
                with open('/proc/%d/maps' % vm.pid) as a, open('/proc/%d/maps' % helper) as b:
                    self.assertEqual(a.read(), b.read())
                self.assertLessEqual(len(os.listdir('/proc/%d/fd' % helper)), 1)
                if how == 'quit':
                    vm.qmp('quit')
                else:
                    os.kill(vm.pid, how)
                vm.expect_status = -how if how == signal.SIGKILL else 0
                self.assertEqual(vm.wait_exit(), vm.expect_status)
                self.settles(lambda: alive(helper), False, 'the helper ends')
                vm.close()

    def test_signals_are_none_of_its_business(self):
        """Management signals a group of processes; what remains must remain until the end."""
        vm = self.vm('-run-with', 'async-teardown=on')
        helper = self.helper(vm)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(helper, number)
        self.assertEqual(vm.status(), 'running')
        self.assertTrue(alive(helper))


if __name__ == '__main__':
    main()
