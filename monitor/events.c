/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events: time stamps, rate limits, and sending them to every client that has negotiated. */
#include "qmp.h"

#include <string.h>

#include "hw/core/machine.h"

/*
 * Events that may come in floods. After one was sent, the newest of those that follow within the
 * interval is sent at its end. Where a member tells several sources apart each has its own limit.
 */
typedef struct RateLimit {
    const char *event;
    int64_t interval_ms;
    const char *by; /* NULL: one limit for all */
} RateLimit;

static const RateLimit limits[] = {
    { "BALLOON_CHANGE", 1000, NULL },
    { "BLOCK_IO_ERROR", 1000, "qom-path" },
    { "MEMORY_DEVICE_SIZE_CHANGE", 1000, "qom-path" },
    { "QUORUM_FAILURE", 1000, NULL },
    { "QUORUM_REPORT_BAD", 1000, "node-name" },
    { "RTC_CHANGE", 1000, NULL },
    { "VSERPORT_CHANGE", 1000, "id" },
    { "WATCHDOG", 1000, NULL },
};

/* One source of an event. Main thread. */
typedef struct Limited {
    char *key;
    const RateLimit *limit;
    AioTimer *timer;
    bool active;       /* one was sent less than the interval ago */
    JsonNode *pending; /* the newest since, with its time */
} Limited;

typedef struct Emitted {
    const RateLimit *limit;
    JsonNode *event;
} Emitted;

static GHashTable *sources; /* key -> Limited */

static JsonNode *stamp(const char *name, JsonNode *data)
{
    gint64 now = g_get_real_time();
    JsonObject *time = json_object_new();
    JsonObject *event = json_object_new();
    JsonNode *node = json_node_new(JSON_NODE_OBJECT);

    json_object_set_int_member(time, "seconds", now / G_USEC_PER_SEC);
    json_object_set_int_member(time, "microseconds", now % G_USEC_PER_SEC);
    json_object_set_object_member(event, "timestamp", time);
    json_object_set_string_member(event, "event", name);
    if (data) {
        json_object_set_member(event, "data", data);
    }
    json_node_take_object(node, event);
    return node;
}

/* Runs in: any thread. */
static void broadcast(JsonNode *event)
{
    pthread_mutex_lock(&qmp_monitors_lock);
    for (guint i = 0; qmp_monitors && i < qmp_monitors->len; i++) {
        QmpMonitor *mon = qmp_monitors->pdata[i];
        unsigned session;
        bool negotiated;

        pthread_mutex_lock(&mon->lock);
        negotiated = mon->negotiated;
        session = mon->session;
        pthread_mutex_unlock(&mon->lock);
        if (negotiated) {
            qmp_send(mon, session, event);
        }
    }
    pthread_mutex_unlock(&qmp_monitors_lock);
}

/* Under qtest time stands still unless the client moves it, and so do the limits. */
static AioClock limit_clock(void)
{
    return accel_is("qtest") ? AIO_CLOCK_VIRTUAL : AIO_CLOCK_REALTIME;
}

static void limited_free(gpointer opaque)
{
    Limited *l = opaque;

    aio_timer_free(l->timer);
    g_clear_pointer(&l->pending, json_node_unref);
    g_free(l->key);
    g_free(l);
}

static void arm(Limited *l)
{
    l->active = true;
    aio_timer_set(l->timer,
                  aio_clock_ns(limit_clock()) + l->limit->interval_ms * 1000 * 1000);
}

static void interval_over(void *opaque)
{
    Limited *l = opaque;

    l->active = false;
    if (l->pending) {
        g_autoptr(JsonNode) event = g_steal_pointer(&l->pending);

        broadcast(event);
        arm(l);
    }
}

static gboolean is_idle(gpointer key, gpointer value, gpointer opaque)
{
    return !((Limited *)value)->active;
}

static Limited *limited_get(const RateLimit *limit, JsonNode *event)
{
    JsonObject *obj = json_node_get_object(event);
    JsonObject *data = json_object_has_member(obj, "data")
                           ? json_object_get_object_member(obj, "data")
                           : NULL;
    const char *by = limit->by && data
                         ? json_object_get_string_member_with_default(data, limit->by, "")
                         : "";
    g_autofree char *key = g_strconcat(limit->event, ":", by, NULL);
    Limited *l = g_hash_table_lookup(sources, key);

    if (l) {
        return l;
    }
    /* Sources come and go (hotplug); those that say nothing are forgotten. */
    g_hash_table_foreach_remove(sources, is_idle, NULL);
    l = g_new0(Limited, 1);
    l->key = g_steal_pointer(&key);
    l->limit = limit;
    l->timer = aio_timer_new(aio_context_main(), limit_clock(), interval_over, l);
    g_hash_table_insert(sources, l->key, l);
    return l;
}

static void emit_limited(void *opaque)
{
    Emitted *e = opaque;
    Limited *l;

    if (sources) {
        l = limited_get(e->limit, e->event);
        if (l->active) {
            g_clear_pointer(&l->pending, json_node_unref);
            l->pending = json_node_ref(e->event);
        } else {
            broadcast(e->event);
            arm(l);
        }
    }
    json_node_unref(e->event);
    g_free(e);
}

static void on_event(const char *name, JsonNode *data)
{
    JsonNode *event = stamp(name, data);

    for (guint i = 0; i < G_N_ELEMENTS(limits); i++) {
        if (g_str_equal(limits[i].event, name)) {
            Emitted *e = g_new0(Emitted, 1);

            e->limit = &limits[i];
            e->event = event;
            if (aio_in_main_thread()) {
                emit_limited(e);
            } else {
                aio_call(aio_context_main(), emit_limited, e);
            }
            return;
        }
    }
    broadcast(event);
    json_node_unref(event);
}

void events_init(void)
{
    sources = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, limited_free);
    qapi_event_set_sink(on_event);
}

void events_cleanup(void)
{
    qapi_event_set_sink(NULL);
    g_clear_pointer(&sources, g_hash_table_unref);
}
