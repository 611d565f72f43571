#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the bare guest on KVM under one or two emulators in turn; prints medians and their ratios.

usage: compare.py [-n ROUNDS] [-t SECONDS] [-c CASE]... [-s SET]... [--quick | --all] [-o DIR]
                  EMULATOR_A [EMULATOR_B]

A case is "disk:aio:iothreads:queues:depth[:words]", see vqload.py; disk is null, shm (a file on
/dev/shm, O_DIRECT), buf (the same file through the page cache), zram (a device made for it), or a
path. Sets are named in matrix.py. Both emulators get the same arguments, alternately. CPU is that of
all threads but the processors', per request. Ratios are medians of the ratios of each round. -o
leaves results.json, results.txt and results.svg there.
"""
import argparse
import json
import math
import os
import signal
import statistics
import sys
import time

import chart
import host
import matrix
import vqload


class Row:
    """Results of a case: for each emulator, for each round, a dict of figures per disk."""

    def __init__(self, case, count):
        self.case = case
        self.rounds = [[] for _ in range(count)]

    def add(self, emulator, out, cpu):
        ios = sum(d['ios'] for d in out.disks)
        self.rounds[emulator].append([{
            'iops': d['iops'], 'cpu_us': sum(cpu.values()) / 1000 / max(ios, 1),
            'p50_us': d['p50_ns'] / 1000, 'p99_us': d['p99_ns'] / 1000, 'p999_us': d['p999_ns'] / 1000,
            'ios': d['ios'], 'kicks': d['kicks'], 'batches': d['batches']} for d in out.disks])

    def median(self, emulator, key, disk=0):
        return statistics.median(r[disk][key] for r in self.rounds[emulator])

    def ratio(self, key, disk=0):
        """A's over B's."""
        pairs = [a[disk][key] / b[disk][key] for a, b in zip(*self.rounds) if b[disk][key]]
        return statistics.median(pairs) if pairs else float('nan')


KEYS = (('IOPS', 'iops', '%9.0f'), ('cpu us', 'cpu_us', '%7.2f'), ('p50 us', 'p50_us', '%7.1f'),
        ('p99 us', 'p99_us', '%7.1f'))
RATIOS = (('IOPS', 'iops'), ('cpu', 'cpu_us'), ('p99', 'p99_us'))


def head(count):
    line = '%-36s' % 'case'
    for i in range(count):
        line += ' |' + ''.join(' %*s' % (len(fmt % 0), name if k else '%s %s' % (name, chr(65 + i)))
                               for k, (name, _, fmt) in enumerate(KEYS))
    if count > 1:
        line += ' | A/B ' + ' '.join('%6s' % name for name, _ in RATIOS)
    return line


def judge(row, disk):
    """Texts of what is wanted of a row and not reached."""
    missed = []
    if disk == 0:
        for key, name, better in (('iops', 'iops', 1), ('cpu', 'cpu_us', -1), ('p99', 'p99_us', -1)):
            wanted = matrix.wanted_of(row.case.text).get(key)
            if wanted and (row.ratio(name) - wanted) * better < 0:
                missed.append('%s %s %g' % (key, '<' if better > 0 else '>', wanted))
    return missed


def show(row, count, rounds):
    lines = []
    for disk in range(len(row.case.disks)):
        name = row.case.text if len(row.case.disks) == 1 else '%s [%d]' % (row.case.text, disk)
        line = '%-36s' % name
        for i in range(count):
            line += ' |' + ''.join(' ' + fmt % row.median(i, key, disk) for _, key, fmt in KEYS)
        if count > 1:
            line += ' |     ' + ' '.join('%6.2f' % row.ratio(key, disk) for _, key in RATIOS)
            missed = judge(row, disk)
            line += '  <-- ' + ', '.join(missed) if missed else ''
        lines.append(line)
    if len(row.rounds[0]) < rounds:
        lines[-1] += '  (rounds: %d)' % len(row.rounds[0])
    return lines


def parse():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('-n', type=int, help='rounds (3; 5 for --all)')
    ap.add_argument('-t', type=int, help='seconds per run (2; 1 for --quick)')
    ap.add_argument('-c', action='append', help='a case')
    ap.add_argument('-s', action='append', choices=list(matrix.SETS), help='a set of cases')
    ap.add_argument('--quick', action='store_true', help='few cases, one second each')
    ap.add_argument('--all', action='store_true', help='all sets')
    ap.add_argument('--no-fio', action='store_true', help='leave out fio on the host')
    ap.add_argument('-o', metavar='DIR', help='where to leave JSON, text and SVG')
    ap.add_argument('emulators', nargs='+')
    o = ap.parse_args()
    if len(o.emulators) > 2:
        ap.error('one or two emulators')
    for e in o.emulators:
        if not os.access(e, os.X_OK):
            ap.error('no program at %s' % e)
    # All of it in under two minutes, unless rounds are asked for.
    o.budget = 90 if o.quick and not o.n else 0
    o.n = o.n or (5 if o.all else 3)
    o.t = o.t or (1 if o.quick else 2)
    # Naming cases or sets says what to measure, even beside --all or --quick.
    chosen = list(o.c or [])
    sets = o.s or (list(matrix.SETS) if o.all and not chosen else [])
    for name in sets:
        chosen += [row.case for row in matrix.SETS[name][1]]
    if not chosen:
        chosen = matrix.QUICK if o.quick else matrix.DEFAULT
    try:
        o.cases = [vqload.Case(text) for text in dict.fromkeys(chosen)]
    except ValueError:
        ap.error('a case is disk:aio:iothreads:queues:depth[:words]')
    return o


class Report:
    """Prints, and remembers what it printed."""

    def __init__(self):
        self.lines = []

    def __call__(self, text=''):
        self.lines.append(text)
        print(text, flush=True)


def measure(o, case, elf, files, until):
    row = Row(case, len(o.emulators))
    for number in range(o.n):
        if number and time.monotonic() > until:
            break
        order = list(enumerate(o.emulators))
        # Whoever comes second finds warmer caches: take turns.
        for i, emulator in order if number % 2 == 0 else reversed(order):
            row.add(i, *vqload.run(emulator, case, elf, files, o.t))
    return row


def main():
    o = parse()
    host.kvm_or_exit()
    # A device of zram and an emulator must not outlive a benchmark that is ended early.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    say, machine = Report(), host.particulars()
    say(host.describe(machine))
    versions = [host.version(e) for e in o.emulators]
    for i, e in enumerate(o.emulators):
        say('%s: %s (%s)' % (chr(65 + i), e, versions[i]))
    say('medians of %d rounds of %d s' % (o.n, o.t))
    storage = host.Storage()
    elf = vqload.build(storage.directory)
    skipped = storage.prepare(o.cases)
    rows, failed, fio = {}, {}, {}
    started = time.monotonic()
    say(head(len(o.emulators)))
    for number, case in enumerate(o.cases):
        if case.text in skipped:
            say('%-36s not measured: %s' % (case.text, skipped[case.text]))
            continue
        try:
            # Each case has its share of the time; some hosts take seconds to start an emulator.
            share = started + o.budget * (number + 0.7) / len(o.cases) if o.budget else math.inf
            rows[case.text] = measure(o, case, elf, storage.files, share)
        except vqload.GuestFailed as e:
            failed[case.text] = str(e)
            say('%-36s FAILED: %s' % (case.text, e))
            continue
        for line in show(rows[case.text], len(o.emulators), o.n):
            say(line)
    named = bool(o.c) and not o.s
    if not o.no_fio and not named and any('shm' in c.text for c in o.cases):
        fio = host.fio(storage.image, o.t)
        for engine, r in fio.items():
            say('%-36s | %9.0f %7.2f %7s %7.1f' % ('fio on the host: ' + engine, r['iops'], r['cpu_us'],
                                                   '', r['p99_us']))
    checks = list(matrix.all_checks(rows, fio))
    for what, wanted, measured, good in checks:
        say('%-70s wanted %-8s measured %6.2f%s' % (what, wanted, measured, '' if good else '  <--'))
    if o.o:
        result = {'machine': machine, 'emulators': o.emulators, 'versions': versions, 'rounds': o.n,
                  'seconds': o.t, 'duration': time.monotonic() - started, 'skipped': skipped,
                  'failed': failed, 'fio': fio,
                  'checks': [dict(zip(('what', 'wanted', 'measured', 'good'), c)) for c in checks],
                  'cases': {text: {'rounds': row.rounds, 'wanted': matrix.wanted_of(text)}
                            for text, row in rows.items()}}
        os.makedirs(o.o, exist_ok=True)
        for name, text in (('results.json', json.dumps(result, indent=1) + '\n'),
                           ('results.txt', '\n'.join(say.lines) + '\n'),
                           ('results.svg', chart.draw(rows, fio, machine, o.emulators, versions))):
            with open(os.path.join(o.o, name), 'w') as f:
                f.write(text)
        print('results.json, results.txt and results.svg are in', o.o)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
