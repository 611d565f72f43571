# SPDX-License-Identifier: GPL-2.0-or-later
"""The machine that measures: its particulars, files and devices to measure on, fio as a yardstick."""
import atexit
import json
import os
import platform
import shutil
import subprocess
import tempfile

import vqload

IMAGE_MIB = 256


def _read(path, default=''):
    try:
        with open(path) as f:
            return f.read().strip()
    except OSError:
        return default


def _cpu_model():
    for line in _read('/proc/cpuinfo').splitlines():
        if line.startswith('model name'):
            return line.split(':', 1)[1].strip()
    return platform.processor() or 'unknown'


def particulars():
    """What a reader must know to compare figures with those of another machine."""
    memory = next((int(line.split()[1]) for line in _read('/proc/meminfo').splitlines()
                   if line.startswith('MemTotal:')), 0)
    flags = _read('/proc/cpuinfo')
    return {
        'cpu': _cpu_model(),
        'cores': os.cpu_count(),
        'memory_mib': memory // 1024,
        'kernel': platform.release(),
        'virtualised': ' hypervisor ' in flags.replace('\n', ' '),
        'governor': _read('/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor', 'not exposed'),
        'load': os.getloadavg()[0],
        'clocksource': _read('/sys/devices/system/clocksource/clocksource0/current_clocksource'),
    }


def describe(p):
    return '%s, %d cores%s, %d MiB, Linux %s, governor %s, load %.2f' % (
        p['cpu'], p['cores'], ' (itself a guest)' if p['virtualised'] else '', p['memory_mib'],
        p['kernel'], p['governor'], p['load'])


def version(emulator):
    out = subprocess.run([emulator, '--version'], capture_output=True, text=True, check=False)
    return (out.stdout.splitlines() or ['unknown'])[0]


class Storage:
    """Places for the cases to work on; gone at exit."""

    def __init__(self):
        shm = '/dev/shm' if os.access('/dev/shm', os.W_OK) else None
        self.directory = tempfile.mkdtemp(prefix='spindle-bench.', dir=shm)
        atexit.register(shutil.rmtree, self.directory, True)
        self.image = os.path.join(self.directory, 'disk.img')
        self._zram = None
        self.zram_problem = None
        self.files = {'shm': self.image, 'buf': self.image}

    def prepare(self, cases):
        """Makes what the cases need. Returns {case: why it cannot be measured}."""
        skipped = {}
        disks = {d['disk'] for c in cases for d in c.disks}
        if disks & {'shm', 'buf'} and not os.path.exists(self.image):
            with open(self.image, 'wb') as f:
                for _ in range(IMAGE_MIB):
                    f.write(os.urandom(1 << 20))
        direct = self._direct_problem() if 'shm' in disks else None
        if 'zram' in disks:
            self._make_zram()
        for case in cases:
            used = {d['disk'] for d in case.disks}
            if 'shm' in used and direct:
                skipped[case.text] = direct
            if 'zram' in used and self.zram_problem:
                skipped[case.text] = self.zram_problem
        return skipped

    def _direct_problem(self):
        try:
            os.close(os.open(self.image, os.O_RDONLY | os.O_DIRECT))
            return None
        except OSError as e:
            return 'O_DIRECT on tmpfs: ' + e.strerror

    def _make_zram(self):
        """A device of our own: nobody else's is touched."""
        if self._zram is not None or self.zram_problem:
            return
        add = '/sys/class/zram-control/hot_add'
        try:
            if os.geteuid() != 0:
                raise OSError(0, 'needs root')
            if not os.path.exists(add):
                subprocess.run(['modprobe', 'zram'], capture_output=True, check=False)
            number = int(open(add).read())
            self._zram = number
            atexit.register(self._remove_zram)
            with open('/sys/block/zram%d/disksize' % number, 'w') as f:
                f.write('%dM' % IMAGE_MIB)
            with open('/dev/zram%d' % number, 'wb', buffering=0) as f:
                for _ in range(IMAGE_MIB):
                    f.write(os.urandom(1 << 20))
                os.fsync(f.fileno())
            self.files['zram'] = '/dev/zram%d' % number
        except (OSError, ValueError, FileNotFoundError) as e:
            self.zram_problem = 'no zram: %s' % (getattr(e, 'strerror', None) or e)

    def _remove_zram(self):
        try:
            with open('/sys/block/zram%d/reset' % self._zram, 'w') as f:
                f.write('1')
            with open('/sys/class/zram-control/hot_remove', 'w') as f:
                f.write('%d' % self._zram)
        except OSError:
            pass


FIO_ENGINES = {'psync': [], 'libaio': ['--iodepth=32', '--iodepth_batch=16'],
               'io_uring': ['--iodepth=32', '--iodepth_batch=16']}


def fio(path, seconds, direct=True):
    """{engine: {'iops', 'cpu_us', 'p99_us'}} of one job of 4 KiB random reads on the host itself."""
    if not shutil.which('fio'):
        return {}
    rows = {}
    for engine, words in FIO_ENGINES.items():
        done = subprocess.run(
            ['fio', '--name=limit', '--filename=' + path, '--rw=randread', '--bs=4k',
             '--direct=%d' % direct, '--ioengine=' + engine, '--time_based', '--runtime=%d' % seconds,
             '--readonly', '--norandommap', '--randrepeat=0', '--output-format=json', *words],
            capture_output=True, text=True, check=False)
        try:
            job = json.loads(done.stdout[done.stdout.index('{'):])['jobs'][0]
        except (ValueError, KeyError, IndexError):
            continue
        if job.get('error') or not job['read']['total_ios']:
            continue
        busy = (job['usr_cpu'] + job['sys_cpu']) / 100 * job['job_runtime'] * 1000
        rows[engine] = {'iops': job['read']['iops'], 'cpu_us': busy / job['read']['total_ios'],
                        'p99_us': job['read']['clat_ns'].get('percentile', {}).get('99.000000', 0) / 1000}
    return rows


def kvm_or_exit():
    problem = vqload.kvm_problem()
    if problem:
        raise SystemExit('bench: ' + problem)
