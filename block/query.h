/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BLOCK_QUERY_H
#define BLOCK_QUERY_H

#include "backend.h"

/* What QMP and the human monitor both tell. Caller frees; blk may be NULL. With
 * `flat` images that show through are left out. */
BlockDeviceInfo *block_node_info(BlockNode *node, BlockBackend *blk, bool flat);
BlockDeviceStats *block_backend_stats(BlockBackend *blk);
/* Whether clients see this backend: it has a name or a device. */
bool block_is_listed(BlockBackend *blk);

#endif
