/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The accelerator "qtest": no guest code runs. Guest time moves only when a client of the qtest
 * socket says so. */
#include "hw/core/machine.h"
#include "util/aio.h"

static bool qtest_accel_init(Object *accel, MachineState *m, Error **errp)
{
    g_assert(aio_in_main_thread());
    aio_virtual_clock_set_manual();
    return true;
}

static void qtest_accel_class_init(ObjectClass *klass, const void *data)
{
    AccelClass *ac = (AccelClass *)klass;

    ac->name = "qtest";
    ac->title = "QTest";
    ac->init = qtest_accel_init;
}

static const TypeInfo qtest_accel_type = {
    .name = "qtest-accel",
    .parent = TYPE_ACCEL,
    .class_init = qtest_accel_class_init,
};
TYPE_REGISTER(qtest_accel_type)
