/* Ways and processes of the simulated network that are slow, and streams that end on one side. */
#include "tests/check.h"

#include "sim/world/network.h"

enum {
    SENDER = 1,
    RECEIVER,
    PROCESSES = RECEIVER,
    EVENTS_MAX = 64
};

/* What the receiver got, and when. */
struct seen {
    struct network *network;
    const struct scheduler *scheduler;
    uint64_t link;
    int64_t at_us[EVENTS_MAX];
    size_t size[EVENTS_MAX];
    uint32_t count;
    int64_t busy_us; /* of the last event */
    bool ended;
    size_t waiting; /* at the receiver, of what it wrote back */
};

static void note(struct seen *s, size_t size)
{
    assert_true(s->count < EVENTS_MAX);
    s->at_us[s->count] = s->scheduler->now.ns / NS_PER_US;
    s->size[s->count++] = size;
    s->busy_us = network_busy(s->network, RECEIVER).ns / NS_PER_US;
}

static void accepted(void *context, uint64_t link, uint32_t from)
{
    struct seen *s = context;
    assert_int_equal(from, SENDER);
    s->link = link;
}

static void received(void *context, uint64_t link, struct slice bytes)
{
    (void)link;
    note(context, bytes.size);
}

static void closed(void *context, uint64_t link, bool gone)
{
    (void)context;
    (void)link;
    (void)gone;
}

static void datagram(void *context, uint32_t from, struct slice frame)
{
    (void)from;
    note(context, frame.size);
}

static void ended(void *context, uint64_t link)
{
    struct seen *s = context;
    (void)link;
    s->ended = true;
}

static void waiting(void *context, uint64_t link, size_t bytes)
{
    struct seen *s = context;
    (void)link;
    s->waiting = bytes;
}

struct world {
    struct scheduler scheduler;
    struct trace trace;
    struct network *network;
    struct seen sender, receiver;
    uint64_t link;
};

static struct world *world_create(struct network_speed speed)
{
    static const struct network_handler handler = {accepted, received, closed, datagram};
    static const struct network_stream_handler streams = {ended, waiting};
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    struct network_options options = {.scheduler = &w->scheduler,
                                      .trace = &w->trace,
                                      .processes = PROCESSES,
                                      .delays = {.ns_min = NS_PER_MS},
                                      .speed = speed,
                                      .seed = check_first_seed(1)};
    w->network = network_create(&options);
    w->sender = w->receiver = (struct seen){.network = w->network, .scheduler = &w->scheduler};
    network_attach(w->network, SENDER, &handler, &w->sender);
    network_attach(w->network, RECEIVER, &handler, &w->receiver);
    network_attach_streams(w->network, RECEIVER, &streams);
    network_start(w->network, SENDER);
    network_start(w->network, RECEIVER);
    w->link = network_connect(w->network, SENDER, RECEIVER);
    return w;
}

static void world_run(struct world *w)
{
    while (scheduler_step(&w->scheduler, instant_add(w->scheduler.now, duration_ms(1000)))) {
    }
}

static void world_destroy(struct world *w)
{
    network_destroy(w->network);
    scheduler_deinit(&w->scheduler);
    free(w);
}

static struct slice bytes_of(size_t size)
{
    static uint8_t bytes[1 << 20];
    return slice_make(bytes, size);
}

TEST(a_large_message_delays_those_behind_it)
{
    struct world *w = world_create((struct network_speed){.way_bytes_ms = 1000});
    network_send(w->network, w->link, bytes_of(50000));
    network_datagram(w->network, SENDER, RECEIVER, bytes_of(1000));
    world_run(w);
    assert_int_equal(w->receiver.count, 2);
    assert_int_equal(w->receiver.size[0], 50000);
    assert_int_equal(w->receiver.at_us[0], 51000); /* 50 ms on the way, and its length */
    assert_int_equal(w->receiver.at_us[1], 52000);
    world_destroy(w);
}

TEST(datagrams_are_lost_where_too_much_waits_for_their_way)
{
    struct world *w = world_create((struct network_speed){.way_bytes_ms = 4000});
    for (int i = 0; i < 8; i++)
        network_datagram(w->network, SENDER, RECEIVER, bytes_of(1 << 20));
    world_run(w);
    assert_int_equal(w->receiver.count, 1 + NETWORK_DATAGRAMS_MAX / (1 << 20));
    network_datagram(w->network, SENDER, RECEIVER, bytes_of(1)); /* the way is free again */
    world_run(w);
    assert_int_equal(w->receiver.count, 2 + NETWORK_DATAGRAMS_MAX / (1 << 20));
    world_destroy(w);
}

TEST(a_process_gets_to_one_event_after_the_other)
{
    struct world *w = world_create((struct network_speed){.event_ns = NS_PER_MS});
    int64_t busy_us = 0, last_us = 0;
    for (int i = 0; i < 20; i++)
        network_datagram(w->network, SENDER, RECEIVER, bytes_of(10));
    for (uint32_t i = 0; i < 20; i++) {
        while (w->receiver.count == i)
            assert_true(scheduler_step(&w->scheduler, (struct instant){NS_PER_S}));
        assert_true(i == 0 || w->receiver.at_us[i] >= last_us + busy_us);
        last_us = w->receiver.at_us[i];
        busy_us = w->receiver.busy_us;
    }
    assert_true(last_us > 5000);
    network_calm(w->network, 0);
    const int64_t sent_us = w->scheduler.now.ns / NS_PER_US;
    network_datagram(w->network, SENDER, RECEIVER, bytes_of(10));
    world_run(w);
    assert_int_equal(w->receiver.at_us[20], sent_us + 1000);
    world_destroy(w);
}

TEST(what_a_slow_reader_has_not_taken_waits)
{
    struct world *w = world_create((struct network_speed){0});
    world_run(w);
    network_read_slowly(w->network, SENDER, 1000);
    assert_int_equal(network_write(w->network, w->receiver.link, bytes_of(100000)), 100000);
    while (w->sender.count < 3)
        assert_true(scheduler_step(&w->scheduler, (struct instant){10 * NS_PER_S}));
    assert_in_range(w->receiver.waiting, 40000, 60000);
    world_run(w);
    assert_int_equal(w->receiver.waiting, 0);
    assert_true(w->sender.at_us[w->sender.count - 1] >= 100000);
    world_destroy(w);
}

TEST(an_end_that_sends_nothing_more_still_reads)
{
    struct world *w = world_create((struct network_speed){0});
    network_send(w->network, w->link, bytes_of(10));
    network_end(w->network, w->link);
    world_run(w);
    assert_true(w->receiver.ended);
    network_send(w->network, w->receiver.link, bytes_of(20));
    world_run(w);
    assert_int_equal(w->sender.count, 1);
    assert_int_equal(w->sender.size[0], 20);
    world_destroy(w);
}

TEST(a_resumed_process_gets_held_datagrams_or_its_links_first)
{
    for (int links_first = 0; links_first <= 1; links_first++) {
        struct world *w = world_create((struct network_speed){0});
        world_run(w);
        network_pause(w->network, RECEIVER, true);
        network_datagram(w->network, SENDER, RECEIVER, bytes_of(1));
        network_send(w->network, w->link, bytes_of(2));
        world_run(w);
        assert_int_equal(w->receiver.count, 0);
        if (links_first)
            network_resume_links_first(w->network, RECEIVER);
        else
            network_pause(w->network, RECEIVER, false);
        world_run(w);
        assert_int_equal(w->receiver.count, 2);
        assert_int_equal(w->receiver.size[0], links_first ? 2 : 1);
        world_destroy(w);
    }
}

/* The sender has given its link up, and uses another one; then the bytes of the lost link arrive.
 * */
TEST(late_bytes_arrive_though_their_link_is_lost)
{
    enum {
        LATE_MS = 500
    };
    (void)state;
    for (int late = 0; late < 2; late++) {
        struct world *w = world_create((struct network_speed){0});
        const struct seen *s = &w->receiver;
        world_run(w);
        network_delay(w->network, SENDER, RECEIVER, late ? LATE_MS * NS_PER_MS : 0);
        network_send(w->network, w->link, bytes_of(10));
        network_delay(w->network, SENDER, RECEIVER, 0);
        network_reset(w->network, SENDER, RECEIVER);
        w->link = network_connect(w->network, SENDER, RECEIVER);
        network_send(w->network, w->link, bytes_of(20));
        const int64_t sent_us = w->scheduler.now.ns / NS_PER_US;
        world_run(w);
        assert_int_equal(s->count, 1 + late);
        assert_int_equal(s->size[0], 20);
        assert_true(!late || s->size[1] == 10);
        assert_true(!late || s->at_us[1] - sent_us >= LATE_MS * 1000);
        world_destroy(w);
    }
}
