/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The 8042 keyboard controller, with nothing plugged into it. What is left of its job: it tells a
 * driver that no keyboard answers, and it drives the processor's reset line.
 */
#include "hw/core/isa.h"
#include "hw/core/memory.h"
#include "hw/core/runstate.h"

#define DATA_PORT           0x60
#define COMMAND_PORT        0x64

#define STATUS_OUTPUT_FULL  0x01
#define STATUS_SELF_TESTED  0x04
#define STATUS_COMMAND      0x08 /* the last byte came through the command port */
#define STATUS_UNLOCKED     0x10
#define STATUS_AUX_FULL     0x20
#define STATUS_TIMEOUT      0x40

#define CMD_READ_CONFIG     0x20
#define CMD_WRITE_CONFIG    0x60
#define CMD_AUX_DISABLE     0xa7
#define CMD_AUX_ENABLE      0xa8
#define CMD_AUX_TEST        0xa9
#define CMD_SELF_TEST       0xaa
#define CMD_KBD_TEST        0xab
#define CMD_KBD_DISABLE     0xad
#define CMD_KBD_ENABLE      0xae
#define CMD_READ_OUTPUT     0xd0
#define CMD_WRITE_OUTPUT    0xd1
#define CMD_WRITE_AUX       0xd4
#define CMD_PULSE           0xf0 /* lower four bits: lines that are not pulsed */

#define CONFIG_KBD_DISABLED 0x10
#define CONFIG_AUX_DISABLED 0x20
#define OUTPUT_NO_RESET     0x01
#define OUTPUT_A20          0x02

typedef struct I8042 {
    ISADevice parent_obj;
    uint8_t status, config, output, data;
    uint8_t pending; /* command that waits for its byte; 0: none */
    MmioRegion *data_port, *command_port;
} I8042;

static void answer(I8042 *s, uint8_t byte)
{
    s->data = byte;
    s->status |= STATUS_OUTPUT_FULL;
}

static void drive_output(I8042 *s, uint8_t value)
{
    s->output = value;
    if (!(value & OUTPUT_NO_RESET)) {
        request_reset(SHUTDOWN_CAUSE_GUEST_RESET);
    }
}

static void command(I8042 *s, uint8_t cmd)
{
    s->pending = 0;
    switch (cmd) {
    case CMD_READ_CONFIG:
        answer(s, s->config);
        break;
    case CMD_WRITE_CONFIG:
    case CMD_WRITE_OUTPUT:
    case CMD_WRITE_AUX:
        s->pending = cmd;
        break;
    case CMD_AUX_DISABLE:
        s->config |= CONFIG_AUX_DISABLED;
        break;
    case CMD_AUX_ENABLE:
        s->config &= ~CONFIG_AUX_DISABLED;
        break;
    case CMD_SELF_TEST:
        s->status |= STATUS_SELF_TESTED;
        answer(s, 0x55);
        break;
    case CMD_AUX_TEST:
    case CMD_KBD_TEST:
        answer(s, 0x00);
        break;
    case CMD_KBD_DISABLE:
        s->config |= CONFIG_KBD_DISABLED;
        break;
    case CMD_KBD_ENABLE:
        s->config &= ~CONFIG_KBD_DISABLED;
        break;
    case CMD_READ_OUTPUT:
        answer(s, s->output);
        break;
    default:
        /* Line 0 is the processor's reset. */
        if ((cmd & 0xf0) == CMD_PULSE && !(cmd & 1)) {
            request_reset(SHUTDOWN_CAUSE_GUEST_RESET);
        }
        break;
    }
}

static void data_byte(I8042 *s, uint8_t byte)
{
    switch (s->pending) {
    case CMD_WRITE_CONFIG:
        s->config = byte;
        break;
    case CMD_WRITE_OUTPUT:
        drive_output(s, byte);
        break;
    default:
        /* For a keyboard or mouse that is not there: no answer in time. */
        answer(s, 0xfe);
        s->status |= STATUS_TIMEOUT;
        break;
    }
    s->pending = 0;
}

static uint64_t data_read(void *opaque, uint64_t offset, unsigned size)
{
    I8042 *s = opaque;

    s->status &= ~(STATUS_OUTPUT_FULL | STATUS_AUX_FULL | STATUS_TIMEOUT);
    return s->data;
}

static void data_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    I8042 *s = opaque;

    s->status &= ~STATUS_COMMAND;
    data_byte(s, value);
}

static uint64_t command_read(void *opaque, uint64_t offset, unsigned size)
{
    return ((I8042 *)opaque)->status;
}

static void command_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    I8042 *s = opaque;

    s->status |= STATUS_COMMAND;
    command(s, value);
}

static const MmioOps data_ops = { .read = data_read, .write = data_write, .max_size = 1 };
static const MmioOps command_ops = { .read = command_read, .write = command_write, .max_size = 1 };

static bool i8042_realize(DeviceState *dev, Error **errp)
{
    I8042 *s = (I8042 *)dev;

    s->data_port = mmio_region_new("i8042-data", &data_ops, s, 1);
    s->command_port = mmio_region_new("i8042-cmd", &command_ops, s, 1);
    mmio_region_map(s->data_port, guest_ports, DATA_PORT, 0);
    mmio_region_map(s->command_port, guest_ports, COMMAND_PORT, 0);
    return true;
}

static void i8042_unrealize(DeviceState *dev)
{
    I8042 *s = (I8042 *)dev;

    g_clear_pointer(&s->data_port, mmio_region_free);
    g_clear_pointer(&s->command_port, mmio_region_free);
}

static void i8042_reset(DeviceState *dev)
{
    I8042 *s = (I8042 *)dev;

    s->status = STATUS_COMMAND | STATUS_UNLOCKED;
    s->config = 0;
    s->output = OUTPUT_NO_RESET | OUTPUT_A20;
    s->data = 0;
    s->pending = 0;
}

static void i8042_class_init(ObjectClass *klass, const void *data)
{
    DeviceClass *dc = (DeviceClass *)klass;

    dc->category = "input";
    dc->realize = i8042_realize;
    dc->unrealize = i8042_unrealize;
    dc->reset = i8042_reset;
}

static const TypeInfo i8042_type = {
    .name = "i8042",
    .parent = TYPE_ISA_DEVICE,
    .instance_size = sizeof(I8042),
    .class_init = i8042_class_init,
};
TYPE_REGISTER(i8042_type)
