/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -sandbox: system calls that a virtual machine has no use for, and whoever breaks out of one has,
 * end the process. All others are allowed: io_uring, threads, and the binding of threads to
 * processors, which users of IOThreads ask for, go on working.
 */
#include "sandbox.h"

#include <errno.h>
#include <sched.h>

#ifdef CONFIG_SECCOMP

#include <seccomp.h>

/* Of the administrator of a host. */
static const int administration[] = {
    SCMP_SYS(acct),          SCMP_SYS(add_key),        SCMP_SYS(clock_settime),
    SCMP_SYS(delete_module), SCMP_SYS(finit_module),   SCMP_SYS(init_module),
    SCMP_SYS(kexec_load),    SCMP_SYS(kexec_file_load), SCMP_SYS(keyctl),
    SCMP_SYS(mount),         SCMP_SYS(move_mount),     SCMP_SYS(nfsservctl),
    SCMP_SYS(open_tree),     SCMP_SYS(pivot_root),     SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev), SCMP_SYS(ptrace),     SCMP_SYS(quotactl),
    SCMP_SYS(reboot),        SCMP_SYS(request_key),    SCMP_SYS(setns),
    SCMP_SYS(settimeofday),  SCMP_SYS(swapoff),        SCMP_SYS(swapon),
    SCMP_SYS(syslog),        SCMP_SYS(umount2),        SCMP_SYS(unshare),
};

static const int obsolete[] = {
    SCMP_SYS(_sysctl), SCMP_SYS(create_module), SCMP_SYS(get_kernel_syms),
    SCMP_SYS(modify_ldt), SCMP_SYS(query_module), SCMP_SYS(sysfs),
    SCMP_SYS(uselib), SCMP_SYS(ustat), SCMP_SYS(vserver),
};

static const int elevation[] = {
    SCMP_SYS(setuid),    SCMP_SYS(setgid),    SCMP_SYS(setpgid),  SCMP_SYS(setsid),
    SCMP_SYS(setreuid),  SCMP_SYS(setregid),  SCMP_SYS(setresuid), SCMP_SYS(setresgid),
    SCMP_SYS(setfsuid),  SCMP_SYS(setfsgid),  SCMP_SYS(setgroups), SCMP_SYS(capset),
};

static const int spawning[] = {
    SCMP_SYS(fork), SCMP_SYS(vfork), SCMP_SYS(execve), SCMP_SYS(execveat),
};

/* They fail instead of ending the process: libraries try some of them in good faith. */
static const int resources[] = {
    SCMP_SYS(setpriority), SCMP_SYS(sched_setparam), SCMP_SYS(sched_setscheduler),
    SCMP_SYS(sched_setattr), SCMP_SYS(ioprio_set),
};

static int deny(scmp_filter_ctx ctx, uint32_t action, const int *calls, unsigned n)
{
    int ret = 0;

    for (unsigned i = 0; i < n && ret == 0; i++) {
        ret = seccomp_rule_add(ctx, action, calls[i], 0);
    }
    return ret;
}

#define DENY(ctx, action, calls) deny(ctx, action, calls, G_N_ELEMENTS(calls))

static int deny_spawning(scmp_filter_ctx ctx)
{
    /* A thread shares everything with its creator, a process does not. One that shares at least the
     * descriptors is what the end of this one needs when storage does not answer (stall_exit). */
    const struct scmp_arg_cmp process =
        SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD | CLONE_FILES, 0);
    int ret = DENY(ctx, SCMP_ACT_KILL_PROCESS, spawning);

    if (ret == 0) {
        ret = seccomp_rule_add(ctx, SCMP_ACT_KILL_PROCESS, SCMP_SYS(clone), 1, process);
    }
    if (ret == 0) {
        /* Its flags lie in memory, where no filter can read them. The C library goes on with
         * clone() where this one does not exist. */
        ret = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    }
    return ret;
}

static int fill(scmp_filter_ctx ctx, const SandboxConfig *c, bool ready)
{
    int ret = 0;

    if (ready) {
        return DENY(ctx, SCMP_ACT_KILL_PROCESS, elevation);
    }
    ret = DENY(ctx, SCMP_ACT_KILL_PROCESS, administration);
    if (ret == 0 && !c->allow_obsolete) {
        ret = DENY(ctx, SCMP_ACT_KILL_PROCESS, obsolete);
    }
    if (ret == 0 && c->deny_spawn) {
        ret = deny_spawning(ctx);
    }
    if (ret == 0 && c->deny_resources) {
        ret = DENY(ctx, SCMP_ACT_ERRNO(EPERM), resources);
    }
    return ret;
}

bool sandbox_available(void)
{
    return true;
}

bool sandbox_install(const SandboxConfig *c, bool ready, Error **errp)
{
    scmp_filter_ctx ctx;
    int ret = -ENOMEM;

    if (!c->on || (ready && !c->deny_elevation)) {
        return true;
    }
    ctx = seccomp_init(SCMP_ACT_ALLOW);
    if (ctx) {
        ret = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    }
    if (ret == 0) {
        /* Threads that exist already are no way around it. */
        ret = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_TSYNC, 1);
    }
    if (ret == 0) {
        ret = fill(ctx, c, ready);
    }
    if (ret == 0) {
        ret = seccomp_load(ctx);
    }
    if (ctx) {
        seccomp_release(ctx);
    }
    if (ret < 0) {
        error_set_errno(errp, -ret, "-sandbox: the filter of system calls was not installed");
    }
    return ret == 0;
}

#else

bool sandbox_available(void)
{
    return false;
}

bool sandbox_install(const SandboxConfig *c, bool ready, Error **errp)
{
    g_assert(!c->on); /* refused when the option was read */
    return true;
}

#endif
