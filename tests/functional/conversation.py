# SPDX-License-Identifier: GPL-2.0-or-later
"""What libvirt and the emulator said to each other, step by step, as data.

`libvirt_live.py` has libvirt do the steps and compares what is said with data/libvirt-live.json (or,
with SPINDLE_RECORD=1, writes that file); `linux_libvirt.py` says the same to a machine whose guest is
Linux, where no libvirt is.

A message is {"execute", "arguments", "return"} or {"event", "data"}. Files are @hot@ and @base@.
"""
import json
import os
import re

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'data', 'libvirt-live.json')
MIB = 1 << 20
SIZES = {'base': 64 * MIB, 'hot': 32 * MIB}
GROWN = 48 * MIB

# Step, and what virsh is told; the domain's name follows the first word. A dict is an XML file.
STEPS = [
    ('resume', ['resume']),
    ('iothreadadd', ['iothreadadd', '3', '--live']),
    ('iothreadset', ['iothreadset', '3', '--poll-max-ns', '54321', '--poll-grow', '3',
                     '--poll-shrink', '5', '--live']),
    ('iothreadinfo', ['iothreadinfo']),
    ('attach', ['attach-device', '@hot.xml@', '--live']),
    ('blkdeviotune', ['blkdeviotune', 'vdc', '--total-iops-sec', '2000', '--total-iops-sec-max',
                      '3000', '--total-iops-sec-max-length', '2', '--group-name', 'limits',
                      '--live']),
    ('blkdeviotune-get', ['blkdeviotune', 'vdc']),
    ('domblkstat', ['domblkstat', 'vdc']),
    ('domblkinfo', ['domblkinfo', 'vdc']),
    ('blockresize', ['blockresize', 'vdc', '%dMiB' % (GROWN // MIB)]),
    ('suspend', ['suspend']),
    ('resume-again', ['resume']),
    ('blkdeviotune-off', ['blkdeviotune', 'vdc', '--total-iops-sec', '0', '--total-iops-sec-max',
                          '0', '--total-iops-sec-max-length', '0', '--live']),
    ('domstats', ['domstats']),
    # A guest that knows nothing of hotplug does not answer this, and the disk goes with the reset.
    ('detach', ['detach-disk', 'vdc', '--live']),
    ('reset', ['reset']),
    ('iothreaddel', ['iothreaddel', '3', '--live']),
]

# In these, what libvirt asks because of one event is not in order with what it does about another.
UNORDERED = {'reset'}

# Numbers that no two runs have in common, and what the guest's driver chooses.
VOLATILE = {'thread-id', 'actual-size', 'writeback'}
# Is there only when there was a request.
OPTIONAL = {'idle_time_ns'}


def differences(expected, got, where=''):
    """What makes two replies differ, but for such numbers and statistics; a list of texts."""
    if isinstance(expected, dict) and isinstance(got, dict):
        if set(expected) - OPTIONAL != set(got) - OPTIONAL:
            return ['%s has members %s instead of %s' % (where, sorted(got), sorted(expected))]
        out = []
        for key, value in expected.items():
            if key in OPTIONAL:
                continue
            if key in VOLATILE or '.stats.' in where + '.%s.' % key:
                if type(value) is not type(got[key]):
                    out.append('%s.%s is %r' % (where, key, got[key]))
                elif isinstance(value, dict):
                    out += differences(value, got[key], '%s.%s' % (where, key))
            else:
                out += differences(value, got[key], '%s.%s' % (where, key))
        return out
    if isinstance(expected, list) and isinstance(got, list):
        if len(expected) != len(got):
            return ['%s has %d entries instead of %d' % (where, len(got), len(expected))]
        return [d for i, e in enumerate(expected)
                for d in differences(e, got[i], '%s[%d]' % (where, i))]
    return [] if expected == got else ['%s is %r instead of %r' % (where, got, expected)]


def load():
    with open(PATH, encoding='utf-8') as f:
        return json.load(f)


def store(data):
    """A message a line, for those who compare versions of it."""
    with open(PATH, 'w', encoding='utf-8') as f:
        f.write('{"libvirt": %s' % json.dumps(data['libvirt']))
        for machine in sorted(set(data) - {'libvirt'}):
            f.write(',\n"%s": {"argv": [\n%s],\n"steps": {' % (
                machine, ',\n'.join(map(json.dumps, data[machine]['argv']))))
            f.write(','.join('\n"%s": [\n%s]' % (step, ',\n'.join(map(json.dumps, talk)))
                             for step, talk in data[machine]['steps'].items()))
            f.write('}}')
        f.write('}\n')


def renamed(value, names):
    """A value in which texts are replaced: {old: new}."""
    text = json.dumps(value)
    for old, new in names.items():
        text = text.replace(json.dumps(old)[1:-1], json.dumps(new)[1:-1])
    return json.loads(text)


def sorted_talk(step, talk):
    """As it was, unless its order says nothing."""
    return sorted(talk, key=lambda m: json.dumps([m.get('execute'), m.get('arguments'),
                                                  m.get('event'), m.get('data')])) \
        if step in UNORDERED else talk


LINE = re.compile(r'QEMU_MONITOR_(SEND_MSG|RECV_REPLY|RECV_EVENT): mon=(\S+) '
                  r'(?:msg|reply|event)=(\{.*\})')


def without_serial(reply):
    return [x for x in reply if x != {'name': 'serial0', 'type': 'child<isa-serial>'}] \
        if isinstance(reply, list) else reply


def parse_log(text):
    """The messages of the only domain's monitor, in order, of libvirtd's log."""
    found = [m.groups() for m in map(LINE.search, text.split('\n')) if m]
    # libvirtd asks emulators what they can do as well, but not about their threads.
    monitor = [mon for _, mon, message in found if '"query-iothreads"' in message][-1]
    waiting, out = {}, []
    for kind, mon, message in found:
        if mon != monitor:
            continue
        message = json.loads(message)
        if kind == 'SEND_MSG':
            said = {'execute': message['execute'], 'arguments': message.get('arguments', {})}
            waiting[message['id']] = said
            out.append(said)
        elif kind == 'RECV_REPLY':
            said = waiting.pop(message['id'], None)
            if said is not None:
                # The serial port, of which the guest's console is made, is not part of it.
                said['return'] = without_serial(message.get('return', message.get('error')))
        else:
            out.append({'event': message['event'], 'data': message.get('data', {})})
    return out
