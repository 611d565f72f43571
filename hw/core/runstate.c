/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether the machine runs; stopping, starting, resetting and ending it. */
#include "hw/core/runstate.h"

#include "block/block.h"
#include "chardev/char.h"
#include "hw/core/device.h"
#include "hw/core/machine.h"
#include "util/biglock.h"

struct RunStateListener {
    RunStateFn *fn; /* NULL: removed while the list was being walked */
    void *opaque;
};

static RunState state = RUN_STATE_PRELAUNCH;
static GPtrArray *listeners;
static unsigned walking;
static unsigned changes; /* of whether the machine runs */
static GArray *powerdown_hooks;

static bool no_shutdown, no_reboot;
static bool ending;        /* SHUTDOWN was sent, the main loop is to end */
static int told;           /* atomic: SHUTDOWN was sent for the end of the process */
static int ready;          /* atomic: the machine is */

/* Requests of any thread: the cause, or REQUEST_NONE. Atomic. */
#define REQUEST_NONE (-1)
static int shutdown_request = REQUEST_NONE;
static int exit_request = REQUEST_NONE;
static int reset_request = REQUEST_NONE;
static int powerdown_request = REQUEST_NONE;
static int stop_request = REQUEST_NONE;
static int panic_request = REQUEST_NONE;
static PanicAction panic_action;

typedef struct PowerdownHook {
    PowerdownFn *fn;
    void *opaque;
} PowerdownHook;

RunState runstate_get(void)
{
    return state;
}

bool runstate_is_running(void)
{
    return state == RUN_STATE_RUNNING;
}

void runstate_set_no_shutdown(bool on)
{
    no_shutdown = on;
}

void runstate_set_no_reboot(bool on)
{
    no_reboot = on;
}

void runstate_set_machine_ready(void)
{
    __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
}

bool runstate_machine_ready(void)
{
    return __atomic_load_n(&ready, __ATOMIC_ACQUIRE);
}

/* ---- listeners ---- */

RunStateListener *runstate_listen(RunStateFn *fn, void *opaque)
{
    RunStateListener *l = g_new0(RunStateListener, 1);

    ASSERT_BIG_LOCK();
    l->fn = fn;
    l->opaque = opaque;
    if (!listeners) {
        listeners = g_ptr_array_new_with_free_func(g_free);
    }
    g_ptr_array_add(listeners, l);
    return l;
}

static void sweep_listeners(void)
{
    for (guint i = listeners->len; i > 0; i--) {
        RunStateListener *l = listeners->pdata[i - 1];

        if (!l->fn) {
            g_ptr_array_remove_index(listeners, i - 1);
        }
    }
}

void runstate_unlisten(RunStateListener *l)
{
    ASSERT_BIG_LOCK();
    l->fn = NULL;
    if (walking == 0) {
        sweep_listeners();
    }
}

/* Returns whether that is still so: listeners may wait, and a client have it changed meanwhile. */
static bool tell(bool running)
{
    guint n = listeners ? listeners->len : 0;
    unsigned change = ++changes;

    walking++;
    for (guint i = 0; i < n && change == changes; i++) {
        RunStateListener *l = listeners->pdata[running ? i : n - 1 - i];

        if (l->fn) {
            l->fn(l->opaque, running, state);
        }
    }
    if (--walking == 0 && listeners) {
        sweep_listeners();
    }
    return change == changes;
}

/* ---- stop and start ---- */

static void stop(RunState new_state, bool send_event)
{
    ASSERT_BIG_LOCK();
    if (state == RUN_STATE_RUNNING) {
        aio_virtual_clock_stop();
        state = new_state;
        /* Nothing of what follows may be overtaken by the guest. */
        accel_cpus_pause();
        /* First, as what follows may wait for storage. */
        if (send_event) {
            qapi_event_send_STOP();
        }
        if (!tell(false)) {
            return;
        }
    }
    blk_drain_all_begin();
    blk_drain_all_end();
    blk_flush_all();
}

void vm_stop(RunState new_state)
{
    if (state == RUN_STATE_RUNNING) {
        stop(new_state, true);
    }
}

void runstate_final_stop(void)
{
    stop(RUN_STATE_SHUTDOWN, false);
}

static bool needs_reset(void)
{
    return state == RUN_STATE_SHUTDOWN || state == RUN_STATE_INTERNAL_ERROR;
}

bool vm_start(Error **errp)
{
    ASSERT_BIG_LOCK();
    if (needs_reset()) {
        error_set(errp, "Resetting the Virtual Machine is required");
        return false;
    }
    if (state == RUN_STATE_RUNNING) {
        return true;
    }
    /* A stop that was asked for while the machine stood still has come true already. */
    __atomic_store_n(&stop_request, REQUEST_NONE, __ATOMIC_RELAXED);
    blk_error_forget_stops();
    state = RUN_STATE_RUNNING;
    /* First, so that it precedes whatever the restarted requests have to tell. */
    qapi_event_send_RESUME();
    aio_virtual_clock_start();
    tell(true);
    accel_cpus_resume();
    return true;
}

/* ---- requests ---- */

static void request(int *slot, int cause)
{
    __atomic_store_n(slot, cause, __ATOMIC_RELEASE);
    aio_kick(aio_context_main());
}

static int take_request(int *slot)
{
    return __atomic_exchange_n(slot, REQUEST_NONE, __ATOMIC_ACQ_REL);
}

void request_shutdown(ShutdownCause cause)
{
    request(&shutdown_request, cause);
}

static int exit_status; /* atomic */

void request_shutdown_status(ShutdownCause cause, int status)
{
    __atomic_store_n(&exit_status, status, __ATOMIC_RELAXED);
    request_shutdown(cause);
}

int runstate_exit_status(void)
{
    return __atomic_load_n(&exit_status, __ATOMIC_RELAXED);
}

void request_exit(ShutdownCause cause)
{
    request(&exit_request, cause);
    exit_watchdog_start();
}

void request_reset(ShutdownCause cause)
{
    request(&reset_request, cause);
}

bool runstate_request_pending(void)
{
    return __atomic_load_n(&shutdown_request, __ATOMIC_ACQUIRE) != REQUEST_NONE ||
           __atomic_load_n(&exit_request, __ATOMIC_ACQUIRE) != REQUEST_NONE ||
           __atomic_load_n(&reset_request, __ATOMIC_ACQUIRE) != REQUEST_NONE;
}

void request_powerdown(void)
{
    request(&powerdown_request, SHUTDOWN_CAUSE_NONE);
}

void request_guest_panic(void)
{
    request(&panic_request, SHUTDOWN_CAUSE_GUEST_PANIC);
}

void runstate_set_panic_action(PanicAction action)
{
    panic_action = action;
}

void request_stop(RunState new_state)
{
    request(&stop_request, new_state);
}

void powerdown_register(PowerdownFn *fn, void *opaque)
{
    PowerdownHook hook = { fn, opaque };

    if (!powerdown_hooks) {
        powerdown_hooks = g_array_new(false, false, sizeof(PowerdownHook));
    }
    g_array_append_val(powerdown_hooks, hook);
}

static bool caused_by_guest(ShutdownCause cause)
{
    return cause == SHUTDOWN_CAUSE_GUEST_SHUTDOWN || cause == SHUTDOWN_CAUSE_GUEST_RESET ||
           cause == SHUTDOWN_CAUSE_GUEST_PANIC;
}

void runstate_tell_shutdown(void)
{
    int cause = __atomic_load_n(&exit_request, __ATOMIC_ACQUIRE);

    if (cause != REQUEST_NONE && !__atomic_exchange_n(&told, 1, __ATOMIC_SEQ_CST)) {
        qapi_event_send_SHUTDOWN(caused_by_guest(cause), cause);
    }
}

static void do_shutdown(ShutdownCause cause, bool pause)
{
    if (pause || !__atomic_exchange_n(&told, 1, __ATOMIC_SEQ_CST)) {
        qapi_event_send_SHUTDOWN(caused_by_guest(cause), cause);
    }
    if (!pause) {
        exit_watchdog_start();
    }
    if (pause) {
        /* Whatever ends the process later has a status of its own. */
        __atomic_store_n(&exit_status, 0, __ATOMIC_RELAXED);
        vm_stop(RUN_STATE_SHUTDOWN);
        /* Stopped before: the state is the news. */
        state = RUN_STATE_SHUTDOWN;
    } else {
        ending = true;
    }
}

static void do_reset(ShutdownCause cause)
{
    if (no_reboot && cause != SHUTDOWN_CAUSE_SUBSYSTEM_RESET) {
        do_shutdown(cause, no_shutdown);
        return;
    }
    accel_cpus_pause();
    /* Before what the reset brings about, such as the end of unplugging. */
    if (cause != SHUTDOWN_CAUSE_NONE && cause != SHUTDOWN_CAUSE_SUBSYSTEM_RESET) {
        qapi_event_send_RESET(caused_by_guest(cause), cause);
    }
    device_reset_all();
    if (state != RUN_STATE_RUNNING && state != RUN_STATE_INMIGRATE) {
        state = RUN_STATE_PRELAUNCH;
    }
    accel_cpus_resume();
}

static void do_guest_panic(void)
{
    PanicAction action = panic_action;

    if (action == PANIC_ACTION_NONE) {
        qapi_event_send_GUEST_PANICKED(GUEST_PANIC_ACTION_RUN);
        return;
    }
    if (action == PANIC_ACTION_SHUTDOWN && no_shutdown) {
        action = PANIC_ACTION_PAUSE;
    }
    qapi_event_send_GUEST_PANICKED(action == PANIC_ACTION_PAUSE ? GUEST_PANIC_ACTION_PAUSE
                                                                : GUEST_PANIC_ACTION_POWEROFF);
    if (action == PANIC_ACTION_PAUSE) {
        vm_stop(RUN_STATE_GUEST_PANICKED);
    } else {
        request_shutdown_status(SHUTDOWN_CAUSE_GUEST_PANIC,
                                action == PANIC_ACTION_EXIT_FAILURE ? 1 : 0);
    }
}

static void do_powerdown(void)
{
    qapi_event_send_POWERDOWN();
    for (guint i = 0; powerdown_hooks && i < powerdown_hooks->len; i++) {
        PowerdownHook *hook = &g_array_index(powerdown_hooks, PowerdownHook, i);

        hook->fn(hook->opaque);
    }
}

bool runstate_main_loop_step(void)
{
    int cause;

    g_assert(aio_in_main_thread());
    ASSERT_BIG_LOCK();
    if (ending) {
        return false;
    }
    cause = take_request(&exit_request);
    if (cause != REQUEST_NONE) {
        do_shutdown(cause, false);
        return false;
    }
    if (take_request(&panic_request) != REQUEST_NONE) {
        do_guest_panic();
    }
    cause = take_request(&shutdown_request);
    if (cause != REQUEST_NONE) {
        do_shutdown(cause, no_shutdown);
    }
    cause = ending ? REQUEST_NONE : take_request(&reset_request);
    if (cause != REQUEST_NONE) {
        do_reset(cause);
    }
    if (!ending && take_request(&powerdown_request) != REQUEST_NONE) {
        do_powerdown();
    }
    cause = ending ? REQUEST_NONE : take_request(&stop_request);
    if (cause != REQUEST_NONE) {
        vm_stop(cause);
    }
    return !ending;
}

static void stop_on_io_error(void)
{
    /* Later: a failed request may be found out about in the middle of a drain. */
    request_stop(RUN_STATE_IO_ERROR);
}

static void quit_by_key(void)
{
    request_exit(SHUTDOWN_CAUSE_HOST_UI);
}

static void __attribute__((constructor)) runstate_init(void)
{
    chardev_quit_hook = quit_by_key;
    blk_vm_stop_hook = stop_on_io_error;
}
