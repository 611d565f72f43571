/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Questions that management asks every machine, about things that this program does not have: the
 * answer is that there are none. What would make or change such a thing does not exist as a
 * command.
 */
#include "qapi/qapi-absent.h"
#include "qapi/qapi-migration.h"
#include "qapi/qapi.h"

GArray *qmp_query_tpm_models(Error **errp)
{
    return g_array_new(false, false, sizeof(TpmModel));
}
QMP_REGISTER(query_tpm_models)

GArray *qmp_query_tpm_types(Error **errp)
{
    return g_array_new(false, false, sizeof(TpmType));
}
QMP_REGISTER(query_tpm_types)

GPtrArray *qmp_query_mice(Error **errp)
{
    return g_ptr_array_new();
}
QMP_REGISTER(query_mice)

GPtrArray *qmp_query_jobs(Error **errp)
{
    return g_ptr_array_new();
}
QMP_REGISTER(query_jobs)

GPtrArray *qmp_query_block_jobs(Error **errp)
{
    return g_ptr_array_new();
}
QMP_REGISTER(query_block_jobs)

ProxmoxSupportStatus *qmp_query_proxmox_support(Error **errp)
{
    return g_new0(ProxmoxSupportStatus, 1);
}
QMP_REGISTER(query_proxmox_support)

static void no_balloon(Error **errp)
{
    error_set_class(errp, ERROR_CLASS_DEVICE_NOT_ACTIVE, "No balloon device has been activated");
}

BalloonInfo *qmp_query_balloon(Error **errp)
{
    no_balloon(errp);
    return NULL;
}
QMP_REGISTER(query_balloon)

bool qmp_balloon(const q_balloon_args *args, Error **errp)
{
    no_balloon(errp);
    return false;
}
QMP_REGISTER(balloon)

/* ---- migration: only the switch that clients throw before they know whether they need it ---- */

static bool events_enabled;

GPtrArray *qmp_query_migrate_capabilities(Error **errp)
{
    GPtrArray *list = g_ptr_array_new();
    MigrationCapabilityStatus *s = g_new0(MigrationCapabilityStatus, 1);

    s->capability = MIGRATION_CAPABILITY_EVENTS;
    s->state = events_enabled;
    g_ptr_array_add(list, s);
    return list;
}
QMP_REGISTER(query_migrate_capabilities)

bool qmp_migrate_set_capabilities(const q_migrate_set_capabilities_args *args, Error **errp)
{
    for (guint i = 0; i < args->capabilities->len; i++) {
        const MigrationCapabilityStatus *s = args->capabilities->pdata[i];

        events_enabled = s->state; /* the only one that decodes */
    }
    return true;
}
QMP_REGISTER(migrate_set_capabilities)

MigrationInfo *qmp_query_migrate(Error **errp)
{
    return g_new0(MigrationInfo, 1);
}
QMP_REGISTER(query_migrate)
