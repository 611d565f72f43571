# SPDX-License-Identifier: GPL-2.0-or-later
"""For tests that move the queues of a running disk to other threads."""
import json
import os
import random

from .blk import Disk
from .faults import ignore_file_size_signal
from .load import Load
from .runner import QtestCase

M = 'iothread-vq-mapping'
QUEUES, THREADS = 8, 4
PATH = '/machine/peripheral/v0'


def deal(*names):
    return [{'iothread': n} for n in names]


class RemapCase(QtestCase):
    """A disk of many queues and threads that it may move to."""

    def start(self, file_args='', node=None, poll=32768, mapping=deal('t0'), env=None, node_path=True,
              properties=None, **kwargs):
        self.seed = int(os.environ.get('REMAP_SEED') or random.randrange(1 << 32))
        self.rng = random.Random(self.seed)
        print('# seed %d' % self.seed)
        self.path = self.image(size=8 << 20) if node_path else None
        node = node or 'raw,node-name=d0,file.driver=file,file.filename=%s%s' % (self.path,
                                                                                file_args)
        args = []
        for t in range(THREADS):
            args += ['-object', 'iothread,id=t%d,poll-max-ns=%d' % (t, poll)]
        device = {'driver': 'virtio-blk-pci', 'id': 'v0', 'drive': 'd0', 'num-queues': QUEUES,
                  **(properties or {})}
        if mapping:
            device[M] = mapping
        vm = self.vm('-blockdev', node, *args, '-device', json.dumps(device), env=env,
                     preexec_fn=ignore_file_size_signal)
        return Disk.start(vm, **kwargs)

    def remap(self, disk, mapping):
        disk.vm.qmp('qom-set', path=PATH, property=M, value=mapping)
        self.assertEqual(disk.vm.qmp('qom-get', path=PATH, property=M), mapping)

    def some_mapping(self):
        names = self.rng.sample(['t%d' % t for t in range(THREADS)], self.rng.randint(0, THREADS))
        mapping = deal(*names)
        if names and self.rng.random() < 0.5:
            queues = list(range(QUEUES))
            self.rng.shuffle(queues)
            cuts = sorted(self.rng.sample(range(1, QUEUES), len(names) - 1))
            for entry, start, end in zip(mapping, [0] + cuts, cuts + [QUEUES]):
                entry['vqs'] = queues[start:end]
        return mapping

    def load(self, disk):
        return Load(self, disk, self.path, self.rng)
