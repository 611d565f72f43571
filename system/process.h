/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_SYSTEM_PROCESS_H
#define SPINDLE_SYSTEM_PROCESS_H

#include <stdbool.h>

#include "sandbox.h"

/* The process towards its host: background, pid file, signals, rights. Runs in: main thread. */

/* As many descriptors as the hard limit allows. */
void process_raise_limits(void);
/* -name process=: as ps shows it. */
void process_set_name(const char *name);
/* -run-with exit-with-parent=on: this process is killed when its parent ends. */
bool process_exit_with_parent(Error **errp);
/* -run-with async-teardown=on: before any thread exists. */
bool process_async_teardown(Error **errp);
/* -overcommit mem-lock= */
bool process_lock_memory(bool on_fault, Error **errp);
/* -run-with user=: "name" or "uid:gid", to be taken on by process_ready(). */
bool process_user_parse(const char *text, Error **errp);

/* -daemonize: goes on in a child, before any thread exists; the parent waits for process_ready()
 * and then ends with status 0, or with 1 if the child ended without it. */
void process_daemonize(void);
/* Writes the process id to a file and keeps it locked. */
bool process_pidfile(const char *path, Error **errp);
/* Everything exists: gives up rights, lets go of the terminal, tells the parent. */
bool process_ready(const char *chroot_dir, const SandboxConfig *sandbox, Error **errp);
/* Removes the pid file. */
void process_cleanup(void);
/* Ends the process, and undoes nothing but the pid file. Runs in: any thread. */
void process_exit_now(int status);

/* SIGTERM, SIGINT and SIGHUP end the process by way of the main loop from now on. Returns a
 * descriptor that is readable once one has come. */
int process_signals_init(void);
/* Signals are not looked at any more. */
void process_signals_cleanup(void);
/* Says which one has come; false if none has. */
bool process_signal_report(void);

#endif
