#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""All tests with Linux guests, one after the other in one place: where KVM has to be emulated, the
machine for that is started once. Each file can be run alone, too."""
from rig.case import main

from linux_boot import LinuxBoot
from linux_devices import LinuxDevices
from linux_hotplug import LinuxHotplug
from linux_libvirt import LinuxLibvirt
from linux_life_cycle import LinuxLifeCycle

__all__ = ['LinuxBoot', 'LinuxDevices', 'LinuxHotplug', 'LinuxLibvirt', 'LinuxLifeCycle']

if __name__ == '__main__':
    # Less than what scripts/run-tests gives it, so that it is this program that reports.
    main(limit=1500)
