# SPDX-License-Identifier: GPL-2.0-or-later
"""The qtest protocol.

Commands that return nothing are collected and sent with the next one that returns something (or by
flush()), so that building a request in guest memory and kicking the device is one round trip.
"""
import select
import time


class Qtest:
    def __init__(self, sock, timeout=60):
        self.sock = sock
        self.timeout = timeout
        self.buffer = b''
        self.pending = []
        self.irqs = []

    def close(self):
        self.sock.close()

    def _exchange(self, commands):
        """Sends all commands, reading replies meanwhile, so that neither side blocks the other."""
        out = memoryview(('\n'.join(commands) + '\n').encode())
        replies = []
        end = time.monotonic() + self.timeout
        while out or len(replies) < len(commands):
            ready, writable, _ = select.select([self.sock], [self.sock] if out else [], [],
                                               max(0, end - time.monotonic()))
            if not ready and not writable:
                raise TimeoutError('qtest: no reply to ' + commands[len(replies)][:100])
            if writable:
                out = out[self.sock.send(out[:1 << 16]):]
            if ready:
                data = self.sock.recv(1 << 20)
                if not data:
                    raise EOFError('qtest connection closed')
                self.buffer += data
                *lines, self.buffer = self.buffer.split(b'\n')
                for line in lines:
                    line = line.decode()
                    if line.startswith('IRQ '):
                        self.irqs.append(line[4:])
                        continue
                    if not line.startswith('OK'):
                        raise AssertionError('qtest: %s -> %s' % (commands[len(replies)][:100], line))
                    replies.append(line[3:])
        return replies

    def flush(self):
        if self.pending:
            pending, self.pending = self.pending, []
            self._exchange(pending)

    def later(self, command):
        self.pending.append(command)
        if len(self.pending) >= 512:
            self.flush()

    def ask(self, command):
        pending, self.pending = self.pending, []
        return self._exchange(pending + [command])[-1]

    def ask_all(self, commands):
        """Replies to several commands in one round trip."""
        pending, self.pending = self.pending, []
        return self._exchange(pending + commands)[len(pending):]

    def raw_line(self, line):
        """Sends one line and returns the reply whatever it is."""
        self.flush()
        self.sock.sendall((line + '\n').encode())
        while True:
            while b'\n' not in self.buffer:
                ready, _, _ = select.select([self.sock], [], [], self.timeout)
                if not ready:
                    raise TimeoutError('qtest: no reply to ' + line[:100])
                data = self.sock.recv(1 << 20)
                if not data:
                    raise EOFError('qtest connection closed')
                self.buffer += data
            reply, self.buffer = self.buffer.split(b'\n', 1)
            reply = reply.decode()
            if reply.startswith('IRQ '):
                self.irqs.append(reply[4:])
                continue
            return reply

    def inb(self, port):
        return int(self.ask('inb 0x%x' % port), 16)

    def inw(self, port):
        return int(self.ask('inw 0x%x' % port), 16)

    def inl(self, port):
        return int(self.ask('inl 0x%x' % port), 16)

    def outb(self, port, value):
        self.later('outb 0x%x 0x%x' % (port, value))

    def outw(self, port, value):
        self.later('outw 0x%x 0x%x' % (port, value))

    def outl(self, port, value):
        self.later('outl 0x%x 0x%x' % (port, value))

    def readb(self, addr):
        return int(self.ask('readb 0x%x' % addr), 16)

    def readw(self, addr):
        return int(self.ask('readw 0x%x' % addr), 16)

    def readl(self, addr):
        return int(self.ask('readl 0x%x' % addr), 16)

    def readq(self, addr):
        return int(self.ask('readq 0x%x' % addr), 16)

    def writeb(self, addr, value):
        self.later('writeb 0x%x 0x%x' % (addr, value))

    def writew(self, addr, value):
        self.later('writew 0x%x 0x%x' % (addr, value))

    def writel(self, addr, value):
        self.later('writel 0x%x 0x%x' % (addr, value))

    def writeq(self, addr, value):
        self.later('writeq 0x%x 0x%x' % (addr, value))

    def read(self, addr, size):
        return bytes.fromhex(self.ask('read 0x%x 0x%x' % (addr, size))[2:]) if size else b''

    def write(self, addr, data):
        if data:
            self.later('write 0x%x 0x%x 0x%s' % (addr, len(data), data.hex()))
            if len(data) >= 1 << 16:
                self.flush()

    def memset(self, addr, size, value):
        if size:
            self.later('memset 0x%x 0x%x 0x%x' % (addr, size, value))
