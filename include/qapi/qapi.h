/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_QAPI_QAPI_H
#define SPINDLE_QAPI_QAPI_H

#include "qapi/json.h"

/*
 * The schema at run time. scripts/qapi-gen.py turns qapi/NAME.json into "qapi/qapi-NAME.h" (C
 * types, prototypes of command handlers) and tables of QapiType, which the functions below walk.
 * How C looks for a schema is written down in docs/qapi.md.
 *
 * Runs in: any thread, unless said otherwise.
 */
typedef struct QapiType QapiType;

/* Whether scalars arrive as JSON values or as strings of the key=value form. */
typedef enum { QAPI_JSON, QAPI_KEYVAL } QapiForm;

/* Decodes value into *out: zeroed memory of the C type (for a struct, union or alternate: of the
 * struct itself). Errors name the path of the parameter, `name` being that of the outermost one
 * (NULL: members are named without a prefix). On failure *out is released and zeroed again. */
bool qapi_decode(const QapiType *type, JsonNode *value, QapiForm form, const char *name, void *out,
                 Error **errp);
JsonNode *qapi_encode(const QapiType *type, const void *value);
/* Frees what *value owns, not value itself. */
void qapi_release(const QapiType *type, void *value);

/* Enumerations. */
typedef struct QapiEnum {
    const char *name;
    const char *const *values; /* NULL-terminated; index = C value */
} QapiEnum;
/* -1 if there is none of that name. */
int qapi_enum_parse(const QapiEnum *e, const char *value);
const char *qapi_enum_name(const QapiEnum *e, int value);

/* ---- commands ---- */

typedef enum {
    QMP_ALLOW_OOB = 1,       /* may be called with exec-oob, in another thread than the main one */
    QMP_ALLOW_PRECONFIG = 2, /* before the machine exists */
    QMP_ALLOW_NESTED = 4,    /* while a command of another client waits for something */
    QMP_REPLY_EARLY = 8,     /* cannot fail, and the client need not wait for storage */
} QmpFlags;

typedef struct QmpCommand {
    const char *name;
    unsigned flags;
    /* Decodes args (object, may be NULL), runs the handler, encodes the result ({} if the command
     * returns nothing). NULL on error. Caller owns the result. */
    JsonNode *(*call)(JsonNode *args, Error **errp);
    const QapiType *arg_type;
    const QapiType *ret_type;
    const char *const *features; /* NULL-terminated, or NULL */
    bool enabled;
} QmpCommand;

/* Registers the handler of a command of the schema; put in the file that implements it:
 *     QMP_REGISTER(block_resize)
 * with the name's '-' written as '_'. */
#define QMP_REGISTER(c)                                                                            \
    /* A strong reference: a missing handler fails to link, not to run. */                         \
    static void (*const qmp_handler_##c)(void) __attribute__((used)) = (void (*)(void))qmp_##c;    \
    static void __attribute__((constructor)) qmp_register_##c(void)                                \
    {                                                                                              \
        qmp_register(&qmp_command_##c);                                                            \
    }
void qmp_register(const QmpCommand *cmd);

const QmpCommand *qmp_find_command(const char *name);
/* All registered ones, by name. Caller frees the array, not the elements. */
GPtrArray *qmp_all_commands(void);
/* The reply to query-qmp-schema, restricted to registered commands. Borrowed. */
JsonNode *qapi_schema(void);

/* ---- events ---- */

/* Sends an event of the schema to all monitors. `data` (an object) is taken over, may be NULL.
 * The generated qapi_event_send_NAME() functions end here. */
void qapi_event_emit(const char *name, JsonNode *data);
/* Set by the monitor. Called in any thread. */
void qapi_event_set_sink(void (*sink)(const char *name, JsonNode *data));

#endif
