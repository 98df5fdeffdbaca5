/* limiter_fixture.h - the items of one bucket of the rate limiter, and commands on them, without
 * nodes.
 *
 * The fixture is a sender, too: `shard_map` is what it has read of shard 0 last. Each item that a
 * command writes is checked, and must read back as a bucket. */
#pragma once

#include "engine/limiter/bucket.h"

struct limiter_fixture {
    struct limiter_limits limits; /* names are static texts */
    struct limiter_shard_map shard_map;
    int64_t now_ms;
    struct buffer items[LIMITER_SHARDS_MAX]; /* owns; empty: there is none */
};

void limiter_fixture_init(struct limiter_fixture *s, int64_t now_ms);
/* With a limit of 1,000 requests a day. */
void limiter_fixture_init_daily(struct limiter_fixture *s, int64_t now_ms);
void limiter_fixture_deinit(struct limiter_fixture *s);
/* Amounts in tokens. */
void limiter_fixture_limit(struct limiter_fixture *s, const char *name, int64_t capacity,
                           int64_t amount, int64_t period_ms);

/* A command with the fixture's knowledge and limits. */
struct limiter_command limiter_fixture_command(const struct limiter_fixture *s,
                                               enum limiter_verb verb, uint32_t shard);
/* Runs the command on its shard; keeps the item if it is done. */
enum limiter_refusal limiter_fixture_run(struct limiter_fixture *s,
                                         const struct limiter_command *command);
/* The shard's bucket; false: there is no item. Borrows from the fixture. */
bool limiter_fixture_find(const struct limiter_fixture *s, uint32_t shard,
                          struct limiter_bucket *out);
struct limiter_bucket limiter_fixture_bucket(const struct limiter_fixture *s, uint32_t shard);
/* Reads the shard map from shard 0. */
void limiter_fixture_read_map(struct limiter_fixture *s);

/* Commands of several steps, none of which may fail. Amounts in mtok of the first limit. */
enum limiter_refusal limiter_fixture_take(struct limiter_fixture *s, uint32_t shard, int64_t mtok);
/* Asks the parent for the reserved share, and creates the child of it; its parents first. */
void limiter_fixture_create_shard(struct limiter_fixture *s, uint32_t shard);
/* Twice as many shards; none of them is created. */
void limiter_fixture_grow(struct limiter_fixture *s);
/* Half as many, all steps. */
void limiter_fixture_merge(struct limiter_fixture *s);
/* The tokens of the first limit in all shards that the shard map counts: live ones, and what is set
 * aside for those that were not made. All are refilled to now. */
int64_t limiter_fixture_tokens(const struct limiter_fixture *s);
