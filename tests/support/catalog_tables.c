/* catalog_tables.c - commands about tables: created, updated, deleted, settled, split,
 * described. */
#include "base/big_endian.h"
#include "base/gac_policy.h"
#include "engine/item/storage_key.h"
#include "tests/check.h"
#include "tests/support/catalog_world.h"

/* ---- specifications ---- */

/* What a command's spec borrows from. */
struct spec {
    struct table_spec *of;
    struct buffer tags, indexes, globals, add, throughput;
};

static void spec_deinit(struct spec *s)
{
    buffer_deinit(&s->tags);
    buffer_deinit(&s->indexes);
    buffer_deinit(&s->globals);
    buffer_deinit(&s->add);
    buffer_deinit(&s->throughput);
}

/* `READ/WRITE`, or the writes alone. */
static void spec_pair(struct case_words *c, const char *name, int64_t pair[2])
{
    const char *text = case_option(c, name);
    char *slash = text == NULL ? NULL : strchr(text, '/');
    if (slash != NULL) {
        *slash = '\0';
        pair[ADMIT_READ] = case_number(text);
        text = slash + 1;
    }
    if (text != NULL)
        pair[ADMIT_WRITE] = strcmp(text, "none") == 0 ? MAXIMUM_NONE : case_number(text);
}

/* `NAME:TYPE` */
static struct key_attr spec_key(char *text)
{
    char *type = strchr(text, ':');
    assert_true(type != NULL && strchr("SNB", type[1]) != NULL);
    *type = '\0';
    return (struct key_attr){slice_of(text), type[1] == 'S'   ? ATTR_STRING
                                             : type[1] == 'N' ? ATTR_NUMBER
                                                              : ATTR_BINARY};
}

/* `by-a:20,by-b:30`: global indexes by the last letter, with so many reads and 10 writes; on-demand
 * like their table; max=R/W is then theirs. */
static void spec_globals(struct case_words *c, struct spec *s, bool create)
{
    struct index list[4] = {{0}};
    struct index_set set = {s->of->partition_key, {{NULL, 0}, 0}, 0, 0, list};
    char *rest = (char *)(uintptr_t)case_option(c, "indexes");
    for (char *name; rest != NULL && (name = strtok_r(rest, ",", &rest)) != NULL; set.count++) {
        char *units = strchr(name, ':');
        assert_true(units != NULL && set.count < COUNT_OF(list));
        *units++ = '\0';
        const bool on_demand = strcmp(units, "on-demand") == 0;
        struct table_spec spec = {.name = slice_of(name),
                                  .billing = on_demand ? BILLING_ON_DEMAND : BILLING_PROVISIONED,
                                  .rcu = on_demand ? 0 : case_number(units),
                                  .wcu = on_demand ? 0 : 10};
        spec_pair(c, "index-max", spec.maximum);
        table_spec_append_sized(&s->globals, &spec);
        list[set.count] = (struct index){.name = spec.name,
                                         .partition_count = 1,
                                         .keys = {{slice_of(name + strlen(name) - 1), ATTR_STRING}},
                                         .projection = PROJECT_ALL};
    }
    if (create && set.count > 0)
        index_set_encode(&s->indexes, &set);
    s->of->globals = buffer_slice(&s->globals);
    s->of->indexes = buffer_slice(&s->indexes);
}

/* `add=NAME:KEY:TYPE`, with a sort key `add-sort=KEY:TYPE`. */
static void spec_add(struct case_words *c, struct spec *s)
{
    char *name = (char *)(uintptr_t)case_option(c, "add"),
         *sort = (char *)(uintptr_t)case_option(c, "add-sort"), *key;
    if (name == NULL)
        return;
    key = strchr(name, ':');
    *key++ = '\0';
    struct index x = {.name = slice_of(name),
                      .partition_count = 1,
                      .keys = {spec_key(key)},
                      .projection = PROJECT_ALL};
    if (sort != NULL)
        x.keys[x.partition_count + x.sort_count++] = spec_key(sort);
    const struct index_set set = {{slice_of("k"), ATTR_STRING}, {{NULL, 0}, 0}, 1, 0, &x};
    const struct table_spec units = {.name = x.name,
                                     .partition_key = x.keys[0],
                                     .billing = BILLING_PROVISIONED,
                                     .rcu = 10,
                                     .wcu = 10};
    index_set_encode(&s->add, &set);
    table_spec_encode(&s->throughput, &units);
    s->of->add_index = buffer_slice(&s->add);
    s->of->add_throughput = buffer_slice(&s->throughput);
}

static void spec_stored(struct case_words *c, struct table_spec *spec)
{
    static const char *const CLASSES[] = {"", "standard", "infrequent"},
                             *const ENCRYPTIONS[] = {"", "default", "key"},
                             *const PROTECTIONS[] = {"", "off", "on"},
                             *const STREAMS[] = {"", "off", "keys", "new", "old", "both"};
    const char *class = case_option(c, "class"), *key = case_option(c, "encryption-key"),
               *encryption = case_option(c, "encryption"), *protect = case_option(c, "protect"),
               *stream = case_option(c, "stream"), *on = case_option(c, "ttl"),
               *off = case_option(c, "no-ttl");
    if (class != NULL)
        spec->class = (enum table_class)case_choice(class, CLASSES, COUNT_OF(CLASSES));
    if (encryption != NULL)
        spec->encryption = (enum table_encryption)case_choice(encryption, ENCRYPTIONS, 3);
    if (key != NULL)
        spec->encryption_key = slice_of(key);
    if (protect != NULL)
        spec->protection = (enum table_protection)case_choice(protect, PROTECTIONS, 3);
    if (stream != NULL)
        spec->stream = (uint8_t)case_choice(stream, STREAMS, COUNT_OF(STREAMS));
    if (on != NULL || off != NULL) {
        spec->ttl = on != NULL ? TTL_ENABLING : TTL_DISABLING;
        spec->ttl_attribute = slice_of(on != NULL ? on : off);
    }
}

/* `tag=KEY=VALUE`, `untag=KEY`, `key-sharding=VALUE`: one of them. */
static void spec_tags(struct case_words *c, struct spec *s)
{
    char *tag = (char *)(uintptr_t)case_option(c, "tag");
    const char *untag = case_option(c, "untag"), *sharding = case_option(c, "key-sharding");
    if (tag != NULL) {
        char *value = strchr(tag, '=');
        *value++ = '\0';
        tag_append(&s->tags, &(struct tag){slice_of(tag), slice_of(value), true});
    }
    if (untag != NULL)
        tag_append(&s->tags, &(struct tag){slice_of(untag), slice_of(""), false});
    if (sharding != NULL)
        tag_append(&s->tags, &(struct tag){slice_of(KEY_SHARDING_TAG), slice_of(sharding), true});
    s->of->tags = buffer_slice(&s->tags);
}

static void spec_read(struct case_words *c, struct spec *s, bool create)
{
    static const char *const POLICIES[] = {"", "off", "static", "periodic", "lease"};
    struct table_spec *spec = s->of;
    const bool on_demand = case_flag(c, "on-demand");
    const char *gac = case_option(c, "gac");
    spec->rcu = case_option_number(c, "rcu", 0);
    spec->wcu = case_option_number(c, "wcu", 0);
    spec->billing = on_demand       ? BILLING_ON_DEMAND
                    : spec->wcu > 0 ? BILLING_PROVISIONED
                                    : BILLING_AS_IT_IS;
    spec_pair(c, "warm", spec->warm);
    spec_pair(c, "max", spec->maximum);
    if (gac != NULL)
        spec->gac = (uint8_t)case_choice(gac, POLICIES, COUNT_OF(POLICIES));
    if (create) {
        spec->partition_key = (struct key_attr){slice_of("k"), ATTR_STRING};
        spec->weight = (uint8_t)case_option_number(c, "weight", 0);
        if (case_flag(c, "sorted"))
            spec->sort_key = (struct key_attr){slice_of("n"), ATTR_STRING};
    }
    spec_tags(c, s);
    spec_globals(c, s, create);
    spec_add(c, s);
    spec_stored(c, spec);
}

/* ---- commands ---- */

static void tables_settle(struct catalog_world *w, const struct table *t)
{
    struct catalog_command c = catalog_world_command(w, CATALOG_RECONCILED);
    catalog_command_reconciled(&c, t);
    assert_int_equal(catalog_world_apply(w, &c), REPLY_OK);
}

static enum reply_code tables_change(struct catalog_world *w, struct case_words *c,
                                     enum catalog_op op, const char *name)
{
    struct catalog_command command = catalog_world_command(w, op);
    struct spec s = {.of = &command.spec};
    command.spec.name = slice_of(name);
    spec_read(c, &s, op == CATALOG_CREATE);
    const enum reply_code code = catalog_world_apply(w, &command);
    spec_deinit(&s);
    return code;
}

/* Creates tables, whose indexes and which the nodes have taken. */
static void run_table(void *world, struct case_words *c)
{
    struct catalog_world *w = world;
    const int64_t times = case_option_number(c, "times", 0);
    enum reply_code code = REPLY_OK;
    for (int64_t i = 0; code == REPLY_OK && i <= (times == 0 ? 0 : times - 1); i++) {
        char name[32];
        snprintf(name, sizeof name, times > 0 ? "%s-%02d" : "%s", case_word(c, 1), (int)i);
        code = tables_change(w, c, CATALOG_CREATE, name);
        if (code != REPLY_OK)
            break;
        const struct table *t = catalog_world_table(w, name), *x = NULL;
        tables_settle(w, t);
        while ((x = catalog_next_index(w->catalog, catalog_world_table(w, name), x)) != NULL)
            tables_settle(w, x);
    }
    catalog_world_print(w, c, code);
}

static void run_create(void *world, struct case_words *c)
{
    catalog_world_print(world, c, tables_change(world, c, CATALOG_CREATE, case_word(c, 1)));
}

static void run_update(void *world, struct case_words *c)
{
    catalog_world_print(world, c, tables_change(world, c, CATALOG_UPDATE, case_word(c, 1)));
}

static void run_delete(void *world, struct case_words *c)
{
    struct catalog_command command = catalog_world_command(world, CATALOG_DELETE);
    command.spec.name = slice_of(case_word(c, 1));
    catalog_world_print(world, c, catalog_world_apply(world, &command));
}

static void run_settle(void *world, struct case_words *c)
{
    tables_settle(world, catalog_world_table(world, case_word(c, 1)));
}

static void run_remember(void *world, struct case_words *c)
{
    struct catalog_world *w = world;
    const struct table *t = catalog_world_table(w, case_word(c, 1));
    w->late = table_reconcile_hash(t);
    w->late_id = t->id;
}

static void run_late(void *world, struct case_words *c)
{
    struct catalog_world *w = world;
    struct catalog_command command = catalog_world_command(w, CATALOG_RECONCILED);
    command.table_id = w->late_id;
    command.reconciled = w->late;
    catalog_world_print(w, c, catalog_world_apply(w, &command));
}

/* ---- splits ---- */

/* The hash that `at=` names: hexadecimal, or `+N` above the partition's lowest one. */
static uint64_t tables_hash(const char *text, const struct partition_info *p)
{
    char *end;
    const uint64_t hash = strtoull(text, &end, text[0] == '+' ? 10 : 16);
    assert_true(end != text && *end == '\0');
    return text[0] == '+' ? storage_key_bound_hash(p->lo, 0) + hash : hash;
}

static void tables_split_evenly(struct table_split *s, const struct partition_info *p,
                                uint32_t pieces, uint8_t keys[][STORAGE_KEY_BOUND_SIZE])
{
    const uint64_t lo = storage_key_bound_hash(p->lo, 0),
                   hi = storage_key_bound_hash(p->hi, UINT64_MAX);
    assert_in_range(pieces, 2, SPLIT_POINTS_MAX + 1);
    for (uint32_t k = 1; k < pieces; k++)
        s->points[s->point_count++] = storage_key_write_bound(
            keys[k - 1], p->table_id, storage_key_even_split(lo, hi, k, pieces));
}

/* `split NAME I PIECES`, `split NAME I at=HASH`, `split NAME I key=KEY [behind]` */
static void run_split(void *world, struct case_words *c)
{
    struct catalog_world *w = world;
    const struct partition_info *p = catalog_world_at(w, case_word(c, 1), case_word_number(c, 2));
    uint8_t keys[SPLIT_POINTS_MAX][STORAGE_KEY_BOUND_SIZE];
    struct buffer bytes = {0}, key = {0};
    const char *at = case_option(c, "at"), *item = case_option(c, "key"), *shares;
    struct table_split s = {.table_id = (uint32_t)case_option_number(c, "table", p->table_id),
                            .partition = (uint32_t)case_option_number(c, "partition", p->id),
                            .epoch = p->epoch + (uint64_t)case_option_number(c, "epoch", 0)};
    if (item != NULL) {
        const struct attr k = {ATTR_STRING, slice_of(item)}, n = {ATTR_STRING, slice_of("where")};
        const bool sorted = catalog_world_table(w, case_word(c, 1))->sort_key.name.size > 0;
        storage_key_append(&key, p->table_id, &k, sorted ? &n : NULL);
        if (case_flag(c, "behind"))
            buffer_append_u8(&key, 0);
        s.points[s.point_count++] = buffer_slice(&key);
    } else if (at != NULL) {
        s.points[s.point_count++] =
            storage_key_write_bound(keys[0], p->table_id, tables_hash(at, p));
    } else {
        tables_split_evenly(&s, p, (uint32_t)case_word_number(c, 3), keys);
    }
    table_split_share_equally(&s);
    if ((shares = case_option(c, "shares")) != NULL) /* of reads and writes, for the first piece */
        assert_int_equal(sscanf(shares, "%u/%u", &s.share_ppm[0][0], &s.share_ppm[1][0]), 2);
    for (int kind = 0; kind < SPLIT_KINDS && shares != NULL; kind++)
        s.share_ppm[kind][1] = SPLIT_WHOLE_PPM - s.share_ppm[kind][0];
    table_split_encode(&bytes, &s);
    struct catalog_command command = catalog_world_command(w, CATALOG_SPLIT);
    command.split = buffer_slice(&bytes);
    catalog_world_print(w, c, catalog_world_apply(w, &command));
    buffer_deinit(&bytes);
    buffer_deinit(&key);
}

const struct case_verb catalog_table_verbs[] = {
    {.name = "table", .run = run_table},   {.name = "create", .run = run_create},
    {.name = "update", .run = run_update}, {.name = "delete", .run = run_delete},
    {.name = "settle", .run = run_settle}, {.name = "remember", .run = run_remember},
    {.name = "late", .run = run_late},     {.name = "split", .run = run_split},
    {.more = catalog_decision_verbs},
};
