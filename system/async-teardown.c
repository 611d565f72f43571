/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -run-with async-teardown=on: a process that shares the address space and outlives this one. Guest
 * RAM is then taken apart after management has seen this process end.
 */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STACK_SIZE 16384

static int wait_fd; /* the end of this pipe is the end of the parent */

/*
 * The child runs on the parent's thread-local storage, errno included, so it may call nothing of
 * the C library.
 */
static long raw_syscall(long number, long a, long b, long c, long d)
{
    register long r10 __asm__("r10") = d;
    long ret;

    __asm__ volatile("syscall"
                     : "=a"(ret)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "memory");
    return ret;
}

static int __attribute__((no_sanitize("address", "undefined", "thread"), no_stack_protector))
wait_for_parent(void *opaque)
{
    static const char name[16] = "teardown";
    char byte;

    if (wait_fd > 0) {
        raw_syscall(SYS_close_range, 0, wait_fd - 1, 0, 0);
    }
    raw_syscall(SYS_close_range, wait_fd + 1, UINT32_MAX, 0, 0);
    raw_syscall(SYS_prctl, PR_SET_NAME, (long)name, 0, 0);
    while (raw_syscall(SYS_read, wait_fd, (long)&byte, 1, 0) == -EINTR) {
    }
    raw_syscall(SYS_exit_group, 0, 0, 0, 0);
    return 0;
}

bool process_async_teardown(Error **errp)
{
    static char stack[STACK_SIZE] __attribute__((aligned(16)));
    sigset_t all, before;
    int fds[2], pid;

    if (pipe2(fds, O_CLOEXEC) < 0) {
        error_set_errno(errp, errno, "async-teardown is not possible");
        return false;
    }
    wait_fd = fds[0];
    /* The child keeps them blocked: only the parent's end may end it. */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid = clone(wait_for_parent, stack + STACK_SIZE, CLONE_VM, NULL);
    if (pid < 0) {
        error_set_errno(errp, errno, "async-teardown is not possible");
        close(fds[1]);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(fds[0]); /* the other end stays open until this process ends */
    return pid >= 0;
}
