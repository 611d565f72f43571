# SPDX-License-Identifier: GPL-2.0-or-later
"""A QMP client on a connected socket."""
import json
import select
import time


class QmpError(Exception):
    def __init__(self, reply, command):
        self.reply = reply
        self.error_class = reply['error']['class']
        self.desc = reply['error']['desc']
        super().__init__('%s -> %s: %s' % (command, self.error_class, self.desc))


class Qmp:
    def __init__(self, sock, negotiate=True, timeout=60, oob=False):
        self.sock = sock
        self.timeout = timeout
        self.buffer = b''
        self.events = []
        self.greeting = None
        if negotiate:
            self.greeting = self.read_message()
            self.command('qmp_capabilities', **({'enable': ['oob']} if oob else {}))

    def close(self):
        self.sock.close()

    def read_line(self, timeout=None):
        """One line without its end, or None if none came in time. EOFError at the end."""
        end = time.monotonic() + (self.timeout if timeout is None else timeout)
        while b'\n' not in self.buffer:
            ready, _, _ = select.select([self.sock], [], [], max(0, end - time.monotonic()))
            if not ready:
                return None
            data = self.sock.recv(1 << 20)
            if not data:
                raise EOFError('QMP connection closed')
            self.buffer += data
        line, self.buffer = self.buffer.split(b'\n', 1)
        return line

    def read_message(self, timeout=None):
        line = self.read_line(timeout)
        if line is None:
            raise TimeoutError('no QMP message')
        return json.loads(line)

    def send_raw(self, data):
        self.sock.sendall(data if isinstance(data, bytes) else data.encode())

    def read_reply(self, timeout=None):
        """The next message that is no event; events on the way are kept."""
        while True:
            message = self.read_message(timeout)
            if 'event' in message:
                self.events.append(message)
            else:
                return message

    def raw(self, data, timeout=None):
        self.send_raw(data)
        return self.read_reply(timeout)

    def execute(self, command, arguments=None, **fields):
        """Sends a command and returns the whole reply, error or not."""
        message = {'execute': command}
        if arguments:
            message['arguments'] = arguments
        message.update(fields)
        return self.raw(json.dumps(message) + '\n')

    def command(self, command, **arguments):
        """Sends a command (underscores in argument names become dashes, unless doubled) and returns
        what it returned; raises QmpError."""
        args = {k.replace('__', '\0').replace('_', '-').replace('\0', '_'): v
                for k, v in arguments.items()}
        reply = self.execute(command, args)
        if 'error' in reply:
            raise QmpError(reply, command + ' ' + json.dumps(args))
        return reply['return']

    def hmp(self, line):
        return self.command('human-monitor-command', command_line=line)

    def poll_events(self):
        """Takes in what has arrived already."""
        while True:
            line = self.read_line(0)
            if line is None:
                return self.events
            message = json.loads(line)
            if 'event' in message:
                self.events.append(message)

    def take_events(self, name=None):
        self.poll_events()
        taken = [e for e in self.events if name is None or e['event'] == name]
        self.events = [e for e in self.events if e not in taken]
        return taken

    def wait_event(self, name, timeout=None, match=None):
        """The first event of that name (and that match() accepts), taken out of the list."""
        end = time.monotonic() + (self.timeout if timeout is None else timeout)
        while True:
            for event in self.events:
                if event['event'] == name and (match is None or match(event)):
                    self.events.remove(event)
                    return event
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutError('no event %s; got %s' % (name, [e['event'] for e in self.events]))
            message = self.read_message(left)
            if 'event' in message:
                self.events.append(message)
