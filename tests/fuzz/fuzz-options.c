/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two readers of key=value text, flat and nested. */
#include "qapi/keyval.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    bool help = false;
    Error *err = NULL;
    Opts *opts = opts_parse(text, size % 2 ? "driver" : NULL, &help, &err);

    if (opts) {
        JsonNode *flat = opts_to_json(opts);
        json_node_unref(flat);
        opts_free(opts);
    } else {
        error_free(err);
    }

    err = NULL;
    JsonNode *nested = keyval_parse(text, size % 2 ? "driver" : NULL, &help, &err);
    if (nested) {
        JsonNode *flat = keyval_flatten(json_node_get_object(nested));
        json_node_unref(flat);
        json_node_unref(nested);
    } else {
        error_free(err);
    }

    uint64_t u;
    int64_t i;
    parse_size(text, &u);
    parse_uint64(text, &u);
    parse_int64(text, &i);
    return 0;
}
