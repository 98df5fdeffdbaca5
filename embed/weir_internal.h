/* weir_internal.h - what the files behind include/weir.h share. */
#ifndef WEIR_EMBED_WEIR_INTERNAL_H
#define WEIR_EMBED_WEIR_INTERNAL_H

#include "engine/item/item.h"
#include "host/loop.h"
#include "include/weir.h"

struct weir_item {
    struct buffer bytes; /* owns */
    const char *mistake; /* the first one; a static text */
    bool finished;
    bool checked;
    struct item_writer writer; /* large, and idle once finished: last */
};

/* For tests: faults are injected at the loop, and a node is verified. */
struct loop *weir_loop(struct weir *db);
struct node *weir_node(struct weir *db);

/* Completes the item; NULL and its bytes, or what is wrong with it. A key of a read is only looked
 * into: it need not be checked as something to be stored is. */
const char *weir_item_finish(struct weir_item *item, bool stored, struct slice *out);

#endif
