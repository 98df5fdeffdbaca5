/* catalog_decisions.c - commands: decisions, nodes, and what the catalog knows. */
#include "engine/item/storage_key.h"
#include "tests/check.h"
#include "tests/support/catalog_world.h"

/* The partition that words 1 and 2 name; `epoch=` is a difference. */
static struct decision decisions_about(struct catalog_world *w, struct case_words *c)
{
    const struct partition_info *p = catalog_world_at(w, case_word(c, 1), case_word_number(c, 2));
    return (struct decision){
        .table_id = (uint32_t)case_option_number(c, "table", p->table_id),
        .partition = (uint32_t)case_option_number(c, "partition", p->id),
        .epoch = p->epoch + (uint64_t)case_option_number(c, "epoch", 0),
    };
}

static void decisions_decide(struct catalog_world *w, struct case_words *c, enum catalog_op op,
                             const struct decision *d)
{
    catalog_world_print(w, c, catalog_world_decide(w, op, d));
}

static void run_move(void *world, struct case_words *c)
{
    struct decision d = decisions_about(world, c);
    d.from_node = (uint32_t)case_word_number(c, 3);
    d.to_node = (uint32_t)case_word_number(c, 4);
    d.has_event = true;
    d.event = (struct event){.kind = EVENT_REPLICA_MOVED, .reason = slice_of("why")};
    decisions_decide(world, c, CATALOG_MOVE, &d);
}

static void run_lead(void *world, struct case_words *c)
{
    struct decision d = decisions_about(world, c);
    d.to_node = (uint32_t)case_word_number(c, 3);
    decisions_decide(world, c, CATALOG_LEAD, &d);
}

/* `merge NAME I STEP [with=I] [with-epoch=N]` */
static void run_merge(void *world, struct case_words *c)
{
    static const char *const STEPS[] = {NULL,     "begin",    "give-up", "thawed",
                                        "absorb", "absorbed", "done"};
    const int64_t i = case_word_number(c, 2);
    struct decision d = decisions_about(world, c);
    d.merge = (enum merge_command)case_choice(case_word(c, 3), STEPS, COUNT_OF(STEPS));
    d.has_event = true;
    d.event = (struct event){.kind = EVENT_MERGE, .reason = slice_of("why")};
    if (d.merge == MERGE_BEGIN) {
        const int64_t with = case_option_number(c, "with", i - 1);
        const struct partition_info *lower = catalog_world_at(world, case_word(c, 1), with);
        d.merge_with = lower->id;
        d.merge_with_epoch = lower->epoch + (uint64_t)case_option_number(c, "with-epoch", 0);
    }
    if (d.merge == MERGE_ABSORB_IT) {
        d.frozen_index = 77;
        d.frozen_term = 5;
    }
    decisions_decide(world, c, CATALOG_MERGE, &d);
}

/* As the nodes do, once the replicas have stopped. */
static void run_complete(void *world, struct case_words *c)
{
    struct catalog_world *w = world;
    const struct table *t = catalog_world_table(w, case_word(c, 1));
    uint32_t upper = 0;
    while (upper < t->partition_count && t->partitions[upper].merge != MERGE_FREEZE)
        upper++;
    for (enum merge_command step = MERGE_ABSORB_IT; step <= MERGE_DONE; step++) {
        const struct partition_info *p =
            catalog_world_at(w, case_word(c, 1), step == MERGE_ABSORB_IT ? upper : upper - 1);
        const struct decision d = {
            .table_id = p->table_id, .partition = p->id, .epoch = p->epoch, .merge = step};
        decisions_decide(w, c, CATALOG_MERGE, &d);
    }
    assert_false(table_is_changing(catalog_world_table(w, case_word(c, 1))));
}

/* `rates NAME I READ WRITE ..` in mcu; `=` as it is, `+N` more. */
static void run_rates(void *world, struct case_words *c)
{
    struct decision d = {.table_id = catalog_world_table(world, case_word(c, 1))->id};
    const int64_t epoch = case_option_number(c, "epoch", 0);
    for (int at = 2; at < c->count && strchr(c->words[at], '=') != c->words[at] + 5; at += 3) {
        const struct partition_info *p =
            catalog_world_at(world, case_word(c, 1), case_word_number(c, at));
        struct decision_rate *r = &d.rates[d.rate_count++];
        *r = (struct decision_rate){.partition = p->id, .epoch = p->epoch + (uint64_t)epoch};
        for (int kind = 0; kind < ADMIT_KINDS; kind++) {
            const char *text = case_word(c, at + 1 + kind);
            const int64_t now = p->rate_mcu[kind];
            r->rate_mcu[kind] =
                text[0] == '=' ? now : case_number(text) + (text[0] == '+' ? now : 0);
        }
    }
    decisions_decide(world, c, CATALOG_RATES, &d);
}

static void run_peak(void *world, struct case_words *c)
{
    const struct decision d = {.table_id = catalog_world_table(world, case_word(c, 1))->id,
                               .peak = {case_word_number(c, 2), case_word_number(c, 3)}};
    decisions_decide(world, c, CATALOG_PEAK, &d);
}

static void run_drain(void *world, struct case_words *c)
{
    const struct decision d = {.to_node = (uint32_t)case_word_number(c, 1),
                               .drain = strcmp(case_word(c, 0), "drain") == 0};
    decisions_decide(world, c, CATALOG_DRAIN, &d);
}

/* What nodes say of the replicas that leave; `node=N`: of another one of
 * each partition. */
static void run_leave(void *world, struct case_words *c)
{
    const bool erase = strcmp(case_word(c, 0), "erase") == 0;
    const int64_t node = case_option_number(c, "node", 0);
    for (uint32_t i = 0; i < catalog_world_table(world, case_word(c, 1))->partition_count; i++) {
        const struct partition_info *p = catalog_world_at(world, case_word(c, 1), i);
        const struct decision d = {.table_id = p->table_id,
                                   .partition = p->id,
                                   .epoch = p->epoch,
                                   .from_node =
                                       node > 0 ? (uint32_t)node : raft_member_node(p->leaving)};
        if (p->leaving == 0)
            continue;
        decisions_decide(world, c, CATALOG_LET_GO, &d);
        if (erase)
            decisions_decide(world, c, CATALOG_LEFT, &d);
    }
}

/* `shards NAME KEY STEP [N] [version=N]` */
static void run_shards(void *world, struct case_words *c)
{
    static const char *const STEPS[] = {NULL, "grow", "moved", "shrink", "discard"};
    const struct table *t = catalog_world_table(world, case_word(c, 1));
    const struct attr key = {.type = ATTR_STRING, .body = slice_of(case_word(c, 2))};
    struct decision d = {.table_id = t->id};
    struct buffer b = {0};
    uint32_t fixed;
    storage_key_append_collection(&b, t->id, &key);
    const struct sharded_key *k = key_sharding_find(t->sharded_keys, buffer_slice(&b));
    struct decision_key_shards *s = &d.key_shards;
    s->change = (enum key_shards_change)case_choice(case_word(c, 3), STEPS, COUNT_OF(STEPS));
    s->key = buffer_slice(&b);
    s->version = (uint64_t)case_option_number(c, "version", k == NULL ? 0 : (int64_t)k->version);
    s->counter =
        s->change == KEY_SHARDS_GROW && table_key_sharding_mode(t, &fixed) == KEY_SHARDING_COUNTER;
    s->shards =
        c->count > 4 && strchr(c->words[4], '=') == NULL ? (uint32_t)case_word_number(c, 4) : 0;
    decisions_decide(world, c, CATALOG_KEY_SHARDS, &d);
    buffer_deinit(&b);
}

/* `disk N GENERATION`: the node has another disk. */
static void run_disk(void *world, struct case_words *c)
{
    struct catalog_world *w = world;
    const uint32_t node = (uint32_t)case_word_number(c, 1);
    w->nodes = node > w->nodes ? node : w->nodes;
    catalog_world_add_node(w, node, (uint32_t)case_word_number(c, 2));
}

/* Replicas of lost disks give way to new ones. */
static void run_replace(void *world, struct case_words *c)
{
    struct catalog_world *w = world;
    const struct table *t = catalog_world_table(w, case_word(c, 1));
    case_print(c, "%s to replace\n",
               catalog_needs_replacing(w->catalog, t) ? "something" : "nothing");
    struct catalog_command command = catalog_world_command(w, CATALOG_REPLACE);
    command.table_id = t->id;
    catalog_world_print(w, c, catalog_world_apply(w, &command));
}

static void run_report(void *world, struct case_words *c)
{
    struct catalog_world *w = world;
    const struct partition_report r = {
        .table_id = (uint32_t)case_word_number(c, 1),
        .partition = (uint32_t)case_word_number(c, 2),
        .items = case_word_number(c, 3),
        .bytes = case_word_number(c, 4),
        .rows = {{case_word_number(c, 3) / 2, case_word_number(c, 4) / 2}}};
    catalog_report(w->catalog, &r);
}

/* `knows PARTITION [NODE]`: whether a partition is gone, and may have its first member there */
static void run_knows(void *world, struct case_words *c)
{
    struct catalog_world *w = world;
    const uint32_t id = (uint32_t)case_word_number(c, 1);
    case_print(c, "/%u is %s", id, catalog_is_gone(w->catalog, id) ? "gone" : "known");
    if (c->count > 2) {
        const uint32_t node = (uint32_t)case_word_number(c, 2);
        const uint64_t member = raft_member_id(node, node * w->generation, 0);
        bool has = false;
        for (const struct table *t = NULL; (t = catalog_next(w->catalog, t)) != NULL;)
            has |= catalog_has(w->catalog, t->id, id, member);
        case_print(c, ", node %u %s have it%s", node,
                   catalog_may_have(w->catalog, id, member) ? "may" : "cannot",
                   has ? "" : ", no table has");
    }
    case_print(c, "\n");
}

static void run_show(void *world, struct case_words *c)
{
    catalog_world_print_table(c, catalog_world_table(world, case_word(c, 1)));
}

static void run_peaks(void *world, struct case_words *c)
{
    const struct table *t = catalog_world_table(world, case_word(c, 1));
    case_print(c, "writes: reserved %lld, warm %lld\n", (long long)t->reserved[ADMIT_WRITE],
               (long long)t->warm[ADMIT_WRITE]);
}

/* The allocations of writes. */
static void run_allocations(void *world, struct case_words *c)
{
    const struct table *t = catalog_world_table(world, case_word(c, 1));
    case_print(c, "allocations");
    for (uint32_t i = 0; i < t->partition_count; i++)
        case_print(c, " %lld", (long long)t->partitions[i].rate_mcu[ADMIT_WRITE] / MCU_PER_UNIT);
    case_print(c, "\n");
}

static void run_keys(void *world, struct case_words *c)
{
    const struct table *t = catalog_world_table(world, case_word(c, 1));
    for (uint32_t i = 0; t->sharded_keys != NULL && i < t->sharded_keys->count; i++) {
        const struct sharded_key *k = &t->sharded_keys->keys[i];
        case_print(c, "%s@%llu: %u %s", (const char *)k->key.data, (unsigned long long)k->version,
                   k->shards, k->counter ? "cells" : "shards");
        for (uint32_t b = 0; b < k->before_count; b++)
            case_print(c, "%s %u", b == 0 ? ", before" : "", k->before[b]);
        case_print(c, ", widest %u%s", k->widest, k->shrank ? ", shrank" : "");
        if (k->placed_version != 0)
            case_print(c, ", placed at %llu", (unsigned long long)k->placed_version);
        case_print(c, "\n");
    }
    case_print(c, "registry %llu\n", (unsigned long long)table_key_sharding_version(t));
}

static void run_events(void *world, struct case_words *c)
{
    const struct catalog_world *w = world;
    case_print(c, "%llu events\n", (unsigned long long)catalog_last_event(w->catalog));
}

static void run_set(void *world, struct case_words *c)
{
    catalog_world_set(world, c, 1);
}

/* Of each cluster from here on. */
static void run_settings(void *world, struct case_words *c)
{
    struct catalog_world *w = world;
    size_t used = 0;
    w->settings[0] = '\0';
    for (int i = 1; i < c->count; i++)
        used +=
            (size_t)snprintf(w->settings + used, sizeof w->settings - used, "%s ", case_word(c, i));
    assert_true(used < sizeof w->settings);
}

const struct case_verb catalog_decision_verbs[] = {
    {.name = "move", .run = run_move},
    {.name = "lead", .run = run_lead},
    {.name = "merge", .run = run_merge},
    {.name = "complete", .run = run_complete},
    {.name = "rates", .run = run_rates},
    {.name = "peak", .run = run_peak},
    {.name = "drain", .run = run_drain},
    {.name = "undrain", .run = run_drain},
    {.name = "let-go", .run = run_leave},
    {.name = "erase", .run = run_leave},
    {.name = "shards", .run = run_shards},
    {.name = "disk", .run = run_disk},
    {.name = "replace", .run = run_replace},
    {.name = "count", .run = run_report},
    {.name = "knows", .run = run_knows},
    {.name = "show", .run = run_show},
    {.name = "peaks", .run = run_peaks},
    {.name = "allocations", .run = run_allocations},
    {.name = "keys", .run = run_keys},
    {.name = "events", .run = run_events},
    {.name = "set", .run = run_set},
    {.name = "settings", .run = run_settings},
    {0},
};
