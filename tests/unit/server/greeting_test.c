/* greeting_test.c - two daemons that greet each other, and what one of them may get wrong. */
#include "tests/check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/catalog/catalog.h"
#include "host/address.h"
#include "host/secret.h"
#include "server/host/mac.h"
#include "server/link_rights.h"
#include "tests/temporary.h"

static const uint8_t one[GREETING_NONCE_SIZE] = {1}, two[GREETING_NONCE_SIZE] = {2};

static struct greeting_self self_of(enum peer_kind kind, uint32_t id, const char *secret)
{
    return (struct greeting_self){.kind = kind,
                                  .id = id,
                                  .cluster = slice_of("orchard"),
                                  .secret = slice_of(secret),
                                  .accepts = 1U << PEER_ROUTER,
                                  .mac = mac_sha256};
}

/* Hands `frame` over; the answer is in `frame` afterwards. */
static enum greeting_state hand(struct greeting *to, struct buffer *frame)
{
    struct buffer answer = {0}, error = {0};
    enum greeting_state state = greeting_take(to, buffer_slice(frame), &answer, &error);
    assert_true((state == GREETING_REFUSED) == (error.size > 0));
    if (state == GREETING_REFUSED)
        assert_int_not_equal(answer.size, 1 + GREETING_MAC_SIZE); /* GREETING-2: no proof */
    buffer_deinit(frame);
    buffer_deinit(&error);
    *frame = answer;
    return state;
}

TEST(both_prove_that_they_know_the_secret)
{
    static const char *const secrets[] = {"", "a secret of this test"};
    for (int i = 0; i < 2; i++) {
        struct greeting_self router = self_of(PEER_ROUTER, 1, secrets[i]);
        struct greeting_self node = self_of(PEER_NODE, 7, secrets[i]);
        struct greeting_expected expected = {PEER_NODE, 7};
        struct greeting r, n;
        struct buffer frame = {0};
        greeting_init(&r, &router, &expected, one);
        greeting_init(&n, &node, NULL, two);
        greeting_hello(&r, &frame);
        assert_int_equal(hand(&n, &frame), GREETING_AWAITS_PROOF);
        assert_int_equal(hand(&r, &frame), GREETING_AWAITS_PROOF);
        assert_int_equal(hand(&n, &frame), GREETING_DONE);
        assert_int_equal(hand(&r, &frame), GREETING_DONE);
        assert_int_equal(frame.size, 0);
        assert_true(n.kind == PEER_ROUTER && n.id == 1 && r.kind == PEER_NODE && r.id == 7);
        buffer_deinit(&frame);
    }
}

/* Whatever byte is changed on the way, of whichever of the four frames, nobody is let in; the two
 * last frames are of the other side's word. */
TEST(a_changed_byte_anywhere_is_noticed) /* GREETING-1 */
{
    struct greeting_self router = self_of(PEER_ROUTER, 1, "a secret of this test");
    struct greeting_self node = self_of(PEER_NODE, 7, "a secret of this test");
    struct greeting_expected expected = {PEER_NODE, 7};
    for (int which = 0; which < 4; which++) {
        for (size_t at = 0;; at++) {
            struct greeting r, n;
            struct buffer frame = {0};
            bool changed = false;
            greeting_init(&r, &router, &expected, one);
            greeting_init(&n, &node, NULL, two);
            greeting_hello(&r, &frame);
            enum greeting_state last = GREETING_AWAITS_HELLO;
            for (int step = 0; step < 4 && last != GREETING_REFUSED && frame.size > 0; step++) {
                if (step == which && at < frame.size) {
                    frame.data[at] ^= 1;
                    changed = true;
                }
                last = hand(step % 2 == 0 ? &n : &r, &frame);
            }
            buffer_deinit(&frame);
            if (!changed)
                break;
            assert_int_equal(last, GREETING_REFUSED);
            assert_true(which == 3 || n.state != GREETING_DONE);
            assert_true(r.state != GREETING_DONE);
        }
    }
}

/* What was recorded on one link is worth nothing on another. */
TEST(a_proof_cannot_be_used_again)
{
    struct greeting_self router = self_of(PEER_ROUTER, 1, "a secret of this test");
    struct greeting_self node = self_of(PEER_NODE, 7, "a secret of this test");
    struct greeting_expected expected = {PEER_NODE, 7};
    struct greeting r, n, later;
    struct buffer hello = {0}, frame = {0}, recorded = {0};
    greeting_init(&r, &router, &expected, one);
    greeting_init(&n, &node, NULL, two);
    greeting_hello(&r, &hello);
    buffer_append_slice(&frame, buffer_slice(&hello));
    assert_int_equal(hand(&n, &frame), GREETING_AWAITS_PROOF);
    assert_int_equal(hand(&r, &frame), GREETING_AWAITS_PROOF);
    buffer_append_slice(&recorded, buffer_slice(&frame));
    assert_int_equal(hand(&n, &frame), GREETING_DONE);
    greeting_init(&later, &node, NULL, one);
    assert_int_equal(hand(&later, &hello), GREETING_AWAITS_PROOF);
    assert_int_equal(hand(&later, &recorded), GREETING_REFUSED);
    assert_true(greeting_refusal(buffer_slice(&recorded)) != NULL);
    buffer_deinit(&hello);
    buffer_deinit(&frame);
    buffer_deinit(&recorded);
}

/* RFC 4231, test case 2. */
TEST(the_mac_is_hmac_sha256)
{
    static const uint8_t expected[GREETING_MAC_SIZE] = {
        0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e, 0x6a, 0x04, 0x24,
        0x26, 0x08, 0x95, 0x75, 0xc7, 0x5a, 0x00, 0x3f, 0x08, 0x9d, 0x27,
        0x39, 0x83, 0x9d, 0xec, 0x58, 0xb9, 0x64, 0xec, 0x38, 0x43};
    uint8_t mac[GREETING_MAC_SIZE];
    mac_sha256(slice_of("Jefe"), slice_of("what do ya want for nothing?"), mac);
    assert_memory_equal(mac, expected, sizeof mac);
}

static void write_file(const char *path, const char *text, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

TEST(a_secret_that_others_may_read_is_refused)
{
    static const struct {
        const char *text;
        mode_t mode;
        const char *error; /* NULL: none */
    } cases[] = {{"0123456789abcdef\n", 0600, NULL},
                 {"0123456789abcdef\n", 0400, NULL},
                 {"0123456789abcdef\n", 0640, "chmod 600"},
                 {"0123456789abcdef\n", 0604, "chmod 600"},
                 {"0123456789abcde\n\n", 0600, "holds 15 bytes"}};
    char path[TEMPORARY_NAME_MAX];
    temporary_name(path, "secret");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buffer secret = {0}, error = {0};
        write_file(path, cases[i].text, cases[i].mode);
        enum status status = secret_read(path, &secret, &error);
        buffer_append_u8(&error, 0);
        assert_int_equal(status == STATUS_OK, cases[i].error == NULL);
        if (cases[i].error == NULL)
            assert_true(slice_is(buffer_slice(&secret), "0123456789abcdef"));
        else
            assert_non_null(strstr((const char *)error.data, cases[i].error));
        buffer_deinit(&secret);
        buffer_deinit(&error);
        unlink(path);
    }
    struct buffer secret = {0}, error = {0};
    assert_int_equal(secret_read(path, &secret, &error), STATUS_IO);
    buffer_deinit(&error);
}

TEST(only_loopback_stays_on_this_machine)
{
    assert_true(address_is_loopback("127.0.0.1"));
    assert_true(address_is_loopback("127.8.9.1"));
    assert_true(address_is_loopback("::1"));
    assert_false(address_is_loopback("0.0.0.0"));
    assert_false(address_is_loopback("::"));
    assert_false(address_is_loopback("192.0.2.7"));
    assert_false(address_is_loopback("no.such.name.invalid"));
}

static bool may(enum peer_kind kind, enum request_op op)
{
    static const uint8_t node_5[] = {5, 0, 0, 0};
    const struct link_peer from = {1, kind, 5};
    struct request q = {.op = op};
    if (op == REQUEST_TABLE_REPORT)
        q.report.records = slice_make(node_5, sizeof node_5);
    if (op == REQUEST_DECIDE)
        q.decide.op = CATALOG_DRAIN;
    if (op == REQUEST_PUT || op == REQUEST_DELETE)
        q.write.origin = kind == PEER_NODE ? WRITE_BY_FEED : WRITE_BY_CLIENT;
    return link_rights_request(&from, &q) == NULL;
}

TEST(no_link_carries_an_expiry)
{
    for (enum peer_kind kind = PEER_NODE; kind <= PEER_ROUTER; kind++) {
        const struct link_peer from = {1, kind, 5};
        struct request q = {.op = REQUEST_DELETE,
                            .write.origin = kind == PEER_NODE ? WRITE_BY_FEED : WRITE_BY_CLIENT};
        assert_null(link_rights_request(&from, &q));
        q.write.origin = WRITE_BY_EXPIRY;
        assert_non_null(link_rights_request(&from, &q));
    }
}

TEST(only_nodes_put_items_into_their_shards)
{
    for (enum peer_kind kind = PEER_NODE; kind <= PEER_ROUTER; kind++) {
        const struct link_peer from = {1, kind, 5};
        struct request q = {.op = REQUEST_PUT, .write.origin = WRITE_BY_MOVE};
        assert_int_equal(link_rights_request(&from, &q) == NULL, kind == PEER_NODE);
        q.op = REQUEST_DELETE; /* a node asks that of itself alone */
        assert_non_null(link_rights_request(&from, &q));
        q.op = REQUEST_UPDATE; /* of a counter's cell */
        assert_int_equal(link_rights_request(&from, &q) == NULL, kind == PEER_NODE);
        q.write.origin = WRITE_BY_CLIENT;
        assert_int_equal(link_rights_request(&from, &q) == NULL, kind != PEER_NODE);
    }
}

TEST(a_router_gives_up_shards_and_decides_nothing_else_of_keys)
{
    struct buffer key = {0}, body = {0};
    const struct link_peer router = {1, PEER_ROUTER, 5};
    const struct attr attr = {.type = ATTR_STRING, .body = slice_of("hot")};
    (void)state;
    storage_key_append_collection(&key, 7, &attr);
    for (enum key_shards_change word = 0; word <= KEY_SHARDS_SHRINK; word++) {
        const struct decision d = {
            .table_id = 7,
            .key_shards = {.change = word, .key = buffer_slice(&key), .version = 1, .shards = 1}};
        buffer_clear(&body);
        decision_encode(&body, &d);
        const struct request q = {
            .op = REQUEST_DECIDE,
            .decide = {.op = CATALOG_KEY_SHARDS, .decision = buffer_slice(&body)}};
        assert_int_equal(link_rights_request(&router, &q) == NULL, word == KEY_SHARDS_SHRINK);
    }
    const struct request q = {.op = REQUEST_DECIDE,
                              .decide = {.op = CATALOG_KEY_SHARDS, .decision = slice_of("what?")}};
    assert_non_null(link_rights_request(&router, &q));
    buffer_deinit(&key);
    buffer_deinit(&body);
}

TEST(a_link_carries_its_own_roles_messages_only)
{
    for (enum request_op op = REQUEST_GET; op < REQUEST_OPS; op++) {
        bool of_nodes = op == REQUEST_TABLE_REPORT ||
                        (op >= REQUEST_PARTITION_OPEN && op <= REQUEST_PARTITION_MEMBERS) ||
                        op == REQUEST_PARTITION_SPLIT || op == REQUEST_PARTITION_HEAT ||
                        op == REQUEST_PARTITION_MIDDLE || op == REQUEST_PARTITION_MERGE ||
                        op == REQUEST_INDEX_SESSION || op == REQUEST_INDEX_FILL ||
                        op == REQUEST_TRANSACT_QUERY;
        /* rows of global indexes, and the map of an index's partitions */
        bool shared = op == REQUEST_PUT || op == REQUEST_DELETE || op == REQUEST_TABLE_GET ||
                      op == REQUEST_TRANSACT_RESOLVE || op == REQUEST_KEY_SHARD_MOVE;
        bool reads = op == REQUEST_STATS || op == REQUEST_TABLE_GET || op == REQUEST_TABLE_LIST ||
                     op == REQUEST_EVENTS;
        assert_int_equal(may(PEER_NODE, op), of_nodes || shared);
        assert_int_equal(may(PEER_ROUTER, op), !of_nodes);
        assert_int_equal(may(PEER_TOOL, op), reads);
        assert_false(may(PEER_GAC, op));
    }
    static const uint8_t envelope[] = {MESSAGE_PEER, 5, 0, 0, 0}, cut[] = {MESSAGE_PEER, 5};
    struct slice frame = slice_make(envelope, sizeof envelope);
    for (enum peer_kind kind = PEER_NODE; kind <= PEER_TOOL; kind++) {
        struct link_peer from = {1, kind, 5};
        bool node = kind == PEER_NODE;
        assert_int_equal(link_rights_frame(&from, MESSAGE_PEER, frame) == NULL, node);
        assert_int_equal(link_rights_frame(&from, MESSAGE_REPLY, frame) == NULL, node);
        assert_non_null(link_rights_frame(&from, MESSAGE_PEER, slice_make(cut, sizeof cut)));
        from.id = 6;
        assert_non_null(link_rights_frame(&from, MESSAGE_PEER, frame));
    }
    static const uint8_t node_6[] = {6, 0, 0, 0};
    const struct link_peer node = {1, PEER_NODE, 5}, router = {1, PEER_ROUTER, 5};
    struct request q = {.op = REQUEST_TABLE_REPORT,
                        .report.records = slice_make(node_6, sizeof node_6)};
    assert_non_null(link_rights_request(&node, &q));
    q = (struct request){.op = REQUEST_DECIDE, .decide.op = CATALOG_MOVE};
    assert_non_null(link_rights_request(&router, &q));
}
