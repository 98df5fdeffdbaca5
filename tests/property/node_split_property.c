/* A node whose partitions are split and merged again and again, at any moment of which it may die:
 * the map covers the table, no key is lost, doubled or out of its range, and what item collections
 * hold is counted right. */
#include "tests/check.h"

#include "base/config.h"
#include "engine/catalog/catalog.h"
#include "engine/catalog/split.h"
#include "engine/node/core/collection.h"
#include "tests/support/lone_node.h"

enum {
    NAMES = 40,
    PENDING_MAX = 32,
    PARTITIONS_MAX = 30
};

struct pending {
    uint64_t id;
    uint32_t name;
    uint32_t version; /* 0: a deletion */
};

struct model {
    uint32_t version[NAMES]; /* 0: not there */
    struct pending pending[PENDING_MAX];
    size_t pending_count;
    uint32_t versions;
    uint32_t splits;
    uint32_t merges; /* asked for */
    uint32_t merged;
    uint32_t last_count; /* of partitions */
    uint32_t refused;    /* writes that a split had come before */
    uint32_t full;       /* writes that an item collection had no room for */
    uint32_t crashes;
};

static uint32_t merges, merged; /* of all seeds */

/* ---- writes, answered or not ---- */

static void take_answers(struct lone_node *w, struct model *m)
{
    for (size_t i = 0; i < w->answer_count; i++) {
        size_t at = 0;
        while (at < m->pending_count && m->pending[at].id != w->answers[i].id)
            at++;
        if (at == m->pending_count)
            continue; /* to a split */
        enum reply_code code = w->answers[i].code;
        assert_true(code == REPLY_OK || code == REPLY_STALE_MAP || code == REPLY_NOT_LEADER ||
                    code == REPLY_OVERLOADED || code == REPLY_WRONG_PARTITION ||
                    (code == REPLY_COLLECTION_FULL && w->collections > 0));
        if (code == REPLY_OK)
            m->version[m->pending[at].name] = m->pending[at].version;
        m->refused += code == REPLY_STALE_MAP;
        m->full += code == REPLY_COLLECTION_FULL;
        m->pending_count--;
        memmove(&m->pending[at], &m->pending[at + 1],
                (m->pending_count - at) * sizeof m->pending[0]);
    }
    w->answer_count = 0;
}

static void write_some(struct lone_node *w, struct model *m, struct prng *p)
{
    if (m->pending_count == PENDING_MAX)
        return;
    struct pending e = {.name = (uint32_t)prng_below(p, NAMES)};
    if (prng_below(p, 4) > 0)
        e.version = ++m->versions;
    take_answers(w, m);
    e.id = w->next_id;
    m->pending[m->pending_count++] = e;
    if (e.version > 0)
        lone_put(w, e.name, e.version);
    else
        lone_send_to(w, REQUEST_DELETE, e.name);
    take_answers(w, m);
}

/* ---- the map ---- */

static void fetch_whole_table(struct lone_node *w)
{
    lone_fetch_table(w);
    const struct table *t = &w->table;
    uint32_t first = __builtin_bswap32(t->id), behind = __builtin_bswap32(t->id + 1);
    assert_true(slice_equal(t->partitions[0].lo, slice_make(&first, 4)));
    assert_true(slice_equal(t->partitions[t->partition_count - 1].hi, slice_make(&behind, 4)));
    for (uint32_t i = 1; i < t->partition_count; i++)
        assert_true(slice_equal(t->partitions[i - 1].hi, t->partitions[i].lo));
    w->answer_count = 0;
}

static void settle(struct lone_node *w, struct model *m)
{
    for (int tries = 0; tries < 400; tries++) {
        lone_write_all(w);
        take_answers(w, m);
        if (node_is_ready(w->node)) {
            fetch_whole_table(w);
            if (!table_is_changing(&w->table))
                break;
        }
        lone_pass(w, 50);
    }
    assert_false(table_is_changing(&w->table));
    for (int tries = 0; tries < 20; tries++) { /* the children lead, everything is counted */
        lone_pass(w, 20);
        lone_write_all(w);
        take_answers(w, m);
    }
}

/* What was not answered may have been done, or not. */
static void crash(struct lone_node *w, struct model *m, struct prng *p)
{
    if (w->in_flight != NULL && prng_below(p, 2) == 0)
        lone_write_reaches_disk(w);
    take_answers(w, m);
    lone_crash(w);
    w->answer_count = 0;
    m->crashes++;
    settle(w, m);
    for (size_t i = 0; i < m->pending_count; i++) {
        uint32_t name = m->pending[i].name, now = lone_get(w, name);
        bool known = now == m->version[name];
        for (size_t j = 0; j < m->pending_count; j++)
            known |= m->pending[j].name == name && m->pending[j].version == now;
        assert_true(known);
        m->version[name] = now;
    }
    w->answer_count = 0;
    m->pending_count = 0;
}

static void some_event(struct lone_node *w, struct model *m, struct prng *p)
{
    switch (prng_below(p, 6)) {
    case 0:
    case 1:
        write_some(w, m, p);
        break;
    case 2:
    case 3:
        if (w->in_flight != NULL || lone_write_begin(w))
            lone_write_end(w, 0);
        break;
    case 4:
        lone_pass(w, (int64_t)prng_below(p, 12));
        break;
    default:
        if (w->checkpoint)
            lone_checkpoint_end(w);
    }
    take_answers(w, m);
}

static void split_partition(struct lone_node *w, struct model *m, struct prng *p)
{
    struct buffer body = {0}, key = {0};
    fetch_whole_table(w);
    if (w->table.partition_count >= PARTITIONS_MAX)
        return;
    lone_key(w, (uint32_t)prng_below(p, NAMES));
    buffer_append_slice(&key, w->collections > 0 ? collection_key(buffer_slice(&w->key))
                                                 : buffer_slice(&w->key));
    const struct partition_info *at = table_partition_of(&w->table, buffer_slice(&key));
    struct table_split s = {.table_id = w->table.id,
                            .partition = at->id,
                            .epoch = at->epoch,
                            .point_count = 1,
                            .points = {buffer_slice(&key)}};
    table_split_share_equally(&s);
    table_split_encode(&body, &s);
    struct request r = {.op = REQUEST_TABLE_SPLIT, .table_split.split = buffer_slice(&body)};
    if (!slice_equal(at->lo, s.points[0])) {
        lone_send(w, &r);
        m->splits++;
    }
    buffer_deinit(&body);
    buffer_deinit(&key);
}

static void merge(struct lone_node *w, struct model *m, struct prng *p)
{
    struct buffer body = {0};
    fetch_whole_table(w);
    if (w->table.partition_count < 2)
        return;
    uint32_t upper = 1 + (uint32_t)prng_below(p, w->table.partition_count - 1);
    const struct partition_info *low = &w->table.partitions[upper - 1], *up = low + 1;
    struct decision d = {.table_id = w->table.id,
                         .partition = up->id,
                         .epoch = up->epoch,
                         .merge = MERGE_BEGIN,
                         .merge_with = low->id,
                         .merge_with_epoch = low->epoch};
    decision_encode(&body, &d);
    struct request r = {.op = REQUEST_DECIDE, .decide = {buffer_slice(&body), CATALOG_MERGE}};
    m->last_count = w->table.partition_count;
    lone_send(w, &r);
    m->merges++;
    buffer_deinit(&body);
}

/* ---- everything ---- */

static void check_all(struct lone_node *w, const struct model *m)
{
    int64_t items = 0, scanned = 0;
    fetch_whole_table(w);
    for (uint32_t name = 0; name < NAMES; name++) {
        assert_int_equal(lone_get(w, name), m->version[name]);
        items += m->version[name] != 0;
    }
    for (uint32_t i = 0; i < w->table.partition_count; i++) {
        const struct partition_info *p = &w->table.partitions[i];
        struct request r = {.op = REQUEST_RANGE,
                            .partition = p->id,
                            .epoch = p->epoch,
                            .range = {.lo = p->lo, .bytes_max = UINT32_MAX, .consistent = true}};
        lone_send(w, &r);
        lone_assert_answer(w, REPLY_OK);
        scanned += lone_answer(w)->count;
    }
    assert_int_equal(scanned, items);
    lone_assert_verified(w, items);
    w->answer_count = 0;
}

static void split_and_merge_under_writes(struct prng *p)
{
    struct lone_node w;
    struct model m = {.versions = 0};
    lone_init(&w, PROFILE_OFF);
    lone_set(&w, "checkpoint_ms", prng_below(p, 2) == 0 ? "10" : "5000");
    w.collections = prng_below(p, 2) == 0 ? 0 : NAMES / 2;
    lone_set(&w, "collection_max_bytes", prng_below(p, 2) == 0 ? "10GiB" : "4KiB");
    lone_set(&w, "merge_freeze_ms", prng_below(p, 3) == 0 ? "10" : "1000");
    lone_open_table(&w, 100, 100);
    for (int round = 0; round < 25; round++) {
        for (uint64_t i = prng_below(p, 10); i > 0; i--)
            some_event(&w, &m, p);
        m.last_count = 0;
        if (prng_below(p, 5) < 3)
            split_partition(&w, &m, p);
        else
            merge(&w, &m, p);
        for (uint64_t i = prng_below(p, 25); i > 0; i--)
            some_event(&w, &m, p); /* by the map from before the split */
        if (prng_below(p, 4) == 0)
            crash(&w, &m, p);
        settle(&w, &m);
        assert_int_equal(m.pending_count, 0);
        check_all(&w, &m);
        m.merged += w.table.partition_count < m.last_count;
    }
    crash(&w, &m, p);
    check_all(&w, &m);
    assert_true(m.splits > 5);
    merged += m.merged;
    merges += m.merges;
    lone_deinit(&w);
}

TEST(a_node_that_is_split_and_merged_at_any_moment_loses_and_doubles_nothing)
{
    check_seeds(25, split_and_merge_under_writes);
    print_message("%u of %u merges were done\n", merged, merges);
    assert_true(merged > merges / 3);
}

/* ---- a table that is deleted while it is split or merged ---- */

static void delete_while_it_is_split_or_merged(struct prng *p)
{
    struct lone_node w;
    struct model m = {.versions = 0};
    lone_init(&w, PROFILE_OFF);
    lone_open_table(&w, 100, 100);
    for (int i = 0; i < 20; i++)
        some_event(&w, &m, p);
    split_partition(&w, &m, p);
    if (prng_below(p, 2) == 0) {
        settle(&w, &m);
        merge(&w, &m, p);
    }
    for (uint64_t i = prng_below(p, 12); i > 0; i--) {
        if (w.in_flight != NULL || lone_write_begin(&w))
            lone_write_end(&w, 0);
        lone_pass(&w, (int64_t)prng_below(p, 3));
        take_answers(&w, &m);
    }
    struct request r = {.op = REQUEST_TABLE_DELETE, .table.name = slice_of("t")};
    lone_send(&w, &r);
    if (prng_below(p, 3) == 0)
        lone_crash(&w);
    for (int i = 0; i < 100; i++) {
        lone_write_all(&w);
        lone_pass(&w, 50);
        if (i == 40) { /* in case the request was lost */
            lone_send(&w, &r);
        }
        w.answer_count = 0;
    }
    struct request stats = {.op = REQUEST_STATS};
    lone_send(&w, &stats);
    lone_assert_answer(&w, REPLY_OK);
    assert_int_equal(lone_answer(&w)->body.size, 0); /* no replica is left */
    lone_deinit(&w);
}

TEST(a_table_that_is_deleted_while_it_is_split_or_merged_leaves_nothing)
{
    check_seeds(100, delete_while_it_is_split_or_merged);
}
