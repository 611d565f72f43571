#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""-object secret: as it stands, in base64, in a file, and encrypted by another secret."""
import base64
import os

from lib import QtestCase, main

KEY, IV = bytes(range(32)), bytes(range(16, 32))
# "hello" with AES-256-CBC under KEY and IV, and under another key.
HELLO = base64.b64decode('BGjxpSaepyRbuExk1FbpTQ==')
OTHER = base64.b64decode('JAPeb1L1JMBLYXRayn2qRQ==')


def b64(data):
    return base64.b64encode(data).decode()


class Secrets(QtestCase):
    def file(self, name, data):
        path = os.path.join(self.tmp, name)
        with open(path, 'wb') as f:
            f.write(data)
        return path

    def add(self, vm, **properties):
        """Makes a secret and removes it; returns the error or None."""
        reply = vm.execute('object-add', {'qom-type': 'secret', 'id': 's', **properties})
        if 'error' in reply:
            return reply['error']['desc']
        vm.qmp('object-del', id='s')
        return None

    def keys(self):
        return ['-object', 'secret,id=raw,file=' + self.file('raw', KEY),
                '-object', 'secret,id=text,format=base64,file=' +
                self.file('text', b64(KEY).encode() + b'\n'),
                '-object', 'secret,id=short,file=' + self.file('short', KEY[:16])]

    def test_plain(self):
        vm = self.vm()
        for properties in ({'data': 'abc'}, {'data': ''}, {'data': 'YWJj', 'format': 'base64'},
                           {'file': self.file('f', b'\xff\xfe')}):
            self.assertIsNone(self.add(vm, **properties), properties)

    def test_plain_errors(self):
        vm = self.vm()
        self.assertEqual(self.add(vm), "Either 'file' or 'data' must be provided")
        self.assertEqual(self.add(vm, data='a', file='b'),
                         "'file' and 'data' are mutually exclusive")
        self.assertEqual(self.add(vm, data='!!', format='base64'),
                         'Base64 data contains invalid characters')
        self.assertRegex(self.add(vm, file='/nonexistent'),
                         'Unable to read /nonexistent: .*No such file or directory')

    def test_encrypted(self):
        """That the data are decrypted with that key shows in what comes out of others."""
        vm = self.vm(*self.keys())
        for key in ('raw', 'text'):
            more = {'format': 'base64', 'keyid': key, 'iv': b64(IV)}
            self.assertIsNone(self.add(vm, data=b64(HELLO), **more))
            self.assertEqual(self.add(vm, data=b64(OTHER), **more),
                             'Incorrect number of padding bytes (243) found on decrypted data')

    def test_encrypted_errors(self):
        vm = self.vm(*self.keys())
        good = {'data': b64(HELLO), 'format': 'base64', 'keyid': 'raw', 'iv': b64(IV)}
        for change, error in (
                ({'keyid': 'short'}, 'Key should be 32 bytes in length'),
                ({'keyid': 'nobody'}, "No secret with id 'nobody'"),
                ({'iv': b64(IV[:8])}, 'IV should be 16 bytes in length not 8'),
                ({'data': b64(HELLO[:10])}, 'Length 10 must be a multiple of block size 16'),
                ({'data': 'abc', 'format': 'raw'},
                 'Length 3 must be a multiple of block size 16')):
            with self.subTest(**change):
                self.assertEqual(self.add(vm, **{**good, **change}), error)
        good.pop('iv')
        self.assertEqual(self.add(vm, **good), 'IV is required to decrypt secret')

    def test_nothing_shows_what_it_is(self):
        vm = self.vm('-object', 'secret,id=s,data=Hidden-Words')
        for text in (vm.hmp('info qom-tree /objects'), vm.qmp('qom-list', path='/objects/s'),
                     vm.qmp('query-command-line-options', option='object')):
            self.assertNotIn('Hidden-Words', str(text))


if __name__ == '__main__':
    main()
