/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reply to query-qmp-schema: every registered command, every event, and the types that can be
 * reached from them. Types are named by numbers, so that nobody depends on their names.
 */
#include <pthread.h>

#include "qapi/qapi-control.h"
#include "qapi/qapi-type.h"

typedef struct SchemaBuilder {
    JsonArray *entries;
    GHashTable *names; /* QapiType -> char * */
    GHashTable *described; /* names: lists of types that are the same in JSON share one */
    GQueue pending;    /* of QapiType: named, but not described yet */
    unsigned next_number;
} SchemaBuilder;

/* Types that differ in C but not in JSON share an entry. */
static const QapiType *canonical(const QapiType *type)
{
    switch (type->kind) {
    case QAPI_INT:
    case QAPI_UINT:
    case QAPI_SIZE:
        return &qapi_builtin_int;
    case QAPI_STRUCT:
        return type->n_members == 0 ? &qapi_builtin_empty : type;
    default:
        return type;
    }
}

static const char *name_of(SchemaBuilder *b, const QapiType *type)
{
    char *name;

    type = canonical(type);
    name = g_hash_table_lookup(b->names, type);
    if (name) {
        return name;
    }
    if (type->kind == QAPI_LIST) {
        name = g_strdup_printf("[%s]", name_of(b, type->element));
    } else if (type->kind < QAPI_ENUM || type == &qapi_builtin_empty) {
        name = g_strdup(type->name);
    } else {
        name = g_strdup_printf("%u", b->next_number++);
    }
    g_hash_table_insert(b->names, (void *)type, name);
    g_queue_push_tail(&b->pending, (void *)type);
    return name;
}

static void set_features(JsonObject *o, const char *const *features)
{
    if (features) {
        JsonArray *list = json_array_new();

        for (int i = 0; features[i]; i++) {
            json_array_add_string_element(list, features[i]);
        }
        json_object_set_array_member(o, "features", list);
    }
}

/* An entry with what all have; the caller adds the rest. */
static JsonObject *add_entry(SchemaBuilder *b, const char *name, SchemaMetaType meta,
                             const char *const *features)
{
    JsonObject *o = json_object_new();

    json_object_set_string_member(o, "name", name);
    json_object_set_string_member(o, "meta-type",
                                  qapi_enum_name(&qapi_enum_SchemaMetaType, meta));
    set_features(o, features);
    json_array_add_object_element(b->entries, o);
    return o;
}

static void describe_builtin(SchemaBuilder *b, const QapiType *type, const char *name)
{
    JsonObject *o = add_entry(b, name, SCHEMA_META_TYPE_BUILTIN, NULL);
    JSONType json = SCHEMA_JSON_VALUE;

    switch (type->kind) {
    case QAPI_INT:
        json = SCHEMA_JSON_INT;
        break;
    case QAPI_NUMBER:
        json = SCHEMA_JSON_NUMBER;
        break;
    case QAPI_BOOL:
        json = SCHEMA_JSON_BOOLEAN;
        break;
    case QAPI_STR:
        json = SCHEMA_JSON_STRING;
        break;
    case QAPI_NULL:
        json = SCHEMA_JSON_NULL;
        break;
    default:
        break;
    }
    json_object_set_string_member(o, "json-type", qapi_enum_name(&qapi_enum_JSONType, json));
}

static void describe_enum(SchemaBuilder *b, const QapiType *type, const char *name)
{
    JsonObject *o = add_entry(b, name, SCHEMA_META_TYPE_ENUM, type->features);
    JsonArray *members = json_array_new();
    JsonArray *values = json_array_new();

    for (int i = 0; type->enumeration->values[i]; i++) {
        JsonObject *member = json_object_new();

        json_object_set_string_member(member, "name", type->enumeration->values[i]);
        set_features(member, type->value_features ? type->value_features[i] : NULL);
        json_array_add_object_element(members, member);
        json_array_add_string_element(values, type->enumeration->values[i]);
    }
    json_object_set_array_member(o, "members", members);
    json_object_set_array_member(o, "values", values);
}

static void describe_object(SchemaBuilder *b, const QapiType *type, const char *name)
{
    JsonObject *o = add_entry(b, name, SCHEMA_META_TYPE_OBJECT, type->features);
    JsonArray *members = json_array_new();
    JsonArray *variants;
    const QapiEnum *cases;

    for (unsigned i = 0; i < type->n_members; i++) {
        const QapiMember *m = &type->members[i];
        JsonObject *member = json_object_new();

        json_object_set_string_member(member, "name", m->name);
        json_object_set_string_member(member, "type", name_of(b, m->type));
        if (m->optional) {
            json_object_set_null_member(member, "default");
        }
        set_features(member, m->features);
        json_array_add_object_element(members, member);
    }
    json_object_set_array_member(o, "members", members);
    if (type->kind != QAPI_UNION) {
        return;
    }
    variants = json_array_new();
    cases = type->members[type->tag].type->enumeration;
    for (int i = 0; cases->values[i]; i++) {
        const QapiType *branch = type->branches[i] ? type->branches[i] : &qapi_builtin_empty;
        JsonObject *variant = json_object_new();

        json_object_set_string_member(variant, "case", cases->values[i]);
        json_object_set_string_member(variant, "type", name_of(b, branch));
        json_array_add_object_element(variants, variant);
    }
    json_object_set_string_member(o, "tag", type->members[type->tag].name);
    json_object_set_array_member(o, "variants", variants);
}

static void describe_alternate(SchemaBuilder *b, const QapiType *type, const char *name)
{
    JsonObject *o = add_entry(b, name, SCHEMA_META_TYPE_ALTERNATE, type->features);
    JsonArray *members = json_array_new();

    for (unsigned i = 0; i < type->n_alternates; i++) {
        JsonObject *member = json_object_new();

        json_object_set_string_member(member, "type", name_of(b, type->alternates[i].type));
        json_array_add_object_element(members, member);
    }
    json_object_set_array_member(o, "members", members);
}

static void describe(SchemaBuilder *b, const QapiType *type)
{
    const char *name = name_of(b, type);
    JsonObject *o;

    if (!g_hash_table_add(b->described, (void *)name)) {
        return;
    }
    switch (type->kind) {
    case QAPI_ENUM:
        describe_enum(b, type, name);
        break;
    case QAPI_STRUCT:
    case QAPI_UNION:
        describe_object(b, type, name);
        break;
    case QAPI_ALTERNATE:
        describe_alternate(b, type, name);
        break;
    case QAPI_LIST:
        o = add_entry(b, name, SCHEMA_META_TYPE_ARRAY, NULL);
        json_object_set_string_member(o, "element-type", name_of(b, type->element));
        break;
    default:
        describe_builtin(b, type, name);
    }
}

static void describe_command(SchemaBuilder *b, const QmpCommand *cmd)
{
    JsonObject *o = add_entry(b, cmd->name, SCHEMA_META_TYPE_COMMAND, cmd->features);

    json_object_set_string_member(o, "arg-type", name_of(b, cmd->arg_type));
    json_object_set_string_member(o, "ret-type", name_of(b, cmd->ret_type));
    if (cmd->flags & QMP_ALLOW_OOB) {
        json_object_set_boolean_member(o, "allow-oob", true);
    }
}

static JsonNode *schema;

static void build_schema(void)
{
    g_autoptr(GPtrArray) commands = qmp_all_commands();
    SchemaBuilder b = { .entries = json_array_new() };
    const QapiType *type;

    g_queue_init(&b.pending);
    b.described = g_hash_table_new(g_str_hash, g_str_equal);
    b.names = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    /* The empty object is the type "0". */
    b.next_number = 1;
    for (guint i = 0; i < commands->len; i++) {
        const QmpCommand *cmd = commands->pdata[i];

        if (cmd->enabled) {
            describe_command(&b, cmd);
        }
    }
    for (const QapiEvent *e = qapi_events; e->name; e++) {
        JsonObject *o = add_entry(&b, e->name, SCHEMA_META_TYPE_EVENT, e->features);

        json_object_set_string_member(o, "arg-type", name_of(&b, e->type));
    }
    while ((type = g_queue_pop_head(&b.pending))) {
        describe(&b, type);
    }
    g_hash_table_unref(b.described);
    g_hash_table_unref(b.names);
    schema = json_node_init_array(json_node_alloc(), b.entries);
    json_array_unref(b.entries);
    /* Sealed, because it is shared by all who ask. */
    json_node_seal(schema);
}

JsonNode *qapi_schema(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, build_schema);
    return schema;
}

JsonNode *qmp_query_qmp_schema(Error **errp)
{
    return json_node_ref(qapi_schema());
}
QMP_REGISTER(query_qmp_schema)
