/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Human monitor: the state of virtio devices. */
#include "hmp.h"

#include <inttypes.h>

#include "qapi/keyval.h"
#include "qapi/qapi-virtio-debug.h"

#define COMMAND(id, name_, args_, help_, fn_)                                                      \
    static const HmpCommand id = { name_, args_, help_, fn_ };                                     \
    HMP_REGISTER(id)

static const char *bool_text(bool b)
{
    return b ? "true" : "false";
}

static void info_virtio(HmpOutput *out, const char *args)
{
    g_autoptr(GPtrArray) list = qmp_x_query_virtio(&error_abort);

    g_ptr_array_set_free_func(list, (GDestroyNotify)qapi_free_VirtioInfo);
    if (list->len == 0) {
        hmp_printf(out, "Error: No virtio devices found\n");
    }
    for (guint i = 0; i < list->len; i++) {
        const VirtioInfo *info = list->pdata[i];

        hmp_printf(out, "%s [%s]\n", info->path, info->name);
    }
}
COMMAND(info_virtio_cmd, "info virtio", NULL, "List all available virtio devices", info_virtio)

static void print_list(HmpOutput *out, const GPtrArray *texts)
{
    for (guint i = 0; texts && i < texts->len; i++) {
        hmp_printf(out, "\t%s%s", (const char *)texts->pdata[i], i + 1 < texts->len ? ",\n" : "");
    }
    hmp_printf(out, "\n");
}

static void print_features(HmpOutput *out, const char *title, const VirtioDeviceFeatures *f)
{
    hmp_printf(out, "  %s features:\n", title);
    print_list(out, f->transports);
    if (f->dev_features && f->dev_features->len > 0) {
        print_list(out, f->dev_features);
    }
    if (f->has_unknown_dev_features) {
        hmp_printf(out, "  unknown-features(0x%016" PRIx64 ")\n", f->unknown_dev_features);
    }
}

static void info_virtio_status(HmpOutput *out, const char *args)
{
    g_autofree char *path = hmp_take_word(out, &args, "string");
    q_x_query_virtio_status_args a = { path };
    g_autoptr(VirtioStatus) s = NULL;
    Error *err = NULL;

    if (!path || !hmp_end(out, args)) {
        return;
    }
    s = qmp_x_query_virtio_status(&a, &err);
    if (!s) {
        hmp_error(out, err);
        return;
    }
    hmp_printf(out, "%s:\n", path);
    hmp_printf(out, "  device_name:             %s%s\n", s->name,
               s->vhost_started ? " (vhost)" : " ");
    hmp_printf(out, "  device_id:               %u\n", s->device_id);
    hmp_printf(out, "  vhost_started:           %s\n", bool_text(s->vhost_started));
    /* What clients know as the name of a bus that has none. */
    hmp_printf(out, "  bus_name:                %s\n", *s->bus_name ? s->bus_name : "(null)");
    hmp_printf(out, "  broken:                  %s\n", bool_text(s->broken));
    hmp_printf(out, "  disabled:                %s\n", bool_text(s->disabled));
    hmp_printf(out, "  disable_legacy_check:    %s\n", bool_text(s->disable_legacy_check));
    hmp_printf(out, "  started:                 %s\n", bool_text(s->started));
    hmp_printf(out, "  use_started:             %s\n", bool_text(s->use_started));
    hmp_printf(out, "  start_on_kick:           %s\n", bool_text(s->start_on_kick));
    hmp_printf(out, "  use_guest_notifier_mask: %s\n", bool_text(s->use_guest_notifier_mask));
    hmp_printf(out, "  vm_running:              %s\n", bool_text(s->vm_running));
    hmp_printf(out, "  num_vqs:                 %" PRId64 "\n", s->num_vqs);
    hmp_printf(out, "  queue_sel:               %u\n", s->queue_sel);
    hmp_printf(out, "  isr:                     %u\n", s->isr);
    hmp_printf(out, "  endianness:              %s\n", s->device_endian);
    hmp_printf(out, "  status:\n");
    print_list(out, s->status->statuses);
    if (s->status->has_unknown_statuses) {
        hmp_printf(out, "  unknown-statuses(0x%x)\n", s->status->unknown_statuses);
    }
    print_features(out, "Guest", s->guest_features);
    print_features(out, "Host", s->host_features);
    print_features(out, "Backend", s->backend_features);
}
COMMAND(info_virtio_status_cmd, "info virtio-status", "path",
        "Display status of a given virtio device", info_virtio_status)

/* A path, the number of a queue, and with `index` perhaps that of an entry. Of the numbers clients
 * expect the lower 16 bits to count. Caller frees *path. */
static bool take_queue(HmpOutput *out, const char *args, char **path, uint16_t *queue,
                       bool *has_index, uint16_t *index)
{
    uint32_t number;

    *path = hmp_take_word(out, &args, "string");
    if (!*path || !hmp_take_int32(out, &args, &number)) {
        return false;
    }
    *queue = (uint16_t)number;
    if (index && *args) {
        if (!hmp_take_int32(out, &args, &number)) {
            return false;
        }
        *has_index = true;
        *index = (uint16_t)number;
    }
    return hmp_end(out, args);
}

static void info_virtio_queue_status(HmpOutput *out, const char *args)
{
    g_autofree char *path = NULL;
    g_autoptr(VirtQueueStatus) s = NULL;
    q_x_query_virtio_queue_status_args a = { 0 };
    Error *err = NULL;

    if (!take_queue(out, args, &path, &a.queue, NULL, NULL)) {
        return;
    }
    a.path = path;
    s = qmp_x_query_virtio_queue_status(&a, &err);
    if (!s) {
        hmp_error(out, err);
        return;
    }
    hmp_printf(out, "%s:\n", path);
    hmp_printf(out, "  device_name:          %s\n", s->name);
    hmp_printf(out, "  queue_index:          %u\n", s->queue_index);
    hmp_printf(out, "  inuse:                %u\n", s->inuse);
    hmp_printf(out, "  used_idx:             %u\n", s->used_idx);
    hmp_printf(out, "  signalled_used:       %u\n", s->signalled_used);
    hmp_printf(out, "  signalled_used_valid: %s\n", bool_text(s->signalled_used_valid));
    if (s->has_last_avail_idx) {
        hmp_printf(out, "  last_avail_idx:       %u\n", s->last_avail_idx);
    }
    if (s->has_shadow_avail_idx) {
        hmp_printf(out, "  shadow_avail_idx:     %u\n", s->shadow_avail_idx);
    }
    hmp_printf(out, "  VRing:\n");
    hmp_printf(out, "    num:          %u\n", s->vring_num);
    hmp_printf(out, "    num_default:  %u\n", s->vring_num_default);
    hmp_printf(out, "    align:        %u\n", s->vring_align);
    hmp_printf(out, "    desc:         0x%016" PRIx64 "\n", s->vring_desc);
    hmp_printf(out, "    avail:        0x%016" PRIx64 "\n", s->vring_avail);
    hmp_printf(out, "    used:         0x%016" PRIx64 "\n", s->vring_used);
}
COMMAND(info_virtio_queue_status_cmd, "info virtio-queue-status", "path queue",
        "Display status of a given virtio queue", info_virtio_queue_status)

static void print_descriptor(HmpOutput *out, const VirtioRingDesc *d, bool last)
{
    hmp_printf(out, "        addr 0x%" PRIx64 " len %u", d->addr, d->len);
    for (guint i = 0; i < d->flags->len; i++) {
        hmp_printf(out, "%s%s%s", i ? ", " : " (", (const char *)d->flags->pdata[i],
                   i + 1 == d->flags->len ? ")" : "");
    }
    hmp_printf(out, "%s", last ? "\n" : ",\n");
}

static void info_virtio_queue_element(HmpOutput *out, const char *args)
{
    g_autofree char *path = NULL;
    g_autoptr(VirtioQueueElement) e = NULL;
    q_x_query_virtio_queue_element_args a = { 0 };
    Error *err = NULL;

    if (!take_queue(out, args, &path, &a.queue, &a.has_index, &a.index)) {
        return;
    }
    a.path = path;
    e = qmp_x_query_virtio_queue_element(&a, &err);
    if (!e) {
        hmp_error(out, err);
        return;
    }
    hmp_printf(out, "%s:\n", path);
    hmp_printf(out, "  device_name: %s\n", e->name);
    hmp_printf(out, "  index:   %u\n", e->index);
    hmp_printf(out, "  desc:\n");
    hmp_printf(out, "    descs:\n");
    for (guint i = 0; i < e->descs->len; i++) {
        print_descriptor(out, e->descs->pdata[i], i + 1 == e->descs->len);
    }
    hmp_printf(out, "  avail:\n");
    hmp_printf(out, "    flags: %u\n", e->avail->flags);
    hmp_printf(out, "    idx:   %u\n", e->avail->idx);
    hmp_printf(out, "    ring:  %u\n", e->avail->ring);
    hmp_printf(out, "  used:\n");
    hmp_printf(out, "    flags: %u\n", e->used->flags);
    hmp_printf(out, "    idx:   %u\n", e->used->idx);
}
COMMAND(info_virtio_queue_element_cmd, "info virtio-queue-element", "path queue [index]",
        "Display element of a given virtio queue", info_virtio_queue_element)

static void info_virtio_vhost_queue_status(HmpOutput *out, const char *args)
{
    g_autofree char *path = NULL;
    g_autoptr(VirtVhostQueueStatus) s = NULL;
    q_x_query_virtio_vhost_queue_status_args a = { 0 };
    Error *err = NULL;

    if (!take_queue(out, args, &path, &a.queue, NULL, NULL)) {
        return;
    }
    a.path = path;
    s = qmp_x_query_virtio_vhost_queue_status(&a, &err);
    /* No device's queues are served outside of the process. */
    g_assert(!s);
    hmp_error(out, err);
}
COMMAND(info_virtio_vhost_queue_status_cmd, "info virtio-vhost-queue-status", "path queue",
        "Display status of a given vhost queue", info_virtio_vhost_queue_status)
