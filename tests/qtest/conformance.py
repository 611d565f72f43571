#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The binary under test beside the reference, when that is installed: a sample of the command-line
cases run on both must end alike, except where the table says that we differ."""
import os
import random

from lib import BINARY, REFERENCE, QtestCase, is_spindle, main
from lib.cli import check_case, load_cases, make_files, run_case
from lib.process import version_text

SAMPLE = 90
# What a type of ours cannot be switched on to.
NOT_BUILT = {('pci-bridge', 'shpc')}


# Commands that the reference does not have: our own, and one that a management stack asks of its own
# build of the reference.
OURS_ALONE = {'query-file-io-stats', 'query-virtqueue-stats', 'query-proxmox-support'}


class Conformance(QtestCase):
    def setUp(self):
        if not is_spindle():
            self.skipTest('the binary under test is the reference')
        if not os.access(REFERENCE, os.X_OK):
            self.skipTest('no reference at %s (scripts/install-reference installs it)' % REFERENCE)
        version = version_text(REFERENCE).splitlines()[0]
        if not version.startswith('QEMU emulator version 10.0.') or 'Spindle' in version:
            self.skipTest('%s is not the version that the tables were measured on' % version)

    def test_sample_of_command_lines(self):
        make_files(self.tmp)
        cases = load_cases()
        # Another sample every time; the seed is printed, and can be given.
        seed = os.environ.get('SPINDLE_SAMPLE_SEED') or str(random.randrange(10 ** 6))
        print('# SPINDLE_SAMPLE_SEED=' + seed, flush=True)
        for case in random.Random(seed).sample(cases, SAMPLE):
            with self.subTest(case['id'] + ' ' + case['what']):
                theirs = run_case(case, self.tmp, REFERENCE)
                self.assertIsNone(check_case(case, theirs, REFERENCE), 'the table itself is wrong')
                ours = run_case(case, self.tmp)
                if 'ours' in case:
                    self.assertIsNone(check_case(case, ours))
                    continue
                name = os.path.basename(BINARY)
                self.assertEqual(ours, (theirs[0], theirs[1].replace(
                    os.path.basename(REFERENCE) + ': ', name + ': ')))

    def test_property_lists(self):
        """Types that both have: the same properties of the same types with the same defaults."""
        for kind in ('virtio-blk-pci', 'virtio-blk-device', 'pcie-root-port', 'pci-bridge'):
            with self.subTest(kind):
                lists = []
                for binary in (BINARY, REFERENCE):
                    vm = self.vm(machine='none', binary=binary)
                    lists.append({p['name']: p for p in
                                  vm.qmp('device-list-properties', typename=kind)})
                    vm.close()
                ours, theirs = lists
                for name in ours:
                    self.assertIn(name, theirs)
                    if (kind, name) in NOT_BUILT:
                        continue
                    for key in ('type', 'default-value', 'description'):
                        self.assertEqual(ours[name].get(key), theirs[name].get(key), (name, key))
                if kind.startswith('virtio'):
                    self.assertEqual(sorted(ours), sorted(theirs))

    def test_schema_of_shared_commands(self):
        """Commands that both have take the same arguments: ours may lack optional ones, never have
        others, and never demand what the reference does not."""
        schemas = []
        for binary in (BINARY, REFERENCE):
            vm = self.vm(machine='none', binary=binary)
            schemas.append({e['name']: e for e in vm.qmp('query-qmp-schema')})
            vm.close()
        ours, theirs = schemas
        compared = 0
        for name, entry in ours.items():
            if entry['meta-type'] not in ('command', 'event'):
                continue
            if name in OURS_ALONE:
                self.assertNotIn(name, theirs)
                continue
            self.assertIn(name, theirs)
            compared += 1
            mine = {m['name']: 'default' in m for m in ours[entry['arg-type']]['members']}
            his = {m['name']: 'default' in m for m in
                   theirs[theirs[name]['arg-type']]['members']}
            with self.subTest(name):
                self.assertLessEqual(set(mine), set(his))
                for member, optional in his.items():
                    if not optional:
                        self.assertEqual(mine.get(member), False, member)
        self.assertGreater(compared, 40)


if __name__ == '__main__':
    main()
