/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BLOCK_WRITE_THRESHOLD_H
#define BLOCK_WRITE_THRESHOLD_H

#include "node.h"

/* Tells clients if a write to a node that has a threshold ends behind it, once. Runs in: the
 * request's context. */
void block_write_threshold_check(BlockNode *node, const BlockRequest *req);

#endif
