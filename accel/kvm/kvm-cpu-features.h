/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_ACCEL_KVM_CPU_FEATURES_H
#define SPINDLE_ACCEL_KVM_CPU_FEATURES_H

#include <linux/kvm.h>

#include "kvm-cpu-request.h"

/* Which features a processor gets. Runs in: one thread at a time. */

/* What this host's KVM can give, of the words of CPUID and of model-specific registers. */
void kvm_features_offered(const struct kvm_cpuid2 *supported, X86Features *out);
/* What the request gets of it. `amd`: the guest takes its processor for one of AMD's. With `report`
 * what it lacks is told of in warnings. */
bool kvm_features_choose(const KvmCpuRequest *r, const X86Features *offered, bool amd, bool report,
                         X86Features *out, X86Features *lacking, Error **errp);
/* Makes those effective that are in model-specific registers; CPUID has been set. */
void kvm_features_set_msrs(const KvmCpuRequest *r, const X86Features *have, int vcpu_fd);

#endif
