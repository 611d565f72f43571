#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""blockdev-add and blockdev-del, permissions between users of a node, drivers and their options."""
import os

from lib import OK, Disk, QtestCase, main, pattern

CONFLICT = ("Permission conflict on node '%s': permissions '%s' are both required by %s (uses node "
            "'%s' as 'root' child) and unshared by %s (uses node '%s' as 'root' child).")


class BlockNodes(QtestCase):
    def start(self, *args):
        self.path = self.image(size=1 << 20)
        self.second = self.image('second.raw', size=1 << 20)
        return self.vm('-blockdev', 'file,node-name=f0,filename=' + self.path,
                       '-blockdev', 'raw,node-name=d0,file=f0',
                       '-blockdev', 'null-co,node-name=d1,size=1048576',
                       '-blockdev', 'null-co,node-name=n0,size=1048576',
                       '-drive', 'if=none,id=x0,format=raw,file=' + self.image('x.raw', 1 << 20),
                       '-device', 'virtio-blk-pci,id=v0,drive=d0',
                       '-device', 'virtio-blk-pci,id=v1,drive=d1', *args)

    def add(self, vm, error=None, **options):
        reply = vm.execute('blockdev-add', {k.replace('_', '-'): v for k, v in options.items()})
        if error:
            self.assertEqual(reply.get('error', {}).get('desc'), error)
        else:
            self.assertEqual(reply, {'return': {}})

    def test_delete(self):
        vm = self.start()
        for node, text in (('d0', 'Node d0 is in use'), ('f0', 'Block device f0 is in use'),
                           ('d1', 'Node d1 is in use'),
                           ('nosuch', "Failed to find node with node-name='nosuch'"),
                           ('', "Failed to find node with node-name=''")):
            self.qmp_fails(vm, 'blockdev-del', text, node_name=node)
        vm.qmp('blockdev-del', node_name='n0')
        self.assertNotIn('n0', vm.nodes())
        self.qmp_fails(vm, 'blockdev-del', "Failed to find node with node-name='n0'",
                       node_name='n0')

    def test_add(self):
        vm = self.start()
        before = vm.footprint()
        add = self.add
        add(vm, driver='null-co', error="'node-name' must be specified for the root node")
        add(vm, driver='null-co', node_name='n0', error="Duplicate nodes with node-name='n0'")
        add(vm, driver='nosuch', node_name='n1',
            error="Parameter 'driver' does not accept value 'nosuch'")
        add(vm, driver='null-co', node_name='n1', foo=1, error="Parameter 'foo' is unexpected")
        add(vm, driver='null-co', node_name='n1', size='1',
            error="Invalid parameter type for 'size', expected: integer")
        add(vm, driver='file', node_name='n1', filename=self.tmp + '/nosuch',
            error="Could not open '%s/nosuch': No such file or directory" % self.tmp)
        add(vm, driver='raw', node_name='n1', file='zz',
            error="Cannot find device='zz' nor node-name='zz'")
        add(vm, driver='file', node_name='n3', filename=self.second, aio='native',
            error='aio=native was specified, but it requires cache.direct=on, which was not '
                  'specified.')
        add(vm, driver='null-co', node_name='0bad', error="Invalid node-name: '0bad'")
        add(vm, driver='raw', node_name='n1', error="Parameter 'file' is missing")
        add(vm, node_name='n1', error="Parameter 'driver' is missing")
        self.leaves_nothing(vm, before)
        add(vm, driver='null-co', node_name='n1', size=1 << 20)
        add(vm, driver='raw', node_name='n2', file='n1')
        add(vm, driver='raw', node_name='n3', file={'driver': 'file', 'filename': self.second})
        self.assertEqual(vm.nodes(), sorted(['d0', 'd1', 'f0', 'n0', 'n1', 'n2', 'n3']))
        self.qmp_fails(vm, 'blockdev-del', 'Block device n1 is in use', node_name='n1')
        for node in ('n2', 'n1', 'n3'):
            vm.qmp('blockdev-del', node_name=node)
        self.leaves_nothing(vm, before)

    def test_add_and_delete_many_times(self):
        vm = self.start()
        footprint = None
        for turn in range(100):
            self.add(vm, driver='raw', node_name='n3', read_only=bool(turn % 2),
                     file={'driver': 'file', 'filename': self.second, 'node-name': 'f3'})
            vm.qmp('blockdev-del', node_name='n3')
            if turn == 5:
                footprint = vm.footprint()
        self.leaves_nothing(vm, footprint)

    def test_two_writers(self):
        vm = self.start('-device', 'pcie-root-port,id=rp0,chassis=1,slot=1')
        v0, e = ("block device '/machine/peripheral/%s/virtio-backend'" % n for n in ('v0', 'e'))
        reply = vm.execute('device_add', {'driver': 'virtio-blk-pci', 'id': 'e', 'drive': 'd0',
                                          'bus': 'rp0'})
        self.assertEqual(reply['error']['desc'],
                         CONFLICT % ('d0', 'write', v0, 'd0', e, 'd0'))

    def test_shared_node(self):
        path = self.image('shared.raw', 1 << 20)
        vm = self.vm('-blockdev', 'raw,node-name=d0,file.driver=file,file.filename=' + path,
                     '-object', 'iothread,id=t0', '-object', 'iothread,id=t1',
                     '-device', 'virtio-blk-pci,id=v0,drive=d0,share-rw=on,iothread=t0',
                     '-device', 'virtio-blk-pci,id=v1,drive=d0,share-rw=on,iothread=t0')
        disks = [Disk.start(vm, v) for v in ('v0', 'v1')]
        for i, disk in enumerate(disks):
            self.assertEqual(disk.write(0, 8 * i, pattern(i, 4096)), OK)
        for i, disk in enumerate(disks):
            self.assertEqual(disk.read(0, 8 - 8 * i, 4096), pattern(1 - i, 4096))

    def test_offset_and_size(self):
        path = self.image('part.raw', fill=pattern('part', 1 << 20), size=1 << 20)
        vm = self.vm('-blockdev', 'raw,node-name=d0,offset=65536,size=131072,file.driver=file,'
                     'file.filename=' + path, '-device', 'virtio-blk-pci,id=v0,drive=d0')
        disk = Disk.start(vm)
        self.assertEqual(disk.driver.capacity(), 256)
        data = pattern('part', 1 << 20)
        self.assertEqual(disk.read(0, 0, 131072), data[65536:196608])
        self.assertEqual(disk.read_status(0, 256, 512), 1)
        self.assertEqual(disk.write(0, 255, bytes(512)), OK)
        self.assertEqual(self.file_bytes(path, 196096, 1024), bytes(512) + data[196608:197120])

    def test_null_drivers(self):
        for driver in ('null-co', 'null-aio'):
            vm = self.vm('-blockdev', driver + ',node-name=d0,read-zeroes=on,size=1048576',
                         '-object', 'iothread,id=t0',
                         '-device', 'virtio-blk-pci,id=v0,drive=d0,iothread=t0')
            disk = Disk.start(vm)
            self.assertEqual(disk.write(0, 0, pattern(1, 4096)), OK)
            self.assertEqual(disk.read(0, 0, 4096), bytes(4096))
            self.assertEqual(disk.driver.capacity(), 2048)
            vm.close()
        vm = self.vm('-blockdev', 'null-co,node-name=d0', '-device', 'virtio-blk-pci,id=v0,drive=d0')
        self.assertEqual(Disk.start(vm).driver.capacity(), 2097152)

    def test_drive_forms(self):
        """-drive with nested options, pseudo-JSON, file: and null-co:// names, after its device."""
        path = self.image('d.raw', size=1 << 20)
        for drive, capacity in (
                ('file=null-co://,file.read-zeroes=on,format=raw', 2097152),
                ('file=json:{"driver":"null-co",,"size":65536}', 128),
                ('driver=null-co,size=65536', 128),
                ('format=raw,file.driver=file,file.filename=' + path, 2048),
                ('format=raw,file=file:' + path, 2048),
                ('format=raw,auto-read-only=off,file=' + path, 2048),
                ('format=raw,cache=none,aio=native,file=' + path, 2048),
                ('format=raw,cache=unsafe,discard=unmap,detect-zeroes=unmap,file=' + path, 2048),
                ('format=raw,node-name=named,read-only=on,file=' + path, 2048)):
            with self.subTest(drive):
                vm = self.vm('-device', 'virtio-blk-pci,id=v0,drive=x',
                             '-drive', 'if=none,id=x,' + drive)
                disk = Disk.start(vm)
                self.assertEqual(disk.driver.capacity(), capacity)
                self.assertEqual(disk.read(0, 0, 512), bytes(512))
                vm.close()

    def test_short_file(self):
        """A size that is no multiple of a sector: the rest of the last sector reads as zeroes."""
        path = os.path.join(self.tmp, 'odd.raw')
        with open(path, 'wb') as f:
            f.write(b'\x5a' * 1000)
        vm = self.vm('-blockdev', 'raw,node-name=d0,file.driver=file,file.filename=' + path,
                     '-device', 'virtio-blk-pci,id=v0,drive=d0')
        disk = Disk.start(vm)
        self.assertEqual(disk.driver.capacity(), 2)
        self.assertEqual(disk.read(0, 0, 1024), b'\x5a' * 1000 + bytes(24))
        self.assertEqual(disk.write(0, 1, b'\xa5' * 512), OK)
        self.assertEqual(disk.read(0, 0, 1024), b'\x5a' * 512 + b'\xa5' * 512)

    def test_file_cut_behind_our_back(self):
        """Reads behind the end of a file that became shorter give zeroes, not noise."""
        path = self.image('cut.raw', fill=pattern('cut', 1 << 20), size=1 << 20)
        vm = self.vm('-blockdev', 'raw,node-name=d0,file.driver=file,file.filename=' + path,
                     '-device', 'virtio-blk-pci,id=v0,drive=d0')
        disk = Disk.start(vm)
        os.truncate(path, 65536 + 100)
        self.assertEqual(disk.read(0, 128, 4096),
                         pattern('cut', 1 << 20)[65536:65636] + bytes(3996))
        self.assertEqual(disk.read(0, 1024, 4096), bytes(4096))

    def test_empty_disk(self):
        path = self.image('empty.raw', size=0)
        vm = self.vm('-blockdev', 'raw,node-name=d0,file.driver=file,file.filename=' + path,
                     '-device', 'virtio-blk-pci,id=v0,drive=d0')
        disk = Disk.start(vm)
        self.assertEqual(disk.driver.capacity(), 0)
        self.assertEqual(disk.read_status(0, 0, 512), 1)
        self.assertEqual(disk.flush(0), OK)


if __name__ == '__main__':
    main()
