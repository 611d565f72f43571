/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -object throttle-group: a throttle group that users make, name and change. */
#include <inttypes.h>
#include <string.h>

#include "qapi/qapi-block-throttle.h"
#include "throttle-limits.h"
#include "util/biglock.h"

#define TYPE_THROTTLE_GROUP "throttle-group"

typedef struct ThrottleGroupObject {
    Object base;
    ThrottleGroup *group;           /* NULL until it is completed */
    JsonNode *limits;               /* as given, until then */
    int64_t x[THROTTLE_LIMITS_MAX]; /* the x- properties, until then */
} ThrottleGroupObject;

#define THROTTLE_GROUP(obj) OBJECT_CHECK(ThrottleGroupObject, obj, TYPE_THROTTLE_GROUP)

/* ---- limits ---- */

static ThrottleGroupProperties *decode_limits(JsonNode *value, QapiForm form, Error **errp)
{
    g_autoptr(JsonNode) wrapped = json_node_new(JSON_NODE_OBJECT);
    JsonObject *obj = json_object_new();

    /* Within the whole of the properties, so that messages say "limits.iops-total". */
    json_object_set_member(obj, "limits", json_node_copy(value));
    json_node_take_object(wrapped, obj);
    return qapi_decode_ThrottleGroupProperties(wrapped, form, errp);
}

static bool limits_apply(JsonNode *value, ThrottleConfig *cfg, Error **errp)
{
    g_autoptr(ThrottleGroupProperties) p = decode_limits(value, QAPI_JSON, errp);

    return p && throttle_limits_to_config(p->limits, cfg, errp) && throttle_config_check(cfg, errp);
}

static bool limits_set(Object *obj, const Property *prop, JsonNode *value, QapiForm form,
                       Error **errp)
{
    ThrottleGroupObject *t = THROTTLE_GROUP(obj);
    g_autoptr(ThrottleGroupProperties) p = NULL;
    ThrottleConfig cfg;

    if (form == QAPI_KEYVAL) {
        error_set(errp, "Invalid parameter '%s'", prop->name);
        return false;
    }
    if (t->group) {
        throttle_group_get_config(t->group, &cfg);
        if (!limits_apply(value, &cfg, errp)) {
            return false;
        }
        throttle_group_set_config(t->group, &cfg);
        return true;
    }
    p = decode_limits(value, form, errp);
    if (!p) {
        return false;
    }
    g_clear_pointer(&t->limits, json_node_unref);
    t->limits = json_node_copy(value);
    return true;
}

static JsonNode *limits_get(Object *obj, const Property *prop, Error **errp)
{
    ThrottleGroupObject *t = THROTTLE_GROUP(obj);
    g_autoptr(ThrottleLimits) limits = NULL;
    ThrottleConfig cfg;

    if (!t->group && t->limits) {
        return json_node_copy(t->limits);
    }
    throttle_config_init(&cfg);
    if (t->group) {
        throttle_group_get_config(t->group, &cfg);
    }
    limits = throttle_limits_of_config(&cfg);
    return qapi_encode_ThrottleLimits(limits);
}

static void limits_release(Object *obj, const Property *prop)
{
    g_clear_pointer(&THROTTLE_GROUP(obj)->limits, json_node_unref);
}

static const PropertyType prop_throttle_limits = {
    .name = "ThrottleLimits",
    .size = sizeof(JsonNode *),
    .set = limits_set,
    .get = limits_get,
    .release = limits_release,
    .in_place = true,
};

/* ---- x-iops-total and the like: for the command line ---- */

static unsigned x_index(const Property *prop)
{
    return GPOINTER_TO_UINT(prop->arg);
}

static bool x_set(Object *obj, const Property *prop, JsonNode *value, QapiForm form, Error **errp)
{
    return prop_object_int.set(obj, prop, value, form, errp);
}

static JsonNode *x_get(Object *obj, const Property *prop, Error **errp)
{
    ThrottleGroupObject *t = THROTTLE_GROUP(obj);
    JsonNode *node;
    ThrottleConfig cfg;

    if (!t->group) {
        return prop_object_int.get(obj, prop, errp);
    }
    throttle_group_get_config(t->group, &cfg);
    node = json_node_new(JSON_NODE_VALUE);
    json_node_set_int(node, (int64_t)*throttle_config_field(&cfg, x_index(prop)));
    return node;
}

static bool x_check(Object *obj, const Property *prop, Error **errp)
{
    ThrottleGroupObject *t = THROTTLE_GROUP(obj);
    int64_t value = t->x[x_index(prop)];

    if (t->group) {
        error_set(errp, "Property cannot be set after initialization");
        return false;
    }
    if (value < 0) {
        error_set(errp, "Property values cannot be negative");
        return false;
    }
    if (throttle_limits_is_length(x_index(prop)) && value > UINT32_MAX) {
        /* Clients know the message as it is. */
        error_set(errp, "%s value must be in therange [0, %" PRIu32 "]", prop->name, UINT32_MAX);
        return false;
    }
    return true;
}

static const PropertyType prop_throttle_x = {
    .name = "int",
    .size = sizeof(int64_t),
    .set = x_set,
    .get = x_get,
};

#define X_PROP(n, kind, field)                                                                     \
    { .name = "x-" n, .type = &prop_throttle_x, .check = x_check, .flags = PROP_RUNTIME,           \
      .offset = PROP_FIELD(ThrottleGroupObject, x) +                                               \
                THROTTLE_LIMITS_INDEX(kind, field) * sizeof(int64_t),                              \
      .arg = GUINT_TO_POINTER(THROTTLE_LIMITS_INDEX(kind, field)) }
#define X_PROPS(n, kind)                                                                           \
    X_PROP(n, kind, THROTTLE_FIELD_AVG), X_PROP(n "-max", kind, THROTTLE_FIELD_MAX),               \
        X_PROP(n "-max-length", kind, THROTTLE_FIELD_LENGTH)

static const Property throttle_group_props[] = {
    { .name = "limits", .type = &prop_throttle_limits, .flags = PROP_RUNTIME,
      .offset = PROP_FIELD(ThrottleGroupObject, limits) },
    X_PROPS("iops-total", THROTTLE_IOPS_TOTAL),
    X_PROPS("iops-read", THROTTLE_IOPS_READ),
    X_PROPS("iops-write", THROTTLE_IOPS_WRITE),
    X_PROPS("bps-total", THROTTLE_BPS_TOTAL),
    X_PROPS("bps-read", THROTTLE_BPS_READ),
    X_PROPS("bps-write", THROTTLE_BPS_WRITE),
    { .name = "x-iops-size", .type = &prop_throttle_x, .check = x_check, .flags = PROP_RUNTIME,
      .offset = PROP_FIELD(ThrottleGroupObject, x) + THROTTLE_LIMITS_SIZE * sizeof(int64_t),
      .arg = GUINT_TO_POINTER(THROTTLE_LIMITS_SIZE) },
    PROP_END,
};

/* ---- life ---- */

static bool throttle_group_complete(Object *obj, Error **errp)
{
    ThrottleGroupObject *t = THROTTLE_GROUP(obj);
    ThrottleConfig cfg;

    ASSERT_BIG_LOCK();
    for (unsigned i = 0; i < THROTTLE_LIMITS_MAX; i++) {
        *throttle_config_field(&cfg, i) = (uint64_t)t->x[i];
    }
    /* What is given in both forms is meant as in `limits`. */
    if (t->limits ? !limits_apply(t->limits, &cfg, errp) : !throttle_config_check(&cfg, errp)) {
        return false;
    }
    if (throttle_group_find(obj->name)) {
        error_set(errp, "A group with this name already exists");
        return false;
    }
    t->group = throttle_group_new(obj->name);
    throttle_group_set_object(t->group, obj);
    throttle_group_set_config(t->group, &cfg);
    g_clear_pointer(&t->limits, json_node_unref);
    return true;
}

static void throttle_group_init(Object *obj)
{
    ThrottleGroupObject *t = THROTTLE_GROUP(obj);
    ThrottleConfig none;

    throttle_config_init(&none);
    for (unsigned i = 0; i < THROTTLE_LIMITS_MAX; i++) {
        t->x[i] = (int64_t)*throttle_config_field(&none, i);
    }
}

static void throttle_group_finalize(Object *obj)
{
    ThrottleGroupObject *t = THROTTLE_GROUP(obj);

    if (t->group) {
        throttle_group_set_object(t->group, NULL);
        throttle_group_unref(t->group);
    }
}

static void throttle_group_class_init(ObjectClass *klass, const void *data)
{
    klass->complete = throttle_group_complete;
}

static const TypeInfo throttle_group_info = {
    .name = TYPE_THROTTLE_GROUP,
    .parent = "object",
    .instance_size = sizeof(ThrottleGroupObject),
    .props = throttle_group_props,
    .class_init = throttle_group_class_init,
    .instance_init = throttle_group_init,
    .instance_finalize = throttle_group_finalize,
    .user_creatable = true,
};
TYPE_REGISTER(throttle_group_info)
