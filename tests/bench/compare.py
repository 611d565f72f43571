#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the bare guest on KVM under one or two emulators in turn; prints medians and their ratio.

usage: compare.py [-n ROUNDS] [-t SECONDS] [-c CASE]... EMULATOR_A EMULATOR_B

A case is "disk:aio:iothreads:queues:depth[:extra guest words]"; disk is null, shm (a file on
/dev/shm, O_DIRECT), buf (the same file through the page cache), or a path. Both emulators get the
same arguments. CPU is that of all threads but the vCPU's, per request.
"""
import argparse
import atexit
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
WORK = tempfile.mkdtemp(prefix="spindle-bench.", dir="/dev/shm")
atexit.register(shutil.rmtree, WORK, True)
ELF = WORK + "/vqload.elf"
IMAGE = WORK + "/disk.img"
DEFAULT = ["null:-:1:1:32", "null:-:1:4:16", "null:-:4:4:16", "shm:native:1:1:32", "shm:io_uring:1:1:32",
           "shm:io_uring:4:4:16", "buf:threads:1:1:32", "buf:io_uring:1:4:16", "shm:io_uring:1:1:1"]
CPU = "host,-arch-capabilities"


def args_for(case, seconds):
    disk, aio, nthreads, queues, depth, *extra = case.split(":")
    a = ["-M", "q35", "-accel", "kvm", "-cpu", CPU, "-smp", "1", "-m", "512", "-display", "none",
         "-serial", "stdio", "-monitor", "none", "-no-reboot", "-nodefaults",
         "-name", "vqload,debug-threads=on", "-device", "isa-debug-exit,iobase=0xf4,iosize=4",
         "-kernel", ELF, "-append", f"q={queues} d={depth} t={seconds} " + " ".join(extra)]
    ids = [f"t{i}" for i in range(int(nthreads))]
    for i in ids:
        a += ["-object", f"iothread,id={i}"]
    if disk == "null":
        a += ["-blockdev", "driver=null-co,node-name=d0,size=1073741824,read-zeroes=off"]
    else:
        path = {"shm": IMAGE, "buf": IMAGE}.get(disk, disk)
        drv = "host_device" if path.startswith("/dev/") and not path.startswith("/dev/shm") else "file"
        direct = "off" if disk == "buf" else "on"
        a += ["-blockdev", f"driver={drv},filename={path},node-name=f0,aio={aio},cache.direct={direct}",
              "-blockdev", "driver=raw,file=f0,node-name=d0"]
    dev = {"driver": "virtio-blk-pci", "id": "vd0", "drive": "d0", "num-queues": int(queues),
           "iothread-vq-mapping": [{"iothread": i} for i in ids]}
    return a + ["-device", json.dumps(dev)]


def threads_cpu(pid):
    """Seconds of CPU by thread id, and thread names."""
    out = {}
    tick = os.sysconf("SC_CLK_TCK")
    try:
        for t in os.listdir(f"/proc/{pid}/task"):
            s = open(f"/proc/{pid}/task/{t}/stat").read()
            name = s[s.index("(") + 1:s.rindex(")")]
            f = s[s.rindex(")") + 2:].split()
            out[t] = (name, (int(f[11]) + int(f[12])) / tick)
    except OSError:
        pass
    return out


def run(emulator, case, seconds):
    p = subprocess.Popen([emulator] + args_for(case, seconds), stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, errors="replace")
    killer = threading.Timer(seconds + 60, p.kill)
    killer.start()
    start, last, result, text = None, {}, None, []
    stop = threading.Event()

    def sample():
        nonlocal last
        while not stop.wait(0.05):
            got = threads_cpu(p.pid)
            if got:
                last = {**last, **got}

    sampler = threading.Thread(target=sample)
    for line in p.stdout:
        text.append(line)
        if line.startswith("dev "):
            start = threads_cpu(p.pid)
            sampler.start()
        if line.startswith("RESULT"):
            last = {**last, **threads_cpu(p.pid)}
            result = {k: int(v) for k, v in re.findall(r"(\w+) (\d+)", line)}
        if line.startswith("DONE"):
            break
    stop.set()
    p.kill()
    err = p.stderr.read()
    p.wait()
    killer.cancel()
    if result is None:
        raise SystemExit(f"{emulator} {case}: no result\n" + "".join(text[-5:]) + err[-500:])
    cpu = sum(c - start.get(t, (n, 0))[1] for t, (n, c) in last.items() if not n.startswith("CPU "))
    result["usperio"] = cpu * 1e6 / max(result["ios"], 1)
    if result["errs"]:
        raise SystemExit(f"{emulator} {case}: {result['errs']} requests failed")
    return result


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("-n", type=int, default=3)
    ap.add_argument("-t", type=int, default=2)
    ap.add_argument("-c", action="append")
    ap.add_argument("emulators", nargs="+")
    o = ap.parse_args()
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        raise SystemExit("bench: /dev/kvm is missing or may not be opened: load kvm_intel or kvm_amd, "
                         "or run as a user of the group kvm")
    subprocess.run(["sh", os.path.join(HERE, "build.sh"), ELF], check=True,
                   stderr=subprocess.DEVNULL)
    if not os.path.exists(IMAGE):
        with open(IMAGE, "wb") as f:
            for _ in range(256):
                f.write(os.urandom(1 << 20))
    print(f"{'case':34} " + " ".join(f"{'IOPS ' + chr(65 + i):>10} {'cpu us':>7}" for i in range(len(o.emulators))) + ("   A/B" if len(o.emulators) > 1 else ""))
    for case in o.c or DEFAULT:
        rounds = [[run(e, case, o.t) for e in o.emulators] for _ in range(o.n)]
        med = [(statistics.median(r[i]["iops"] for r in rounds), statistics.median(r[i]["usperio"] for r in rounds))
               for i in range(len(o.emulators))]
        ratio = statistics.median(r[0]["iops"] / r[-1]["iops"] for r in rounds)
        tail = f"  {ratio:5.2f}" if len(o.emulators) > 1 else ""
        print(f"{case:34} " + " ".join(f"{i:10.0f} {c:7.2f}" for i, c in med) + tail, flush=True)


main()
