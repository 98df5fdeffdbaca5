/* change_set.c - writes and reads the payload of a write's log entry. */
#include "engine/store/change_set.h"

_Static_assert(KEY_SPACES - 1 <= UINT8_MAX, "a change has its space in one byte");

enum {
    CHANGE_DELETES = 1,
    CHANGE_HAS_OLD = 2,
    CHANGE_DERIVED = 4,
    CHANGE_FLAGS = 7,
    COUNT_AT = 8, /* in the set's head */
    BURST_AT = 12,
};

void change_set_begin(struct buffer *out, int64_t cost_mcu, uint32_t burst)
{
    must(out->size == 0);
    buffer_append_u64(out, (uint64_t)cost_mcu);
    buffer_append_u32(out, 0);
    buffer_append_u32(out, burst);
}

void change_set_charge(struct buffer *set, int64_t cost_mcu, uint32_t burst)
{
    must(set->size >= CHANGE_SET_HEAD_SIZE);
    memcpy(set->data, &cost_mcu, sizeof cost_mcu);
    memcpy(set->data + BURST_AT, &burst, sizeof burst);
}

/* What change_read refuses, no one may write: the entry could never be applied. */
static void change_check(const struct change *c)
{
    const bool has_no_value = c->derived || c->value.data == NULL;
    must_in_tests(c->space >= SPACE_ITEMS);
    must_in_tests(c->space < KEY_SPACES);
    must_in_tests(c->key.size > 0);
    must_in_tests(c->old_size >= -1);
    must_in_tests(c->old_size <= INT32_MAX);
    must_in_tests(has_no_value == (c->value.size == 0));
}

void change_set_append_last(struct buffer *out, const struct change *c)
{
    uint32_t count;
    must(out->size >= CHANGE_SET_HEAD_SIZE);
    change_check(c);
    memcpy(&count, out->data + COUNT_AT, sizeof count);
    count++;
    must(count <= CHANGES_MAX);
    memcpy(out->data + COUNT_AT, &count, sizeof count);
    uint8_t flags = (uint8_t)((c->derived              ? CHANGE_DERIVED
                               : c->value.data == NULL ? CHANGE_DELETES
                                                       : 0) |
                              (c->old.data != NULL ? CHANGE_HAS_OLD : 0));
    uint8_t *at = buffer_reserve(out, CHANGE_HEAD_SIZE + c->key.size);
    at = put_u32(at, (uint32_t)c->old_size);
    at = put_u32(at, (uint32_t)c->key.size);
    at = put_u32(at, (uint32_t)c->value.size);
    at = put_u8(put_u8(put_u8(put_u8(at, (uint8_t)c->space), flags), 0), 0);
    buffer_end(out, put_bytes(at, c->key));
}

void change_set_append(struct buffer *out, const struct change *c)
{
    change_set_append_last(out, c);
    buffer_append_slice(out, c->value);
    if (c->old.data != NULL)
        buffer_append_sized(out, c->old);
}

/* False: the change is incomplete, or makes no sense. */
static bool change_read(struct reader *r, struct change *out)
{
    struct slice head = reader_take(r, CHANGE_HEAD_SIZE);
    if (r->failed)
        return false;
    const uint8_t *at = head.data;
    out->old_size = (int32_t)get_u32(&at);
    const uint32_t key_size = get_u32(&at), value_size = get_u32(&at);
    const uint8_t space = get_u8(&at), flags = get_u8(&at);
    const bool deletes = flags & CHANGE_DELETES;
    out->derived = flags & CHANGE_DERIVED;
    const uint8_t rest = get_u8(&at) | get_u8(&at);
    out->space = (enum key_space)space;
    out->key = reader_take(r, key_size);
    out->value = reader_take(r, value_size);
    out->old = flags & CHANGE_HAS_OLD ? reader_sized(r) : slice_make(NULL, 0);
    if (deletes || out->derived)
        out->value.data = NULL;
    return !r->failed && space >= SPACE_ITEMS && space < KEY_SPACES && key_size > 0 &&
           out->old_size >= -1 && (flags & ~CHANGE_FLAGS) == 0 && rest == 0 &&
           (deletes || out->derived) == (value_size == 0) && !(deletes && out->derived);
}

static void change_set_read_head(struct slice payload, struct change_set *out)
{
    const uint8_t *at = payload.data;
    must(payload.size > CHANGE_SET_HEAD_SIZE);
    out->cost_mcu = (int64_t)get_u64(&at);
    out->count = get_u32(&at);
    out->burst = get_u32(&at);
    out->left = slice_make(at, payload.size - CHANGE_SET_HEAD_SIZE);
}

void change_set_reopen(struct slice payload, struct change_set *out)
{
    change_set_read_head(payload, out);
    must(out->count > 0);
    must(out->count <= CHANGES_MAX);
}

bool change_set_open(struct slice payload, struct change_set *out)
{
    struct change c;
    if (payload.size <= CHANGE_SET_HEAD_SIZE)
        return false;
    change_set_read_head(payload, out);
    struct reader r = {out->left, false};
    if (out->count == 0 || out->count > CHANGES_MAX)
        return false;
    for (uint32_t i = 0; i < out->count; i++) {
        if (!change_read(&r, &c))
            return false;
    }
    return r.left.size == 0;
}

bool change_set_next(struct change_set *set, struct change *out)
{
    struct reader r = {set->left, false};
    if (set->count == 0) {
        must(set->left.size == 0);
        return false;
    }
    const bool whole = change_read(&r, out);
    must(whole); /* change_set_open has checked it */
    set->left = r.left;
    set->count--;
    return true;
}
