/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_SYSTEM_CMDLINE_H
#define SPINDLE_SYSTEM_CMDLINE_H

#include "qapi/keyval.h"
#include "qom/object.h"
#include "sandbox.h"

/*
 * The command line. It is read whole before anything is made: each option is checked as far as it
 * can be by itself and remembered together with where it stood, so that what is found wrong about
 * it later still names it. startup.c then makes things in their own order. Runs in: main thread.
 */

/* Where an option came from, in the terms of util/report.h. */
typedef struct CmdLocation {
    char *option, *value; /* or */
    char *file;
    int line;
} CmdLocation;

/* The location of what is being read now; the strings are the caller's. */
CmdLocation cmd_location_copy(void);
void cmd_location_clear(CmdLocation *loc);
/* A configuration file is being read; NULL: not any more. */
void cmd_location_enter_file(const char *file, int line);
/* To be undone by report_pop(). */
void cmd_location_push(const CmdLocation *loc);

/* ---- options ---- */

typedef struct CmdOption {
    const char *name;
    bool has_arg;
    /* `arg` is NULL without one. Messages are given the option's location by the caller. */
    bool (*parse)(const char *arg, Error **errp);
    const char *help; /* lines for -help; NULL: not shown */
} CmdOption;

typedef struct CmdSection {
    int order; /* of the section in -help */
    const char *title;
    const CmdOption *options; /* ended by one without a name */
} CmdSection;

void cmd_section_register(const CmdSection *s);
#define CMD_SECTION(s)                                                                             \
    static void __attribute__((constructor)) cmd_register_##s(void)                                \
    {                                                                                              \
        cmd_section_register(&(s));                                                                \
    }

/* ---- groups: options of the form key=value that a configuration file may also have ---- */

typedef struct CmdParam {
    const char *name;
    const char *type; /* "string", "boolean", "number", "size" */
    const char *help; /* may be NULL */
} CmdParam;

/* One option of a group, until it is used up. */
typedef struct CmdItem {
    CmdLocation loc;
    Opts *opts;       /* or */
    JsonNode *json;   /* or */
    bool keyval;      /* its scalars are strings */
    UserObject *user; /* of -object */
} CmdItem;

typedef struct CmdGroup {
    const char *name;
    const char *implied;    /* key of a first item without "="; NULL: none */
    const CmdParam *params; /* for query-command-line-options, ended by one without a name */
    bool checked;           /* only keys of `params` may occur */
    /* Takes opts over, also when it fails. */
    bool (*add)(Opts *opts, Error **errp);
    GPtrArray **items; /* of CmdItem, for -set; NULL: -set is not possible */
    bool merged;       /* the options add up to one, which has no id */
} CmdGroup;

void cmd_group_register(const CmdGroup *g);
#define CMD_GROUP(g)                                                                               \
    static void __attribute__((constructor)) cmd_group_register_##g(void)                          \
    {                                                                                              \
        cmd_group_register(&(g));                                                                  \
    }
const CmdGroup *cmd_group_find(const char *name);
/* Adds the option text `arg` to the group. */
bool cmd_group_parse(const CmdGroup *g, const char *arg, bool *help, Error **errp);
/* Adds what is complete already. Takes opts over. */
bool cmd_group_add(const CmdGroup *g, Opts *opts, Error **errp);
/* Remembers an item at the present location. Takes what it is given over. */
CmdItem *cmd_item_add(GPtrArray **items, Opts *opts, JsonNode *json, UserObject *user);
/* "Duplicate ID 'x' for GROUP" if an item of that id is there. */
bool cmd_check_duplicate(GPtrArray *items, const char *id, const char *group, Error **errp);
/* -set group.id.arg=value */
bool cmd_set(const char *arg, Error **errp);
/* -readconfig */
bool cmd_read_config(const char *path, Error **errp);

/* ---- what was said ---- */

typedef struct CmdText {
    CmdLocation loc;
    char *text;
} CmdText;

typedef struct SystemConfig {
    JsonObject *machine; /* keyval form: "type", "accel", "smp", "memory", "boot", properties */
    GPtrArray *accels;   /* CmdItem with json, in order */
    GPtrArray *numa;     /* CmdItem with opts, in order */
    char *cpu;
    char *kernel, *initrd, *append, *bios;

    GPtrArray *objects;      /* CmdItem with user */
    GPtrArray *chardevs;     /* CmdItem with opts */
    GPtrArray *monitors;     /* CmdItem with opts */
    GPtrArray *blockdevs;    /* CmdItem with json */
    GPtrArray *drives;       /* CmdItem with opts */
    GPtrArray *devices;      /* CmdItem with opts: key=value form */
    GPtrArray *json_devices; /* CmdItem with json */
    GPtrArray *serials;      /* CmdText */
    bool has_monitor;        /* -monitor, -qmp or -mon was given */

    char *qtest, *qtest_log;
    bool nodefaults, nographic, paused, preconfig, exit_with_parent;
    bool async_teardown;
    SandboxConfig sandbox;
    bool cpu_pm;
    bool no_reboot, no_shutdown;
    bool daemonize;
    char *pidfile;
    char *name, *process_name;
    bool guest_name_in_messages;
    char *uuid; /* canonical text; NULL: none */
    char *chroot; /* see also process.h for -run-with user= */
    bool mem_lock, mem_lock_on_fault;
    char *vga;

    /* Answered when everything has been read. */
    bool machine_help, accel_help, cpu_help;
    GPtrArray *device_help; /* CmdItem with opts */
} SystemConfig;

extern SystemConfig config;

/*
 * Wrong options and what is not supported. An option that is wrong by itself is remembered; after
 * it only what refusals_look_at() names is parsed. refusals_report() says everything and exits, if
 * there is anything that has to be said now.
 */
void refusals_add_failure(Error *err);
bool refusals_look_at(const CmdOption *o);
void refusals_report(void);
void refusals_cleanup(void);

/* Reads all. Exits with status 0 after help or version was printed, 1 after an error was. */
void cmdline_parse(int argc, char **argv);
void cmdline_print_help(void);
/* Prints a text, frees it, and ends the process: help. */
void cmdline_exit_with(char *text) __attribute__((noreturn));
void cmdline_print_version(void);
void cmdline_cleanup(void);

/* Adds members of `from` to the machine's options, later ones replacing earlier ones. */
void config_machine_merge(JsonObject *from);
void config_machine_set(const char *key, const char *value);

#endif
