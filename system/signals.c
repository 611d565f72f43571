/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signals of the host that end the process, brought into the main loop. */
#include "process.h"

#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "hw/core/runstate.h"
#include "util/report.h"

static int signal_fd = -1;
static AioFd *signal_watch;

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
    struct signalfd_siginfo info;

    if (read(signal_fd, &info, sizeof(info)) != sizeof(info)) {
        return false;
    }
    if (info.ssi_code != SI_USER) {
        report_error("terminating on signal %u", info.ssi_signo);
    } else {
        g_autofree char *name = process_name(info.ssi_pid);

        report_error("terminating on signal %u from pid %u (%s)", info.ssi_signo, info.ssi_pid,
                     name);
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
    static const AioFdOps ops = { .read = on_signal };
    struct sigaction ignore = { .sa_handler = SIG_IGN };
    sigset_t set;

    /* Blocked before there is another thread, all of which inherit it: the signals wait for the
     * descriptor. */
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    g_assert(signal_fd >= 0);
    sigaction(SIGPIPE, &ignore, NULL);
    signal_watch = aio_fd_add(aio_context_main(), signal_fd, &ops, NULL);
    g_assert(signal_watch);
    return signal_fd;
}
