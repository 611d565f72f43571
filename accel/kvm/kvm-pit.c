/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The 8254 timer of the kernel, as the device that -global can set. */
#include <errno.h>

#include "kvm-int.h"
#include "qapi/qapi-misc.h"

#define TYPE_KVM_PIT "kvm-pit"

typedef struct KvmPit {
    DeviceState parent_obj;
    LostTickPolicy lost_tick_policy;
} KvmPit;

static bool check_policy(Object *obj, const Property *prop, Error **errp)
{
    LostTickPolicy p = ((KvmPit *)obj)->lost_tick_policy;

    if (p != LOST_TICK_POLICY_DELAY && p != LOST_TICK_POLICY_DISCARD) {
        error_set(errp, "Can't use lost tick policy '%s' with the timer of KVM",
                  qapi_enum_name(&qapi_enum_LostTickPolicy, p));
        return false;
    }
    return true;
}

static bool kvm_pit_realize(DeviceState *dev, Error **errp)
{
    /* Ticks that the guest missed are delivered later, or not at all. */
    struct kvm_reinject_control control = {
        .pit_reinject = ((KvmPit *)dev)->lost_tick_policy == LOST_TICK_POLICY_DELAY,
    };
    int ret = kvm_ioctl(kvm.vm_fd, KVM_REINJECT_CONTROL, &control);

    if (ret < 0) {
        error_set_errno(errp, -ret, "KVM_REINJECT_CONTROL");
        return false;
    }
    return true;
}

bool kvm_pit_create(MachineState *m, Error **errp)
{
    g_autoptr(Object) obj = object_new(TYPE_KVM_PIT);

    return object_add_child((Object *)m, TYPE_KVM_PIT, obj, errp) &&
           device_realize(DEVICE(obj), main_system_bus(), errp);
}

static const Property kvm_pit_props[] = {
    { .name = "lost_tick_policy", .type = &prop_enum,
      .offset = PROP_FIELD(KvmPit, lost_tick_policy),
      .def = DEFAULT_ENUM, .def_int = LOST_TICK_POLICY_DELAY, .arg = &qapi_enum_LostTickPolicy,
      .check = check_policy },
    PROP_END,
};

static void kvm_pit_class_init(ObjectClass *klass, const void *data)
{
    ((DeviceClass *)klass)->realize = kvm_pit_realize;
    ((DeviceClass *)klass)->desc = "8254 timer of KVM";
}

static const TypeInfo kvm_pit_type = {
    .name = TYPE_KVM_PIT,
    .parent = TYPE_DEVICE,
    .instance_size = sizeof(KvmPit),
    .props = kvm_pit_props,
    .class_init = kvm_pit_class_init,
};
TYPE_REGISTER(kvm_pit_type)
