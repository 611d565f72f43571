/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_I386_RTC_H
#define SPINDLE_HW_I386_RTC_H

#include "hw/core/device.h"
#include "util/aio.h"

/* The real-time clock and its CMOS memory (MC146818), ports 0x70 and 0x71, interrupt line 8.
 * Runs in: main thread, under the big lock. */
#define TYPE_RTC "mc146818rtc"

/* -rtc base=: what the guest's clock shows at start. */
typedef enum { RTC_BASE_UTC, RTC_BASE_LOCALTIME, RTC_BASE_DATE } RtcBase;
/* Before the machine is built. `date` (seconds since 1970) is used with RTC_BASE_DATE. */
void rtc_set_base(RtcBase base, int64_t date);
/* -rtc clock=: what it goes by afterwards. */
void rtc_set_clock(AioClock clock);
/* -rtc driftfix=slew: periodic interrupts that the guest was too slow for are made up for. */
void rtc_set_slew(bool on);

/* Once the machine is built: a byte of CMOS memory that firmware would have left there; 0x0e.. and
 * above. */
void rtc_set_cmos(unsigned index, uint8_t value);

#endif
