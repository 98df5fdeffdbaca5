/* What stores may take of a disk that they share (base/disk_account.h). */
#include "base/disk_account.h"

#include "base/prng.h"
#include "tests/check.h"

enum {
    MIB = 1 << 20,
    STORES_MAX = 5,
    STEPS = 2000,
    RESERVE = 64,   /* a store refuses growth while its quota is smaller, beside its need */
    SEGMENT = 1000, /* of a log */
};

static uint64_t free_now(void *context)
{
    return *(uint64_t *)context;
}

static void store_needs(struct disk_share *s, uint64_t bytes)
{
    disk_share_set_need(s, bytes);
    disk_share_measure(s);
}

/* SHARE-2 */
TEST(a_quota_is_the_need_and_an_equal_part_of_the_rest)
{
    (void)state;
    uint64_t disk = 100;
    struct disk_account *a = disk_account_create(free_now, &disk);
    struct disk_share *s[3];
    for (int i = 0; i < 3; i++)
        s[i] = disk_account_join(a);
    store_needs(s[0], 10);
    store_needs(s[2], 30);
    assert_int_equal(disk_share_quota(s[0]), 30);
    assert_int_equal(disk_share_quota(s[1]), 20);
    assert_int_equal(disk_share_quota(s[2]), 50);
    disk = 20; /* others have taken the rest */
    disk_share_measure(s[1]);
    assert_int_equal(disk_share_quota(s[0]), 5);
    assert_int_equal(disk_share_quota(s[1]), 0);
    assert_int_equal(disk_share_quota(s[2]), 15);
    disk = 100;
    disk_share_leave(s[2]);
    disk_share_measure(s[0]);
    assert_int_equal(disk_share_quota(s[1]), 45);
    disk_share_leave(s[0]);
    disk_share_leave(s[1]);
    disk_account_destroy(a);
}

TEST(a_disk_of_unknown_size_bounds_nobody)
{
    (void)state;
    uint64_t disk = UINT64_MAX;
    struct disk_account *a = disk_account_create(free_now, &disk);
    struct disk_share *s = disk_account_join(a), *other = disk_account_join(a);
    disk_account_take(a, SEGMENT);
    assert_true(disk_share_quota(s) >= UINT64_MAX / 2);
    disk_account_taken(a, SEGMENT);
    assert_true(disk_account_take_ahead(a, SEGMENT, SEGMENT));
    disk_account_taken(a, SEGMENT);
    disk_share_leave(s);
    disk_share_leave(other);
    disk_account_destroy(a);
}

/* SHARE-1: from then on the segment is in nobody's quota. */
TEST(a_segment_that_is_being_made_is_in_no_quota)
{
    (void)state;
    uint64_t disk = 3000;
    struct disk_account *a = disk_account_create(free_now, &disk);
    struct disk_share *s = disk_account_join(a), *other = disk_account_join(a);
    store_needs(s, 500);
    assert_true(disk_account_has(a, SEGMENT, 750));
    assert_false(disk_account_has(a, SEGMENT, 751));
    assert_false(disk_account_take_ahead(a, SEGMENT, 751));
    assert_true(disk_account_take_ahead(a, SEGMENT, 750));
    assert_int_equal(disk_share_quota(other), 750);
    assert_false(disk_account_take_ahead(a, SEGMENT, 750)); /* though the disk has it still */
    disk -= SEGMENT;
    disk_account_taken(a, SEGMENT);
    assert_int_equal(disk_share_quota(other), 750);
    disk_account_take(a, 2 * SEGMENT); /* a log that cannot do without */
    assert_int_equal(disk_share_quota(other), 0);
    disk_account_taken(a, 2 * SEGMENT);
    assert_int_equal(disk_share_quota(other), 750);
    disk_share_leave(s);
    disk_share_leave(other);
    disk_account_destroy(a);
}

/* ---- random schedules ---- */

struct model_store {
    struct disk_share *share;
    uint64_t active;    /* accepted, not in a checkpoint */
    uint64_t frozen;    /* in a checkpoint that is being written */
    uint64_t unwritten; /* of `frozen` */
    bool measured;      /* the write has ended, its owner has not heard of it */
};

struct model {
    struct disk_account *account;
    struct model_store stores[STORES_MAX];
    uint32_t count;
    uint64_t disk;
    uint64_t making; /* of a segment */
};

static void model_need(struct model_store *s)
{
    disk_share_set_need(s->share, s->active + s->frozen);
}

/* The owner accepts writes as far as the quota goes. */
static void model_accept(struct model_store *s, struct prng *p)
{
    const uint64_t kept = s->active + s->frozen + RESERVE, quota = disk_share_quota(s->share);
    if (quota > kept)
        s->active += prng_below(p, quota - kept) + 1;
    model_need(s);
}

/* A step of a checkpoint: begin it, write a part, measure, end it. */
static void model_checkpoint(struct model *m, struct model_store *s, struct prng *p)
{
    if (s->measured) {
        s->frozen = 0;
        s->measured = false;
        model_need(s);
        disk_share_settle(s->share);
    } else if (s->frozen == 0) {
        s->frozen = s->active;
        s->active = 0;
        s->unwritten = prng_below(p, s->frozen + 1); /* it takes less than was reckoned */
    } else if (s->unwritten > 0) {
        const uint64_t part = prng_below(p, s->unwritten) + 1;
        assert_true(part <= m->disk); /* SPACE-2: a checkpoint finds its space */
        s->unwritten -= part;
        m->disk -= part;
    } else {
        disk_share_measure(s->share);
        s->measured = true;
    }
}

static void model_segment(struct model *m)
{
    if (m->making > 0) {
        assert_true(m->making <= m->disk);
        m->disk -= m->making;
        m->making = 0;
        disk_account_taken(m->account, SEGMENT);
    } else if (disk_account_take_ahead(m->account, SEGMENT, 2 * RESERVE)) {
        m->making = SEGMENT;
    }
}

/* What stores and a segment may still take. */
static uint64_t model_claims(const struct model *m)
{
    uint64_t claims = m->making;
    for (uint32_t i = 0; i < m->count; i++)
        claims += m->stores[i].active + m->stores[i].unwritten;
    return claims;
}

/* Others take and give space. A quota that is not used up shrinks when that is seen. */
static void model_others(struct model *m, struct prng *p)
{
    if (prng_below(p, 2) == 0) {
        m->disk += prng_below(p, 3 * SEGMENT); /* something is deleted */
        return;
    }
    uint64_t kept = m->making;
    for (uint32_t i = 0; i < m->count; i++)
        kept += m->stores[i].active + m->stores[i].frozen;
    if (m->disk > kept)
        m->disk -= prng_below(p, m->disk - kept);
    disk_share_measure(m->stores[0].share);
}

/* SHARE-1, SHARE-2: after a measurement, at any moment of the others. */
static void model_check(const struct model *m)
{
    uint64_t quotas = 0, needs = 0;
    disk_share_measure(m->stores[0].share);
    for (uint32_t i = 0; i < m->count; i++) {
        quotas += disk_share_quota(m->stores[i].share);
        needs += m->stores[i].active + m->stores[i].frozen;
    }
    const uint64_t left = m->disk - m->making;
    assert_true(quotas <= left);
    for (uint32_t i = 0; i < m->count && needs <= left; i++) {
        const struct model_store *s = &m->stores[i];
        assert_true(disk_share_quota(s->share) >=
                    s->active + s->frozen + (left - needs) / m->count);
    }
}

static void model_step(struct model *m, struct prng *p)
{
    struct model_store *s = &m->stores[prng_below(p, m->count)];
    switch (prng_below(p, 8)) {
    case 0:
    case 1:
    case 2:
        model_accept(s, p);
        break;
    case 3:
        model_segment(m);
        break;
    case 4:
        model_others(m, p);
        break;
    default:
        model_checkpoint(m, s, p);
    }
    assert_true(model_claims(m) <= m->disk);
}

/* Whatever the order of measurements, writes, segments and others' use: what was accepted has its
 * space, and a store that has asked for nothing finds its part. */
static void accepted_writes_have_their_space(struct prng *p)
{
    struct model m = {.count = (uint32_t)prng_below(p, STORES_MAX) + 1};
    m.disk = prng_below(p, 100 * SEGMENT) + m.count * RESERVE;
    m.account = disk_account_create(free_now, &m.disk);
    for (uint32_t i = 0; i < m.count; i++)
        m.stores[i].share = disk_account_join(m.account);
    for (int step = 0; step < STEPS; step++) {
        model_step(&m, p);
        if (prng_below(p, 10) == 0)
            model_check(&m);
    }
    for (uint32_t i = 0; i < m.count; i++)
        disk_share_leave(m.stores[i].share);
    disk_account_destroy(m.account);
}

TEST(what_stores_have_accepted_has_space_on_their_disk)
{
    (void)state;
    check_seeds(200, accepted_writes_have_their_space);
}
