# SPDX-License-Identifier: GPL-2.0-or-later
"""PCI: configuration cycles, enumeration with bridges, BARs, capabilities, MSI-X."""
import struct

COMMAND, STATUS, HEADER_TYPE, CAP_POINTER = 0x04, 0x06, 0x0e, 0x34
CMD_IO, CMD_MEM, CMD_MASTER, CMD_INTX_DISABLE = 1, 2, 4, 0x400
CAP_VENDOR, CAP_MSIX, CAP_PCIE, CAP_PM = 0x09, 0x11, 0x10, 0x01


class PciTopology:
    """Numbers the buses behind bridges and hands out addresses.

    Bridges get fixed windows, so that what is plugged later fits as well.
    """
    IO_BASE, MEM_BASE, WINDOW_BASE = 0xc000, 0xe0000000, 0xc4000000
    WINDOW = 0x01000000

    def __init__(self, vm):
        self.vm = vm
        self.next_bus = 1
        self.io = {0: self.IO_BASE}
        self.mem = {0: self.MEM_BASE}
        self.windows = self.WINDOW_BASE
        self.io_windows = 0x8000

    def read(self, bdf, offset, size=4):
        bus, dev, fn = bdf
        qt = self.vm.qt
        qt.outl(0xcf8, 0x80000000 | bus << 16 | dev << 11 | fn << 8 | offset & 0xfc)
        return {1: qt.inb, 2: qt.inw, 4: qt.inl}[size](0xcfc + (offset & 3))

    def write(self, bdf, offset, value, size=4):
        bus, dev, fn = bdf
        qt = self.vm.qt
        qt.outl(0xcf8, 0x80000000 | bus << 16 | dev << 11 | fn << 8 | offset & 0xfc)
        {1: qt.outb, 2: qt.outw, 4: qt.outl}[size](0xcfc + (offset & 3), value)

    def functions(self, bus):
        """The functions that answer on a bus."""
        found = []
        for dev in range(32):
            for fn in range(8):
                if self.read((bus, dev, fn), 0, 2) == 0xffff:
                    if fn == 0:
                        break
                    continue
                found.append((bus, dev, fn))
                if fn == 0 and not self.read((bus, dev, 0), HEADER_TYPE, 1) & 0x80:
                    break
        return found

    def setup_bridges(self, bus=0):
        """Numbers all buses below `bus`; returns the number of the last one."""
        last = bus
        for bdf in self.functions(bus):
            if self.read(bdf, HEADER_TYPE, 1) & 0x7f != 1:
                continue
            if self.read(bdf, 0x19, 1):
                continue
            secondary = self.next_bus
            self.next_bus += 1
            self.write(bdf, 0x18, bus, 1)
            self.write(bdf, 0x19, secondary, 1)
            self.write(bdf, 0x1a, 0xff, 1)
            if bus == 0:
                base, size = self.windows, self.WINDOW
                self.windows += size
                io_base, io_size = self.io_windows, 0x1000
                self.io_windows += io_size
            else:
                # A bridge behind a bridge takes the upper half of what its parent has left.
                base = self.mem[bus] + self.WINDOW // 4
                base -= base % (self.WINDOW // 4)
                size = self.WINDOW // 4
                io_base, io_size = self.io[bus] & ~0xfff, 0x1000
            self.write(bdf, 0x20, base >> 16 & 0xfff0 | (base + size - 1) & 0xfff00000)
            self.write(bdf, 0x24, 0x0000fff0)
            self.write(bdf, 0x1c, io_base >> 8 & 0xf0 | (io_base + io_size - 1) & 0xf000, 2)
            self.write(bdf, COMMAND, CMD_IO | CMD_MEM | CMD_MASTER, 2)
            self.io[secondary], self.mem[secondary] = io_base, base
            end = self.setup_bridges(secondary)
            self.write(bdf, 0x1a, end, 1)
            last = max(last, end)
        return max(last, self.next_bus - 1)

    def address_of(self, qdev_id):
        """(bus, device, function) of a device by its id, from query-pci."""
        def search(buses):
            for bus in buses:
                for dev in bus.get('devices', []):
                    if dev['qdev_id'] == qdev_id:
                        return bus['bus'], dev['slot'], dev['function']
                    inner = dev.get('pci_bridge')
                    if inner and 'devices' in inner:
                        number = inner['bus']['secondary']
                        found = search([{'bus': number, 'devices': inner['devices']}])
                        if found:
                            return found
            return None
        found = search(self.vm.qmp('query-pci'))
        if found is None:
            raise AssertionError('query-pci does not show ' + qdev_id)
        return found

    def take(self, bus, kind, size):
        """An address range on a bus."""
        pool = self.io if kind == 'io' else self.mem
        size = max(size, 0x80 if kind == 'io' else 0x1000)
        start = -(-pool[bus] // size) * size
        pool[bus] = start + size
        return start


class Bar:
    def __init__(self, index, kind, size, flags):
        self.index, self.kind, self.size, self.flags = index, kind, size, flags
        self.addr = None

    def __repr__(self):
        return '%d:%s/%x' % (self.index, self.kind, self.size)


class PciDevice:
    def __init__(self, topology, bdf):
        self.topology = topology
        self.vm = topology.vm
        self.qt = topology.vm.qt
        self.bdf = bdf
        self.bars = {}
        self.msix = None

    def read(self, offset, size=4):
        return self.topology.read(self.bdf, offset, size)

    def write(self, offset, value, size=4):
        self.topology.write(self.bdf, offset, value, size)

    def dump(self):
        return b''.join(struct.pack('<I', self.read(o)) for o in range(0, 256, 4))

    def size_bars(self):
        """Finds the BARs by writing all ones, as firmware does."""
        self.bars = {}
        index = 0
        while index < 6:
            offset = 0x10 + 4 * index
            old = self.read(offset)
            self.write(offset, 0xffffffff)
            mask = self.read(offset)
            self.write(offset, old)
            if mask == 0:
                index += 1
                continue
            if mask & 1:
                size = -(mask & 0xfffffffc | 0xffff0000) & 0xffffffff
                self.bars[index] = Bar(index, 'io', size, mask & 3)
            elif mask & 6 == 4:
                old_high = self.read(offset + 4)
                self.write(offset + 4, 0xffffffff)
                high = self.read(offset + 4)
                self.write(offset + 4, old_high)
                size = -(high << 32 | mask & 0xfffffff0) & (1 << 64) - 1
                self.bars[index] = Bar(index, 'mem64', size, mask & 0xf)
                index += 1
            else:
                size = -(mask & 0xfffffff0) & 0xffffffff
                self.bars[index] = Bar(index, 'mem32', size, mask & 0xf)
            index += 1
        return self.bars

    def move_bar(self, index, addr):
        bar = self.bars[index]
        self.write(0x10 + 4 * index, addr & 0xffffffff)
        if bar.kind == 'mem64':
            self.write(0x14 + 4 * index, addr >> 32)
        bar.addr = addr

    def enable(self, command=CMD_IO | CMD_MEM | CMD_MASTER):
        self.write(COMMAND, command, 2)

    def map(self):
        """Gives every BAR an address and switches the device on."""
        self.size_bars()
        for index, bar in self.bars.items():
            self.move_bar(index, self.topology.take(self.bdf[0], bar.kind, bar.size))
        self.enable()
        return self

    def capabilities(self):
        """[(id, offset)] in the order of the chain."""
        found = []
        pointer = self.read(CAP_POINTER, 1) & 0xfc
        while pointer and len(found) < 48:
            found.append((self.read(pointer, 1), pointer))
            pointer = self.read(pointer + 1, 1) & 0xfc
        return found

    def capability(self, wanted):
        return next((offset for cap, offset in self.capabilities() if cap == wanted), None)


class Msix:
    """The MSI-X table of a device, each vector aimed at a word of guest memory."""

    def __init__(self, device):
        self.device, self.qt = device, device.qt
        self.cap = device.capability(CAP_MSIX)
        if self.cap is None:
            raise AssertionError('no MSI-X capability')
        control = device.read(self.cap + 2, 2)
        table, pba = device.read(self.cap + 4), device.read(self.cap + 8)
        self.count = (control & 0x7ff) + 1
        self.table = device.bars[table & 7].addr + (table & ~7)
        self.pba = device.bars[pba & 7].addr + (pba & ~7)
        self.words = device.vm.alloc(4 * self.count, 64)

    @staticmethod
    def message(vector):
        return 0xabc00000 + vector + 1

    def setup(self):
        for v in range(self.count):
            self.set_entry(v, self.words + 4 * v, self.message(v))
        self.control(enable=True)
        self.clear()

    def set_entry(self, vector, addr, data, masked=False):
        entry = self.table + 16 * vector
        self.qt.writel(entry, addr & 0xffffffff)
        self.qt.writel(entry + 4, addr >> 32)
        self.qt.writel(entry + 8, data)
        self.qt.writel(entry + 12, int(masked))

    def mask(self, vector, masked=True):
        self.qt.writel(self.table + 16 * vector + 12, int(masked))

    def control(self, enable, function_mask=False):
        self.device.write(self.cap + 2, (0x8000 if enable else 0) | (0x4000 if function_mask else 0), 2)

    def pending(self, vector):
        return bool(self.qt.readl(self.pba + vector // 32 * 4) >> vector % 32 & 1)

    def clear(self):
        self.qt.memset(self.words, 4 * self.count, 0)

    def fired(self):
        """The vectors that have been delivered since clear()."""
        words = struct.unpack('<%dI' % self.count, self.qt.read(self.words, 4 * self.count))
        for v, word in enumerate(words):
            if word not in (0, self.message(v)):
                raise AssertionError('vector %d wrote 0x%x' % (v, word))
        return {v for v, word in enumerate(words) if word}
