# SPDX-License-Identifier: GPL-2.0-or-later
"""Drivers for virtio PCI devices: modern (VIRTIO 1.x) and legacy."""
import struct

from .pci import CAP_VENDOR, Msix, PciDevice
from .ring import Ring

ACKNOWLEDGE, DRIVER, DRIVER_OK, FEATURES_OK, NEEDS_RESET, FAILED = 1, 2, 4, 8, 0x40, 0x80
NO_VECTOR = 0xffff
COMMON, NOTIFY, ISR, DEVICE, PCI_CFG = 1, 2, 3, 4, 5


class F:
    """Feature bits, as masks."""
    SIZE_MAX, SEG_MAX, GEOMETRY, RO, BLK_SIZE = 1 << 1, 1 << 2, 1 << 4, 1 << 5, 1 << 6
    SCSI, FLUSH, TOPOLOGY, CONFIG_WCE, MQ = 1 << 7, 1 << 9, 1 << 10, 1 << 11, 1 << 12
    DISCARD, WRITE_ZEROES = 1 << 13, 1 << 14
    NOTIFY_ON_EMPTY, ANY_LAYOUT, INDIRECT, EVENT_IDX = 1 << 24, 1 << 27, 1 << 28, 1 << 29
    BAD_FEATURE, VERSION_1, ACCESS_PLATFORM = 1 << 30, 1 << 32, 1 << 33
    RING_PACKED, IN_ORDER, RING_RESET = 1 << 34, 1 << 35, 1 << 40
    # What the drivers here take unless told otherwise.
    BLK = SEG_MAX | GEOMETRY | RO | BLK_SIZE | FLUSH | TOPOLOGY | CONFIG_WCE | MQ | DISCARD | \
        WRITE_ZEROES


BLK_CONFIG = ('capacity', 'size_max', 'seg_max', 'cylinders', 'heads', 'sectors', 'blk_size',
              'physical_block_exp', 'alignment_offset', 'min_io_size', 'opt_io_size', 'wce',
              'unused0', 'num_queues', 'max_discard_sectors', 'max_discard_seg',
              'discard_sector_alignment', 'max_write_zeroes_sectors', 'max_write_zeroes_seg',
              'write_zeroes_may_unmap')
BLK_CONFIG_FORMAT = '<QIIHBBIBBHIBBHIIIIIB'


def parse_blk_config(data):
    return dict(zip(BLK_CONFIG, struct.unpack_from(BLK_CONFIG_FORMAT, data)))


class _Virtio:
    """What both drivers have."""

    def __init__(self, device):
        self.pci = device
        self.vm, self.qt = device.vm, device.qt
        self.queues = {}
        self.msix = None
        self.features = 0

    @classmethod
    def find(cls, vm, qdev_id, topology=None):
        """The driver of the device with that id, its BARs mapped."""
        if topology is None:
            topology = getattr(vm, 'pci', None)
        if topology is None:
            from .pci import PciTopology
            topology = vm.pci = PciTopology(vm)
            topology.setup_bridges()
        device = PciDevice(topology, topology.address_of(qdev_id)).map()
        return cls(device)

    def start(self, queues=None, features=None, size=None, event_idx=False, indirect=False,
              msix=None, driver_ok=True, shared_vector=False):
        """The whole initialisation. `queues` is a count or a list of indices (default: all);
        `msix`: None (INTx) or True (a vector each, or as far as there are)."""
        self.reset()
        self.set_status(ACKNOWLEDGE)
        self.set_status(ACKNOWLEDGE | DRIVER)
        offered = self.offered()
        wanted = F.BLK if features is None else features
        wanted |= (F.EVENT_IDX if event_idx else 0) | (F.INDIRECT if indirect else 0)
        self.negotiate(wanted & offered)
        if msix and self.msix is None:
            self.msix = Msix(self.pci)
            self.msix.setup()
        elif self.msix is not None:
            self.msix.setup()
        if queues is None:
            queues = self.queue_count()
        if isinstance(queues, int):
            queues = range(queues)
        if self.msix:
            self.set_config_vector(0)
        self.queues = {}
        for q in queues:
            vector = NO_VECTOR
            if self.msix:
                last = self.msix.count - 1
                vector = 0 if shared_vector else min(1 + q, last)
            self.add_queue(q, size, vector)
        if driver_ok:
            self.driver_ok()
        return self


class VirtioBlk(_Virtio):
    """A modern driver."""
    legacy = False

    def __init__(self, device):
        super().__init__(device)
        self.region = {}
        self.notify_multiplier = 0
        self.device_length = 0
        for cap, offset in device.capabilities():
            if cap != CAP_VENDOR:
                continue
            kind, bar = device.read(offset + 3, 1), device.read(offset + 4, 1)
            if kind not in (COMMON, NOTIFY, ISR, DEVICE) or device.bars[bar].kind == 'io':
                continue
            if kind in self.region:
                continue
            self.region[kind] = device.bars[bar].addr + device.read(offset + 8)
            if kind == NOTIFY:
                self.notify_multiplier = device.read(offset + 16)
        if len(self.region) != 4:
            raise AssertionError('not a modern virtio device')
        self.common, self.isr_addr = self.region[COMMON], self.region[ISR]
        self.config_addr = self.region[DEVICE]

    # ---- common configuration ----

    def offered(self):
        value = 0
        for word in (0, 1):
            self.qt.writel(self.common, word)
            value |= self.qt.readl(self.common + 4) << 32 * word
        return value

    def negotiate(self, wanted):
        self.features = wanted | F.VERSION_1
        for word in (0, 1):
            self.qt.writel(self.common + 8, word)
            self.qt.writel(self.common + 12, self.features >> 32 * word & 0xffffffff)
        self.set_status(ACKNOWLEDGE | DRIVER | FEATURES_OK)
        if not self.status() & FEATURES_OK:
            raise AssertionError('features 0x%x refused' % self.features)

    def status(self):
        return self.qt.readb(self.common + 0x14)

    def set_status(self, value):
        self.qt.writeb(self.common + 0x14, value)

    def reset(self):
        self.set_status(0)
        if self.status() != 0:
            raise AssertionError('status after reset')

    def driver_ok(self):
        self.set_status(ACKNOWLEDGE | DRIVER | FEATURES_OK | DRIVER_OK)
        self.qt.flush()

    def queue_count(self):
        return self.qt.readw(self.common + 0x12)

    def generation(self):
        return self.qt.readb(self.common + 0x15)

    def set_config_vector(self, vector):
        self.qt.writew(self.common + 0x10, vector)
        if self.qt.readw(self.common + 0x10) != vector:
            raise AssertionError('config vector %d refused' % vector)

    def select(self, index):
        self.qt.writew(self.common + 0x16, index)

    def queue_size(self, index):
        self.select(index)
        return self.qt.readw(self.common + 0x18)

    def add_queue(self, index, size=None, vector=NO_VECTOR, enable=True):
        self.select(index)
        biggest = self.qt.readw(self.common + 0x18)
        if not biggest:
            raise AssertionError('no queue %d' % index)
        size = size or min(biggest, 64)
        ring = Ring(self.vm, index, size, bool(self.features & F.EVENT_IDX),
                    bool(self.features & F.INDIRECT))
        self.program_queue(ring, vector, enable)
        self.queues[index] = ring
        return ring

    def program_queue(self, ring, vector=NO_VECTOR, enable=True):
        c, qt = self.common, self.qt
        self.select(ring.index)
        qt.writew(c + 0x18, ring.size)
        for offset, addr in ((0x20, ring.desc), (0x28, ring.avail), (0x30, ring.used)):
            qt.writel(c + offset, addr & 0xffffffff)
            qt.writel(c + offset + 4, addr >> 32)
        qt.writew(c + 0x1a, vector)
        if qt.readw(c + 0x1a) != vector:
            raise AssertionError('vector %d of queue %d refused' % (vector, ring.index))
        offset = qt.readw(c + 0x1e)
        addr = self.region[NOTIFY] + offset * self.notify_multiplier
        ring.notify = lambda: qt.writew(addr, ring.index)
        ring.notify_addr = addr
        if enable:
            qt.writew(c + 0x1c, 1)

    def reset_queue(self, index):
        self.select(index)
        self.qt.writew(self.common + 0x3a, 1)
        return self.qt.readw(self.common + 0x3a), self.qt.readw(self.common + 0x1c)

    # ---- interrupts, device configuration ----

    def isr(self):
        """Reads and thereby clears the interrupt status."""
        return self.qt.readb(self.isr_addr)

    def config_bytes(self, size=57):
        return bytes(int(r, 16) for r in self.qt.ask_all(
            ['readb 0x%x' % (self.config_addr + i) for i in range(size)]))

    def config(self):
        return parse_blk_config(self.config_bytes())

    def capacity(self):
        return self.qt.readq(self.config_addr)


class LegacyVirtioBlk(_Virtio):
    """A legacy (0.9.5) driver: registers in BAR 0, rings named by page number."""
    legacy = True

    def __init__(self, device):
        super().__init__(device)
        if 0 not in device.bars or device.bars[0].kind != 'io':
            raise AssertionError('no legacy BAR')
        self.base = device.bars[0].addr

    def offered(self):
        return self.qt.inl(self.base)

    def negotiate(self, wanted):
        self.features = wanted & 0xffffffff
        self.qt.outl(self.base + 4, self.features)

    def status(self):
        return self.qt.inb(self.base + 0x12)

    def set_status(self, value):
        self.qt.outb(self.base + 0x12, value)

    def reset(self):
        self.set_status(0)
        if self.status() != 0:
            raise AssertionError('status after reset')

    def driver_ok(self):
        self.set_status(ACKNOWLEDGE | DRIVER | DRIVER_OK)
        self.qt.flush()

    def select(self, index):
        self.qt.outw(self.base + 0x0e, index)

    def queue_size(self, index):
        self.select(index)
        return self.qt.inw(self.base + 0x0c)

    def queue_count(self):
        return self.config()['num_queues'] if self.offered() & F.MQ else 1

    def set_config_vector(self, vector):
        self.qt.outw(self.base + 0x14, vector)
        if self.qt.inw(self.base + 0x14) != vector:
            raise AssertionError('config vector %d refused' % vector)

    def add_queue(self, index, size=None, vector=NO_VECTOR, enable=True):
        self.select(index)
        fixed = self.qt.inw(self.base + 0x0c)
        if not fixed:
            raise AssertionError('no queue %d' % index)
        ring = Ring(self.vm, index, fixed, bool(self.features & F.EVENT_IDX),
                    bool(self.features & F.INDIRECT))
        if self.msix:
            self.qt.outw(self.base + 0x16, vector)
            if self.qt.inw(self.base + 0x16) != vector:
                raise AssertionError('vector %d refused' % vector)
        self.qt.outl(self.base + 8, ring.base >> 12)
        ring.notify = lambda: self.qt.outw(self.base + 0x10, index)
        self.queues[index] = ring
        return ring

    def isr(self):
        return self.qt.inb(self.base + 0x13)

    def config_bytes(self, size=57):
        start = self.base + (0x18 if self.msix else 0x14)
        return bytes(int(r, 16) for r in self.qt.ask_all(
            ['inb 0x%x' % (start + i) for i in range(size)]))

    def config(self):
        return parse_blk_config(self.config_bytes())

    def capacity(self):
        return self.config()['capacity']
