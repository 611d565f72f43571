#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers and sizes on the command line: which forms are taken, what they mean, how others are
refused."""
from lib import QtestCase, is_spindle, main, run_binary
from lib.process import accel_args

MIB = 1 << 20


class NumberForms(QtestCase):
    def start(self, *args, machine='q35', **kwargs):
        return run_binary(['-machine', machine, *accel_args(self.tmp, paused=True), '-display', 'none',
                           '-nodefaults', '-S', *args], **kwargs)

    def refused(self, texts, *args, **kwargs):
        done = self.start(*args, **kwargs)
        self.assertEqual(done.returncode, 1, (args, done.stderr))
        for text in texts:
            self.assertIn(text, done.stderr, args)

    def ram(self, *args):
        with self.vm(*args) as vm:
            return vm.qmp('query-memory-size-summary')['base-memory']

    def test_memory_sizes(self):
        for text, size in (('300', 300 * MIB), ('0300', 300 * MIB), ('+300', 300 * MIB),
                           (' 300', 300 * MIB), ('300.0', 300 * MIB), ('314572800.b', 300 * MIB),
                           ('307200k', 300 * MIB), ('0.25G', 256 * MIB), ('.25g', 256 * MIB),
                           ('1.G', 1024 * MIB), ('314572800b', 300 * MIB), ('size=300M', 300 * MIB),
                           ('100,size=300', 300 * MIB), ('0.00048828125T', 512 * MIB)):
            with self.subTest(text):
                self.assertEqual(self.ram('-m', text), size)

    def test_memory_is_whole_pages(self):
        for text, size in (('300.001M', 300 * MIB + 8192), ('1048577b', MIB + 8192), ('1', MIB),
                           ('314564609b', 300 * MIB), ('1.1M', 1155072), ('300.', 8192)):
            with self.subTest(text):
                self.assertEqual(self.ram('-m', text), size)

    def test_memory_sizes_that_are_none(self):
        for text in ('0x200', '0X200', '0x20000000', 'size=0x200', '18446744073709551615',
                     '17592186044416'):
            with self.subTest(text):
                self.refused(["Parameter 'memory.size' expects size"], '-m', text)
                if is_spindle():
                    self.refused(['-m ' + text], '-m', text)
        for text in ('x', '1e3', '512MB', '512MiB', '1.5', '0x', '0x10M', '', '1Z', '512 ', '--1'):
            with self.subTest(text):
                self.refused(["-m size=%s: Parameter 'size' expects a non-negative number" % text],
                             '-m', 'size=' + text)
        for text in '-0', '-1', '16E', '18446744073709551616', '99999999999999999999':
            with self.subTest(text):
                self.refused(["-m %s: Value '%s' is out of range for parameter 'size'" % (text, text)],
                             '-m', text)
        self.refused(['slots specified but no max-size'], '-m', '512,slots=0')
        self.refused(["Parameter 'slots' expects a number"], '-m', '512,slots=2.5,maxmem=1G')

    def test_backend_sizes(self):
        for text, size in (('0x200000', 2 * MIB), ('0X200000', 2 * MIB), ('2097152', 2 * MIB),
                           ('2097152.0', 2 * MIB), ('2097152.', 2 * MIB), ('2M', 2 * MIB),
                           ('.5M', MIB // 2), (' 4096', 4096), ('4097', 4097)):
            with self.subTest(text), self.vm('-object', 'memory-backend-ram,id=m,size=' + text) as vm:
                self.assertEqual(vm.qmp('qom-get', path='/objects/m', property='size'), size)
        for text in 'x', '', '1.5', '1kB', '-1', '-0', '16E', '0x1k', '4096 ', '1e3':
            with self.subTest(text):
                self.refused(["Parameter 'size' expects a size value"], '-object',
                             'memory-backend-ram,id=m,size=' + text)
        self.refused(["'size' of memory-backend-ram doesn't take value '0'"], '-object',
                     'memory-backend-ram,id=m,size=0')
        self.refused(["Property 'memory-backend-memfd.hugetlbsize' doesn't take value '0'"], '-object',
                     'memory-backend-memfd,id=m,size=2M,hugetlb=on,hugetlbsize=0')

    def test_processors(self):
        for text, count in (('2', 2), ('02', 2), ('0x2', 2), ('cpus=0x2,maxcpus=0x4', 2),
                            ('sockets=2', 2), ('+2', 2), (' 2', 2)):
            with self.subTest(text), self.vm('-smp', text) as vm:
                self.assertEqual(len(vm.qmp('query-cpus-fast')), count)
        for text in 'x', '2.0', '2k', '2 ', 'cpus=', '18446744073709551616':
            with self.subTest(text):
                self.refused(["Parameter 'smp.cpus' expects integer"], '-smp', text)

    def test_help_lists_parameters(self):
        for option, words, parameter in (('-m', '512,help', 'size=<size>'),
                                         ('-rtc', 'help', 'base=<str>'), ('-rtc', '?', 'base=<str>'),
                                         ('-name', 'x,help', 'process=<str>'),
                                         ('-msg', 'help', 'timestamp=<bool (on/off)>'),
                                         ('-action', 'panic=none,help', 'panic=<str>'),
                                         ('-overcommit', 'help', 'mem-lock=<str>'),
                                         ('-run-with', 'help', 'async-teardown=<bool (on/off)>')):
            with self.subTest(option + ' ' + words):
                done = self.start(option, words)
                self.assertEqual((done.returncode, done.stderr), (1, ''))
                self.assertIn('  ' + parameter, done.stdout)
        done = self.start('-boot', 'help')
        self.assertEqual(done.returncode, 0)
        self.assertIn('  order=<str>', done.stdout)

    def test_words_that_are_not_help(self):
        self.refused(["Parameter 'size' expects a non-negative number"], '-m', 'help')
        self.refused(["Parameter 'type' does not accept value 'help'"], '-numa', 'help')
        self.refused(["Invalid parameter 'help'"], '-numa', 'node,help')
        self.refused(["Invalid parameter 'help'"], '-smbios', 'type=1,help')
        with self.vm('-name', 'help') as vm:
            self.assertEqual(vm.qmp('query-name'), {'name': 'help'})

    def test_options_without_id(self):
        for option, words in (('-m', '512'), ('-rtc', 'base=utc'), ('-numa', 'node'), ('-name', 'x'),
                              ('-action', 'panic=none')):
            with self.subTest(option):
                self.refused(["Invalid parameter 'id'"], option, words + ',id=a')


if __name__ == '__main__':
    main()
