/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands that are registered, the command that lists them, and the way events take. */
#include <string.h>

#include "qapi/qapi-control.h"
#include "qapi/qapi-type.h"

/*
 * Filled by constructors, before main() and so before there are threads; only read afterwards.
 */
static GHashTable *commands; /* name -> QmpCommand */

void qmp_register(const QmpCommand *cmd)
{
    if (!commands) {
        commands = g_hash_table_new(g_str_hash, g_str_equal);
    }
    g_assert(!g_hash_table_contains(commands, cmd->name));
    g_hash_table_insert(commands, (void *)cmd->name, (void *)cmd);
}

const QmpCommand *qmp_find_command(const char *name)
{
    return commands ? g_hash_table_lookup(commands, name) : NULL;
}

static gint compare_commands(gconstpointer a, gconstpointer b)
{
    const QmpCommand *x = *(const QmpCommand *const *)a;
    const QmpCommand *y = *(const QmpCommand *const *)b;

    return strcmp(x->name, y->name);
}

GPtrArray *qmp_all_commands(void)
{
    GPtrArray *list = g_ptr_array_new();
    GHashTableIter iter;
    gpointer cmd;

    if (commands) {
        g_hash_table_iter_init(&iter, commands);
        while (g_hash_table_iter_next(&iter, NULL, &cmd)) {
            g_ptr_array_add(list, cmd);
        }
    }
    g_ptr_array_sort(list, compare_commands);
    return list;
}

GPtrArray *qmp_query_commands(Error **errp)
{
    g_autoptr(GPtrArray) all = qmp_all_commands();
    GPtrArray *list = g_ptr_array_new_with_free_func((GDestroyNotify)qapi_free_CommandInfo);

    for (guint i = 0; i < all->len; i++) {
        const QmpCommand *cmd = all->pdata[i];

        if (cmd->enabled) {
            CommandInfo *info = g_new0(CommandInfo, 1);

            info->name = g_strdup(cmd->name);
            g_ptr_array_add(list, info);
        }
    }
    return list;
}
QMP_REGISTER(query_commands)

/* ---- events ---- */

static void (*event_sink)(const char *name, JsonNode *data);

void qapi_event_set_sink(void (*sink)(const char *name, JsonNode *data))
{
    __atomic_store_n(&event_sink, sink, __ATOMIC_RELEASE);
}

void qapi_event_emit(const char *name, JsonNode *data)
{
    void (*sink)(const char *, JsonNode *) = __atomic_load_n(&event_sink, __ATOMIC_ACQUIRE);

    if (sink) {
        sink(name, data);
    } else if (data) {
        json_node_unref(data);
    }
}
