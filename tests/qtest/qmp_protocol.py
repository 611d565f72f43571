#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The QMP protocol itself: greeting, negotiation, ids, errors, resynchronisation, monitors."""
import json
import os
import socket
import subprocess

from lib import QtestCase, main
from lib.process import BINARY, accel_args, popen
from lib.qmp import Qmp

NEGOTIATE = "Expecting capabilities negotiation with 'qmp_capabilities'"
# Line sent; expected reply, whole, or (class, text).
LINES = [
    (b'{"execute":"nosuch"}', ('CommandNotFound', 'The command nosuch has not been found')),
    (b'{"execute":"query-status","arguments":{"x":1}}',
     ('GenericError', "Parameter 'x' is unexpected")),
    (b'{"execute":5}', ('GenericError', "QMP input member 'execute' must be a string")),
    (b'{"execute":true}', ('GenericError', "QMP input member 'execute' must be a string")),
    (b'{}', ('GenericError', "QMP input lacks member 'execute'")),
    (b'{"arguments":{}}', ('GenericError', "QMP input lacks member 'execute'")),
    (b'{"execute":"query-status","foo":1}',
     ('GenericError', "QMP input member 'foo' is unexpected")),
    (b'[1]', ('GenericError', 'QMP input must be a JSON object')),
    (b'"x"', ('GenericError', 'QMP input must be a JSON object')),
    (b'5 ', ('GenericError', 'QMP input must be a JSON object')),
    (b'null ', ('GenericError', 'QMP input must be a JSON object')),
    (b'{"execute":"query-status","arguments":5}',
     ('GenericError', "QMP input member 'arguments' must be an object")),
    (b'{"execute":"query-status","arguments":[]}',
     ('GenericError', "QMP input member 'arguments' must be an object")),
    (b'{"execute":"qom-get","arguments":{"path":"/"}}',
     ('GenericError', "Parameter 'property' is missing")),
    (b'{"execute":"qom-get","arguments":{"path":5,"property":"x"}}',
     ('GenericError', "Invalid parameter type for 'path', expected: string")),
    (b'{"exec-oob":"query-status"}',
     ('GenericError', "QMP input member 'exec-oob' is unexpected")),
    (b'{"execute":"qmp_capabilities"}',
     ('CommandNotFound', 'Capabilities negotiation is already complete, command ignored')),
    (b'{bad}', ('GenericError', "JSON parse error, invalid keyword 'bad'")),
    (b"{'execute':'query-name'}", {'return': {}}),
    (b'{"execute":"query-name"\r\n}', {'return': {}}),
    (b' \t{ "execute" :\n"query-name" }', {'return': {}}),
]
GARBAGE = [b'{]', b'\xff', b'\x01', b'{"execute":"a\x01b"}', b'%p ', b'{"execute":', b']', b'}',
           b'{"a"}', b'{"a":1,}', b'[1,', b'"\x02"', b"'", b'{"execute":"query-name"]', b'\xff\xff\n',
           b'{"\\ud800":1}', b'nul ', b'{{{{', b'[[[[', b'"abc', b'\\']


class QmpProtocol(QtestCase):
    def serve(self, *args, negotiate=False, options=''):
        """A second monitor of a machine, over a socket of our own."""
        path = os.path.join(self.tmp, 'mon.sock')
        vm = self.vm('-chardev', 'socket,id=mon1,server=on,wait=off,path=' + path,
                     '-mon', 'chardev=mon1,mode=control' + options, *args, machine='none')
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(path)
        self.addCleanup(sock.close)
        return vm, Qmp(sock, negotiate=negotiate)

    def test_greeting(self):
        vm, qmp = self.serve()
        line = qmp.read_line()
        self.assertTrue(line.endswith(b'\r'))
        greeting = json.loads(line)
        version = greeting['QMP']['version']
        self.assertEqual(list(greeting), ['QMP'])
        self.assertEqual(version['qemu'], {'micro': 2, 'minor': 0, 'major': 10})
        if vm.spindle:
            self.assertEqual(version['package'], 'spindle-0.1.0')
        self.assertEqual(greeting['QMP']['capabilities'][0], 'oob')
        self.assertEqual(vm.qmp('query-version'), version)

    def test_before_negotiation(self):
        _, qmp = self.serve()
        qmp.read_message()
        for command in ('query-version', 'nosuch', 'quit'):
            self.assertEqual(qmp.execute(command)['error'],
                             {'class': 'CommandNotFound', 'desc': NEGOTIATE})
        reply = qmp.execute('qmp_capabilities', {'enable': ['zz']})
        self.assertEqual(reply['error']['class'], 'GenericError')
        reply = qmp.execute('qmp_capabilities', {'enable': 5})
        self.assertEqual(reply['error']['class'], 'GenericError')
        self.assertEqual(qmp.execute('query-version')['error']['desc'], NEGOTIATE)
        self.assertEqual(qmp.execute('qmp_capabilities'), {'return': {}})
        self.assertIn('return', qmp.execute('query-version'))

    def test_replies(self):
        _, qmp = self.serve(negotiate=True)
        for line, expected in LINES:
            with self.subTest(line):
                qmp.send_raw(line + b'\n')
                reply = qmp.read_reply()
                if isinstance(expected, tuple):
                    expected = {'error': {'class': expected[0], 'desc': expected[1]}}
                self.assertEqual(reply, expected)

    def test_format(self):
        """One line, CRLF, a blank after each colon and comma; where the id goes."""
        _, qmp = self.serve(negotiate=True)

        def line(text):
            qmp.send_raw(text + '\n')
            return qmp.read_line()
        self.assertEqual(line('{"execute":"query-status","id":7}'),
                         b'{"return": {"status": "running", "running": true}, "id": 7}\r')
        self.assertEqual(line('{"execute":"nosuch","id":"x"}'),
                         b'{"id": "x", "error": {"class": "CommandNotFound", '
                         b'"desc": "The command nosuch has not been found"}}\r')
        self.assertEqual(line('{"execute":"query-name"}'), b'{"return": {}}\r')

    def test_ids(self):
        _, qmp = self.serve(negotiate=True)
        for ident in (7, 'x', None, True, 1.5, [1, {'a': 2}], {'a': [1]}, '', -1, 2 ** 63 - 1):
            with self.subTest(ident):
                self.assertEqual(qmp.execute('query-name', id=ident), {'return': {}, 'id': ident})
                reply = qmp.execute('nosuch', id=ident)
                self.assertEqual(reply['id'], ident)
                self.assertIn('error', reply)

    def test_resynchronisation(self):
        """Whatever came before, a valid command on a new line is answered."""
        _, qmp = self.serve(negotiate=True)
        for number, garbage in enumerate(GARBAGE):
            with self.subTest(garbage):
                # 0xff never belongs to a message: it ends whatever has begun.
                qmp.send_raw(garbage + b'\n\xff\n')
                qmp.send_raw(json.dumps({'execute': 'query-name', 'id': number}) + '\n')
                while True:
                    reply = qmp.read_reply()
                    if reply.get('id') == number:
                        break
                    self.assertEqual(reply['error']['class'], 'GenericError')
                self.assertEqual(reply, {'return': {}, 'id': number})

    def test_single_garbage_bytes(self):
        """These need no help to recover from."""
        _, qmp = self.serve(negotiate=True)
        for garbage in (b'{]', b'\xff', b'\x01', b'{"execute":"a\x01b"}', b'%p '):
            with self.subTest(garbage):
                qmp.send_raw(garbage)
                self.assertEqual(qmp.read_reply()['error']['class'], 'GenericError')
                qmp.send_raw(b'\n{"execute":"query-name","id":"after"}\n')
                while True:
                    reply = qmp.read_reply()
                    if 'id' in reply:
                        break
                self.assertEqual(reply, {'return': {}, 'id': 'after'})

    def test_pieces_and_batches(self):
        _, qmp = self.serve(negotiate=True)
        text = json.dumps({'execute': 'query-name', 'id': 'pieces'}).encode() + b'\n'
        for i in range(len(text)):
            qmp.send_raw(text[i:i + 1])
        self.assertEqual(qmp.read_reply(), {'return': {}, 'id': 'pieces'})
        qmp.send_raw(b''.join(json.dumps({'execute': 'query-name', 'id': i}).encode()
                              for i in range(50)))
        self.assertEqual([qmp.read_reply()['id'] for _ in range(50)], list(range(50)))

    def test_large_message(self):
        _, qmp = self.serve(negotiate=True)
        ident = 'x' * 1_000_000
        self.assertEqual(qmp.execute('query-name', id=ident), {'return': {}, 'id': ident})

    def test_deep_nesting_is_refused(self):
        _, qmp = self.serve(negotiate=True)
        qmp.send_raw(b'{"execute":' + b'[' * 5000 + b']' * 5000 + b'}\n')
        self.assertEqual(qmp.read_reply()['error']['class'], 'GenericError')
        qmp.send_raw(b'\xff\n')
        qmp.send_raw(json.dumps({'execute': 'query-name', 'id': 'after'}) + '\n')
        while True:
            reply = qmp.read_reply()
            if reply.get('id') == 'after':
                break
        self.assertEqual(reply['return'], {})

    def test_pretty(self):
        _, qmp = self.serve(options=',pretty=on')
        lines = []
        while not lines or lines[-1] != b'}\r':
            lines.append(qmp.read_line())
        self.assertEqual(lines[:2], [b'{\r', b'    "QMP": {\r'])
        qmp.send_raw(b'{"execute":"qmp_capabilities"}\n')
        self.assertEqual([qmp.read_line() for _ in range(4)],
                         [b'{\r', b'    "return": {\r', b'    }\r', b'}\r'])

    def test_reconnect(self):
        """A monitor whose client has gone greets the next one, and needs negotiation again."""
        vm, qmp = self.serve(negotiate=True)
        path = os.path.join(self.tmp, 'mon.sock')
        for _ in range(5):
            qmp.send_raw(b'{"execute":"query-')
            qmp.close()
            sock = socket.socket(socket.AF_UNIX)
            sock.connect(path)
            qmp = Qmp(sock, negotiate=False)
            self.assertIn('QMP', qmp.read_message())
            self.assertEqual(qmp.execute('query-name')['error']['desc'], NEGOTIATE)
            qmp.execute('qmp_capabilities')
            self.assertEqual(qmp.execute('query-name'), {'return': {}})
        qmp.close()
        self.assertEqual(vm.status(), 'running')

    def test_several_monitors(self):
        """Each has its own state; events go to all that have negotiated."""
        vm, qmp = self.serve()
        qmp.read_message()
        vm.qmp('stop')
        vm.wait_event('STOP')
        self.assertEqual(qmp.execute('query-status')['error']['desc'], NEGOTIATE)
        qmp.execute('qmp_capabilities')
        vm.qmp('cont')
        for q in (qmp, vm.qmp_client):
            event = q.wait_event('RESUME')
            self.assertEqual(sorted(event['timestamp']), ['microseconds', 'seconds'])
        self.assertEqual(qmp.take_events('STOP'), [])
        ids = [q.execute('query-name', id=i)['id'] for i in range(10) for q in (qmp, vm.qmp_client)]
        self.assertEqual(ids, [i for i in range(10) for _ in (0, 1)])

    def test_stdio(self):
        p = popen([BINARY, '-machine', 'none', '-display', 'none', '-nodefaults',
                   *accel_args(self.tmp), '-qmp', 'stdio'], stdin=subprocess.PIPE,
                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, err = p.communicate(b'{"execute":"qmp_capabilities"}{"execute":"query-name","id":1}'
                                 b'{"execute":"quit"}', timeout=60)
        self.assertEqual(p.returncode, 0, err)
        messages = [m for m in map(json.loads, out.splitlines()) if 'event' not in m]
        self.assertIn('QMP', messages[0])
        self.assertEqual(messages[1:3], [{'return': {}}, {'return': {}, 'id': 1}])

    def test_oob(self):
        vm, qmp = self.serve()
        qmp.read_message()
        self.assertEqual(qmp.execute('qmp_capabilities', {'enable': ['oob']}), {'return': {}})
        reply = qmp.raw('{"exec-oob":"query-status","id":1}\n')
        self.assertEqual(reply, {'id': 1, 'error': {
            'class': 'GenericError', 'desc': 'The command query-status does not support OOB'}})
        reply = qmp.raw('{"exec-oob":"nosuch","id":2}\n')
        self.assertEqual(reply['error']['class'], 'CommandNotFound')
        reply = qmp.raw('{"execute":"query-status","exec-oob":"query-status"}\n')
        self.assertEqual(reply['error']['class'], 'GenericError')
        # An out-of-band command that exists answers, if only to say that nothing is going on.
        reply = qmp.raw('{"exec-oob":"migrate-pause","id":"p"}\n')
        self.assertEqual(reply['id'], 'p')
        self.assertEqual(reply['error']['class'], 'GenericError')
        # In-band commands keep their order, however many wait.
        qmp.send_raw(''.join(json.dumps({'execute': 'query-name', 'id': i}) + '\n'
                             for i in range(40)))
        self.assertEqual([qmp.read_reply()['id'] for _ in range(40)], list(range(40)))
        self.assertTrue(vm.alive())

    def test_oob_overtakes_a_blocked_main_loop(self):
        """Opening a FIFO blocks; an out-of-band command is answered meanwhile."""
        vm, qmp = self.serve()
        qmp.read_message()
        qmp.execute('qmp_capabilities', {'enable': ['oob']})
        fifo = os.path.join(self.tmp, 'fifo')
        os.mkfifo(fifo)
        # A chardev over a FIFO opens it for writing, and waits for a reader.
        add = {'execute': 'chardev-add', 'id': 'blocked', 'arguments': {
            'id': 'c0', 'backend': {'type': 'file', 'data': {'out': fifo}}}}
        commands = {c['name'] for c in vm.qmp('query-commands')}
        if 'chardev-add' not in commands:
            add = {'execute': 'blockdev-add', 'id': 'blocked', 'arguments': {
                'driver': 'file', 'node-name': 'n', 'filename': fifo, 'read-only': True}}
        qmp.send_raw(json.dumps(add) + '\n')
        qmp.send_raw(json.dumps({'execute': 'query-name', 'id': 'quick'}) + '\n')
        qmp.send_raw('{"exec-oob":"migrate-pause","id":"oob"}\n')
        first = qmp.read_reply()
        # Let it go, whatever came.
        fd = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
        self.addCleanup(os.close, fd)
        self.assertEqual(first['id'], 'oob')
        self.assertEqual(qmp.read_reply()['id'], 'blocked')
        self.assertEqual(qmp.read_reply()['id'], 'quick')

    def test_commands_and_schema_agree(self):
        vm, _ = self.serve()
        commands = {c['name'] for c in vm.qmp('query-commands')}
        schema = vm.qmp('query-qmp-schema')
        self.assertEqual(commands, {e['name'] for e in schema if e['meta-type'] == 'command'})
        for wanted in ('query-version', 'query-commands', 'query-qmp-schema', 'query-status',
                       'query-machines', 'query-iothreads', 'query-block', 'query-blockstats',
                       'query-named-block-nodes', 'query-pci', 'query-chardev', 'query-name',
                       'query-uuid', 'query-kvm', 'query-cpus-fast', 'qom-list', 'qom-get',
                       'qom-set', 'qom-list-types', 'qom-list-properties', 'device-list-properties',
                       'object-add', 'object-del', 'blockdev-add', 'blockdev-del', 'device_add',
                       'device_del', 'block_resize', 'stop', 'cont', 'system_reset', 'quit',
                       'human-monitor-command', 'qmp_capabilities'):
            self.assertIn(wanted, commands)
        # Every type that is named is defined.
        names = {e['name'] for e in schema}
        for e in schema:
            used = []
            if e['meta-type'] == 'command':
                used = [e['arg-type'], e['ret-type']]
            elif e['meta-type'] == 'event':
                used = [e['arg-type']]
            elif e['meta-type'] == 'array':
                used = [e['element-type']]
            elif e['meta-type'] == 'object':
                used = [m['type'] for m in e['members']] + \
                    [v['type'] for v in e.get('variants', [])]
            elif e['meta-type'] == 'alternate':
                used = [m['type'] for m in e['members']]
            for name in used:
                self.assertIn(name, names, e['name'])
        for event in ('STOP', 'RESUME', 'SHUTDOWN', 'RESET', 'DEVICE_DELETED', 'BLOCK_IO_ERROR'):
            self.assertIn(event, {e['name'] for e in schema if e['meta-type'] == 'event'})

    def test_queries_without_arguments_succeed(self):
        """Every query whose arguments are all optional has an answer on a bare machine."""
        vm, _ = self.serve()
        may_fail = {'query-acpi-ospm-status', 'query-hotpluggable-cpus',
                    'query-hv-balloon-status-report', 'query-vm-generation-id', 'x-query-usb',
                    'x-query-jit', 'x-query-opcount', 'xen-event-list', 'query-balloon',
                    'query-pci', 'query-sev', 'query-sev-capabilities', 'query-sgx',
                    'query-sgx-capabilities', 'query-gic-capabilities', 'query-vcpu-dirty-limit',
                    'query-cpu-definitions', 'x-query-virtio', 'query-sev-launch-measure'}
        schema = {e['name']: e for e in vm.qmp('query-qmp-schema')}
        ran = 0
        for name, entry in sorted(schema.items()):
            if entry['meta-type'] != 'command' or 'query-' not in name or name in may_fail:
                continue
            arguments = schema[entry['arg-type']]
            if any('default' not in m for m in arguments['members']):
                continue
            ran += 1
            with self.subTest(name):
                self.assertIn('return', vm.execute(name))
        self.assertGreater(ran, 10)


if __name__ == '__main__':
    main()
