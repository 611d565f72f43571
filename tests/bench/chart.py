# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws the results as an SVG: for each case, bars of IOPS, CPU per request and p99 latency."""
import math
from html import escape

PANELS = (('IOPS', 'iops'), ('CPU per request, us', 'cpu_us'), ('p99 latency, us', 'p99_us'))
COLOURS = ('#1f6f8b', '#d98032', '#8a8a8a')
LABEL, PANEL, GAP, BAR, ROW = 290, 250, 70, 9, 30
TOP, BOTTOM = 96, 40


def _short(v):
    if v >= 1e6:
        return '%.2f M' % (v / 1e6)
    if v >= 1e4:
        return '%.0f k' % (v / 1e3)
    return '%.0f' % v if v >= 100 else '%.2f' % v


class _Scale:
    """Logarithmic: the cases differ by more than ten times."""

    def __init__(self, values):
        good = [v for v in values if v > 0] or [1]
        self.low = math.floor(math.log10(min(good)))
        self.high = max(math.ceil(math.log10(max(good))), self.low + 1)

    def width(self, v):
        if v <= 0:
            return 0
        return max(2, PANEL * (math.log10(v) - self.low) / (self.high - self.low))


def _items(rows, fio, count):
    """[(name, [figures of A, of B])], one per case and disk."""
    items = []
    for row in rows.values():
        for disk in range(len(row.case.disks)):
            name = row.case.text if len(row.case.disks) == 1 else '%s [%d]' % (row.case.text, disk)
            items.append((name, [{key: row.median(i, key, disk) for _, key in PANELS}
                                 for i in range(count)]))
    items += [('fio on the host: ' + engine, [figures]) for engine, figures in fio.items()]
    return items


def draw(rows, fio, machine, emulators, versions):
    """The text of the SVG."""
    items = _items(rows, fio, len(emulators))
    width = LABEL + len(PANELS) * (PANEL + GAP) + 10
    height = TOP + ROW * len(items) + BOTTOM
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" '
           'font-family="sans-serif" font-size="12">' % (width, height),
           '<rect width="100%" height="100%" fill="white"/>']

    def text(x, y, s, anchor='start', size=12, fill='#222'):
        out.append('<text x="%.1f" y="%.1f" text-anchor="%s" font-size="%d" fill="%s">%s</text>'
                   % (x, y, anchor, size, fill, escape(s)))

    def rect(x, y, w, h, fill):
        out.append('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>' % (x, y, w, h, fill))

    text(10, 22, 'virtio-blk on KVM: %s' % ' beside '.join(versions), size=16)
    text(10, 42, '%s, %d cores, Linux %s, governor %s, load %.2f' % (
        machine['cpu'], machine['cores'], machine['kernel'], machine['governor'], machine['load']))
    for i, e in enumerate(emulators):
        rect(10 + 330 * i, 52, 12, 12, COLOURS[i])
        text(27 + 330 * i, 62, e if len(e) < 48 else '…' + e[-46:])
    for p, (title, key) in enumerate(PANELS):
        left = LABEL + p * (PANEL + GAP)
        scale = _Scale([f[key] for _, figures in items for f in figures])
        text(left, TOP - 8, title, size=13)
        for power in range(scale.low, scale.high + 1):
            x = left + PANEL * (power - scale.low) / (scale.high - scale.low)
            out.append('<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#ddd"/>'
                       % (x, TOP, x, height - BOTTOM))
            text(x, height - BOTTOM + 14, _short(10.0 ** power), 'middle', 10, '#777')
        for n, (name, figures) in enumerate(items):
            y = TOP + n * ROW + 4
            if p == 0:
                text(LABEL - 8, y + 13, name, 'end')
            for i, f in enumerate(figures):
                fill = COLOURS[2] if name.startswith('fio') else COLOURS[i]
                w = scale.width(f[key])
                rect(left, y + i * (BAR + 1), w, BAR, fill)
                label = _short(f[key])
                if i == 0 and len(figures) == 2 and figures[1][key] > 0:
                    label += '  (%.2f×)' % (f[key] / figures[1][key])
                text(left + w + 4, y + i * (BAR + 1) + BAR - 1, label, size=10)
    text(10, height - 8, 'Bars are logarithmic. CPU: all threads but the processors of the guest.', size=10,
         fill='#777')
    out.append('</svg>')
    return '\n'.join(out) + '\n'
