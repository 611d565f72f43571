/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Alarms of throttle groups. A context keeps one timer for all groups that want to be woken in it:
 * a group asks for its next wake-up in a context that has a request waiting, which therefore stays
 * until then.
 */
#include "throttle.h"

typedef struct Alarm {
    ThrottleGroup *group; /* held */
    int64_t ns;
    unsigned seq;
} Alarm;

typedef struct AlarmClock {
    AioContext *ctx;
    AioTimer *timer;
    AioClock clock; /* of timer */
    GArray *alarms; /* of Alarm */
} AlarmClock;

AioClock throttle_clock(void)
{
    return aio_virtual_clock_is_manual() ? AIO_CLOCK_VIRTUAL : AIO_CLOCK_REALTIME;
}

static void set_timer(AlarmClock *c)
{
    int64_t first = INT64_MAX;

    for (guint i = 0; i < c->alarms->len; i++) {
        first = MIN(first, g_array_index(c->alarms, Alarm, i).ns);
    }
    if (first != INT64_MAX) {
        aio_timer_set(c->timer, first);
    }
}

static void ring(void *opaque)
{
    AlarmClock *c = opaque;
    int64_t now = aio_clock_ns(c->clock);
    guint i = 0;

    while (i < c->alarms->len) {
        Alarm a = g_array_index(c->alarms, Alarm, i);

        if (a.ns > now) {
            i++;
            continue;
        }
        g_array_remove_index_fast(c->alarms, i);
        throttle_group_alarm(a.group, a.seq);
        throttle_group_release(a.group);
        /* The callback may have set others. */
        i = 0;
    }
    set_timer(c);
}

static void *clock_create(AioContext *ctx, Error **errp)
{
    AlarmClock *c = g_new0(AlarmClock, 1);

    c->ctx = ctx;
    c->clock = throttle_clock();
    c->timer = aio_timer_new(ctx, c->clock, ring, c);
    c->alarms = g_array_new(FALSE, FALSE, sizeof(Alarm));
    return c;
}

static void clock_destroy(void *service)
{
    AlarmClock *c = service;

    /* Out of date, all of them: nothing waits in a context that goes. */
    for (guint i = 0; i < c->alarms->len; i++) {
        throttle_group_release(g_array_index(c->alarms, Alarm, i).group);
    }
    g_array_unref(c->alarms);
    aio_timer_free(c->timer);
    g_free(c);
}

static const AioServiceOps clock_service = { clock_create, clock_destroy };

/* The newest one of a group replaces those before it. */
static void set_here(AioContext *ctx, const Alarm *a)
{
    AlarmClock *c = aio_service_get(ctx, &clock_service, &error_abort);

    for (guint i = 0; i < c->alarms->len; i++) {
        Alarm *old = &g_array_index(c->alarms, Alarm, i);

        if (old->group == a->group) {
            if ((int)(a->seq - old->seq) > 0) {
                old->ns = a->ns;
                old->seq = a->seq;
                set_timer(c);
            }
            throttle_group_release(a->group);
            return;
        }
    }
    g_array_append_val(c->alarms, *a);
    set_timer(c);
}

typedef struct Message {
    AioContext *ctx;
    Alarm alarm;
} Message;

static void set_there(void *opaque)
{
    Message *m = opaque;

    set_here(m->ctx, &m->alarm);
    g_free(m);
    aio_virtual_clock_release();
}

void throttle_alarm_set(AioContext *ctx, ThrottleGroup *g, int64_t ns, unsigned seq)
{
    Alarm a = { g, ns, seq };
    Message *m;

    throttle_group_hold(g);
    if (aio_in_context(ctx)) {
        set_here(ctx, &a);
        return;
    }
    m = g_new(Message, 1);
    m->ctx = ctx;
    m->alarm = a;
    aio_virtual_clock_hold();
    aio_call(ctx, set_there, m);
}
