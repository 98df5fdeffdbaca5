/* node_server_test.c - the driver of a node over a simulated disk: its recovery, its log's
 * segments, what comes over its links. */
#include "engine/message/frames.h"
#include "tests/check.h"

#include "base/limits.h"
#include "base/settings/choices.h"
#include "base/settings/storage.h"
#include "server/link_messages.h"
#include "sim/world/world.h"

enum {
    NODE = 1,
    SEGMENT = 64 << 10
};

struct fixture {
    struct config configs[NODE + 1];
    struct world world; /* one node, and a caller, which speaks as a router */
    struct network *network;
    struct node_process *node;
    uint32_t caller;
    struct buffer error;
    int refused;
    int spins;
    int closed; /* links of the caller */
    int replies;
};

static void fixture_refused(void *context, uint32_t node, const char *why)
{
    struct fixture *s = context;
    (void)node;
    assert_non_null(why);
    s->refused++;
}

static void fixture_spins(void *context, uint32_t process)
{
    struct fixture *s = context;
    (void)process;
    s->spins++;
}

static void caller_accepted(void *context, uint64_t link, uint32_t from)
{
    (void)context;
    (void)link;
    (void)from;
}

static void caller_received(void *context, uint64_t link, struct slice bytes)
{
    struct fixture *s = context;
    struct reply r;
    (void)link;
    assert_int_equal(reply_decode(bytes, &r), STATUS_OK);
    s->replies++;
}

static void caller_closed(void *context, uint64_t link, bool gone)
{
    struct fixture *s = context;
    (void)link;
    assert_true(gone);
    s->closed++;
}

static int fixture_setup(void **state)
{
    static const struct network_handler handler = {caller_accepted, caller_received, caller_closed,
                                                   NULL};
    struct fixture *s = calloc(1, sizeof *s);
    assert_non_null(s);
    config_init(&s->configs[NODE], PROFILE_OFF);
    config_edit_choices(&s->configs[NODE])->gac = GAC_OFF;
    config_edit_storage(&s->configs[NODE])->log_segment_bytes = SEGMENT;
    world_init(&s->world,
               &(struct world_plan){
                   .nodes = 1,
                   .clients = 1,
                   .configs = s->configs,
                   .timings = {.write_min_ns = NS_PER_MS, .checkpoint_spread_ns = NS_PER_MS},
                   .watch = {.refused = fixture_refused, .spins = fixture_spins, .context = s}});
    s->network = s->world.network;
    s->node = s->world.nodes[NODE];
    s->caller = world_client(&s->world, 0);
    network_attach(s->network, s->caller, &handler, s);
    network_start(s->network, s->caller);
    *state = s;
    return 0;
}

static int fixture_teardown(void **state)
{
    struct fixture *s = *state;
    world_deinit(&s->world);
    buffer_deinit(&s->error);
    free(s);
    return 0;
}

FIXTURE(fixture_setup, fixture_teardown)

static enum status fixture_start(struct fixture *s)
{
    buffer_clear(&s->error);
    return node_process_start(s->node, &s->error);
}

static void fixture_pass(struct fixture *s, int64_t ms)
{
    world_pass(&s->world, ms * NS_PER_MS);
}

static bool error_contains(const struct fixture *s, const char *text)
{
    return memmem(s->error.data, s->error.size, text, strlen(text)) != NULL;
}

/* NODE-RECOVERY-1. */
TEST(a_segment_that_cannot_be_read_fails_the_start)
{
    struct fixture *s = *state;
    assert_int_equal(fixture_start(s), STATUS_OK);
    fixture_pass(s, 1000);
    node_process_crash(s->node, true);
    s->node->log_disk.unreadable = true;
    assert_int_equal(fixture_start(s), STATUS_IO);
    assert_true(error_contains(s, "cannot read the log"));
    s->node->log_disk.unreadable = false;
    assert_int_equal(fixture_start(s), STATUS_OK);
}

/* The store has taken over the log exactly up to where a segment begins, and the first write into
 * that segment was torn: NODE-RECOVERY-2. */
TEST(a_torn_write_behind_what_the_store_took_over_is_cleaned)
{
    struct fixture *s = *state;
    struct log_disk *d = &s->node->log_disk;
    struct store *store = store_create(store_disk_open(&s->node->store_disk), GIB, 1);
    store_freeze(store, SEGMENT, 0);
    enum status status = store_checkpoint_write(store);
    store_checkpoint_done(store, status);
    assert_int_equal(status, STATUS_OK);
    store_destroy(store);
    assert_int_equal(log_disk_prepare(d, 0), STATUS_OK);
    assert_int_equal(log_disk_prepare(d, 1), STATUS_OK);
    log_disk_write_begin(d, SEGMENT, slice_of("not a record"));
    log_disk_write_end(d, SEGMENT);
    assert_int_equal(fixture_start(s), STATUS_OK);
    assert_int_equal(log_disk_read(d, 1).size, 0);
}

/* NODE-SPACE-1. */
TEST(segments_are_made_ahead_while_there_is_space)
{
    struct fixture *s = *state;
    struct log_disk *d = &s->node->log_disk;
    assert_int_equal(fixture_start(s), STATUS_OK);
    assert_false(log_disk_has(d, 1)); /* it is being made */
    d->full = true;
    fixture_pass(s, 400);
    assert_false(log_disk_has(d, 1));
    d->full = false;
    fixture_pass(s, 50);
    assert_false(log_disk_has(d, 1)); /* tried again every half second */
    fixture_pass(s, 100);
    assert_true(log_disk_has(d, 1));
    assert_false(log_disk_has(d, 2)); /* not before the middle of segment 0 */
}

/* The time of the next attempt is past, and the attempt is under way. */
TEST(a_node_waits_for_the_segment_of_a_slow_disk)
{
    struct fixture *s = *state;
    struct log_disk *d = &s->node->log_disk;
    assert_int_equal(fixture_start(s), STATUS_OK);
    d->full = true;
    fixture_pass(s, 400);
    d->full = false;
    s->node->slow_times = 1000;
    fixture_pass(s, 600);
    assert_false(log_disk_has(d, 1));
    fixture_pass(s, 1000);
    assert_true(log_disk_has(d, 1));
    assert_int_equal(s->spins, 0);
}

TEST(a_log_disk_without_files_stops_the_start_with_its_reason)
{
    struct fixture *s = *state;
    struct log_disk *d = &s->node->log_disk;
    d->no_files = true;
    assert_int_equal(fixture_start(s), STATUS_IO);
    assert_true(error_contains(s, "Too many open files"));
    d->no_files = false;
    d->full = true;
    assert_int_equal(fixture_start(s), STATUS_FULL);
    assert_true(error_contains(s, "cannot allocate the log"));
}

static void send_garbage(struct fixture *s, struct slice frame)
{
    int refused = s->refused, closed = s->closed;
    uint64_t link = network_connect(s->network, s->caller, NODE);
    assert_true(network_send(s->network, link, frame));
    fixture_pass(s, 10);
    assert_int_equal(s->refused, refused + 1);
    assert_int_equal(s->closed, closed + 1);
    assert_false(network_send(s->network, link, frame));
}

TEST(what_may_not_come_over_a_link_closes_it)
{
    struct fixture *s = *state;
    struct buffer frame = {0};
    assert_int_equal(fixture_start(s), STATUS_OK);
    fixture_pass(s, 1000);
    send_garbage(s, slice_of("no message"));
    buffer_append_u8(&frame, MESSAGE_REQUEST);
    send_garbage(s, buffer_slice(&frame));
    buffer_clear(&frame);
    buffer_append_u8(&frame, MESSAGE_REPLY);
    send_garbage(s, buffer_slice(&frame)); /* of a router */
    buffer_clear(&frame);
    request_encode(&frame, &(struct request){.id = 1, .op = REQUEST_PING});
    uint64_t link = network_connect(s->network, s->caller, NODE);
    assert_true(network_send(s->network, link, slice_make(frame.data + 4, frame.size - 4)));
    fixture_pass(s, 10);
    assert_int_equal(s->replies, 1);
    buffer_deinit(&frame);
}
