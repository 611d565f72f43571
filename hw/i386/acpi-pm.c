/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ACPI fixed hardware. */
#include "acpi-pm.h"

#include "hw/core/irq.h"
#include "hw/core/isa.h"
#include "hw/core/runstate.h"

#define SCI_GSI 9

#define PM_TIMER_HZ    3579545
#define PM_TIMER_MASK  0xffffffU
#define PM_TIMER_HALF  0x800000U /* the status bit follows each change of the top bit */

#define PM1_TMR     0x0001
#define PM1_GBL     0x0020
#define PM1_PWRBTN  0x0100
#define PM1_RTC     0x0400
#define PM1_STS_ALL 0x8d31
#define PM1_EN_ALL  0x0521

#define CNT_SCI_EN  0x0001
#define CNT_SLP_TYP 0x1c00
#define CNT_SLP_EN  0x2000

static uint64_t pm_ticks(void)
{
    return (unsigned __int128)aio_clock_ns(AIO_CLOCK_VIRTUAL) * PM_TIMER_HZ / 1000000000;
}

static void update_sci(AcpiPm *pm)
{
    bool level = (pm->sts & pm->en & (PM1_TMR | PM1_GBL | PM1_PWRBTN | PM1_RTC)) ||
                 (pm->gpe_sts & pm->gpe_en);

    gsi_set(SCI_GSI, GSI_SOURCE_SCI, level);
    if ((pm->en & PM1_TMR) && !(pm->sts & PM1_TMR)) {
        /* Rounded up: a timer that fires a tick early would find nothing to do. */
        aio_timer_set(pm->timer, (unsigned __int128)(pm->overflow + 1) * 1000000000 / PM_TIMER_HZ);
    } else {
        aio_timer_cancel(pm->timer);
    }
}

static void latch_timer(AcpiPm *pm)
{
    if (pm_ticks() >= pm->overflow) {
        pm->sts |= PM1_TMR;
    }
}

static void timer_fired(void *opaque)
{
    AcpiPm *pm = opaque;

    latch_timer(pm);
    update_sci(pm);
}

static void power_button(void *opaque)
{
    AcpiPm *pm = opaque;

    pm->sts |= PM1_PWRBTN;
    update_sci(pm);
}

void acpi_pm_gpe(AcpiPm *pm, unsigned bit)
{
    pm->gpe_sts |= 1ULL << bit;
    update_sci(pm);
}

/* ---- registers ---- */

static uint64_t evt_read(void *opaque, uint64_t offset, unsigned size)
{
    AcpiPm *pm = opaque;

    latch_timer(pm);
    return ((uint32_t)pm->en << 16 | pm->sts) >> (8 * offset);
}

static void evt_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    AcpiPm *pm = opaque;
    uint32_t v = (uint32_t)value << (8 * offset);
    uint32_t touched = (size == 4 ? UINT32_MAX : (1U << 8 * size) - 1) << (8 * offset);

    latch_timer(pm);
    if (v & pm->sts & PM1_TMR) {
        pm->overflow = (pm_ticks() + PM_TIMER_HALF) & ~(uint64_t)(PM_TIMER_HALF - 1);
    }
    pm->sts &= ~(v & PM1_STS_ALL);
    if (touched >> 16) {
        uint16_t t = touched >> 16;

        pm->en = (pm->en & ~t) | (v >> 16 & t & PM1_EN_ALL);
    }
    update_sci(pm);
}

static const MmioOps evt_ops = {.read = evt_read, .write = evt_write, .max_size = 4};

static void sleep_now(AcpiPm *pm, unsigned type)
{
    if (type == 0 || type == pm->s4_val) {
        request_shutdown(SHUTDOWN_CAUSE_GUEST_SHUTDOWN);
    }
}

static uint64_t cnt_read(void *opaque, uint64_t offset, unsigned size)
{
    AcpiPm *pm = opaque;

    return pm->cnt >> (8 * offset);
}

static void cnt_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    AcpiPm *pm = opaque;
    uint16_t touched = (size == 2 ? 0xffff : 0xff) << (8 * offset);
    uint16_t v = (pm->cnt & ~touched) | ((value << (8 * offset)) & touched);

    pm->cnt = v & ~CNT_SLP_EN;
    if (v & CNT_SLP_EN) {
        sleep_now(pm, (v & CNT_SLP_TYP) >> 10);
    }
}

static const MmioOps cnt_ops = {.read = cnt_read, .write = cnt_write, .max_size = 2};

static uint64_t tmr_read(void *opaque, uint64_t offset, unsigned size)
{
    return (pm_ticks() & PM_TIMER_MASK) >> (8 * offset);
}

static void ignore_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
}

static const MmioOps tmr_ops = {.read = tmr_read, .write = ignore_write, .max_size = 4};

static uint64_t gpe_read(void *opaque, uint64_t offset, unsigned size)
{
    AcpiPm *pm = opaque;

    return offset < pm->gpe_len ? pm->gpe_sts >> (8 * offset)
                                : pm->gpe_en >> (8 * (offset - pm->gpe_len));
}

static void gpe_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    AcpiPm *pm = opaque;

    if (offset < pm->gpe_len) {
        pm->gpe_sts &= ~(value << (8 * offset));
    } else {
        unsigned shift = 8 * (offset - pm->gpe_len);

        pm->gpe_en = (pm->gpe_en & ~(0xffULL << shift)) | (value & 0xff) << shift;
    }
    update_sci(pm);
}

static const MmioOps gpe_ops = {.read = gpe_read, .write = gpe_write, .max_size = 1};

static uint64_t apm_read(void *opaque, uint64_t offset, unsigned size)
{
    AcpiPm *pm = opaque;

    return pm->smi[offset];
}

static void apm_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    AcpiPm *pm = opaque;

    pm->smi[offset] = value;
    if (offset == 0 && pm->smi[0] == pm->enable_cmd) {
        pm->cnt |= CNT_SCI_EN;
    } else if (offset == 0 && pm->smi[0] == pm->disable_cmd) {
        pm->cnt &= ~CNT_SCI_EN;
    }
}

static const MmioOps apm_ops = {.read = apm_read, .write = apm_write, .max_size = 1};

/* ---- life ---- */

static void map_one(MmioRegion *r, bool on, uint16_t base)
{
    if (on) {
        mmio_region_map(r, guest_ports, base, -1);
    } else {
        mmio_region_unmap(r);
    }
}

void acpi_pm_map(AcpiPm *pm, bool on, uint16_t base)
{
    map_one(pm->evt, on, base);
    map_one(pm->ctl, on, base + 4);
    map_one(pm->tmr, on, base + 8);
}

void acpi_pm_map_gpe(AcpiPm *pm, bool on, uint16_t base)
{
    map_one(pm->gpe, on, base);
}

void acpi_pm_init(AcpiPm *pm, unsigned gpe_len, uint8_t enable_cmd, uint8_t disable_cmd)
{
    g_assert(gpe_len <= 8);
    pm->gpe_len = gpe_len;
    pm->enable_cmd = enable_cmd;
    pm->disable_cmd = disable_cmd;
    pm->timer = aio_timer_new(aio_context_main(), AIO_CLOCK_VIRTUAL, timer_fired, pm);
    pm->evt = mmio_region_new("acpi-evt", &evt_ops, pm, 4);
    pm->ctl = mmio_region_new("acpi-cnt", &cnt_ops, pm, 2);
    pm->tmr = mmio_region_new("acpi-tmr", &tmr_ops, pm, 4);
    pm->gpe = mmio_region_new("acpi-gpe0", &gpe_ops, pm, 2 * gpe_len);
    pm->apm = mmio_region_new("apm-io", &apm_ops, pm, 2);
    mmio_region_map(pm->apm, guest_ports, 0xb2, 0);
    powerdown_register(power_button, pm);
}

void acpi_pm_fini(AcpiPm *pm)
{
    aio_timer_free(pm->timer);
    pm->timer = NULL;
    mmio_region_free(pm->evt);
    mmio_region_free(pm->ctl);
    mmio_region_free(pm->tmr);
    mmio_region_free(pm->gpe);
    mmio_region_free(pm->apm);
    pm->evt = pm->ctl = pm->tmr = pm->gpe = pm->apm = NULL;
}

void acpi_pm_reset(AcpiPm *pm)
{
    pm->sts = pm->en = pm->cnt = 0;
    pm->gpe_sts = pm->gpe_en = 0;
    pm->overflow = 0;
    pm->smi[0] = pm->smi[1] = 0;
    update_sci(pm);
}
