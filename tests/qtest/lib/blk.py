# SPDX-License-Identifier: GPL-2.0-or-later
"""virtio-blk requests, on top of either driver."""
import random
import struct

from .ring import Ring
from .virtio import LegacyVirtioBlk, VirtioBlk

IN, OUT, SCSI_CMD, FLUSH, GET_ID, DISCARD, WRITE_ZEROES = 0, 1, 2, 4, 8, 11, 13
OK, IOERR, UNSUPP = 0, 1, 2
POISON = 0xee
SECTOR = 512


def pattern(seed, size):
    """Bytes that only this seed gives."""
    return random.Random(repr(seed)).randbytes(size)


class Request:
    """One request: its buffers in guest memory and, once done, its result."""

    def __init__(self, vm, room, align=None):
        self.vm, self.qt, self.room = vm, vm.qt, room
        if align:
            self.data = vm.alloc(room, align)
            self.header = vm.alloc(17, 16)
            self.status_addr = self.header + 16
        else:
            self.header = vm.alloc(16 + room + 1, 16)
            self.data = self.header + 16
            self.status_addr = self.data + room
        self.done = False
        self.used_len = None
        self.size = 0

    def status(self):
        return self.qt.readb(self.status_addr)

    def read_data(self):
        return self.qt.read(self.data, self.size)


class Disk:
    """A started virtio-blk device and its requests."""

    def __init__(self, driver):
        self.driver = driver
        self.vm, self.qt = driver.vm, driver.qt
        self.spare = {}
        self.align = None  # of data; else it follows the header

    @classmethod
    def start(cls, vm, qdev_id='v0', legacy=False, **kwargs):
        driver = (LegacyVirtioBlk if legacy else VirtioBlk).find(vm, qdev_id)
        driver.start(**kwargs)
        return cls(driver)

    def queue(self, index) -> Ring:
        return self.driver.queues[index]

    @property
    def queues(self):
        return self.driver.queues

    def new_request(self, room):
        room = max(16, 1 << (room - 1).bit_length() if room else 16)
        spare = self.spare.setdefault(room, [])
        return spare.pop() if spare else Request(self.vm, room, self.align)

    def release(self, request):
        """Gives the buffers of a completed request back for reuse."""
        self.spare[request.room].append(request)

    def add(self, queue, kind, sector=0, data=None, size=0, segments=1, indirect=None):
        """Puts a request on a queue; kick() makes the device see it.

        `data` is what the device reads, `size` the length of what it writes; `segments` splits the
        data over that many descriptors.
        """
        ring = self.queue(queue)
        request = self.new_request(len(data) if data else size)
        request.done, request.used_len = False, None
        request.kind, request.sector, request.queue = kind, sector, queue
        request.size = len(data) if data else size
        self.qt.write(request.header, struct.pack('<IIQ', kind, 0, sector))
        if data:
            self.qt.write(request.data, data)
        self.qt.writeb(request.status_addr, POISON)
        chain = [(request.header, 16, False)]
        if request.size:
            step = -(-request.size // segments)
            for start in range(0, request.size, step):
                chain.append((request.data + start, min(step, request.size - start), not data))
        chain.append((request.status_addr, 1, True))
        request.head = ring.add(chain, request, indirect)
        return request

    def kick(self, queue, force=False):
        return self.queue(queue).kick(force)

    def reap(self, queue, count=None, timeout=60):
        """Waits for completions and returns the requests."""
        requests = []
        for request, length in self.queue(queue).wait(count, timeout):
            request.done, request.used_len = True, length
            requests.append(request)
        return requests

    def poll(self, queue):
        requests = []
        for request, length in self.queue(queue).poll():
            request.done, request.used_len = True, length
            requests.append(request)
        return requests

    def request(self, queue, kind, sector=0, data=None, size=0, **kwargs):
        """One request from start to end; the queue must have no other in flight."""
        request = self.add(queue, kind, sector, data, size, **kwargs)
        self.kick(queue)
        done = self.reap(queue, 1)
        if done != [request]:
            raise AssertionError('another request completed')
        return request

    def _simple(self, request):
        status = request.status()
        self.release(request)
        return status

    def write(self, queue, sector, data, **kwargs):
        """Returns the status byte."""
        return self._simple(self.request(queue, OUT, sector, data, **kwargs))

    def read(self, queue, sector, size, **kwargs):
        """Returns the data; the status must be OK."""
        request = self.request(queue, IN, sector, size=size, **kwargs)
        data = request.read_data()
        status = self._simple(request)
        if status != OK:
            raise AssertionError('read of sector %d: status %d' % (sector, status))
        return data

    def read_status(self, queue, sector, size):
        return self._simple(self.request(queue, IN, sector, size=size))

    def flush(self, queue):
        return self._simple(self.request(queue, FLUSH))

    def get_id(self, queue, size=20):
        request = self.request(queue, GET_ID, size=size)
        data = request.read_data()
        if self._simple(request) != OK:
            raise AssertionError('GET_ID failed')
        return data

    def discard(self, queue, sector, count, flags=0):
        return self._simple(self.request(queue, DISCARD,
                                         data=struct.pack('<QII', sector, count, flags)))

    def write_zeroes(self, queue, sector, count, flags=0):
        return self._simple(self.request(queue, WRITE_ZEROES,
                                         data=struct.pack('<QII', sector, count, flags)))
