/* transport_test.c - links between transports on one loop, and against peers that speak nonsense.
 */
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/must.h"
#include "base/prng.h"
#include "engine/message/frames.h"
#include "host/frame.h"
#include "host/transport.h"
#include "server/host/link_transport.h"
#include "server/host/mac.h"
#include "server/link_messages.h"
#include "server/link_rights.h"
#include "tests/check.h"

enum {
    TIMEOUT_MS = 60000
};

/* One process, as the test sees it. */
struct process {
    struct transport *transport;
    int ups, downs, frames;
    uint64_t link;
    enum peer_kind peer_kind;
    uint32_t peer_id;
    struct buffer received; /* the frames, one after another */
    struct buffer notes;    /* a line each */
    bool echo;
    bool ended_by_peer; /* the last one that went down */
};

static void on_up(void *context, uint64_t link, enum peer_kind kind, uint32_t id)
{
    struct process *p = context;
    assert_int_equal(p->ups, p->downs);
    p->ups++;
    p->link = link;
    p->peer_kind = kind;
    p->peer_id = id;
}

static void on_frame(void *context, const struct link_peer *from, struct slice bytes)
{
    struct process *p = context;
    uint64_t link = from->link;
    assert_true(link == p->link && from->kind == p->peer_kind && from->id == p->peer_id);
    p->frames++;
    buffer_append_slice(&p->received, bytes);
    if (p->echo)
        transport_send(p->transport, link, bytes);
}

static void on_down(void *context, uint64_t link, enum peer_kind kind, uint32_t id, bool by_peer)
{
    struct process *p = context;
    p->ended_by_peer = by_peer;
    assert_true(link == p->link);
    assert_int_equal(kind, p->peer_kind);
    assert_int_equal(id, p->peer_id);
    p->downs++;
    p->link = 0;
}

static void on_note(void *context, const char *text)
{
    struct process *p = context;
    buffer_append_format(&p->notes, "%s\n", text);
}

static const struct transport_handler handler = {
    .up = on_up, .frame = on_frame, .down = on_down, .note = on_note};

struct fixture {
    struct loop *loop;
    struct process node, router;
};

static void start(struct fixture *f, struct process *p, enum peer_kind kind, uint32_t id)
{
    struct transport_options options = {.loop = f->loop,
                                        .self = {.kind = kind,
                                                 .id = id,
                                                 .cluster = slice_of("orchard"),
                                                 .secret = slice_of("a secret of this test"),
                                                 .accepts = link_rights_accepted(kind),
                                                 .mac = mac_sha256},
                                        .seed = id,
                                        .handler = &handler,
                                        .context = p};
    p->transport = transport_create(&options);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    must(f != NULL);
    assert_int_equal(loop_create(&f->loop), STATUS_OK);
    start(f, &f->node, PEER_NODE, 7);
    start(f, &f->router, PEER_ROUTER, 1);
    assert_int_equal(transport_listen(f->node.transport, "127.0.0.1", 0), STATUS_OK);
    *state = f;
    return 0;
}

static void stop(struct process *p)
{
    transport_destroy(p->transport);
    buffer_deinit(&p->received);
    buffer_deinit(&p->notes);
    *p = (struct process){0};
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    stop(&f->node);
    stop(&f->router);
    loop_destroy(f->loop);
    free(f);
    return 0;
}

static void turn(struct fixture *f, struct instant deadline)
{
    struct process *all[] = {&f->node, &f->router};
    for (int i = 0; i < 2; i++)
        if (all[i]->transport != NULL)
            deadline = instant_earlier(deadline, transport_deadline(all[i]->transport));
    assert_int_equal(loop_turn(f->loop, deadline), STATUS_OK);
    for (int i = 0; i < 2; i++)
        if (all[i]->transport != NULL)
            transport_tick(all[i]->transport);
}

#define TURN_UNTIL(f, condition)                                                               \
    do {                                                                                       \
        struct instant give_up_at = instant_add(loop_now((f)->loop), duration_ms(TIMEOUT_MS)); \
        while (!(condition)) {                                                                 \
            turn(f, give_up_at);                                                               \
            assert_true(instant_before(loop_now((f)->loop), give_up_at));                      \
        }                                                                                      \
    } while (0)

static bool noted(struct process *p, const char *text)
{
    return p->notes.size > 0 && memmem(p->notes.data, p->notes.size, text, strlen(text)) != NULL;
}

static void join(struct fixture *f)
{
    transport_add_peer(f->router.transport, PEER_NODE, 7, "127.0.0.1",
                       transport_port(f->node.transport));
    TURN_UNTIL(f, f->router.ups == 1 && f->node.ups == 1);
}

TEST_WITH(both_sides_learn_who_the_other_one_is, set_up, tear_down)
{
    struct fixture *f = *state;
    assert_int_equal(transport_link(f->router.transport, PEER_NODE, 7), 0);
    join(f);
    assert_int_equal(f->node.peer_kind, PEER_ROUTER);
    assert_int_equal(f->node.peer_id, 1);
    assert_int_equal(f->router.peer_kind, PEER_NODE);
    assert_int_equal(f->router.peer_id, 7);
    assert_true(transport_link(f->router.transport, PEER_NODE, 7) == f->router.link);
    assert_int_equal(f->router.notes.size, 0);
}

TEST_WITH(frames_of_every_size_arrive_whole_and_in_order, set_up, tear_down)
{
    struct fixture *f = *state;
    struct buffer sent = {0};
    struct prng random = prng_seeded(3);
    join(f);
    f->node.echo = true;
    int frames = 0;
    for (size_t size = 1; size < 4000000; size = size * 2 + prng_below(&random, 3)) {
        struct buffer frame = {0};
        uint8_t *bytes = buffer_reserve(&frame, size);
        for (size_t i = 0; i < size; i++)
            bytes[i] = (uint8_t)prng_next(&random);
        frame.size = size;
        assert_true(transport_send(f->router.transport, f->router.link, buffer_slice(&frame)));
        buffer_append_slice(&sent, buffer_slice(&frame));
        buffer_deinit(&frame);
        frames++;
    }
    assert_true(transport_unsent(f->router.transport, f->router.link) > sent.size);
    TURN_UNTIL(f, f->router.frames == frames);
    assert_true(slice_equal(buffer_slice(&sent), buffer_slice(&f->node.received)));
    assert_true(slice_equal(buffer_slice(&sent), buffer_slice(&f->router.received)));
    buffer_deinit(&sent);
}

TEST_WITH(a_peer_that_comes_later_is_reached_by_retrying, set_up, tear_down)
{
    struct fixture *f = *state;
    uint16_t port = transport_port(f->node.transport);
    stop(&f->node);
    transport_add_peer(f->router.transport, PEER_NODE, 7, "127.0.0.1", port);
    TURN_UNTIL(f, noted(&f->router, "node 7: cannot connect to 127.0.0.1"));
    size_t notes = f->router.notes.size;
    struct instant later = instant_add(loop_now(f->loop), duration_ms(300));
    while (instant_before(loop_now(f->loop), later))
        turn(f, later);
    assert_int_equal(f->router.notes.size, notes); /* told once, however often it was tried */
    start(f, &f->node, PEER_NODE, 7);
    assert_int_equal(transport_listen(f->node.transport, "127.0.0.1", port), STATUS_OK);
    TURN_UNTIL(f, f->router.ups == 1);
}

TEST_WITH(a_lost_link_is_reported_to_both_and_comes_back, set_up, tear_down)
{
    struct fixture *f = *state;
    join(f);
    uint64_t before = f->router.link;
    transport_close(f->node.transport, f->node.link);
    assert_false(transport_send(f->node.transport, f->node.link, slice_of("x")));
    TURN_UNTIL(f, f->router.downs == 1 && f->node.downs == 1);
    assert_true(f->router.ended_by_peer);
    assert_false(f->node.ended_by_peer);
    assert_false(transport_send(f->router.transport, before, slice_of("x")));
    TURN_UNTIL(f, f->router.ups == 2 && f->node.ups == 2);
    assert_true(f->router.link != before);
    assert_true(noted(&f->router, "closed by the other side"));
}

TEST_WITH(a_peer_that_is_somebody_else_is_refused_by_name, set_up, tear_down)
{
    struct fixture *f = *state;
    transport_add_peer(f->router.transport, PEER_NODE, 8, "127.0.0.1",
                       transport_port(f->node.transport));
    TURN_UNTIL(f, noted(&f->router, "is node 7, not node 8: check the list of peers"));
    assert_int_equal(f->router.ups, 0);
    assert_int_equal(transport_link(f->router.transport, PEER_NODE, 8), 0);
}

TEST_WITH(an_answer_that_no_message_has_room_for_is_refused_with_its_size, set_up, tear_down)
{
    struct fixture *f = *state;
    static uint8_t body[FRAME_SIZE_MAX];
    struct buffer scratch = {0};
    struct reply reply = {.id = 9, .kind = ANSWER_STATS, .stats.records = {body, sizeof body}}, got;
    join(f);
    const struct link_port links = transport_links(f->node.transport);
    assert_true(link_send_reply(&links, f->node.link, &scratch, &reply));
    TURN_UNTIL(f, f->router.frames == 1);
    assert_int_equal(reply_decode(buffer_slice(&f->router.received), &got), STATUS_OK);
    assert_true(got.id == 9 && got.code == REPLY_LIMIT_EXCEEDED && got.text.size > 0);
    reply.stats.records.size -= reply_size(&reply) - FRAME_SIZE_MAX;
    buffer_clear(&f->router.received);
    assert_true(link_send_reply(&links, f->node.link, &scratch, &reply));
    TURN_UNTIL(f, f->router.frames == 2);
    assert_int_equal(reply_decode(buffer_slice(&f->router.received), &got), STATUS_OK);
    assert_int_equal(got.code, REPLY_OK);
    struct request request = {.op = REQUEST_PUT, .write.item = slice_make(body, sizeof body)};
    assert_false(link_send_request(&links, f->node.link, &scratch, &request));
    buffer_deinit(&scratch);
}

TEST_WITH(a_link_that_takes_nothing_is_closed_before_memory_runs_out, set_up, tear_down)
{
    struct fixture *f = *state;
    static uint8_t frame[FRAME_SIZE_MAX];
    join(f);
    int sent = 0;
    /* No turn in between: nothing can leave. */
    while (transport_send(f->router.transport, f->router.link, slice_make(frame, sizeof frame)))
        sent++;
    assert_true(sent >= 3 && sent <= 4);
    TURN_UNTIL(f, f->router.downs == 1);
    assert_true(noted(&f->router, "does not read the data sent to it"));
}

/* ---- strangers ---- */

static int stranger(struct fixture *f)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(transport_port(f->node.transport)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    must(fd >= 0);
    must(connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    return fd;
}

static void write_frame(int fd, struct slice content)
{
    uint8_t header[FRAME_HEADER_SIZE];
    frame_header(content, header);
    must(write(fd, header, sizeof header) == sizeof header);
    must(write(fd, content.data, content.size) == (ssize_t)content.size);
}

static void send_hello(int fd, uint32_t magic, uint32_t version, uint8_t kind, uint32_t id)
{
    struct buffer hello = {0};
    buffer_append_u32(&hello, magic);
    buffer_append_u32(&hello, version);
    buffer_append_u8(&hello, kind);
    buffer_append_u32(&hello, id);
    write_frame(fd, buffer_slice(&hello));
    buffer_deinit(&hello);
}

static bool keep_frame(void *context, struct slice bytes)
{
    buffer_append_slice(context, bytes);
    return false;
}

/* A frame of this size, while the node takes its turns. */
static void await_frame(struct fixture *f, int fd, struct buffer *out)
{
    struct frame_reader r = {0};
    struct instant give_up_at = instant_add(loop_now(f->loop), duration_ms(TIMEOUT_MS));
    buffer_clear(out);
    while (out->size == 0) {
        uint8_t bytes[1];
        turn(f, instant_add(loop_now(f->loop), duration_ms(1)));
        while (out->size == 0 && recv(fd, bytes, 1, MSG_DONTWAIT) == 1)
            frame_reader_feed(&r, slice_make(bytes, 1), keep_frame, out);
        assert_true(instant_before(loop_now(f->loop), give_up_at));
    }
    frame_reader_deinit(&r);
}

/* A stranger that knows what it takes. Returns its socket once it has said all. */
static int greet_as(struct fixture *f, enum peer_kind kind, uint32_t id, const char *cluster,
                    const char *secret)
{
    const struct greeting_self self = {.kind = kind,
                                       .id = id,
                                       .cluster = slice_of(cluster),
                                       .secret = slice_of(secret),
                                       .mac = mac_sha256};
    const struct greeting_expected expected = {PEER_NODE, 7};
    static const uint8_t nonce[GREETING_NONCE_SIZE] = {1, 2, 3};
    struct greeting g;
    struct buffer in = {0}, out = {0}, error = {0};
    int fd = stranger(f);
    greeting_init(&g, &self, &expected, nonce);
    greeting_hello(&g, &out);
    write_frame(fd, buffer_slice(&out));
    await_frame(f, fd, &in);
    buffer_clear(&out);
    if (greeting_take(&g, buffer_slice(&in), &out, &error) == GREETING_AWAITS_PROOF)
        write_frame(fd, buffer_slice(&out));
    buffer_deinit(&in);
    buffer_deinit(&out);
    buffer_deinit(&error);
    return fd;
}

static int greet_as_tool(struct fixture *f)
{
    return greet_as(f, PEER_TOOL, 5, "orchard", "a secret of this test");
}

TEST_WITH(a_stranger_is_refused_with_the_reason, set_up, tear_down)
{
    struct fixture *f = *state;
    static const struct {
        const char *bytes;
        uint32_t magic, version;
        uint8_t kind;
        const char *note;
    } cases[] = {
        {"GET / HTTP/1.1\r\n\r\n", 0, 0, 0, "does not speak weir's protocol"},
        {NULL, 0x12345678, 1, PEER_NODE, "does not speak weir's protocol"},
        {NULL, 0x52494557, 99, PEER_NODE, "speaks protocol version 99, this process speaks"},
        {NULL, 0x52494557, TRANSPORT_VERSION, 200, "sent a malformed hello"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int fd = stranger(f);
        buffer_clear(&f->node.notes);
        if (cases[i].bytes != NULL)
            must(write(fd, cases[i].bytes, strlen(cases[i].bytes)) > 0);
        else
            send_hello(fd, cases[i].magic, cases[i].version, cases[i].kind, 1);
        TURN_UNTIL(f, noted(&f->node, cases[i].note));
        close(fd);
    }
    assert_int_equal(f->node.ups, 0);
}

TEST_WITH(a_malformed_frame_closes_the_link, set_up, tear_down)
{
    struct fixture *f = *state;
    static const uint32_t lengths[] = {0, FRAME_SIZE_MAX + 1, UINT32_MAX};
    for (int i = 0; i < 3; i++) {
        int fd = greet_as_tool(f);
        TURN_UNTIL(f, f->node.ups == i + 1);
        uint8_t header[FRAME_HEADER_SIZE] = {0};
        memcpy(header, &lengths[i], sizeof lengths[i]);
        must(write(fd, header, sizeof header) == sizeof header);
        TURN_UNTIL(f, f->node.downs == i + 1);
        assert_false(f->node.ended_by_peer);
        assert_true(noted(&f->node, "tool 5: sent a malformed frame"));
        close(fd);
    }
    assert_int_equal(f->node.frames, 0);
}

TEST_WITH(a_process_that_does_not_belong_here_is_refused_with_the_reason, set_up, tear_down)
{
    struct fixture *f = *state;
    static const struct {
        enum peer_kind kind;
        const char *cluster, *secret, *note;
    } cases[] = {
        {PEER_TOOL, "meadow", "a secret of this test", "another cluster: it has cluster_id meadow"},
        {PEER_TOOL, "", "a secret of this test", "another cluster: it has no cluster_id"},
        {PEER_TOOL, "orchard", "", "has no secret, this process requires one"},
        {PEER_TOOL, "orchard", "another secret", "says it is tool 5, but has another secret"},
        {PEER_GAC, "orchard", "a secret of this test", "is gac 5: a gac may not connect to a node"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        buffer_clear(&f->node.notes);
        int fd = greet_as(f, cases[i].kind, 5, cases[i].cluster, cases[i].secret);
        TURN_UNTIL(f, noted(&f->node, cases[i].note));
        close(fd);
    }
    assert_int_equal(f->node.ups, 0);
}

/* Both ends say why in their logs. */
TEST_WITH(a_process_with_another_secret_is_refused_with_the_reason, set_up, tear_down)
{
    struct fixture *f = *state;
    transport_destroy(f->router.transport);
    struct transport_options options = {.loop = f->loop,
                                        .self = {.kind = PEER_ROUTER,
                                                 .id = 1,
                                                 .cluster = slice_of("orchard"),
                                                 .secret = slice_of("another secret"),
                                                 .mac = mac_sha256},
                                        .handler = &handler,
                                        .context = &f->router};
    f->router.transport = transport_create(&options);
    transport_add_peer(f->router.transport, PEER_NODE, 7, "127.0.0.1",
                       transport_port(f->node.transport));
    TURN_UNTIL(f, noted(&f->router, "refuses this process: its secret differs"));
    assert_int_equal(f->router.ups + f->node.ups, 0);
}

TEST_WITH(a_second_process_of_the_same_number_is_refused, set_up, tear_down)
{
    struct fixture *f = *state;
    join(f);
    int fd = greet_as(f, PEER_ROUTER, 1, "orchard", "a secret of this test");
    TURN_UNTIL(f, noted(&f->node, "says it is router 1, which is connected already"));
    assert_int_equal(f->node.ups, 1);
    assert_int_equal(f->node.downs, 0);
    close(fd);
}

TEST_WITH(nothing_large_is_put_together_before_the_greeting, set_up, tear_down)
{
    struct fixture *f = *state;
    int fd = stranger(f);
    const uint32_t length = GREETING_FRAME_MAX + 1;
    uint8_t header[FRAME_HEADER_SIZE] = {0};
    memcpy(header, &length, sizeof length);
    must(write(fd, header, sizeof header) == sizeof header);
    TURN_UNTIL(f, noted(&f->node, "does not speak weir's protocol"));
    close(fd);
}

TEST_WITH(a_damaged_frame_closes_the_link_and_is_counted, set_up, tear_down)
{
    struct fixture *f = *state;
    static const char text[] = "some frame";
    for (int i = 0; i < 2; i++) {
        int fd = greet_as_tool(f);
        TURN_UNTIL(f, f->node.ups == i + 1);
        uint8_t bytes[FRAME_HEADER_SIZE + sizeof text];
        frame_header(slice_make(text, sizeof text), bytes);
        memcpy(bytes + FRAME_HEADER_SIZE, text, sizeof text);
        bytes[i == 0 ? FRAME_HEADER_SIZE + 3 : 7] ^= 4; /* the content, the checksum */
        must(write(fd, bytes, sizeof bytes) == sizeof bytes);
        TURN_UNTIL(f, f->node.downs == i + 1);
        assert_true(
            noted(&f->node, i == 0 ? "tool 5: sent a frame whose checksum does not match (1 such"
                                   : "does not match (2 such"));
        close(fd);
    }
    assert_int_equal(f->node.frames, 0);
}

/* As the kernel ends the connections of a process that was killed. */
TEST_WITH(a_link_that_is_reset_was_ended_by_the_peer, set_up, tear_down)
{
    struct fixture *f = *state;
    static const struct linger at_once = {1, 0};
    for (int i = 0; i < 2; i++) {
        int fd = greet_as_tool(f);
        TURN_UNTIL(f, f->node.ups == i + 1);
        f->node.ended_by_peer = false;
        if (i == 1)
            must(setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) == 0);
        close(fd);
        TURN_UNTIL(f, f->node.downs == i + 1);
        assert_true(f->node.ended_by_peer);
    }
}

/* ---- reassembly alone ---- */

static bool append_line(void *context, struct slice bytes)
{
    buffer_append_slice(context, bytes);
    buffer_append_u8(context, '\n');
    return true;
}

TEST(a_stream_cut_anywhere_gives_the_same_frames)
{
    static const char *const texts[] = {"a", "bc", "a longer frame", "d"};
    struct buffer stream = {0};
    for (int i = 0; i < 4; i++) {
        uint8_t header[FRAME_HEADER_SIZE];
        frame_header(slice_of(texts[i]), header);
        buffer_append(&stream, header, sizeof header);
        buffer_append_text(&stream, texts[i]);
    }
    for (size_t first = 0; first <= stream.size; first++) {
        for (size_t second = first; second <= stream.size; second++) {
            struct frame_reader r = {0};
            struct buffer out = {0};
            const size_t cuts[] = {0, first, second, stream.size};
            for (int i = 0; i < 3; i++)
                assert_int_equal(
                    frame_reader_feed(&r, slice_make(stream.data + cuts[i], cuts[i + 1] - cuts[i]),
                                      append_line, &out),
                    STATUS_OK);
            assert_true(slice_is(buffer_slice(&out), "a\nbc\na longer frame\nd\n"));
            buffer_deinit(&out);
            frame_reader_deinit(&r);
        }
    }
    buffer_deinit(&stream);
}

/* ---- faults ---- */

static void wait_ms(struct fixture *f, int64_t ms)
{
    struct instant end = instant_add(loop_now(f->loop), duration_ms(ms));
    while (instant_before(loop_now(f->loop), end))
        turn(f, end);
}

static void send_text(struct process *p, const char *text)
{
    assert_true(transport_send(p->transport, p->link, slice_of(text)));
}

/* `cut` at the router for the node, or at the node for the router: what crosses it is lost, the
 * other way is open, and the link stays up. */
TEST_WITH(a_cut_loses_frames_one_way_and_keeps_the_link, set_up, tear_down)
{
    struct fixture *f = *state;
    join(f);
    for (int i = 0; i < 2; i++) {
        if (i == 0)
            link_faults_rule(transport_faults(f->router.transport), PEER_NODE, 7)->cut =
                LINK_CUT_OUT;
        else
            link_faults_rule(transport_faults(f->node.transport), PEER_ROUTER, 1)->cut =
                LINK_CUT_IN;
        send_text(&f->router, "lost");
        send_text(&f->node, "heard");
        TURN_UNTIL(f, f->router.frames == i + 1);
        wait_ms(f, 50);
        assert_int_equal(f->node.frames, i);
        transport_heal(f->router.transport);
        transport_heal(f->node.transport);
        send_text(&f->router, "after");
        TURN_UNTIL(f, f->node.frames == i + 1);
    }
    assert_true(slice_is(buffer_slice(&f->node.received), "afterafter"));
    assert_int_equal(f->router.downs + f->node.downs, 0);
}

TEST_WITH(a_cut_is_for_the_peer_it_names, set_up, tear_down)
{
    struct fixture *f = *state;
    join(f);
    link_faults_rule(transport_faults(f->router.transport), PEER_NODE, 8)->cut = LINK_CUT_OUT;
    link_faults_rule(transport_faults(f->router.transport), PEER_ROUTER, 7)->cut = LINK_CUT_OUT;
    send_text(&f->router, "through");
    TURN_UNTIL(f, f->node.frames == 1);
}

TEST_WITH(a_delay_holds_frames_back_in_their_order, set_up, tear_down)
{
    struct fixture *f = *state;
    join(f);
    struct link_rule *r = link_faults_rule(transport_faults(f->router.transport), PEER_NODE, 7);
    struct instant begin = loop_now(f->loop);
    r->delay = duration_ms(40);
    send_text(&f->router, "a");
    r->delay = duration_ms(0);
    send_text(&f->router, "b");
    TURN_UNTIL(f, f->node.frames == 2);
    assert_true(instant_since(loop_now(f->loop), begin).ns >= 40 * NS_PER_MS);
    r->delay = duration_ms(3600000);
    send_text(&f->router, "c");
    transport_heal(f->router.transport);
    send_text(&f->router, "d");
    TURN_UNTIL(f, f->node.frames == 4);
    assert_true(slice_is(buffer_slice(&f->node.received), "abcd"));
}

TEST(what_is_held_back_is_bounded)
{
    static const char megabyte[1024 * 1024];
    struct link_faults *faults = link_faults_create();
    for (int i = 0; i < 100; i++)
        link_faults_hold(faults, 1, slice_make(megabyte, sizeof megabyte), INSTANT_NEVER);
    uint64_t link;
    struct slice frame;
    int held = 0;
    link_faults_clear(faults);
    while (link_faults_next(faults, (struct instant){0}, &link, &frame))
        held++;
    assert_int_equal(held, LINK_DELAYED_MAX / (1024 * 1024));
    link_faults_destroy(faults);
}

/* At either end, either way. */
TEST_WITH(a_link_cannot_be_made_through_a_cut, set_up, tear_down)
{
    struct fixture *f = *state;
    for (int i = 0; i < 4; i++) {
        struct transport *t = i < 2 ? f->router.transport : f->node.transport;
        struct link_rule *rule =
            link_faults_rule(transport_faults(t), i < 2 ? PEER_NODE : PEER_ROUTER, i < 2 ? 7 : 1);
        rule->cut = i % 2 ? LINK_CUT_IN : LINK_CUT_OUT;
        if (i == 0)
            transport_add_peer(f->router.transport, PEER_NODE, 7, "127.0.0.1",
                               transport_port(f->node.transport));
        else
            transport_close(f->router.transport, f->router.link);
        TURN_UNTIL(f, f->router.downs == i && f->node.downs == i);
        wait_ms(f, 100);
        assert_int_equal(f->router.ups + f->node.ups, 2 * i);
        transport_heal(t);
        TURN_UNTIL(f, f->router.ups == i + 1 && f->node.ups == i + 1);
    }
}
