/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One QMP command: checking the envelope, finding the command, running it, wrapping the result. */
#include "qmp.h"

#include "hw/core/runstate.h"

__thread QmpMonitor *qmp_current;

bool qmp_is_oob(JsonNode *message)
{
    JsonObject *obj;

    if (!JSON_NODE_HOLDS_OBJECT(message)) {
        return false;
    }
    obj = json_node_get_object(message);
    return json_object_has_member(obj, "exec-oob") && !json_object_has_member(obj, "execute");
}

static bool is_string(JsonNode *node)
{
    return JSON_NODE_HOLDS_VALUE(node) && json_node_get_value_type(node) == G_TYPE_STRING;
}

/* The command that a message calls, or NULL; for the human monitor's, *line is its line. */
static const QmpCommand *called(JsonNode *message, const char **line)
{
    JsonObject *obj = JSON_NODE_HOLDS_OBJECT(message) ? json_node_get_object(message) : NULL;
    JsonNode *name = obj ? json_object_get_member(obj, "execute") : NULL;
    const QmpCommand *cmd = name && is_string(name) ? qmp_find_command(json_node_get_string(name))
                                                    : NULL;
    JsonNode *args, *text = NULL;

    *line = NULL;
    if (cmd && g_str_equal(cmd->name, "human-monitor-command")) {
        args = json_object_get_member(obj, "arguments");
        if (args && JSON_NODE_HOLDS_OBJECT(args)) {
            text = json_object_get_member(json_node_get_object(args), "command-line");
        }
        *line = text && is_string(text) ? json_node_get_string(text) : "";
    }
    return cmd;
}

static bool is_quit_line(const char *line)
{
    return g_str_equal(line, "quit") || g_str_equal(line, "q");
}

static bool is_stop_line(const char *line)
{
    return g_str_equal(line, "stop") || g_str_equal(line, "s");
}

static bool is_cont_line(const char *line)
{
    return g_str_equal(line, "cont") || g_str_equal(line, "c");
}

/* Stopping what stands still has nothing to do. A stop that storage keeps may be taken back by a
 * client that was told that it is done. */
static bool stop_or_cont_may_nest(bool stop)
{
    return stop ? !runstate_is_running() : qmp_outer_is_told();
}

bool qmp_may_nest(JsonNode *message)
{
    const char *line;
    const QmpCommand *cmd = called(message, &line);

    if (!cmd) {
        return false;
    }
    if (line) {
        return g_str_has_prefix(line, "info ") || is_quit_line(line) ||
               (is_stop_line(line) && stop_or_cont_may_nest(true)) ||
               (is_cont_line(line) && stop_or_cont_may_nest(false));
    }
    return cmd->flags & QMP_ALLOW_NESTED ||
           (g_str_equal(cmd->name, "stop") && stop_or_cont_may_nest(true)) ||
           (g_str_equal(cmd->name, "cont") && stop_or_cont_may_nest(false));
}

bool qmp_is_the_end(JsonNode *message)
{
    const char *line;
    const QmpCommand *cmd = called(message, &line);

    return cmd && (line ? is_quit_line(line) : g_str_equal(cmd->name, "quit"));
}

JsonNode *qmp_error_reply(Error *err, JsonNode *id)
{
    JsonObject *reply = json_object_new();
    JsonObject *body = json_object_new();
    JsonNode *node = json_node_new(JSON_NODE_OBJECT);

    if (id) {
        json_object_set_member(reply, "id", json_node_ref(id));
    }
    json_object_set_string_member(body, "class", error_class_name(error_class(err)));
    json_object_set_string_member(body, "desc", error_message(err));
    json_object_set_object_member(reply, "error", body);
    json_node_take_object(node, reply);
    error_free(err);
    return node;
}

static JsonNode *success_reply(JsonNode *result, JsonNode *id)
{
    JsonObject *reply = json_object_new();
    JsonNode *node = json_node_new(JSON_NODE_OBJECT);

    json_object_set_member(reply, "return", result);
    if (id) {
        json_object_set_member(reply, "id", json_node_ref(id));
    }
    json_node_take_object(node, reply);
    return node;
}

JsonNode *qmp_early_reply(JsonNode *message)
{
    const char *line;
    const QmpCommand *cmd = called(message, &line);
    JsonNode *result;

    if (!cmd || !(line ? is_stop_line(line) : (cmd->flags & QMP_REPLY_EARLY) != 0)) {
        return NULL;
    }
    if (line) {
        result = json_node_init_string(json_node_alloc(), "");
    } else {
        result = json_node_new(JSON_NODE_OBJECT);
        json_node_take_object(result, json_object_new());
    }
    return success_reply(result, json_object_get_member(json_node_get_object(message), "id"));
}

typedef struct Envelope {
    const char *command;
    JsonNode *arguments; /* borrowed, may be NULL */
    bool exec_oob;
} Envelope;

static bool open_envelope(JsonObject *obj, bool oob_on, Envelope *env, Error **errp)
{
    JsonObjectIter iter;
    const char *name;
    JsonNode *node;

    json_object_iter_init_ordered(&iter, obj);
    while (json_object_iter_next_ordered(&iter, &name, &node)) {
        bool exec_oob = g_str_equal(name, "exec-oob");

        if (g_str_equal(name, "execute") || (exec_oob && oob_on)) {
            if (!is_string(node)) {
                error_set(errp, "QMP input member '%s' must be a string", name);
                return false;
            }
            if (env->command) {
                error_set(errp, "QMP input member 'execute' clashes with 'exec-oob'");
                return false;
            }
            env->command = json_node_get_string(node);
            env->exec_oob = exec_oob;
        } else if (g_str_equal(name, "arguments")) {
            if (!JSON_NODE_HOLDS_OBJECT(node)) {
                error_set(errp, "QMP input member 'arguments' must be an object");
                return false;
            }
            env->arguments = node;
        } else if (!g_str_equal(name, "id")) {
            error_set(errp, "QMP input member '%s' is unexpected", name);
            return false;
        }
    }
    if (!env->command) {
        error_set(errp, "QMP input lacks member 'execute'");
        return false;
    }
    return true;
}

static const QmpCommand *find_command(const Envelope *env, bool negotiated, Error **errp)
{
    const QmpCommand *cmd;

    if (!negotiated && !g_str_equal(env->command, "qmp_capabilities")) {
        error_set_class(errp, ERROR_CLASS_COMMAND_NOT_FOUND,
                        "Expecting capabilities negotiation with 'qmp_capabilities'");
        return NULL;
    }
    cmd = qmp_find_command(env->command);
    if (!cmd || !cmd->enabled) {
        error_set_class(errp, ERROR_CLASS_COMMAND_NOT_FOUND, "The command %s has not been found",
                        env->command);
        return NULL;
    }
    if (env->exec_oob && !(cmd->flags & QMP_ALLOW_OOB)) {
        error_set(errp, "The command %s does not support OOB", env->command);
        return NULL;
    }
    if (!(cmd->flags & QMP_ALLOW_PRECONFIG) && !runstate_machine_ready()) {
        error_set(errp,
                  "The command '%s' is permitted only after machine initialization has completed",
                  env->command);
        return NULL;
    }
    return cmd;
}

static JsonNode *run(QmpMonitor *mon, JsonObject *obj, Error **errp)
{
    Envelope env = { 0 };
    const QmpCommand *cmd;
    QmpMonitor *outer = qmp_current;
    bool negotiated, oob_on;
    JsonNode *result;

    pthread_mutex_lock(&mon->lock);
    negotiated = mon->negotiated;
    oob_on = mon->oob;
    pthread_mutex_unlock(&mon->lock);
    if (!open_envelope(obj, oob_on, &env, errp)) {
        return NULL;
    }
    cmd = find_command(&env, negotiated, errp);
    if (!cmd) {
        return NULL;
    }
    qmp_current = mon;
    result = cmd->call(env.arguments, errp);
    qmp_current = outer;
    return result;
}

JsonNode *qmp_execute(QmpMonitor *mon, JsonNode *message, bool oob)
{
    JsonObject *obj;
    JsonNode *id, *result;
    Error *err = NULL;

    g_assert(oob || aio_in_main_thread());
    if (!JSON_NODE_HOLDS_OBJECT(message)) {
        error_set(&err, "QMP input must be a JSON object");
        return qmp_error_reply(err, NULL);
    }
    obj = json_node_get_object(message);
    id = json_object_get_member(obj, "id");
    result = run(mon, obj, &err);
    return result ? success_reply(result, id) : qmp_error_reply(err, id);
}
