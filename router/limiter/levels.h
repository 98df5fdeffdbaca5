/* levels.h - where limits are configured: items of the limiter's table, four levels and a parent.
 *
 * The first level that has limits gives all of a bucket's limits. A level's version grows with each
 * change, also when its limits are taken away. The sum over the levels is the version of what a bucket
 * uses: so a later change gives a larger one. */
#pragma once

#include "router/limiter/words.h"

struct table;

#define LIMITER_TABLE         "weir-limiter"
#define LIMITER_TTL_ATTRIBUTE "ttl"

enum level {
    LEVEL_ENTITY_RESOURCE,
    LEVEL_ENTITY,
    LEVEL_RESOURCE,
    LEVEL_SYSTEM,
    LEVEL_META, /* no limits, but the entity's parent */
    LEVELS
};

/* "entity", "entity default", "resource", "system"; a static text. */
const char *level_name(enum level level);

/* An item of the limiter's table. Both slices are in the call's arena. */
struct place {
    struct slice key;  /* storage key */
    struct slice item; /* the key, encoded as an item */
};

/* The place of a shard of a bucket. */
void place_of_shard(struct call *c, const struct table *t, const struct bucket_name *b,
                    uint32_t shard, struct place *out);
/* The bucket that the partition key of a shard names; lends from the key. False: it is no shard's. */
bool bucket_name_of_key(struct slice key, struct bucket_name *out);
/* The place of a level. Entity or resource may be empty if the level has none. */
void place_of_level(struct call *c, const struct table *t, const struct bucket_name *b,
                    enum level level, struct place *out);

/* What the item of a level says. Slices borrow from the item. */
struct level_item {
    uint64_t version;
    struct limiter_limits limits; /* its version is 0; count 0: none */
    enum on_unavailable on_unavailable;
    struct slice parent;
    bool cascade;
};

/* Empty bytes: no item, all zero. What does not make sense is as if it were absent: any client may
 * write the item. */
void level_read(struct slice item, struct level_item *out);

/* The change of an item of a level, as an update program in the call's arena. No limits and no parent:
 * what is there goes. */
struct slice level_change(struct call *c, enum level level, const struct level_item *to);

/* Reads the member `limits`. */
bool level_words_limits(struct words *w, struct limiter_limits *out);
/* Writes a list of limits as a member. */
void level_write_limits(struct buffer *out, const struct limiter_limits *limits);
