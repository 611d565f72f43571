# SPDX-License-Identifier: GPL-2.0-or-later
"""Starts an emulator with the bare guest (guest/) and understands what it says.

A case is "disk:aio:iothreads:queues:depth[:words]". `disk` is null, shm (a file on /dev/shm,
O_DIRECT), buf (the same file through the page cache), or a path. With 0 iothreads the disk has no
mapping. More disks of the same IOThreads follow after "+", as "disk:aio:queues:depth[:words]". Words
are separated by ":" or ",": those of the guest (guest/main.c), "dev.KEY=VALUE" for a property of the
device (true and false as in JSON), "iot.KEY=VALUE" for one of the IOThreads. cpus=N also gives the machine so many processors.
"""
import json
import os
import re
import struct
import subprocess
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
CPU_MODEL = 'host,-arch-capabilities'
GUEST_WORDS = ('cpus', 't', 'ios', 'ctl', 'n', 'stall', 'mem', 'tsc', 'toggle')
SECTOR = 512
KERNEL_LOOPS = 64   # of guest/guest.h
MASK = (1 << 64) - 1


def kvm_problem():
    """None, or why guests cannot run here and what to do."""
    if not os.path.exists('/dev/kvm'):
        return ('/dev/kvm does not exist: load kvm_intel or kvm_amd (modprobe), enable '
                'virtualisation in the firmware, or nested virtualisation if this is a guest')
    if not os.access('/dev/kvm', os.R_OK | os.W_OK):
        return ('/dev/kvm may not be opened by this user: join its group (usermod -aG kvm %s), or '
                'run as root' % (os.environ.get('USER') or 'USER'))
    return None


def build(directory):
    """Builds the guest into `directory` and returns its path."""
    built = os.environ.get('SPINDLE_VQLOAD')
    if built:
        return built
    path = os.path.join(directory, 'vqload.elf')
    done = subprocess.run(['sh', os.path.join(HERE, 'build.sh'), path], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit('the bare guest does not build:\n' + done.stderr)
    return path


# ---- the pattern of guest/pattern.c ----

_STEP = 0x9e3779b97f4a7c15
_TEMPLATE = int.from_bytes(b''.join(struct.pack('<Q', i * _STEP & MASK) for i in range(2, 64)), 'little')
_ONES = int.from_bytes(struct.pack('<Q', 1) * 62, 'little')


def pattern_sector(sector, generation=0):
    x = ((sector + 1) * 0xbf58476d1ce4e5b9 & MASK) ^ ((generation + 1) * 0x94d049bb133111eb & MASK)
    seed = x ^ x >> 31
    return struct.pack('<QQ', sector, generation) + \
        (seed * _ONES ^ _TEMPLATE).to_bytes(496, 'little')


def write_pattern(path, size):
    """Makes the file of `size` bytes that v=2 expects."""
    with open(path, 'wb') as f:
        for sector in range(size // SECTOR):
            f.write(pattern_sector(sector))


def wrong_sectors(path):
    """Sectors of the file that are neither zero nor what some generation of them looks like."""
    wrong = []
    zero = bytes(SECTOR)
    with open(path, 'rb') as f:
        sector = 0
        while True:
            data = f.read(SECTOR)
            if not data:
                return wrong
            if data != zero:
                number, generation = struct.unpack_from('<QQ', data)
                if number != sector or data != pattern_sector(sector, generation):
                    wrong.append(sector)
            sector += 1


# ---- the command line ----

def _value(text):
    if text in ('true', 'false'):
        return text == 'true'
    return int(text) if text.isdigit() else text


class Case:
    def __init__(self, text):
        self.text = text
        first, *others = text.split('+')
        disk, aio, iothreads, queues, depth, *words = re.split('[:,]', first)
        self.iothreads = int(iothreads)
        self.iothread_words, self.words, self.disks = {}, {}, []
        self._add(disk, aio, queues, depth, words)
        for other in others:
            disk, aio, queues, depth, *words = re.split('[:,]', other)
            self._add(disk, aio, queues, depth, words)

    def _add(self, disk, aio, queues, depth, words):
        d = {'disk': disk, 'aio': aio, 'queues': int(queues), 'device': {},
             'words': {'q': queues, 'd': depth}}
        for word in words:
            key, _, value = word.partition('=')
            if not key:
                continue
            if key.startswith('dev.'):
                d['device'][key[4:]] = _value(value)
            elif key.startswith('iot.'):
                self.iothread_words[key[4:]] = value
            elif key in GUEST_WORDS:
                self.words[key] = value
            else:
                d['words'][key] = value
        self.disks.append(d)

    @property
    def cpus(self):
        return int(self.words.get('cpus', 1))

    def guest_words(self, **more):
        words = ['%s=%s' % w for w in {**self.words, **more}.items()]
        for i, d in enumerate(self.disks):
            words += ['%d.%s=%s' % (i, k, v) for k, v in d['words'].items()]
        return ' '.join(words)


def disk_args(number, disk, files):
    """-blockdev options of a disk; `files` says where shm and buf are."""
    node = 'd%d' % number
    if disk['disk'] == 'null':
        return ['-blockdev', 'driver=null-co,node-name=%s,size=1073741824,read-zeroes=off' % node]
    path = files.get(disk['disk'], disk['disk'])
    device = path.startswith('/dev/') and not path.startswith('/dev/shm/')
    # Disks of one case may be the same file.
    return ['-blockdev', 'driver=%s,filename=%s,node-name=f%d,aio=%s,locking=off,cache.direct=%s'
            % ('host_device' if device else 'file', path, number, disk['aio'],
               'off' if disk['disk'] == 'buf' else 'on'),
            '-blockdev', 'driver=raw,file=f%d,node-name=%s' % (number, node)]


# The guest ends the process.
EXIT_DEVICE = ['-no-reboot', '-device', 'isa-debug-exit,iobase=0xf4,iosize=4']


def machine_args(case, elf, files, seconds=None, end=EXIT_DEVICE, machine='q35'):
    words = case.guest_words(**({} if seconds is None else {'t': seconds}))
    args = ['-M', machine, '-accel', 'kvm', '-cpu', CPU_MODEL, '-smp', str(case.cpus),
            '-m', '512', '-display', 'none', '-serial', 'stdio', '-monitor', 'none',
            '-nodefaults', '-name', 'vqload,debug-threads=on', *end, '-kernel', elf, '-append', words]
    ids = ['t%d' % i for i in range(case.iothreads)]
    for i in ids:
        args += ['-object', ','.join(['iothread', 'id=' + i] + [
            '%s=%s' % w for w in case.iothread_words.items()])]
    for number, disk in enumerate(case.disks):
        args += disk_args(number, disk, files)
        device = {'driver': 'virtio-blk-pci', 'id': 'vd%d' % number, 'drive': 'd%d' % number,
                  'num-queues': disk['queues']}
        if ids:
            device['iothread-vq-mapping'] = [{'iothread': i} for i in ids]
        device.update(disk['device'])
        args += ['-device', json.dumps(device)]
    return args


# ---- running ----

def threads_cpu(pid):
    """{thread id: (name, CPU time in ns)}"""
    threads = {}
    try:
        for tid in os.listdir('/proc/%d/task' % pid):
            base = '/proc/%d/task/%s/' % (pid, tid)
            try:
                with open(base + 'comm') as f:
                    name = f.read().rstrip('\n')
                try:
                    with open(base + 'schedstat') as f:
                        ns = int(f.read().split()[0])
                except FileNotFoundError:
                    with open(base + 'stat') as f:
                        fields = f.read().rsplit(')', 1)[1].split()
                    ns = (int(fields[11]) + int(fields[12])) * (10 ** 9 // os.sysconf('SC_CLK_TCK'))
                threads[tid] = (name, ns)
            except (OSError, IndexError):
                pass
    except OSError:
        pass
    return threads


class GuestFailed(Exception):
    pass


class Output:
    """What the guest said: RESULT lines as `disks`, vq lines as `queues`."""

    def __init__(self):
        self.lines, self.disks, self.queues = [], [], []
        self.started = self.ended = self.stalled = self.done = False
        self.failure = None

    def take(self, line):
        line = line.rstrip('\r\n')
        if not line:
            return      # its first instructions
        self.lines.append(line)
        fields = {k: int(v) for k, v in re.findall(r'([a-z]\w*) (\d+)', line)}
        if line.startswith('START'):
            self.started = True
        elif line.startswith(('END', 'STALL')):
            self.ended = True
            self.stalled = line.startswith('STALL')
        elif line.startswith('vq '):
            self.queues.append(fields)
        elif line.startswith('RESULT'):
            self.disks.append(fields)
        elif line.startswith('FAIL'):
            self.failure = line[5:]
        elif line.startswith('DONE'):
            self.done = True

    @property
    def complaint(self):
        """None, or what is wrong with the run."""
        if self.failure:
            return self.failure
        if self.stalled:
            return 'the requests stopped coming back'
        if not self.disks:
            return 'no result'
        for key, what in (('errs', 'requests failed'), ('bad', 'blocks held the wrong data')):
            n = sum(d[key] for d in self.disks)
            if n:
                return '%d %s' % (n, what)
        return None


def run(emulator, case, elf, files, seconds, limit=60):
    """Runs a case to its end. Returns (Output, CPU time in ns by thread name without processors')."""
    process = subprocess.Popen([emulator] + machine_args(case, elf, files, seconds),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               stdin=subprocess.DEVNULL, text=True, errors='replace')
    killer = threading.Timer(seconds + limit, process.kill)
    killer.start()
    before, after, stop = {}, {}, threading.Event()

    def sample():
        # Worker threads come and go: what they used must be seen before they end.
        while not stop.wait(0.05):
            after.update(threads_cpu(process.pid))

    sampler = threading.Thread(target=sample)
    out = Output()
    try:
        for line in process.stdout:
            out.take(line)
            if line.startswith('START'):
                before = threads_cpu(process.pid)
                sampler.start()
            elif line.startswith(('END', 'STALL')):
                after.update(threads_cpu(process.pid))
                stop.set()
            elif out.done:
                break
    finally:
        stop.set()
        process.kill()
        err = process.stderr.read()
        process.wait()
        killer.cancel()
    complaint = out.complaint
    if complaint:
        raise GuestFailed('%s: %s\n%s\n%s' % (case.text, complaint, '\n'.join(out.lines[-5:]), err[-800:]))
    cpu = {}
    for tid, (name, ns) in after.items():
        if not name.startswith('CPU '):
            cpu[name] = cpu.get(name, 0) + ns - before.get(tid, (name, 0))[1]
    return out, cpu
