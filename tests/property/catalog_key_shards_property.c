/* Keys that grow, shrink and are moved beside splits, merges, updates and changes of the tag,
 * all at random: the registry is sound, no former number is lost, and partitions are told each
 * change. */
#include "tests/check.h"

#include "tests/support/catalog_fixture.h"

enum {
    NODES = 4,
    STEPS = 200,
    KEYS = 5
};

static const char *const names[KEYS] = {"a", "b", "longer-than-the-others", "d", "e"};

/* What the registry must have, by key. */
struct expected {
    uint64_t version; /* of the registry */
    uint32_t indexes_version;
    struct sharded_key keys[KEYS]; /* shards 0: not there */
};

/* Over all runs. */
static struct {
    int grown;
    int shrunk;
    int moved;
    int refused;
    int left;
} reached;

static void check_key(const struct catalog_fixture *w, const struct expected *x, int i)
{
    const struct sharded_key *k = catalog_fixture_sharded_key(w, names[i]);
    const struct sharded_key *e = &x->keys[i];
    assert_int_equal(k != NULL, e->shards != 0);
    if (k == NULL)
        return;
    assert_int_equal(k->shards, e->shards);
    assert_int_equal(k->version, e->version);
    assert_int_equal(k->counter, e->counter);
    assert_int_equal(k->shrank, e->shrank);
    assert_int_equal(k->before_count, e->before_count);
    assert_memory_equal(k->before, e->before, e->before_count * sizeof e->before[0]);
    assert_int_equal(k->widest, e->widest);
    assert_int_equal(k->placed_version, e->placed_version);
}

static void check_all(const struct catalog_fixture *w, const struct expected *x)
{
    const struct table *t = catalog_fixture_table(w);
    catalog_fixture_is_complete(t);
    assert_int_equal(table_key_sharding_version(t), x->version);
    assert_true(t->indexes_version >= x->indexes_version);
    for (uint32_t i = 0; i < t->partition_count; i++) {
        assert_int_equal(t->partitions[i].key_sharding_version, x->version);
        assert_int_equal(t->partitions[i].indexes_version, t->indexes_version);
    }
    for (int i = 0; i < KEYS; i++)
        check_key(w, x, i);
    catalog_fixture_reloads(w);
}

/* The model's answer to a word that the catalog has taken. */
static void expect(struct expected *x, int i, enum key_shards_change change, uint32_t shards,
                   bool counter)
{
    struct sharded_key *e = &x->keys[i];
    x->version++;
    if (change == KEY_SHARDS_MOVED) {
        e->shrank &= sharded_key_shrinks(e);
        e->before_count = 0;
        e->placed_version = x->version;
        reached.moved++;
        return;
    }
    if (change == KEY_SHARDS_DISCARD) {
        assert_true(e->before_count == 0 && e->widest > e->shards);
        e->widest = e->shards;
        e->shrank = false;
        reached.left += e->shards == 1;
        if (e->shards == 1)
            *e = (struct sharded_key){0};
        return;
    }
    if (e->shards == 0)
        *e = (struct sharded_key){.shards = 1, .widest = 1, .counter = counter};
    assert_true(e->before_count < KEY_SHARDS_BEFORE_MAX);
    assert_true(e->before_count == 0 ||
                ((change == KEY_SHARDS_GROW || e->counter) && e->before[0] < e->shards));
    assert_true(change == KEY_SHARDS_GROW ? shards > e->shards : shards < e->shards);
    if (change == KEY_SHARDS_SHRINK) {
        e->shrank = true;
        e->before_count = 0;
    }
    e->before[e->before_count++] = e->shards;
    e->shards = shards;
    e->widest = e->widest > shards ? e->widest : shards;
    e->version = x->version;
    reached.grown += change == KEY_SHARDS_GROW;
    reached.shrunk += change == KEY_SHARDS_SHRINK;
}

static void change_shards_at_random(struct prng *p, struct catalog_fixture *w, struct expected *x)
{
    const int i = (int)prng_below(p, KEYS);
    const struct table *t = catalog_fixture_table(w);
    const enum key_shards_change change =
        KEY_SHARDS_GROW + (enum key_shards_change)prng_below(p, KEY_SHARDS_DISCARD);
    const uint32_t now = x->keys[i].shards;
    const bool reports = change == KEY_SHARDS_MOVED || change == KEY_SHARDS_DISCARD;
    const uint32_t shards = reports ? 0
                            : change == KEY_SHARDS_GROW
                                ? now + 1 + (uint32_t)prng_below(p, 3)
                                : 1 + (uint32_t)prng_below(p, now > 1 ? now : 1);
    const bool late = prng_below(p, 8) == 0;
    uint32_t fixed;
    const bool counter = table_key_sharding_mode(t, &fixed) == KEY_SHARDING_COUNTER;
    const enum reply_code code =
        late ? catalog_fixture_change_shards_at(w, change, names[i], shards,
                                                prng_below(p, x->version + 1))
             : catalog_fixture_change_shards(w, change, names[i], shards);
    const bool changed = w->result.row_count > 0;
    reached.refused += code != REPLY_OK;
    if (!changed)
        return;
    assert_int_equal(catalog_fixture_table(w)->indexes_version, x->indexes_version + 1);
    expect(x, i, change, shards, counter);
}

static void update_at_random(struct prng *p, struct catalog_fixture *w)
{
    struct catalog_command c = catalog_fixture_command(w, CATALOG_UPDATE);
    c.spec.wcu = prng_between(p, 1001, 1999);
    catalog_fixture_apply(w, &c);
}

static void step_at_random(struct prng *p, struct catalog_fixture *w, struct expected *x)
{
    static const char *const TAGS[] = {"auto", "counter", "4", "off", NULL, "auto", "auto"};
    const struct table *t = catalog_fixture_table(w);
    const uint32_t i = (uint32_t)prng_below(p, t->partition_count);
    switch (prng_below(p, 24)) {
    case 0:
        catalog_fixture_halve(w, catalog_fixture_at(w, i));
        break;
    case 1:
    case 2:
    case 3:
        catalog_fixture_reconcile(w, t->partition_count, t->status);
        break;
    case 4:
        update_at_random(p, w);
        break;
    case 5:
        if (t->status == TABLE_ACTIVE)
            catalog_fixture_tag(w, TAGS[prng_below(p, sizeof TAGS / sizeof TAGS[0])]);
        break;
    case 6:
        if (i > 0)
            catalog_fixture_merge(w, MERGE_BEGIN, catalog_fixture_at(w, i));
        break;
    case 7:
        for (uint32_t j = 0; j < t->partition_count; j++) {
            if (t->partitions[j].merge != MERGE_NONE)
                catalog_fixture_merge(
                    w, t->partitions[j].merge == MERGE_FREEZE ? MERGE_GIVE_UP : MERGE_THAWED,
                    &t->partitions[j]);
            t = catalog_fixture_table(w);
        }
        break;
    default:
        change_shards_at_random(p, w, x);
    }
    x->indexes_version = catalog_fixture_table(w)->indexes_version;
}

static void change_at_random(struct prng *p)
{
    struct catalog_fixture w;
    struct expected x = {0};
    catalog_fixture_init(&w, NODES);
    assert_int_equal(catalog_fixture_tag(&w, "auto"), REPLY_OK);
    x.indexes_version = catalog_fixture_table(&w)->indexes_version;
    for (int step = 0; step < STEPS; step++) {
        step_at_random(p, &w, &x);
        check_all(&w, &x);
    }
    catalog_fixture_deinit(&w);
}

TEST(a_registry_that_changes_at_random_stays_sound)
{
    check_seeds(100, change_at_random);
    if (getenv("SEED") == NULL && getenv("SEEDS") == NULL) {
        print_message("grown: %d, shrunk: %d, moved: %d, left: %d, refused: %d\n", reached.grown,
                      reached.shrunk, reached.moved, reached.left, reached.refused);
        assert_true(reached.grown > 500 && reached.shrunk > 100 && reached.moved > 100);
        assert_true(reached.left > 3 && reached.refused > 100);
    }
}
