#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How long an emulator takes from exec to the guest's first instructions, and how much memory it
takes besides the guest's RAM.

usage: start.py [-n ROUNDS] [-c CASE]... [-b SECONDS] [-o DIR] EMULATOR_A [EMULATOR_B]

Both get the same arguments, alternately; medians and their ratios are printed. The guest is the bare
one, whose first instructions write to the serial port; the reference runs its firmware before.
Memory is the resident set half a second later, less that of mappings as large as the guest's RAM
(at least 128 MiB). -b ends a case after so many seconds, but not before the third round. -o leaves
start.json and start.txt there.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import threading
import time

import host
import vqload

RAM_MAPPING = 128 << 20
LIMIT = 120
DISK_SIZE = 64 << 20

TWO_THREADS = ['-object', 'iothread,id=t0', '-object', 'iothread,id=t1']
DISK = ['-blockdev', 'driver=null-co,node-name=d0,size=1073741824,read-zeroes=off',
        '-device', json.dumps({'driver': 'virtio-blk-pci', 'id': 'vd0', 'drive': 'd0', 'num-queues': 4,
                               'iothread-vq-mapping': [{'iothread': 't0'}, {'iothread': 't1'}]})]
MEMFD = ['-machine', 'memory-backend=m', '-object', 'memory-backend-memfd,id=m,size=1G,share=on']


def disks(directory, count):
    """So many disks on files."""
    args = []
    for i in range(count):
        path = os.path.join(directory, 'disk%d.raw' % i)
        with open(path, 'wb') as f:
            f.truncate(DISK_SIZE)
        args += ['-blockdev', 'driver=file,filename=%s,node-name=f%d,aio=io_uring' % (path, i),
                 '-blockdev', 'driver=raw,file=f%d,node-name=n%d' % (i, i),
                 '-device', 'virtio-blk-pci,drive=n%d,iothread=t%d' % (i, i % 2)]
    return args


def cases(directory):
    qmp = 'unix:%s/qmp,server=on,wait=off' % directory
    return {
        'q35': ['-M', 'q35', '-m', '512', *TWO_THREADS, *DISK],
        'pc': ['-M', 'pc', '-m', '512', *TWO_THREADS, *DISK],
        'q35-4cpus-4G': ['-M', 'q35', '-smp', '4', '-m', '4G', *TWO_THREADS, *DISK],
        'memfd-qmp': ['-M', 'q35', '-m', '1G', '-smp', '2', *MEMFD, '-qmp', qmp, *TWO_THREADS, *DISK],
        '8disks': ['-M', 'q35', '-m', '512', *TWO_THREADS, *disks(directory, 8)],
    }


def memory(pid):
    """Resident bytes without the guest's RAM."""
    total = size = 0
    with open('/proc/%d/smaps' % pid) as f:
        for line in f:
            m = re.match(r'([0-9a-f]+)-([0-9a-f]+) ', line)
            if m:
                size = int(m.group(2), 16) - int(m.group(1), 16)
            elif line.startswith('Rss:') and size < RAM_MAPPING:
                total += int(line.split()[1]) << 10
    return total


def start(emulator, elf, args):
    """(seconds, bytes) of one start"""
    argv = [emulator, '-accel', 'kvm', '-cpu', vqload.CPU_MODEL, '-nodefaults', '-display', 'none',
            '-serial', 'stdio', '-monitor', 'none', '-no-reboot', *args,
            '-kernel', elf, '-append', 'q=4 t=60']
    begin = time.monotonic()
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    killer = threading.Timer(LIMIT, process.kill)
    killer.start()
    try:
        first = process.stdout.read(1)
        seconds = time.monotonic() - begin
        if first:
            time.sleep(0.5)
            return seconds, memory(process.pid)
    finally:
        killer.cancel()
        process.kill()
        err = process.stderr.read().decode(errors='replace')
        process.wait()
    raise SystemExit('%s did not start the guest: %s' % (emulator, err.strip()[-500:]))


def measure(o, elf, args):
    """For each emulator a list of (seconds, bytes)."""
    rounds = [[] for _ in o.emulators]
    begin = time.monotonic()
    for n in range(o.n):
        if n >= 3 and time.monotonic() - begin > o.b:
            break
        order = range(len(o.emulators))
        for i in order if n % 2 == 0 else reversed(order):
            rounds[i].append(start(o.emulators[i], elf, args))
    return rounds


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('-n', type=int, default=10, help='rounds (10)')
    ap.add_argument('-c', action='append', help='a case')
    ap.add_argument('-b', type=float, default=60, help='seconds for a case (60)')
    ap.add_argument('-o', metavar='DIR', help='where to leave JSON and text')
    ap.add_argument('emulators', nargs='+')
    o = ap.parse_args()
    if len(o.emulators) > 2:
        ap.error('one or two emulators')
    host.kvm_or_exit()
    directory = host.Storage().directory
    elf = vqload.build(directory)
    known = cases(directory)
    for name in o.c or []:
        if name not in known:
            ap.error('no case %s; there are %s' % (name, ', '.join(known)))
    lines, result = [], {}

    def say(line):
        lines.append(line)
        print(line, flush=True)

    say('%-14s %6s' % ('case', 'rounds') + ''.join(
        ' | start %s ms  MiB besides RAM' % chr(65 + i) for i in range(len(o.emulators))) +
        (' | A/B start memory' if len(o.emulators) > 1 else ''))
    for name in o.c or known:
        rounds = measure(o, elf, known[name])
        medians = [[statistics.median(r[k] for r in own) for k in (0, 1)] for own in rounds]
        line = '%-14s %6d' % (name, len(rounds[0]))
        for seconds, size in medians:
            line += ' | %10.1f  %15.1f' % (seconds * 1000, size / (1 << 20))
        if len(medians) > 1:
            line += ' |     %5.3f %6.2f' % tuple(a / b for a, b in zip(*medians))
        say(line)
        result[name] = rounds
    if o.o:
        os.makedirs(o.o, exist_ok=True)
        with open(os.path.join(o.o, 'start.json'), 'w') as f:
            json.dump({'machine': host.particulars(), 'emulators': o.emulators, 'rounds': result}, f)
        with open(os.path.join(o.o, 'start.txt'), 'w') as f:
            f.write('\n'.join(lines) + '\n')


if __name__ == '__main__':
    main()
