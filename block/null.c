/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drivers null-co and null-aio: a disk that stores nothing, for measuring everything else. null-co
 * completes within the submission unless it has a latency, null-aio always later. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "node.h"

typedef struct NullState {
    int64_t size;
    int64_t latency_ns;
    bool has_size, has_read_zeroes;
    bool read_zeroes;
    bool is_aio;
} NullState;

/* ---- requests that complete later, per context ---- */

typedef struct NullQueue {
    AioContext *ctx;
    AioTimer *timer;
    AioBh *bh;
    BlockRequest *ready, **ready_tail; /* for the bottom half */
    BlockRequest *timed, *timed_last;  /* by deadline */
} NullQueue;

static void null_queue_bh(void *opaque)
{
    NullQueue *q = opaque;
    BlockRequest *list = q->ready;

    q->ready = NULL;
    q->ready_tail = &q->ready;
    while (list) {
        BlockRequest *req = list;

        list = req->next;
        block_request_done(req, 0);
    }
}

static void null_queue_timer(void *opaque)
{
    NullQueue *q = opaque;
    int64_t now = aio_clock_ns(AIO_CLOCK_REALTIME);

    while (q->timed && q->timed->u.deadline_ns <= now) {
        BlockRequest *req = q->timed;

        q->timed = req->next;
        if (!q->timed) {
            q->timed_last = NULL;
        }
        block_request_done(req, 0);
    }
    if (q->timed) {
        aio_timer_set(q->timer, q->timed->u.deadline_ns);
    }
}

static void *null_queue_create(AioContext *ctx, Error **errp)
{
    NullQueue *q = g_new0(NullQueue, 1);

    q->ctx = ctx;
    q->ready_tail = &q->ready;
    q->bh = aio_bh_new(ctx, null_queue_bh, q);
    q->timer = aio_timer_new(ctx, AIO_CLOCK_REALTIME, null_queue_timer, q);
    return q;
}

static void null_queue_destroy(void *service)
{
    NullQueue *q = service;

    g_assert(!q->ready && !q->timed);
    aio_timer_free(q->timer);
    aio_bh_free(q->bh);
    g_free(q);
}

static const AioServiceOps null_queue_ops = { null_queue_create, null_queue_destroy };

static void null_queue_timed(NullQueue *q, BlockRequest *req, int64_t latency_ns)
{
    int64_t now = aio_clock_ns(AIO_CLOCK_REALTIME);
    BlockRequest **p = &q->timed;

    req->u.deadline_ns = latency_ns > INT64_MAX - now ? INT64_MAX : now + latency_ns;
    if (q->timed_last && q->timed_last->u.deadline_ns <= req->u.deadline_ns) {
        p = &q->timed_last->next;
    } else {
        while (*p && (*p)->u.deadline_ns <= req->u.deadline_ns) {
            p = &(*p)->next;
        }
    }
    req->next = *p;
    *p = req;
    if (!req->next) {
        q->timed_last = req;
    }
    if (q->timed == req) {
        aio_timer_set(q->timer, req->u.deadline_ns);
    }
}

/* A completion may submit the next request. The stack must not grow with the number of requests. */
#define MAX_NESTING 4

static __thread unsigned nesting;

static void null_submit(BlockNode *node, BlockRequest *req)
{
    NullState *s = node->opaque;
    NullQueue *q;

    if (req->at_op == BLK_OP_READ && s->read_zeroes) {
        block_iov_zero(req->iov, req->niov, 0);
    }
    if (!s->latency_ns && !s->is_aio && nesting < MAX_NESTING) {
        nesting++;
        block_request_done(req, 0);
        nesting--;
        return;
    }
    q = aio_service_get(req->ctx, &null_queue_ops, &error_abort);
    if (s->latency_ns) {
        null_queue_timed(q, req, s->latency_ns);
    } else {
        req->next = NULL;
        *q->ready_tail = req;
        q->ready_tail = &req->next;
        aio_bh_schedule(q->bh);
    }
}

/* ---- control plane ---- */

static bool null_open(BlockNode *node, const BlockdevOptions *opts, Error **errp)
{
    bool is_aio = opts->driver == BLOCKDEV_DRIVER_NULL_AIO;
    const BlockdevOptionsNull *o = is_aio ? &opts->u.null_aio : &opts->u.null_co;
    NullState *s = node->opaque;

    if (o->has_size && o->size < 0) {
        error_set(errp, "Value '%" PRIi64 "' is out of range for parameter 'size'", o->size);
        return false;
    }
    if (o->has_latency_ns && o->latency_ns > INT64_MAX) {
        error_set(errp, "latency-ns is invalid");
        return false;
    }
    s->is_aio = is_aio;
    s->has_size = o->has_size;
    s->size = o->has_size ? o->size : INT64_C(1) << 30;
    s->latency_ns = o->has_latency_ns ? (int64_t)o->latency_ns : 0;
    s->has_read_zeroes = o->has_read_zeroes;
    s->read_zeroes = o->has_read_zeroes && o->read_zeroes;
    return true;
}

static int64_t null_length(BlockNode *node)
{
    NullState *s = node->opaque;

    return s->size;
}

static int64_t null_allocated(BlockNode *node)
{
    return 0;
}

static void null_refresh_filename(BlockNode *node)
{
    NullState *s = node->opaque;

    if (!s->has_size && !s->has_read_zeroes) {
        node->filename = g_strdup_printf("%s://", node->drv->name);
    }
}

static JsonNode *null_describe(BlockNode *node)
{
    NullState *s = node->opaque;
    JsonNode *json = json_node_new(JSON_NODE_OBJECT);
    JsonObject *obj = json_object_new();

    if (s->has_read_zeroes) {
        json_object_set_boolean_member(obj, "read-zeroes", s->read_zeroes);
    }
    json_object_set_string_member(obj, "driver", node->drv->name);
    if (s->has_size) {
        json_object_set_int_member(obj, "size", s->size);
    }
    json_node_take_object(json, obj);
    return json;
}

static bool null_can_discard(BlockNode *node)
{
    return true;
}

static bool null_parse_filename(const char *filename, const char *expected, Error **errp)
{
    if (strcmp(filename, expected) != 0) {
        error_set(errp, "The only allowed filename for this driver is '%s'", expected);
        return false;
    }
    return true;
}

static bool null_co_parse_filename(const char *filename, JsonObject *options, Error **errp)
{
    return null_parse_filename(filename, "null-co://", errp);
}

static bool null_aio_parse_filename(const char *filename, JsonObject *options, Error **errp)
{
    return null_parse_filename(filename, "null-aio://", errp);
}

static const char *const null_options[] = { "size", "latency-ns", "read-zeroes", NULL };
static const char *const null_size_options[] = { "size", NULL };

#define NULL_DRIVER(name_, parse)                                                                  \
    {                                                                                              \
        .name = name_, .protocol = name_, .instance_size = sizeof(NullState),                      \
        .options = null_options, .size_options = null_size_options, .open = null_open,             \
        .length = null_length, .allocated = null_allocated,                                        \
        .refresh_filename = null_refresh_filename, .describe = null_describe,                      \
        .can_discard = null_can_discard, .parse_filename = parse, .submit = null_submit,           \
    }

static const BlockDriver null_co_driver = NULL_DRIVER("null-co", null_co_parse_filename);
static const BlockDriver null_aio_driver = NULL_DRIVER("null-aio", null_aio_parse_filename);
BLOCK_DRIVER_REGISTER(null_co_driver)
BLOCK_DRIVER_REGISTER(null_aio_driver)
