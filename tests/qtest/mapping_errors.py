#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every wrong iothread-vq-mapping is refused, with the text that clients match on.

Each case is tried on the command line and by device_add. After all the failed device_adds the
process must be what it was before, and a correct one must work.
"""
import json

from lib import (BINARY, OK, Disk, QtestCase, is_spindle, main, reference_fails, run_binary,
                 threads)
from lib.qmp import QmpError

NODE = ['-blockdev', 'null-co,node-name=d0,read-zeroes=on,size=1073741824']
THREADS = ['-object', 'iothread,id=t0', '-object', 'iothread,id=t1', '-object', 'rng-builtin,id=r0']
MIXED = 'either all items in iothread-vq-mapping must have vqs or none of them must have it'
BOTH = 'iothread and iothread-vq-mapping properties cannot be set at the same time'


def entries(*items):
    return {'iothread-vq-mapping': list(items)}


def t(name, *vqs):
    return {'iothread': name, 'vqs': list(vqs)} if vqs else {'iothread': name}


def missing(name):
    return 'IOThread "%s" object does not exist' % name


def duplicate(name):
    return 'duplicate IOThread name "%s" in iothread-vq-mapping' % name


def range_error(vq, name, queues):
    return 'vq index %d for IOThread "%s" must be less than num_queues %d in iothread-vq-mapping' \
        % (vq, name, queues)


def assigned(vq, name):
    return 'cannot assign vq %d to IOThread "%s" because it is already assigned' % (vq, name)


def unassigned(vq):
    return 'missing vq %d IOThread assignment in iothread-vq-mapping' % vq


def expects(what, kind):
    return "Invalid parameter type for '%s', expected: %s" % (what, kind)


M = 'iothread-vq-mapping'
# (properties beside num-queues=4, error text)
CASES = [
    # Threads
    (entries(t('nosuch')), missing('nosuch')),
    (entries(t('t0'), t('nosuch')), missing('nosuch')),
    (entries(t('')), missing('')),
    (entries(t('T0')), missing('T0')),
    (entries(t('t0 ')), missing('t0 ')),
    (entries(t('r0')), missing('r0')),
    (entries(t('/objects/nosuch')), missing('/objects/nosuch')),
    (entries(t('t0'), t('t0')), duplicate('t0')),
    (entries(t('t0', 0, 1), t('t0', 2, 3)), duplicate('t0')),
    (entries(t('t0', 0, 1), t('t0')), duplicate('t0')),
    (entries(t('t0'), t('t1'), t('t0')), duplicate('t0')),
    # All or none
    (entries(t('t0', 0, 1), t('t1')), MIXED),
    (entries(t('t0'), t('t1', 0, 1)), MIXED),
    (entries(t('t0', 0, 1, 2, 3), t('t1')), MIXED),
    (entries({'iothread': 't0', 'vqs': []}, t('t1', 0, 1, 2, 3)), MIXED),
    (entries(t('t0', 0, 1, 2, 3), {'iothread': 't1', 'vqs': []}), MIXED),
    # Queues
    (entries(t('t0', 0, 1, 2, 4), t('t1', 3)), range_error(4, 't0', 4)),
    (entries(t('t0', 65535)), range_error(65535, 't0', 4)),
    (entries(t('t0', 0, 1), t('t1', 1, 2, 3)), assigned(1, 't1')),
    (entries(t('t0', 0, 0, 1, 2, 3)), assigned(0, 't0')),
    (entries(t('t0', 0, 1), t('t1', 2)), unassigned(3)),
    (entries(t('t0', 1), t('t1', 3)), unassigned(0)),
    (entries(t('t0', 3, 2, 0)), unassigned(1)),
    # Which of several mistakes is reported
    (entries(t('nosuch', 9)), missing('nosuch')),
    (entries(t('t0', 9), t('t0', 1)), range_error(9, 't0', 4)),
    (entries(t('t0'), t('nosuch', 1)), missing('nosuch')),
    (entries(t('t0'), t('t0', 1), t('nosuch')), duplicate('t0')),
    (entries(t('t0', 0, 0, 9)), assigned(0, 't0')),
    (entries(t('t0', 9, 0, 0)), range_error(9, 't0', 4)),
    (entries(t('t0'), t('t1', 99)), MIXED),
    (entries(t('t0', 99), t('t1')), range_error(99, 't0', 4)),
    (entries(t('t0', 0, 0), t('nosuch', 1)), assigned(0, 't0')),
    (entries(t('t0', 0), t('t0', 99)), duplicate('t0')),
    # With other properties
    ({'iothread': 't1', **entries(t('t0'))}, BOTH),
    ({'iothread': 't0', **entries(t('t0'))}, BOTH),
    ({'iothread': 't0', **entries(t('nosuch'))}, BOTH),
    ({'iothread': 'nosuch', **entries(t('t0'))}, "Device 'nosuch' not found"),
    ({'iothread': 't0', 'ioeventfd': False, **entries(t('t1'))}, BOTH),
    ({'ioeventfd': False, **entries(t('t0'))}, 'ioeventfd is required for iothread'),
    ({'ioeventfd': False, **entries(t('nosuch'))}, 'ioeventfd is required for iothread'),
    ({'ioeventfd': False, 'iothread': 't0'}, 'ioeventfd is required for iothread'),
    ({'queue-size': 3, **entries(t('nosuch'))},
     'invalid queue-size property (3), must be a power of 2 (max 1024)'),
    ({'max-discard-sectors': 0, **entries(t('nosuch'))},
     'invalid max-discard-sectors property (0), must be between 1 and 4194303'),
    ({'num-queues': 0, **entries(t('t0'))}, 'num-queues property must be larger than 0'),
    ({'num-queues': 0, **entries(t('t0', 0))}, 'num-queues property must be larger than 0'),
    # Types
    ({M: 't0'}, expects(M, 'array')),
    ({M: 5}, expects(M, 'array')),
    ({M: True}, expects(M, 'array')),
    ({M: None}, expects(M, 'array')),
    ({M: t('t0')}, expects(M, 'array')),
    (entries('t0'), expects(M + '[0]', 'object')),
    (entries(1), expects(M + '[0]', 'object')),
    (entries(None), expects(M + '[0]', 'object')),
    (entries(['t0']), expects(M + '[0]', 'object')),
    (entries(t('t0'), 't1'), expects(M + '[1]', 'object')),
    (entries({'iothread': 1}), expects(M + '[0].iothread', 'string')),
    (entries({'iothread': None}), expects(M + '[0].iothread', 'string')),
    (entries({'iothread': True}), expects(M + '[0].iothread', 'string')),
    (entries({'iothread': ['t0']}), expects(M + '[0].iothread', 'string')),
    (entries({'vqs': [0]}), "Parameter 'iothread-vq-mapping[0].iothread' is missing"),
    (entries({}), "Parameter 'iothread-vq-mapping[0].iothread' is missing"),
    (entries(t('t0'), {}), "Parameter 'iothread-vq-mapping[1].iothread' is missing"),
    (entries({'iothread': 't0', 'vqs': 0}), expects(M + '[0].vqs', 'array')),
    (entries({'iothread': 't0', 'vqs': '0'}), expects(M + '[0].vqs', 'array')),
    (entries({'iothread': 't0', 'vqs': None}), expects(M + '[0].vqs', 'array')),
    (entries({'iothread': 't0', 'vqs': {}}), expects(M + '[0].vqs', 'array')),
    (entries(t('t0', '0')), "Parameter 'iothread-vq-mapping[0].vqs[0]' expects uint64"),
    (entries(t('t0', True)), "Parameter 'iothread-vq-mapping[0].vqs[0]' expects uint64"),
    (entries(t('t0', 1.5)), "Parameter 'iothread-vq-mapping[0].vqs[0]' expects uint64"),
    (entries(t('t0', None)), "Parameter 'iothread-vq-mapping[0].vqs[0]' expects uint64"),
    (entries(t('t0', 0), t('t1', 1, 2, 'x')),
     "Parameter 'iothread-vq-mapping[1].vqs[2]' expects uint64"),
    (entries({'iothread': 't0', 'foo': 1}), "Parameter 'iothread-vq-mapping[0].foo' is unexpected"),
    (entries({'iothread': 't0', 'vq': [0]}), "Parameter 'iothread-vq-mapping[0].vq' is unexpected"),
    (entries(t('t0'), {'iothread': 't1', 'bar': []}),
     "Parameter 'iothread-vq-mapping[1].bar' is unexpected"),
    ({'iothread_vq_mapping': [t('t0')]}, "Property 'virtio-blk-pci.iothread_vq_mapping' not found"),
]

# The reference names a parameter 'null' here.
NO_UINT16 = [
    (entries(t('t0', 65536)), "Parameter 'iothread-vq-mapping[0].vqs[0]' expects uint16"),
    (entries(t('t0', -1)), "Parameter 'iothread-vq-mapping[0].vqs[0]' expects uint16"),
    (entries(t('t0', 0), t('t1', 1, 70000)),
     "Parameter 'iothread-vq-mapping[1].vqs[1]' expects uint16"),
]


def device(properties):
    return {'driver': 'virtio-blk-pci', 'id': 'v0', 'drive': 'd0', 'num-queues': 4, **properties}


class MappingErrors(QtestCase):
    def command_line(self, cases):
        for properties, error in cases:
            text = json.dumps(device(properties))
            with self.subTest(text):
                result = run_binary(['-machine', 'q35', '-accel',
                                     'qtest' if is_spindle() else 'tcg', '-display', 'none',
                                     '-nodefaults', '-S', *NODE, *THREADS, '-device', text])
                self.assertEqual(result.returncode, 1)
                name = BINARY.rsplit('/', 1)[-1]
                self.assertEqual(result.stderr, '%s: -device %s: %s\n' % (name, text, error))

    def device_add(self, cases):
        vm = self.vm(*NODE, *THREADS, '-device', 'pcie-root-port,id=rp0,chassis=1,slot=1')
        before = vm.footprint()
        for properties, error in cases:
            with self.subTest(properties):
                with self.assertRaises(QmpError) as caught:
                    reply = vm.execute('device_add', {**device(properties), 'bus': 'rp0'})
                    if 'error' in reply:
                        raise QmpError(reply, 'device_add')
                self.assertEqual(caught.exception.desc, error)
                self.assertEqual(caught.exception.error_class,
                                 'DeviceNotFound' if error.startswith('Device ')
                                 else 'GenericError')
        # Descriptors and threads that end on their own may take a moment.
        self.leaves_nothing(vm, before)
        # The same id, slot, node and threads are free.
        reply = vm.execute('device_add', {**device(entries(t('t0'), t('t1'))), 'bus': 'rp0'})
        self.assertEqual(reply, {'return': {}})
        disk = Disk.start(vm)
        for q in range(4):
            self.assertEqual(disk.write(q, 0, bytes(512)), OK)
        # Once it has gone, nothing keeps the threads: the failed ones took no reference.
        vm.qmp('device_del', id='v0')
        vm.qmp('system_reset')
        vm.wait_event('DEVICE_DELETED', match=lambda e: e['data'].get('device') == 'v0')
        tids = set(vm.iothreads().values())
        vm.qmp('object-del', id='t0')
        vm.qmp('object-del', id='t1')
        self.assertEqual(vm.iothreads(), {})
        self.settles(lambda: tids & set(threads(vm.pid)), set(), 'threads after object-del')
        vm.qmp('blockdev-del', node_name='d0')

    def test_command_line(self):
        self.command_line(CASES)

    def test_device_add(self):
        self.device_add(CASES)

    @reference_fails("it says \"Parameter 'null' expects uint16_t\", which names no parameter")
    def test_queue_index_that_is_no_uint16(self):
        self.command_line(NO_UINT16)
        self.device_add(NO_UINT16)

    def test_legacy_syntax_cannot_express_it(self):
        for text, error in (
                ('iothread-vq-mapping.0.iothread=t0',
                 "Property 'virtio-blk-pci.iothread-vq-mapping.0.iothread' not found"),
                ('iothread-vq-mapping.0.iothread=t0,iothread-vq-mapping.0.vqs.0=0',
                 None),
                ('iothread-vq-mapping=t0', expects(M, 'array')),
                ('iothread-vq-mapping=', expects(M, 'array')),
                ('iothread-vq-mapping=[{"iothread":"t0"}]', expects(M, 'array'))):
            with self.subTest(text):
                option = 'virtio-blk-pci,drive=d0,' + text
                result = run_binary(['-accel', 'qtest' if is_spindle() else 'tcg', '-display',
                                     'none', '-nodefaults', '-S', *NODE, *THREADS,
                                     '-device', option])
                self.assertEqual(result.returncode, 1)
                if error:
                    self.assertTrue(result.stderr.endswith(
                        ': -device %s: %s\n' % (option, error)), result.stderr)
                else:
                    self.assertIn("Property 'virtio-blk-pci.iothread-vq-mapping.0.", result.stderr)

    @reference_fails('it crashes; a global of a list property is a mistake that can be named')
    def test_global_is_refused(self):
        result = run_binary(['-accel', 'qtest', '-display', 'none', '-nodefaults', '-S', *NODE,
                             *THREADS, '-global', 'virtio-blk-pci.iothread-vq-mapping=t0',
                             '-device', 'virtio-blk-pci,drive=d0'])
        self.assertEqual(result.returncode, 1)
        self.assertIn('iothread-vq-mapping', result.stderr)

    @reference_fails('it aborts without a message')
    def test_more_than_1024_queues(self):
        vm = self.vm(*NODE, *THREADS, '-device', 'pcie-root-port,id=rp0,chassis=1,slot=1')
        for count in (1025, 65534):
            for extra in ({}, entries(t('t0')), entries(t('t0', 0, 1, 2, 3))):
                self.qmp_fails_add(vm, {**extra, 'num-queues': count},
                                   'num-queues property must be between 1 and 1024')

    def qmp_fails_add(self, vm, properties, error):
        reply = vm.execute('device_add', {**device(properties), 'bus': 'rp0'})
        self.assertEqual(reply.get('error', {}).get('desc'), error)


if __name__ == '__main__':
    main()
