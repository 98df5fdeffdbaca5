/* A node under any schedule of requests, touches, disk writes, checkpoints and crashes, against a
 * model that knows what is applied and what is in flight. */
#include "tests/check.h"

#include "base/config.h"
#include "tests/support/lone_node.h"

enum {
    NAMES = 30,
    QUEUE = 16, /* node_queue_max */
    WRITES_MAX = 64
};

struct write {
    uint64_t id;
    uint32_t name;
    uint32_t version; /* 0: a deletion */
    uint32_t old;
};

struct model {
    uint32_t applied[NAMES];
    uint32_t proposed[NAMES];
    struct write writes[WRITES_MAX]; /* in flight, oldest first */
    size_t write_count;
    size_t in_flight;                  /* how many of them are in the batch being written */
    struct write waiting[TOUCHES_MAX]; /* by position in world.touches; id 0: a read */
    uint32_t version;
};

/* A write ran: unless it was refused, it is in flight now. */
static void model_proposed(struct lone_node *w, struct model *m, struct write write)
{
    if (w->answer_count > 0) {
        assert_int_equal(lone_answer(w)->id, write.id);
        assert_int_equal(lone_answer(w)->code, REPLY_OVERLOADED);
        return;
    }
    write.old = m->proposed[write.name];
    m->proposed[write.name] = write.version;
    assert_true(m->write_count < WRITES_MAX);
    m->writes[m->write_count++] = write;
}

static void model_applied(struct model *m, size_t count)
{
    for (size_t i = 0; i < count; i++)
        m->applied[m->writes[i].name] = m->writes[i].version;
    memmove(m->writes, m->writes + count, (m->write_count - count) * sizeof m->writes[0]);
    m->write_count -= count;
}

static void model_request(struct lone_node *w, struct model *m, struct prng *p)
{
    struct write write = {.name = (uint32_t)prng_below(p, NAMES)};
    size_t touches = w->touch_count;
    uint64_t dice = prng_below(p, 10);
    if (touches == TOUCHES_MAX)
        return;
    if (dice < 4) {
        lone_send_to(w, REQUEST_GET, write.name);
    } else if (dice < 8) {
        write.version = ++m->version;
        write.id = lone_put(w, write.name, write.version);
    } else {
        write.id = lone_send_to(w, REQUEST_DELETE, write.name);
    }
    if (w->touch_count > touches)
        m->waiting[touches] = write;
    else if (write.id > 0)
        model_proposed(w, m, write);
    else if (touches == QUEUE && lone_answer(w)->code == REPLY_OVERLOADED)
        return; /* as many wait for the disk as may */
    else
        assert_int_equal(answer_version(lone_answer(w)), m->applied[write.name]);
}

static void model_touched(struct lone_node *w, struct model *m, struct prng *p)
{
    if (w->touch_count == 0)
        return;
    size_t i = prng_below(p, w->touch_count);
    struct write write = m->waiting[i];
    size_t touches = w->touch_count - 1;
    m->waiting[i] = m->waiting[touches];
    w->answer_count = 0;
    lone_touch_end(w, i);
    if (w->touch_count > touches) /* now for what its collection holds */
        m->waiting[touches] = write;
    else if (write.id == 0)
        assert_int_equal(answer_version(lone_answer(w)), m->applied[write.name]);
    else
        model_proposed(w, m, write);
}

static size_t writes_in(const struct log_batch *b)
{
    struct log_record record;
    size_t count = 0, size;
    for (size_t at = 0; at < b->bytes.size; at += size) {
        struct slice rest = slice_make(b->bytes.data + at, b->bytes.size - at);
        assert_int_equal(log_record_read(rest, b->lsn + at, &record, &size), STATUS_OK);
        count += record.kind == LOG_WRITE;
    }
    return count;
}

static void model_disk(struct lone_node *w, struct model *m)
{
    if (w->in_flight == NULL) {
        if (lone_write_begin(w))
            m->in_flight = writes_in(w->in_flight);
        return;
    }
    w->answer_count = 0;
    lone_write_end(w, 0);
    assert_int_equal(w->answer_count, m->in_flight);
    for (size_t i = 0; i < m->in_flight; i++) {
        size_t at = 0; /* partitions answer in any order */
        while (at < w->answer_count && w->answers[at].id != m->writes[i].id)
            at++;
        assert_true(at < w->answer_count);
        assert_int_equal(answer_version(&w->answers[at]), m->writes[i].old);
    }
    model_applied(m, m->in_flight);
}

/* The batch in flight reached the disk or did not; what was not in it is lost. */
static void model_crash(struct lone_node *w, struct model *m, struct prng *p)
{
    if (w->in_flight != NULL && prng_below(p, 2) == 0) {
        lone_write_reaches_disk(w);
        model_applied(m, m->in_flight);
    }
    m->write_count = 0;
    memcpy(m->proposed, m->applied, sizeof m->applied);
    lone_crash(w);
}

static int64_t model_count(const struct model *m)
{
    int64_t count = 0;
    for (size_t i = 0; i < NAMES; i++)
        count += m->applied[i] != 0;
    return count;
}

/* The hash of everything the node's traces told, over all its lives. */
static uint64_t run_schedule(struct prng *p)
{
    uint64_t traces = 0;
    struct lone_node w;
    struct model m = {.version = 0};
    lone_init(&w, PROFILE_OFF);
    lone_set(&w, "checkpoint_ms", "10");
    lone_set(&w, "memtable_max_bytes", "64KiB");
    lone_set(&w, "node_queue_max", "16");
    w.resident_max = prng_below(p, 2) == 0 ? 0 : UINT64_MAX;
    w.collections = prng_below(p, 2) == 0 ? 0 : 7;
    lone_open_table(&w, 2500, 2500);
    for (int step = 0; step < 3000; step++) {
        uint64_t dice = prng_below(p, 1000);
        if (dice < 500)
            model_request(&w, &m, p);
        else if (dice < 650)
            model_touched(&w, &m, p);
        else if (dice < 900)
            model_disk(&w, &m);
        else if (dice < 950)
            lone_pass(&w, (int64_t)prng_below(p, 20));
        else if (dice < 990 && w.checkpoint)
            lone_checkpoint_end(&w);
        else if (dice >= 997) {
            traces = traces * 31 + node_trace(w.node)->hash;
            model_crash(&w, &m, p);
        }
        if (step % 100 == 0)
            lone_assert_verified(&w, model_count(&m));
    }
    traces = traces * 31 + node_trace(w.node)->hash;
    lone_crash(&w);
    lone_assert_verified(&w, model_count(&m));
    lone_deinit(&w);
    return traces;
}

/* The same schedule twice is the same run: nothing in the node depends on anything else. */
static void any_schedule_keeps_to_the_model(struct prng *p)
{
    struct prng again = *p;
    uint64_t first = run_schedule(p);
    assert_true(run_schedule(&again) == first);
}

/* NODE-2 */
TEST(a_node_keeps_to_a_naive_model_under_any_schedule)
{
    check_seeds(20, any_schedule_keeps_to_the_model);
}
