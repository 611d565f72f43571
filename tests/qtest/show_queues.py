#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Shows the one thing that this program is for: a disk of four queues on three IOThreads over a
real file, each queue served by its own thread. `make run` runs it.

usage: show_queues.py [--binary PATH] [--queues N] [--threads N] [--requests N]
"""
import argparse
import json
import os
import sys
import tempfile


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--binary', default=None)
    parser.add_argument('--queues', type=int, default=4)
    parser.add_argument('--threads', type=int, default=3)
    parser.add_argument('--requests', type=int, default=200)
    return parser.parse_args()


def main():
    args = parse()
    if args.binary:
        os.environ['SPINDLE_TEST_BINARY'] = os.path.abspath(args.binary)
    from lib import OK, VM, Disk, cpu_ns, pattern, switches, version_text

    print(version_text().splitlines()[0])
    threads = ['io%d' % t for t in range(args.threads)]
    with tempfile.TemporaryDirectory(prefix='spindle-run.') as directory:
        path = os.path.join(directory, 'disk.raw')
        with open(path, 'wb') as f:
            f.truncate(64 << 20)
        options = []
        for t in threads:
            # Without polling every request wakes its thread, so that the kernel's count of context
            # switches shows who works.
            options += ['-object', 'iothread,id=%s,poll-max-ns=0' % t]
        options += ['-blockdev', 'raw,node-name=disk0,file.driver=file,file.filename=' + path,
                    '-device', json.dumps({
                        'driver': 'virtio-blk-pci', 'id': 'vd0', 'drive': 'disk0',
                        'num-queues': args.queues,
                        'iothread-vq-mapping': [{'iothread': t} for t in threads]})]
        print('qemu-system-x86_64 -machine q35 -accel qtest', ' '.join(
            "'%s'" % o if '{' in o else o for o in options).replace(path, 'disk.raw'), end='\n\n')
        with VM(*options) as vm:
            disk = Disk.start(vm, 'vd0', msix=True)
            ids = vm.iothreads()
            print('%-6s %-8s %8s %9s   %s' % ('queue', 'thread', 'requests', 'CPU in us',
                                              'context switches meanwhile: ' + ', '.join(threads)))
            good = True
            for q in range(args.queues):
                disk.flush(q)
                before = {t: (switches(vm.pid, ids[t]), cpu_ns(vm.pid, ids[t])) for t in threads}
                for i in range(args.requests):
                    sector = 8 * (args.requests * q + i) % (1 << 17)
                    data = pattern((q, i), 4096)
                    if disk.write(q, sector, data) != OK or \
                            (i % 10 == 0 and disk.read(q, sector, 4096) != data):
                        sys.exit('queue %d: request %d failed' % (q, i))
                woken = {t: switches(vm.pid, ids[t]) - before[t][0] for t in threads}
                mine = max(threads, key=woken.get)
                used = cpu_ns(vm.pid, ids[mine]) - before[mine][1]
                good = good and mine == threads[q % len(threads)]
                print('%-6d %-8s %8d %9d   %s' % (q, mine, args.requests, used // 1000, ', '.join(
                    '%d' % woken[t] for t in threads)))
            disk.flush(0)
        print('\nEvery write succeeded, every tenth was read back and compared; queue n is served by thread n mod %d.'
              % len(threads) if good else '\nA queue was not served by its thread.')
        return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
