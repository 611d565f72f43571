#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The queue path needs no more instructions per request than are recorded, give or take 5 %.

usage: instructions.py REPLAY COMPILER [--record]

Counted by callgrind in a replay (replay.c): the same number each time, on a busy machine as on an idle
one. Another compiler makes another number, so the record is for one. --record writes what is measured
now into instructions.json.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

RECORD = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'instructions.json')
LIMIT = 1.05
# Name: per cent of reads, requests per batch.
CASES = {'reads, 1 per batch': (100, 1), 'reads, 32 per batch': (100, 32),
         'reads and writes, 32 per batch': (70, 32)}
WARM, BATCHES = 50, 250


def count(replay, percent, batch, batches):
    """Instructions within replay_batch()."""
    with tempfile.TemporaryDirectory() as directory:
        out = os.path.join(directory, 'out')
        done = subprocess.run(
            ['valgrind', '--tool=callgrind', '--callgrind-out-file=' + out, '--collect-atstart=no',
             '--toggle-collect=replay_batch', replay, str(percent), str(batch), str(batches)],
            capture_output=True, text=True)
        if done.returncode:
            print('Bail out! %s' % (done.stdout + done.stderr).strip().replace('\n', '; '))
            sys.exit(1)
        with open(out) as f:
            return int(re.search(r'^(?:totals|summary): (\d+)', f.read(), re.M)[1])


def per_request(replay, percent, batch):
    """In the steady state: the first batches also set things up."""
    more = count(replay, percent, batch, WARM + BATCHES)
    return (more - count(replay, percent, batch, WARM)) / (BATCHES * batch)


def main():
    replay, compiler = sys.argv[1:3]
    with open(RECORD) as f:
        record = json.load(f)
    problem = None
    if not shutil.which('valgrind'):
        problem = 'valgrind is not installed'
    elif '--record' not in sys.argv and compiler != record['compiler']:
        problem = 'built by %s; the record is for %s' % (compiler, record['compiler'])
    if problem:
        print('1..0 # SKIP ' + problem)
        return 0
    print('TAP version 13\n1..%d' % len(CASES))
    measured, failed = {}, False
    for n, (name, case) in enumerate(CASES.items(), 1):
        measured[name] = round(per_request(replay, *case), 1)
        known = record['instructions per request'].get(name, 0)
        good = measured[name] <= known * LIMIT
        failed |= not good
        print('%sok %d - %s' % ('' if good else 'not ', n, name))
        print('# %.1f instructions per request, %.1f recorded' % (measured[name], known))
        if measured[name] * LIMIT < known:
            print('# much less than recorded: record it (%s)' % os.path.basename(__file__))
    if '--record' in sys.argv:
        with open(RECORD, 'w') as f:
            json.dump({'compiler': compiler, 'instructions per request': measured}, f, indent=2)
            f.write('\n')
        return 0
    return failed


if __name__ == '__main__':
    sys.exit(main())
