/* replica_choice.c - the leader that is known, any member, or the members in turn. */
#include "router/core/replica_choice.h"

#include "base/settings/choices.h"
#include "engine/message/request_traits.h"
#include "router/core/node_watch.h"
#include "router/core/operation.h"

const struct partition_info *replica_choice_partition(const struct subrequest *s)
{
    return table_partition_for(&s->route->table, &s->request);
}

bool replica_choice_is_any(const struct subrequest *s)
{
    return traits_of(&s->request)->any_replica && !request_is_consistent(&s->request) && !s->surely;
}

static uint32_t *replica_choice_leader(const struct subrequest *s, const struct partition_info *p)
{
    return &s->route->leaders[p - s->route->table.partitions];
}

/* The first member from `turn` on that is not unresponsive. If all are unresponsive, the member of
 * `turn`. */
static uint32_t replica_choice_in_turn(const struct router *r, const struct partition_info *p,
                                       uint32_t turn)
{
    for (uint32_t i = 0; i < p->member_count; i++) {
        uint32_t node = partition_node(p, (turn + i) % p->member_count);
        if (!node_watch_is_unresponsive(r, node))
            return node;
    }
    return partition_node(p, turn % p->member_count);
}

uint32_t replica_choice_of(struct router *r, struct subrequest *s, const struct partition_info *p)
{
    if (replica_choice_is_any(s)) {
        if (s->turn == 0)
            s->turn = 1 + (uint32_t)prng_below(&r->prng, p->member_count);
        return replica_choice_in_turn(r, p, s->turn);
    }
    uint32_t leader = *replica_choice_leader(s, p);
    s->guessed = leader == 0 || node_watch_is_unresponsive(r, leader);
    return s->guessed ? replica_choice_in_turn(r, p, s->turn) : leader;
}

uint32_t replica_choice_catalog_after(const struct router *r, uint32_t node)
{
    uint32_t count = r->options.node_count, next = node % count + 1;
    for (uint32_t i = 0; i < count && node_watch_is_unresponsive(r, next); i++)
        next = next % count + 1;
    return next;
}

void replica_choice_note_leader(struct subrequest *s, uint32_t node)
{
    *replica_choice_leader(s, replica_choice_partition(s)) = node;
}

void replica_choice_clear_leader(struct subrequest *s)
{
    uint32_t *known = replica_choice_leader(s, replica_choice_partition(s));
    if (*known == s->node)
        *known = 0;
}

void replica_choice_note_reply(struct subrequest *s, const struct reply *reply)
{
    const uint64_t *after = own_writes_member(&s->request);
    s->surely |= reply->code == REPLY_NOT_LEADER && after != NULL && *after != 0;
}

bool replica_choice_is_led_elsewhere(const struct subrequest *s, const struct reply *reply)
{
    return reply->code == REPLY_STOPPED && traits_of(&s->request)->data &&
           replica_choice_partition(s)->member_count > 1;
}

bool replica_choice_has_other_tokens(const struct router *r, const struct subrequest *s)
{
    return config_choices(r->config)->read_tokens == READ_TOKENS_GROUP &&
           replica_choice_is_any(s) && s->redirects + 1 < replica_choice_partition(s)->member_count;
}

bool replica_choice_has_other(const struct router *r, const struct subrequest *s)
{
    return traits_of(&s->request)->data ? replica_choice_partition(s)->member_count > 1
                                        : r->options.node_count > 1;
}

bool replica_choice_may_hedge(const struct router *r, const struct subrequest *s)
{
    if (traits_of(&s->request)->once || s->hedged)
        return false;
    uint32_t other = traits_of(&s->request)->data
                         ? replica_choice_in_turn(r, replica_choice_partition(s), s->turn)
                         : replica_choice_catalog_after(r, s->node);
    return !node_watch_is_unresponsive(r, other);
}
