/* frames_test.c - frames that were found to end a node, or to leave a cluster that does not start.
 */
#include "engine/message/frames.h"
#include "tests/check.h"

#include "engine/catalog/report.h"
#include "engine/catalog/table.h"
#include "engine/item/storage_key.h"
#include "tests/support/frame_cluster.h"

static struct frame_cluster *w;

static int set_up(void **state)
{
    (void)state;
    w = frame_cluster_create();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    assert_true(frame_cluster_is_available(w));
    frame_cluster_restart(w);
    assert_true(frame_cluster_is_available(w));
    frame_cluster_destroy(w);
    return 0;
}

static void inject(enum peer_kind kind, const struct request *r)
{
    struct buffer frame = {0};
    request_encode(&frame, r);
    for (uint32_t node = 1; node <= FRAME_CLUSTER_NODES; node++)
        frame_cluster_inject(w, kind, 1 + node % FRAME_CLUSTER_NODES, node,
                             slice_make(frame.data + 4, frame.size - 4));
    buffer_deinit(&frame);
    frame_cluster_pass(w, 100);
}

TEST_WITH(a_report_of_a_partition_that_cannot_be_sizes_nothing, set_up, tear_down)
{
    for (uint32_t node = 1; node <= FRAME_CLUSTER_NODES; node++) {
        struct buffer body = {0};
        node_report_encode(&body, &(struct node_report){.node = node});
        partition_report_encode(
            &body,
            &(struct partition_report){.table_id = 1, .partition = UINT32_MAX - 1, .member = node});
        struct request r = {.op = REQUEST_TABLE_REPORT, .report.records = buffer_slice(&body)};
        inject(PEER_NODE, &r);
        buffer_deinit(&body);
    }
}

TEST(a_report_beyond_every_sum_is_malformed)
{
    struct buffer b = {0};
    struct node_report head = {.node = 1, .consumed_mcu = {INT64_MAX}};
    struct partition_report p = {.table_id = 1, .partition = 1, .member = 1, .bytes = INT64_MAX};
    node_report_encode(&b, &head);
    struct reader r = {buffer_slice(&b), false};
    assert_int_equal(node_report_decode(&r, &head), STATUS_MALFORMED);
    buffer_clear(&b);
    partition_report_encode(&b, &p);
    r = (struct reader){buffer_slice(&b), false};
    assert_int_equal(partition_report_decode(&r, &p), STATUS_MALFORMED);
    buffer_deinit(&b);
}

static const struct table_spec spec = {.name = {(const uint8_t *)"meadow", 6},
                                       .partition_key = {{(const uint8_t *)"id", 2}, ATTR_STRING},
                                       .billing = BILLING_PROVISIONED,
                                       .rcu = 1,
                                       .wcu = 1};

static enum reply_code create(struct slice name, struct slice key_name)
{
    struct table_spec named = spec;
    struct buffer body = {0};
    named.name = name;
    named.partition_key.name = key_name;
    table_spec_encode(&body, &named);
    struct request r = {.op = REQUEST_TABLE_CREATE,
                        .table = {.name = name, .spec = buffer_slice(&body)}};
    enum reply_code code = frame_cluster_send(w, &r, NULL);
    buffer_deinit(&body);
    return code;
}

TEST_WITH(names_that_are_none_never_reach_the_catalog, set_up, tear_down)
{
    static const char *const names[] = {"a\xff\xfe", "a b", "a/b", "\xc3\xa4pfel", "a\nb", "a\x01"};
    struct slice id = slice_of("id"), list;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_int_equal(create(slice_of(names[i]), id), REPLY_MALFORMED);
        struct request delete = {.op = REQUEST_TABLE_DELETE, .table.name = slice_of(names[i])};
        assert_int_equal(frame_cluster_send(w, &delete, NULL), REPLY_MALFORMED);
    }
    assert_int_equal(create(spec.name, slice_of("\xff")), REPLY_MALFORMED);
    struct request all = {.op = REQUEST_TABLE_LIST};
    assert_int_equal(frame_cluster_send(w, &all, &list), REPLY_OK);
    struct reader r = {list, false};
    assert_slice_is(reader_sized(&r), "orchard");
    assert_int_equal(r.left.size, 0);
    assert_int_equal(create(spec.name, id), REPLY_OK);
}

TEST_WITH(a_partition_beyond_every_id_is_not_opened, set_up, tear_down)
{
    struct partition_info info = {.id = UINT32_MAX,
                                  .epoch = 1,
                                  .table_id = 9,
                                  .lo = slice_of("a"),
                                  .hi = slice_of("b"),
                                  .member_count = 1,
                                  .members = {raft_member_id(1, 1, 0)}};
    struct buffer body = {0};
    partition_info_encode(&body, &info);
    assert_int_equal(partition_info_decode(buffer_slice(&body), &info), STATUS_MALFORMED);
    struct request open = {.op = REQUEST_PARTITION_OPEN,
                           .partition = UINT32_MAX,
                           .replica = {.info = buffer_slice(&body), .as_of = 1}};
    inject(PEER_NODE, &open);
    buffer_deinit(&body);
}

TEST(keys_of_items_are_whole)
{
    static const uint8_t whole[] = "....hash....a\0\1", two[] = "....hash....a\0\xff\0\1b\0\1";
    static const struct {
        const char *bytes;
        size_t size;
    } broken[] = {{"", 0},
                  {"....", 4},
                  {"....hash....", 12},
                  {"....hash....a", 13},
                  {"....hash....a\0", 14},
                  {"....hash....a\0\2", 15},
                  {"....hash....a\0\1b", 16},
                  {"....hash....a\0\1b\0\1c", 19}};
    assert_true(storage_key_is_complete(slice_make(whole, sizeof whole - 1)));
    assert_true(storage_key_is_complete(slice_make(two, sizeof two - 1)));
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++)
        assert_false(storage_key_is_complete(slice_make(broken[i].bytes, broken[i].size)));
}
