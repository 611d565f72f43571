# SPDX-License-Identifier: GPL-2.0-or-later
"""What /proc knows about a process and its threads."""
import os
import time


def wait_for(condition, what, timeout=60):
    """Waits until condition() is true and returns its value. The limit only ends a hang."""
    end = time.monotonic() + timeout
    pause = 0.0002
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError('waited %d s for %s' % (timeout, what))
        time.sleep(pause)
        pause = min(pause * 1.5, 0.02)


def _status(pid, tid):
    fields = {}
    with open('/proc/%d/task/%d/status' % (pid, tid)) as f:
        for line in f:
            name, _, value = line.partition(':')
            fields[name] = value.strip()
    return fields


def switches(pid, tid):
    """Context switches of a thread so far: how often it went to sleep or was preempted."""
    s = _status(pid, tid)
    return int(s['voluntary_ctxt_switches']) + int(s['nonvoluntary_ctxt_switches'])


def voluntary_switches(pid, tid):
    return int(_status(pid, tid)['voluntary_ctxt_switches'])


def cpu_ns(pid, tid):
    """CPU time of a thread in ns; from the clock-tick counters where there are no better ones."""
    try:
        with open('/proc/%d/task/%d/schedstat' % (pid, tid)) as f:
            return int(f.read().split()[0])
    except FileNotFoundError:
        with open('/proc/%d/task/%d/stat' % (pid, tid)) as f:
            fields = f.read().rsplit(')', 1)[1].split()
        return (int(fields[11]) + int(fields[12])) * (10 ** 9 // os.sysconf('SC_CLK_TCK'))


def threads(pid):
    return [int(t) for t in os.listdir('/proc/%d/task' % pid)]


def thread_count(pid):
    return len(threads(pid))


def thread_names(pid):
    names = {}
    for tid in threads(pid):
        try:
            with open('/proc/%d/task/%d/comm' % (pid, tid)) as f:
                names[tid] = f.read().rstrip('\n')
        except FileNotFoundError:
            pass
    return names


def thread_state(pid, tid):
    with open('/proc/%d/task/%d/stat' % (pid, tid)) as f:
        return f.read().rsplit(')', 1)[1].split()[0]


def fd_targets(pid):
    """What the open descriptors point to, as /proc prints it."""
    targets = []
    for fd in os.listdir('/proc/%d/fd' % pid):
        try:
            targets.append(os.readlink('/proc/%d/fd/%s' % (pid, fd)))
        except FileNotFoundError:
            pass
    return targets


def fd_count(pid):
    return len(os.listdir('/proc/%d/fd' % pid))


def memory_kib(pid):
    with open('/proc/%d/status' % pid) as f:
        for line in f:
            if line.startswith('VmRSS:'):
                return int(line.split()[1])
    return 0
