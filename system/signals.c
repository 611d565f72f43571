/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signals of the host that end the process, brought into the main loop. */
#include "process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "hw/core/runstate.h"
#include "util/report.h"

/* Written by the handler; the write to the descriptor publishes them. */
static volatile sig_atomic_t last_signal;
static volatile pid_t last_sender;
static int signal_fd = -1;
static AioFd *signal_watch;

static void handler(int sig, siginfo_t *info, void *context)
{
    uint64_t one = 1;
    int err = errno;
    ssize_t n;

    last_sender = info->si_code == SI_USER ? info->si_pid : 0;
    last_signal = sig;
    /* Async-signal-safe; it only fails if the descriptor is set already. */
    n = write(signal_fd, &one, sizeof(one));
    (void)n;
    errno = err;
}

static char *process_name(pid_t pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/cmdline", (int)pid);
    g_autofree char *text = NULL;

    /* Arguments end in NUL, so this is the first one. */
    if (!g_file_get_contents(path, &text, NULL, NULL) || !*text) {
        return g_strdup("<unknown process>");
    }
    return g_steal_pointer(&text);
}

bool process_signal_report(void)
{
    uint64_t count;
    int sig;

    if (read(signal_fd, &count, sizeof(count)) != sizeof(count)) {
        return false;
    }
    sig = last_signal;
    if (last_sender == 0) {
        report_error("terminating on signal %d", sig);
    } else {
        g_autofree char *name = process_name(last_sender);

        report_error("terminating on signal %d from pid %d (%s)", sig, (int)last_sender, name);
    }
    return true;
}

static void on_signal(void *opaque)
{
    if (process_signal_report()) {
        request_exit(SHUTDOWN_CAUSE_HOST_SIGNAL);
    }
}

void process_signals_cleanup(void)
{
    g_clear_pointer(&signal_watch, aio_fd_remove);
}

int process_signals_init(void)
{
    static const int signals[] = { SIGINT, SIGHUP, SIGTERM };
    static const AioFdOps ops = { .read = on_signal };
    struct sigaction act = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART };
    struct sigaction ignore = { .sa_handler = SIG_IGN };

    signal_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    g_assert(signal_fd >= 0);
    sigfillset(&act.sa_mask);
    for (guint i = 0; i < G_N_ELEMENTS(signals); i++) {
        sigaction(signals[i], &act, NULL);
    }
    sigaction(SIGPIPE, &ignore, NULL);
    signal_watch = aio_fd_add(aio_context_main(), signal_fd, &ops, NULL);
    return signal_fd;
}
