# SPDX-License-Identifier: GPL-2.0-or-later
"""The client side of the qtests: a process, its QMP and qtest sockets, and a virtio driver."""
from .process import BINARY, REFERENCE, VM, is_spindle, run_binary, version_text
from .proc import (cpu_ns, fd_count, switches, thread_count, thread_names,
                   threads, wait_for)
from .pci import PciDevice, PciTopology
from .ring import Ring
from .virtio import (F, VirtioBlk, LegacyVirtioBlk, ACKNOWLEDGE, DRIVER, DRIVER_OK, FEATURES_OK,
                     NEEDS_RESET)
from .blk import (IN, OUT, FLUSH, SCSI_CMD, GET_ID, DISCARD, WRITE_ZEROES, OK, IOERR, UNSUPP,
                  Disk, pattern)
from .runner import QtestCase, main, needs_root, reference_fails

__all__ = [n for n in dir() if not n.startswith('_')]
