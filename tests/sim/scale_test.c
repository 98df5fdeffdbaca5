/* A thousand partitions on five nodes, under load, while partitions are split and replicas move,
 * and while nodes that lead the catalog die one after the other.
 *
 *   SECONDS=3600 build/fast/tests/simulation --filter scale_test      # the long form
 *
 * Looked at every second of virtual time, on every node that is up: the catalog's ranges cover each
 * table exactly, no partition has two replicas on one node, no node reserves more than it has,
 * replicas that exist do not overlap, and of each partition a majority exists. */
#include "tests/check.h"

#include <malloc.h>
#include <stdlib.h>

#include "engine/item/storage_key.h"
#include "engine/node/control_port.h"
#include "sim/check/check.h"
#include "tests/support/lab.h"

enum {
    NODES = 5,
    TABLES = 10,
    TABLE_PARTITIONS = 100, /* at the start */
    PARTITIONS_MAX = 1200,
    NODE_WCU = 12000,
    FLOWS = 20, /* each writes a key, at what its partition serves */
    FLOW_PER_S = 10,
    SECONDS = 30,
    SPLIT_EVERY_S = 3,
    KILL_EVERY_S = 20,
    DRAIN_EVERY_S = 60,
    DOWN_S = 3,
    RECOVERY_MS_MAX = 3000 /* until requests to what the dead node led succeed again */
};

struct scale {
    struct lab lab;
    struct prng prng;
    struct flow flows[FLOWS];
    char names[TABLES][16];
    char items[FLOWS][64];
    uint32_t victim; /* down; 0: none */
    uint32_t drained;
    int64_t killed_ns;
    bool control_is_away;
    int64_t control_away_ns_max;
    int64_t failed; /* so far */
    int64_t failed_late;
    uint32_t stalled; /* flows that had nothing to do with the node that died, and waited */
    uint32_t waited;  /* those that it led */
    int64_t checks;
    uint32_t work_splits;
    uint64_t log_segments_max;
    uint32_t events_max;
    struct buffer answer;
};

/* ---- what must hold ---- */

static void check_table(const struct table *t)
{
    uint32_t lo = __builtin_bswap32(t->id), hi = __builtin_bswap32(t->id + 1);
    const struct partition_info *last = &t->partitions[t->partition_count - 1];
    assert_true(slice_equal(t->partitions[0].lo, slice_make(&lo, sizeof lo)));
    assert_true(slice_equal(last->hi, slice_make(&hi, sizeof hi)));
    for (uint32_t i = 0; i < t->partition_count; i++) {
        const struct partition_info *p = &t->partitions[i];
        assert_true(slice_compare(p->lo, p->hi) < 0);
        assert_true(i == 0 || slice_equal(t->partitions[i - 1].hi, p->lo));
        for (uint32_t a = 0; a < p->member_count; a++) {
            for (uint32_t b = 0; b < a; b++)
                assert_int_not_equal(partition_node(p, a), partition_node(p, b));
        }
    }
}

static void check_reservations(const struct catalog *c)
{
    struct reservations reservations;
    catalog_count_reservations(c, CATALOG_TABLE_ID, &reservations);
    for (uint32_t node = 1; node <= NODES; node++)
        assert_true(reservations.loads_mcu[node][ADMIT_WRITE] <= NODE_WCU * MCU_PER_UNIT);
}

static const struct partition_info *replica(struct scale *s, uint32_t node, uint32_t partition)
{
    const struct node *n = node_process_node(s->lab.world.nodes[node]);
    return n == NULL ? NULL : node_replica(n, partition);
}

/* A replica of it, or of what it is yet to be split off from: somebody answers for its keys. */
static bool exists_on(struct scale *s, const struct partition_info *p, uint32_t node)
{
    const struct partition_info *here = replica(s, node, p->id);
    if (here == NULL && p->parent != 0)
        here = replica(s, node, p->parent);
    return here != NULL && slice_compare(here->lo, p->lo) <= 0 &&
           slice_compare(here->hi, p->hi) >= 0;
}

static void check_existence(struct scale *s, const struct table *t)
{
    for (uint32_t i = 0; i < t->partition_count; i++) {
        const struct partition_info *p = &t->partitions[i];
        uint32_t there = 0;
        for (uint32_t m = 0; m < p->member_count; m++) {
            uint32_t node = partition_node(p, m);
            there += node == s->victim || exists_on(s, p, node);
        }
        if (p->leaving != 0) /* it counts until the new one has come */
            there += 1;
        assert_true(there >= p->member_count / 2 + 1);
    }
}

/* By the last catalog's count of partitions: no two replicas of a node hold a key both. */
static int by_lo(const void *a, const void *b)
{
    return slice_compare((*(const struct partition_info *const *)a)->lo,
                         (*(const struct partition_info *const *)b)->lo);
}

static void check_overlaps(struct scale *s, uint32_t node, uint32_t partitions)
{
    static const struct partition_info *held[4 * PARTITIONS_MAX];
    size_t count = 0;
    for (uint32_t id = 1; id <= partitions; id++) {
        const struct partition_info *p = replica(s, node, id);
        if (p != NULL)
            held[count++] = p;
    }
    qsort(held, count, sizeof held[0], by_lo);
    for (size_t i = 1; i < count; i++)
        assert_true(slice_compare(held[i - 1]->hi, held[i]->lo) <= 0);
}

static uint32_t partitions_of(const struct catalog *c, uint32_t *highest)
{
    uint32_t count = 0;
    for (const struct table *t = NULL; (t = catalog_next(c, t)) != NULL;) {
        count += t->partition_count;
        for (uint32_t i = 0; i < t->partition_count; i++)
            *highest = t->partitions[i].id > *highest ? t->partitions[i].id : *highest;
    }
    return count;
}

static void check(struct scale *s)
{
    uint32_t highest = 0, leader = lab_catalog_leader(&s->lab);
    s->checks++;
    for (uint32_t node = 1; node <= NODES; node++) {
        const struct node *n = node_process_node(s->lab.world.nodes[node]);
        const struct catalog *c = n == NULL ? NULL : node_catalog(n);
        if (c == NULL)
            continue;
        for (const struct table *t = NULL; (t = catalog_next(c, t)) != NULL;)
            check_table(t);
        check_reservations(c);
        partitions_of(c, &highest);
        uint64_t last = catalog_last_event(c);
        assert_true(last <= EVENTS_MAX || catalog_event(c, last - EVENTS_MAX).size == 0);
        uint64_t first_segment, last_segment;
        if (log_disk_range(&s->lab.world.nodes[node]->log_disk, &first_segment, &last_segment) &&
            last_segment - first_segment > s->log_segments_max)
            s->log_segments_max = last_segment - first_segment;
    }
    for (uint32_t node = 1; node <= NODES; node++)
        check_overlaps(s, node, highest);
    const struct catalog *c = leader == 0 ? NULL : lab_catalog(&s->lab);
    for (const struct table *t = NULL; c != NULL && (t = catalog_next(c, t)) != NULL;)
        check_existence(s, t);
}

/* ---- what happens ---- */

static void request_at_leader(struct scale *s, struct request *r)
{
    uint32_t leader = lab_catalog_leader(&s->lab);
    r->id = 1;
    if (leader != 0)
        node_process_request(s->lab.world.nodes[leader], r, &s->answer);
}

static void split_one(struct scale *s)
{
    uint32_t highest = 0;
    if (lab_catalog_leader(&s->lab) == 0 ||
        partitions_of(lab_catalog(&s->lab), &highest) >= PARTITIONS_MAX)
        return;
    const struct table *t =
        catalog_find(lab_catalog(&s->lab), slice_of(s->names[prng_below(&s->prng, TABLES)]));
    const struct partition_info *p = &t->partitions[prng_below(&s->prng, t->partition_count)];
    struct buffer key = {0}, body = {0};
    /* half of what lies between the bounds' hashes */
    uint64_t lo = 0, hi = 0;
    if (p->lo.size >= 12)
        memcpy(&lo, p->lo.data + 4, 8);
    if (p->hi.size >= 12)
        memcpy(&hi, p->hi.data + 4, 8);
    lo = __builtin_bswap64(lo);
    hi = hi == 0 ? UINT64_MAX : __builtin_bswap64(hi);
    buffer_append_u32(&key, __builtin_bswap32(t->id));
    buffer_append_u64(&key, __builtin_bswap64(lo + (hi - lo) / 2));
    struct table_split split = {.table_id = t->id,
                                .partition = p->id,
                                .epoch = p->epoch,
                                .point_count = 1,
                                .points = {buffer_slice(&key)}};
    table_split_share_equally(&split);
    table_split_encode(&body, &split);
    struct request r = {.op = REQUEST_TABLE_SPLIT, .table_split.split = buffer_slice(&body)};
    request_at_leader(s, &r);
    s->work_splits++;
    buffer_deinit(&key);
    buffer_deinit(&body);
}

static void drain(struct scale *s, uint32_t node, bool on)
{
    struct buffer body = {0};
    struct decision d = {.to_node = node, .drain = on};
    decision_encode(&body, &d);
    struct request r = {.op = REQUEST_DECIDE, .decide = {buffer_slice(&body), CATALOG_DRAIN}};
    request_at_leader(s, &r);
    buffer_deinit(&body);
}

static bool leads_flow(struct scale *s, uint32_t node, uint32_t flow)
{
    char text[16];
    struct buffer key = {0};
    struct partition_stats stats;
    const struct table *t = catalog_find(lab_catalog(&s->lab), slice_of(s->names[flow % TABLES]));
    int size = snprintf(text, sizeof text, "%u", flow);
    struct attr a = {ATTR_STRING, slice_make(text, (size_t)size)};
    storage_key_append(&key, t->id, &a, NULL);
    uint32_t partition = table_partition_of(t, buffer_slice(&key))->id;
    buffer_deinit(&key);
    buffer_clear(&s->answer);
    node_process_request(s->lab.world.nodes[node], &(struct request){.id = 1, .op = REQUEST_STATS},
                         &s->answer);
    struct reader r = {buffer_slice(&s->answer), false};
    while (r.left.size > 0 && partition_stats_decode(&r, &stats) == STATUS_OK) {
        if (stats.partition == partition)
            return stats.leads;
    }
    return false;
}

static void pass(struct scale *s);

/* Refusals are answers: an unresponsive member cannot vouch for bursts. */
static int64_t answered(const struct flow *f)
{
    return f->counts.ok + f->counts.key_range + f->counts.throttled;
}

/* Whoever writes to what other nodes lead must not notice. */
static void kill_catalog_leader(struct scale *s)
{
    bool led[FLOWS];
    int64_t served[FLOWS];
    s->victim = lab_catalog_leader(&s->lab);
    if (s->victim == 0)
        return;
    for (uint32_t i = 0; i < FLOWS; i++) {
        led[i] = leads_flow(s, s->victim, i);
        served[i] = answered(&s->flows[i]);
    }
    node_process_crash(s->lab.world.nodes[s->victim], false);
    s->killed_ns = s->lab.world.scheduler.now.ns;
    s->control_is_away = true;
    for (int tenth = 0; tenth < 3; tenth++)
        pass(s);
    for (uint32_t i = 0; i < FLOWS; i++) {
        int64_t now = answered(&s->flows[i]);
        s->stalled += !led[i] && now < served[i] + 3;
        s->waited += led[i] && now < served[i] + 3;
    }
}

static void revive(struct scale *s)
{
    struct buffer error = {0};
    if (s->victim != 0)
        assert_int_equal(node_process_start(s->lab.world.nodes[s->victim], &error), STATUS_OK);
    s->victim = 0;
}

/* ---- a run ---- */

static void start(struct scale *s)
{
    *s = (struct scale){.prng = prng_seeded(check_first_seed(1))};
    lab_init(&s->lab);
    s->lab.world.plan.nodes = NODES;
    lab_set(&s->lab, "partition_max_wcu", "10");
    lab_set(&s->lab, "node_wcu", "12000");
    lab_set(&s->lab, "log_segment_bytes", "8MiB");
    lab_set(&s->lab, "log_max_bytes", "64MiB");
    lab_set(&s->lab, "memtable_max_bytes", "4MiB");
    lab_start(&s->lab);
    lab_pass(&s->lab, 2 * NS_PER_S);
    for (int i = 0; i < TABLES; i++) {
        snprintf(s->names[i], sizeof s->names[i], "table-%d", i);
        lab_create_table(&s->lab, s->names[i], 1000, 10 * TABLE_PARTITIONS);
    }
    for (int i = 0; i < FLOWS; i++) {
        snprintf(s->items[i], sizeof s->items[i], "\"Item\":{\"k\":{\"S\":\"%d\"}}", i);
        s->flows[i] = (struct flow){.table = s->names[i % TABLES],
                                    .operation = "PutItem",
                                    .more = s->items[i],
                                    .per_second = FLOW_PER_S};
    }
}

/* A tenth of a second of load; who fails long after a death fails for nothing. */
static void pass(struct scale *s)
{
    int64_t failed = 0;
    lab_run_flows(&s->lab, s->flows, FLOWS, 100 * NS_PER_MS);
    for (int i = 0; i < FLOWS; i++)
        failed += s->flows[i].counts.failed;
    int64_t since = s->lab.world.scheduler.now.ns - s->killed_ns;
    if (failed > s->failed && (s->killed_ns == 0 || since > RECOVERY_MS_MAX * NS_PER_MS))
        s->failed_late += failed - s->failed;
    s->failed = failed;
    if (!s->control_is_away || lab_catalog_leader(&s->lab) == 0)
        return;
    s->control_is_away = false;
    if (since > s->control_away_ns_max)
        s->control_away_ns_max = since;
}

static void run(struct scale *s, int64_t seconds)
{
    for (int64_t second = 1; second <= seconds; second++) {
        for (int tenth = 0; tenth < 10; tenth++)
            pass(s);
        check(s);
        if (second % SPLIT_EVERY_S == 0)
            split_one(s);
        if (second % KILL_EVERY_S == 0)
            kill_catalog_leader(s);
        if (second % KILL_EVERY_S == DOWN_S)
            revive(s);
        if (second % DRAIN_EVERY_S == DRAIN_EVERY_S / 4) {
            s->drained = s->drained % NODES + 1;
            drain(s, s->drained, true);
        }
        if (second % DRAIN_EVERY_S == DRAIN_EVERY_S / 2)
            drain(s, s->drained, false);
        if (second % 300 == 0)
            printf("    at %lld s: %zu MiB allocated, at most %llu log segments\n",
                   (long long)second, mallinfo2().uordblks >> 20,
                   (unsigned long long)s->log_segments_max);
    }
}

TEST(a_thousand_partitions_keep_their_shape)
{
    static struct scale s;
    const char *setting = getenv("SECONDS");
    int64_t seconds = setting != NULL ? atoll(setting) : SECONDS, ok = 0;
    uint32_t highest = 0;
    start(&s);
    run(&s, seconds);
    revive(&s);
    lab_pass(&s.lab, 30 * NS_PER_S);
    check(&s);
    for (int i = 0; i < FLOWS; i++)
        ok += s.flows[i].counts.ok;
    uint32_t partitions = partitions_of(lab_catalog(&s.lab), &highest);
    printf("    %lld s: %u partitions, %u splits asked for, %llu events\n", (long long)seconds,
           partitions, s.work_splits, (unsigned long long)catalog_last_event(lab_catalog(&s.lab)));
    printf("    %lld writes, %lld failed, %lld of them later than %d ms after a death\n",
           (long long)ok, (long long)s.failed, (long long)s.failed_late, RECOVERY_MS_MAX);
    printf("    the catalog was away for at most %lld ms; of the writes that the dead node did not "
           "lead %u waited, of its own %u\n",
           (long long)(s.control_away_ns_max / NS_PER_MS), s.stalled, s.waited);
    assert_int_equal(s.failed_late, 0);
    assert_int_equal(s.stalled, 0);
    assert_true(s.waited > 0 || seconds < KILL_EVERY_S);
    assert_true(partitions > TABLES * TABLE_PARTITIONS);
    assert_true(s.control_away_ns_max < RECOVERY_MS_MAX * NS_PER_MS);
    assert_true(s.log_segments_max <= 10);
    buffer_deinit(&s.answer);
    lab_deinit(&s.lab);
}
