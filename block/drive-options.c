/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The image part of -drive: a file name with or without a protocol, a format that may have to be
 * guessed, and options of nodes in dotted form, turned into what -blockdev would be given.
 *
 * All options are kept in a flat object of strings ("file.driver" = "file") until the end.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "backend.h"
#include "drive-options.h"

#define PROBE_BYTES 2048

static const char *const generic_options[] = {
    "driver",    "node-name",      "discard",     "cache.direct",  "cache.no-flush", "active",
    "read-only", "auto-read-only", "force-share", "detect-zeroes", NULL,
};

static const char *flat_get(JsonObject *flat, const char *key)
{
    return json_object_has_member(flat, key) ? json_object_get_string_member(flat, key) : NULL;
}

static void flat_default(JsonObject *flat, const char *key, const char *value)
{
    if (value && !json_object_has_member(flat, key)) {
        json_object_set_string_member(flat, key, value);
    }
}

static bool flat_has_prefix(JsonObject *flat, const char *prefix)
{
    g_autoptr(GList) members = json_object_get_members(flat);

    for (GList *l = members; l; l = l->next) {
        if (g_str_has_prefix(l->data, prefix)) {
            return true;
        }
    }
    return false;
}

/* Adds what a "json:{...}" file name says, as strings; what is given outside wins. */
static bool merge_json(JsonObject *flat, const char *text, Error **errp)
{
    Error *err = NULL;
    g_autoptr(JsonNode) json = json_parse(text, &err);
    g_autoptr(JsonNode) nested = NULL;
    g_autoptr(GList) members = NULL;

    if (!json) {
        error_prepend(&err, "Could not parse the JSON options: ");
        error_propagate(errp, err);
        return false;
    }
    if (!JSON_NODE_HOLDS_OBJECT(json)) {
        error_set(errp, "Invalid JSON object given");
        return false;
    }
    nested = keyval_flatten(json_node_get_object(json));
    members = json_object_get_members(json_node_get_object(nested));
    for (GList *l = members; l; l = l->next) {
        JsonNode *value = json_object_get_member(json_node_get_object(nested), l->data);
        g_autofree char *s = NULL;

        if (JSON_NODE_HOLDS_VALUE(value)) {
            GType t = json_node_get_value_type(value);

            if (t == G_TYPE_STRING) {
                s = json_node_dup_string(value);
            } else if (t == G_TYPE_BOOLEAN) {
                s = g_strdup(json_node_get_boolean(value) ? "on" : "off");
            } else {
                s = json_write(value, false);
            }
        } else {
            s = json_write(value, false);
        }
        flat_default(flat, l->data, s);
    }
    return true;
}

/* The driver that a file name means. */
static const BlockDriver *find_protocol(const char *filename, bool allow_prefix, Error **errp)
{
    const BlockDriver *best = NULL;
    const char *colon = strchr(filename, ':'), *slash = strchr(filename, '/');
    int best_score = 0;

    for (GSList *l = block_drivers(); l; l = l->next) {
        const BlockDriver *drv = l->data;
        int score = drv->probe_device ? drv->probe_device(filename) : 0;

        if (score > best_score) {
            best = drv;
            best_score = score;
        }
    }
    if (best_score < 100 && allow_prefix && colon && (!slash || colon < slash)) {
        g_autofree char *protocol = g_strndup(filename, (gsize)(colon - filename));

        for (GSList *l = block_drivers(); l; l = l->next) {
            const BlockDriver *drv = l->data;

            if (drv->protocol && strcmp(drv->protocol, protocol) == 0) {
                return drv;
            }
        }
        error_set(errp, "Unknown protocol '%s'", protocol);
        return NULL;
    }
    g_assert(best);
    return best;
}

static const BlockDriver *find_driver(const char *name, Error **errp)
{
    const BlockDriver *drv = block_driver_find(name);

    if (!drv) {
        error_set(errp, "Unknown driver '%s'", name);
    }
    return drv;
}

/* Writes the options of a protocol node at `prefix` ("" or "file.") that `filename` stands for. */
static bool set_filename(JsonObject *flat, const char *prefix, const BlockDriver *drv,
                         const char *filename, Error **errp)
{
    g_autoptr(JsonObject) parsed = json_object_new();
    g_autoptr(GList) members = NULL;
    g_autofree char *key = g_strconcat(prefix, "filename", NULL);

    if (flat_get(flat, key)) {
        error_set(errp, "Can't specify 'file' and 'filename' options at the same time");
        return false;
    }
    if (!drv->parse_filename) {
        json_object_set_string_member(parsed, "filename", filename);
    } else if (!drv->parse_filename(filename, parsed, errp)) {
        return false;
    }
    members = json_object_get_members(parsed);
    for (GList *l = members; l; l = l->next) {
        g_autofree char *name = g_strconcat(prefix, l->data, NULL);

        flat_default(flat, name, json_object_get_string_member(parsed, l->data));
    }
    return true;
}

/* Finds the protocol node's driver and options at `prefix`. */
static const BlockDriver *resolve_protocol(JsonObject *flat, const char *prefix,
                                           const char *filename, Error **errp)
{
    g_autofree char *driver_key = g_strconcat(prefix, "driver", NULL);
    g_autofree char *filename_key = g_strconcat(prefix, "filename", NULL);
    const char *name = flat_get(flat, driver_key);
    const BlockDriver *drv;

    if (name) {
        drv = find_driver(name, errp);
    } else if (filename) {
        drv = find_protocol(filename, true, errp);
    } else if (flat_get(flat, filename_key)) {
        drv = find_protocol(flat_get(flat, filename_key), false, errp);
    } else {
        error_set(errp, "A block device must be specified for \"file\"");
        return NULL;
    }
    if (!drv || (filename && !set_filename(flat, prefix, drv, filename, errp))) {
        return NULL;
    }
    json_object_set_string_member(flat, driver_key, drv->name);
    return drv;
}

/* Checks the names of the options at `prefix`, gives sizes their plain form, and goes down. */
static bool check_options(JsonObject *flat, const char *prefix, const BlockDriver *drv,
                          Error **errp)
{
    g_autoptr(GList) members = json_object_get_members(flat);
    size_t skip = strlen(prefix);
    bool has_file = false;

    for (GList *l = members; l; l = l->next) {
        const char *key = l->data, *name = key + skip;
        uint64_t size;

        if (!g_str_has_prefix(key, prefix)) {
            continue;
        }
        if (drv->is_format && (strcmp(name, "file") == 0 || g_str_has_prefix(name, "file."))) {
            has_file |= name[4] == '.';
            continue;
        }
        if (!g_strv_contains(generic_options, name) &&
            !(drv->options && g_strv_contains(drv->options, name))) {
            if (drv->is_format) {
                error_set(errp, "Block format '%s' does not support the option '%s'", drv->name,
                          name);
            } else {
                error_set(errp, "Block protocol '%s' doesn't support the option '%s'", drv->name,
                          name);
            }
            return false;
        }
        if (drv->size_options && g_strv_contains(drv->size_options, name)) {
            g_autofree char *plain = NULL;

            if (!parse_size(flat_get(flat, key), &size) || size > INT64_MAX) {
                Error *err = NULL;

                error_set(&err, "Parameter '%s' expects a non-negative number below 2^64", name);
                error_append_hint(&err, "Optional suffix k, M, G, T, P or E means kilo-, mega-, "
                                        "giga-, tera-, peta-\nand exabytes, respectively.\n");
                error_propagate(errp, err);
                return false;
            }
            plain = g_strdup_printf("%" PRIu64, size);
            json_object_set_string_member(flat, key, plain);
        }
    }
    if (drv->options && g_strv_contains(drv->options, "throttle-group")) {
        g_autofree char *key = g_strconcat(prefix, "throttle-group", NULL);

        if (!flat_get(flat, key)) {
            error_set(errp, "Please specify a throttle group");
            return false;
        }
    }
    if (!drv->is_format && drv->options && g_strv_contains(drv->options, "filename")) {
        g_autofree char *key = g_strconcat(prefix, "filename", NULL);

        if (!flat_get(flat, key)) {
            error_set(errp, "The '%s' block driver requires a file name", drv->name);
            return false;
        }
    }
    if (has_file) {
        g_autofree char *below = g_strconcat(prefix, "file.", NULL);
        const BlockDriver *child = resolve_protocol(flat, below, NULL, errp);

        return child && check_options(flat, below, child, errp);
    }
    return true;
}

/* `aio` is meant for the node that talks to the host. */
static void set_aio(JsonObject *flat, const char *aio)
{
    GString *prefix = g_string_new(NULL);

    while (aio) {
        g_autofree char *driver_key = g_strconcat(prefix->str, "driver", NULL);
        g_autofree char *aio_key = g_strconcat(prefix->str, "aio", NULL);
        const char *name = flat_get(flat, driver_key);
        const BlockDriver *drv = name ? block_driver_find(name) : NULL;

        if (!drv) {
            break; /* a reference to a node that exists already */
        }
        if (!drv->is_format) {
            if (drv->options && g_strv_contains(drv->options, "aio")) {
                flat_default(flat, aio_key, aio);
            }
            break;
        }
        g_string_append(prefix, "file.");
    }
    g_string_free(prefix, TRUE);
}

static BlockdevOptions *decode(JsonObject *flat, Error **errp)
{
    g_autoptr(JsonNode) nested = keyval_nest(flat, errp);

    return nested ? qapi_decode_BlockdevOptions(nested, QAPI_KEYVAL, errp) : NULL;
}

static void set_top_options(JsonObject *flat, const DriveImage *img)
{
    flat_default(flat, "read-only", img->read_only ? "on" : "off");
    flat_default(flat, "auto-read-only", img->auto_read_only ? "on" : "off");
    flat_default(flat, "cache.direct", img->cache_direct ? "on" : "off");
    flat_default(flat, "cache.no-flush", img->no_flush ? "on" : "off");
    flat_default(flat, "discard", img->discard_unmap ? "unmap" : "ignore");
    flat_default(flat, "detect-zeroes", img->detect_zeroes);
}

/* The members below "file.", without the prefix. */
static JsonObject *flat_child(JsonObject *flat)
{
    JsonObject *child = json_object_new();
    g_autoptr(GList) members = json_object_get_members(flat);

    for (GList *l = members; l; l = l->next) {
        const char *key = l->data;

        if (g_str_has_prefix(key, "file.")) {
            json_object_set_string_member(child, key + 5, flat_get(flat, key));
        }
    }
    return child;
}

static void remove_child(JsonObject *flat)
{
    g_autoptr(GList) members = json_object_get_members(flat);

    for (GList *l = members; l; l = l->next) {
        if (g_str_has_prefix(l->data, "file.")) {
            json_object_remove_member(flat, l->data);
        }
    }
}

/* Opens the "file" node first and looks into it to find out the format. */
static BlockNode *open_probed(JsonObject *flat, Error **errp)
{
    g_autoptr(JsonObject) below = flat_child(flat);
    g_autoptr(BlockdevOptions) child_opts = NULL, opts = NULL;
    g_autofree uint8_t *buf = g_malloc0(PROBE_BYTES);
    BlockInherit inherit = { .probed = true, .drive = true }, child_inherit = { .is_child = true };
    BlockNode *child, *node = NULL;
    const char *format;
    int64_t len;
    int ret;

    child_opts = decode(below, errp);
    if (!child_opts) {
        return NULL;
    }
    parse_bool("read-only", flat_get(flat, "read-only"), &child_inherit.read_only, NULL);
    parse_bool("", flat_get(flat, "auto-read-only"), &child_inherit.auto_read_only, NULL);
    parse_bool("", flat_get(flat, "cache.direct"), &child_inherit.cache_direct, NULL);
    parse_bool("", flat_get(flat, "cache.no-flush"), &child_inherit.no_flush, NULL);
    if (flat_get(flat, "force-share")) {
        parse_bool("", flat_get(flat, "force-share"), &child_inherit.force_share, NULL);
    }
    child = block_node_open(child_opts, &child_inherit, errp);
    if (!child) {
        return NULL;
    }
    len = block_node_length(child);
    len = MIN(len, PROBE_BYTES);
    ret = len ? block_node_request_sync(child, BLK_OP_READ, 0, buf, len) : 0;
    if (ret < 0) {
        error_set_errno(errp, -ret, "Could not read image for determining its format");
        goto out;
    }
    format = block_probe_format(buf, (size_t)len);
    if (format) {
        g_autofree char *filename = block_node_filename(child);

        error_set(errp, "Image '%s' is in %s format, which is not supported; specify format=raw "
                        "to use it as it is", filename, format);
        goto out;
    }
    remove_child(flat);
    json_object_set_string_member(flat, "driver", "raw");
    json_object_set_string_member(flat, "file", child->name);
    if (!check_options(flat, "", block_driver_find("raw"), errp)) {
        goto out;
    }
    opts = decode(flat, errp);
    node = opts ? block_node_open(opts, &inherit, errp) : NULL;
    if (node && !node->read_only) {
        g_autofree char *filename = block_node_filename(node);

        /* To stderr also when a human monitor waits: its clients take any text for a failure. */
        fprintf(stderr,
                "WARNING: Image format was not specified for '%s' and probing guessed raw.\n"
                "         Automatically detecting the format is dangerous for raw images, write "
                "operations on block 0 will be restricted.\n"
                "         Specify the 'raw' format explicitly to remove the restrictions.\n",
                filename);
    }
out:
    block_node_unref(child);
    return node;
}

static BlockNode *open_flat(DriveImage *img, JsonObject *flat, Error **errp)
{
    const BlockInherit inherit = { .drive = true };
    const char *filename = img->filename;
    g_autoptr(BlockdevOptions) opts = NULL;
    const BlockDriver *drv = NULL;
    const char *name;

    if (img->format) {
        json_object_set_string_member(flat, "driver", img->format);
    }
    if (filename && g_str_has_prefix(filename, "json:")) {
        if (!merge_json(flat, filename + 5, errp)) {
            return NULL;
        }
        filename = NULL;
    }
    name = flat_get(flat, "driver");
    if (name) {
        drv = find_driver(name, errp);
        if (!drv) {
            return NULL;
        }
    }
    set_top_options(flat, img);
    if (drv && !drv->is_format) {
        if (filename && !set_filename(flat, "", drv, filename, errp)) {
            return NULL;
        }
    } else {
        bool has_child = flat_has_prefix(flat, "file.");

        if (!flat_get(flat, "file") || has_child || filename) {
            const BlockDriver *child;

            if (!drv && !filename && !has_child) {
                error_set(errp, "Must specify either driver or file");
                return NULL;
            }
            child = resolve_protocol(flat, "file.", filename, errp);
            if (!child || (!drv && !check_options(flat, "file.", child, errp))) {
                return NULL;
            }
        }
    }
    if (!drv) {
        json_object_set_string_member(flat, "driver", "raw");
        set_aio(flat, img->aio);
        json_object_remove_member(flat, "driver");
        return open_probed(flat, errp);
    }
    if (!check_options(flat, "", drv, errp)) {
        return NULL;
    }
    set_aio(flat, img->aio);
    opts = decode(flat, errp);
    return opts ? block_node_open(opts, &inherit, errp) : NULL;
}

BlockNode *drive_open_image(DriveImage *img, Error **errp)
{
    g_autoptr(JsonObject) flat = json_object_new();

    for (guint i = 0; i < img->options->list->len; i++) {
        Opt *o = g_ptr_array_index(img->options->list, i);

        json_object_set_string_member(flat, o->key, o->value);
    }
    return open_flat(img, flat, errp);
}
