/* transact_fixture.c - asks for the parts of a transaction, one request after the other. */
#include "tests/support/transact_fixture.h"

#include "tests/check.h"

void transact_part(struct transact_fixture *s, uint64_t number, uint64_t digest)
{
    s->part = (struct transaction_part){.id = {number, number}, .digest = digest};
    lone_key(&s->w, FIRST);
    buffer_set(&s->anchor, buffer_slice(&s->w.key));
    s->part.anchor = buffer_slice(&s->anchor);
    s->part.token = slice_make(s->token, sizeof s->token);
    buffer_clear(&s->other);
    transaction_part_walk(&(struct codec){.out = &s->other}, &s->part);
    buffer_clear(&s->keys);
    lone_key(&s->w, SECOND);
    buffer_append_sized(&s->keys, buffer_slice(&s->w.key));
    s->part.keys = buffer_slice(&s->keys);
    buffer_clear(&s->first);
    transaction_part_walk(&(struct codec){.out = &s->first}, &s->part);
}

void transact_put(struct transact_fixture *s, uint32_t name, uint32_t version)
{
    lone_put_sized(&s->w, name, version, 10);
    lone_write_all(&s->w);
    lone_assert_answer(&s->w, REPLY_OK);
}

void transact_open(struct transact_fixture *s)
{
    *s = (struct transact_fixture){0};
    memset(s->token, 7, sizeof s->token);
    lone_init(&s->w, PROFILE_OFF);
    lone_open_table(&s->w, 100, 100);
    transact_put(s, FIRST, OLD);
    transact_put(s, SECOND, OLD);
    transact_part(s, 1, 1);
}

void transact_close(struct transact_fixture *s)
{
    lone_deinit(&s->w);
    buffer_deinit(&s->anchor);
    buffer_deinit(&s->keys);
    buffer_deinit(&s->first);
    buffer_deinit(&s->other);
}

void transact_pass(struct transact_fixture *s, int64_t ms)
{
    for (int64_t i = 0; i < ms; i += 10) {
        lone_pass(&s->w, 10);
        lone_write_all(&s->w);
    }
}

enum reply_code transact_send(struct transact_fixture *s, const struct request *r)
{
    struct request copy = *r;
    lone_send(&s->w, &copy);
    for (int ms = 0; s->w.answer_count == 0; ms++) {
        assert_true(ms < 20000);
        lone_write_all(&s->w);
        if (s->w.answer_count == 0)
            lone_pass(&s->w, 1);
    }
    return lone_answer(&s->w)->code;
}

enum reply_code transact_at_once(struct transact_fixture *s, struct request r)
{
    lone_send(&s->w, &r);
    return s->w.answer_count == 0 ? REPLY_UNKNOWN : lone_answer(&s->w)->code;
}

struct request transact_prepared(struct transact_fixture *s, uint32_t name)
{
    struct request r = lone_request(&s->w, REQUEST_PUT, name);
    r.write.item = lone_item(&s->w, NEW, 10);
    r.write.return_values = RETURN_NONE;
    r.write.transaction = buffer_slice(name == FIRST ? &s->first : &s->other);
    return r;
}

enum reply_code transact_prepare(struct transact_fixture *s, uint32_t name)
{
    const struct request r = transact_prepared(s, name);
    return transact_send(s, &r);
}

struct request transact_word(struct transact_fixture *s, enum request_op op, uint32_t name)
{
    struct request r = lone_request(&s->w, REQUEST_PUT, name);
    const struct slice key = r.write.key;
    r.op = op;
    *request_edit_transaction(&r) =
        (struct request_transaction){.key = key,
                                     .id_high = s->part.id.high,
                                     .id_low = s->part.id.low,
                                     .token = slice_make(s->token, sizeof s->token)};
    return r;
}

enum reply_code transact_about(struct transact_fixture *s, enum request_op op, uint32_t name)
{
    const struct request r = transact_word(s, op, name);
    return transact_send(s, &r);
}

void transact_expect(struct transact_fixture *s, uint32_t first, uint32_t second)
{
    for (uint32_t name = FIRST; name <= SECOND; name++) {
        const struct request r = lone_request(&s->w, REQUEST_GET, name);
        assert_int_equal(transact_send(s, &r), REPLY_OK);
        assert_int_equal(answer_version(lone_answer(&s->w)), name == FIRST ? first : second);
    }
}

enum reply_code transact_write(struct transact_fixture *s, uint32_t name)
{
    struct request r = lone_request(&s->w, REQUEST_PUT, name);
    r.write.item = lone_item(&s->w, OLD + 1, 10);
    return transact_send(s, &r);
}

struct partition_stats transact_stats(struct transact_fixture *s)
{
    const struct request r = {.op = REQUEST_STATS};
    struct partition_stats stats;
    assert_int_equal(transact_send(s, &r), REPLY_OK);
    struct reader reader = {buffer_slice(&lone_answer(&s->w)->body), false};
    assert_int_equal(partition_stats_decode(&reader, &stats), STATUS_OK);
    return stats;
}

struct partition *transact_partition(struct transact_fixture *s)
{
    return partitions_find(&s->w.node->partitions, s->w.table.partitions[0].id);
}
