/* Requests and replies of every kind as frames: what is read is what was written, and nothing else
 * is read. */
#include "engine/message/frames.h"
#include "engine/message/request_traits.h"
#include "tests/check.h"

static const uint8_t bytes[] = "the seventh field of barley";

/* A value in each field; the next one is another. */
static void fill(const uint16_t *f, void *message)
{
    for (uint8_t n = 1; *f != 0; f++, n++) {
        uint8_t *at = field_of(message, *f);
        switch (field_type(*f)) {
        case FIELD_SLICE:
            *(struct slice *)at = slice_make(bytes, sizeof bytes - n);
            break;
        case FIELD_BOOL:
            *(bool *)at = true;
            break;
        case FIELD_U8:
            *at = n;
            break;
        case FIELD_U32:
            *(uint32_t *)at = UINT32_MAX - n;
            break;
        case FIELD_U64:
            *(uint64_t *)at = UINT64_MAX - n;
            break;
        case FIELD_END:
            break;
        }
    }
}

static void assert_same(const uint16_t *f, const void *a, const void *b)
{
    static const size_t sizes[] = {
        [FIELD_BOOL] = 1, [FIELD_U8] = 1, [FIELD_U32] = 4, [FIELD_U64] = 8};
    for (; *f != 0; f++) {
        const void *x = field_of(a, *f), *y = field_of(b, *f);
        if (field_type(*f) == FIELD_SLICE)
            assert_true(slice_equal(*(const struct slice *)x, *(const struct slice *)y));
        else
            assert_memory_equal(x, y, sizes[field_type(*f)]);
    }
}

static struct slice frame_of(const struct buffer *b)
{
    return slice_make(b->data + 4, b->size - 4);
}

TEST(requests_of_all_kinds_are_read_as_they_were_written)
{
    struct buffer b = {0};
    for (enum request_op op = REQUEST_GET; op < REQUEST_OPS; op++) {
        struct request q = {.id = 1 + UINT32_MAX, .op = op, .partition = 2, .epoch = 3}, read;
        fill(request_traits[op].fields, &q);
        buffer_clear(&b);
        request_encode(&b, &q);
        assert_int_equal(b.size, 4 + request_size(&q));
        assert_int_equal(request_decode(frame_of(&b), &read), STATUS_OK);
        assert_int_equal(read.id, q.id);
        assert_int_equal(read.op, op);
        assert_int_equal(read.partition, 2);
        assert_int_equal(read.epoch, 3);
        assert_same(request_traits[op].fields, &q, &read);
        for (size_t size = 0; size < frame_of(&b).size; size++)
            assert_int_equal(request_decode(slice_make(b.data + 4, size), &read), STATUS_MALFORMED);
        buffer_append_u8(&b, 0);
        assert_int_equal(request_decode(frame_of(&b), &read), STATUS_MALFORMED);
    }
    buffer_deinit(&b);
}

TEST(replies_of_all_kinds_are_read_as_they_were_written)
{
    struct buffer b = {0};
    for (enum answer_kind kind = ANSWER_NONE; kind < ANSWER_KINDS; kind++) {
        struct reply r = {.id = 9,
                          .code = REPLY_THROTTLED,
                          .leader = 4,
                          .text = slice_of("why"),
                          .verdict = {.reason = ADMIT_REFUSED_NODE, .burst = true},
                          .applied = 17,
                          .consumed_mcu = -1,
                          .kind = kind},
                     read;
        fill(answer_fields[kind], &r);
        buffer_clear(&b);
        reply_encode(&b, &r);
        assert_int_equal(b.size, 4 + reply_size(&r));
        assert_int_equal(reply_decode(frame_of(&b), &read), STATUS_OK);
        assert_int_equal(read.id, 9);
        assert_int_equal(read.code, REPLY_THROTTLED);
        assert_int_equal(read.kind, kind);
        assert_int_equal(read.leader, 4);
        assert_slice_is(read.text, "why");
        assert_int_equal(read.verdict.reason, ADMIT_REFUSED_NODE);
        assert_true(read.verdict.burst);
        assert_int_equal(read.consumed_mcu, -1);
        assert_int_equal(read.applied, 17);
        assert_same(answer_fields[kind], &r, &read);
        assert_true(slice_equal(reply_bytes(&r), reply_bytes(&read)));
        for (size_t size = 0; size < frame_of(&b).size; size++)
            assert_int_equal(reply_decode(slice_make(b.data + 4, size), &read), STATUS_MALFORMED);
        buffer_append_u8(&b, 0);
        assert_int_equal(reply_decode(frame_of(&b), &read), STATUS_MALFORMED);
    }
    buffer_deinit(&b);
}

/* A union is read by the kind: a kind that is none, or that is not the request's, must not be. */
TEST(what_no_writer_writes_is_not_read)
{
    enum {
        OP_AT = 4 + 9,
        KIND_AT = 4 + 10,
        AFTER_SIZE = 8 /* the last field of a GET; a boolean is before it */
    };
    struct buffer b = {0};
    struct request q = {.op = REQUEST_GET, .get = {.key = slice_of("key"), .consistent = true}};
    struct reply r = {.kind = ANSWER_ITEM};
    request_encode(&b, &q);
    b.data[b.size - AFTER_SIZE - 1] = 2;
    assert_int_equal(request_decode(frame_of(&b), &q), STATUS_MALFORMED);
    b.data[b.size - AFTER_SIZE - 1] = 1;
    assert_int_equal(request_decode(frame_of(&b), &q), STATUS_OK);
    b.data[OP_AT] = 0;
    assert_int_equal(request_decode(frame_of(&b), &q), STATUS_MALFORMED);
    b.data[OP_AT] = REQUEST_OPS;
    assert_int_equal(request_decode(frame_of(&b), &q), STATUS_MALFORMED);
    buffer_clear(&b);
    reply_encode(&b, &r);
    assert_int_equal(b.data[KIND_AT], ANSWER_ITEM);
    b.data[KIND_AT] = ANSWER_KINDS;
    assert_int_equal(reply_decode(frame_of(&b), &r), STATUS_MALFORMED);
    r = (struct reply){.kind = ANSWER_RANGE};
    assert_true(reply_fits(&r, REQUEST_RANGE));
    assert_false(reply_fits(&r, REQUEST_GET));
    r.kind = ANSWER_NONE;
    assert_true(reply_fits(&r, REQUEST_GET));
    buffer_deinit(&b);
}
