# SPDX-License-Identifier: GPL-2.0-or-later
"""A verified load on all queues of a disk."""
from .blk import IN, OK, OUT, pattern


class Load:
    """Each queue has `depth` places on the disk, of 4 KiB each. What is done to a place depends on
    what was done to it before: the next request is made when the last one has completed, and each
    read must give what the last write wrote."""

    def __init__(self, test, disk, path, rng, depth=8):
        self.test, self.disk, self.path, self.rng, self.depth = test, disk, path, rng, depth
        self.contents = {}
        self.busy = {}
        self.done = 0
        self.generation = 0

    def send(self, force=False):
        for q in self.disk.queues:
            for slot in range(self.depth):
                place = (q, slot)
                if place in self.busy or self.rng.random() < 0.5 or not self.disk.queue(q).room():
                    continue
                # Not next to each other, so that some are merged and some are not.
                sector = 8 * ((self.depth + 2) * q + slot + slot // 4)
                if sector in self.contents and self.rng.random() < 0.4:
                    request = self.disk.add(q, IN, sector, size=4096)
                    request.expected = self.contents[sector]
                else:
                    self.generation += 1
                    data = pattern(self.generation, 4096)
                    request = self.disk.add(q, OUT, sector, data=data)
                    request.expected = None
                    self.contents[sector] = data
                request.place = place
                self.busy[place] = request
            self.disk.kick(q, force)

    def take(self, requests):
        for request in requests:
            self.test.assertEqual(request.status(), OK)
            if request.expected is not None:
                self.test.assertEqual(request.read_data(), request.expected)
            self.test.assertIs(self.busy.pop(request.place), request)
            self.disk.release(request)
            self.done += 1

    def reap(self):
        for q in self.disk.queues:
            self.take(self.disk.poll(q))

    def finish(self):
        for q in self.disk.queues:
            self.take(self.disk.reap(q))
        self.test.assertEqual(self.busy, {})
        if self.path:
            self.test.assertEqual(self.disk.flush(0), OK)
            for sector, data in self.contents.items():
                self.test.assertEqual(self.test.file_bytes(self.path, sector * 512, 4096), data)
