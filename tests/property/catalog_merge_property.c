/* Merges beside splits, moves, lost disks and updates, all at random: the map covers the key space,
 * and no merge loses what it rests on. */
#include "tests/check.h"

#include "tests/support/catalog_fixture.h"

enum {
    NODES = 4,
    STEPS = 150,
    IDS_MAX = 2 * STEPS + 8
};

/* Of one run: what was seen before. */
struct seen {
    uint64_t epochs[IDS_MAX];
    bool gone[IDS_MAX];
    uint32_t absorbing; /* the lower partition; 0: none, or the group has absorbed */
    uint64_t members[REPLICAS_MAX];
    uint32_t generations[NODES + 1];
};

/* Over all runs. */
static struct {
    int absorbed;
    int done;
    int thawed;
    int apart;     /* refusals to absorb */
    int meanwhile; /* splits in a table that merges */
} reached;

static void check_members(const struct catalog_fixture *w, const struct partition_info *p,
                          struct seen *seen)
{
    bool rests = p->merge == MERGE_ABSORB && !p->absorbed;
    if (rests && seen->absorbing != p->id) { /* MERGE-2 */
        for (uint32_t i = 0; i < p->member_count; i++)
            assert_int_equal(raft_member_generation(p->members[i]),
                             catalog_generation(w->catalog, partition_node(p, i)));
        memcpy(seen->members, p->members, sizeof seen->members);
        seen->absorbing = p->id;
    } else if (rests) { /* MERGE-3 */
        assert_memory_equal(seen->members, p->members, sizeof seen->members);
    } else if (seen->absorbing == p->id) {
        seen->absorbing = 0;
    }
}

static void check_absorbing(const struct catalog_fixture *w, const struct partition_info *p)
{
    const struct table *t = catalog_fixture_table(w);
    assert_false(catalog_is_gone(w->catalog, p->merge_with)); /* MERGE-4 */
    for (uint32_t i = 0; i < t->partition_count; i++)
        assert_int_not_equal(t->partitions[i].id, p->merge_with);
}

static void check_table(const struct catalog_fixture *w, struct seen *seen)
{
    const struct table *t = catalog_fixture_table(w);
    int merging = 0;
    catalog_fixture_is_complete(t);
    for (uint32_t i = 0; i < t->partition_count; i++) {
        const struct partition_info *p = &t->partitions[i];
        assert_true(p->id < IDS_MAX && p->epoch >= seen->epochs[p->id] && !seen->gone[p->id]);
        seen->epochs[p->id] = p->epoch;
        merging += p->merge != MERGE_NONE;
        if (p->merge == MERGE_FREEZE) /* no split comes between */
            assert_true(i > 0 && p->merge_with == p[-1].id && p[-1].merge == MERGE_NONE);
        if (p->merge == MERGE_ABSORB)
            check_absorbing(w, p);
        check_members(w, p, seen);
    }
    assert_true(merging <= 1);
    for (uint32_t id = 1; id < IDS_MAX; id++)
        seen->gone[id] |= catalog_is_gone(w->catalog, id);
}

static void split_at_random(struct catalog_fixture *w, uint32_t i)
{
    bool merging = table_is_merging(catalog_fixture_table(w));
    reached.meanwhile += catalog_fixture_halve(w, catalog_fixture_at(w, i)) == REPLY_OK && merging;
}

static void move_at_random(struct prng *p, struct catalog_fixture *w, uint32_t i)
{
    if (catalog_fixture_at(w, i)->leaving != 0)
        catalog_fixture_end_move(w, catalog_fixture_at(w, i));
    else
        catalog_fixture_move(w, catalog_fixture_at(w, i), 1 + (uint32_t)prng_below(p, NODES),
                             1 + (uint32_t)prng_below(p, NODES));
}

static void lose_at_random(struct prng *p, struct catalog_fixture *w, struct seen *seen)
{
    uint32_t node = 1 + (uint32_t)prng_below(p, NODES);
    if (prng_below(p, 3) == 0)
        catalog_fixture_set_generation(w, node, 7 * node + 1000 * ++seen->generations[node]);
    else
        catalog_fixture_replace(w);
}

static void update_at_random(struct prng *p, struct catalog_fixture *w)
{
    struct catalog_command c = catalog_fixture_command(w, CATALOG_UPDATE);
    c.spec.wcu = prng_between(p, 1001, 1999);
    catalog_fixture_apply(w, &c);
}

/* Mostly of what is being merged, if anything is. */
static void send_at_random(struct prng *p, struct catalog_fixture *w, uint32_t i)
{
    const struct table *t = catalog_fixture_table(w);
    bool aim = prng_below(p, 4) > 0;
    for (uint32_t j = 0; aim && j < t->partition_count; j++)
        i = t->partitions[j].merge != MERGE_NONE ? j : i;
    enum merge_command word = MERGE_BEGIN + (enum merge_command)prng_below(p, MERGE_DONE);
    if (word == MERGE_BEGIN && i == 0)
        return;
    enum reply_code code = catalog_fixture_merge(w, word, catalog_fixture_at(w, i));
    bool changed = w->result.row_count > 0;
    reached.absorbed += changed && word == MERGE_ABSORB_IT;
    reached.apart += code != REPLY_OK && word == MERGE_ABSORB_IT;
    reached.done += changed && word == MERGE_DONE;
    reached.thawed += changed && word == MERGE_THAWED;
}

static void merge_at_random(struct prng *p)
{
    struct catalog_fixture w;
    struct seen seen = {0};
    catalog_fixture_init(&w, NODES);
    for (int step = 0; step < STEPS; step++) {
        const struct table *t = catalog_fixture_table(&w);
        uint32_t i = (uint32_t)prng_below(p, t->partition_count);
        switch (prng_below(p, 12)) {
        case 0:
            split_at_random(&w, i);
            break;
        case 1:
        case 2:
            catalog_fixture_reconcile(&w, t->partition_count, t->status);
            break;
        case 3:
            move_at_random(p, &w, i);
            break;
        case 4:
            lose_at_random(p, &w, &seen);
            break;
        case 5:
            update_at_random(p, &w);
            break;
        default:
            send_at_random(p, &w, i);
        }
        check_table(&w, &seen);
        catalog_fixture_reloads(&w);
    }
    catalog_fixture_deinit(&w);
}

TEST(a_table_that_is_merged_at_random_stays_whole)
{
    check_seeds(300, merge_at_random);
    if (getenv("SEED") == NULL && getenv("SEEDS") == NULL) {
        print_message("absorbed: %d, done: %d, thawed: %d, apart: %d, meanwhile: %d\n",
                      reached.absorbed, reached.done, reached.thawed, reached.apart,
                      reached.meanwhile);
        assert_true(reached.absorbed > 100 && reached.done > 100 && reached.thawed > 100);
        assert_true(reached.apart > 20 && reached.meanwhile > 20);
    }
}
