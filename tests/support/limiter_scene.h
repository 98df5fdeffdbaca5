/* limiter_scene.h - the items of one bucket of the rate limiter, and commands on them, without nodes.
 *
 * The scene is a sender, too: `known` is what it has read of shard 0 last. Each item that a command
 * writes is checked, and must read back as a bucket. */
#pragma once

#include "engine/limiter/bucket.h"

struct limiter_scene {
    struct limiter_limits limits; /* names are static texts */
    struct limiter_shards known;
    int64_t now_ms;
    struct buffer items[LIMITER_SHARDS_MAX]; /* owns; empty: there is none */
};

void limiter_scene_init(struct limiter_scene *s, int64_t now_ms);
/* With a limit of 1,000 requests a day. */
void limiter_scene_init_daily(struct limiter_scene *s, int64_t now_ms);
void limiter_scene_deinit(struct limiter_scene *s);
/* Amounts in tokens. */
void limiter_scene_limit(struct limiter_scene *s, const char *name, int64_t capacity,
                         int64_t amount, int64_t period_ms);

/* A command with the scene's knowledge and limits. */
struct limiter_command limiter_scene_command(const struct limiter_scene *s, enum limiter_verb verb,
                                             uint32_t shard);
/* Runs the command on its shard; keeps the item if it is done. */
enum limiter_refusal limiter_scene_run(struct limiter_scene *s,
                                       const struct limiter_command *command);
/* The shard's bucket; false: there is no item. Borrows from the scene. */
bool limiter_scene_find(const struct limiter_scene *s, uint32_t shard, struct limiter_bucket *out);
struct limiter_bucket limiter_scene_bucket(const struct limiter_scene *s, uint32_t shard);
/* Reads the truth from shard 0. */
void limiter_scene_learn(struct limiter_scene *s);

/* Commands of several steps, none of which may fail. Amounts in mtok of the first limit. */
enum limiter_refusal limiter_scene_take(struct limiter_scene *s, uint32_t shard, int64_t mtok);
/* Tokens of the first limit: they are taken; there are too few. */
void limiter_scene_assert_takes(struct limiter_scene *s, uint32_t shard, int64_t tokens);
void limiter_scene_assert_short(struct limiter_scene *s, uint32_t shard, int64_t tokens);
enum limiter_refusal limiter_scene_adjust(struct limiter_scene *s, uint32_t shard, int64_t mtok);
/* Asks the parent for the gift, and makes the shard of it; its parents first. */
void limiter_scene_open(struct limiter_scene *s, uint32_t shard);
/* Twice as many shards; none of them is opened. */
void limiter_scene_double(struct limiter_scene *s);
/* Closes a shard that goes, and lets its parent absorb it. */
void limiter_scene_merge_shard(struct limiter_scene *s, uint32_t shard);
/* Half as many, all steps. */
void limiter_scene_halve(struct limiter_scene *s);
/* The tokens of the first limit in all shards that take part in the truth: open ones, and what is set
 * aside for those that were not made. All are refilled to now. */
int64_t limiter_scene_tokens(const struct limiter_scene *s);
