/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Devices and buses: adding, what a failure leaves behind, hotplug, unplug, reset, globals. */
#include "hw/core/device.h"
#include "qapi/json.h"
#include "util/aio.h"
#include "util/biglock.h"

#include <string.h>

static GString *log_text; /* what happened, in order */
static unsigned alive;    /* instances of the test types */

static void note(const char *what, DeviceState *dev)
{
    g_string_append_printf(log_text, "%s(%s) ", what,
                           dev->id ? dev->id : object_type_name((Object *)dev));
}

static void assert_log(const char *expected)
{
    g_assert_cmpstr(log_text->str, ==, expected);
    g_string_truncate(log_text, 0);
}

/* ---- a bus with four addresses, and what sits on it ---- */

#define TYPE_SLOT_BUS "SLOT"

typedef struct SlotBus {
    BusState parent_obj;
    DeviceState *slots[4];
} SlotBus;

typedef struct SlotDevice {
    DeviceState parent_obj;
    int32_t slot;
    int32_t bootindex;
    uint32_t number;
    bool fail;
} SlotDevice;

static bool slot_assign(BusState *bus, DeviceState *dev, Error **errp)
{
    SlotBus *b = (SlotBus *)bus;
    SlotDevice *d = (SlotDevice *)dev;

    for (int i = 0; d->slot < 0 && i < 4; i++) {
        d->slot = b->slots[i] ? d->slot : i;
    }
    if (d->slot < 0 || d->slot > 3 || b->slots[d->slot]) {
        error_set(errp, "no slot");
        return false;
    }
    b->slots[d->slot] = dev;
    return true;
}

static void slot_release(BusState *bus, DeviceState *dev)
{
    ((SlotBus *)bus)->slots[((SlotDevice *)dev)->slot] = NULL;
}

static void slot_bus_class_init(ObjectClass *klass, const void *data)
{
    BusClass *bc = (BusClass *)klass;
    bc->kind = TYPE_SLOT_BUS;
    bc->assign = slot_assign;
    bc->release = slot_release;
}

static const TypeInfo slot_bus_info = {
    .name = TYPE_SLOT_BUS,
    .parent = TYPE_BUS,
    .instance_size = sizeof(SlotBus),
    .class_init = slot_bus_class_init,
};
TYPE_REGISTER(slot_bus_info)

static bool slot_realize(DeviceState *dev, Error **errp)
{
    note("realize", dev);
    if (((SlotDevice *)dev)->fail) {
        error_set(errp, "asked to fail");
        return false;
    }
    return true;
}

static void slot_unrealize(DeviceState *dev)
{
    note("unrealize", dev);
}

static void slot_reset(DeviceState *dev)
{
    note("reset", dev);
}

static void count_init(Object *obj)
{
    alive++;
}

static void count_finalize(Object *obj)
{
    alive--;
}

static void slot_device_class_init(ObjectClass *klass, const void *data)
{
    DeviceClass *dc = (DeviceClass *)klass;
    dc->bus_type = TYPE_SLOT_BUS;
    dc->user_creatable = true;
    dc->hotpluggable = true;
    dc->category = "storage";
    dc->realize = slot_realize;
    dc->unrealize = slot_unrealize;
    dc->reset = slot_reset;
}

static const Property slot_props[] = {
    PROP_INT32("slot", SlotDevice, slot, -1),
    PROP_UINT32("number", SlotDevice, number, 1),
    PROP_BOOL("fail", SlotDevice, fail, false),
    PROP_BOOTINDEX("bootindex", SlotDevice, bootindex),
    PROP_END,
};

static const TypeInfo slot_device_info = {
    .name = "slot-device",
    .parent = TYPE_DEVICE,
    .instance_size = sizeof(SlotDevice),
    .props = slot_props,
    .abstract = true,
    .class_init = slot_device_class_init,
    .instance_init = count_init,
    .instance_finalize = count_finalize,
};
TYPE_REGISTER(slot_device_info)

static void plain_class_init(ObjectClass *klass, const void *data)
{
    DeviceClass *dc = (DeviceClass *)klass;
    dc->alias = "plain";
    dc->desc = "Plain device";
}

static const TypeInfo plain_info = {
    .name = "plain-device",
    .parent = "slot-device",
    .class_init = plain_class_init,
};
TYPE_REGISTER(plain_info)

/* ---- a device with a backend on a bus of its own, as virtio has it ---- */

typedef struct Proxy {
    SlotDevice parent_obj;
    BusState *bus;
    DeviceState *backend;
} Proxy;

typedef struct Backend {
    DeviceState parent_obj;
    uint32_t queues;
    Object *thread;
} Backend;

static const TypeInfo inner_bus_info = {
    .name = "inner-bus",
    .parent = TYPE_BUS,
};
TYPE_REGISTER(inner_bus_info)

static bool backend_realize(DeviceState *dev, Error **errp)
{
    note("realize", dev);
    if (((Backend *)dev)->queues == 0) {
        error_set(errp, "queues property must be larger than 0");
        return false;
    }
    return true;
}

static const Property backend_props[] = {
    PROP_UINT32("queues", Backend, queues, 1),
    PROP_LINK("thread", Backend, thread, "container"),
    PROP_END,
};

static void backend_class_init(ObjectClass *klass, const void *data)
{
    DeviceClass *dc = (DeviceClass *)klass;
    dc->bus_type = "inner-bus";
    dc->user_creatable = true;
    dc->realize = backend_realize;
    dc->unrealize = slot_unrealize;
    dc->reset = slot_reset;
}

static const TypeInfo backend_info = {
    .name = "backend-device",
    .parent = TYPE_DEVICE,
    .instance_size = sizeof(Backend),
    .props = backend_props,
    .class_init = backend_class_init,
    .instance_init = count_init,
    .instance_finalize = count_finalize,
};
TYPE_REGISTER(backend_info)

static bool proxy_realize(DeviceState *dev, Error **errp)
{
    Proxy *p = (Proxy *)dev;

    return device_realize(p->backend, p->bus, errp) && slot_realize(dev, errp);
}

static void proxy_init(Object *obj)
{
    Proxy *p = (Proxy *)obj;
    g_autoptr(Object) backend = (Object *)device_new("backend-device");

    p->backend = DEVICE(backend);
    object_add_child(obj, "backend", backend, &error_abort);
    object_alias_properties(obj, backend, "backend-device");
    p->bus = bus_new("inner-bus", DEVICE(obj), "inner");
}

static void proxy_class_init(ObjectClass *klass, const void *data)
{
    ((DeviceClass *)klass)->realize = proxy_realize;
}

static const TypeInfo proxy_info = {
    .name = "proxy-device",
    .parent = "slot-device",
    .instance_size = sizeof(Proxy),
    .class_init = proxy_class_init,
    .instance_init = proxy_init,
};
TYPE_REGISTER(proxy_info)

/* ---- the machine: one host device with a bus of slots, and a second bus without hotplug ---- */

static BusState *slot_bus, *cold_bus;

static const TypeInfo host_info = {
    .name = "host-device",
    .parent = TYPE_DEVICE,
};
TYPE_REGISTER(host_info)

static bool unplug_now(BusState *bus, DeviceState *dev, Error **errp)
{
    device_unplug(dev);
    return true;
}

static bool unplug_later(BusState *bus, DeviceState *dev, Error **errp)
{
    return true;
}

static bool (*unplug_mode)(BusState *bus, DeviceState *dev, Error **errp) = unplug_now;

static bool unplug_request(BusState *bus, DeviceState *dev, Error **errp)
{
    return unplug_mode(bus, dev, errp);
}

static const HotplugOps hotplug_ops = { .unplug_request = unplug_request };

static void make_machine(void)
{
    g_autoptr(Object) host = (Object *)device_new("host-device");

    object_container("/machine");
    slot_bus = bus_new(TYPE_SLOT_BUS, DEVICE(host), NULL);
    cold_bus = bus_new(TYPE_SLOT_BUS, DEVICE(host), "cold.0");
    slot_bus->hotplug = &hotplug_ops;
    device_realize(DEVICE(host), main_system_bus(), &error_abort);
}

/* ---- helpers ---- */

static DeviceState *add(const char *json, bool hotplug)
{
    g_autoptr(JsonNode) node = json_parse(json, &error_abort);
    return device_add(json_node_get_object(node), QAPI_JSON, hotplug, &error_abort);
}

static void refused(const char *json, bool hotplug, const char *message)
{
    g_autoptr(JsonNode) node = json_parse(json, &error_abort);
    unsigned before = alive;
    Error *err = NULL;

    g_assert_null(device_add(json_node_get_object(node), QAPI_JSON, hotplug, &err));
    g_assert_cmpstr(error_message(err), ==, message);
    g_assert_cmpuint(alive, ==, before);
    error_free(err);
}

static void del_refused(const char *id, const char *message)
{
    Error *err = NULL;

    g_assert_false(device_del(id, &err));
    g_assert_cmpstr(error_message(err), ==, message);
    error_free(err);
}

static GString *events;

static void record_event(const char *name, JsonNode *data)
{
    g_autofree char *text = json_write(data, false);
    g_string_append_printf(events, "%s %s\n", name, text);
    json_node_unref(data);
}

/* ---- tests ---- */

static void test_refusals(void)
{
    refused("{}", false, "Parameter 'driver' is missing");
    refused("{'driver':5}", false, "Parameter 'driver' is missing");
    refused("{'driver':'nosuch'}", false, "'nosuch' is not a valid device model name");
    refused("{'driver':'container'}", false, "'container' is not a valid device model name");
    refused("{'driver':'slot-device'}", false,
            "Parameter 'driver' expects a non-abstract device type");
    refused("{'driver':'host-device'}", false,
            "Parameter 'driver' expects a pluggable device type");
    refused("{'driver':'backend-device'}", true,
            "Parameter 'driver' expects a pluggable device type");
    refused("{'driver':'backend-device'}", false,
            "No 'inner-bus' bus found for device 'backend-device'");
    refused("{'driver':'plain','bus':'zz'}", false, "Bus 'zz' not found");
    refused("{'driver':'plain','bus':''}", false, "Bus '' not found");
    refused("{'driver':'plain','bus':'/'}", false, "Device 'plain-device' can't go on System bus");
    refused("{'driver':'plain','bus':'/zz'}", false, "Device 'zz' not found");
    refused("{'driver':'plain','bus':'cold.0'}", true,
            "Bus 'cold.0' does not support hotplugging");
    refused("{'driver':'plain','number':'x','foo':1}", false, "Parameter 'number' expects uint64");
    refused("{'driver':'plain','foo':1}", false, "Property 'plain-device.foo' not found");
    refused("{'driver':'proxy-device','backend':'x'}", false,
            "Property 'proxy-device.backend' is not writable");
    assert_log("");
}

static void test_failed_realize(void)
{
    g_autoptr(Object) thread = object_new("container");
    object_add_child(object_objects_root(), "thread", thread, &error_abort);

    refused("{'driver':'plain','id':'v0','bootindex':1,'fail':true}", true, "asked to fail");
    refused("{'driver':'proxy-device','id':'v0','bootindex':1,'thread':'thread','queues':0}", true,
            "queues property must be larger than 0");
    /* Here the backend had been realized. */
    refused("{'driver':'proxy-device','id':'v0','bootindex':1,'thread':'thread','fail':true}", true,
            "asked to fail");
    g_assert_cmpuint(thread->users, ==, 0);
    g_assert_null(slot_bus->children);
    g_assert_cmpuint(events->len, ==, 0);
    g_string_truncate(log_text, 0);

    /* Id, boot index and slot are free. */
    DeviceState *dev =
        add("{'driver':'proxy-device','id':'v0','bootindex':1,'thread':'thread'}", true);
    g_assert_cmpint(((SlotDevice *)dev)->slot, ==, 0);
    g_assert_cmpuint(thread->users, ==, 1);
    assert_log("realize(backend-device) reset(backend-device) realize(v0) "
               "reset(backend-device) reset(v0) ");
    refused("{'driver':'plain','id':'v0'}", true, "Duplicate device ID 'v0'");
    refused("{'driver':'plain','bootindex':1}", true, "The bootindex 1 has already been used");
    refused("{'driver':'plain','slot':0}", true, "no slot");

    g_assert_true(device_del("v0", &error_abort));
    assert_log("unrealize(backend-device) unrealize(v0) ");
    g_assert_cmpstr(events->str, ==,
                    "DEVICE_DELETED {\"path\": \"/machine/peripheral/v0/backend\"}\n"
                    "DEVICE_DELETED {\"device\": \"v0\", \"path\": \"/machine/peripheral/v0\"}\n");
    g_string_truncate(events, 0);
    g_assert_cmpuint(alive, ==, 0);
    g_assert_cmpuint(thread->users, ==, 0);
    object_unparent(thread);
}

static void assert_set_refused(DeviceState *dev, const char *name, const char *message)
{
    Error *err = NULL;

    g_assert_false(object_property_set_str((Object *)dev, name, "1", &err));
    g_assert_cmpstr(error_message(err), ==, message);
    error_free(err);
}

static void test_set_after_realize(void)
{
    DeviceState *dev = add("{'driver':'proxy-device','id':'v0'}", false);

    assert_set_refused(dev, "number",
                       "Attempt to set property 'number' on device 'v0' (type 'proxy-device') "
                       "after it was realized");
    assert_set_refused(dev, "queues",
                       "Attempt to set property 'queues' on anonymous device (type "
                       "'backend-device') after it was realized");
    assert_set_refused(dev, "thread",
                       "Attempt to set link property 'thread' on device '(null)' (type "
                       "'backend-device') after it was realized");
    assert_set_refused(dev, "hotplugged", "Property 'proxy-device.hotplugged' is not writable");
    object_property_set_str((Object *)dev, "bootindex", "3", &error_abort);
    g_assert_cmpint(bootindex_of((Object *)dev), ==, 3);
    object_property_set_str((Object *)dev, "bootindex", "-1", &error_abort);
    g_assert_cmpint(bootindex_of((Object *)dev), ==, -1);
    device_unplug(dev);
    g_string_truncate(events, 0);
    g_string_truncate(log_text, 0);
}

static void test_unplug_rules(void)
{
    add("{'driver':'plain','id':'cold','bus':'cold.0'}", false);
    add("{'driver':'plain','id':'hot','bus':'slot.0'}", true);

    del_refused("cold", "Bus 'cold.0' does not support hotplugging");
    del_refused("/machine/peripheral/cold", "Bus 'cold.0' does not support hotplugging");
    del_refused("nosuch", "Device 'nosuch' not found");
    del_refused("", " is not a device");
    del_refused("/objects", "/objects is not a device");

    unplug_mode = unplug_later;
    g_assert_true(device_del("hot", &error_abort));
    del_refused("hot", "Device hot is already in the process of unplug");
    DeviceState *dev = device_find("hot", &error_abort);
    dev->unplug_deadline_ns = aio_clock_ns(AIO_CLOCK_VIRTUAL);
    unplug_mode = unplug_now;
    if (dev->unplug_deadline_ns) {
        g_assert_true(device_del("hot", &error_abort));
    } else {
        device_unplug(dev);
    }
    device_unplug(device_find("cold", &error_abort));
    g_assert_cmpuint(alive, ==, 0);
    g_string_truncate(events, 0);
    g_string_truncate(log_text, 0);
}

static void test_reset_order(void)
{
    add("{'driver':'proxy-device','id':'a'}", false);
    add("{'driver':'plain','id':'b'}", false);
    g_string_truncate(log_text, 0);
    device_reset_all();
    assert_log("reset(backend-device) reset(a) reset(b) ");
    device_unplug(device_find("a", &error_abort));
    device_unplug(device_find("b", &error_abort));
    g_string_truncate(events, 0);
    g_string_truncate(log_text, 0);
}

static void test_texts(void)
{
    add("{'driver':'proxy-device','id':'v0','number':7}", false);

    g_autofree char *tree = device_tree_text();
    g_assert_nonnull(strstr(tree, "bus: main-system-bus\n"
                                  "  type System\n"
                                  "  dev: host-device, id \"\"\n"
                                  "    bus: cold.0\n"
                                  "      type SLOT\n"
                                  "    bus: slot.0\n"
                                  "      type SLOT\n"
                                  "      dev: proxy-device, id \"v0\"\n"
                                  "        slot = 0 (0x0)\n"
                                  "        number = 7 (0x7)\n"
                                  "        fail = false\n"
                                  "        bus: inner\n"
                                  "          type inner-bus\n"
                                  "          dev: backend-device, id \"\"\n"
                                  "            queues = 1 (0x1)\n"));

    g_autofree char *list = device_help_list();
    g_assert_nonnull(strstr(list, "Storage devices:\n"
                                  "name \"plain-device\", bus SLOT, alias \"plain\", desc \"Plain "
                                  "device\"\n"
                                  "name \"proxy-device\", bus SLOT\n"));
    g_autofree char *help = device_help("plain", &error_abort);
    g_assert_cmpstr(help, ==,
                    "plain-device options:\n"
                    "  bootindex=<int32>\n"
                    "  fail=<bool>            - on/off (default: off)\n"
                    "  number=<uint32>        -  (default: 1)\n"
                    "  slot=<int32>           -  (default: -1)\n");
    device_unplug(device_find("v0", &error_abort));
    g_string_truncate(events, 0);
    g_string_truncate(log_text, 0);
}

static void test_bus_paths(void)
{
    add("{'driver':'proxy-device','id':'v0','bus':'/host-device/slot.0'}", false);
    refused("{'driver':'plain','bus':'slot.0/v0/zz'}", false, "Bus 'zz' not found");
    refused("{'driver':'plain','bus':'slot.0/v0'}", false,
            "Device 'plain-device' can't go on inner-bus bus");
    refused("{'driver':'plain','bus':'/host-device'}", false,
            "Device 'host-device' has multiple child buses");
    device_unplug(device_find("v0", &error_abort));
    g_string_truncate(events, 0);
    g_string_truncate(log_text, 0);
}

/* Last: globals stay. */
static void test_globals(void)
{
    Error *err = NULL;

    global_property_parse("slot-device.number=5", &error_abort);
    global_property_parse("driver=proxy-device,property=queues,value=2", &error_abort);
    g_assert_false(global_property_parse("driver=x", &err));
    g_assert_cmpstr(error_message(err), ==,
                    "options 'driver', 'property', and 'value' are required");
    error_free(err);

    DeviceState *dev = add("{'driver':'proxy-device','id':'v0'}", false);
    g_assert_cmpuint(((SlotDevice *)dev)->number, ==, 5);
    g_assert_cmpuint(((Backend *)((Proxy *)dev)->backend)->queues, ==, 2);
    device_unplug(dev);

    global_property_parse("backend-device.foo=4", &error_abort);
    refused("{'driver':'proxy-device'}", false,
            "can't apply global backend-device.foo=4: Property 'backend-device.foo' not found");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    aio_main_init(&error_abort);
    if (!big_lock_held()) {
        big_lock();
    }
    log_text = g_string_new(NULL);
    events = g_string_new(NULL);
    qapi_event_set_sink(record_event);
    make_machine();
    g_test_add_func("/device/refusals", test_refusals);
    g_test_add_func("/device/failed-realize", test_failed_realize);
    g_test_add_func("/device/set-after-realize", test_set_after_realize);
    g_test_add_func("/device/unplug-rules", test_unplug_rules);
    g_test_add_func("/device/reset-order", test_reset_order);
    g_test_add_func("/device/texts", test_texts);
    g_test_add_func("/device/bus-paths", test_bus_paths);
    g_test_add_func("/device/globals", test_globals);
    return g_test_run();
}
