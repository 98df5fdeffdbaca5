/* heat.c - counts the heat of the partitions that this node leads.
 *
 * Eventual reads that followers serve do not count: the leader reaches a limit before a follower
 * does. A range read counts at the key it begins with. */
#include "engine/node/replica/heat.h"

#include "base/settings/heat.h"
#include "base/settings/key_sharding.h"
#include "base/settings/split.h"
#include "engine/admission/capacity.h"

static struct instant node_heat_cool_at(const struct node_heat *heat)
{
    return instant_add_ms(heat->env->now, config_heat(heat->env->config)->heat_half_life_ms);
}

/* Reports a load at once when it has lasted long enough to be a reason for a split. */
static void node_heat_count_excess(struct node_heat *heat, struct partition *p,
                                   enum admit_kind kind, int64_t cost_mcu)
{
    struct excess *e = &p->excess.now[kind];
    const struct excess_rule rule = {
        .max_mcu = partition_max_mcu(heat->env->config, kind),
        .reset_ms = config_split(heat->env->config)->split_hold_reset_ms,
        .gap_tolerance_ms = config_split(heat->env->config)->split_gap_tolerance_ms};
    excess_add(e, heat->env->now, cost_mcu, &rule);
    if (excess_ms(e, heat->env->now) < config_split(heat->env->config)->split_hold_ms ||
        p->excess.reported[kind].ns == e->since.ns)
        return;
    p->excess.reported[kind] = e->since;
    load_reports_soon(heat->reports);
}

/* Reports a partition that has begun to be asked for what a key with one shard may be, once it is
 * known how much that is. */
static void node_heat_note_heavy(struct node_heat *heat, struct partition *p)
{
    const int64_t max =
        config_key_sharding(heat->env->config)->key_sharding_shard_units * MCU_PER_UNIT;
    if (p->excess.heavy_reported || !heat_is_recently(&p->heat, heat->env->now, ADMIT_WRITE, max))
        return;
    p->excess.heavy_reported = true;
    load_reports_soon(heat->reports);
}

void node_heat_add(struct node_heat *heat, struct partition *p, enum admit_kind kind,
                   struct slice key, int64_t cost_mcu)
{
    /* A split point lies before an item's key or behind its rows (BOUND-1). */
    key = storage_key_begun_behind(key);
    if (p->led == 0 || !partition_holds(p, key))
        return;
    if (!heat_is_init(&p->heat))
        heat_init(&p->heat, p->info.lo, p->info.hi, p->info.id, heat->env->config);
    heat_add(&p->heat, heat->env->now, kind, key, cost_mcu);
    node_heat_count_excess(heat, p, kind, cost_mcu);
    if (kind == ADMIT_WRITE)
        node_heat_note_heavy(heat, p);
    if (heat->at.ns == INSTANT_NEVER.ns)
        heat->at = node_heat_cool_at(heat);
}

/* If no partition has heat, there is no deadline. */
void node_heat_tick(struct node_heat *heat)
{
    bool any = false;
    if (instant_before(heat->env->now, heat->at))
        return;
    for (uint32_t i = 0; i < heat->partitions->count; i++)
        any = heat_cool(&heat->partitions->all[i]->heat, heat->env->now) || any;
    heat->at = any ? node_heat_cool_at(heat) : INSTANT_NEVER;
}
