/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What happens when a guest's request fails: policies, io-status, the event, stopping the VM. */
#include <errno.h>
#include <string.h>

#include "backend.h"
#include "util/biglock.h"

void (*blk_vm_stop_hook)(void);

/* Counts restarts of the VM: a failure from before one asks for no stop after it. */
static unsigned restarts;

static bool may_stop(BlockOnError policy)
{
    return policy == BLK_ON_ERROR_STOP || policy == BLK_ON_ERROR_ENOSPC;
}

void blk_set_on_error(BlockBackend *blk, BlockOnError rerror, BlockOnError werror)
{
    ASSERT_BIG_LOCK();
    if (rerror == BLK_ON_ERROR_AUTO) {
        rerror = blk->drive_rerror;
    }
    if (rerror == BLK_ON_ERROR_AUTO) {
        rerror = BLK_ON_ERROR_REPORT;
    }
    if (werror == BLK_ON_ERROR_AUTO) {
        werror = blk->drive_werror;
    }
    if (werror == BLK_ON_ERROR_AUTO) {
        werror = BLK_ON_ERROR_ENOSPC;
    }
    __atomic_store_n(&blk->rerror, (int)rerror, __ATOMIC_RELAXED);
    __atomic_store_n(&blk->werror, (int)werror, __ATOMIC_RELAXED);
    __atomic_store_n(&blk->iostatus_enabled, may_stop(rerror) || may_stop(werror),
                     __ATOMIC_RELAXED);
    blk->iostatus = BLOCK_DEVICE_IO_STATUS_OK;
}

BlockAction blk_error_action(BlockBackend *blk, bool is_read, int ret)
{
    BlockOnError policy = (BlockOnError)__atomic_load_n(is_read ? &blk->rerror : &blk->werror,
                                                        __ATOMIC_RELAXED);

    switch (policy) {
    case BLK_ON_ERROR_IGNORE:
        return BLK_ACTION_IGNORE;
    case BLK_ON_ERROR_STOP:
        return BLK_ACTION_STOP;
    case BLK_ON_ERROR_ENOSPC:
        return ret == -ENOSPC ? BLK_ACTION_STOP : BLK_ACTION_REPORT;
    case BLK_ON_ERROR_REPORT:
    case BLK_ON_ERROR_AUTO:
    default:
        return BLK_ACTION_REPORT;
    }
}

typedef struct ErrorReport {
    BlockBackend *blk;
    BlockAction action;
    bool is_read;
    int ret;
    unsigned restarts;
} ErrorReport;

/* Runs in: main thread. */
static void report_in_main(void *opaque)
{
    static const BlockErrorAction actions[] = {
        [BLK_ACTION_REPORT] = BLOCK_ERROR_ACTION_REPORT,
        [BLK_ACTION_IGNORE] = BLOCK_ERROR_ACTION_IGNORE,
        [BLK_ACTION_STOP] = BLOCK_ERROR_ACTION_STOP,
    };
    g_autofree ErrorReport *r = opaque;
    BlockBackend *blk = r->blk;
    g_autofree char *path = blk_dev_path(blk);
    bool nospace_known = __atomic_load_n(&blk->iostatus_enabled, __ATOMIC_RELAXED);

    if (r->action == BLK_ACTION_STOP && nospace_known &&
        blk->iostatus == BLOCK_DEVICE_IO_STATUS_OK) {
        blk->iostatus = r->ret == -ENOSPC ? BLOCK_DEVICE_IO_STATUS_NOSPACE
                                          : BLOCK_DEVICE_IO_STATUS_FAILED;
    }
    qapi_event_send_BLOCK_IO_ERROR(path ? path : "", blk_drive_id(blk),
                                   blk->root ? blk->root->name : NULL,
                                   r->is_read ? IO_OPERATION_TYPE_READ : IO_OPERATION_TYPE_WRITE,
                                   actions[r->action], nospace_known, r->ret == -ENOSPC,
                                   g_strerror(-r->ret));
    if (r->action == BLK_ACTION_STOP && blk_vm_stop_hook &&
        r->restarts == __atomic_load_n(&restarts, __ATOMIC_RELAXED)) {
        blk_vm_stop_hook();
    }
    blk_unref(blk);
}

void blk_error_apply(BlockBackend *blk, BlockAction action, bool is_read, int ret)
{
    ErrorReport *r = g_new(ErrorReport, 1);

    *r = (ErrorReport){ blk_ref(blk), action, is_read, ret,
                        __atomic_load_n(&restarts, __ATOMIC_RELAXED) };
    /* Also from the main thread itself: stopping the machine drains disks, which the completion of
     * a request must not do. */
    aio_call(aio_context_main(), report_in_main, r);
}

void blk_error_forget_stops(void)
{
    ASSERT_BIG_LOCK();
    __atomic_add_fetch(&restarts, 1, __ATOMIC_RELAXED);
}

void blk_iostatus_reset_all(void)
{
    GPtrArray *all = blk_all();

    ASSERT_BIG_LOCK();
    for (guint i = 0; i < all->len; i++) {
        BlockBackend *blk = g_ptr_array_index(all, i);

        /* Only -drive ones: the others keep their last failure, as measured. */
        if (*blk_drive_id(blk)) {
            blk->iostatus = BLOCK_DEVICE_IO_STATUS_OK;
        }
    }
}
