/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_CORE_RUNSTATE_H
#define SPINDLE_HW_CORE_RUNSTATE_H

#include "qapi/qapi-run-state.h"
#include "util/aio.h"

/*
 * Whether the machine runs, and who wants to know. Runs in: main thread under the big lock, unless
 * said otherwise.
 */
RunState runstate_get(void);
bool runstate_is_running(void);
/* Stops with `state` (paused, io-error, ...): listeners first, then STOP is sent, then the disks
 * are drained and flushed. Nothing if stopped already. */
void vm_stop(RunState state);
/* Resumes: RESUME is sent. Fails in a state that only a reset ends. Nothing if running already. */
bool vm_start(Error **errp);

/* Called on each change, in order of registration when starting and in reverse when stopping. */
typedef void RunStateFn(void *opaque, bool running, RunState state);
typedef struct RunStateListener RunStateListener;
RunStateListener *runstate_listen(RunStateFn *fn, void *opaque);
void runstate_unlisten(RunStateListener *l);

/* Requests, carried out soon by the main loop. Runs in: any thread. */
void request_shutdown(ShutdownCause cause);
/* As request_shutdown(); the process ends with `status`. */
void request_shutdown_status(ShutdownCause cause, int status);
int runstate_exit_status(void);
void request_reset(ShutdownCause cause);
void request_powerdown(void);
/* The guest's kernel gave up. What happens then is -action panic=. */
typedef enum {
    PANIC_ACTION_SHUTDOWN,
    PANIC_ACTION_PAUSE,
    PANIC_ACTION_EXIT_FAILURE,
    PANIC_ACTION_NONE,
} PanicAction;
void request_guest_panic(void);
void runstate_set_panic_action(PanicAction action); /* main thread */
/* As vm_stop(), but later: legal while the machine is being started, stopped or drained. */
void request_stop(RunState state);
/* Ends the process even with -no-shutdown: `quit`, a signal of the host. */
void request_exit(ShutdownCause cause);
/* Whether a shutdown, exit or reset has been asked for and not been begun yet: a processor that did
 * it goes no further. Runs in: any thread. */
bool runstate_request_pending(void);
/* The machine's power button: called by request_powerdown(). */
typedef void PowerdownFn(void *opaque);
void powerdown_register(PowerdownFn *fn, void *opaque);

/* Carries out what was requested; called by the main loop and after each command of a monitor,
 * within a command (see below). Returns false when the process is to end; SHUTDOWN has been sent
 * then. */
bool runstate_main_loop_step(void);
/* The end has been asked for: from now on it comes within about a second, even if storage keeps the
 * main thread. Runs in: any thread. */
void exit_watchdog_start(void);
/* Set by system/: ends the process at once. Runs in: any thread. */
extern void (*runstate_exit_now_hook)(int status);
/* Sends SHUTDOWN if the main thread has not got to it. Runs in: any thread. */
void runstate_tell_shutdown(void);

/* Stops at the end of the process: no event, disks drained and flushed. */
void runstate_final_stop(void);

/* -no-shutdown, -no-reboot. */
void runstate_set_no_shutdown(bool on);
void runstate_set_no_reboot(bool on);

/* The machine and all devices of the command line exist. Before that, commands that are not marked
 * allow-preconfig are refused. Runs in: any thread. */
void runstate_set_machine_ready(void);
bool runstate_machine_ready(void);

/*
 * One request of a client at a time. A command that waits for something (a drain, a reset) polls
 * the main loop, and so may find the next request of the same or another client (a QMP or qtest
 * socket) ready; that one must not start inside the first. Who is about to start a request asks
 * command_begin(). If that says false, something runs already; `retry` (may be NULL) is called,
 * once, by the main loop after it has ended, and the bytes or the request are to be left where they
 * are.
 */
bool command_begin(AioCallback *retry, void *opaque);
void command_end(void);

#endif
