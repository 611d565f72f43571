# SPDX-License-Identifier: GPL-2.0-or-later
"""Linux guests under the emulator under test: on this host's KVM if it runs guest kernels, otherwise
on real KVM inside an emulated processor."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FUNCTIONAL = os.path.dirname(HERE)
TOP = os.path.dirname(os.path.dirname(FUNCTIONAL))
sys.path.insert(1, os.path.join(os.path.dirname(FUNCTIONAL), 'qtest'))


class Unavailable(Exception):
    """What the tests need is not there; the text is the reason to skip them."""
