/* The parts of the simulated world, each by itself: a world that is wrong proves nothing. */
#include "tests/check.h"

#include "sim/world/clock.h"
#include "sim/world/log_disk.h"
#include "sim/world/network.h"
#include "sim/world/store_disk.h"

/* ---- scheduler ---- */

struct order {
    struct scheduler scheduler;
    uint64_t seen[16];
    size_t count;
};

static void see(void *context, uint64_t argument)
{
    struct order *o = context;
    o->seen[o->count++] = argument;
}

TEST(events_run_by_time_and_then_in_the_order_they_were_scheduled)
{
    static const uint64_t expected[] = {4, 2, 1, 3, 5};
    struct order o = {.count = 0};
    scheduler_at(&o.scheduler, (struct instant){20}, see, &o, 1);
    scheduler_at(&o.scheduler, (struct instant){10}, see, &o, 2);
    scheduler_at(&o.scheduler, (struct instant){20}, see, &o, 3);
    scheduler_at(&o.scheduler, (struct instant){5}, see, &o, 4);
    scheduler_at(&o.scheduler, (struct instant){30}, see, &o, 5);
    while (scheduler_step(&o.scheduler, (struct instant){25})) {
    }
    assert_int_equal(o.scheduler.now.ns, 25);
    while (scheduler_step(&o.scheduler, (struct instant){99})) {
    }
    assert_int_equal(o.count, 5);
    assert_memory_equal(o.seen, expected, sizeof expected);
    scheduler_deinit(&o.scheduler);
}

struct crowd {
    struct scheduler scheduler;
    struct prng prng;
    int64_t planned_ns[4000]; /* by argument */
    uint64_t count;
    uint64_t run;
    int64_t last_ns;
    uint64_t last;
};

static void crowd_run(void *context, uint64_t argument);

static void plan_one(struct crowd *c)
{
    /* In the same slot, in one of the others, on their edge, and beyond. */
    static const int64_t spans[] = {1, 2000, 1000 * 1024, 1100 * 1024, 50 * NS_PER_MS};
    int64_t span = spans[prng_below(&c->prng, sizeof spans / sizeof spans[0])];
    int64_t at = c->scheduler.now.ns + prng_between(&c->prng, 0, span), tick = c->scheduler.tick_ns;
    c->planned_ns[c->count] = tick > 0 ? (at + tick - 1) / tick * tick : at;
    scheduler_at(&c->scheduler, (struct instant){at}, crowd_run, c, c->count++);
}

/* When it was planned, after all planned before it, and of the same time by turn. */
static void crowd_run(void *context, uint64_t argument)
{
    struct crowd *c = context;
    int64_t now = c->scheduler.now.ns;
    assert_int_equal(now, c->planned_ns[argument]);
    assert_true(now > c->last_ns || (now == c->last_ns && argument > c->last));
    c->last_ns = now;
    c->last = argument;
    c->run++;
    for (uint64_t more = prng_below(&c->prng, 3); more > 0 && c->count < 4000; more--)
        plan_one(c);
}

TEST(a_crowd_of_events_near_and_far_runs_in_order)
{
    static const int64_t ticks[] = {0, 1000, 100000, 3000000};
    for (size_t i = 0; i < sizeof ticks / sizeof ticks[0]; i++) {
        struct crowd c = {.scheduler = {.now = {NS_PER_S}, .tick_ns = ticks[i]},
                          .prng = prng_seeded(i),
                          .last_ns = -1};
        while (c.count < 1000)
            plan_one(&c);
        for (int64_t until = NS_PER_S; c.run < c.count; until += 700001) {
            while (scheduler_step(&c.scheduler, (struct instant){until})) {
            }
            assert_int_equal(c.scheduler.now.ns, until);
        }
        assert_true(c.count > 2000);
        scheduler_deinit(&c.scheduler);
    }
}

/* ---- clock ---- */

TEST(a_clock_reads_the_requested_time_at_the_time_it_names)
{
    struct prng p = prng_seeded(1);
    for (int i = 0; i < 1000; i++) {
        struct sim_clock c = {.base = {prng_between(&p, 0, NS_PER_S)},
                              .read = {prng_between(&p, 0, NS_PER_S)},
                              .drift_ppm = prng_between(&p, -500, 500)};
        struct instant target = {c.read.ns + prng_between(&p, 1, 1000 * NS_PER_S)};
        struct instant at = sim_clock_when(&c, target);
        assert_true(sim_clock_read(&c, at).ns >= target.ns);
        assert_true(sim_clock_read(&c, (struct instant){at.ns - 1}).ns < target.ns);
        struct instant before = sim_clock_read(&c, at);
        sim_clock_set_drift(&c, at, prng_between(&p, -500, 500));
        assert_int_equal(sim_clock_read(&c, at).ns, before.ns);
    }
}

/* ---- disk ---- */

enum {
    SEGMENT = 8192
};

TEST(a_write_that_ended_outlives_the_power_and_one_in_flight_tears_by_sectors)
{
    bool torn = false;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct log_disk d;
        uint8_t ones[3000], twos[3000];
        memset(ones, 1, sizeof ones);
        memset(twos, 2, sizeof twos);
        log_disk_init(&d, SEGMENT, seed);
        assert_int_equal(log_disk_prepare(&d, 0), STATUS_OK);
        log_disk_write_begin(&d, 0, slice_make(ones, sizeof ones));
        assert_int_equal(log_disk_write_end(&d, 0), sizeof ones);
        log_disk_write_begin(&d, sizeof ones, slice_make(twos, sizeof twos));
        log_disk_crash(&d, true);
        struct slice all = log_disk_read(&d, 0);
        assert_memory_equal(all.data, ones, sizeof ones);
        for (size_t i = sizeof ones; i < all.size; i++) {
            bool same_sector = i > sizeof ones && i / 512 == (i - 1) / 512;
            assert_true(all.data[i] == 0 || all.data[i] == 2);
            assert_true(!same_sector || all.data[i] == all.data[i - 1]);
            torn |= i > sizeof ones && all.data[i] != all.data[i - 1];
        }
        log_disk_deinit(&d);
    }
    assert_true(torn);
}

TEST(a_write_that_failed_is_torn_by_sectors_and_changes_no_more) /* DISK-2 */
{
    bool torn = false;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct log_disk d;
        uint8_t ones[3000], before[sizeof ones] = {0};
        memset(ones, 1, sizeof ones);
        log_disk_init(&d, SEGMENT, seed);
        assert_int_equal(log_disk_prepare(&d, 0), STATUS_OK);
        log_disk_write_begin(&d, 0, slice_make(ones, sizeof ones));
        assert_int_equal(log_disk_write_fail(&d, 0), sizeof ones);
        struct slice all = log_disk_read(&d, 0);
        assert_true(all.size <= sizeof before);
        for (size_t i = 0; i < all.size; i++) {
            assert_true(all.data[i] == 0 || all.data[i] == 1);
            assert_true(i % 512 == 0 || all.data[i] == all.data[i - 1]);
            torn |= i > 0 && all.data[i] != all.data[i - 1];
        }
        if (all.size > 0)
            memcpy(before, all.data, all.size);
        log_disk_crash(&d, true);
        all = log_disk_read(&d, 0);
        assert_true(all.size <= sizeof before);
        assert_true(slice_equal(all, slice_make(before, all.size)));
        for (size_t i = all.size; i < sizeof before; i++)
            assert_int_equal(before[i], 0);
        log_disk_deinit(&d);
    }
    assert_true(torn);
}

TEST(of_two_writes_in_flight_the_second_may_be_all_that_is_left)
{
    bool only_second = false;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct log_disk d;
        log_disk_init(&d, SEGMENT, seed);
        assert_int_equal(log_disk_prepare(&d, 0), STATUS_OK);
        log_disk_write_begin(&d, 0, slice_of("first"));
        log_disk_write_begin(&d, 4096, slice_of("second"));
        assert_int_equal(log_disk_write_end(&d, 4096), 4096 + 6);
        log_disk_crash(&d, true);
        struct slice all = log_disk_read(&d, 0);
        assert_slice_is(slice_make(all.data + 4096, all.size - 4096), "second");
        only_second |= all.data[0] == 0;
        log_disk_deinit(&d);
    }
    assert_true(only_second);
}

TEST(a_segment_prepared_again_holds_what_it_held) /* DISK-3 */
{
    struct log_disk d;
    log_disk_init(&d, SEGMENT, 1);
    assert_int_equal(log_disk_prepare(&d, 0), STATUS_OK);
    assert_int_equal(log_disk_prepare(&d, 1), STATUS_OK);
    log_disk_write_begin(&d, 0, slice_of("old"));
    log_disk_write_end(&d, 0);
    log_disk_trim(&d, 1);
    d.full = true;
    assert_int_equal(log_disk_prepare(&d, 2), STATUS_OK);
    assert_slice_is(log_disk_read(&d, 2), "old");
    assert_int_equal(log_disk_prepare(&d, 3), STATUS_FULL);
    log_disk_deinit(&d);
}

TEST(a_spare_is_gone_once_its_making_failed_or_a_process_begins_anew) /* DISK-3 */
{
    for (int begins = 0; begins < 2; begins++) {
        struct log_disk d;
        log_disk_init(&d, SEGMENT, 1);
        assert_int_equal(log_disk_prepare(&d, 0), STATUS_OK);
        log_disk_write_begin(&d, 0, slice_of("old"));
        log_disk_write_end(&d, 0);
        log_disk_trim(&d, 1);
        if (begins)
            log_disk_open(&d);
        d.no_files = !begins;
        assert_int_equal(log_disk_prepare(&d, 1), begins ? STATUS_OK : STATUS_IO);
        d.no_files = false;
        assert_int_equal(log_disk_prepare(&d, 1), STATUS_OK);
        assert_int_equal(log_disk_read(&d, 1).size, 0);
        log_disk_deinit(&d);
    }
}

TEST(a_trim_is_undone_by_a_loss_of_power_until_another_segment_is_made)
{
    uint64_t first, last;
    int back = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct log_disk d;
        log_disk_init(&d, SEGMENT, seed);
        for (uint64_t segment = 0; segment < 3; segment++)
            assert_int_equal(log_disk_prepare(&d, segment), STATUS_OK);
        log_disk_trim(&d, 2);
        if (seed > 20)
            assert_int_equal(log_disk_prepare(&d, 3), STATUS_OK);
        log_disk_crash(&d, true);
        assert_true(log_disk_range(&d, &first, &last));
        assert_int_equal(last, seed > 20 ? 3 : 2);
        assert_true(first == 2 || seed <= 20);
        back += first < 2;
        log_disk_deinit(&d);
    }
    assert_true(back > 0 && back < 20);
}

TEST(a_segment_in_the_making_is_there_or_not_after_a_crash)
{
    int made = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct log_disk d;
        log_disk_init(&d, SEGMENT, seed);
        assert_int_equal(log_disk_prepare(&d, 0), STATUS_OK);
        log_disk_make_begin(&d, 1);
        log_disk_crash(&d, seed % 2 == 0);
        made += log_disk_has(&d, 1);
        assert_int_equal(log_disk_prepare(&d, 1), STATUS_OK);
        log_disk_deinit(&d);
    }
    assert_true(made > 0 && made < 40);
}

TEST(a_lying_disk_loses_what_it_acknowledged) /* DISK-5 */
{
    struct log_disk d;
    log_disk_init(&d, SEGMENT, 1);
    d.lies = true;
    assert_int_equal(log_disk_prepare(&d, 0), STATUS_OK);
    log_disk_write_begin(&d, 0, slice_of("never"));
    log_disk_write_end(&d, 0);
    log_disk_crash(&d, false);
    assert_slice_is(log_disk_read(&d, 0), "never");
    log_disk_crash(&d, true);
    assert_int_equal(log_disk_read(&d, 0).data[0], 0);
    log_disk_deinit(&d);
}

/* ---- backing ---- */

enum {
    KEYS = 40
};

struct model {
    uint32_t values[KEYS]; /* 0: absent */
};

struct pull {
    struct backing_change changes[KEYS];
    uint8_t keys[KEYS];
    uint32_t values[KEYS];
    size_t count;
    size_t at;
};

static bool next_change(void *context, struct backing_change *out)
{
    struct pull *p = context;
    if (p->at == p->count)
        return false;
    *out = p->changes[p->at++];
    return true;
}

static void write_some(struct backing *b, struct model *m, struct prng *p, uint64_t lsn)
{
    struct pull pull = {.count = 0};
    struct backing_batch batch = {.next = next_change, .context = &pull, .log_lsn = lsn};
    uint64_t erased_bytes;
    for (uint8_t key = 0; key < KEYS; key++) {
        if (prng_below(p, 3) > 0)
            continue;
        size_t i = pull.count++;
        pull.keys[i] = key;
        pull.values[i] = (uint32_t)prng_below(p, 5);
        m->values[key] = pull.values[i];
        pull.changes[i] = (struct backing_change){
            slice_make(&pull.keys[i], 1),
            slice_make(pull.values[i] == 0 ? NULL : &pull.values[i], pull.values[i] == 0 ? 0 : 4)};
    }
    uint8_t lo = 10, middle = 12, hi = 14;
    const struct backing_range ranges[] = {{slice_make(&middle, 1), slice_make(&hi, 1)},
                                           {slice_make(&lo, 1), slice_make(&middle, 1)}};
    if (prng_below(p, 4) == 0) {
        batch.erase = ranges;
        batch.erase_count = 2;
        batch.erase_max_bytes = 1 << 20;
        memset(&m->values[lo], 0, (size_t)(hi - lo) * sizeof m->values[0]);
    }
    assert_int_equal(b->methods->write(b, &batch, &erased_bytes), STATUS_OK);
}

static void assert_reads(struct backing *b, const struct model *m, bool reverse)
{
    struct backing_change c;
    enum status status = b->methods->seek(b, slice_make(NULL, 0), reverse, &c);
    for (int i = 0; i < KEYS; i++) {
        uint8_t key = (uint8_t)(reverse ? KEYS - 1 - i : i);
        struct slice value;
        enum status found = b->methods->get(b, slice_make(&key, 1), &value);
        assert_int_equal(found, m->values[key] == 0 ? STATUS_NOT_FOUND : STATUS_OK);
        if (m->values[key] == 0)
            continue;
        assert_memory_equal(value.data, &m->values[key], 4);
        assert_int_equal(status, STATUS_OK);
        assert_int_equal(c.key.data[0], key);
        status = b->methods->step(b, reverse, &c);
    }
    assert_int_equal(status, STATUS_NOT_FOUND);
}

TEST(a_reader_of_the_backing_sees_its_own_version_and_a_new_process_the_last)
{
    struct prng p = prng_seeded(1);
    struct store_disk disk = {.map_initial_bytes = 1 << 20, .map_max_bytes = 1 << 20};
    struct model seen = {{0}}, last = {{0}}, snapped;
    struct backing *b = store_disk_open(&disk);
    for (uint64_t round = 1; round <= 100; round++) {
        struct backing_snapshot *s;
        assert_int_equal(b->methods->snapshot_open(b, &s), STATUS_OK);
        snapped = last;
        write_some(b, &last, &p, round);
        assert_reads(b, &seen, false);
        assert_reads(b, &seen, true);
        for (uint8_t key = 0; key < KEYS; key++) {
            struct slice value;
            enum status found = b->methods->snapshot_get(b, s, slice_make(&key, 1), &value);
            assert_int_equal(found, snapped.values[key] == 0 ? STATUS_NOT_FOUND : STATUS_OK);
        }
        b->methods->snapshot_close(b, s);
        if (round % 3 == 0) {
            b->methods->close(b);
            b = store_disk_open(&disk);
        } else {
            assert_int_equal(b->methods->refresh(b), STATUS_OK);
        }
        seen = last;
        assert_int_equal(b->methods->info(b).log_lsn, round);
        assert_reads(b, &seen, false);
    }
    b->methods->close(b);
    store_disk_wipe(&disk);
}

/* ---- network ---- */

struct peer {
    struct network *network;
    uint64_t link;
    uint32_t received;
    uint32_t closed;
    bool gone;
    uint32_t datagrams;
};

static void accepted(void *context, uint64_t link, uint32_t from)
{
    struct peer *p = context;
    (void)from;
    p->link = link;
}

static void received(void *context, uint64_t link, struct slice bytes)
{
    struct peer *p = context;
    (void)link;
    assert_int_equal(p->closed, 0); /* NET-2 */
    assert_int_equal(bytes.size, sizeof p->received);
    assert_memory_equal(bytes.data, &p->received, sizeof p->received); /* in order, each once */
    p->received++;
}

static void closed(void *context, uint64_t link, bool gone)
{
    struct peer *p = context;
    assert_true(link == p->link);
    assert_int_equal(p->closed, 0); /* NET-2 */
    p->closed++;
    p->gone = gone;
}

static void datagram(void *context, uint32_t from, struct slice frame)
{
    struct peer *p = context;
    (void)from;
    (void)frame;
    p->datagrams++;
}

struct two {
    struct scheduler scheduler;
    struct trace trace;
    struct network *network;
    struct peer peers[3]; /* by process */
};

static void two_init(struct two *t, uint64_t seed)
{
    static const struct network_handler handler = {accepted, received, closed, datagram};
    *t = (struct two){.scheduler = {.now = {0}}};
    struct network_options options = {.scheduler = &t->scheduler,
                                      .trace = &t->trace,
                                      .processes = 2,
                                      .delays = {.ns_min = 10, .spread_ns = 1000},
                                      .seed = seed};
    t->network = network_create(&options);
    for (uint32_t i = 1; i <= 2; i++) {
        network_attach(t->network, i, &handler, &t->peers[i]);
        network_start(t->network, i);
    }
}

static void two_pass(struct two *t)
{
    struct instant until = instant_add(t->scheduler.now, (struct duration){100000});
    while (scheduler_step(&t->scheduler, until)) {
    }
}

static void two_deinit(struct two *t)
{
    network_destroy(t->network);
    scheduler_deinit(&t->scheduler);
}

TEST(a_link_keeps_order_through_a_cut_and_both_ends_get_its_end)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct two t;
        two_init(&t, seed);
        uint64_t link = t.peers[1].link = network_connect(t.network, 1, 2);
        assert_true(link != 0);
        for (uint32_t i = 0; i < 10; i++) {
            if (i == 5)
                network_cut(t.network, 1, 2);
            assert_true(network_send(t.network, link, slice_make(&i, sizeof i)));
        }
        two_pass(&t);
        assert_true(t.peers[2].received < 10);
        network_heal(t.network, 1, 2);
        two_pass(&t);
        assert_int_equal(t.peers[2].received, 10);
        if (seed % 2 == 0)
            network_reset(t.network, 2, 1);
        else
            network_kill(t.network, 2);
        two_pass(&t);
        assert_int_equal(t.peers[1].closed, 1);
        assert_int_equal(t.peers[2].closed, seed % 2 == 0);
        assert_int_equal(t.peers[1].gone, seed % 2 == 1);
        assert_false(network_send(t.network, link, slice_of("more")));
        two_deinit(&t);
    }
}

TEST(an_end_that_closed_its_link_receives_no_more_of_it) /* NET-2 */
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct two t;
        const uint32_t first = 0, second = 1;
        two_init(&t, seed);
        uint64_t link = t.peers[1].link = network_connect(t.network, 1, 2);
        two_pass(&t);
        assert_true(network_send(t.network, t.peers[2].link, slice_make(&first, sizeof first)));
        assert_true(network_send(t.network, t.peers[2].link, slice_make(&second, sizeof second)));
        while (seed % 2 == 0 && t.peers[1].received == 0)
            scheduler_step(&t.scheduler, instant_add(t.scheduler.now, (struct duration){100000}));
        const uint32_t received = t.peers[1].received;
        network_close(t.network, link);
        two_pass(&t);
        assert_int_equal(t.peers[1].received, received);
        assert_int_equal(t.peers[1].closed, 0);
        assert_int_equal(t.peers[2].closed, 1);
        two_deinit(&t);
    }
}

TEST(datagrams_are_lost_doubled_and_held_for_the_paused) /* NET-1 */
{
    struct two t;
    two_init(&t, 1);
    struct network_faults faults = {.drop_per_million = 500000};
    network_set_faults(t.network, &faults);
    for (int i = 0; i < 100; i++)
        network_datagram(t.network, 1, 2, slice_of("x"));
    two_pass(&t);
    assert_in_range(t.peers[2].datagrams, 20, 80);
    faults = (struct network_faults){.duplicate_per_million = 1000000};
    network_set_faults(t.network, &faults);
    network_pause(t.network, 2, true);
    uint32_t before = t.peers[2].datagrams;
    network_datagram(t.network, 1, 2, slice_of("x"));
    two_pass(&t);
    assert_int_equal(t.peers[2].datagrams, before);
    network_pause(t.network, 2, false);
    two_pass(&t);
    assert_int_equal(t.peers[2].datagrams, before + 2);
    two_deinit(&t);
}
