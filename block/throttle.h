/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BLOCK_THROTTLE_H
#define BLOCK_THROTTLE_H

#include "node.h"
#include "qom/object.h"
#include "throttle-bucket.h"

/*
 * Throttle groups: members (filter nodes, backends) that share limits. Members may be used in many
 * contexts at once; a request that had to wait goes on in the context that submitted it.
 *
 * The clock is real time; under a manual virtual clock (qtest) it is that one.
 */
typedef struct ThrottleGroup ThrottleGroup;
typedef struct ThrottleMember ThrottleMember;

/* ---- throttle-group.c: groups. Runs in: main thread unless said otherwise ---- */

/* Finds one by name; NULL: there is none. Borrowed. */
ThrottleGroup *throttle_group_find(const char *name);
/* Makes one without limits and with one reference. The name must be free. */
ThrottleGroup *throttle_group_new(const char *name);
ThrottleGroup *throttle_group_ref(ThrottleGroup *g);
void throttle_group_unref(ThrottleGroup *g);
const char *throttle_group_name(const ThrottleGroup *g);
/* The limits. Setting them empties the buckets, and lets go what need not wait any more. cfg has
 * been checked. */
void throttle_group_get_config(ThrottleGroup *g, ThrottleConfig *cfg);
void throttle_group_set_config(ThrottleGroup *g, const ThrottleConfig *cfg);
/* The object that stands for the group in the object tree: in use while the group has members. */
void throttle_group_set_object(ThrottleGroup *g, Object *obj);
Object *throttle_group_object(const ThrottleGroup *g);

/* ---- members ---- */

/* `go` starts a request that has waited. Runs in: the request's context. */
ThrottleMember *throttle_member_new(ThrottleGroup *g, void (*go)(void *opaque, BlockRequest *req),
                                    void *opaque);
/* No request of it waits. */
void throttle_member_free(ThrottleMember *m);
ThrottleGroup *throttle_member_group(const ThrottleMember *m);
/* While on (nests) nothing of this member waits, and what waits is let go: for drains. */
void throttle_member_release_all(ThrottleMember *m, bool on);

/* Counts req (a read; or a write, discard or write-zeroes, which all count as writes) and returns
 * true if it may start at once. Otherwise takes it, and starts it with go() later.
 * Runs in: the request's context. */
bool throttle_member_pass_slow(ThrottleMember *m, BlockRequest *req);

/* First in both structs, so that a look at them costs next to nothing. */
struct ThrottleMemberHead {
    const int *limited; /* of the group; atomic */
};

static inline bool throttle_member_pass(ThrottleMember *m, BlockRequest *req)
{
    return G_LIKELY(
               !__atomic_load_n(((struct ThrottleMemberHead *)m)->limited, __ATOMIC_RELAXED)) ||
           throttle_member_pass_slow(m, req);
}

/* ---- throttle-alarm.c: one wake-up at a time for a group, in a context of its choice ---- */

typedef struct ThrottleAlarm ThrottleAlarm;

AioClock throttle_clock(void);
/* Calls throttle_group_alarm(g, seq) in ctx at `ns` of throttle_clock(); holds g's memory until
 * then. Runs in: any thread. */
void throttle_alarm_set(AioContext *ctx, ThrottleGroup *g, int64_t ns, unsigned seq);
/* Runs in: the context of the alarm. */
void throttle_group_alarm(ThrottleGroup *g, unsigned seq);
/* Keeps the memory of a group, and nothing else. Runs in: any thread. */
void throttle_group_hold(ThrottleGroup *g);
void throttle_group_release(ThrottleGroup *g);

#endif
