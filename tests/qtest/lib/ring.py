# SPDX-License-Identifier: GPL-2.0-or-later
"""The driver's side of a split virtqueue."""
import struct

from .proc import wait_for

NEXT, WRITE, INDIRECT = 1, 2, 4
AVAIL_NO_INTERRUPT, USED_NO_NOTIFY = 1, 1


class Ring:
    """A virtqueue in guest memory. Several requests may be added before one publish()."""

    def __init__(self, vm, index, size, event_idx=False, indirect=False, legacy=False):
        self.vm, self.qt = vm, vm.qt
        self.index, self.size = index, size
        self.event_idx, self.use_indirect = event_idx, indirect
        avail_at = 16 * size
        used_at = -(-(avail_at + 6 + 2 * size) // 4096) * 4096
        total = used_at + 6 + 8 * size
        base = vm.alloc(total, 4096)
        self.base = base
        self.desc, self.avail, self.used = base, base + avail_at, base + used_at
        self.bytes = total
        self.notify = None
        self.indirect_tables = {}
        self.qt.memset(base, total, 0)
        self.restart()

    def restart(self):
        """Forgets everything, as after a reset of the device; memory must be zeroed by memset."""
        self.free = list(range(self.size - 1, -1, -1))
        self.avail_idx = 0
        self.published = 0
        self.last_used = 0
        self.in_flight = {}
        self.chains = {}

    def zero(self):
        self.qt.memset(self.base, self.bytes, 0)
        self.restart()

    # ---- putting requests on the ring ----

    def write_desc(self, index, addr, size, flags=0, following=0, table=None):
        self.qt.write((self.desc if table is None else table) + 16 * index,
                      struct.pack('<QIHH', addr, size, flags, following))

    def room(self, segments=3):
        return len(self.free) >= (1 if self.use_indirect else segments)

    def add(self, segments, token=None, indirect=None):
        """Puts a chain of (address, length, device writes) on the ring; returns its head.

        It is visible to the device only after publish().
        """
        indirect = self.use_indirect if indirect is None else indirect
        if indirect:
            head = self.free.pop()
            table = self.indirect_tables.get((head, len(segments)))
            if table is None:
                table = self.vm.alloc(16 * len(segments), 16)
                self.indirect_tables[head, len(segments)] = table
            data = b''
            for i, (addr, size, write) in enumerate(segments):
                more = i + 1 < len(segments)
                data += struct.pack('<QIHH', addr, size, (WRITE if write else 0) |
                                    (NEXT if more else 0), i + 1 if more else 0)
            self.qt.write(table, data)
            self.write_desc(head, table, len(data), INDIRECT)
            self.chains[head] = [head]
        else:
            if len(self.free) < len(segments):
                raise AssertionError('ring full')
            chain = [self.free.pop() for _ in segments]
            head = chain[0]
            for i, (addr, size, write) in enumerate(segments):
                more = i + 1 < len(segments)
                self.write_desc(chain[i], addr, size, (WRITE if write else 0) |
                                (NEXT if more else 0), chain[i + 1] if more else 0)
            self.chains[head] = chain
        self.make_available(head, token)
        return head

    def make_available(self, head, token=None):
        self.in_flight[head] = token
        self.qt.writew(self.avail + 4 + 2 * (self.avail_idx % self.size), head)
        self.avail_idx = self.avail_idx + 1 & 0xffff

    def publish(self):
        """Makes everything added so far visible."""
        self.qt.writew(self.avail + 2, self.avail_idx)

    def wants_kick(self):
        """Whether the device asked to be told about what was published since the last kick."""
        old, new = self.published, self.avail_idx
        if self.event_idx:
            event = self.qt.readw(self.used + 4 + 8 * self.size)
            return (new - event - 1 & 0xffff) < (new - old & 0xffff)
        return not self.qt.readw(self.used) & USED_NO_NOTIFY

    def kick(self, force=False):
        """Publishes, and notifies if the device wants that (or by force)."""
        self.publish()
        wanted = force or self.wants_kick()
        self.published = self.avail_idx
        if wanted:
            self.notify()
        self.qt.flush()
        return wanted

    # ---- taking completions ----

    def used_idx(self):
        return self.qt.readw(self.used + 2)

    def ask_for_interrupt(self, on=True, after=0):
        """Wants an interrupt once `after` more requests than now have completed, or none."""
        if self.event_idx:
            event = self.last_used + after if on else self.last_used - 1
            self.qt.writew(self.avail + 4 + 2 * self.size, event & 0xffff)
        self.qt.writew(self.avail, 0 if on or self.event_idx else AVAIL_NO_INTERRUPT)

    def poll(self):
        """[(token, used length)] of what has completed."""
        idx = self.used_idx()
        count = idx - self.last_used & 0xffff
        if count > len(self.in_flight):
            raise AssertionError('queue %d: used index %d is beyond what was made available'
                                 % (self.index, idx))
        done = []
        if count:
            first = self.last_used % self.size
            part = min(count, self.size - first)
            commands = ['read 0x%x 0x%x' % (self.used + 4 + 8 * first, 8 * part)]
            if part < count:
                commands.append('read 0x%x 0x%x' % (self.used + 4, 8 * (count - part)))
            data = b''.join(bytes.fromhex(r[2:]) for r in self.qt.ask_all(commands))
            for i in range(count):
                head, length = struct.unpack_from('<II', data, 8 * i)
                if head not in self.in_flight:
                    raise AssertionError('queue %d: completion of %d, which is not in flight'
                                         % (self.index, head))
                done.append((self.in_flight.pop(head), length))
                self.free += reversed(self.chains.pop(head, []))
            self.last_used = idx
        return done

    def wait(self, count=None, timeout=60):
        """Waits for `count` completions (default: all) and returns them."""
        count = len(self.in_flight) if count is None else count
        done = []

        def enough():
            done.extend(self.poll())
            return len(done) >= count
        wait_for(enough, '%d completions of queue %d' % (count, self.index), timeout)
        return done
