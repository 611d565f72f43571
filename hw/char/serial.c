/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The 16550A serial port, with its FIFOs, as an ISA device at the four places of a PC.
 *
 * What the guest sends goes to the chardev at once. When the peer is slow, the transmitter is full
 * until it has caught up; a guest that sends on regardless loses bytes, as on the real thing.
 */
#include <linux/serial_reg.h>
#include <string.h>

#include "chardev/char.h"
#include "hw/char/serial.h"
#include "hw/core/irq.h"
#include "hw/core/isa.h"
#include "hw/core/memory.h"
#include "util/aio.h"
#include "util/biglock.h"

#define FIFO_SIZE     16
#define TX_BACKLOG    4096 /* bytes the peer may lag behind before the transmitter is full */
#define TX_RECHECK_NS (5 * 1000 * 1000)
#define PORT_SIZE     8
#define MSR_CONNECTED (UART_MSR_DCD | UART_MSR_DSR | UART_MSR_CTS)
#define UNSET         UINT32_MAX

typedef struct Serial {
    ISADevice parent_obj;
    char *chardev_id;
    uint32_t index, iobase, irq, baudbase;
    bool wakeup;
    Chardev *chr; /* NULL: nothing is connected */
    MmioRegion *ports;
    AioTimer *tx_timer; /* the peer may have caught up */
    uint16_t divisor;
    uint8_t ier, lcr, mcr, scr, fcr;
    uint8_t lsr_errors; /* overrun and break, until LSR is read */
    bool thr_interrupt; /* the transmitter got empty, and nobody has been told */
    bool tx_full;
    uint8_t fifo[FIFO_SIZE];
    unsigned fifo_head, fifo_len;
} Serial;

static Serial *ports[SERIAL_PORTS_MAX];

bool isa_serial_present(unsigned index)
{
    return index < SERIAL_PORTS_MAX && ports[index];
}

/* ---- interrupts ---- */

static bool rx_at_trigger(const Serial *s)
{
    static const uint8_t levels[] = { 1, 4, 8, 14 };

    return s->fifo_len >= (s->fcr & UART_FCR_ENABLE_FIFO ? levels[s->fcr >> 6] : 1);
}

/* The highest of the interrupts that are enabled and pending. Fewer bytes than the trigger level
 * count as timed out: there is no line whose silence could be waited for. */
static uint8_t interrupt_id(const Serial *s)
{
    if ((s->ier & UART_IER_RLSI) && s->lsr_errors) {
        return UART_IIR_RLSI;
    }
    if ((s->ier & UART_IER_RDI) && s->fifo_len) {
        return rx_at_trigger(s) ? UART_IIR_RDI : UART_IIR_RX_TIMEOUT;
    }
    if ((s->ier & UART_IER_THRI) && s->thr_interrupt) {
        return UART_IIR_THRI;
    }
    return UART_IIR_NO_INT;
}

static void update_irq(Serial *s)
{
    gsi_set(s->irq, GSI_SOURCE_SERIAL + s->index, interrupt_id(s) != UART_IIR_NO_INT);
}

/* ---- receiving ---- */

static unsigned fifo_capacity(const Serial *s)
{
    return s->fcr & UART_FCR_ENABLE_FIFO ? FIFO_SIZE : 1;
}

static void fifo_push(Serial *s, uint8_t byte)
{
    if (s->fifo_len >= fifo_capacity(s)) {
        s->lsr_errors |= UART_LSR_OE;
        return;
    }
    s->fifo[(s->fifo_head + s->fifo_len++) % FIFO_SIZE] = byte;
}

static uint8_t fifo_pop(Serial *s)
{
    uint8_t byte = s->fifo[s->fifo_head];

    if (!s->fifo_len) {
        return 0;
    }
    s->fifo_head = (s->fifo_head + 1) % FIFO_SIZE;
    s->fifo_len--;
    return byte;
}

static size_t serial_can_receive(void *opaque)
{
    Serial *s = opaque;
    unsigned capacity = fifo_capacity(s);

    if (s->mcr & UART_MCR_LOOP) {
        return 0;
    }
    return s->fifo_len < capacity ? capacity - s->fifo_len : 0;
}

static void serial_receive(void *opaque, const uint8_t *buf, size_t len)
{
    Serial *s = opaque;

    ASSERT_BIG_LOCK();
    for (size_t i = 0; i < len; i++) {
        fifo_push(s, buf[i]);
    }
    update_irq(s);
}

static void serial_event(void *opaque, ChardevEvent event)
{
    Serial *s = opaque;

    if (event == CHARDEV_BREAK) {
        fifo_push(s, 0);
        s->lsr_errors |= UART_LSR_BI;
        update_irq(s);
    }
}

static const ChardevHandlers serial_handlers = {
    .can_receive = serial_can_receive,
    .receive = serial_receive,
    .event = serial_event,
};

static void rx_make_room(Serial *s)
{
    if (s->chr) {
        chardev_accept_input(s->chr);
    }
}

/* ---- sending ---- */

static void tx_check(Serial *s)
{
    bool full = s->chr && chardev_queued(s->chr) > TX_BACKLOG;

    if (full) {
        aio_timer_set(s->tx_timer, aio_clock_ns(AIO_CLOCK_REALTIME) + TX_RECHECK_NS);
    }
    s->thr_interrupt = !full;
    s->tx_full = full;
    update_irq(s);
}

static void tx_timer(void *opaque)
{
    tx_check(opaque);
}

static void transmit(Serial *s, uint8_t byte)
{
    if (s->mcr & UART_MCR_LOOP) {
        fifo_push(s, byte);
        s->thr_interrupt = true;
        update_irq(s);
        return;
    }
    if (s->tx_full) {
        return;
    }
    if (s->chr) {
        chardev_write(s->chr, &byte, 1);
    }
    tx_check(s);
}

/* ---- registers ---- */

static uint8_t line_status(const Serial *s)
{
    return s->lsr_errors | (s->fifo_len ? UART_LSR_DR : 0) |
           (s->tx_full ? 0 : UART_LSR_THRE | UART_LSR_TEMT);
}

static uint8_t modem_status(const Serial *s)
{
    if (!(s->mcr & UART_MCR_LOOP)) {
        return MSR_CONNECTED;
    }
    return (s->mcr & UART_MCR_DTR ? UART_MSR_DSR : 0) | (s->mcr & UART_MCR_RTS ? UART_MSR_CTS : 0) |
           (s->mcr & UART_MCR_OUT1 ? UART_MSR_RI : 0) | (s->mcr & UART_MCR_OUT2 ? UART_MSR_DCD : 0);
}

static uint8_t read_iir(Serial *s)
{
    uint8_t id = interrupt_id(s);

    if (id == UART_IIR_THRI) {
        s->thr_interrupt = false;
        update_irq(s);
    }
    return id | (s->fcr & UART_FCR_ENABLE_FIFO ? 0xc0 : 0);
}

static uint64_t serial_read(void *opaque, uint64_t offset, unsigned size)
{
    Serial *s = opaque;
    bool dlab = s->lcr & UART_LCR_DLAB;
    uint8_t v;

    switch (offset) {
    case UART_RX:
        if (dlab) {
            return s->divisor & 0xff;
        }
        v = fifo_pop(s);
        update_irq(s);
        rx_make_room(s);
        return v;
    case UART_IER:
        return dlab ? s->divisor >> 8 : s->ier;
    case UART_IIR:
        return read_iir(s);
    case UART_LCR:
        return s->lcr;
    case UART_MCR:
        return s->mcr;
    case UART_LSR:
        v = line_status(s);
        if (s->lsr_errors) {
            s->lsr_errors = 0;
            update_irq(s);
        }
        return v;
    case UART_MSR:
        return modem_status(s);
    default:
        return s->scr;
    }
}

static void write_fcr(Serial *s, uint8_t v)
{
    bool toggled = (s->fcr ^ v) & UART_FCR_ENABLE_FIFO;

    s->fcr = v & (UART_FCR_ENABLE_FIFO | UART_FCR_DMA_SELECT | UART_FCR_TRIGGER_MASK);
    if (toggled || (v & UART_FCR_CLEAR_RCVR)) {
        s->fifo_len = s->fifo_head = 0;
    }
    if (toggled || (v & UART_FCR_CLEAR_XMIT)) {
        s->thr_interrupt = true;
    }
    update_irq(s);
    rx_make_room(s);
}

static void write_ier(Serial *s, uint8_t v)
{
    bool thri = (v & ~s->ier) & UART_IER_THRI;

    s->ier = v & 0x0f;
    /* Asked for while the transmitter is empty: told at once. */
    if (thri && !s->tx_full) {
        s->thr_interrupt = true;
    }
    update_irq(s);
}

static void serial_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    Serial *s = opaque;
    bool dlab = s->lcr & UART_LCR_DLAB;
    uint8_t v = value;

    switch (offset) {
    case UART_TX:
        if (dlab) {
            s->divisor = (s->divisor & 0xff00) | v;
        } else {
            s->thr_interrupt = false;
            transmit(s, v);
        }
        break;
    case UART_IER:
        if (dlab) {
            s->divisor = (s->divisor & 0xff) | v << 8;
        } else {
            write_ier(s, v);
        }
        break;
    case UART_FCR:
        write_fcr(s, v);
        break;
    case UART_LCR:
        s->lcr = v;
        break;
    case UART_MCR:
        s->mcr = v & 0x1f;
        rx_make_room(s);
        break;
    case UART_SCR:
        s->scr = v;
        break;
    default: /* the status registers */
        break;
    }
}

static const MmioOps serial_ops = { .read = serial_read, .write = serial_write, .max_size = 1 };

/* ---- the device ---- */

static void serial_reset(DeviceState *dev)
{
    Serial *s = (Serial *)dev;

    s->divisor = 12;
    s->ier = s->lcr = s->scr = s->fcr = 0;
    s->mcr = UART_MCR_OUT2;
    s->lsr_errors = 0;
    s->thr_interrupt = s->tx_full = false;
    s->fifo_head = s->fifo_len = 0;
    aio_timer_cancel(s->tx_timer);
    update_irq(s);
    rx_make_room(s);
}

static bool serial_place(Serial *s, Error **errp)
{
    static const struct {
        uint16_t iobase;
        uint8_t irq;
    } places[SERIAL_PORTS_MAX] = { { 0x3f8, 4 }, { 0x2f8, 3 }, { 0x3e8, 4 }, { 0x2e8, 3 } };
    uint32_t i = s->index;

    if (i == UNSET) {
        for (i = 0; i < SERIAL_PORTS_MAX && ports[i]; i++) {
        }
    }
    if (i >= SERIAL_PORTS_MAX) {
        error_set(errp, "Max. supported number of ISA serial ports is %d.", SERIAL_PORTS_MAX);
        return false;
    }
    if (ports[i]) {
        error_set(errp, "there is an ISA serial port with index=%u already", i);
        return false;
    }
    s->iobase = s->iobase == UNSET ? places[i].iobase : s->iobase;
    s->irq = s->irq == UNSET ? places[i].irq : s->irq;
    if (s->iobase > 0x10000 - PORT_SIZE) {
        error_set(errp, "iobase=0x%x is not a place for %d ports", s->iobase, PORT_SIZE);
        return false;
    }
    if (s->irq >= ISA_IRQ_COUNT) {
        error_set(errp, "Maximum value for \"irq\" is: %d", ISA_IRQ_COUNT - 1);
        return false;
    }
    s->index = i;
    return true;
}

static bool serial_connect(Serial *s, Error **errp)
{
    if (!s->chardev_id) {
        return true;
    }
    s->chr = chardev_find(s->chardev_id);
    if (!s->chr) {
        error_set(errp, "Property 'serial.chardev' can't find value '%s'", s->chardev_id);
        return false;
    }
    if (!chardev_claim(s->chr, &serial_handlers, s, errp)) {
        error_prepend(errp, "Property 'serial.chardev' can't take value '%s': ", s->chardev_id);
        s->chr = NULL;
        return false;
    }
    return true;
}

static bool serial_realize(DeviceState *dev, Error **errp)
{
    Serial *s = (Serial *)dev;

    if (!serial_place(s, errp) || !serial_connect(s, errp)) {
        return false;
    }
    s->tx_timer = aio_timer_new(aio_context_main(), AIO_CLOCK_REALTIME, tx_timer, s);
    s->ports = mmio_region_new("serial", &serial_ops, s, PORT_SIZE);
    mmio_region_map(s->ports, guest_ports, s->iobase, 0);
    ports[s->index] = s;
    return true;
}

static void serial_unrealize(DeviceState *dev)
{
    Serial *s = (Serial *)dev;

    ports[s->index] = NULL;
    gsi_set(s->irq, GSI_SOURCE_SERIAL + s->index, false);
    g_clear_pointer(&s->ports, mmio_region_free);
    g_clear_pointer(&s->tx_timer, aio_timer_free);
    g_clear_pointer(&s->chr, chardev_release);
}

static bool check_wakeup(Object *obj, const Property *prop, Error **errp)
{
    if (((Serial *)obj)->wakeup) {
        error_set(errp, "wakeup=on is not supported: the machine does not sleep");
        return false;
    }
    return true;
}

/* How fast bytes go depends on the peer alone. */
static bool check_baudbase(Object *obj, const Property *prop, Error **errp)
{
    if (((Serial *)obj)->baudbase != 115200) {
        error_set(errp, "baudbase=%u is not supported", ((Serial *)obj)->baudbase);
        return false;
    }
    return true;
}

static const Property serial_props[] = {
    PROP_STRING("chardev", Serial, chardev_id),
    PROP_UINT32("index", Serial, index, UNSET),
    PROP_UINT32("iobase", Serial, iobase, UNSET),
    PROP_UINT32("irq", Serial, irq, UNSET),
    { .name = "baudbase",
      .type = &prop_uint32,
      .offset = PROP_FIELD(Serial, baudbase),
      .def = DEFAULT_UINT,
      .def_int = 115200,
      .check = check_baudbase },
    { .name = "wakeup",
      .type = &prop_bool,
      .offset = PROP_FIELD(Serial, wakeup),
      .def = DEFAULT_BOOL,
      .check = check_wakeup },
    PROP_END,
};

static void serial_class_init(ObjectClass *klass, const void *data)
{
    DeviceClass *dc = (DeviceClass *)klass;

    dc->category = "input";
    dc->user_creatable = true;
    dc->realize = serial_realize;
    dc->unrealize = serial_unrealize;
    dc->reset = serial_reset;
}

static const TypeInfo serial_type = {
    .name = "isa-serial",
    .parent = TYPE_ISA_DEVICE,
    .instance_size = sizeof(Serial),
    .props = serial_props,
    .class_init = serial_class_init,
};
TYPE_REGISTER(serial_type)
