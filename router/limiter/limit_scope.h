/* limit_scope.h - where limits are set: items of the limiter's table for four scopes, and an
 * entity's parent.
 *
 * The first scope that has limits gives all of a bucket's limits. A scope's version grows with each
 * change, also when its limits are taken away. The sum over the scopes is the version of a bucket's
 * limits: so a later change gives a larger one. Requests and answers call a scope `level`. */
#pragma once

#include "router/limiter/limiter_request.h"

struct table;

#define LIMITER_TABLE         "weir-limiter"
#define LIMITER_TTL_ATTRIBUTE "ttl"

enum limit_scope {
    LIMIT_SCOPE_ENTITY_RESOURCE,
    LIMIT_SCOPE_ENTITY,
    LIMIT_SCOPE_RESOURCE,
    LIMIT_SCOPE_SYSTEM,
    LIMIT_SCOPE_PARENT, /* no limits, but the entity's parent */
    LIMIT_SCOPES
};

/* "entity", "entity default", "resource", "system"; a static text. */
const char *limit_scope_name(enum limit_scope scope);

/* An item of the limiter's table. Both slices are in the call's arena. */
struct item_place {
    struct slice key;  /* storage key */
    struct slice item; /* the key, encoded as an item */
};

/* The place of a shard of a bucket. */
void item_place_of_shard(struct call *c, const struct table *t, const struct bucket_name *b,
                         uint32_t shard, struct item_place *out);
/* The bucket that the partition key of a shard names; lends from the key. False: the key is not of
 * a shard, or no request could name the bucket: any client may write items of the table. */
bool bucket_name_of_key(struct slice key, struct bucket_name *out);
/* The place of a scope's item. Entity or resource may be empty if the scope has none. */
void item_place_of_scope(struct call *c, const struct table *t, const struct bucket_name *b,
                         enum limit_scope scope, struct item_place *out);

/* The item of a scope, decoded. Slices borrow from the item. */
struct limit_scope_item {
    uint64_t version;
    struct limiter_limits limits; /* its version is 0; count 0: none */
    enum on_unavailable on_unavailable;
    struct slice parent;
    bool cascade;
};

/* Empty bytes: no item, all zero. An invalid attribute is as if it were absent: any client may
 * write the item. */
void limit_scope_read(struct slice item, struct limit_scope_item *out);

/* The change of the item of a scope, as an update program in the call's arena. No limits and no
 * parent: the attributes are removed. */
struct slice limit_scope_change(struct call *c, enum limit_scope scope,
                                const struct limit_scope_item *to);

/* Reads the member `limits`. */
bool limiter_request_limits(struct limiter_request *w, struct limiter_limits *out);
/* Writes a list of limits as a member. */
void limit_scope_write_limits(struct buffer *out, const struct limiter_limits *limits);
