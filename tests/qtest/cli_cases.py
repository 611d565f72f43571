#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Several hundred command lines: exit status and message of each.

The table was measured on the reference. On the reference itself only every tenth is run here.
"""
import re

from lib import QtestCase, is_spindle, main
from lib.cli import check_case, load_cases, make_files, run_case


class CliCases(QtestCase):
    def section(self, pattern):
        cases = [c for c in load_cases() if re.fullmatch(pattern, c['id'])]
        self.assertGreater(len(cases), 20)
        if not is_spindle():
            cases = cases[::10]
        make_files(self.tmp)
        for case in cases:
            with self.subTest(case['id'] + ' ' + case['what']):
                problem = check_case(case, run_case(case, self.tmp))
                if problem:
                    self.fail('%s %s %s\n%s' % (case['before'], case['option'], case['after'],
                                                problem))

    def test_mapping(self):
        self.section(r'A\d+')

    def test_precedence_and_json(self):
        self.section(r'AP\d+')

    def test_legacy_forms(self):
        self.section(r'L\d+')

    def test_device_syntax(self):
        self.section(r'S\d+')

    def test_queues_and_transport(self):
        self.section(r'Q\d+')

    def test_drive(self):
        self.section(r'D\d+')

    def test_geometry_and_policies(self):
        self.section(r'G\d+')

    def test_bus_and_address(self):
        self.section(r'E\d+')

    def test_objects(self):
        self.section(r'O\d+')

    def test_block_devices(self):
        self.section(r'V\d+')


if __name__ == '__main__':
    main()
