/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What x-query-virtio-status calls the feature bits of virtio-blk. */

#include "virtio-blk.h"

#include <linux/virtio_blk.h>

/* Offered to legacy drivers, which must not take it. Clients know it by this name. */
#define LEGACY_BAD_BIT 30

const VirtIOBitName virtio_blk_feature_names[] = {
    {LEGACY_BAD_BIT,
     "VHOST_USER_F_PROTOCOL_FEATURES: Vhost-user protocol features negotiation supported"},
    {VIRTIO_BLK_F_CONFIG_WCE,
     "VIRTIO_BLK_F_CONFIG_WCE: Cache writeback and writethrough modes supported"},
    {VIRTIO_BLK_F_FLUSH, "VIRTIO_BLK_F_FLUSH: Flush command supported"},
    {VIRTIO_BLK_F_SCSI, "VIRTIO_BLK_F_SCSI: SCSI packet commands supported"},
    {VIRTIO_BLK_F_WRITE_ZEROES, "VIRTIO_BLK_F_WRITE_ZEROES: Write zeroes command supported"},
    {VIRTIO_BLK_F_DISCARD, "VIRTIO_BLK_F_DISCARD: Discard command supported"},
    {VIRTIO_BLK_F_MQ, "VIRTIO_BLK_F_MQ: Multiqueue supported"},
    {VIRTIO_BLK_F_TOPOLOGY, "VIRTIO_BLK_F_TOPOLOGY: Topology information available"},
    {VIRTIO_BLK_F_BLK_SIZE, "VIRTIO_BLK_F_BLK_SIZE: Block size of disk available"},
    {VIRTIO_BLK_F_RO, "VIRTIO_BLK_F_RO: Device is read-only"},
    {VIRTIO_BLK_F_GEOMETRY, "VIRTIO_BLK_F_GEOMETRY: Legacy geometry available"},
    {VIRTIO_BLK_F_SEG_MAX, "VIRTIO_BLK_F_SEG_MAX: Max segments in a request is seg_max"},
    {0, NULL},
};
