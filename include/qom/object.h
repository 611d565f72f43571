/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_QOM_OBJECT_H
#define SPINDLE_QOM_OBJECT_H

#include "qapi/qapi.h"

/*
 * Objects: types with single inheritance, one table of typed properties per type, and a tree of
 * instances ("/machine/peripheral/v0") that management can walk.
 *
 * Everything here runs in the main thread (or a thread that holds the big lock), except
 * object_ref/unref and the type lookups, which may run in any thread.
 */
typedef struct Object Object;
typedef struct ObjectClass ObjectClass;
typedef struct Property Property;
typedef struct PropertyType PropertyType;

typedef struct TypeInfo {
    const char *name;
    const char *parent; /* NULL only for "object" itself */
    size_t instance_size; /* 0: as the parent */
    size_t class_size;    /* 0: as the parent */
    bool abstract;
    const Property *props; /* ended by an element without a name; NULL: none of its own */
    void (*class_init)(ObjectClass *klass, const void *data); /* after the parent's was copied */
    const void *class_data;
    void (*instance_init)(Object *obj);     /* parents first; properties have their defaults */
    void (*instance_finalize)(Object *obj); /* children first */
    bool user_creatable; /* -object and object-add may make one */
} TypeInfo;

void type_register(const TypeInfo *info);
/* In the file that defines the type: no central list. */
#define TYPE_REGISTER(info)                                                                        \
    static void __attribute__((constructor)) type_register_##info(void)                            \
    {                                                                                              \
        type_register(&(info));                                                                    \
    }

struct ObjectClass {
    const TypeInfo *info;
    ObjectClass *parent;
    /* For user-creatable types: called when all properties are set. */
    bool (*complete)(Object *obj, Error **errp);
    /* Called before the object leaves the tree. */
    void (*unparent)(Object *obj);
};

struct Object {
    ObjectClass *klass;
    int ref;             /* atomic */
    unsigned users;      /* others that hold on to it by name; see object_use() */
    Object *parent;      /* in the tree */
    char *name;          /* its name there */
    GPtrArray *dynamic;  /* children, links and aliases of this instance */
};

/* ---- types ---- */

ObjectClass *object_class_by_name(const char *type); /* NULL: unknown */
const char *object_class_name(const ObjectClass *klass);
bool object_class_is(const ObjectClass *klass, const char *type);
/* All types that are or derive from `type`, sorted by name; abstract ones too if asked for. Caller
 * frees the array. */
GPtrArray *object_class_list(const char *type, bool include_abstract);

/* ---- instances ---- */

Object *object_new(const char *type); /* one reference, not in the tree; type must be concrete */
Object *object_ref(Object *obj);
void object_unref(Object *obj);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Object, object_unref)
const char *object_type_name(const Object *obj);
bool object_is(const Object *obj, const char *type);
/* Casts with a check. OBJECT_CHECK(VirtIODevice, obj, "virtio-device"). obj may not be NULL. */
#define OBJECT_CHECK(T, obj, type) ((T *)object_check((Object *)(obj), type))
#define OBJECT_CLASS_CHECK(T, obj, type) ((T *)(object_check((Object *)(obj), type)->klass))
Object *object_check(Object *obj, const char *type);

/* ---- the tree ---- */

Object *object_root(void);
Object *object_objects_root(void); /* "/objects", of -object */
/* The container at an absolute path, created if missing. */
Object *object_container(const char *path);
/* Adds child under `name` ("device[*]" picks the first free number) and takes a reference of its
 * own. Fails if the name is taken: attempt to add duplicate property 'N' to object (type 'T'). */
bool object_add_child(Object *parent, const char *name, Object *child, Error **errp);
/* Takes it out of the tree (its class's unparent runs) and drops the tree's reference. */
void object_unparent(Object *child);
Object *object_child(Object *parent, const char *name);
char *object_path(const Object *obj); /* "/machine/..."; NULL if not in the tree. Caller frees. */
/* Absolute path, or a partial one whose last parts are unique ("t0"). */
Object *object_resolve(const char *path, bool *ambiguous);
Object *object_resolve_type(const char *path, const char *type, bool *ambiguous);
void object_for_each_child(Object *parent, void (*fn)(Object *child, void *opaque), void *opaque);

/* Someone refers to this object by name and would be hurt by its deletion: object-del is refused
 * while users > 0. Each use holds a reference, too. */
void object_use(Object *obj);
void object_unuse(Object *obj);

/* ---- properties ---- */

/* The default is applied before instance_init. */
typedef enum {
    DEFAULT_NONE,
    DEFAULT_BOOL,
    DEFAULT_INT,
    DEFAULT_UINT,
    DEFAULT_STR,
    DEFAULT_ENUM
} DefaultKind;

enum {
    PROP_READ_ONLY = 1,
    PROP_RUNTIME = 2,   /* may be set after realize */
    PROP_HIDDEN = 4,    /* only in qom-list*, not in device-list-properties and ,help */
    PROP_REQUIRED = 8,  /* of user-creatable objects: must be given */
};

struct Property {
    const char *name;
    const PropertyType *type;
    size_t offset; /* of the field in the instance */
    const char *description; /* NULL: the type's */
    DefaultKind def;
    int64_t def_int; /* BOOL, INT, UINT (as bits), ENUM */
    const char *def_str;
    unsigned flags;
    const void *arg; /* what the type wants: a QapiEnum, the type of a link, a bit number, ... */
    /* Optional: refuse a value after it was parsed and before it counts; the field has the new
     * value, and is restored on failure. */
    bool (*check)(Object *obj, const Property *prop, Error **errp);
    /* Optional: make a change of a PROP_RUNTIME property effective. */
    void (*changed)(Object *obj, const Property *prop);
};

struct PropertyType {
    const char *name;        /* as shown to users: "uint16", "bool", "OnOffAuto" */
    const char *description; /* may be NULL */
    size_t size;             /* of the field, for saving and restoring it around check() */
    bool (*set)(Object *obj, const Property *prop, JsonNode *value, QapiForm form, Error **errp);
    JsonNode *(*get)(Object *obj, const Property *prop, Error **errp);
    /* For people ("256 (0x100)"); NULL: not shown by info qtree. Caller frees. */
    char *(*print)(Object *obj, const Property *prop);
    void (*set_default)(Object *obj, const Property *prop);
    void (*release)(Object *obj, const Property *prop); /* NULL: nothing to free */
    /* The name as shown, where it depends on arg ("link<iothread>"); NULL: name. Caller frees. */
    char *(*full_name)(const Property *prop);
    /* A second, read-only string property "legacy-NAME" shows print(); without print() it exists
     * and cannot be read. */
    bool has_legacy;
    /* set() itself replaces the old value and leaves it alone on failure. Otherwise the framework
     * clears the field before set() (if there is a release()), restores the old value when set() or
     * check() fails, and releases it when they succeed. */
    bool in_place;
    /* Of user-creatable objects in key=value form: the key may be repeated, or numbered (NAME.0=,
     * NAME.1=); set() then gets an array of strings. */
    bool is_list;
};

#define PROP_FIELD(state, field) offsetof(state, field)
#define PROP_BASIC(n, t, state, field, kind, dflt)                                                 \
    { .name = (n), .type = &(t), .offset = PROP_FIELD(state, field), .def = (kind),                \
      .def_int = (int64_t)(dflt) }
#define PROP_BOOL(n, state, field, dflt) PROP_BASIC(n, prop_bool, state, field, DEFAULT_BOOL, dflt)
#define PROP_UINT8(n, state, field, dflt)                                                          \
    PROP_BASIC(n, prop_uint8, state, field, DEFAULT_UINT, dflt)
#define PROP_UINT16(n, state, field, dflt)                                                         \
    PROP_BASIC(n, prop_uint16, state, field, DEFAULT_UINT, dflt)
#define PROP_UINT32(n, state, field, dflt)                                                         \
    PROP_BASIC(n, prop_uint32, state, field, DEFAULT_UINT, dflt)
#define PROP_UINT64(n, state, field, dflt)                                                         \
    PROP_BASIC(n, prop_uint64, state, field, DEFAULT_UINT, dflt)
#define PROP_INT32(n, state, field, dflt) PROP_BASIC(n, prop_int32, state, field, DEFAULT_INT, dflt)
#define PROP_INT64(n, state, field, dflt) PROP_BASIC(n, prop_int64, state, field, DEFAULT_INT, dflt)
#define PROP_SIZE(n, state, field, dflt)  PROP_BASIC(n, prop_size, state, field, DEFAULT_UINT, dflt)
/* A size (with suffix) in a uint32_t field. */
#define PROP_SIZE32(n, state, field, dflt)                                                         \
    PROP_BASIC(n, prop_size32, state, field, DEFAULT_UINT, dflt)
/* A block size in a uint32_t field: 0 (chosen later) or a power of two from 512 to 2 MiB. */
#define PROP_BLOCKSIZE(n, state, field)                                                            \
    PROP_BASIC(n, prop_blocksize, state, field, DEFAULT_UINT, 0)
#define PROP_STRING(n, state, field)                                                               \
    { .name = (n), .type = &prop_string, .offset = PROP_FIELD(state, field) }
#define PROP_ENUM(n, state, field, qapi_enum, dflt)                                                \
    { .name = (n), .type = &prop_enum, .offset = PROP_FIELD(state, field), .def = DEFAULT_ENUM,    \
      .def_int = (dflt), .arg = &(qapi_enum) }
/* A bit of a uint64_t field. */
#define PROP_BIT64(n, state, field, bit, dflt)                                                     \
    { .name = (n), .type = &prop_bit64, .offset = PROP_FIELD(state, field), .def = DEFAULT_BOOL,   \
      .def_int = (dflt), .arg = GUINT_TO_POINTER(bit) }
/* Object *field, by id or path; object_use()d while set. `type` is a string. */
#define PROP_LINK(n, state, field, link_type)                                                      \
    { .name = (n), .type = &prop_link, .offset = PROP_FIELD(state, field), .arg = (link_type) }
#define PROP_END { .name = NULL }

extern const PropertyType prop_bool, prop_uint8, prop_uint16, prop_uint32, prop_uint64, prop_int32,
    prop_int64, prop_size, prop_size32, prop_blocksize, prop_string, prop_enum, prop_bit64,
    prop_link;
/* As prop_int64, prop_bool, prop_size, prop_uint32 and prop_string, but with the wording of
 * user-creatable objects and machines ("expects an int64 value" in key=value form, type names
 * "int", "bool", "string"). */
extern const PropertyType prop_object_int, prop_object_bool, prop_object_size, prop_object_uint32,
    prop_object_string;

/* Finds a property of the type or, through an alias, of another object. */
const Property *object_find_property(Object *obj, const char *name, Object **target);
/* Sets one. Before realize of a device: any; afterwards only PROP_RUNTIME ones. Order: lookup,
 * writable, realized, type, check(), changed(). */
bool object_property_set(Object *obj, const char *name, JsonNode *value, QapiForm form,
                         Error **errp);
bool object_property_set_str(Object *obj, const char *name, const char *value, Error **errp);
JsonNode *object_property_get(Object *obj, const char *name, Error **errp);
/* Makes all properties of `target` (those of its types up to and including `upto`) visible on obj,
 * which holds a reference to target from then on. */
void object_alias_properties(Object *obj, Object *target, const char *upto);
/* Walks all: static ones of the type and its parents, aliases, children, links. For each: name,
 * type as shown, and the static Property if there is one. */
typedef void ObjectPropertyFn(Object *obj, const char *name, const char *type, const Property *prop,
                              void *opaque);
void object_for_each_property(Object *obj, ObjectPropertyFn *fn, void *opaque);
/* The same for a type without an instance: static ones only; obj is NULL in the calls. */
void object_class_for_each_property(ObjectClass *klass, ObjectPropertyFn *fn, void *opaque);
/* The description shown to users: the property's, else the type's; NULL if there is none. */
const char *property_description(const Property *prop);
/* The default as JSON; NULL if it has none. */
JsonNode *property_default_json(const Property *prop);
/* Lines "  name=<type>   - description (default: X)", sorted, each ended by a newline, of what
 * users can set on a new object of the type; "" if nothing. Caller frees. */
char *object_class_property_help(ObjectClass *klass);

/* What management is told about a new object of the type: an array of ObjectPropertyInfo (see the
 * schema), with the hidden ones or without. */
GPtrArray *object_class_property_infos(ObjectClass *klass, bool hidden);

/* A hook that device code (row 3) sets so that object_property_set() can tell whether the object is
 * realized; returns an error text to refuse with, or NULL. */
extern bool (*object_realized_check)(Object *obj, const Property *prop, Error **errp);

/* A hook of device code: called when object_new() has run all instance_init functions. */
extern void (*object_created_hook)(Object *obj);

/* ---- user-creatable objects ---- */

/*
 * What -object says goes through two stages, because messages of the first one name the option, and
 * those of the second one do not: the caller pushes a location around user_object_parse() only.
 *
 * user_object_parse() takes the text of -object, JSON or key=value, and checks type, id, names and
 * types of values. If help was asked for it returns NULL without an error and *help is the text
 * (caller frees). With `command_line` an id that an earlier key=value option had is refused
 * ("Duplicate ID 't0' for object").
 * user_object_parse_json() does the same for {"qom-type":..., "id":..., other properties}.
 */
typedef struct UserObject UserObject;
UserObject *user_object_parse(const char *text, bool command_line, char **help, Error **errp);
UserObject *user_object_parse_json(JsonObject *options, QapiForm form, Error **errp);
void user_object_free(UserObject *u);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(UserObject, user_object_free)
/* Creates /objects/ID; errors of ranges and of completing it come from here. Does not take u. */
bool user_object_create(UserObject *u, Error **errp);
/* Both stages in one. */
bool user_object_add(JsonObject *options, QapiForm form, Error **errp);
bool user_object_del(const char *id, Error **errp);
/* All of /objects, at exit: newest first. */
void user_object_cleanup(void);
/* The text of -object help. Caller frees. */
char *user_object_help_list(void);
/* The text of -object TYPE,help. Caller frees. */
char *user_object_help(const char *type, Error **errp);

#endif
