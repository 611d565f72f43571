/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The virtio block device: features, configuration, its life, and its ties to the block layer. */

#include "virtio-blk.h"

#include <linux/virtio_blk.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ids.h>

#define FEATURE(bit) (UINT64_C(1) << (bit))

/* How long qom-set of a mapping waits for the threads that lose queues. */
#define REMAP_WAIT_NS (400 * INT64_C(1000000))

/* ---- features, configuration, status ---- */

static uint64_t virtio_blk_get_features(VirtIODevice *vdev, uint64_t features)
{
    VirtIOBlk *s = VIRTIO_BLK(vdev);
    const VirtIOBlkConf *c = &s->conf;

    features |= FEATURE(VIRTIO_BLK_F_SEG_MAX) | FEATURE(VIRTIO_BLK_F_GEOMETRY) |
                FEATURE(VIRTIO_BLK_F_TOPOLOGY) | FEATURE(VIRTIO_BLK_F_BLK_SIZE);
    if (!(features & FEATURE(VIRTIO_F_VERSION_1))) {
        /* A device that is legacy only says that it knows SCSI commands, all of which fail, and
         * then layout is not free. */
        features |= FEATURE(VIRTIO_BLK_F_SCSI);
        features &= ~FEATURE(VIRTIO_F_ANY_LAYOUT);
    }
    if (blk_write_cache(s->blk) || (c->enable_wce_if_config_wce && c->config_wce)) {
        features |= FEATURE(VIRTIO_BLK_F_FLUSH);
    }
    if (c->config_wce) {
        features |= FEATURE(VIRTIO_BLK_F_CONFIG_WCE);
    }
    if (blk_is_read_only(s->blk)) {
        features |= FEATURE(VIRTIO_BLK_F_RO);
    }
    if (c->num_queues > 1) {
        features |= FEATURE(VIRTIO_BLK_F_MQ);
    }
    if (c->discard) {
        features |= FEATURE(VIRTIO_BLK_F_DISCARD);
    }
    if (c->write_zeroes) {
        features |= FEATURE(VIRTIO_BLK_F_WRITE_ZEROES);
    }
    return features;
}

static void virtio_blk_get_config(VirtIODevice *vdev, uint8_t *config)
{
    virtio_blk_fill_config(VIRTIO_BLK(vdev), config);
}

static void virtio_blk_set_config(VirtIODevice *vdev, const uint8_t *config)
{
    /* The cache mode is all that a driver may change. */
    blk_set_write_cache(VIRTIO_BLK(vdev)->blk, config[offsetof(struct virtio_blk_config, wce)]);
}

static void virtio_blk_status_changed(VirtIODevice *vdev, uint8_t old_status)
{
    VirtIOBlk *s = VIRTIO_BLK(vdev);
    uint8_t now = __atomic_load_n(&vdev->status, __ATOMIC_RELAXED);

    if ((now & ~old_status & VIRTIO_CONFIG_S_DRIVER_OK) &&
        !virtio_has_feature(vdev, VIRTIO_BLK_F_CONFIG_WCE)) {
        /* A driver that never flushes must not lose what has been acknowledged (§5.2.5.2). */
        blk_set_write_cache(s->blk, virtio_has_feature(vdev, VIRTIO_BLK_F_FLUSH));
    }
}

/* ---- queues ---- */

static AioContext *virtio_blk_queue_context(VirtIODevice *vdev, VirtQueue *vq)
{
    return iothread_vq_map_context(VIRTIO_BLK(vdev)->map, virtqueue_index(vq));
}

static void virtio_blk_queue_reset(VirtIODevice *vdev, VirtQueue *vq)
{
    virtio_blk_drop_retries(&VIRTIO_BLK(vdev)->queues[virtqueue_index(vq)]);
}

static void virtio_blk_reset(VirtIODevice *vdev)
{
    VirtIOBlk *s = VIRTIO_BLK(vdev);

    for (unsigned i = 0; i < vdev->num_queues; i++) {
        virtio_blk_drop_retries(&s->queues[i]);
    }
    blk_set_write_cache(s->blk, s->original_wce);
}

/* ---- the block layer's calls. Runs in: main thread ---- */

static void virtio_blk_resized(void *opaque)
{
    virtio_config_changed(opaque);
}

static void virtio_blk_drained_begin(void *opaque)
{
    virtio_pause(opaque);
}

static void virtio_blk_drained_end(void *opaque)
{
    virtio_resume(opaque);
}

static void virtio_blk_hurry(VirtIODevice *vdev, bool on)
{
    if (on) {
        blk_hurry_begin(VIRTIO_BLK(vdev)->blk);
    } else {
        blk_hurry_end(VIRTIO_BLK(vdev)->blk);
    }
}

static char *virtio_blk_dev_path(void *opaque)
{
    return object_path(opaque);
}

static const BlkDevOps virtio_blk_dev_ops = {
    .resized = virtio_blk_resized,
    .drained_begin = virtio_blk_drained_begin,
    .drained_end = virtio_blk_drained_end,
    .dev_path = virtio_blk_dev_path,
};

/* ---- life ---- */

static bool take_drive(VirtIOBlk *s, Error **errp)
{
    const VirtIOBlkConf *c = &s->conf;
    unsigned perm = BLK_PERM_READ | (blk_is_read_only(s->blk) ? 0 : BLK_PERM_WRITE);
    unsigned shared = BLK_PERM_READ | BLK_PERM_WRITE_UNCHANGED | BLK_PERM_RESIZE |
                      (c->share_rw ? BLK_PERM_WRITE : 0);

    blk_attach_dev(s->blk, &virtio_blk_dev_ops, s);
    if (!blk_set_perm(s->blk, perm, shared, errp)) {
        blk_detach_dev(s->blk);
        return false;
    }
    s->original_wce = blk_write_cache(s->blk);
    if (c->write_cache != ON_OFF_AUTO_AUTO) {
        s->original_wce = c->write_cache == ON_OFF_AUTO_ON;
        blk_set_write_cache(s->blk, s->original_wce);
    }
    return true;
}

static IOThreadVqMap *choose_threads(VirtIOBlk *s, Error **errp)
{
    VirtIODevice *vdev = VIRTIO_DEVICE(s);
    const VirtIOBlkConf *c = &s->conf;
    bool mapped = c->vq_mapping && c->vq_mapping->len;

    if (c->iothread && mapped) {
        error_set(errp, "iothread and iothread-vq-mapping properties cannot be set at the same "
                        "time");
        return NULL;
    }
    if ((c->iothread || mapped) && !vdev->transport->has_notifiers(vdev->transport_opaque)) {
        error_set(errp, "ioeventfd is required for iothread");
        return NULL;
    }
    return iothread_vq_map_new(c->vq_mapping, (IOThread *)c->iothread, c->num_queues, errp);
}

static void free_map(void *opaque)
{
    iothread_vq_map_free(opaque);
}

/* The mapping of a disk that is in use changes. The old table, and with it the IOThreads that it
 * holds, goes when none of them has anything to do with the disk any more. */
static bool virtio_blk_remap(Object *obj, const Property *prop, Error **errp)
{
    VirtIOBlk *s = VIRTIO_BLK(obj);
    IOThreadVqMap *map, *old;
    Object *single;

    if (!DEVICE(obj)->realized) {
        return true;
    }
    /* On a busy host the queues may still be on the way that the last change sent them. */
    virtio_wait_arrived(VIRTIO_DEVICE(s), REMAP_WAIT_NS);
    if (!DEVICE(obj)->realized) {
        error_set(errp, "cannot change %s: the device has been unplugged meanwhile", prop->name);
        return false;
    }
    /* Only now, as a client may have asked for another change meanwhile. */
    old = s->map;
    single = s->conf.iothread;
    /* One thread was a mapping by another name, and ends with this one. */
    if (s->conf.vq_mapping && s->conf.vq_mapping->len) {
        s->conf.iothread = NULL;
    }
    map = choose_threads(s, errp);
    if (!map) {
        s->conf.iothread = single;
        return false;
    }
    s->map = map;
    if (!virtio_move_queues(VIRTIO_DEVICE(s), free_map, old, errp)) {
        g_autofree char *path = object_path(obj->parent);

        s->conf.iothread = single;
        s->map = old;
        iothread_vq_map_free(map);
        error_prepend(errp, "cannot change %s of %s: ", prop->name, path);
        return false;
    }
    if (single && !s->conf.iothread) {
        object_unuse(single);
    }
    /* So that a client can delete the threads at once. A disk that does not answer holds up the
     * monitor no longer than this: the threads that wait for it remain in use until it does. */
    virtio_wait_moved(VIRTIO_DEVICE(s), REMAP_WAIT_NS);
    return true;
}

static bool virtio_blk_realize(VirtIODevice *vdev, Error **errp)
{
    VirtIOBlk *s = VIRTIO_BLK(vdev);
    VirtIOBlkConf *c = &s->conf;

    if (c->num_queues == VIRTIO_BLK_QUEUES_AUTO) {
        c->num_queues = 1;
    }
    if (!virtio_blk_check_queues(s, errp) || !take_drive(s, errp)) {
        return false;
    }
    if (!virtio_blk_check_conf(s, errp) || !(s->map = choose_threads(s, errp))) {
        blk_detach_dev(s->blk);
        return false;
    }
    blk_set_lanes(s->blk, c->num_queues);
    blk_set_on_error(s->blk, (BlockOnError)c->rerror, (BlockOnError)c->werror);
    blk_account_config(s->blk, c->account_invalid != ON_OFF_AUTO_OFF,
                       c->account_failed != ON_OFF_AUTO_OFF);
    s->queues = aligned_alloc(_Alignof(VirtIOBlkQueue), c->num_queues * sizeof(*s->queues));
    g_assert(s->queues);
    memset(s->queues, 0, c->num_queues * sizeof(*s->queues));
    virtio_init(vdev, "virtio-blk", VIRTIO_ID_BLOCK, virtio_blk_config_len(s));
    for (unsigned i = 0; i < c->num_queues; i++) {
        VirtIOBlkQueue *q = &s->queues[i];

        q->s = s;
        q->vq = virtio_add_queue(vdev, c->queue_size);
        q->retry_tail = &q->retry;
    }
    return true;
}

static void virtio_blk_unrealize(VirtIODevice *vdev)
{
    VirtIOBlk *s = VIRTIO_BLK(vdev);
    unsigned n = vdev->num_queues;

    virtio_cleanup(vdev);
    for (unsigned i = 0; i < n; i++) {
        virtio_blk_queue_free(&s->queues[i]);
    }
    g_clear_pointer(&s->queues, free);
    g_clear_pointer(&s->map, iothread_vq_map_free);
    blk_detach_dev(s->blk);
}

static BlockBackend *virtio_blk_backend(VirtIODevice *vdev)
{
    return VIRTIO_BLK(vdev)->blk;
}

static void virtio_blk_class_init(ObjectClass *klass, const void *data)
{
    VirtIODeviceClass *vc = (VirtIODeviceClass *)klass;
    DeviceClass *dc = (DeviceClass *)klass;

    dc->category = "storage";
    dc->user_creatable = true;
    dc->hotpluggable = true;
    vc->realize = virtio_blk_realize;
    vc->unrealize = virtio_blk_unrealize;
    vc->get_features = virtio_blk_get_features;
    vc->get_config = virtio_blk_get_config;
    vc->set_config = virtio_blk_set_config;
    vc->status_changed = virtio_blk_status_changed;
    vc->reset = virtio_blk_reset;
    vc->queue_context = virtio_blk_queue_context;
    vc->handle_queue = virtio_blk_handle_queue;
    vc->queue_started = virtio_blk_restart_queue;
    vc->hurry = virtio_blk_hurry;
    vc->queue_reset = virtio_blk_queue_reset;
    vc->backend = virtio_blk_backend;
    vc->feature_names = virtio_blk_feature_names;
}

static const Property virtio_blk_props[] = {
    PROP_DRIVE("drive", VirtIOBlk, blk),
    PROP_ENUM("backend_defaults", VirtIOBlk, conf.backend_defaults, qapi_enum_OnOffAuto,
              ON_OFF_AUTO_AUTO),
    PROP_BLOCKSIZE("logical_block_size", VirtIOBlk, conf.logical_block_size),
    PROP_BLOCKSIZE("physical_block_size", VirtIOBlk, conf.physical_block_size),
    PROP_SIZE32("min_io_size", VirtIOBlk, conf.min_io_size, 0),
    PROP_SIZE32("opt_io_size", VirtIOBlk, conf.opt_io_size, 0),
    PROP_SIZE32("discard_granularity", VirtIOBlk, conf.discard_granularity, UINT32_MAX),
    PROP_ENUM("write-cache", VirtIOBlk, conf.write_cache, qapi_enum_OnOffAuto, ON_OFF_AUTO_AUTO),
    PROP_BOOL("share-rw", VirtIOBlk, conf.share_rw, false),
    PROP_ENUM("account-invalid", VirtIOBlk, conf.account_invalid, qapi_enum_OnOffAuto,
              ON_OFF_AUTO_AUTO),
    PROP_ENUM("account-failed", VirtIOBlk, conf.account_failed, qapi_enum_OnOffAuto,
              ON_OFF_AUTO_AUTO),
    PROP_ENUM("rerror", VirtIOBlk, conf.rerror, qapi_enum_BlockdevOnError, BLOCKDEV_ON_ERROR_AUTO),
    PROP_ENUM("werror", VirtIOBlk, conf.werror, qapi_enum_BlockdevOnError, BLOCKDEV_ON_ERROR_AUTO),
    PROP_UINT32("cyls", VirtIOBlk, conf.cyls, 0),
    PROP_UINT32("heads", VirtIOBlk, conf.heads, 0),
    PROP_UINT32("secs", VirtIOBlk, conf.secs, 0),
    PROP_UINT32("lcyls", VirtIOBlk, conf.lcyls, 0),
    PROP_UINT32("lheads", VirtIOBlk, conf.lheads, 0),
    PROP_UINT32("lsecs", VirtIOBlk, conf.lsecs, 0),
    PROP_STRING("serial", VirtIOBlk, conf.serial),
    PROP_BOOL("config-wce", VirtIOBlk, conf.config_wce, true),
    PROP_BOOL("request-merging", VirtIOBlk, conf.request_merging, true),
    PROP_UINT16("num-queues", VirtIOBlk, conf.num_queues, VIRTIO_BLK_QUEUES_AUTO),
    PROP_UINT16("queue-size", VirtIOBlk, conf.queue_size, 256),
    PROP_BOOL("seg-max-adjust", VirtIOBlk, conf.seg_max_adjust, true),
    PROP_LINK("iothread", VirtIOBlk, conf.iothread, "iothread"),
    PROP_IOTHREAD_VQ_MAPPING("iothread-vq-mapping", VirtIOBlk, conf.vq_mapping, virtio_blk_remap),
    PROP_BOOL("discard", VirtIOBlk, conf.discard, true),
    PROP_BOOL("report-discard-granularity", VirtIOBlk, conf.report_discard_granularity, true),
    PROP_BOOL("write-zeroes", VirtIOBlk, conf.write_zeroes, true),
    PROP_UINT32("max-discard-sectors", VirtIOBlk, conf.max_discard_sectors,
                BLK_MAX_REQUEST_BYTES >> BLK_SECTOR_BITS),
    PROP_UINT32("max-write-zeroes-sectors", VirtIOBlk, conf.max_write_zeroes_sectors,
                BLK_MAX_REQUEST_BYTES >> BLK_SECTOR_BITS),
    PROP_BOOL("x-enable-wce-if-config-wce", VirtIOBlk, conf.enable_wce_if_config_wce, true),
    PROP_BOOTINDEX("bootindex", VirtIOBlk, conf.bootindex),
    PROP_END,
};

static const TypeInfo virtio_blk_info = {
    .name = TYPE_VIRTIO_BLK,
    .parent = TYPE_VIRTIO_DEVICE,
    .instance_size = sizeof(VirtIOBlk),
    .props = virtio_blk_props,
    .class_init = virtio_blk_class_init,
};
TYPE_REGISTER(virtio_blk_info)
