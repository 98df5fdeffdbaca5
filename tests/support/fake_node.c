/* fake_node.c - the answers of nodes about items, from memory: conditions, updates and filters are
 * evaluated by the engine's functions, as in a node. */
#include "tests/support/fake_node.h"

#include <stdlib.h>

#include "base/must.h"
#include "engine/expression/program.h"
#include "engine/expression/update_program.h"
#include "engine/index/row.h"
#include "engine/limiter/bucket.h"
#include "engine/message/frames.h"
#include "engine/message/move_messages.h"
#include "engine/message/request_traits.h"
#include "engine/message/transaction_messages.h"
#include "engine/transaction/transaction.h"

/* ---- the items ---- */

/* The first item that is not before the key. */
static size_t find_item(const struct fake_cluster *f, struct slice key)
{
    size_t low = 0, high = f->item_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (slice_compare(buffer_slice(&f->items[middle].key), key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct fake_item *item_at(struct fake_cluster *f, struct slice key)
{
    size_t at = find_item(f, key);
    bool there = at < f->item_count && slice_equal(buffer_slice(&f->items[at].key), key);
    return there ? &f->items[at] : NULL;
}

static void put_item(struct fake_cluster *f, struct slice key, struct slice item)
{
    struct fake_item *there = item_at(f, key);
    if (there == NULL) {
        size_t at = find_item(f, key);
        if (f->item_count == f->item_room) {
            f->item_room = f->item_room == 0 ? 64 : f->item_room * 2;
            f->items = realloc(f->items, f->item_room * sizeof *f->items);
            must(f->items != NULL);
        }
        memmove(&f->items[at + 1], &f->items[at], (f->item_count - at) * sizeof *f->items);
        f->item_count++;
        there = &f->items[at];
        *there = (struct fake_item){0};
        buffer_append_slice(&there->key, key);
    }
    buffer_clear(&there->item);
    buffer_append_slice(&there->item, item);
}

static void delete_item(struct fake_cluster *f, struct slice key)
{
    struct fake_item *there = item_at(f, key);
    if (there == NULL)
        return;
    size_t at = (size_t)(there - f->items);
    buffer_deinit(&there->key);
    buffer_deinit(&there->item);
    f->item_count--;
    memmove(there, there + 1, (f->item_count - at) * sizeof *f->items);
}

static const struct partition_info *partition_of(const struct fake_cluster *f,
                                                 const struct request *q, uint32_t node)
{
    for (uint32_t t = 0; t < f->table_count; t++) {
        for (uint32_t i = 0; i < f->tables[t].partition_count; i++) {
            const struct partition_info *p = &f->tables[t].partitions[i];
            if (p->id == q->partition && partition_member_on(p, node) != 0 && p->epoch == q->epoch)
                return p;
        }
    }
    return NULL;
}

static int64_t size_at(const struct fake_item *i)
{
    return i == NULL ? 0 : item_size(buffer_slice(&i->item));
}

/* ---- rows of global indexes ---- */

static const struct table *table_of(const struct fake_cluster *f, uint32_t id)
{
    return &f->tables[id - 1];
}

/* Changes the rows of an item that was `old`; tells what they cost. */
static void change_rows(struct fake_cluster *f, const struct table *t, struct slice key,
                        struct slice old, struct slice now, struct reply *r, struct buffer *costs)
{
    struct buffer before = {0}, after = {0}, row = {0};
    for (uint32_t i = 0; i < index_set_global(t->index_set); i++) {
        const struct index *x = index_set_global_at(t->index_set, i);
        buffer_clear(&before);
        buffer_clear(&after);
        buffer_clear(&row);
        const bool had = index_global_append_key(&before, x, key, old);
        const bool has = index_global_append_key(&after, x, key, now);
        if (had)
            delete_item(f, buffer_slice(&before));
        if (has) {
            index_row_append(&row, t->index_set, x, now);
            put_item(f, buffer_slice(&after), buffer_slice(&row));
        }
        const int64_t mcu = had || has ? MCU_PER_UNIT : 0;
        buffer_append_u8(costs, 0);
        buffer_append_u32(costs, x->table_id);
        buffer_append_u64(costs, (uint64_t)mcu);
    }
    r->item.index_costs = buffer_slice(costs);
    buffer_deinit(&before);
    buffer_deinit(&after);
    buffer_deinit(&row);
}

/* Changes the rows in local indexes of an item that was `old`. */
static void change_local_rows(struct fake_cluster *f, const struct table *t, struct slice key,
                              struct slice old, struct slice now)
{
    for (uint32_t i = 0; i < index_set_local(t->index_set); i++) {
        const struct index *x = &t->index_set->at[i];
        struct buffer before = {0}, after = {0}, row = {0};
        struct attr sort;
        if (index_sort_of(x, old, &sort)) {
            index_row_append_key(&before, x, key, &sort);
            delete_item(f, buffer_slice(&before));
        }
        if (index_sort_of(x, now, &sort)) {
            index_row_append_key(&after, x, key, &sort);
            index_row_append(&row, t->index_set, x, now);
            put_item(f, buffer_slice(&after), buffer_slice(&row));
        }
        buffer_deinit(&before);
        buffer_deinit(&after);
        buffer_deinit(&row);
    }
}

void fake_move_item(struct fake_cluster *f, struct slice key, uint64_t bare, uint32_t shard)
{
    const struct slice none = {NULL, 0};
    struct buffer from = {0}, to = {0}, item = {0};
    const struct table *t = table_of(f, storage_key_table(key));
    buffer_append_slice(&from, key);
    buffer_append_slice(&to, key);
    buffer_append_slice(&item, buffer_slice(&item_at(f, key)->item));
    key_shard_put(to.data, bare, shard);
    delete_item(f, buffer_slice(&from));
    change_local_rows(f, t, buffer_slice(&from), buffer_slice(&item), none);
    put_item(f, buffer_slice(&to), buffer_slice(&item));
    change_local_rows(f, t, buffer_slice(&to), none, buffer_slice(&item));
    buffer_deinit(&from);
    buffer_deinit(&to);
    buffer_deinit(&item);
}

/* ---- answers ---- */

static void show_item(struct reply *r, const struct fake_item *there, struct buffer *body)
{
    r->item.found = there != NULL;
    if (there != NULL)
        buffer_append_slice(body, buffer_slice(&there->item));
    r->item.bytes = buffer_slice(body);
}

static bool condition_holds(struct slice program, const struct fake_item *there)
{
    if (program.size == 0)
        return true;
    must(program_check(program) == STATUS_OK);
    return program_holds(program, there == NULL ? slice_make(NULL, 0) : buffer_slice(&there->item),
                         &(struct steps){0});
}

/* The item that an update makes of `there`. False: none; the reply may say why. */
static bool updated_item(const struct request *q, const struct fake_item *there, struct reply *r,
                         struct buffer *out)
{
    struct slice old = there != NULL ? buffer_slice(&there->item) : q->write.item;
    must(item_check(q->write.item) == STATUS_OK);
    if (q->write.update.size == 0) {
        buffer_append_slice(out, old);
        return true;
    }
    must(update_program_check(q->write.update) == STATUS_OK);
    enum update_fault fault =
        update_apply(q->write.update, old, there != NULL, &(struct steps){0}, out);
    if (fault != UPDATE_OK) {
        r->code = REPLY_UPDATE_FAILED;
        r->item.fault = (uint8_t)fault;
        return false;
    }
    must(item_check(buffer_slice(out)) == STATUS_OK);
    /* An update that only removes makes no item. */
    return there != NULL || item_count(buffer_slice(out)) > item_count(old);
}

static void answer_item_update(struct fake_cluster *f, const struct request *q,
                               struct fake_item *there, struct reply *r, struct buffer *body)
{
    struct buffer new = {0};
    const int64_t old = size_at(there);
    const bool made = updated_item(q, there, r, &new);
    const int64_t size = made ? item_size(buffer_slice(&new)) : 0;
    r->consumed_mcu = write_cost_mcu(size > old ? size : old);
    if (r->code == REPLY_OK && q->write.return_values == RETURN_OLD)
        show_item(r, there, body);
    if (made) {
        put_item(f, q->write.key, buffer_slice(&new));
        if (q->write.return_values == RETURN_NEW)
            show_item(r, item_at(f, q->write.key), body);
    }
    buffer_deinit(&new);
}

static int64_t wall_ms(const struct fake_cluster *f)
{
    return FAKE_WALL_MS + (f->now.ns - NS_PER_S) / NS_PER_MS;
}

/* A limiter's command. */
static void answer_command(struct fake_cluster *f, const struct request *q, struct fake_item *there,
                           struct reply *r, struct buffer *body)
{
    struct limiter_command command;
    struct reader reader = {q->write.limiter, false};
    struct buffer new = {0};
    limiter_command_walk(&(struct codec){.in = &reader}, &command);
    must(!reader.failed && reader.left.size == 0 && item_check(q->write.item) == STATUS_OK);
    const enum limiter_refusal refusal =
        limiter_apply(&command, there != NULL ? buffer_slice(&there->item) : q->write.item,
                      there != NULL, wall_ms(f), &new);
    r->consumed_mcu = write_cost_mcu(refusal == LIMITER_DONE ? item_size(buffer_slice(&new))
                                                             : (uint32_t)size_at(there));
    if (refusal != LIMITER_DONE) {
        r->code = REPLY_CONDITION_FAILED;
        r->item.fault = (uint8_t)refusal;
        r->item.wall_ms = wall_ms(f);
        show_item(r, there, body);
    } else {
        put_item(f, q->write.key, buffer_slice(&new));
        show_item(r, item_at(f, q->write.key), body);
        if (q->write.token.id.size > 0) {
            buffer_append_sized(&f->tokens, q->write.key);
            buffer_append_sized(&f->tokens, q->write.token.id);
        }
    }
    buffer_deinit(&new);
}

/* One of the limiter's commands of a transaction: its reply is appended to `replies`. Whether it
 * can be done; `out`: the item after it. */
static bool answer_command_part(struct fake_cluster *f, const struct request *q,
                                struct buffer *replies, int64_t *cost_mcu, struct buffer *out)
{
    struct limiter_command command;
    struct reader reader = {q->write.limiter, false};
    const struct fake_item *there = item_at(f, q->write.key);
    const struct slice old = there != NULL ? buffer_slice(&there->item) : q->write.item;
    struct reply r = {.code = REPLY_OK, .kind = ANSWER_ITEM};
    limiter_command_walk(&(struct codec){.in = &reader}, &command);
    must(!reader.failed && reader.left.size == 0 && item_check(q->write.item) == STATUS_OK);
    const enum limiter_refusal refusal =
        limiter_apply(&command, old, there != NULL, wall_ms(f), out);
    const bool done = refusal == LIMITER_DONE;
    r.code = done ? REPLY_OK : REPLY_CONDITION_FAILED;
    r.consumed_mcu = 2 * write_cost_mcu(item_size(done ? buffer_slice(out) : old));
    r.item.fault = done ? 0 : (uint8_t)refusal;
    r.item.wall_ms = done ? 0 : wall_ms(f);
    if (done && q->write.return_values == RETURN_NEW)
        r.item.bytes = buffer_slice(out);
    else if (!done && q->write.return_failed && there != NULL)
        r.item.bytes = old;
    r.item.found = r.item.bytes.size > 0;
    reply_encode(replies, &r);
    *cost_mcu += r.consumed_mcu;
    return done;
}

/* A transaction of limiter's commands, all in one partition: all are done, or none. */
static void answer_transact(struct fake_cluster *f, const struct request *q, struct reply *r,
                            struct buffer *body)
{
    struct reader parts = {request_transact(q)->parts, false};
    struct request *part = must_calloc(1, sizeof *part);
    struct buffer items[TRANSACTION_ITEMS_MAX] = {0};
    struct slice keys[TRANSACTION_ITEMS_MAX];
    uint32_t count = 0;
    bool all = true;
    for (; parts.left.size > 0; count++) {
        must(count < TRANSACTION_ITEMS_MAX);
        must(request_decode(reader_sized(&parts), part) == STATUS_OK);
        must(part->op == REQUEST_UPDATE && part->write.limiter.size > 0);
        keys[count] = part->write.key;
        all &= answer_command_part(f, part, body, &r->consumed_mcu, &items[count]);
    }
    r->code = all ? REPLY_OK : REPLY_CONDITION_FAILED;
    r->kind = ANSWER_PARTS;
    reply_edit_parts(r)->replies = buffer_slice(body);
    for (uint32_t i = 0; i < count; i++) {
        if (all)
            put_item(f, keys[i], buffer_slice(&items[i]));
        buffer_deinit(&items[i]);
    }
    free(part);
}

/* Whether an update with the same token was done before. */
static bool token_is_known(const struct fake_cluster *f, const struct request *q)
{
    struct reader r = {buffer_slice(&f->tokens), false};
    while (r.left.size > 0) {
        const struct slice key = reader_sized(&r), token = reader_sized(&r);
        if (slice_equal(key, q->write.key) && slice_equal(token, q->write.token.id))
            return true;
    }
    return false;
}

/* An update with a token is done once. True: there is nothing to do. */
static bool token_ends(struct fake_cluster *f, const struct request *q, struct reply *r)
{
    must(q->write.token.id.size > 0 || !q->write.token.only);
    if (q->write.token.id.size == 0)
        return false;
    if (token_is_known(f, q))
        return true;
    if (q->write.token.only) {
        r->code = REPLY_ABORTED;
        return true;
    }
    if (q->write.limiter.size > 0)
        return false; /* only if the command is done */
    buffer_append_sized(&f->tokens, q->write.key);
    buffer_append_sized(&f->tokens, q->write.token.id);
    return false;
}

static void answer_write(struct fake_cluster *f, const struct request *q, struct fake_item *there,
                         struct reply *r, struct buffer *body)
{
    int64_t old = size_at(there), new = 0;
    must(q->write.return_values != RETURN_NEW || q->op == REQUEST_UPDATE);
    if (q->op == REQUEST_PUT) {
        must(item_check(q->write.item) == STATUS_OK);
        new = item_size(q->write.item);
    }
    r->consumed_mcu = write_cost_mcu(new > old ? new : old);
    if (!condition_holds(q->write.condition, there)) {
        r->code = REPLY_CONDITION_FAILED;
        if (q->write.return_failed)
            show_item(r, there, body);
        return;
    }
    if (q->op == REQUEST_UPDATE) {
        answer_item_update(f, q, there, r, body);
        return;
    }
    if (q->write.return_values == RETURN_OLD)
        show_item(r, there, body);
    if (q->op == REQUEST_PUT)
        put_item(f, q->write.key, q->write.item);
    else
        delete_item(f, q->write.key);
}

static void answer_point(struct fake_cluster *f, const struct request *q, const struct table *t,
                         struct reply *r, struct buffer *body, struct buffer *costs)
{
    struct fake_item *there = item_at(f, request_key(q));
    r->kind = ANSWER_ITEM;
    if (q->op == REQUEST_UPDATE && token_ends(f, q, r))
        return;
    if (q->op == REQUEST_UPDATE && q->write.limiter.size > 0) {
        answer_command(f, q, there, r, body);
        return;
    }
    if (q->op != REQUEST_GET) {
        struct buffer old = {0};
        if (there != NULL)
            buffer_append_slice(&old, buffer_slice(&there->item));
        answer_write(f, q, there, r, body);
        r->applied = r->code == REPLY_OK ? ++f->applied : 0;
        const struct fake_item *now = item_at(f, request_key(q));
        struct buffer new = {0};
        if (now != NULL)
            buffer_append_slice(&new, buffer_slice(&now->item));
        if (r->code == REPLY_OK && index_set_global(t->index_set) > 0)
            change_rows(f, t, request_key(q), buffer_slice(&old), buffer_slice(&new), r, costs);
        if (r->code == REPLY_OK)
            change_local_rows(f, t, request_key(q), buffer_slice(&old), buffer_slice(&new));
        buffer_deinit(&old);
        buffer_deinit(&new);
        return;
    }
    r->consumed_mcu = read_cost_mcu(size_at(there), q->get.consistent);
    r->item.wall_ms = wall_ms(f);
    show_item(r, there, body);
}

static void answer_range(struct fake_cluster *f, const struct request *q,
                         const struct partition_info *p, struct reply *r, struct buffer *body)
{
    struct slice lo = slice_compare(q->range.lo, p->lo) < 0 ? p->lo : q->range.lo;
    struct slice hi = p->hi.size > 0 && slice_compare(p->hi, q->range.hi) < 0 ? p->hi : q->range.hi;
    struct buffer low_key = {0}, high_key = {0};
    must(q->range.hi.size > 0);
    storage_key_append_in_space(&low_key, q->range.index, lo);
    storage_key_append_in_space(&high_key, q->range.index, hi);
    size_t low = find_item(f, buffer_slice(&low_key)), high = find_item(f, buffer_slice(&high_key));
    for (size_t i = 0; low + i < high; i++) {
        if ((q->range.items_max > 0 && r->range.scanned == q->range.items_max) ||
            r->range.read_bytes >= q->range.bytes_max) {
            r->range.more = true;
            break;
        }
        const struct fake_item *at = &f->items[q->range.reverse ? high - 1 - i : low + i];
        if (f->range_items_max > 0 && i == f->range_items_max) {
            r->range.more = true;
            break;
        }
        if (q->key_sharding_version != 0 &&
            key_shard_of(buffer_slice(&at->key)) != q->range.shard) {
            if (r->range.scanned == 0) /* otherwise the last one that counts */
                r->range.last = buffer_slice(&at->key);
            continue;
        }
        struct slice item = buffer_slice(&at->item);
        r->range.read_bytes += item_size(item);
        r->range.scanned++;
        r->range.last = buffer_slice(&at->key);
        if (!condition_holds(q->range.filter, at))
            continue;
        r->range.count++;
        if (!q->range.count_only)
            buffer_append_sized(body, item);
    }
    r->kind = ANSWER_RANGE;
    if (r->range.last.size > 0) {
        buffer_clear(&f->last);
        storage_key_append_in_space(&f->last, 0, r->range.last);
        r->range.last = buffer_slice(&f->last);
    }
    buffer_deinit(&low_key);
    buffer_deinit(&high_key);
    r->range.items = buffer_slice(body);
    r->consumed_mcu = read_cost_mcu(r->range.read_bytes, q->range.consistent);
}

/* ---- sharded keys ---- */

/* The item goes to its owner shard, in whatever partition. */
static void answer_move(struct fake_cluster *f, const struct request *q, const struct table *t,
                        struct reply *r)
{
    const struct sharded_key *k = key_sharding_find(t->sharded_keys, request_move(q)->key);
    const struct fake_item *there = item_at(f, request_move(q)->key);
    must(k != NULL && request_move(q)->hi.size == 0);
    r->kind = ANSWER_RANGE;
    if (there == NULL)
        return;
    fake_move_item(f, request_move(q)->key, k->hash,
                   sharded_key_owner_by(k, request_move(q)->key, request_move(q)->shards));
    r->range.count = r->range.scanned = 1;
}

/* What a node refuses whose table has another registry than the sender knows. REPLY_OK: nothing. */
static enum reply_code fence_of(const struct fake_cluster *f, const struct request *q,
                                const struct table *t)
{
    const uint64_t version = table_key_sharding_version(t);
    if (q->key_sharding_version < version && (f->seen == 0 || q->key_sharding_version < f->seen))
        return REPLY_STALE_MAP;
    return q->sharded_key_version > version || (f->seen != 0 && q->sharded_key_version > f->seen)
               ? REPLY_OVERLOADED
               : REPLY_OK;
}

void fake_answer_data(struct fake_cluster *f, const struct request *q, uint32_t node,
                      struct reply *r, struct buffer *body, struct buffer *costs)
{
    const struct partition_info *p = partition_of(f, q, node);
    const uint64_t after = q->op == REQUEST_GET     ? q->get.after
                           : q->op == REQUEST_RANGE ? q->range.after
                                                    : 0;
    const bool behind = after > f->follower_applied; /* a replica that is not named leader */
    bool eventual = traits_of(q)->any_replica && !request_is_consistent(q) && !behind;
    if (f->leader != 0 && !eventual && (f->no_leader || node != f->leader)) {
        *r = (struct reply){.id = q->id, .code = REPLY_NOT_LEADER, .leader = f->leader};
    } else if (f->fail_count > 0 && f->fail_after-- <= 0) {
        f->fail_count--;
        r->code = f->fail_code;
        r->verdict.reason = f->fail_reason;
        r->verdict.wait.ns = f->fail_wait_us * 1000;
    } else if (p == NULL) {
        r->code = REPLY_WRONG_PARTITION;
    } else if (fence_of(f, q, table_of(f, p->table_id)) != REPLY_OK) {
        r->code = fence_of(f, q, table_of(f, p->table_id));
    } else if (q->op == REQUEST_RANGE) {
        answer_range(f, q, p, r, body);
    } else if (slice_compare(request_key(q), p->lo) < 0 ||
               (p->hi.size > 0 && slice_compare(request_key(q), p->hi) >= 0)) {
        r->code = REPLY_WRONG_PARTITION;
    } else if (q->op == REQUEST_UNCHANGED) {
        r->code = REPLY_OK; /* nobody else writes */
    } else if (q->op == REQUEST_INDEX_SHOWS) {
        r->code = f->index_behind ? REPLY_OVERLOADED : REPLY_OK;
        r->applied = f->applied;
    } else if (q->op == REQUEST_KEY_SHARD_MOVE) {
        answer_move(f, q, table_of(f, p->table_id), r);
    } else if (q->op == REQUEST_TRANSACT) {
        answer_transact(f, q, r, body);
    } else {
        answer_point(f, q, table_of(f, p->table_id), r, body, costs);
    }
}
