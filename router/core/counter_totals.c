/* counter_totals.c - reads and writes the copies of counters' sums. */
#include "router/core/counter_totals.h"

#include "base/settings/key_sharding.h"
#include "engine/expression/program.h"
#include "router/core/item_placement.h"

/* Its name begins as no attribute's does that a client would choose. */
#define MADE_AT "weir:made-at"

bool counter_total_serves(const struct router *r, const struct request *get)
{
    return config_key_sharding(r->config)->counter_total_ms > 0 && !get->get.consistent;
}

void counter_total_request(struct subrequest *s, const struct sharded_key *k, struct slice key)
{
    s->request.get.key = sharded_key_in(&s->call->arena, k, key, KEY_SHARDS_MAX);
    s->request.get.consistent = false;
    s->request.get.transacts = false;
}

static size_t made_at_encode(const struct router *r, uint8_t out[NUMBER_ENCODED_MAX])
{
    const struct number n = number_from_i64(router_wall_ms(r));
    return number_encode(&n, out);
}

static int64_t made_at_of(const struct attr *value)
{
    struct number n;
    size_t used;
    int64_t ms;
    const bool valid = value->type == ATTR_NUMBER &&
                       number_decode(value->body, &n, &used) == STATUS_OK && number_to_i64(&n, &ms);
    return valid && ms >= 0 ? ms : 0;
}

/* The item with the time, or without it. */
static struct slice copy_of(struct call *c, struct slice item, const struct attr *made_at)
{
    struct buffer out = {0};
    struct item_writer w;
    struct slice name;
    struct attr value;
    item_begin(&w, &out);
    for (struct attr_cursor at = item_attrs(item); attr_next(&at, &name, &value);) {
        if (slice_is(name, MADE_AT))
            continue;
        item_name(&w, name);
        item_attr(&w, &value);
    }
    if (made_at != NULL) {
        item_name(&w, slice_of(MADE_AT));
        item_attr(&w, made_at);
    }
    item_end(&w);
    return arena_take(&c->arena, &out);
}

struct slice counter_total_take(struct call *c, const struct reply *reply)
{
    struct attr made_at;
    const bool there = reply->code == REPLY_OK && reply->kind == ANSWER_ITEM && reply->item.found &&
                       item_find(reply->item.bytes, slice_of(MADE_AT), &made_at);
    const int64_t age_ms = there ? router_wall_ms(c->router) - made_at_of(&made_at) : 0;
    if (!there || age_ms > config_key_sharding(c->router->config)->counter_total_ms)
        return slice_make(NULL, 0);
    return copy_of(c, reply->item.bytes, NULL);
}

/* attribute_not_exists(at) OR at < :now */
static struct slice only_newer(struct call *c, const struct attr *now)
{
    struct expression_name name = {.key = slice_of("#a"), .name = slice_of(MADE_AT)};
    struct expression_name value = {.key = slice_of(":now"), .value = *now};
    struct expression_names names = {
        .names = &name, .name_count = 1, .values = &value, .value_count = 1};
    struct expression_fault fault;
    struct buffer program = {0};
    const struct condition *tree = condition_parse(
        slice_of("attribute_not_exists(#a) OR #a < :now"), &names, &c->arena, &fault);
    must(tree != NULL && program_encode(&program, tree));
    return arena_take(&c->arena, &program);
}

void counter_total_keep(struct subrequest *s, const struct sharded_key *k, struct slice key,
                        struct slice sum)
{
    struct call *c = s->call;
    uint8_t body[NUMBER_ENCODED_MAX];
    const struct attr now = {ATTR_NUMBER, slice_make(body, made_at_encode(c->router, body))};
    s->request.write.key = sharded_key_in(&c->arena, k, key, KEY_SHARDS_MAX);
    s->request.write.item = copy_of(c, sum, &now);
    s->request.write.condition = only_newer(c, &now);
}
