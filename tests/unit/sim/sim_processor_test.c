/* Processor time in the simulated world: work waits in one queue, answers leave when it is done,
 * and messages arrive when a process has time for them. */
#include "tests/check.h"

#include "sim/world/network.h"
#include "sim/world/processor.h"

static const struct processor_costs costs = {
    .first_ns = {[SERVED_READ] = 20, [SERVED_WRITE] = 40, [SERVED_FOLLOW] = 30}, .unit_ns = 2};

static int64_t work_ns(struct processor *p, int64_t now_ns, int64_t ns)
{
    return processor_work(p, (struct instant){now_ns}, ns);
}

TEST(work_waits_for_the_work_before_it)
{
    struct processor p = processor_make(1);
    assert_int_equal(work_ns(&p, 1000, 100), 100);
    assert_int_equal(work_ns(&p, 1030, 100), 170);
    assert_int_equal(work_ns(&p, 1200, 100), 100);
    assert_int_equal(work_ns(&p, 1201, 0), 0); /* what is no work does not wait */
}

TEST(several_processors_shorten_the_queue_and_not_the_work)
{
    struct processor p = processor_make(4);
    assert_int_equal(work_ns(&p, 1000, 100), 100);
    assert_int_equal(work_ns(&p, 1000, 100), 125);
    assert_int_equal(work_ns(&p, 1000, 100), 150);
}

TEST(a_slow_machine_takes_so_many_times_as_long)
{
    struct processor p = processor_make(1);
    p.slow_ppm = 5 * PROCESSOR_PPM / 2;
    assert_int_equal(work_ns(&p, 0, 100), 250);
    p.slow_ppm = PROCESSOR_PPM;
    assert_int_equal(work_ns(&p, 0, 100), 350);
}

/* Half of the time leaves no queue. More than the whole time leaves what exceeds it. */
TEST(what_others_use_beyond_all_time_stays_in_the_queue)
{
    struct processor p = processor_make(2);
    for (int64_t now = 1000; now <= 5000; now += 1000)
        processor_occupy(&p, (struct instant){now}, 500);
    assert_int_equal(work_ns(&p, 5000, 10), 10);
    p = processor_make(2);
    processor_occupy(&p, (struct instant){0}, 0);
    for (int64_t now = 1000; now <= 5000; now += 1000)
        processor_occupy(&p, (struct instant){now}, 1200);
    assert_int_equal(work_ns(&p, 5000, 10), 1000 + 10);
    assert_int_equal(processor_wait_ns(&p, (struct instant){5000}), 1000 + 5);
    assert_int_equal(processor_wait_ns(&p, (struct instant){9000}), 0);
}

TEST(requests_cost_by_kind_and_units)
{
    const struct served_totals none = {0};
    struct served_totals s = {0};
    struct processor p = processor_make(1);
    const struct instant at = {1000};
    s.kinds[SERVED_READ].requests = 1;
    s.kinds[SERVED_READ].mcu = 500; /* eventually consistent */
    assert_int_equal(processor_serve(&p, at, &costs, SERVED_READ, &none, &s), 20);
    assert_int_equal(processor_serve(&p, at, &costs, SERVED_WRITE, &none, &s), 0);
    s.kinds[SERVED_FOLLOW].requests = 2;
    s.kinds[SERVED_FOLLOW].mcu = 12000; /* ten units more than two requests have */
    assert_int_equal(processor_serve(&p, at, &costs, SERVED_FOLLOW, &none, &s), 20 + 2 * 40);
    struct served_totals more = s;
    more.kinds[SERVED_READ].mcu += 4000; /* of a request that was seen before */
    assert_int_equal(processor_serve(&p, at, &costs, SERVED_READ, &s, &more), 100 + 8);
}

/* ---- answers that leave later ---- */

struct receiver {
    const struct network *network; /* NULL: nobody asks for waited_ns */
    int64_t waited_ns;
    uint64_t link;
    char received[8];
    uint32_t count;
};

static void receiver_accepted(void *context, uint64_t link, uint32_t from)
{
    struct receiver *h = context;
    (void)from;
    h->link = link;
}

static void receiver_received(void *context, uint64_t link, struct slice bytes)
{
    struct receiver *h = context;
    (void)link;
    assert_int_equal(bytes.size, 1);
    h->waited_ns = h->network == NULL ? 0 : network_waited(h->network, 2).ns;
    h->received[h->count++] = (char)bytes.data[0];
}

static void receiver_closed(void *context, uint64_t link, bool gone)
{
    (void)context;
    (void)link;
    (void)gone;
}

static void receiver_datagram(void *context, uint32_t from, struct slice frame)
{
    (void)context;
    (void)from;
    (void)frame;
}

struct pair {
    struct scheduler scheduler;
    struct trace trace;
    struct network *network;
    struct receiver receivers[3]; /* by process */
    uint64_t link;                /* of process 1 to process 2 */
};

static void pair_init(struct pair *w)
{
    static const struct network_handler handler = {receiver_accepted, receiver_received,
                                                   receiver_closed, receiver_datagram};
    *w = (struct pair){.scheduler = {.now = {0}}};
    w->network = network_create(&(struct network_options){.scheduler = &w->scheduler,
                                                          .trace = &w->trace,
                                                          .processes = 2,
                                                          .delays = {.ns_min = 10},
                                                          .seed = 1});
    for (uint32_t i = 1; i <= 2; i++) {
        network_attach(w->network, i, &handler, &w->receivers[i]);
        network_start(w->network, i);
    }
    w->link = network_connect(w->network, 1, 2);
}

static void pair_pass(struct pair *w, int64_t until_ns)
{
    while (scheduler_step(&w->scheduler, (struct instant){until_ns}))
        continue;
}

static void pair_deinit(struct pair *w)
{
    network_destroy(w->network);
    scheduler_deinit(&w->scheduler);
}

TEST(an_answer_that_is_not_ready_does_not_hold_up_others)
{
    struct pair w;
    pair_init(&w);
    assert_true(network_send_at(w.network, w.link, slice_of("b"), (struct instant){500}));
    assert_true(network_send(w.network, w.link, slice_of("a")));
    pair_pass(&w, 509);
    assert_string_equal(w.receivers[2].received, "a");
    pair_pass(&w, 510);
    assert_string_equal(w.receivers[2].received, "ab");
    pair_deinit(&w);
}

TEST(an_answer_over_a_link_that_is_down_is_lost)
{
    struct pair w;
    pair_init(&w);
    network_send_at(w.network, w.link, slice_of("a"), (struct instant){500});
    pair_pass(&w, 100);
    network_kill(w.network, 1);
    pair_pass(&w, 1000);
    assert_int_equal(w.receivers[2].count, 0);
    assert_false(network_send_at(w.network, w.link, slice_of("b"), (struct instant){2000}));
    network_start(w.network, 1);
    w.link = network_connect(w.network, 1, 2);
    network_send_at(w.network, w.link, slice_of("c"), (struct instant){5000});
    pair_deinit(&w); /* what was never sent is freed */
}

TEST(messages_arrive_when_the_process_has_time_for_them)
{
    struct pair w;
    pair_init(&w);
    w.receivers[2].network = w.network;
    network_set_cost(w.network, 2, 1, 100);
    network_send(w.network, w.link, slice_of("a"));
    network_send(w.network, w.link, slice_of("b"));
    pair_pass(&w, 109);
    assert_int_equal(w.receivers[2].count, 0);
    pair_pass(&w, 110);
    assert_string_equal(w.receivers[2].received, "a");
    assert_int_equal(w.receivers[2].waited_ns, 0);
    pair_pass(&w, 209);
    assert_string_equal(w.receivers[2].received, "a");
    pair_pass(&w, 210);
    assert_string_equal(w.receivers[2].received, "ab");
    assert_int_equal(w.receivers[2].waited_ns, 100);
    network_set_cost(w.network, 2, 2, 100); /* from later processes only */
    network_send(w.network, w.link, slice_of("c"));
    pair_pass(&w, 220);
    assert_string_equal(w.receivers[2].received, "abc");
    pair_deinit(&w);
}
