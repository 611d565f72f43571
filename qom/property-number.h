/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef QOM_PROPERTY_NUMBER_H
#define QOM_PROPERTY_NUMBER_H

/* Reading numbers from both forms of values. */

#include "qom/object.h"

/* The text of a string node; NULL for any other. */
const char *node_text(JsonNode *value);

#endif
