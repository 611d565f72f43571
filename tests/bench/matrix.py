# SPDX-License-Identifier: GPL-2.0-or-later
"""The cases that are measured, by what they show, and what is wanted of them.

Wanted: iops=X at least X times the reference's; cpu=X at most X times its CPU per request; p99=X at
most X times its 99th percentile. Checks that look at several cases are functions of all rows.
"""


class Row:
    def __init__(self, case, **wanted):
        self.case = case
        self.wanted = wanted


def _mixed(disk, aio, shape, iops):
    return [Row('%s:%s:%s%s' % (disk, aio, shape, words), iops=iops * part)
            for words, part in (('', 1), (':rw=0', 0.9), (':rw=70', 0.9))]


NEIGHBOUR_ALONE = 'shm:io_uring:1:1:1'
NEIGHBOUR_BOTH = 'shm:io_uring:1:8:64+shm:io_uring:1:1'
NULL_ALONE = 'null:-:1:1:1'
NULL_BOTH = 'null:-:1:8:64+null:-:1:1'
THREAD_COUNTS = (1, 2, 4, 8, 16)

SETS = {
    'null': ('No storage: the queue path alone', [
        Row('null:-:1:1:32', iops=5, cpu=0.2),
        Row('null:-:1:4:16', iops=6, cpu=0.2),
        Row('null:-:4:4:16', iops=5, cpu=0.2)]),
    'file': ('A file on tmpfs, O_DIRECT', [
        Row('shm:native:1:1:32', iops=1.45),
        Row('shm:io_uring:1:1:32', iops=2.8, fio=0.8),
        Row('shm:io_uring:4:4:16')]),
    'cache': ('The page cache', [
        Row('buf:threads:1:1:32', iops=5),
        Row('buf:io_uring:1:4:16', iops=2.5)]),
    'depth': ('Latency at depths of 1, 8 and 32', [
        Row('shm:%s:1:1:%d' % (aio, depth), p99=1, **({'iops': 4} if depth == 1 else {}))
        for aio in ('native', 'io_uring', 'threads') for depth in (1, 8, 32)]),
    'zram': ('A block device in memory (zram), O_DIRECT',
             _mixed('zram', 'native', '1:2:32', 1.6) + _mixed('zram', 'io_uring', '1:2:32', 2.8)),
    'mixed': ('Writes and mixes on tmpfs',
              _mixed('shm', 'native', '1:1:32', 1.45) + _mixed('shm', 'io_uring', '1:1:32', 2.8)),
    'large': ('Requests of 64 KiB', [
        Row('%s:%s:1:1:16:bs=64k%s' % (disk, aio, words), iops=1, cpu=0.5)
        for disk in ('shm', 'zram') for aio in ('native', 'io_uring') for words in ('', ',rw=0')]),
    'threads': ('1 to 16 IOThreads over 16 queues', [
        Row('%s:%d:16:4' % (disk, n)) for disk in ('null:-', 'shm:io_uring') for n in THREAD_COUNTS]),
    'neighbour': ('A busy disk (8 queues, depth 64) beside one at depth 1, on one IOThread', [
        Row(c) for c in (NULL_ALONE, NULL_BOTH, NEIGHBOUR_ALONE, NEIGHBOUR_BOTH)]),
    'guests': ('Two processors, verified mixes, interrupts', [
        Row('shm:io_uring:2:4:16:cpus=2,rw=70,v=1'),
        Row('null:-:2:4:16:cpus=2,irq=1'),
        Row('shm:native:1:4:16:ind=1,irq=1')]),
}

# What `make bench-quick` measures.
QUICK = ['null:-:1:1:32', 'null:-:4:4:16', 'shm:native:1:1:32', 'shm:io_uring:1:1:32',
         'buf:threads:1:1:32', 'shm:io_uring:1:1:1']
DEFAULT = ['null:-:1:1:32', 'null:-:1:4:16', 'null:-:4:4:16', 'shm:native:1:1:32',
           'shm:io_uring:1:1:32', 'shm:io_uring:4:4:16', 'buf:threads:1:1:32', 'buf:io_uring:1:4:16',
           'shm:io_uring:1:1:1']


def wanted_of(case):
    """What some set wants of a case."""
    wanted = {}
    for _, rows in SETS.values():
        for row in rows:
            if row.case == case:
                wanted.update(row.wanted)
    return wanted


def threads_checks(rows):
    """More threads never hurt: (what, wanted, measured, good) for each kind of disk."""
    for disk in ('null:-', 'shm:io_uring'):
        got = {n: rows['%s:%d:16:4' % (disk, n)] for n in THREAD_COUNTS if '%s:%d:16:4' % (disk, n) in rows}
        if len(got) < 2 or 1 not in got:
            continue
        iops = {n: r.median(0, 'iops') for n, r in got.items()}
        cpu = {n: r.median(0, 'cpu_us') for n, r in got.items()}
        worst = min(iops.values()) / max(iops.values())
        yield ('%s, %s IOThreads: slowest / fastest' % (disk, '/'.join(map(str, got))), '>= 0.95',
               worst, worst >= 0.95)
        most = max(cpu.values()) / cpu[1]
        yield ('%s: most CPU per request / that of one IOThread' % disk, '<= 1.15', most, most <= 1.15)


def neighbour_checks(rows):
    for alone, both in ((NULL_ALONE, NULL_BOTH), (NEIGHBOUR_ALONE, NEIGHBOUR_BOTH)):
        if alone in rows and both in rows:
            ratio = rows[both].median(0, 'p99_us', 1) / rows[alone].median(0, 'p99_us', 0)
            yield ('%s: p99 beside a busy disk / alone' % alone, '< 10', ratio, ratio < 10)


def fio_checks(rows, fio):
    best = max((r['iops'] for r in fio.values()), default=0)
    for case, row in rows.items():
        share = wanted_of(case).get('fio')
        if share and best:
            ratio = row.median(0, 'iops') / best
            yield ('%s: IOPS / best of fio on the host' % case, '>= %.2f' % share, ratio, ratio >= share)


def all_checks(rows, fio):
    yield from threads_checks(rows)
    yield from neighbour_checks(rows)
    yield from fio_checks(rows, fio)
