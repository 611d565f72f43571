/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Throttle groups. Without limits a request sees one flag and passes. With limits, the group's lock
 * is taken for the arithmetic, and never while a request is started or completed: it is the
 * innermost lock, except for that of posting a message.
 *
 * Requests that must wait stand in line: per direction the members take turns, within a member the
 * streams do (a queue in its thread), within a stream it is first come, first served. One alarm
 * wakes the group when the next request may start, in the thread whose turn it is. Whoever looks at
 * a group lets go all that is due, so that a late alarm costs no throughput.
 */
#include <pthread.h>
#include <string.h>

#include "throttle.h"
#include "util/biglock.h"

/* Requests of one member and direction that wait in one context for one stream. */
typedef struct Lane {
    AioContext *ctx; /* referenced: it is there while somebody may set an alarm in it */
    const void *stream;
    BlockRequest *head, **tail;
    GList link; /* in the member's line */
} Lane;

struct ThrottleMember {
    struct ThrottleMemberHead head;
    ThrottleGroup *group;
    void (*go)(void *opaque, BlockRequest *req);
    void *opaque;
    /* Under the group's lock. */
    unsigned released;                   /* see throttle_member_release_all() */
    GPtrArray *lanes[THROTTLE_DIR__MAX]; /* of Lane, owned */
    GQueue line[THROTTLE_DIR__MAX];      /* of Lane: those with requests, the next one first */
    GList link[THROTTLE_DIR__MAX];       /* in the group's line */
};

struct ThrottleGroup {
    int limited; /* atomic */
    int holds;   /* of the memory; atomic */

    /* Main thread. */
    char *name;
    unsigned refs;
    unsigned members;
    Object *object; /* not referenced */

    pthread_mutex_t lock;
    ThrottleState state;
    AioClock clock; /* of the times in state */
    GQueue line[THROTTLE_DIR__MAX]; /* of ThrottleMember: those with requests, the next one first */
    ThrottleDir turn;               /* direction that goes first if both may */
    int64_t alarm_ns;               /* INT64_MAX: none is set */
    unsigned alarm_seq;
};

static GPtrArray *groups;

/* With the lock held. */
static int64_t group_now(ThrottleGroup *g)
{
    AioClock clock = throttle_clock();
    int64_t now = aio_clock_ns(clock);

    if (G_UNLIKELY(g->clock != clock)) {
        /* The accelerator came after the group, and took the virtual clock from real time. */
        g->clock = clock;
        g->state.leaked_ns = now;
    }
    return now;
}

/* ---- letting requests go ---- */

/* What was let go, to be started when the lock is free. */
typedef struct Batch {
    BlockRequest *head, **tail;
} Batch;

static void batch_add(Batch *b, BlockRequest *req)
{
    req->next = NULL;
    *b->tail = req;
    b->tail = &req->next;
}

static void start_list(BlockRequest *list)
{
    while (list) {
        BlockRequest *req = list;
        ThrottleMember *m = req->u.throttle;

        list = req->next;
        m->go(m->opaque, req);
    }
}

/* Runs in: the context that submitted the requests. */
static void start_there(void *opaque)
{
    start_list(opaque);
    aio_virtual_clock_release();
}

/* Starts them, each in its own context. The order within a context is kept. */
static void batch_start(Batch *b)
{
    BlockRequest *list = b->head, *here = NULL, **here_tail = &here;

    while (list) {
        AioContext *ctx = list->ctx;
        BlockRequest *mine = NULL, **tail = &mine, **other = &list;

        while (*other) {
            BlockRequest *req = *other;

            if (req->ctx == ctx) {
                *other = req->next;
                *tail = req;
                tail = &req->next;
            } else {
                other = &req->next;
            }
        }
        *tail = NULL;
        if (aio_in_context(ctx)) {
            *here_tail = mine;
            here_tail = tail;
        } else {
            aio_virtual_clock_hold();
            aio_call(ctx, start_there, mine);
        }
    }
    /* Last: what completes here at once may submit more. */
    start_list(here);
}

static BlockRequest *lane_pop(Lane *lane)
{
    BlockRequest *req = lane->head;

    lane->head = req->next;
    if (!lane->head) {
        lane->tail = &lane->head;
    }
    return req;
}

static ThrottleMember *next_member(ThrottleGroup *g, ThrottleDir dir)
{
    return g_queue_peek_head(&g->line[dir]);
}

/* Takes the next request of a member; its stream and the member go to the ends of their lines. */
static BlockRequest *member_pop(ThrottleMember *m, ThrottleDir dir)
{
    Lane *lane = g_queue_peek_head(&m->line[dir]);
    BlockRequest *req = lane_pop(lane);

    g_queue_unlink(&m->line[dir], &lane->link);
    if (lane->head) {
        g_queue_push_tail_link(&m->line[dir], &lane->link);
    }
    g_queue_unlink(&m->group->line[dir], &m->link[dir]);
    if (m->line[dir].length) {
        g_queue_push_tail_link(&m->group->line[dir], &m->link[dir]);
    }
    return req;
}

static void let_go(ThrottleGroup *g, ThrottleMember *m, ThrottleDir dir, Batch *b)
{
    BlockRequest *req = member_pop(m, dir);

    throttle_state_account(&g->state, dir, req->bytes);
    batch_add(b, req);
}

/* Lets go what is due and has the alarm set for the rest. Called with the lock held. */
static void group_run(ThrottleGroup *g, Batch *b)
{
    int64_t now = group_now(g);
    int64_t wait[THROTTLE_DIR__MAX];
    ThrottleDir dir;

    for (;;) {
        for (dir = 0; dir < THROTTLE_DIR__MAX; dir++) {
            wait[dir] = next_member(g, dir) ? throttle_state_wait(&g->state, dir, now) : INT64_MAX;
        }
        dir = wait[g->turn] == 0 ? g->turn : !g->turn;
        if (wait[dir] != 0) {
            break;
        }
        let_go(g, next_member(g, dir), dir, b);
        g->turn = !dir;
    }
    dir = wait[g->turn] <= wait[!g->turn] ? g->turn : !g->turn;
    if (wait[dir] == INT64_MAX && !next_member(g, dir)) {
        return;
    }
    wait[dir] = wait[dir] > INT64_MAX - 1 - now ? INT64_MAX - 1 : now + wait[dir];
    if (g->alarm_ns > now && g->alarm_ns <= wait[dir]) {
        return;
    }
    g->alarm_ns = wait[dir];
    g->alarm_seq++;
    /* With the lock held, or the thread whose turn it is could be gone when the message comes. */
    throttle_alarm_set(((Lane *)g_queue_peek_head(&next_member(g, dir)->line[dir]))->ctx, g,
                       g->alarm_ns, g->alarm_seq);
}

/* As above, and forgets about an alarm that is set. */
static void group_run_anew(ThrottleGroup *g, Batch *b)
{
    g->alarm_ns = INT64_MAX;
    g->alarm_seq++;
    group_run(g, b);
}

void throttle_group_alarm(ThrottleGroup *g, unsigned seq)
{
    Batch b = { NULL, &b.head };

    pthread_mutex_lock(&g->lock);
    if (seq == g->alarm_seq) {
        group_run_anew(g, &b);
    }
    pthread_mutex_unlock(&g->lock);
    batch_start(&b);
}

/* ---- requests ---- */

static ThrottleDir direction(const BlockRequest *req)
{
    return req->at_op == BLK_OP_READ ? THROTTLE_DIR_READ : THROTTLE_DIR_WRITE;
}

/* The lane for req; one that is empty serves anybody. */
static Lane *lane_find(ThrottleMember *m, ThrottleDir dir, const BlockRequest *req)
{
    Lane *lane, *empty = NULL;

    for (guint i = 0; i < m->lanes[dir]->len; i++) {
        lane = m->lanes[dir]->pdata[i];
        if (!lane->head) {
            empty = lane;
        } else if (lane->ctx == req->ctx && lane->stream == req->stream) {
            return lane;
        }
    }
    lane = empty;
    if (!lane) {
        lane = g_new0(Lane, 1);
        lane->tail = &lane->head;
        lane->link.data = lane;
        g_ptr_array_add(m->lanes[dir], lane);
    }
    aio_context_ref(req->ctx);
    aio_context_unref(lane->ctx);
    lane->ctx = req->ctx;
    lane->stream = req->stream;
    return lane;
}

static void lane_free(gpointer p)
{
    Lane *lane = p;

    g_assert(!lane->head);
    aio_context_unref(lane->ctx);
    g_free(lane);
}

static void enqueue(ThrottleMember *m, ThrottleDir dir, BlockRequest *req)
{
    Lane *lane = lane_find(m, dir, req);

    req->u.throttle = m;
    req->next = NULL;
    if (!lane->head) {
        g_queue_push_tail_link(&m->line[dir], &lane->link);
        if (m->line[dir].length == 1) {
            g_queue_push_tail_link(&m->group->line[dir], &m->link[dir]);
        }
    }
    *lane->tail = req;
    lane->tail = &req->next;
}

bool throttle_member_pass_slow(ThrottleMember *m, BlockRequest *req)
{
    ThrottleGroup *g = m->group;
    ThrottleDir dir = direction(req);
    Batch b = { NULL, &b.head };
    bool pass;

    pthread_mutex_lock(&g->lock);
    /* Nobody overtakes those who wait, in either direction: they may wait for the same bucket. */
    pass = m->released ||
           (!next_member(g, THROTTLE_DIR_READ) && !next_member(g, THROTTLE_DIR_WRITE) &&
            !throttle_state_wait(&g->state, dir, group_now(g)));
    if (pass) {
        throttle_state_account(&g->state, dir, req->bytes);
    } else {
        enqueue(m, dir, req);
        group_run(g, &b);
    }
    pthread_mutex_unlock(&g->lock);
    batch_start(&b);
    return pass;
}

/* ---- members ---- */

ThrottleMember *throttle_member_new(ThrottleGroup *g, void (*go)(void *opaque, BlockRequest *req),
                                    void *opaque)
{
    ThrottleMember *m = g_new0(ThrottleMember, 1);

    ASSERT_BIG_LOCK();
    m->head.limited = &g->limited;
    m->group = throttle_group_ref(g);
    m->go = go;
    m->opaque = opaque;
    for (int dir = 0; dir < THROTTLE_DIR__MAX; dir++) {
        m->lanes[dir] = g_ptr_array_new_with_free_func(lane_free);
        m->link[dir].data = m;
    }
    if (g->members++ == 0 && g->object) {
        object_use(g->object);
    }
    return m;
}

void throttle_member_free(ThrottleMember *m)
{
    ThrottleGroup *g = m->group;

    ASSERT_BIG_LOCK();
    for (int dir = 0; dir < THROTTLE_DIR__MAX; dir++) {
        g_ptr_array_unref(m->lanes[dir]);
    }
    g_free(m);
    if (--g->members == 0 && g->object) {
        object_unuse(g->object);
    }
    throttle_group_unref(g);
}

ThrottleGroup *throttle_member_group(const ThrottleMember *m)
{
    return m->group;
}

void throttle_member_release_all(ThrottleMember *m, bool on)
{
    ThrottleGroup *g = m->group;
    Batch b = { NULL, &b.head };

    ASSERT_BIG_LOCK();
    pthread_mutex_lock(&g->lock);
    g_assert(on || m->released > 0);
    m->released += on ? 1 : -1;
    if (m->released) {
        for (ThrottleDir dir = 0; dir < THROTTLE_DIR__MAX; dir++) {
            while (m->line[dir].length) {
                let_go(g, m, dir, &b);
            }
        }
        /* The alarm may be set in a context that nothing waits in now. */
        group_run_anew(g, &b);
    }
    pthread_mutex_unlock(&g->lock);
    batch_start(&b);
}

/* ---- groups ---- */

ThrottleGroup *throttle_group_find(const char *name)
{
    ASSERT_BIG_LOCK();
    for (guint i = 0; groups && i < groups->len; i++) {
        ThrottleGroup *g = groups->pdata[i];

        if (strcmp(g->name, name) == 0) {
            return g;
        }
    }
    return NULL;
}

ThrottleGroup *throttle_group_new(const char *name)
{
    ThrottleGroup *g = g_new0(ThrottleGroup, 1);
    ThrottleConfig none;

    g_assert(!throttle_group_find(name));
    throttle_config_init(&none);
    g->name = g_strdup(name);
    g->refs = 1;
    g->holds = 1;
    g->alarm_ns = INT64_MAX;
    pthread_mutex_init(&g->lock, NULL);
    throttle_state_set(&g->state, &none, 0);
    if (!groups) {
        groups = g_ptr_array_new();
    }
    g_ptr_array_add(groups, g);
    return g;
}

ThrottleGroup *throttle_group_ref(ThrottleGroup *g)
{
    ASSERT_BIG_LOCK();
    g->refs++;
    return g;
}

void throttle_group_unref(ThrottleGroup *g)
{
    ASSERT_BIG_LOCK();
    if (--g->refs > 0) {
        return;
    }
    g_assert(!g->members && !g->object);
    g_ptr_array_remove(groups, g);
    if (!groups->len) {
        g_clear_pointer(&groups, g_ptr_array_unref);
    }
    throttle_group_release(g);
}

void throttle_group_hold(ThrottleGroup *g)
{
    __atomic_add_fetch(&g->holds, 1, __ATOMIC_RELAXED);
}

void throttle_group_release(ThrottleGroup *g)
{
    if (__atomic_sub_fetch(&g->holds, 1, __ATOMIC_ACQ_REL) > 0) {
        return;
    }
    pthread_mutex_destroy(&g->lock);
    g_free(g->name);
    g_free(g);
}

const char *throttle_group_name(const ThrottleGroup *g)
{
    return g->name;
}

void throttle_group_get_config(ThrottleGroup *g, ThrottleConfig *cfg)
{
    pthread_mutex_lock(&g->lock);
    *cfg = g->state.cfg;
    pthread_mutex_unlock(&g->lock);
}

void throttle_group_set_config(ThrottleGroup *g, const ThrottleConfig *cfg)
{
    Batch b = { NULL, &b.head };

    ASSERT_BIG_LOCK();
    pthread_mutex_lock(&g->lock);
    throttle_state_set(&g->state, cfg, group_now(g));
    __atomic_store_n(&g->limited, throttle_config_enabled(cfg), __ATOMIC_RELAXED);
    group_run_anew(g, &b);
    pthread_mutex_unlock(&g->lock);
    batch_start(&b);
}

void throttle_group_set_object(ThrottleGroup *g, Object *obj)
{
    ASSERT_BIG_LOCK();
    g_assert(!g->object != !obj && !g->members);
    g->object = obj;
}

Object *throttle_group_object(const ThrottleGroup *g)
{
    return g->object;
}
