/* Bytes as what nodes tell each other about replication: the decoders never crash, and what they
 * accept comes out as the same bytes again. */
#include "base/must.h"
#include "replication/raft.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect_same(const struct buffer *again, struct slice bytes, const struct reader *r)
{
    must(again->size == bytes.size - r->left.size);
    must(again->size == 0 || memcmp(again->data, bytes.data, again->size) == 0);
}

static void read_message(struct slice bytes)
{
    struct arena arena = {0};
    struct buffer again = {0};
    struct reader r = {bytes, false};
    struct raft_message m;
    if (raft_message_decode(&r, &arena, &m) == STATUS_OK) {
        raft_message_encode(&again, &m);
        expect_same(&again, bytes, &r);
    }
    buffer_deinit(&again);
    arena_deinit(&arena);
}

static void read_members(struct slice bytes)
{
    struct buffer again = {0};
    struct reader r = {bytes, false};
    struct raft_members m;
    if (raft_members_decode(&r, &m) == STATUS_OK) {
        raft_members_encode(&again, &m);
        expect_same(&again, bytes, &r);
    }
    buffer_deinit(&again);
}

static void read_beat(struct slice bytes)
{
    struct buffer again = {0};
    struct reader r = {bytes, false};
    struct liveness_beat b;
    if (liveness_beat_decode(&r, &b) == STATUS_OK) {
        liveness_beat_encode(&again, &b);
        expect_same(&again, bytes, &r);
    }
    buffer_deinit(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice bytes = slice_make(data, size);
    read_message(bytes);
    read_members(bytes);
    read_beat(bytes);
    return 0;
}
