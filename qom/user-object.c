/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -object, object-add, object-del. Reading is one stage (names and types of values), creating the
 * next (ranges, completing), because only messages of the first one carry the option's location.
 */
#include "internal.h"

#include "qapi/keyval.h"

#include <string.h>

struct UserObject {
    char *id;
    ObjectClass *klass;
    JsonObject *props; /* typed values of the JSON form */
};

void user_object_free(UserObject *u)
{
    if (u) {
        g_free(u->id);
        g_clear_pointer(&u->props, json_object_unref);
        g_free(u);
    }
}

/* ---- reading ---- */

static ObjectClass *user_class(const char *type, Error **errp)
{
    ObjectClass *klass = object_class_by_name(type);

    if (!klass || klass->info->abstract || !klass->info->user_creatable) {
        error_set(errp, "Parameter 'qom-type' does not accept value '%s'", type);
        return NULL;
    }
    return klass;
}

/* Turns a value into its typed form: what a getter shows after a setter has read it. */
static JsonNode *typed_value(Object *scratch, const Property *prop, JsonNode *value, QapiForm form,
                             Error **errp)
{
    if (prop->type == &prop_link) {
        /* What it names may be created between the two stages. */
        if (!JSON_NODE_HOLDS_VALUE(value) || json_node_get_value_type(value) != G_TYPE_STRING) {
            error_set(errp, "Invalid parameter type for '%s', expected: string", prop->name);
            return NULL;
        }
        return json_node_copy(value);
    }
    if (prop->type->release) {
        prop->type->release(scratch, prop);
    }
    if (!prop->type->set(scratch, prop, value, form, errp)) {
        return NULL;
    }
    return prop->type->get(scratch, prop, errp);
}

static bool settable(const Property *prop)
{
    return !(prop->flags & (PROP_READ_ONLY | PROP_HIDDEN)) && prop->type->set && prop->type->get;
}

/* Reads the properties of klass, parents first, from options, and takes them out of it. */
static bool read_class(UserObject *u, const ObjectClass *klass, Object *scratch,
                       JsonObject *options, QapiForm form, Error **errp)
{
    if (klass->parent && !read_class(u, klass->parent, scratch, options, form, errp)) {
        return false;
    }
    for (const Property *p = klass->info->props; p && p->name; p++) {
        if (!settable(p)) {
            continue;
        }
        JsonNode *value = json_object_get_member(options, p->name);
        if (!value) {
            if (p->flags & PROP_REQUIRED) {
                error_set(errp, "Parameter '%s' is missing", p->name);
                return false;
            }
            continue;
        }
        JsonNode *typed = typed_value(scratch, p, value, form, errp);
        if (!typed) {
            return false;
        }
        json_object_set_member(u->props, p->name, typed);
        json_object_remove_member(options, p->name);
    }
    return true;
}

static const char *string_member(JsonObject *options, const char *name, Error **errp)
{
    JsonNode *value = json_object_get_member(options, name);

    if (!value) {
        error_set(errp, "Parameter '%s' is missing", name);
        return NULL;
    }
    if (!JSON_NODE_HOLDS_VALUE(value) || json_node_get_value_type(value) != G_TYPE_STRING) {
        error_set(errp, "Invalid parameter type for '%s', expected: string", name);
        return NULL;
    }
    return json_node_get_string(value);
}

/* NAME of "NAME.0" if that is a list property of klass; NULL otherwise. Caller frees. */
static char *numbered_list_name(const ObjectClass *klass, const char *key, guint64 *index)
{
    const char *dot = strrchr(key, '.');

    if (!dot || !g_ascii_string_to_unsigned(dot + 1, 10, 0, G_MAXUINT16, index, NULL)) {
        return NULL;
    }
    g_autofree char *name = g_strndup(key, dot - key);
    const Property *prop = class_property(klass, name);
    return prop && prop->type->is_list ? g_steal_pointer(&name) : NULL;
}

/* A flat list of options as an object: values of list properties are gathered in arrays. Numbers
 * count upwards from 0, else the key stays as it is, and is then refused by name. */
static JsonObject *gather_options(const Opts *opts)
{
    JsonObject *out = json_object_new();
    const char *type = opts_get(opts, "qom-type");
    ObjectClass *klass = type ? object_class_by_name(type) : NULL;

    if (opts->id) {
        json_object_set_string_member(out, "id", opts->id);
    }
    for (guint i = 0; i < opts->list->len; i++) {
        const Opt *opt = opts->list->pdata[i];
        guint64 index = 0;
        g_autofree char *numbered = klass ? numbered_list_name(klass, opt->key, &index) : NULL;
        const char *name = numbered ? numbered : opt->key;
        const Property *prop = klass ? class_property(klass, name) : NULL;

        if (!prop || !prop->type->is_list) {
            json_object_set_string_member(out, opt->key, opt->value);
            continue;
        }
        JsonArray *array = json_object_has_member(out, name)
                               ? json_object_get_array_member(out, name)
                               : NULL;
        if (numbered && index != (array ? json_array_get_length(array) : 0)) {
            json_object_set_string_member(out, opt->key, opt->value);
            continue;
        }
        if (!array) {
            array = json_array_new();
            json_object_set_array_member(out, name, array);
        }
        json_array_add_string_element(array, opt->value);
    }
    return out;
}

/* Like user_object_parse_json(), but uses options up. */
static UserObject *parse_options(JsonObject *options, QapiForm form, Error **errp)
{
    const char *type = string_member(options, "qom-type", errp);
    if (!type) {
        return NULL;
    }
    ObjectClass *klass = user_class(type, errp);
    if (!klass) {
        return NULL;
    }
    const char *id = string_member(options, "id", errp);
    if (!id) {
        return NULL;
    }

    g_autoptr(UserObject) u = g_new0(UserObject, 1);
    u->id = g_strdup(id);
    u->klass = klass;
    u->props = json_object_new();
    json_object_remove_member(options, "qom-type");
    json_object_remove_member(options, "id");

    g_autoptr(Object) scratch = object_new(klass->info->name);
    if (!read_class(u, klass, scratch, options, form, errp)) {
        return NULL;
    }
    g_autoptr(GList) left = json_object_get_members(options);
    if (left) {
        error_set(errp,
                  form == QAPI_JSON ? "Parameter '%s' is unexpected" : "Invalid parameter '%s'",
                  (const char *)left->data);
        return NULL;
    }
    return g_steal_pointer(&u);
}

UserObject *user_object_parse_json(JsonObject *options, QapiForm form, Error **errp)
{
    g_autoptr(JsonObject) copy = json_object_new();
    JsonObjectIter it;
    const char *name;
    JsonNode *value;

    json_object_iter_init_ordered(&it, options);
    while (json_object_iter_next_ordered(&it, &name, &value)) {
        json_object_set_member(copy, name, json_node_copy(value));
    }
    return parse_options(copy, form, errp);
}

static UserObject *parse_json_text(const char *text, Error **errp)
{
    g_autoptr(JsonNode) node = json_parse(text, errp);

    if (!node) {
        return NULL;
    }
    g_assert(JSON_NODE_HOLDS_OBJECT(node)); /* it begins with '{' */
    return user_object_parse_json(json_node_get_object(node), QAPI_JSON, errp);
}

UserObject *user_object_parse(const char *text, bool command_line, char **help, Error **errp)
{
    static GHashTable *ids; /* of key=value options of the command line */

    *help = NULL;
    if (text[0] == '{') {
        return parse_json_text(text, errp);
    }

    bool wants_help = false;
    g_autoptr(Opts) opts = opts_parse(text, "qom-type", &wants_help, errp);
    if (!opts) {
        return NULL;
    }
    if (wants_help) {
        const char *type = opts_get(opts, "qom-type");
        *help = type ? user_object_help(type, errp) : user_object_help_list();
        return NULL;
    }
    if (command_line && opts->id) {
        if (!ids) {
            ids = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        }
        if (!g_hash_table_add(ids, g_strdup(opts->id))) {
            error_set(errp, "Duplicate ID '%s' for object", opts->id);
            return NULL;
        }
    }
    g_autoptr(JsonObject) options = gather_options(opts);
    return parse_options(options, QAPI_KEYVAL, errp);
}

/* ---- creating and deleting ---- */

bool user_object_create(UserObject *u, Error **errp)
{
    if (!id_wellformed(u->id)) {
        error_set_bad_id(errp);
        return false;
    }

    g_autoptr(Object) obj = object_new(u->klass->info->name);
    JsonObjectIter it;
    const char *name;
    JsonNode *value;
    json_object_iter_init_ordered(&it, u->props);
    while (json_object_iter_next_ordered(&it, &name, &value)) {
        if (!object_property_set(obj, name, value, QAPI_JSON, errp)) {
            return false;
        }
    }
    if (!object_add_child(object_objects_root(), u->id, obj, errp)) {
        return false;
    }
    if (!obj->klass->complete(obj, errp)) {
        object_unparent(obj);
        return false;
    }
    return true;
}

bool user_object_add(JsonObject *options, QapiForm form, Error **errp)
{
    g_autoptr(UserObject) u = user_object_parse_json(options, form, errp);
    return u && user_object_create(u, errp);
}

bool user_object_del(const char *id, Error **errp)
{
    Object *obj = object_child(object_objects_root(), id);

    if (!obj) {
        error_set(errp, "object '%s' not found", id);
        return false;
    }
    if (obj->users) {
        error_set(errp, "object '%s' is in use, can not be deleted", id);
        return false;
    }
    object_unparent(obj);
    return true;
}

void user_object_cleanup(void)
{
    Object *root = object_objects_root();

    while (root->dynamic && root->dynamic->len) {
        Dynamic *d = root->dynamic->pdata[root->dynamic->len - 1];
        object_unparent(d->target);
    }
}

/* ---- help ---- */

char *user_object_help_list(void)
{
    g_autoptr(GPtrArray) classes = object_class_list("object", false);
    GString *text = g_string_new("List of user creatable objects:\n");

    for (guint i = 0; i < classes->len; i++) {
        ObjectClass *klass = classes->pdata[i];
        if (klass->info->user_creatable) {
            g_string_append_printf(text, "  %s\n", klass->info->name);
        }
    }
    return g_string_free(text, FALSE);
}

char *user_object_help(const char *type, Error **errp)
{
    ObjectClass *klass = user_class(type, errp);
    if (!klass) {
        return NULL;
    }
    g_autofree char *lines = object_class_property_help(klass);
    if (!lines[0]) {
        return g_strdup_printf("There are no options for %s.\n", type);
    }
    return g_strdup_printf("%s options:\n%s", type, lines);
}
