#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What system calls requests cost, counted under strace: the processor's thread makes none for a
request; an IOThread submits and interrupts at most once per batch."""
import collections
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

from bare import LIMIT, KvmCase, main
from lib import reference_fails, thread_names
from lib.process import _running, is_instrumented, popen

# Of a call that another thread's interrupts there are two lines; this is the first.
CALL = re.compile(r'^(\d+) +(\w+)\((?:\d+, (\d+))?')
SLACK = 8       # calls that attaching and detaching interrupt or repeat
IDLE_CALLS = {'futex', 'sched_yield', 'restart_syscall', 'rt_sigreturn', 'timerfd_settime'}


class SystemCalls(KvmCase):
    def setUp(self):
        super().setUp()
        if not shutil.which('strace'):
            self.skipTest('needs strace')

    def trace(self, guest, requests):
        """Counts calls while so many requests are served: {thread name: {call: n}}, and what the
        emulator counted meanwhile; its counts begin earlier and end later."""
        fd, log = tempfile.mkstemp(dir=self.tmp)
        os.close(fd)
        before = guest.queue_stats()
        names = thread_names(guest.pid)
        tracer = popen(['strace', '-f', '-o', log, '-p', str(guest.pid)], stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            end = time.monotonic() + LIMIT
            while not os.path.getsize(log):
                if tracer.poll() is not None:
                    self.skipTest('strace may not attach: ' + tracer.stderr.read().strip()[-200:])
                self.assertLess(time.monotonic(), end, 'strace did not begin')
                time.sleep(0.01)
            start = guest.operations()
            self.settles(lambda: guest.operations() >= start + requests, True, 'requests under strace',
                         LIMIT)
        finally:
            if tracer.poll() is None:
                tracer.send_signal(signal.SIGINT)
            tracer.communicate(timeout=LIMIT)
            _running.discard(tracer)
        after = guest.queue_stats()
        counts = collections.defaultdict(collections.Counter)
        with open(log) as f:
            for line in f:
                call = CALL.match(line)
                if call:
                    own = counts[names.get(int(call.group(1)), 'new thread')]
                    own[call.group(2)] += 1
                    if call.group(2) == 'io_uring_enter' and call.group(3) != '0':
                        own['submissions'] += 1
        return counts, self.difference(before, after)

    @staticmethod
    def difference(before, after):
        """{thread name: counters of its loop and sums of those of its queues}"""
        result = {}
        for old, new in zip(before[1], after[1]):
            name = 'IO %s' % new['iothread'] if 'iothread' in new else 'main'
            result[name] = collections.Counter({k: new[k] - old[k] for k in new
                                                if isinstance(new[k], int)})
            result[name]['requests'] = 0
        for q, new in after[0].items():
            for key in ('requests', 'batches', 'kicks', 'notifications'):
                result['IO ' + new['iothread']][key] += new[key] - before[0][q][key]
        return result

    def measure(self, case, requests):
        guest = self.guest(case + ',ctl=1', path=self.file())
        guest.wait_for('START')
        self.settles(lambda: guest.operations() > 100, True, 'the load runs')
        started = time.monotonic()
        counts, stats = self.trace(guest, requests)
        seconds = time.monotonic() - started
        guest.end_load()
        guest.result()
        guest.close()
        served = sum(s['requests'] for s in stats.values())
        self.assertGreaterEqual(served, requests)
        text = '%s %s' % ({t: dict(c) for t, c in counts.items()}, stats)
        for name, calls in counts.items():
            if name.startswith('CPU '):
                # It looks at the serial port each 100 ms, and the tracer interrupts it.
                self.assertLess(sum(calls.values()), served / 10 + 20 * seconds + SLACK, text)
        for name in [n for n in stats if n.startswith('IO ')]:
            calls, own = counts[name], stats[name]
            self.assertGreater(sum(calls.values()), 0, text)
            self.assertLessEqual(calls['submissions'] + calls['io_submit'], own['batches'] + SLACK, text)
            self.assertLessEqual(calls['write'], own['notifications'] + SLACK, text)
            self.assertLessEqual(own['notifications'], own['batches'] + own['turns'] + SLACK, text)
            # A turn looks for what is ready, and waits if there is nothing.
            self.assertLessEqual(calls['io_uring_enter'] + calls['epoll_pwait2'],
                                 2 * own['turns'] + SLACK, text)
            # Of eventfds: kicks, and libaio's.
            self.assertLessEqual(calls['read'], own['kicks'] + calls['io_submit'] + SLACK, text)
            in_place = sum(calls[c] for c in ('preadv2', 'pwritev2', 'preadv', 'pwritev', 'pread64',
                                              'pwrite64'))
            self.assertLessEqual(in_place, own['requests'] + SLACK, text)
            known = {'submissions', 'io_uring_enter', 'epoll_pwait2', 'write', 'read', 'io_submit', 'io_getevents',
                     'preadv2', 'pwritev2', 'preadv', 'pwritev', 'pread64', 'pwrite64'} | IDLE_CALLS
            other = sum(n for c, n in calls.items() if c not in known)
            # Starting a worker costs so many calls, once: its stack, its signal mask, itself.
            self.assertLessEqual(calls['clone3'], 64, text)
            other -= 7 * calls['clone3']
            # Copies take long under a tracer, so that it is watched whether the thread sleeps in them;
            # test_copies_are_not_watched looks at that.
            other -= calls['getrusage']
            # Each 10 ms a loop asks how long it has waited for a CPU (a pread), and how many there are.
            count_cpus = calls['getpid'] + calls['sched_getaffinity']
            self.assertLessEqual(count_cpus, 200 * seconds + SLACK, text)
            other -= count_cpus
            # A loop that shares a CPU with another waits for its slice of 0.4 ms in a pipe.
            self.assertLessEqual(calls['ppoll'], 2500 * seconds + SLACK, text)
            other -= calls['ppoll']
            # A sanitizer's allocator has some of its own.
            self.assertLessEqual(other, own['batches'] / 10 + SLACK, text)
        return counts, stats

    @reference_fails('has no counters of batches to compare with')
    def test_null(self):
        counts, stats = self.measure('null:-:2:4:16:irq=1', 4000)
        for name in ('IO t0', 'IO t1'):
            calls, own = counts[name], stats[name]
            # Done at once: one interrupt per batch, and nothing per request.
            self.assertLessEqual(calls['write'], own['batches'] + SLACK)
            self.assertLess(sum(calls.values()), own['requests'] / 2)

    @reference_fails('has no counters of batches to compare with')
    def test_null_without_interrupts(self):
        counts, _ = self.measure('null:-:1:4:16', 4000)
        self.assertLessEqual(counts['IO t0']['write'], SLACK)

    @reference_fails('has no counters of batches to compare with')
    def test_page_cache(self):
        if is_instrumented():
            self.skipTest('instrumented copies take so long that workers do them')
        for aio in ('threads', 'io_uring'):
            with self.subTest(aio):
                self.measure('buf:%s:1:2:16:irq=1,rw=70' % aio, 500)

    @reference_fails('has no counters of batches to compare with')
    def test_copies_are_not_watched(self):
        """Whether the thread sleeps in copies is asked only after one that took long: two calls for each
        of the eight that follow. Nothing else is stopped by this tracer."""
        if is_instrumented():
            self.skipTest('the search for leaks cannot stop a thread that is traced')
        fd, log = tempfile.mkstemp(dir=self.tmp)
        os.close(fd)
        guest = self.guest('buf:io_uring:1:2:16:irq=1,rw=70,ios=5000', path=self.file(), words='ev=1',
                           wrapper=['strace', '-f', '--seccomp-bpf', '-e', 'trace=getrusage', '-o', log])
        try:
            guest.wait_for('START')
        except AssertionError:
            self.skipTest('strace cannot start it: ' + guest.stderr()[-200:])
        out = guest.result()
        guest.close()
        requests = sum(q['ios'] for q in out.queues)
        self.assertGreaterEqual(requests, 10000)
        with open(log) as f:
            asked = sum('getrusage(' in line for line in f)
        # A host that has other things to do makes copies slow, too.
        self.assertLess(asked, requests / 4)

    @reference_fails('has no counters of batches to compare with')
    def test_direct(self):
        """On the file system of the temporary directory, which need not be one in memory."""
        path = self.image(size=self.IMAGE, fill=os.urandom(self.IMAGE))
        try:
            os.close(os.open(path, os.O_RDONLY | os.O_DIRECT))
        except OSError:
            self.skipTest('no O_DIRECT on the file system of ' + path)
        for aio in ('native', 'io_uring'):
            with self.subTest(aio):
                self.measure('%s:%s:1:2:16:irq=1' % (path, aio), 500)


if __name__ == '__main__':
    main()
