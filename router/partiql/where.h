/* where.h - what a WHERE clause says about the keys of a table or an index.
 *
 * The clause is taken apart at its ANDs, and a SELECT's at the outermost OR, too. What no key tells
 * stays as a condition, so a clause that is not understood is still right, only costlier. */
#pragma once

#include "router/core/key_schema.h"
#include "router/partiql/statement.h"

enum {
    WHERE_RANGES_MAX = 50, /* that one SELECT reads: the service's limit */
};

/* Equalities on the primary key of the table. */
struct where_key {
    struct attr values[2];  /* type 0: there is none */
    bool whole;             /* each attribute has a value */
    struct slice twofold;   /* an attribute with two different values; empty: none */
    struct condition *rest; /* what must hold, too; NULL: nothing */
};

/* `in`: IN with one value is an equality. All lends from the arena and the clause. */
void where_find_key(const struct condition *where, const struct table *t, bool in,
                    struct arena *arena, struct where_key *out);

/* Appends the values as an item, for key_of_key. */
void where_append_key(struct buffer *out, const struct table *t, const struct where_key *key);

/* An item that exists, or that does not. */
struct condition *where_item_exists(struct arena *arena, const struct table *t, bool exists);
/* `b` may be NULL. */
struct condition *where_join(struct arena *arena, enum condition_kind kind, struct condition *a,
                             struct condition *b);

/* Keys that a SELECT reads: `found`, and of these the ones that fulfil `also`. */
struct where_range {
    struct key_matches found;
    struct key_condition also; /* on the attribute of the last of `found`; KEY_ANY: none */
};

struct where_ranges {
    struct where_range *list;
    uint32_t count;                 /* 0: all keys */
    const struct condition *filter; /* NULL: none */
};

/* The ranges of the keys that can fulfil the clause. False: the fault says why. */
bool where_find_ranges(const struct condition *where, const struct key_schema *schema,
                       struct arena *arena, struct where_ranges *out, struct fault *fault);
