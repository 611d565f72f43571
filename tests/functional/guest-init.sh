#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The first process of the guest. Takes commands from the second serial port, one a line, each after
# a number; runs them one by one, and answers with what they printed and "END number status".
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs -o size=75% tmp /tmp
while read -r module; do
    insmod "/mod/$module.ko" || echo "insmod $module failed" >/dev/console
done </mod/order

port=/dev/ttyS1
stty -F $port raw -echo
exec <$port >$port 2>&1
echo "GUEST-READY $(nproc)"
while IFS= read -r line; do
    (eval "${line#* }") </dev/null >/tmp/said 2>&1
    status=$?
    cat /tmp/said
    printf '\nEND %s %d\n' "${line%% *}" $status
done
