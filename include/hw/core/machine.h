/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_CORE_MACHINE_H
#define SPINDLE_HW_CORE_MACHINE_H

#include "hw/core/cpu.h"
#include "hw/core/device.h"
#include "qapi/keyval.h"
#include "qapi/qapi-common.h"

/* The machine as a whole ("/machine"). Runs in: main thread, under the big lock. */

#define TYPE_MACHINE "machine"

typedef struct SmpConfig {
    unsigned cpus, max_cpus, drawers, books, sockets, dies, clusters, modules, cores, threads;
} SmpConfig;

typedef struct MachineState MachineState;

typedef void CompatFn(const char *type, const char *property, const char *value, void *opaque);

typedef struct MachineClass {
    ObjectClass parent_class;
    const char *name;  /* "pc-q35-10.0"; the type is this with "-machine" appended */
    const char *alias; /* "q35" */
    const char *desc;
    bool is_default;
    const char *deprecation; /* why it may vanish; NULL: it will not */
    const void *version;     /* of an earlier version: which; the compat function's */
    /* Calls fn for each default of devices that differs; may be NULL. */
    void (*compat)(const struct MachineClass *mc, CompatFn *fn, void *opaque);
    bool numa_mem_supported;
    unsigned max_cpus;
    bool hotpluggable_cpus;
    bool has_acpi;
    const char *default_cpu_type; /* NULL: none */
    const char *default_ram_id;   /* "pc.ram" */
    uint64_t default_ram_size;
    const char *default_if; /* interface of a -drive without if=: "ide", "none" */
    bool (*init)(MachineState *m, Error **errp); /* maps RAM, builds buses, built-in devices */
} MachineClass;

struct MachineState {
    Object parent_obj;
    SmpConfig smp;
    uint64_t ram_size, maxram_size, ram_slots; /* bytes */
    bool ram_size_set;    /* by -m; else an explicit memory backend decides */
    bool ram_size_zero;   /* "-m 0" was the last word: the default holds where no guest runs */
    uint64_t max_ram_below_4g; /* bytes; 0: the machine's choice */
    char *accel;          /* -machine accel=, colon-separated; NULL */
    Object *ram_backend;  /* in use for RAM; NULL before machine_build() and without RAM */
    char *memory_backend; /* -machine memory-backend=; NULL: one is made */
    char *kernel, *initrd, *append, *firmware; /* -kernel, -initrd, -append, -bios */
    bool defaults;        /* false with -nodefaults */
    bool cpu_pm;          /* the guest idles on the processor instead of leaving it */
    bool dump_guest_core, mem_merge, graphics, usb, suppress_vmdesc;
    OnOffAuto acpi, vmport, smm, pic, pit;
    int64_t kvm_shadow_mem; /* bytes of the page tables of KVM; -1: as it likes */
    bool hpet, i8042, sata, smbus;
    OnOffSplit kernel_irqchip; /* for KVM */
    bool boot_menu, boot_strict;  /* -boot menu=on, strict=on */
    char *boot_splash; /* file; NULL: none */
    char *boot_order, *boot_once; /* "cdn"; NULL: the default */
    int64_t boot_splash_time, boot_reboot_timeout; /* ms; -1: not given */
};

#define MACHINE(obj) OBJECT_CHECK(MachineState, obj, TYPE_MACHINE)
#define MACHINE_CLASS(m) ((MachineClass *)((Object *)(m))->klass)

extern MachineState *current_machine;

/* By name or alias; NULL if unknown. A vendor's mark behind it ("+pve0") does not count. */
MachineClass *machine_class_find(const char *name);
MachineClass *machine_class_default(void);
/* For -machine help. Caller frees. */
char *machine_help_list(void);
/* For -machine X,help. Caller frees. */
char *machine_help(const MachineClass *mc);
/* Fills in what -smp leaves open and checks the product; text as clients know it. Every key of opts
 * must be one of a topology. */
bool smp_parse(SmpConfig *smp, Opts *opts, const MachineClass *mc, Error **errp);

/*
 * The life of a machine, in this order:
 *   machine_new()        makes "/machine" with its containers and default RAM and topology;
 *   machine_configure()  applies what -machine says besides "type" and "accel" (keyval_parse()
 * form, "smp", "memory" and "boot" may be objects); (the caller fills in what other options say:
 * smp, ram_size, kernel, ...) accel_setup()        for the accelerator; machine_build()      RAM,
 * processors, buses and built-in devices, by the class's init;
 *   (-device)
 *   machine_ready()      all devices of the command line exist; resets everything once.
 * At exit machine_destroy() unrealizes all devices and frees RAM.
 */
MachineState *machine_new(MachineClass *mc);
bool machine_configure(MachineState *m, JsonObject *options, QapiForm form, Error **errp);
bool machine_build(MachineState *m, Error **errp);
void machine_ready(MachineState *m);
void machine_ready_register(void (*fn)(void *opaque), void *opaque);
void machine_destroy(MachineState *m);

/* ---- accelerators: how guest code runs ---- */

#define TYPE_ACCEL "accel"
typedef struct AccelClass {
    ObjectClass parent_class;
    const char *name; /* "kvm", "qtest" */
    const char *title; /* in messages: "KVM" */
    bool (*init)(Object *accel, MachineState *m, Error **errp);
    void (*cpus_start)(Object *accel, MachineState *m); /* after all devices exist */
    /* A processor object is realized (it has its place and APIC id), or goes; may be NULL. */
    bool (*cpu_create)(CPUState *cpu, Error **errp);
    void (*cpu_destroy)(CPUState *cpu);
    /* All processors stand still when the first returns, and run again after the second; may be
     * NULL. */
    void (*cpus_pause)(void);
    void (*cpus_resume)(void);
} AccelClass;
/* True if the accelerator in use is of that name. */
bool accel_is(const char *name);
/* How messages call the one in use. */
const char *accel_title(void);
extern Object *current_accel;
/* Makes the accelerator `name` the one in use, with the properties of `options` (may be NULL).
 * "invalid accelerator X" if it is not built in. */
bool accel_setup(const char *name, JsonObject *options, QapiForm form, MachineState *m,
                 Error **errp);
/* Starts the processors, if the accelerator has any to start. */
void accel_cpus_start(MachineState *m);
/* For -accel help. Caller frees. */
char *accel_help_list(void);
bool accel_cpu_create(CPUState *cpu, Error **errp);
void accel_cpu_destroy(CPUState *cpu);
/* Processors stand from the first to the second; pairs nest. While they are being stopped the main
 * loop is polled, for one of them may wait for the main thread. The machine starts out paused once:
 * vm_start() resumes it. Runs in: main thread, under the big lock. */
void accel_cpus_pause(void);
void accel_cpus_resume(void);

#endif
