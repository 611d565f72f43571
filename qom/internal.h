/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef QOM_INTERNAL_H
#define QOM_INTERNAL_H

/* What the files of qom/ share. */

#include "qom/object.h"

typedef enum {
    DYNAMIC_CHILD, /* target is in the tree below this object */
    DYNAMIC_ALIAS, /* stands for prop of target */
} DynamicKind;

typedef struct Dynamic {
    DynamicKind kind;
    char *name;
    Object *target;       /* one reference */
    const Property *prop; /* ALIAS */
} Dynamic;

Dynamic *object_dynamic(Object *obj, const char *name);
void dynamic_free(Dynamic *d);
/* A static property of the type or its parents. */
const Property *class_property(const ObjectClass *klass, const char *name);
/* Sets the defaults of all properties, parents first; releases the values of all. */
void object_init_properties(Object *obj);
void object_release_properties(Object *obj);
/* "link<iothread>", "uint16". Caller frees. */
char *property_type_text(const Property *prop);
static inline void *property_field(Object *obj, const Property *prop)
{
    return (char *)obj + prop->offset;
}

size_t object_class_instance_size(const ObjectClass *klass);
/* All registered types, sorted by name, for qom-list-types. */
void type_for_each(void (*fn)(ObjectClass *klass, void *opaque), void *opaque);

/* Value of the property "type". */
extern const PropertyType prop_type_name;

#endif
