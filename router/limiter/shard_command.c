/* shard_command.c - commands to shards as requests, and what their replies say. */
#include "router/limiter/limiter_call.h"

void shard_command_begin(const struct router *r, struct cached_bucket *b, enum limiter_verb verb,
                         uint32_t shard, struct limiter_command *out)
{
    struct cached_shard *k = bucket_shard(b, shard);
    const int64_t cost = MAX(k->cost_mcu, 1000);
    const int64_t left = k->write_tokens > cost ? k->write_tokens - cost : 0;
    *out = (struct limiter_command){.verb = (uint8_t)verb,
                                    .shard = shard,
                                    .sender_map = b->shard_map,
                                    .limits = b->limits,
                                    .expires_ms = router_wall_ms(r) + LIMITER_SHARD_MAP_TTL_MS,
                                    .mwcu = cost + MIN(k->deferred_cost_mwcu, left)};
    if (out->sender_map.count == 0)
        out->sender_map.count = 1;
    must(verb < LIMITER_VERBS);
}

struct slice shard_command_encode(struct call *c, const struct limiter_command *command)
{
    struct buffer bytes = {0};
    struct limiter_command copy = *command;
    limiter_command_walk(&(struct codec){.out = &bytes}, &copy);
    return arena_take(&c->arena, &bytes);
}

struct subrequest *shard_command_send(struct call *c, struct cached_bucket *b,
                                      const struct limiter_command *command, uint32_t index,
                                      struct slice token, uint64_t digest)
{
    struct limiter_call *s = c->state;
    struct item_place place;
    must(token.size == 0 || token.size == TRANSACTION_TOKEN_SIZE);
    must(command->limits.count <= LIMITER_LIMITS_MAX);
    item_place_of_shard(c, &s->table->table, &b->name, command->shard, &place);
    struct subrequest *sub = call_request(c, s->table, REQUEST_UPDATE);
    sub->index = index;
    sub->request.write.key = place.key;
    sub->request.write.item = place.item;
    sub->request.write.limiter = shard_command_encode(c, command);
    sub->request.write.return_values = RETURN_NEW;
    sub->request.write.return_failed = true;
    sub->request.write.token.id = token;
    sub->request.write.token.digest = digest;
    s->requested_at = c->router->now;
    subrequest_start(c->router, sub);
    return sub;
}

void shard_read_send(struct call *c, struct cached_bucket *b, uint32_t shard)
{
    struct limiter_call *s = c->state;
    struct item_place place;
    item_place_of_shard(c, &s->table->table, &b->name, shard, &place);
    struct subrequest *sub = call_request(c, s->table, REQUEST_GET);
    sub->index = shard;
    sub->request.get.key = place.key;
    sub->request.get.consistent = true;
    s->requested_at = c->router->now;
    subrequest_start(c->router, sub);
}

void shard_command_reply(struct call *c, struct cached_bucket *b, uint32_t shard, int64_t mwcu,
                         const struct subrequest *s, const struct reply *r,
                         struct shard_command_result *out)
{
    struct limiter_call *call = c->state;
    const bool item = r->kind == ANSWER_ITEM && r->item.found;
    *out = (struct shard_command_result){.end = CHARGE_UNAVAILABLE};
    switch (r->code) {
    case REPLY_OK:
        out->end = CHARGE_DONE;
        out->is_repeat = !item;
        break;
    case REPLY_CONDITION_FAILED:
        out->end = CHARGE_REFUSED;
        out->refusal = r->kind == ANSWER_ITEM && r->item.fault < LIMITER_REFUSALS
                           ? (enum limiter_refusal)r->item.fault
                           : LIMITER_NO_BUCKET;
        break;
    case REPLY_THROTTLED:
        out->end = CHARGE_REFUSED;
        out->refusal = LIMITER_TOO_FEW_WRITES;
        out->throttled = true;
        break;
    case REPLY_TOKEN_MISMATCH:
        out->end = CHARGE_TOKEN_MISMATCH;
        break;
    case REPLY_LOCKED:
    case REPLY_TOKEN_RUNS:
        out->busy = true;
        break;
    case REPLY_UNKNOWN:
        fault_set(call_fault(c), FAULT_UNAVAILABLE,
                  "It is not known whether the bucket was changed%s%.*s",
                  r->text.size > 0 ? ": " : "", SHOWN(r->text));
        break;
    default:
        call_refuse(c, s, r);
    }
    struct cached_shard *k = bucket_shard(b, shard);
    const int64_t refused_mcu = MAX(k->cost_mcu, 1000);
    if (out->end == CHARGE_DONE && !out->is_repeat) {
        /* Deferred cost that the shard had too few units for is dropped: it must not be in debt for
         * refusals. */
        k->cost_mcu = r->consumed_mcu > 0 ? r->consumed_mcu : k->cost_mcu;
        k->deferred_cost_mwcu = r->consumed_mcu > mwcu ? r->consumed_mcu - mwcu : 0;
    } else {
        bucket_add_deferred_cost(c->router, b, shard,
                                 out->throttled ? refused_mcu : r->consumed_mcu);
    }
    if (item)
        out->has_item =
            bucket_update_from_shard(c->router, b, shard, r->item.bytes, call->requested_at,
                                     r->code == REPLY_OK ? 0 : r->item.wall_ms, &out->item);
}
