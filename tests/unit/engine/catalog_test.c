/* The catalog as a state machine: commands in, tables and rows out. */
#include "tests/check.h"

#include "base/settings/admission.h"
#include "base/settings/replication.h"
#include "base/settings/tables.h"
#include "engine/admission/share.h"
#include "engine/catalog/catalog.h"

enum {
    ROWS_MAX = 200,
    NAMES = 12,
    NODES = 5
};

/* ---- a catalog, and the rows that would be on disk ---- */

struct row {
    struct buffer key;
    struct buffer value;
};

struct world {
    struct catalog *catalog;
    struct config config;
    struct row rows[ROWS_MAX];
    size_t row_count;
    int64_t wall_ms;
    struct catalog_result result;
};

static void add_nodes(struct world *w);

static void world_init(struct world *w)
{
    *w = (struct world){.catalog = catalog_create(), .wall_ms = 1000};
    config_init(&w->config, PROFILE_AWS);
    config_edit_replication(&w->config)->replicas = 1;
    add_nodes(w);
}

static void world_deinit(struct world *w)
{
    catalog_destroy(w->catalog);
    for (size_t i = 0; i < ROWS_MAX; i++) {
        buffer_deinit(&w->rows[i].key);
        buffer_deinit(&w->rows[i].value);
    }
}

static void store_row(struct world *w, const struct catalog_row *r)
{
    size_t i = 0;
    while (i < w->row_count && !slice_equal(buffer_slice(&w->rows[i].key), r->key))
        i++;
    if (r->value.data == NULL) {
        assert_true(i < w->row_count);
        struct row gone = w->rows[i];
        w->rows[i] = w->rows[--w->row_count];
        w->rows[w->row_count] = gone;
        return;
    }
    assert_true(i < ROWS_MAX);
    if (i == w->row_count)
        w->row_count++;
    buffer_clear(&w->rows[i].key);
    buffer_clear(&w->rows[i].value);
    buffer_append_slice(&w->rows[i].key, r->key);
    buffer_append_slice(&w->rows[i].value, r->value);
}

static enum reply_code apply(struct world *w, struct catalog_command *command)
{
    struct buffer b = {0};
    memset(command->uuid, (int)(w->wall_ms % 251), sizeof command->uuid);
    catalog_command_encode(&b, command);
    catalog_apply(w->catalog, buffer_slice(&b), &w->result);
    buffer_deinit(&b);
    for (uint32_t i = 0; i < w->result.row_count; i++)
        store_row(w, &w->result.rows[i]);
    assert_true(w->result.code == REPLY_OK || w->result.row_count == 0);
    return w->result.code;
}

static struct catalog_command command_of(struct world *w, enum catalog_op op, const char *name,
                                         int64_t rcu, int64_t wcu)
{
    struct catalog_command c;
    catalog_command_init(&c, op, &w->config, NODES, ++w->wall_ms);
    bool on_demand = rcu == 0 && wcu == 0;
    c.spec = (struct table_spec){.name = slice_of(name),
                                 .partition_key = {slice_of("id"), ATTR_STRING},
                                 .billing = on_demand ? BILLING_ON_DEMAND : BILLING_PROVISIONED,
                                 .rcu = rcu,
                                 .wcu = wcu};
    return c;
}

/* All nodes have been heard of, so that tables may be placed on them. */
static void add_nodes(struct world *w)
{
    for (uint32_t node = 1; node <= NODES; node++) {
        struct catalog_command c = command_of(w, CATALOG_NODE, "any", 0, 0);
        c.node = node;
        c.generation = 100 + node;
        assert_int_equal(apply(w, &c), REPLY_OK);
    }
}

static enum reply_code create(struct world *w, const char *name, int64_t rcu, int64_t wcu)
{
    struct catalog_command c = command_of(w, CATALOG_CREATE, name, rcu, wcu);
    return apply(w, &c);
}

static enum reply_code update(struct world *w, const char *name, int64_t rcu, int64_t wcu)
{
    struct catalog_command c = command_of(w, CATALOG_UPDATE, name, rcu, wcu);
    return apply(w, &c);
}

static enum reply_code remove_table(struct world *w, const char *name)
{
    struct catalog_command c = command_of(w, CATALOG_DELETE, name, 0, 0);
    return apply(w, &c);
}

static enum reply_code reconcile(struct world *w, uint32_t id)
{
    const struct table *t = catalog_find_id(w->catalog, id);
    struct catalog_command c = command_of(w, CATALOG_RECONCILED, "any", 0, 0);
    c.table_id = id;
    if (t != NULL)
        catalog_command_reconciled(&c, t);
    if (t != NULL && t->status == TABLE_DELETING && !t->no_pending_parts) {
        apply(w, &c);
        catalog_command_reconciled(&c, catalog_find_id(w->catalog, id));
    }
    return apply(w, &c);
}

static const struct table *table_named(const struct world *w, const char *name)
{
    return catalog_find(w->catalog, slice_of(name));
}

/* ---- what always holds ---- */

/* The partitions cover the table's keys without gap or overlap, and share its throughput exactly.
 */
static void assert_whole(const struct table *t)
{
    int64_t sums[ADMIT_KINDS] = {0};
    for (uint32_t i = 0; i < t->partition_count; i++) {
        const struct partition_info *p = &t->partitions[i];
        assert_int_equal(p->table_id, t->id);
        assert_true(partition_node(p, 0) >= 1 && partition_node(p, 0) <= NODES);
        assert_true(slice_compare(p->lo, p->hi) < 0);
        if (i > 0)
            assert_true(slice_equal(t->partitions[i - 1].hi, p->lo));
        assert_ptr_equal(table_partition_of(t, p->lo), p);
        for (int kind = 0; kind < ADMIT_KINDS; kind++)
            sums[kind] += p->rate_mcu[kind];
    }
    uint32_t first = __builtin_bswap32(t->id), behind = __builtin_bswap32(t->id + 1);
    assert_true(slice_equal(t->partitions[0].lo, slice_make(&first, 4)));
    assert_true(slice_equal(t->partitions[t->partition_count - 1].hi, slice_make(&behind, 4)));
    bool provisioned = t->billing == BILLING_PROVISIONED;
    int64_t units[] = {[ADMIT_READ] = t->rcu, [ADMIT_WRITE] = t->wcu};
    for (int kind = 0; kind < ADMIT_KINDS; kind++)
        assert_int_equal(sums[kind], 1000 * (provisioned ? units[kind] : t->reserved[kind]));
}

/* No node reserves more than it has. */
static void assert_nodes_have_what_they_reserve(const struct world *w)
{
    int64_t reserved[NODES + 1][ADMIT_KINDS] = {0};
    struct slice name = {NULL, 0};
    for (const struct table *t; (t = catalog_after(w->catalog, name)) != NULL; name = t->name) {
        for (uint32_t i = 0; i < t->partition_count; i++) {
            for (uint32_t kind = 0; kind < ADMIT_KINDS; kind++)
                reserved[partition_node(&t->partitions[i], 0)][kind] +=
                    t->partitions[i].rate_mcu[kind];
        }
    }
    for (int node = 1; node <= NODES; node++) {
        assert_true(reserved[node][ADMIT_READ] <= config_admission(&w->config)->node_rcu * 1000);
        assert_true(reserved[node][ADMIT_WRITE] <= config_admission(&w->config)->node_wcu * 1000);
    }
}

static void assert_same_table(const struct table *a, const struct table *b)
{
    struct buffer x = {0}, y = {0};
    table_encode(&x, a);
    table_encode(&y, b);
    assert_true(slice_equal(buffer_slice(&x), buffer_slice(&y)));
    buffer_deinit(&x);
    buffer_deinit(&y);
}

/* A catalog made of the rows, in any order, is the same catalog. */
static struct catalog *reload(const struct world *w, struct prng *p)
{
    struct catalog *c = catalog_create();
    size_t order[ROWS_MAX];
    for (size_t i = 0; i < w->row_count; i++) {
        size_t j = prng_below(p, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (size_t i = 0; i < w->row_count; i++) {
        const struct row *r = &w->rows[order[i]];
        assert_int_equal(catalog_load_row(c, buffer_slice(&r->key), buffer_slice(&r->value)),
                         STATUS_OK);
    }
    struct slice name = {NULL, 0};
    const struct table *t;
    while ((t = catalog_after(w->catalog, name)) != NULL) {
        assert_same_table(t, catalog_after(c, name));
        name = t->name;
    }
    assert_null(catalog_after(c, name));
    return c;
}

/* ---- a random life against a naive model ---- */

struct known {
    enum table_status status; /* 0: not there */
    uint32_t id;
    int64_t rcu;
    int64_t wcu;
};

static void name_of(size_t i, char name[8])
{
    snprintf(name, 8, "table%zu", i);
}

static void change_something(struct world *w, struct known *k, size_t i, struct prng *p)
{
    char name[8];
    int64_t rcu = prng_below(p, 4) == 0 ? 0 : 1 + (int64_t)prng_below(p, 9000);
    int64_t wcu = rcu == 0 ? 0 : 1 + (int64_t)prng_below(p, 5000);
    name_of(i, name);
    enum reply_code code;
    switch (prng_below(p, 4)) {
    case 0:
        code = create(w, name, rcu, wcu);
        if (k->status != 0)
            assert_int_equal(code, REPLY_TABLE_EXISTS);
        else if (code == REPLY_OK)
            *k = (struct known){TABLE_CREATING, w->result.table->id, rcu, wcu};
        else
            assert_int_equal(code, REPLY_LIMIT_EXCEEDED); /* the nodes are full */
        return;
    case 1:
        code = update(w, name, rcu, wcu);
        if (k->status == TABLE_ACTIVE && code == REPLY_OK)
            *k = (struct known){rcu == k->rcu && wcu == k->wcu ? TABLE_ACTIVE : TABLE_UPDATING,
                                k->id, rcu, wcu};
        else if (k->status == TABLE_ACTIVE)
            assert_int_equal(code, REPLY_LIMIT_EXCEEDED);
        else
            assert_int_equal(code, k->status == 0 ? REPLY_TABLE_NOT_FOUND : REPLY_TABLE_BUSY);
        return;
    case 2:
        code = remove_table(w, name);
        if (k->status == TABLE_ACTIVE)
            k->status = TABLE_DELETING;
        else
            assert_int_equal(code, k->status == 0 ? REPLY_TABLE_NOT_FOUND : REPLY_TABLE_BUSY);
        return;
    default:
        assert_int_equal(reconcile(w, k->id), REPLY_OK);
        if (k->status == TABLE_DELETING)
            *k = (struct known){0};
        else if (k->status != 0)
            k->status = TABLE_ACTIVE;
    }
}

static void commands_do_what_a_naive_model_does(struct prng *p)
{
    struct world w;
    struct known known[NAMES] = {0};
    uint32_t highest_table = 0, highest_partition = 0;
    world_init(&w);
    for (int step = 0; step < 600; step++) {
        size_t i = prng_below(p, NAMES);
        char name[8];
        name_of(i, name);
        bool was_there = known[i].status != 0;
        change_something(&w, &known[i], i, p);
        const struct table *t = table_named(&w, name);
        assert_int_equal(t != NULL, known[i].status != 0);
        if (t != NULL) {
            assert_int_equal(t->status, known[i].status);
            assert_int_equal(t->rcu, known[i].rcu);
            assert_int_equal(t->wcu, known[i].wcu);
            assert_whole(t);
        }
        if (t != NULL && !was_there) { /* ids are never used again, over restarts too */
            assert_true(t->id > highest_table && t->partitions[0].id > highest_partition);
            highest_table = t->id;
            highest_partition = t->partitions[t->partition_count - 1].id;
        }
        assert_nodes_have_what_they_reserve(&w);
        if (prng_below(p, 20) == 0) {
            struct catalog *again = reload(&w, p);
            catalog_destroy(w.catalog);
            w.catalog = again;
        }
    }
    world_deinit(&w);
}

TEST(any_life_is_as_a_naive_model_has_it)
{
    check_seeds(20, commands_do_what_a_naive_model_does);
}

TEST(a_damaged_row_is_refused)
{
    struct world w;
    world_init(&w);
    assert_int_equal(create(&w, "a", 1, 2000), REPLY_OK);
    for (size_t r = 0; r < w.row_count; r++) {
        struct buffer *value = &w.rows[r].value;
        for (size_t i = 0; i < value->size; i++) {
            struct catalog *c = catalog_create();
            value->data[i] ^= 0x20;
            assert_int_equal(catalog_load_row(c, buffer_slice(&w.rows[r].key), buffer_slice(value)),
                             STATUS_CORRUPT);
            value->data[i] ^= 0x20;
            catalog_destroy(c);
        }
    }
    world_deinit(&w);
}

/* Founders that the catalog has not heard of are no lost ones: it would replace them all at once.
 */
TEST(only_a_node_that_lives_anew_has_its_replicas_replaced)
{
    struct world w;
    world_init(&w);
    struct catalog *before = w.catalog;
    w.catalog = catalog_create(); /* one that knows no node */
    struct buffer group = {0};
    const struct partition_info info = {.id = CATALOG_GROUP,
                                        .lo = slice_of("a"),
                                        .hi = slice_of("b"),
                                        .member_count = 3,
                                        .members = {raft_member_id(1, 101, 0),
                                                    raft_member_id(2, 102, 0),
                                                    raft_member_id(3, 103, 0)}};
    partition_info_encode(&group, &info);
    struct catalog_command c = command_of(&w, CATALOG_FOUND, "any", 0, 0);
    c.group = buffer_slice(&group);
    assert_int_equal(apply(&w, &c), REPLY_OK);
    assert_false(catalog_needs_replacing(w.catalog, catalog_itself(w.catalog)));
    c = command_of(&w, CATALOG_NODE, "any", 0, 0);
    c.node = 2;
    c.generation = 999;
    assert_int_equal(apply(&w, &c), REPLY_OK);
    assert_true(catalog_needs_replacing(w.catalog, catalog_itself(w.catalog)));
    c = command_of(&w, CATALOG_REPLACE, "any", 0, 0);
    assert_int_equal(apply(&w, &c), REPLY_OK);
    const struct partition_info *p = &catalog_itself(w.catalog)->partitions[0];
    assert_int_equal(p->joined, 1U << 1);
    assert_int_equal(raft_member_generation(p->members[1]), 999);
    assert_true(p->members[0] == info.members[0] && p->members[2] == info.members[2]);
    buffer_deinit(&group);
    catalog_destroy(w.catalog);
    w.catalog = before;
    world_deinit(&w);
}

/* ---- weights ---- */

TEST(partitions_have_the_weight_of_their_table)
{
    struct world w;
    struct buffer bytes = {0};
    struct partition_info decoded;
    world_init(&w);
    struct catalog_command c = command_of(&w, CATALOG_CREATE, "any", 10, 5000);
    c.spec.weight = 7;
    assert_int_equal(apply(&w, &c), REPLY_OK);
    const struct table *t = w.result.table;
    assert_int_equal(t->weight, 7);
    assert_true(t->partition_count > 1);
    for (uint32_t i = 0; i < t->partition_count; i++)
        assert_int_equal(t->partitions[i].weight, 7);
    partition_info_encode(&bytes, &t->partitions[1]);
    assert_int_equal(partition_info_decode(buffer_slice(&bytes), &decoded), STATUS_OK);
    assert_int_equal(decoded.weight, 7);
    decoded.weight = TABLE_WEIGHT_MAX + 1;
    struct buffer wrong = {0};
    partition_info_encode(&wrong, &decoded);
    assert_int_equal(partition_info_decode(buffer_slice(&wrong), &decoded), STATUS_MALFORMED);
    buffer_deinit(&wrong);
    buffer_deinit(&bytes);
    world_deinit(&w);
}

/* ---- what a table only tells again ---- */

static void create_active(struct world *w)
{
    assert_int_equal(create(w, "t", 10, 5), REPLY_OK);
    assert_int_equal(reconcile(w, table_named(w, "t")->id), REPLY_OK);
}

static enum reply_code tag(struct world *w, const char *key, const char *value)
{
    struct buffer change = {0};
    struct catalog_command c = command_of(w, CATALOG_UPDATE, "t", 0, 0);
    c.spec.billing = BILLING_AS_IT_IS;
    tag_append(&change, &(struct tag){.key = slice_of(key),
                                      .value = slice_of(value == NULL ? "" : value),
                                      .set = value != NULL});
    c.spec.tags = buffer_slice(&change);
    enum reply_code code = apply(w, &c);
    buffer_deinit(&change);
    return code;
}

TEST(a_table_has_at_most_fifty_tags)
{
    struct world w;
    char key[8];
    world_init(&w);
    create_active(&w);
    for (int i = 0; i < TAGS_MAX; i++) {
        snprintf(key, sizeof key, "%d", i);
        assert_int_equal(tag(&w, key, ""), REPLY_OK);
    }
    assert_int_equal(tag(&w, "more", ""), REPLY_TABLE_INVALID);
    assert_true(slice_is(w.result.text,
                         "Number of Tags exceed the current limit for the provided ResourceArn"));
    assert_int_equal(tag(&w, "49", "anew"), REPLY_OK);
    assert_int_equal(tag(&w, "0", NULL), REPLY_OK);
    assert_int_equal(tag(&w, "more", ""), REPLY_OK);
    world_deinit(&w);
}

TEST(a_table_without_a_billing_mode_is_not_created)
{
    struct world w;
    struct buffer b = {0};
    world_init(&w);
    struct catalog_command decoded, c = command_of(&w, CATALOG_CREATE, "t", 10, 5);
    catalog_command_encode(&b, &c);
    assert_int_equal(catalog_command_decode(buffer_slice(&b), &decoded), STATUS_OK);
    c.spec.billing = BILLING_AS_IT_IS;
    buffer_clear(&b);
    catalog_command_encode(&b, &c);
    assert_int_equal(catalog_command_decode(buffer_slice(&b), &decoded), STATUS_MALFORMED);
    buffer_deinit(&b);
    world_deinit(&w);
}