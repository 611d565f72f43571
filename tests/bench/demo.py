#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots a guest on KVM whose disk has four queues on two IOThreads, and shows which thread served
which queue. `make run` runs it.

usage: demo.py [--binary PATH] [--seconds N] [--directory DIR] [--guest bare|linux]

The guest is Linux where KVM runs guest kernels; where it emulates their kernel mode, as some hosts
that are guests themselves do, it is the bare guest of tests/bench/guest. Which of the two it is, is
tried out.
"""
import argparse
import json
import os
import shlex
import socket
import subprocess
import sys
import tempfile
import threading
import time

import linux_guest
import vqload

TOP = os.path.dirname(os.path.dirname(vqload.HERE))
sys.path.insert(1, os.path.join(TOP, 'tests', 'qtest'))
from lib.qmp import Qmp, QmpError  # noqa: E402
from lib.process import popen      # noqa: E402

QUEUES, DEPTH, IMAGE = 4, 16, 64 << 20
THREADS = ('io0', 'io1')
EMULATED = 100   # cycles for two instructions: nobody who runs them needs so long


class DemoFailed(Exception):
    pass


def parse():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument('--binary', default=os.path.join(TOP, 'build', 'qemu-system-x86_64'))
    ap.add_argument('--seconds', type=int, default=3)
    ap.add_argument('--directory', help='for the disk image and the guest; kept')
    ap.add_argument('--guest', choices=('bare', 'linux'), help='do not try out what KVM can run')
    return ap.parse_args()


def kernel_loop_cycles(binary, elf):
    """What two instructions of kernel mode cost in a guest."""
    case = vqload.Case('null:-:1:1:1:ios=1')
    out, _ = vqload.run(binary, case, elf, {}, 0)
    start = next(line for line in out.lines if line.startswith('START'))
    return int(start.split()[start.split().index('kernel_loop_cycles') + 1]) / vqload.KERNEL_LOOPS


def choose_guest(args, elf):
    """(guest, why)"""
    if args.guest:
        return args.guest, 'as asked for'
    cycles = kernel_loop_cycles(args.binary, elf)
    if cycles > EMULATED:
        return 'bare', ("KVM emulates guest kernel mode here: %d cycles for two instructions. The bare "
                        'guest works in user mode' % cycles)
    problem = linux_guest.problem()
    if problem:
        return 'bare', 'Linux would run here, but ' + problem
    return 'linux', 'KVM runs guest kernels here'


def disk_and_threads(image, aio):
    device = {'driver': 'virtio-blk-pci', 'id': 'vd0', 'drive': 'disk0', 'num-queues': QUEUES,
              'iothread-vq-mapping': [{'iothread': t} for t in THREADS]}
    args = []
    for t in THREADS:
        args += ['-object', 'iothread,id=' + t]
    return args + ['-blockdev', 'raw,node-name=disk0,file.driver=file,file.filename=%s,file.aio=%s'
                   % (image, aio), '-device', json.dumps(device)]


def guest_args(guest, elf, seconds):
    if guest == 'bare':
        words = 'q=%d d=%d t=%d rw=70 v=1 stall=30' % (QUEUES, DEPTH, seconds)
        return ['-smp', '1', '-m', '512', '-kernel', elf, '-append', words]
    kernel, initramfs = linux_guest.files(os.path.dirname(elf), seconds, QUEUES, DEPTH)
    return ['-smp', str(QUEUES), '-m', '1024', '-kernel', kernel, '-initrd', initramfs,
            '-append', 'console=ttyS0 quiet panic=-1']


class Machine:
    """The running emulator: serial port on its standard output, QMP on a socket."""
    # The last of these lines is where the work ended: the bare guest reads back after END.
    ENDS = ('END', 'STALL', 'vq disk 0 queue 0 ')

    def __init__(self, argv, directory):
        self.argv = argv
        self.log = open(os.path.join(directory, 'stderr'), 'w+')
        self.process = popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log,
                             text=True, errors='replace')
        self.output = vqload.Output()
        self.before = self.after = {}
        self.started = self.ended = 0
        self.qmp = None

    def stderr(self):
        with open(self.log.name) as f:
            return f.read().strip()

    def run(self, socket_path, limit):
        """Until the guest is done."""
        killer = threading.Timer(limit, self.process.kill)
        killer.start()
        try:
            for line in self.process.stdout:
                self.output.take(line)
                if line.startswith('START'):
                    self.before, self.started = vqload.threads_cpu(self.process.pid), time.monotonic()
                elif line.startswith(self.ENDS):
                    self.after, self.ended = vqload.threads_cpu(self.process.pid), time.monotonic()
                if self.output.done:
                    break
        finally:
            killer.cancel()
        if not self.output.done:
            raise DemoFailed('the guest did not get to its end\n' + self.stderr())
        s = socket.socket(socket.AF_UNIX)
        s.connect(socket_path)
        self.qmp = Qmp(s)

    def close(self):
        if self.qmp and self.process.poll() is None:
            self.qmp.command('quit')
            self.qmp.close()
        else:
            self.process.kill()
        self.process.wait()


def queue_stats(machine, counted_by_guest):
    """[(queue, IOThread, requests)] as the emulator counted them; the guest's own counts and the
    mapping that was asked for from an emulator that does not count."""
    try:
        info = machine.qmp.command('query-virtqueue-stats', device='vd0')
    except QmpError as e:
        if e.error_class != 'CommandNotFound':
            raise
        return [(q['queue'], THREADS[q['queue'] % len(THREADS)], q['ios']) for q in counted_by_guest]
    return [(q['index'], q.get('iothread', 'main loop'), q['requests'])
            for q in info['devices'][0]['queues']]


def show_command(argv):
    """As lines that a shell takes."""
    lines, line = [], shlex.quote(argv[0])
    for word in argv[1:]:
        if word.startswith('-') and not word[1:2].isdigit():
            lines.append(line)
            line = '    ' + word
        else:
            line += ' ' + shlex.quote(word)
    print(' \\\n'.join(lines + [line]))
    print('(By hand, Ctrl-C ends it.)')


def show(machine, stats):
    seconds = machine.ended - machine.started
    print('\n%-7s %-10s %12s %12s' % ('queue', 'IOThread', 'requests', 'IOPS'))
    for queue, thread, requests in stats:
        print('%-7d %-10s %12d %12.0f' % (queue, thread, requests, requests / seconds))
    total = sum(s[2] for s in stats)
    print('%-7s %-10s %12d %12.0f' % ('all', '', total, total / seconds))
    cpu, rest = [], 0
    for tid, (name, ns) in machine.after.items():
        used = ns - machine.before.get(tid, (name, 0))[1]
        if name.startswith(('IO io', 'CPU ')):
            cpu.append((name, used))
        else:
            rest += used
    print('\n%-18s %9s %12s %16s' % ('thread', 'CPU s', 'of one core', 'us per request'))
    for name, used in sorted(cpu, key=lambda c: c[0], reverse=True) + [('all others', rest)]:
        served = sum(s[2] for s in stats if name == 'IO ' + s[1])
        print('%-18s %9.2f %10.0f %% %16s' % (name, used / 1e9, used / seconds / 1e7,
                                              '%.2f' % (used / 1e3 / served) if served else ''))


def boot(args, guest, elf, directory):
    image, socket_path = os.path.join(directory, 'disk.raw'), os.path.join(directory, 'qmp.sock')
    with open(image, 'wb') as f:
        for _ in range(IMAGE >> 20):
            f.write(os.urandom(1 << 20))
    for aio in ('io_uring', 'threads'):
        argv = [args.binary, '-name', 'demo,debug-threads=on', '-machine', 'q35', '-accel', 'kvm',
                '-cpu', vqload.CPU_MODEL, *guest_args(guest, elf, args.seconds),
                '-nodefaults', '-display', 'none', '-serial', 'stdio',
                '-qmp', 'unix:%s,server=on,wait=off' % socket_path, *disk_and_threads(image, aio)]
        machine = Machine(argv, directory)
        try:
            machine.run(socket_path, args.seconds + 120)
            return machine, socket_path
        except DemoFailed:
            machine.close()
            # Where io_uring is forbidden the machine does not start with it.
            if aio == 'threads' or machine.output.lines or 'io_uring' not in machine.stderr():
                raise
    raise AssertionError


def without_kvm(args, problem):
    """The reason, and what can be shown without a guest."""
    print('make run: no guest can run here: %s.\n\nWithout a guest, the qtest protocol can stand in for '
          'one:\n' % problem, flush=True)
    subprocess.call([sys.executable, os.path.join(TOP, 'tests', 'qtest', 'show_queues.py'),
                     '--binary', args.binary])
    print('\nmake run: no guest ran, because %s.' % problem, file=sys.stderr)
    return 1


def main():
    args = parse()
    problem = vqload.kvm_problem()
    if problem:
        return without_kvm(args, problem)
    if args.directory:
        directory = args.directory
        os.makedirs(directory, exist_ok=True)
    else:
        scratch = tempfile.TemporaryDirectory(prefix='spindle-run.')
        directory = scratch.name
    version = subprocess.run([args.binary, '--version'], capture_output=True, text=True, check=True)
    print(version.stdout.splitlines()[0])
    machine = None
    try:
        elf = vqload.build(directory)
        guest, why = choose_guest(args, elf)
        print('Guest: %s (%s).\n' % ('Linux' if guest == 'linux' else 'bare', why), flush=True)
        machine, _ = boot(args, guest, elf, directory)
        show_command(machine.argv)
        complaint = machine.output.complaint if guest == 'bare' else linux_guest.complaint(machine.output)
        show(machine, queue_stats(machine, machine.output.queues))
        if complaint:
            raise DemoFailed(complaint)
    except (DemoFailed, vqload.GuestFailed) as e:
        print('make run: %s' % e, file=sys.stderr)
        return 1
    finally:
        if machine:
            machine.close()
    if guest == 'bare':
        d = machine.output.disks[0]
        print('\n%d writes; %d blocks read and compared with what had been written there: no error.'
              % (d['writes'], d['checked']))
    else:
        print('\nfio wrote and verified checksums in the guest: no error.')
    return 0


if __name__ == '__main__':
    sys.exit(main())
