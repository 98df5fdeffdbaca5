/* catalog_fixture.c - applies commands to a catalog, and keeps the rows that would be on disk. */
#include "tests/support/catalog_fixture.h"

#include "base/settings/replication.h"
#include "base/settings/tables.h"
#include "tests/check.h"

enum reply_code catalog_fixture_apply(struct catalog_fixture *w, struct catalog_command *c)
{
    struct buffer b = {0};
    catalog_command_encode(&b, c);
    catalog_apply(w->catalog, buffer_slice(&b), &w->result);
    buffer_deinit(&b);
    assert_true(w->result.code == REPLY_OK || w->result.row_count == 0);
    buffer_clear(&w->text);
    buffer_append_slice(&w->text, w->result.text);
    for (uint32_t i = 0; i < w->result.row_count; i++) {
        const struct catalog_row *r = &w->result.rows[i];
        if (r->key.data[4] != 't' && r->key.data[4] != 'c')
            continue;
        struct buffer *to = r->key.data[4] == 't' ? &w->table_row : &w->counters_row;
        buffer_clear(to);
        buffer_append_slice(to, r->value);
    }
    return w->result.code;
}

struct catalog_command catalog_fixture_command(const struct catalog_fixture *w, enum catalog_op op)
{
    struct catalog_command c;
    catalog_command_init(&c, op, &w->config, w->nodes, 1000);
    c.spec = (struct table_spec){.name = slice_of("t"),
                                 .partition_key = {slice_of("id"), ATTR_STRING},
                                 .sort_key = {slice_of("at"), ATTR_STRING},
                                 .billing = BILLING_PROVISIONED,
                                 .rcu = 3001,
                                 .wcu = 1999};
    return c;
}

enum reply_code catalog_fixture_decide(struct catalog_fixture *w, enum catalog_op op,
                                       const struct decision *d)
{
    struct buffer b = {0};
    decision_encode(&b, d);
    struct catalog_command c = catalog_fixture_command(w, op);
    c.decision = buffer_slice(&b);
    enum reply_code code = catalog_fixture_apply(w, &c);
    buffer_deinit(&b);
    return code;
}

enum reply_code catalog_fixture_split(struct catalog_fixture *w, const struct table_split *s)
{
    struct buffer b = {0};
    table_split_encode(&b, s);
    struct catalog_command c = catalog_fixture_command(w, CATALOG_SPLIT);
    c.split = buffer_slice(&b);
    enum reply_code code = catalog_fixture_apply(w, &c);
    buffer_deinit(&b);
    return code;
}

enum reply_code catalog_fixture_reconcile(struct catalog_fixture *w, uint32_t partition_count,
                                          enum table_status status)
{
    struct catalog_command c = catalog_fixture_command(w, CATALOG_RECONCILED);
    const struct table *t = catalog_fixture_table(w);
    catalog_command_reconciled(&c, t);
    if (t->partition_count != partition_count || t->status != status) {
        c.reconciled++;
    } else if (status == TABLE_DELETING && !t->no_pending_parts) {
        catalog_fixture_apply(w, &c);
        catalog_command_reconciled(&c, catalog_fixture_table(w));
    }
    return catalog_fixture_apply(w, &c);
}

void catalog_fixture_set_generation(struct catalog_fixture *w, uint32_t node, uint32_t generation)
{
    struct catalog_command c = catalog_fixture_command(w, CATALOG_NODE);
    c.node = node;
    c.generation = generation;
    assert_int_equal(catalog_fixture_apply(w, &c), REPLY_OK);
}

const struct table *catalog_fixture_table(const struct catalog_fixture *w)
{
    return catalog_find(w->catalog, slice_of("t"));
}

void catalog_fixture_init(struct catalog_fixture *w, uint32_t nodes)
{
    *w = (struct catalog_fixture){.catalog = catalog_create(), .nodes = nodes};
    config_init(&w->config, PROFILE_AWS);
    config_edit_replication(&w->config)->replicas = 3;
    config_edit_tables(&w->config)->table_partitions_max = CATALOG_FIXTURE_PARTITIONS_MAX;
    for (uint32_t node = 1; node <= nodes; node++)
        catalog_fixture_set_generation(w, node, 7 * node);
    struct catalog_command c = catalog_fixture_command(w, CATALOG_CREATE);
    assert_int_equal(catalog_fixture_apply(w, &c), REPLY_OK);
    const struct table *t = catalog_fixture_table(w);
    assert_int_equal(catalog_fixture_reconcile(w, t->partition_count, t->status), REPLY_OK);
}

void catalog_fixture_deinit(struct catalog_fixture *w)
{
    catalog_destroy(w->catalog);
    buffer_deinit(&w->table_row);
    buffer_deinit(&w->counters_row);
    buffer_deinit(&w->text);
}

struct slice catalog_fixture_key(uint32_t table_id, uint64_t hash, uint8_t out[12])
{
    uint32_t id = __builtin_bswap32(table_id);
    uint64_t swapped = __builtin_bswap64(hash);
    memcpy(out, &id, 4);
    memcpy(out + 4, &swapped, 8);
    return slice_make(out, 12);
}

static void fixture_covers(const struct table *t)
{
    uint32_t first = __builtin_bswap32(t->id), behind = __builtin_bswap32(t->id + 1);
    assert_true(slice_equal(t->partitions[0].lo, slice_make(&first, 4)));
    assert_true(slice_equal(t->partitions[t->partition_count - 1].hi, slice_make(&behind, 4)));
    for (uint32_t i = 0; i < t->partition_count; i++) {
        const struct partition_info *p = &t->partitions[i];
        assert_true(slice_compare(p->lo, p->hi) < 0);
        if (i > 0)
            assert_true(slice_equal(t->partitions[i - 1].hi, p->lo));
        for (uint32_t j = 0; j < i; j++)
            assert_int_not_equal(t->partitions[j].id, p->id);
    }
}

void catalog_fixture_is_complete(const struct table *t)
{
    int64_t sums[ADMIT_KINDS] = {0};
    fixture_covers(t);
    for (uint32_t i = 0; i < t->partition_count; i++) {
        for (int kind = 0; kind < ADMIT_KINDS; kind++)
            sums[kind] += t->partitions[i].rate_mcu[kind];
    }
    assert_int_equal(sums[ADMIT_READ], t->rcu * 1000);
    assert_int_equal(sums[ADMIT_WRITE], t->wcu * 1000);
}

void catalog_fixture_reloads(const struct catalog_fixture *w)
{
    struct catalog *again = catalog_create();
    struct buffer a = {0}, b = {0};
    static const uint8_t table[9] = {0, 0, 0, 0, 't'}, counters[9] = {0, 0, 0, 0, 'c'};
    assert_int_equal(catalog_load_row(again, slice_make(table, 9), buffer_slice(&w->table_row)),
                     STATUS_OK);
    assert_int_equal(
        catalog_load_row(again, slice_make(counters, 9), buffer_slice(&w->counters_row)),
        STATUS_OK);
    table_encode(&a, catalog_fixture_table(w));
    table_encode(&b, catalog_find(again, slice_of("t")));
    assert_true(slice_equal(buffer_slice(&a), buffer_slice(&b)));
    buffer_deinit(&a);
    buffer_deinit(&b);
    catalog_destroy(again);
}

/* ---- sharded keys ---- */

enum reply_code catalog_fixture_tag(struct catalog_fixture *w, const char *value)
{
    struct buffer b = {0};
    tag_append(&b, &(struct tag){slice_of(KEY_SHARDING_TAG), slice_of(value != NULL ? value : ""),
                                 value != NULL});
    struct catalog_command c = catalog_fixture_command(w, CATALOG_UPDATE);
    c.spec.billing = BILLING_AS_IT_IS;
    c.spec.tags = buffer_slice(&b);
    const enum reply_code code = catalog_fixture_apply(w, &c);
    buffer_deinit(&b);
    return code;
}

const struct sharded_key *catalog_fixture_sharded_key(const struct catalog_fixture *w,
                                                      const char *key)
{
    struct buffer b = {0};
    catalog_fixture_append_key(&b, w, key);
    const struct sharded_key *k =
        key_sharding_find(catalog_fixture_table(w)->sharded_keys, buffer_slice(&b));
    buffer_deinit(&b);
    return k;
}

void catalog_fixture_append_key(struct buffer *out, const struct catalog_fixture *w,
                                const char *key)
{
    const struct attr attr = {.type = ATTR_STRING, .body = slice_of(key)};
    storage_key_append_collection(out, catalog_fixture_table(w)->id, &attr);
}

enum reply_code catalog_fixture_change_shards(struct catalog_fixture *w,
                                              enum key_shards_change change, const char *key,
                                              uint32_t shards)
{
    const struct sharded_key *k = catalog_fixture_sharded_key(w, key);
    const uint64_t version = k != NULL ? k->version : 0;
    return catalog_fixture_change_shards_at(w, change, key, shards, version);
}

enum reply_code catalog_fixture_change_shards_at(struct catalog_fixture *w,
                                                 enum key_shards_change change, const char *key,
                                                 uint32_t shards, uint64_t version)
{
    uint32_t fixed;
    struct buffer b = {0};
    catalog_fixture_append_key(&b, w, key);
    const bool counts =
        table_key_sharding_mode(catalog_fixture_table(w), &fixed) == KEY_SHARDING_COUNTER;
    const struct decision d = {.table_id = catalog_fixture_table(w)->id,
                               .key_shards = {.change = change,
                                              .key = buffer_slice(&b),
                                              .version = version,
                                              .shards = shards,
                                              .counter = change == KEY_SHARDS_GROW && counts}};
    const enum reply_code code = catalog_fixture_decide(w, CATALOG_KEY_SHARDS, &d);
    buffer_deinit(&b);
    return code;
}

/* ---- merges, and what may happen meanwhile ---- */

const struct partition_info *catalog_fixture_at(const struct catalog_fixture *w, uint32_t i)
{
    assert_true(i < catalog_fixture_table(w)->partition_count);
    return &catalog_fixture_table(w)->partitions[i];
}

struct decision catalog_fixture_merge_command(enum merge_command command,
                                              const struct partition_info *p)
{
    struct decision d = {.table_id = p->table_id,
                         .partition = p->id,
                         .epoch = p->epoch,
                         .merge = command,
                         .has_event = true,
                         .event = {.kind = EVENT_MERGE, .reason = slice_of("why")}};
    if (command == MERGE_BEGIN) {
        d.merge_with = p[-1].id;
        d.merge_with_epoch = p[-1].epoch;
    }
    if (command == MERGE_ABSORB_IT) {
        d.frozen_index = 77;
        d.frozen_term = 5;
    }
    return d;
}

enum reply_code catalog_fixture_merge(struct catalog_fixture *w, enum merge_command command,
                                      const struct partition_info *p)
{
    const struct decision d = catalog_fixture_merge_command(command, p);
    return catalog_fixture_decide(w, CATALOG_MERGE, &d);
}

enum reply_code catalog_fixture_halve(struct catalog_fixture *w, const struct partition_info *p)
{
    uint8_t key[12];
    struct table_split s = {
        .table_id = p->table_id, .partition = p->id, .epoch = p->epoch, .point_count = 1};
    uint64_t hash = 0;
    for (size_t i = 4; i < 12 && i < p->lo.size; i++)
        hash |= (uint64_t)p->lo.data[i] << (8 * (11 - i));
    s.points[0] = catalog_fixture_key(s.table_id, hash + 12345, key);
    table_split_share_equally(&s);
    return catalog_fixture_split(w, &s);
}

enum reply_code catalog_fixture_move(struct catalog_fixture *w, const struct partition_info *p,
                                     uint32_t from, uint32_t to)
{
    struct decision d = {.table_id = p->table_id,
                         .partition = p->id,
                         .epoch = p->epoch,
                         .from_node = from,
                         .to_node = to};
    return catalog_fixture_decide(w, CATALOG_MOVE, &d);
}

void catalog_fixture_end_move(struct catalog_fixture *w, const struct partition_info *p)
{
    struct decision d = {.table_id = p->table_id,
                         .partition = p->id,
                         .epoch = p->epoch,
                         .from_node = raft_member_node(p->leaving)};
    assert_int_equal(catalog_fixture_decide(w, CATALOG_LET_GO, &d), REPLY_OK);
    assert_int_equal(catalog_fixture_decide(w, CATALOG_LEFT, &d), REPLY_OK);
}

bool catalog_fixture_replace(struct catalog_fixture *w)
{
    bool needed = catalog_needs_replacing(w->catalog, catalog_fixture_table(w));
    struct catalog_command c = catalog_fixture_command(w, CATALOG_REPLACE);
    c.table_id = catalog_fixture_table(w)->id;
    assert_int_equal(catalog_fixture_apply(w, &c), REPLY_OK);
    return needed;
}
