/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BLOCK_DRIVE_OPTIONS_H
#define BLOCK_DRIVE_OPTIONS_H

#include "node.h"
#include "qapi/keyval.h"

/* What -drive says about the image, in terms of nodes. */
typedef struct DriveImage {
    char *filename;  /* file=; NULL: none */
    char *format;    /* format= or driver=; NULL: to be guessed */
    char *aio;       /* of the node at the bottom; NULL: default */
    bool read_only;
    bool auto_read_only;
    bool cache_direct, no_flush;
    bool discard_unmap;
    const char *detect_zeroes; /* NULL: default */
    Opts *options;   /* whatever else was given; emptied */
} DriveImage;

/* Opens the nodes of a -drive. Returns a reference to the top one. */
BlockNode *drive_open_image(DriveImage *img, Error **errp);

/* Gives options under an older name their present one. */
bool drive_rename_aliases(Opts *opts, Error **errp);
/* Fails if something is asked for that does not exist; takes out what asks for nothing. */
bool drive_refuse_unsupported(Opts *opts, Error **errp);

#endif
