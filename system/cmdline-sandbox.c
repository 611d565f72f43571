/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The option -sandbox. */
#include "cmdline.h"

static const CmdParam sandbox_params[] = {
    { "enable", "boolean", NULL },
    { "obsolete", "string", NULL },
    { "elevateprivileges", "string", NULL },
    { "spawn", "string", NULL },
    { "resourcecontrol", "string", NULL },
    { NULL, NULL, NULL },
};

/* "allow" and "deny", and what else is as good as "deny". */
static bool take_rule(const Opts *o, const char *key, const char *other, bool *deny, Error **errp)
{
    const char *value = opts_get(o, key);

    if (!value) {
        return true;
    }
    if (!g_str_equal(value, "allow") && !g_str_equal(value, "deny") && g_strcmp0(value, other)) {
        error_set(errp, "invalid argument for %s", key);
        return false;
    }
    *deny = g_str_equal(value, "deny");
    return true;
}

static bool group_sandbox_add(Opts *opts, Error **errp)
{
    g_autoptr(Opts) o = opts;
    SandboxConfig *c = &config.sandbox;
    bool on, deny_obsolete = !c->allow_obsolete;

    if (!opts_take_bool(o, "enable", false, &on, errp)) {
        return false;
    }
    if (!on) {
        return true;
    }
    if (!sandbox_available()) {
        error_set(errp, "-sandbox support is not enabled in this build");
        return false;
    }
    c->on = true;
    /* "children": those of this process get no new privileges, which the filter sees to anyway. */
    if (!take_rule(o, "obsolete", NULL, &deny_obsolete, errp) ||
        !take_rule(o, "elevateprivileges", "children", &c->deny_elevation, errp) ||
        !take_rule(o, "spawn", NULL, &c->deny_spawn, errp) ||
        !take_rule(o, "resourcecontrol", NULL, &c->deny_resources, errp)) {
        return false;
    }
    c->allow_obsolete = !deny_obsolete;
    return true;
}

static const CmdGroup sandbox_group = { "sandbox", "enable", sandbox_params, true,
                                        group_sandbox_add, NULL };
CMD_GROUP(sandbox_group)

static bool parse_sandbox(const char *arg, Error **errp)
{
    return cmd_group_parse(&sandbox_group, arg, NULL, errp);
}

static const CmdOption sandbox_options[] = {
    { "sandbox", true, parse_sandbox,
      "-sandbox on[,obsolete=allow|deny][,elevateprivileges=allow|deny|children]\n"
      "         [,spawn=allow|deny][,resourcecontrol=allow|deny]\n"
      "                forbids system calls that a virtual machine does not need" },
    { NULL, false, NULL, NULL },
};
static const CmdSection sandbox_section = { 41, NULL, sandbox_options };
CMD_SECTION(sandbox_section)
