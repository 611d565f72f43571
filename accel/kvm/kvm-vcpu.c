/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vCPU threads. Each runs its processor with KVM_RUN and, for what the kernel cannot finish alone,
 * takes the big lock and performs the access. Disk doorbells and interrupts never come here: they
 * are eventfds between the kernel and the IOThreads.
 *
 * Stopping: the main thread sets `stop`, makes KVM_RUN return (immediate_exit and a signal, so that
 * neither a thread about to enter nor one inside is missed) and waits until all stand still. It
 * polls its loop meanwhile, because an access that a vCPU is in the middle of may need the big lock
 * or the main thread itself.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hw/core/runstate.h"
#include "hw/i386/irqchip.h"
#include "kvm-int.h"
#include "util/aio.h"
#include "util/biglock.h"
#include "util/report.h"

#define SIG_IPI SIGUSR1

typedef enum { WORK_NONE, WORK_RESET, WORK_CLOCK_PAUSED } KvmVcpuWork;

typedef struct KvmVcpu {
    CPUState *cpu;
    pthread_t thread;
    int fd;
    struct kvm_run *run;
    KvmCpuState *initial; /* as after power-on */
    Error *err;           /* why it could not be created */
    bool unfinished;      /* the instruction of the last exit: KVM completes it on the next entry */
    int stop;             /* atomic; written under vcpu_lock */
    int poked;            /* atomic; written under vcpu_lock: look at the 8259s */
    /* All below under vcpu_lock. */
    pthread_cond_t wake; /* for the thread: it may go on, or there is work */
    KvmVcpuWork work;    /* to be done while it stands */
    bool created, standing, quit;
} KvmVcpu;

static GPtrArray *vcpus; /* of KvmVcpu */
static pthread_mutex_t vcpu_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t vcpu_done = PTHREAD_COND_INITIALIZER; /* for the main thread */

static void sig_ipi(int signo)
{
}

/* ---- Runs in: the vCPU's thread ---- */

/* Under vcpu_lock. The thread stands before it runs guest code again. */
static void vcpu_set_stop(KvmVcpu *v)
{
    __atomic_store_n(&v->stop, 1, __ATOMIC_SEQ_CST);
    if (v->run) {
        __atomic_store_n(&v->run->immediate_exit, 1, __ATOMIC_SEQ_CST);
    }
}

static void vcpu_fail(KvmVcpu *v, const char *fmt, ...) G_GNUC_PRINTF(2, 3);
static void vcpu_fail(KvmVcpu *v, const char *fmt, ...)
{
    g_autofree char *text = NULL;
    struct kvm_regs regs;
    va_list ap;

    va_start(ap, fmt);
    text = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    if (kvm_ioctl(v->fd, KVM_GET_REGS, &regs) >= 0) {
        report_error("vCPU %u at 0x%llx: %s", v->cpu->index, regs.rip, text);
    } else {
        report_error("vCPU %u: %s", v->cpu->index, text);
    }
    pthread_mutex_lock(&vcpu_lock);
    vcpu_set_stop(v);
    pthread_mutex_unlock(&vcpu_lock);
    v->unfinished = false;
    request_stop(RUN_STATE_INTERNAL_ERROR);
}

/* Whoever asked for a reset or shutdown goes no further; the reset (or `cont`) lets it go on. */
static void vcpu_obey_request(KvmVcpu *v)
{
    if (!runstate_request_pending()) {
        return;
    }
    /* Under the lock: a reset that begins after this look pauses and resumes this thread, too. */
    pthread_mutex_lock(&vcpu_lock);
    if (runstate_request_pending()) {
        vcpu_set_stop(v);
    }
    pthread_mutex_unlock(&vcpu_lock);
}

static void vcpu_exit_io(struct kvm_run *run)
{
    uint8_t *data = (uint8_t *)run + run->io.data_offset;

    big_lock();
    for (uint32_t i = 0; i < run->io.count; i++, data += run->io.size) {
        if (run->io.direction == KVM_EXIT_IO_OUT) {
            address_space_write(guest_ports, run->io.port, data, run->io.size);
        } else {
            address_space_read(guest_ports, run->io.port, data, run->io.size);
        }
    }
    big_unlock();
}

static void vcpu_exit_mmio(struct kvm_run *run)
{
    uint32_t len = MIN(run->mmio.len, sizeof(run->mmio.data));

    big_lock();
    if (run->mmio.is_write) {
        address_space_write(guest_memory, run->mmio.phys_addr, run->mmio.data, len);
    } else {
        address_space_read(guest_memory, run->mmio.phys_addr, run->mmio.data, len);
    }
    big_unlock();
}

static void vcpu_exit_system_event(KvmVcpu *v)
{
    switch (v->run->system_event.type) {
    case KVM_SYSTEM_EVENT_SHUTDOWN:
        request_shutdown(SHUTDOWN_CAUSE_GUEST_SHUTDOWN);
        break;
    case KVM_SYSTEM_EVENT_RESET:
        request_reset(SHUTDOWN_CAUSE_GUEST_RESET);
        break;
    default:
        vcpu_fail(v, "KVM system event %u is not supported", v->run->system_event.type);
        break;
    }
}

static void vcpu_exit(KvmVcpu *v)
{
    struct kvm_run *run = v->run;

    switch (run->exit_reason) {
    case KVM_EXIT_IO:
        v->unfinished = true;
        vcpu_exit_io(run);
        break;
    case KVM_EXIT_MMIO:
        v->unfinished = true;
        vcpu_exit_mmio(run);
        break;
    case KVM_EXIT_INTR:
    case KVM_EXIT_IRQ_WINDOW_OPEN:
        return;
    case KVM_EXIT_IOAPIC_EOI:
        big_lock();
        ioapic_end_of_interrupt(run->eoi.vector);
        big_unlock();
        return;
    case KVM_EXIT_SHUTDOWN:
        /* A triple fault resets a PC. KVM has put the processor at its reset vector already, where
         * there may be nothing to run: it stands before the request can be taken. */
        pthread_mutex_lock(&vcpu_lock);
        vcpu_set_stop(v);
        pthread_mutex_unlock(&vcpu_lock);
        request_reset(SHUTDOWN_CAUSE_GUEST_RESET);
        break;
    case KVM_EXIT_SYSTEM_EVENT:
        vcpu_exit_system_event(v);
        break;
    case KVM_EXIT_NOTIFY:
        if (kvm.stop_on_notify || (run->notify.flags & KVM_NOTIFY_CONTEXT_INVALID)) {
            vcpu_fail(v, "KVM internal error: the guest has taken no interrupts for too long%s",
                      run->notify.flags & KVM_NOTIFY_CONTEXT_INVALID ? ", and its state is lost"
                                                                     : "");
        }
        break;
    case KVM_EXIT_FAIL_ENTRY:
        vcpu_fail(v, "KVM: entry failed, hardware error 0x%" PRIx64,
                  (uint64_t)run->fail_entry.hardware_entry_failure_reason);
        break;
    case KVM_EXIT_INTERNAL_ERROR:
        vcpu_fail(v, "KVM internal error. Suberror: %u", run->internal.suberror);
        break;
    default:
        vcpu_fail(v, "unknown KVM exit reason %u", run->exit_reason);
        break;
    }
    vcpu_obey_request(v);
}

/* What it was asked to do while it stands. Called under vcpu_lock, which is let go of meanwhile. */
static void vcpu_do_work(KvmVcpu *v)
{
    KvmVcpuWork work = v->work;
    g_autoptr(Error) err = NULL;

    pthread_mutex_unlock(&vcpu_lock);
    if (work == WORK_RESET && !kvm_cpu_state_load(v->fd, v->cpu, v->initial, &err)) {
        report_error("vCPU %u cannot be reset: %s", v->cpu->index, error_message(err));
        request_stop(RUN_STATE_INTERNAL_ERROR);
    } else if (work == WORK_CLOCK_PAUSED) {
        /* Fails while the guest uses no such clock. */
        kvm_ioctl(v->fd, KVM_KVMCLOCK_CTRL, NULL);
    }
    pthread_mutex_lock(&vcpu_lock);
    v->work = WORK_NONE;
    pthread_cond_broadcast(&vcpu_done);
}

/* Stands until it may run on; false when the thread is to end. */
static bool vcpu_stand(KvmVcpu *v)
{
    bool quit;

    pthread_mutex_lock(&vcpu_lock);
    while (v->stop && !v->quit) {
        if (v->work != WORK_NONE) {
            vcpu_do_work(v);
            continue;
        }
        if (!v->standing) {
            v->standing = true;
            aio_kick(aio_context_main());
        }
        pthread_cond_wait(&v->wake, &vcpu_lock);
    }
    v->standing = false;
    /* Under the lock: whoever stops it again sets this after. */
    __atomic_store_n(&v->run->immediate_exit, 0, __ATOMIC_SEQ_CST);
    quit = v->quit;
    pthread_mutex_unlock(&vcpu_lock);
    return !quit;
}

/* With the 8259s in user space the first processor fetches their interrupts, when its local APIC
 * lets them through and it can take one. */
static void vcpu_take_external(KvmVcpu *v)
{
    if (__atomic_load_n(&v->poked, __ATOMIC_SEQ_CST)) {
        pthread_mutex_lock(&vcpu_lock);
        v->poked = 0;
        if (!v->stop) {
            __atomic_store_n(&v->run->immediate_exit, 0, __ATOMIC_SEQ_CST);
        }
        pthread_mutex_unlock(&vcpu_lock);
    }
    if (i8259_pending() && v->run->ready_for_interrupt_injection) {
        struct kvm_interrupt irq;

        big_lock();
        /* Whatever it was may have gone. */
        if (i8259_pending()) {
            irq.irq = i8259_acknowledge();
            kvm_ioctl(v->fd, KVM_INTERRUPT, &irq);
        }
        big_unlock();
    }
    v->run->request_interrupt_window = i8259_pending();
}

static void vcpu_loop(KvmVcpu *v)
{
    for (;;) {
        int ret;

        /* An unfinished instruction is finished first (immediate_exit ends that entry right after),
         * or it would go on from registers that a reset has changed. */
        if (__atomic_load_n(&v->stop, __ATOMIC_SEQ_CST) && !v->unfinished && !vcpu_stand(v)) {
            return;
        }
        if (kvm.split && v->cpu->index == 0 && !v->unfinished) {
            vcpu_take_external(v);
        }
        ret = kvm_ioctl(v->fd, KVM_RUN, NULL);
        v->unfinished = false;
        if (ret == 0) {
            vcpu_exit(v);
        } else if (ret != -EINTR && ret != -EAGAIN) {
            vcpu_fail(v, "KVM_RUN: %s", strerror(-ret));
        }
    }
}

static bool vcpu_open(KvmVcpu *v, Error **errp)
{
    v->fd = kvm_ioctl(kvm.vm_fd, KVM_CREATE_VCPU, (void *)(uintptr_t)v->cpu->apic_id);
    if (v->fd < 0) {
        error_set_errno(errp, -v->fd, "KVM could not create vCPU %u", v->cpu->index);
        return false;
    }
    v->run = mmap(NULL, kvm.run_size, PROT_READ | PROT_WRITE, MAP_SHARED, v->fd, 0);
    if (v->run == MAP_FAILED) {
        v->run = NULL;
        error_set_errno(errp, errno, "cannot map the state of vCPU %u", v->cpu->index);
        return false;
    }
    if (!kvm_cpuid_setup(v->cpu, v->fd, errp)) {
        return false;
    }
    v->initial = kvm_cpu_state_save(v->fd, errp);
    return v->initial != NULL;
}

static void *vcpu_thread(void *opaque)
{
    KvmVcpu *v = opaque;
    g_autofree char *name = g_strdup_printf("CPU %u/KVM", v->cpu->index);
    bool ok;

    pthread_setname_np(pthread_self(), name);
    v->cpu->host_tid = syscall(SYS_gettid);
    ok = vcpu_open(v, &v->err);
    pthread_mutex_lock(&vcpu_lock);
    v->created = true;
    v->standing = true;
    pthread_cond_broadcast(&vcpu_done);
    pthread_mutex_unlock(&vcpu_lock);
    if (ok) {
        /* The guest may want it at any time: event loops do not busy-wait on its CPU. */
        aio_reserve_cpu();
        vcpu_loop(v);
        aio_release_cpu();
    }
    return NULL;
}

/* ---- Runs in: main thread ---- */

static void vcpu_free(KvmVcpu *v)
{
    kvm_cpu_state_free(v->initial);
    if (v->run) {
        munmap(v->run, kvm.run_size);
    }
    if (v->fd >= 0) {
        close(v->fd);
    }
    pthread_cond_destroy(&v->wake);
    v->cpu->accel = NULL;
    g_free(v);
}

static bool vcpu_thread_start(KvmVcpu *v, Error **errp)
{
    sigset_t set, old;
    int ret;

    /* All signals but the kick are for the main thread. */
    sigfillset(&set);
    sigdelset(&set, SIG_IPI);
    pthread_sigmask(SIG_SETMASK, &set, &old);
    ret = pthread_create(&v->thread, NULL, vcpu_thread, v);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (ret) {
        error_set_errno(errp, ret, "could not create the thread of vCPU %u", v->cpu->index);
        return false;
    }
    pthread_mutex_lock(&vcpu_lock);
    while (!v->created) {
        pthread_cond_wait(&vcpu_done, &vcpu_lock);
    }
    pthread_mutex_unlock(&vcpu_lock);
    if (v->err) {
        pthread_join(v->thread, NULL);
        error_propagate(errp, v->err);
        return false;
    }
    return true;
}

bool kvm_vcpu_create(CPUState *cpu, Error **errp)
{
    KvmVcpu *v = g_new0(KvmVcpu, 1);

    g_assert(aio_in_main_thread());
    ASSERT_BIG_LOCK();
    if (!vcpus) {
        struct sigaction act = { .sa_handler = sig_ipi, .sa_flags = SA_RESTART };

        vcpus = g_ptr_array_new();
        sigaction(SIG_IPI, &act, NULL);
    }
    v->cpu = cpu;
    v->fd = -1;
    v->stop = 1;
    pthread_cond_init(&v->wake, NULL);
    if (!vcpu_thread_start(v, errp)) {
        vcpu_free(v);
        return false;
    }
    cpu->accel = v;
    g_ptr_array_add(vcpus, v);
    return true;
}

void kvm_vcpu_poke(void)
{
    KvmVcpu *v = vcpus && vcpus->len ? vcpus->pdata[0] : NULL;

    if (!v) {
        return;
    }
    pthread_mutex_lock(&vcpu_lock);
    __atomic_store_n(&v->poked, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&v->run->immediate_exit, 1, __ATOMIC_SEQ_CST);
    if (!pthread_equal(pthread_self(), v->thread)) {
        pthread_kill(v->thread, SIG_IPI);
    }
    pthread_mutex_unlock(&vcpu_lock);
}

static void vcpu_kick(KvmVcpu *v)
{
    vcpu_set_stop(v);
    pthread_kill(v->thread, SIG_IPI);
}

void kvm_vcpu_destroy(CPUState *cpu)
{
    KvmVcpu *v = cpu->accel;

    g_assert(aio_in_main_thread());
    if (!v) {
        return;
    }
    g_ptr_array_remove(vcpus, v);
    pthread_mutex_lock(&vcpu_lock);
    v->quit = true;
    vcpu_kick(v);
    pthread_cond_signal(&v->wake);
    pthread_mutex_unlock(&vcpu_lock);
    pthread_join(v->thread, NULL);
    vcpu_free(v);
}

static bool all_standing(void)
{
    bool all = true;

    pthread_mutex_lock(&vcpu_lock);
    for (unsigned i = 0; i < vcpus->len; i++) {
        all &= ((KvmVcpu *)vcpus->pdata[i])->standing;
    }
    pthread_mutex_unlock(&vcpu_lock);
    return all;
}

void kvm_vcpus_pause(void)
{
    g_assert(aio_in_main_thread());
    ASSERT_BIG_LOCK();
    if (!vcpus) {
        return; /* a machine without processors */
    }
    pthread_mutex_lock(&vcpu_lock);
    for (unsigned i = 0; i < vcpus->len; i++) {
        vcpu_kick(vcpus->pdata[i]);
    }
    pthread_mutex_unlock(&vcpu_lock);
    AIO_WAIT_WHILE(!all_standing());
}

void kvm_vcpus_resume(void)
{
    ASSERT_BIG_LOCK();
    pthread_mutex_lock(&vcpu_lock);
    for (unsigned i = 0; vcpus && i < vcpus->len; i++) {
        KvmVcpu *v = vcpus->pdata[i];

        __atomic_store_n(&v->stop, 0, __ATOMIC_SEQ_CST);
        /* From here on it does not count as standing, though it may not have woken up yet. */
        v->standing = false;
        pthread_cond_signal(&v->wake);
    }
    pthread_mutex_unlock(&vcpu_lock);
}

static void vcpus_work(KvmVcpuWork work)
{
    ASSERT_BIG_LOCK();
    pthread_mutex_lock(&vcpu_lock);
    for (unsigned i = 0; vcpus && i < vcpus->len; i++) {
        KvmVcpu *v = vcpus->pdata[i];

        g_assert(v->standing);
        v->work = work;
        pthread_cond_signal(&v->wake);
    }
    /* A standing thread is in no access and needs neither the big lock nor the main thread. */
    for (unsigned i = 0; vcpus && i < vcpus->len; i++) {
        while (((KvmVcpu *)vcpus->pdata[i])->work != WORK_NONE) {
            pthread_cond_wait(&vcpu_done, &vcpu_lock);
        }
    }
    pthread_mutex_unlock(&vcpu_lock);
}

void kvm_vcpus_reset(void)
{
    vcpus_work(WORK_RESET);
}

void kvm_vcpus_clock_paused(void)
{
    vcpus_work(WORK_CLOCK_PAUSED);
}
