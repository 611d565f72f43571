/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Model-specific registers. KVM lists those it keeps; not all of them exist for every processor
 * model, and a host may refuse to set one it lets be read. Neither stops a machine.
 */
#include <inttypes.h>
#include <string.h>

#include "kvm-int.h"
#include "util/report.h"

#define MSR_TSC 0x10

struct KvmMsrs {
    uint32_t n;
    struct kvm_msr_entry e[];
};

static struct kvm_msr_list *list; /* of the host, asked once */

static struct kvm_msr_list *msr_list(void)
{
    struct kvm_msr_list head = { 0 };

    if (list) {
        return list;
    }
    /* Fails, and tells how many there are. */
    kvm_ioctl(kvm.fd, KVM_GET_MSR_INDEX_LIST, &head);
    list = g_malloc0(sizeof(*list) + head.nmsrs * sizeof(list->indices[0]));
    list->nmsrs = head.nmsrs;
    if (kvm_ioctl(kvm.fd, KVM_GET_MSR_INDEX_LIST, list) < 0) {
        list->nmsrs = 0;
    }
    return list;
}

/* Reads as many as there are of the n registers named in `in`; the others are left out. */
static KvmMsrs *msrs_read(int fd, const struct kvm_msr_entry *in, uint32_t n)
{
    KvmMsrs *out = g_malloc0(sizeof(*out) + n * sizeof(out->e[0]));
    g_autofree struct kvm_msrs *batch = g_malloc0(sizeof(*batch) + n * sizeof(batch->entries[0]));
    uint32_t done = 0;

    while (done < n) {
        int got;

        batch->nmsrs = n - done;
        memcpy(batch->entries, in + done, batch->nmsrs * sizeof(batch->entries[0]));
        got = kvm_ioctl(fd, KVM_GET_MSRS, batch);
        got = MAX(got, 0);
        memcpy(out->e + out->n, batch->entries, got * sizeof(out->e[0]));
        out->n += got;
        /* It stops at the first that it does not have. */
        done += got + 1;
    }
    return out;
}

KvmMsrs *kvm_msrs_save(int fd)
{
    const struct kvm_msr_list *l = msr_list();
    g_autofree struct kvm_msr_entry *in = g_new0(struct kvm_msr_entry, l->nmsrs + 1);
    uint32_t n = 0;

    for (uint32_t i = 0; i < l->nmsrs; i++) {
        /* The counter goes on: processors that are set one after the other would disagree. */
        if (l->indices[i] != MSR_TSC) {
            in[n++].index = l->indices[i];
        }
    }
    return msrs_read(fd, in, n);
}

static bool warned_before(uint32_t index)
{
    static GHashTable *warned;
    static GMutex lock;
    bool before;

    g_mutex_lock(&lock);
    if (!warned) {
        warned = g_hash_table_new(NULL, NULL);
    }
    before = !g_hash_table_add(warned, GUINT_TO_POINTER(index));
    g_mutex_unlock(&lock);
    return before;
}

static bool msr_read(int fd, uint32_t index, uint64_t *out)
{
    uint64_t buf[(sizeof(struct kvm_msrs) + sizeof(struct kvm_msr_entry)) / sizeof(uint64_t)] = {
        0
    };
    struct kvm_msrs *one = (struct kvm_msrs *)buf;

    one->nmsrs = 1;
    one->entries[0].index = index;
    if (kvm_ioctl(fd, KVM_GET_MSRS, one) != 1) {
        return false;
    }
    *out = one->entries[0].data;
    return true;
}

bool kvm_msr_get(int fd, uint32_t index, uint64_t *out)
{
    return msr_read(fd, index, out);
}

uint64_t kvm_msr_offered(uint32_t index)
{
    uint64_t v = 0;

    return kvm_check(KVM_CAP_GET_MSR_FEATURES) > 0 && msr_read(kvm.fd, index, &v) ? v : 0;
}

void kvm_msr_set(int fd, uint32_t index, uint64_t value)
{
    uint64_t buf[(sizeof(struct kvm_msrs) + sizeof(struct kvm_msr_entry)) / sizeof(uint64_t)] = {
        0
    };
    struct kvm_msrs *one = (struct kvm_msrs *)buf;

    one->nmsrs = 1;
    one->entries[0].index = index;
    one->entries[0].data = value;
    if (kvm_ioctl(fd, KVM_SET_MSRS, one) != 1 && !warned_before(index)) {
        report_warning("KVM of this host refuses to set MSR 0x%x to 0x%" PRIx64, index, value);
    }
}

void kvm_msrs_load(int fd, const KvmMsrs *initial)
{
    g_autofree KvmMsrs *now = msrs_read(fd, initial->e, initial->n);
    uint32_t j = 0;

    for (uint32_t i = 0; i < initial->n && j < now->n; i++) {
        if (now->e[j].index != initial->e[i].index) {
            continue;
        }
        if (now->e[j].data != initial->e[i].data) {
            kvm_msr_set(fd, initial->e[i].index, initial->e[i].data);
        }
        j++;
    }
}
