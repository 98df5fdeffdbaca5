/* catalog_cases_test.c - what the catalog makes of commands: tests/cases/catalog
 * (tests/support/case_file.h, case_words.h, catalog_world.h). A refused command is shown, with the
 * reason. Partitions are named by their place from 0; `epoch=` and `with-epoch=` are differences.
 *
 *   settings NAME=VALUE..          of each cluster from here on. only=A,B: of the parts of
 *                                  the controller (adaptive, merge, ..) only these are on;
 *                                  only=none: no part is
 *   cluster NODES [NAME=VALUE..]   an empty catalog that has heard of these nodes
 *   set NAME=VALUE..               from now on
 *   at TIME, after TIME            the wall clock; agreed TIME: other clocks are so much behind
 *   create NAME SPEC.., update NAME SPEC.., delete NAME      SPEC: sorted, on-demand, rcu, wcu,
 *                                  warm=READ/WRITE, max=READ/WRITE, gac, weight, stream, ttl,
 *                                  no-ttl, tag=KEY=VALUE, untag, key-sharding, class, encryption,
 *                                  encryption-key, protect, indexes=NAME:READS,.., index-max,
 *                                  add=NAME:KEY:TYPE, add-sort
 *   table NAME SPEC.. [times=N]    created and settled, with its indexes
 *   settle NAME                    the nodes have done what it asks for now
 *   remember NAME, late            the word that this is done comes later
 *   split NAME I PIECES            evenly, or at=HASH (hexadecimal, or +N above the lowest), or
 *                                  key=KEY [behind]; shares=READ/WRITE in ppm, of the first piece
 *   move NAME I FROM TO, lead NAME I NODE, rates NAME I READ WRITE.. (mcu; =: as it is, +N: more),
 *   peak NAME READ WRITE, drain N, undrain N, merge NAME I STEP [with=I]           decisions
 *   shards NAME KEY grow|moved|shrink|discard [N] [version=N]     one about a sharded key
 *   complete NAME                  the nodes do what a merge asks for
 *   let-go NAME, erase NAME        what nodes say of replicas that leave [node=N: of this node]
 *   disk N GENERATION, replace NAME     a node has another disk; lost replicas give way
 *   count TABLE PARTITION ITEMS BYTES   a node's report
 *   describe NAME, show NAME, allocations NAME, peaks NAME, keys NAME, streams NAME, stream-shards
 *   NAME, knows PARTITION [NODE], together NAME I K, reserved NODE, events               what it
 *   has */
#include "tests/check.h"
#include "tests/support/case_file.h"
#include "tests/support/catalog_world.h"

/* ---- tables ---- */

static void print_text(struct case_words *c, const char *what, struct slice text)
{
    if (text.size > 0)
        case_print(c, ", %s %.*s", what, (int)text.size, (const char *)text.data);
}

static void print_pair(struct case_words *c, const char *what, const int64_t pair[2])
{
    if (pair[0] != 0 || pair[1] != 0)
        case_print(c, ", %s %lld/%lld", what, (long long)pair[0], (long long)pair[1]);
}

static void print_number(struct case_words *c, const char *what, int64_t number)
{
    if (number != 0)
        case_print(c, ", %s %lld", what, (long long)number);
}

static void print_stored(struct case_words *c, const struct table *t)
{
    static const char *const TTL[] = {"off", "enabling", "on", "disabling"};
    struct slice tags = t->tags;
    if (t->ttl != TTL_DISABLED || t->ttl_changed_ms != 0)
        case_print(c, ", ttl %s", TTL[t->ttl]);
    print_text(c, "by", t->ttl_attribute);
    print_text(c, "partitions expire by", t->partitions[0].ttl);
    if (t->class != TABLE_CLASS_UNSPECIFIED)
        case_print(c, ", class %d", (int)t->class);
    if (t->encryption != ENCRYPTION_UNSPECIFIED)
        case_print(c, ", encryption %s",
                   t->encryption == ENCRYPTION_WITH_KEY ? "with a key" : "by default");
    print_text(c, "key", t->encryption_key);
    for (struct tag tag; tags_next(&tags, &tag);)
        case_print(c, ", tag %.*s=%.*s", (int)tag.key.size, (const char *)tag.key.data,
                   (int)tag.value.size, (const char *)tag.value.data);
}

/* What is not as in a new table. */
static void print_described(struct case_words *c, const struct table *t)
{
    static const char *const STATUS[] = {"", "creating", "active", "updating", "deleting"};
    case_print(c, "%.*s: %s", (int)t->name.size, (const char *)t->name.data, STATUS[t->status]);
    case_print(c, "%s%s%s", t->no_pending_parts ? ", no pending parts" : "",
               table_is_splitting(t) ? ", splitting" : "", table_is_merging(t) ? ", merging" : "");
    if (t->billing == BILLING_ON_DEMAND)
        case_print(c, ", on demand");
    print_pair(c, "units", (const int64_t[]){t->rcu, t->wcu});
    print_pair(c, "warm", t->warm);
    print_pair(c, "reserved", t->reserved);
    print_pair(c, "at most", t->maximum);
    case_print(c, ", version %llu, heard %u", (unsigned long long)t->version, t->indexes_version);
    print_number(c, "partitions", t->partition_count);
    print_number(c, "increased at", t->increased_ms);
    print_number(c, "decreased at", t->decreased_ms);
    print_number(c, "decreases today", t->decreases_today);
    print_number(c, "on demand at", t->on_demand_ms[0]);
    print_number(c, "items", t->item_count);
    print_number(c, "bytes", t->size_bytes);
    print_number(c, "rows", t->rows[0].count);
    print_number(c, "bytes of rows", t->rows[0].bytes);
    print_number(c, "weight", t->weight);
    print_pair(c, "gac",
               (const int64_t[]){table_gac_setting(t->gac, t->index_of != 0, ADMIT_READ),
                                 table_gac_setting(t->gac, t->index_of != 0, ADMIT_WRITE)});
    case_print(c, "%s%s", t->protected ? ", protected" : "", table_counts(t) ? ", counts" : "");
    print_stored(c, t);
}

static void run_describe(void *world, struct case_words *c)
{
    struct case_words line = *c;
    struct buffer text = {0};
    line.out = &text;
    print_described(&line, catalog_world_table(world, case_word(c, 1)));
    case_append_text(c->out, buffer_slice(&text), false);
    buffer_deinit(&text);
}

/* ---- streams ---- */

/* Each partition is an open shard of the enabled stream; parents stand before their children. */
static void check_shards(const struct table *t, const struct table_stream *s)
{
    uint32_t open = 0;
    for (uint32_t i = 0; i < t->partition_count; i++) {
        const struct partition_info *p = &t->partitions[i];
        const struct table_shard *shard = table_stream_shard(s, p->id, p->epoch);
        assert_non_null(shard);
        assert_int_equal(shard->closed_ms, 0);
        assert_int_equal(p->stream.id, s->id);
        assert_int_equal(p->stream.view, s->view);
    }
    for (uint32_t i = 0; i < s->shard_count; i++) {
        const struct table_shard *shard = &s->shards[i], *parent;
        open += shard->closed_ms == 0;
        if (shard->parent == 0)
            continue;
        parent = table_stream_shard(s, shard->parent, shard->parent_epoch);
        assert_true(parent != NULL && parent < shard);
        assert_int_equal(shard->depth, parent->depth + 1);
    }
    assert_true(open >= t->partition_count);
}

static void run_streams(void *world, struct case_words *c)
{
    static const char *const VIEWS[] = {"off", "keys", "new", "old", "both"};
    const struct table *t = catalog_world_table(world, case_word(c, 1));
    const struct table_streams *streams = t->stream_set;
    for (uint32_t i = 0; i < streams->count; i++) {
        const struct table_stream *s = &streams->at[i];
        struct buffer label = {0};
        uint32_t open = 0;
        for (uint32_t k = 0; k < s->shard_count; k++)
            open += s->shards[k].closed_ms == 0;
        if (s->disabled_ms == 0)
            check_shards(t, s);
        table_stream_append_label(&label, s);
        assert_ptr_equal(table_streams_find_label(streams, buffer_slice(&label)), s);
        case_print(c, "stream %u of %u, %s, label %.*s, %u shards, %u open\n", s->id,
                   streams->last_id, VIEWS[s->view], (int)label.size, (const char *)label.data,
                   s->shard_count, open);
        buffer_deinit(&label);
    }
}

static void run_stream_shards(void *world, struct case_words *c)
{
    const struct table_streams *streams = catalog_world_table(world, case_word(c, 1))->stream_set;
    const struct table_stream *s = &streams->at[streams->count - 1];
    for (uint32_t i = 0; i < s->shard_count; i++) {
        const struct table_shard *shard = &s->shards[i];
        case_print(c, "/%u@%llu depth %u", shard->partition, (unsigned long long)shard->epoch,
                   shard->depth);
        print_number(c, "of", shard->parent);
        print_number(c, "closed at", shard->closed_ms);
        case_print(c, "\n");
    }
}

/* ---- the world ---- */

static void run_together(void *world, struct case_words *c)
{
    struct catalog_world *w = world;
    const bool are = catalog_stand_together(
        w->catalog, catalog_world_at(w, case_word(c, 1), case_word_number(c, 2)),
        catalog_world_at(w, case_word(c, 1), case_word_number(c, 3)));
    case_print(c, "%s\n", are ? "together" : "apart");
}

static void run_reserved(void *world, struct case_words *c)
{
    struct catalog_world *w = world;
    struct reservations reservations;
    catalog_count_reservations(w->catalog, CATALOG_TABLE_ID, &reservations);
    case_print(c, "reserved %lld writes\n",
               (long long)reservations.loads_mcu[case_word_number(c, 1)][ADMIT_WRITE] /
                   MCU_PER_UNIT);
}

static void run_cluster(void *world, struct case_words *c)
{
    struct catalog_world *w = world;
    const uint32_t nodes = (uint32_t)case_word_number(c, 1);
    catalog_world_end(w);
    catalog_world_begin(w, nodes);
    catalog_world_set(w, c, 2);
    for (uint32_t node = 1; node <= nodes; node++)
        catalog_world_add_node(w, node, node * w->generation);
}

static void run_at(void *world, struct case_words *c)
{
    struct catalog_world *w = world;
    w->wall_ms = case_word_ms(c, 1);
}

static void run_after(void *world, struct case_words *c)
{
    struct catalog_world *w = world;
    w->wall_ms += case_word_ms(c, 1);
}

static void run_agreed(void *world, struct case_words *c)
{
    struct catalog_world *w = world;
    w->behind_ms = case_word_ms(c, 1);
}

static void run_command(void *world, struct slice command, struct buffer *out)
{
    static const struct case_verb VERBS[] = {
        {.name = "cluster", .run = run_cluster},
        {.name = "at", .run = run_at},
        {.name = "after", .run = run_after},
        {.name = "agreed", .run = run_agreed},
        {.name = "describe", .run = run_describe},
        {.name = "streams", .run = run_streams},
        {.name = "stream-shards", .run = run_stream_shards},
        {.name = "together", .run = run_together},
        {.name = "reserved", .run = run_reserved},
        {.more = catalog_table_verbs},
    };
    case_words_run(VERBS, world, command, out);
}

static void *begin(void)
{
    static struct catalog_world w;
    w = (struct catalog_world){0};
    case_words_begin();
    catalog_world_begin(&w, 0);
    return &w;
}

static void end(void *world)
{
    catalog_world_end(world);
}

TEST(the_catalog_is_as_in_the_files)
{
    static const struct case_format FORMAT = {begin, end, run_command};
    case_files_run("catalog/*.case", &FORMAT);
}
