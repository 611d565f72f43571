#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Machines of earlier versions show guests the disks that they know: data/machine-versions.json holds,
of each, what differs from the newest one, as measured on the reference (MACHINE_VERSIONS_RECORD=1
writes it)."""
import json
import os

from lib import QtestCase, main
from lib.process import VM

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'data', 'machine-versions.json')
VERSIONS = ('10.0 9.2 9.1 9.0 8.2 8.1 8.0 7.2 7.1 7.0 6.2 6.1 6.0 5.2 5.1 5.0 4.2 4.1 4.0.1 4.0 3.1 '
            '3.0 2.12 2.11 2.10 2.9 2.8 2.7 2.6 2.5 2.4').split()
PATH = '/machine/peripheral/v0'
# Of the user or of the host; and any_layout, of which `features` has what the guest sees.
LEFT_OUT = {'drive', 'iothread', 'type', 'parent_bus', 'virtio-backend', 'virtio-bus', 'legacy-addr',
            'x-disable-pcie', 'migrate-extra', 'any_layout'}


def shown(vm):
    """What this machine's disk is like, as its properties and its features say."""
    out = {}
    for path in (PATH, PATH + '/virtio-backend'):
        for p in vm.qmp('qom-list', path=path):
            if p['name'] in LEFT_OUT or '<' in p['type'] or '[' in p['name']:
                continue
            reply = vm.execute('qom-get', {'path': path, 'property': p['name']})
            if 'return' in reply:
                out[p['name']] = reply['return']
    status = vm.qmp('x-query-virtio-status', path=PATH + '/virtio-backend')
    features = status['host-features']
    out['features'] = sorted(f.split(':')[0]
                             for f in features['transports'] + features['dev-features'])
    return out


class MachineVersions(QtestCase):
    def start(self, kind, version):
        return VM('-blockdev', 'null-co,node-name=d0,size=1048576',
                  '-device', 'virtio-blk-pci,id=v0,drive=d0,addr=5', '-smp', '2',
                  machine='pc-%s-%s' % (kind, version))

    def differences(self, kind):
        """{version: what its disk has that the newest one's has not}."""
        newest, out = None, {}
        for version in VERSIONS:
            if (kind, version) == ('i440fx', '4.0.1'):
                continue
            with self.start(kind, version) as vm:
                now = shown(vm)
            newest = newest or now
            out[version] = {k: v for k, v in sorted(now.items())
                            if k not in newest or newest[k] != v}
        return out

    def check(self, kind):
        found = self.differences(kind)
        if os.environ.get('MACHINE_VERSIONS_RECORD'):
            data = {}
            if os.path.exists(DATA):
                with open(DATA, encoding='utf-8') as f:
                    data = json.load(f)
            data[kind] = found
            with open(DATA, 'w', encoding='utf-8') as f:
                f.write('{' + ',\n'.join('"%s": {\n%s}' % (k, ',\n'.join(
                    '"%s": %s' % (v, json.dumps(d)) for v, d in data[k].items()))
                    for k in sorted(data)) + '}\n')
            return
        with open(DATA, encoding='utf-8') as f:
            expected = json.load(f)[kind]
        self.assertEqual(list(found), list(expected))
        for version in expected:
            with self.subTest(version=version):
                self.assertEqual(found[version], expected[version])

    def test_pc(self):
        self.check('i440fx')

    def test_q35(self):
        self.check('q35')


if __name__ == '__main__':
    main()
