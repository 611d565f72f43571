/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MC146818 clock with CMOS memory. It tells the time and has alarm and update flags that a guest
 * can poll; the periodic interrupt runs on the virtual clock.
 */
#include "hw/i386/rtc.h"

#include <string.h>
#include <time.h>

#include "hw/core/irq.h"
#include "hw/core/memory.h"
#include "pc.h"
#include "util/aio.h"

#define RTC_GSI 8
#define PORT    0x70

enum {
    RTC_SECONDS = 0, RTC_SECONDS_ALARM, RTC_MINUTES, RTC_MINUTES_ALARM, RTC_HOURS, RTC_HOURS_ALARM,
    RTC_WEEKDAY, RTC_DAY, RTC_MONTH, RTC_YEAR, REG_A, REG_B, REG_C, REG_D,
    CMOS_BOOT_FLAG = 0x38, CMOS_BASE_LOW = 0x15, CMOS_EXT_LOW = 0x17, CMOS_EXT2_LOW = 0x30,
    RTC_CENTURY = 0x32, CMOS_ABOVE_16M = 0x34, CMOS_BOOT_ORDER = 0x3d, CMOS_ABOVE_4G = 0x5b,
    CMOS_CPUS = 0x5f,
};

#define A_UPDATING 0x80
#define A_DIVIDER  0x70
#define A_RATE     0x0f
#define B_SET      0x80
#define B_PIE      0x40
#define B_AIE      0x20
#define B_UIE      0x10
#define B_BINARY   0x04
#define B_24H      0x02
#define C_IRQ      0x80
#define C_PF       0x40
#define C_AF       0x20
#define C_UF       0x10
#define D_VALID    0x80
#define LOST_MAX   10000 /* ticks: a guest that never looks is not chased for ever */

typedef struct RTCState {
    ISADevice parent_obj;
    uint8_t cmos[128];
    uint8_t index;
    int64_t offset;   /* guest's time minus the clock's, in s */
    int64_t last_look; /* second of the guest's time at which flags were updated last */
    AioTimer *timer;  /* of whatever interrupt comes next */
    int64_t period_start, last_tick; /* ticks are counted from period_start */
    int64_t lost; /* ticks that the guest has not seen */
    MmioRegion *ports;
    bool started; /* has seen its first reset */
} RTCState;

static RTCState *the_rtc;
static RtcBase base_kind;
static int64_t base_date;
static AioClock the_clock = AIO_CLOCK_HOST;
static bool slew;

void rtc_set_base(RtcBase base, int64_t date)
{
    base_kind = base;
    base_date = date;
}

void rtc_set_clock(AioClock clock)
{
    the_clock = clock;
}

void rtc_set_slew(bool on)
{
    slew = on;
}

void rtc_set_cmos(unsigned index, uint8_t value)
{
    g_assert(the_rtc && index < sizeof(the_rtc->cmos));
    the_rtc->cmos[index] = value;
}

static RTCState *rtc(void *opaque)
{
    return opaque;
}

/* ---- time ---- */

static int64_t guest_seconds(RTCState *s)
{
    return aio_clock_ns(the_clock) / 1000000000 + s->offset;
}

/* How far the guest's clock is from the one it goes by at start. */
static int64_t base_offset(void)
{
    time_t host = aio_clock_ns(AIO_CLOCK_HOST) / 1000000000;
    int64_t now = aio_clock_ns(the_clock) / 1000000000;
    struct tm tm;

    switch (base_kind) {
    case RTC_BASE_LOCALTIME:
        localtime_r(&host, &tm);
        return host + tm.tm_gmtoff - now;
    case RTC_BASE_DATE:
        return base_date - now;
    default:
        return host - now;
    }
}

static uint8_t encode(const RTCState *s, int v)
{
    return s->cmos[REG_B] & B_BINARY ? v : v / 10 << 4 | v % 10;
}

static int decode(const RTCState *s, uint8_t v)
{
    return s->cmos[REG_B] & B_BINARY ? v : (v >> 4) * 10 + (v & 0xf);
}

static uint8_t encode_hour(const RTCState *s, int hour)
{
    if (s->cmos[REG_B] & B_24H) {
        return encode(s, hour);
    }
    return encode(s, hour % 12 ? hour % 12 : 12) | (hour >= 12 ? 0x80 : 0);
}

static int decode_hour(const RTCState *s, uint8_t v)
{
    if (s->cmos[REG_B] & B_24H) {
        return decode(s, v);
    }
    return decode(s, v & 0x7f) % 12 + (v & 0x80 ? 12 : 0);
}

static void show_time(RTCState *s)
{
    time_t t = guest_seconds(s);
    struct tm tm;

    if (s->cmos[REG_B] & B_SET) {
        return; /* the guest is setting it */
    }
    gmtime_r(&t, &tm);
    s->cmos[RTC_SECONDS] = encode(s, tm.tm_sec);
    s->cmos[RTC_MINUTES] = encode(s, tm.tm_min);
    s->cmos[RTC_HOURS] = encode_hour(s, tm.tm_hour);
    s->cmos[RTC_WEEKDAY] = encode(s, tm.tm_wday + 1);
    s->cmos[RTC_DAY] = encode(s, tm.tm_mday);
    s->cmos[RTC_MONTH] = encode(s, tm.tm_mon + 1);
    s->cmos[RTC_YEAR] = encode(s, tm.tm_year % 100);
    s->cmos[RTC_CENTURY] = encode(s, (tm.tm_year + 1900) / 100);
}

static void take_time(RTCState *s)
{
    struct tm tm = {
        .tm_sec = decode(s, s->cmos[RTC_SECONDS]),
        .tm_min = decode(s, s->cmos[RTC_MINUTES]),
        .tm_hour = decode_hour(s, s->cmos[RTC_HOURS]),
        .tm_mday = decode(s, s->cmos[RTC_DAY]),
        .tm_mon = decode(s, s->cmos[RTC_MONTH]) - 1,
        .tm_year = decode(s, s->cmos[RTC_CENTURY]) * 100 + decode(s, s->cmos[RTC_YEAR]) - 1900,
    };
    time_t t = timegm(&tm);

    s->offset = (int64_t)t - aio_clock_ns(the_clock) / 1000000000;
    s->last_look = t;
}

/* ---- flags and interrupts ---- */

static void update_irq(RTCState *s)
{
    bool irq = s->cmos[REG_C] & s->cmos[REG_B] & (C_PF | C_AF | C_UF);

    s->cmos[REG_C] = (s->cmos[REG_C] & ~C_IRQ) | (irq ? C_IRQ : 0);
    gsi_set(RTC_GSI, GSI_SOURCE_RTC, irq);
}

/* An alarm field with its two top bits set matches anything. */
static bool alarm_field(const RTCState *s, unsigned reg, uint8_t now)
{
    return (s->cmos[reg] & 0xc0) == 0xc0 || s->cmos[reg] == now;
}

static bool alarm_at(const RTCState *s, int64_t second)
{
    return alarm_field(s, RTC_SECONDS_ALARM, encode(s, second % 60)) &&
           alarm_field(s, RTC_MINUTES_ALARM, encode(s, second / 60 % 60)) &&
           alarm_field(s, RTC_HOURS_ALARM, encode_hour(s, second / 3600 % 24));
}

static void update_flags(RTCState *s)
{
    int64_t now = guest_seconds(s);

    if ((s->cmos[REG_B] & B_SET) || now <= s->last_look) {
        return;
    }
    s->cmos[REG_C] |= C_UF;
    /* A day holds every time of day: older seconds need no look. */
    for (int64_t t = MAX(s->last_look + 1, now - 86400); t <= now; t++) {
        if (alarm_at(s, t)) {
            s->cmos[REG_C] |= C_AF;
            break;
        }
    }
    s->last_look = now;
}

static int64_t period_ns(const RTCState *s)
{
    unsigned rate = s->cmos[REG_A] & A_RATE;

    if (rate == 0 || !(s->cmos[REG_B] & B_PIE)) {
        return 0;
    }
    return ((int64_t)1 << ((rate <= 2 ? rate + 7 : rate) - 1)) * 1000000000 / 32768;
}

static void schedule(RTCState *s)
{
    int64_t now = aio_clock_ns(AIO_CLOCK_VIRTUAL), next = INT64_MAX, period = period_ns(s);

    if (period) {
        next = s->period_start + ((now - s->period_start) / period + 1) * period;
    }
    if (s->cmos[REG_B] & (B_AIE | B_UIE)) {
        int64_t frac = aio_clock_ns(the_clock) % 1000000000;

        next = MIN(next, now + 1000000000 - frac);
    }
    if (next == INT64_MAX) {
        aio_timer_cancel(s->timer);
    } else {
        aio_timer_set(s->timer, next);
    }
}

/* Ticks of the periodic interrupt since the last look; those that came while one was waiting are
 * lost unless they are made up for. */
static void periodic_tick(RTCState *s)
{
    int64_t period = period_ns(s), tick, came;

    if (!period) {
        return;
    }
    tick = (aio_clock_ns(AIO_CLOCK_VIRTUAL) - s->period_start) / period;
    came = tick - s->last_tick;
    if (came <= 0) {
        return;
    }
    s->last_tick = tick;
    if (slew) {
        s->lost = MIN(s->lost + came - !(s->cmos[REG_C] & C_PF), LOST_MAX);
    }
    s->cmos[REG_C] |= C_PF;
}

static void timer_fired(void *opaque)
{
    RTCState *s = opaque;

    periodic_tick(s);
    update_flags(s);
    update_irq(s);
    schedule(s);
}

/* ---- ports ---- */

static uint8_t cmos_read(RTCState *s)
{
    uint8_t v;

    switch (s->index) {
    case RTC_SECONDS:
    case RTC_MINUTES:
    case RTC_HOURS:
    case RTC_WEEKDAY:
    case RTC_DAY:
    case RTC_MONTH:
    case RTC_YEAR:
    case RTC_CENTURY:
        show_time(s);
        return s->cmos[s->index];
    case REG_C:
        update_flags(s);
        update_irq(s);
        v = s->cmos[REG_C];
        s->cmos[REG_C] = 0;
        update_irq(s);
        if ((v & C_PF) && s->lost > 0) {
            s->lost--;
            s->cmos[REG_C] = C_PF;
            update_irq(s);
        }
        return v;
    default:
        return s->cmos[s->index];
    }
}

static void cmos_write(RTCState *s, uint8_t v)
{
    bool setting = s->cmos[REG_B] & B_SET;

    switch (s->index) {
    case RTC_SECONDS:
    case RTC_MINUTES:
    case RTC_HOURS:
    case RTC_WEEKDAY:
    case RTC_DAY:
    case RTC_MONTH:
    case RTC_YEAR:
    case RTC_CENTURY:
        show_time(s);
        s->cmos[s->index] = v;
        if (!setting) {
            take_time(s);
        }
        break;
    case REG_A:
        s->cmos[REG_A] = v & ~A_UPDATING;
        s->period_start = aio_clock_ns(AIO_CLOCK_VIRTUAL);
        s->last_tick = s->lost = 0;
        schedule(s);
        break;
    case REG_B:
        show_time(s);
        if (!(v & s->cmos[REG_B] & B_PIE)) {
            s->period_start = aio_clock_ns(AIO_CLOCK_VIRTUAL);
            s->last_tick = s->lost = 0;
        }
        s->cmos[REG_B] = v & B_SET ? v & ~B_UIE : v;
        if (setting && !(v & B_SET)) {
            take_time(s);
        }
        update_flags(s);
        update_irq(s);
        schedule(s);
        break;
    case REG_C:
    case REG_D:
        break;
    default:
        s->cmos[s->index] = v;
        break;
    }
}

static uint64_t rtc_read(void *opaque, uint64_t offset, unsigned size)
{
    return offset == 0 ? 0xff : cmos_read(rtc(opaque));
}

static void rtc_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    if (offset == 0) {
        rtc(opaque)->index = value & 0x7f;
    } else {
        cmos_write(rtc(opaque), value);
    }
}

static const MmioOps rtc_ops = {.read = rtc_read, .write = rtc_write, .max_size = 1};

/* ---- what firmware reads from CMOS memory ---- */

static void put_le(RTCState *s, unsigned reg, uint64_t v, unsigned size)
{
    for (unsigned i = 0; i < size; i++) {
        s->cmos[reg + i] = v >> (8 * i);
    }
}

static uint8_t boot_device_code(char c)
{
    switch (c) {
    case 'a':
    case 'b':
        return 1;
    case 'c':
        return 2;
    case 'd':
        return 3;
    case 'n':
        return 4;
    default:
        return 0;
    }
}

static void store_boot_order(RTCState *s, const char *order)
{
    uint8_t d[3] = {0};

    for (unsigned i = 0; i < 3 && order[i]; i++) {
        d[i] = boot_device_code(order[i]);
    }
    s->cmos[CMOS_BOOT_ORDER] = d[1] << 4 | d[0];
    s->cmos[CMOS_BOOT_FLAG] = d[2] << 4 | (s->cmos[CMOS_BOOT_FLAG] & 0xf);
}

static void cmos_init(RTCState *s, const MachineState *m)
{
    uint64_t below = pc_ram_below_4g, above = m->ram_size - below;

    put_le(s, CMOS_BASE_LOW, 640, 2);
    put_le(s, CMOS_EXT_LOW, below > 1 << 20 ? MIN((below >> 10) - 1024, 65535) : 0, 2);
    put_le(s, CMOS_EXT2_LOW, below > 1 << 20 ? MIN((below >> 10) - 1024, 65535) : 0, 2);
    put_le(s, CMOS_ABOVE_16M, below > 16 << 20 ? MIN((below >> 16) - 256, 65535) : 0, 2);
    put_le(s, CMOS_ABOVE_4G, above >> 16, 3);
    s->cmos[CMOS_CPUS] = MIN(m->smp.cpus, 256) - 1;
}

static bool rtc_realize(DeviceState *dev, Error **errp)
{
    RTCState *s = (RTCState *)dev;

    s->timer = aio_timer_new(aio_context_main(), AIO_CLOCK_VIRTUAL, timer_fired, s);
    s->cmos[REG_A] = 0x26;
    s->cmos[REG_B] = B_24H;
    s->cmos[REG_D] = D_VALID;
    s->offset = base_offset();
    s->last_look = guest_seconds(s);
    the_rtc = s;
    cmos_init(s, current_machine);
    store_boot_order(s, current_machine->boot_once    ? current_machine->boot_once
                        : current_machine->boot_order ? current_machine->boot_order
                                                      : "cad");
    s->ports = mmio_region_new("rtc", &rtc_ops, s, 2);
    mmio_region_map(s->ports, guest_ports, PORT, 0);
    return true;
}

static void rtc_unrealize(DeviceState *dev)
{
    RTCState *s = (RTCState *)dev;

    the_rtc = NULL;
    g_clear_pointer(&s->timer, aio_timer_free);
    g_clear_pointer(&s->ports, mmio_region_free);
}

static void rtc_reset(DeviceState *dev)
{
    RTCState *s = (RTCState *)dev;

    s->cmos[REG_B] &= ~(B_PIE | B_AIE | B_UIE);
    s->cmos[REG_C] = 0;
    s->lost = 0;
    s->index = 0;
    update_irq(s);
    schedule(s);
    /* "once" is over with the first reset after the guest could run. */
    if (s->started && current_machine->boot_once) {
        store_boot_order(s, current_machine->boot_order ? current_machine->boot_order : "cad");
    }
    s->started = true;
}

static void rtc_class_init(ObjectClass *klass, const void *data)
{
    DeviceClass *dc = (DeviceClass *)klass;

    dc->realize = rtc_realize;
    dc->unrealize = rtc_unrealize;
    dc->reset = rtc_reset;
}

static const TypeInfo rtc_type = {
    .name = TYPE_RTC,
    .parent = TYPE_ISA_DEVICE,
    .instance_size = sizeof(RTCState),
    .class_init = rtc_class_init,
};
TYPE_REGISTER(rtc_type)
