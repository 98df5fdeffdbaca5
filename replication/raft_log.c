/* raft_log.c - the entries in memory.
 *
 * One array holds pointers to the entries; a message may borrow a part of the array. The entries
 * are stored in blocks, in the order of the log. The size of a block depends on the entries: an
 * idle group needs little more memory than its entries. */
#include <stdlib.h>

#include "replication/raft_internal.h"

_Static_assert(offsetof(struct raft_slot, entry) == 0, "an entry's pointer is its slot's");

static struct raft_slot *raft_log_slot_of(struct raft_entry *e)
{
    return (struct raft_slot *)(void *)e;
}

uint64_t raft_entry_bytes(const struct raft_entry *e)
{
    return sizeof(struct raft_slot) + e->payload.size;
}

struct raft_entry *raft_log_at(const struct raft_log *l, uint64_t index)
{
    if (index <= l->base_index || index > raft_log_last(l))
        return NULL;
    return l->slots[l->head + (uint32_t)(index - l->base_index - 1)];
}

uint64_t raft_log_term(const struct raft_log *l, uint64_t index)
{
    must(index >= l->base_index);
    must(index <= raft_log_last(l));
    return index == l->base_index ? l->base_term : raft_log_at(l, index)->term;
}

uint64_t raft_log_bytes_to(const struct raft_log *l, uint64_t index)
{
    struct raft_entry *e = raft_log_at(l, index);
    return e == NULL ? l->base_bytes_to : raft_log_slot_of(e)->bytes_to;
}

/* ---- blocks ---- */

enum {
    BLOCK_SIZE_MAX = 16 * 1024 /* a larger entry gets a block of its own */
};

struct raft_block {
    struct raft_block *previous; /* in a ring: the oldest comes after the newest */
    struct raft_block *next;
    size_t size;
    size_t used;
    uint32_t entries; /* 0 only while the block is removed */
    _Alignas(16) uint8_t bytes[];
};

static size_t slot_size(size_t payload)
{
    return (sizeof(struct raft_slot) + payload + 15) & ~(size_t)15;
}

static void block_add(struct raft_log *l, size_t size)
{
    size_t had = l->newest == NULL ? 0 : raft_log_bytes_to(l, raft_log_last(l)) - l->base_bytes_to;
    had = MIN(had, BLOCK_SIZE_MAX);
    size = MAX(size, had);
    struct raft_block *b = must_have(malloc(sizeof *b + size));
    struct raft_block *newest = l->newest == NULL ? b : l->newest;
    struct raft_block *oldest = l->newest == NULL ? b : l->newest->next;
    *b = (struct raft_block){.previous = newest, .next = oldest, .size = size};
    newest->next = b;
    oldest->previous = b;
    l->newest = b;
}

static struct raft_slot *slot_take(struct raft_log *l, size_t payload)
{
    const size_t size = slot_size(payload);
    if (l->newest == NULL || l->newest->size - l->newest->used < size)
        block_add(l, size);
    struct raft_block *b = l->newest;
    struct raft_slot *s = (struct raft_slot *)(void *)(b->bytes + b->used);
    b->used += size;
    b->entries++;
    return s;
}

static void block_free(struct raft_log *l, struct raft_block *b)
{
    b->previous->next = b->next;
    b->next->previous = b->previous;
    if (b == l->newest)
        l->newest = b->previous == b ? NULL : b->previous;
    free(b);
}

/* Removes the oldest entry. */
static void slot_drop_first(struct raft_log *l)
{
    struct raft_block *oldest = l->newest->next;
    if (--oldest->entries == 0)
        block_free(l, oldest);
}

/* Removes the newest entry. */
static void slot_drop_last(struct raft_log *l, const struct raft_entry *e)
{
    l->newest->used -= slot_size(e->payload.size);
    if (--l->newest->entries == 0)
        block_free(l, l->newest);
}

/* ---- */

static void raft_log_make_room(struct raft_log *l)
{
    if (l->head + l->count < l->capacity)
        return;
    if (l->head > 0 && l->head >= l->capacity / 2) {
        memmove(l->slots, l->slots + l->head, l->count * sizeof *l->slots);
        l->head = 0;
        return;
    }
    must(l->capacity <= UINT32_MAX / 2);
    l->capacity = l->capacity == 0 ? 8 : l->capacity * 2;
    l->slots = must_have(realloc(l->slots, l->capacity * sizeof *l->slots));
}

void raft_log_append(struct raft_log *l, uint64_t term, enum log_kind kind, struct slice head,
                     struct slice tail)
{
    uint64_t last = raft_log_last(l);
    must(term >= raft_log_term(l, last));
    raft_log_make_room(l);
    struct raft_slot *s = slot_take(l, head.size + tail.size);
    if (head.size > 0)
        memcpy(s->payload, head.data, head.size);
    if (tail.size > 0)
        memcpy(s->payload + head.size, tail.data, tail.size);
    s->entry = (struct raft_entry){.index = last + 1,
                                   .term = term,
                                   .kind = kind,
                                   .payload = slice_make(s->payload, head.size + tail.size)};
    s->anew = 0;
    s->bytes_to = raft_log_bytes_to(l, last) + raft_entry_bytes(&s->entry);
    l->slots[l->head + l->count++] = &s->entry;
}

void raft_log_logged(struct raft_log *l, uint64_t index, uint64_t lsn)
{
    struct raft_entry *e = raft_log_at(l, index);
    if (e == NULL)
        return;
    if (e->lsn == 0)
        e->lsn = lsn;
    else
        raft_log_slot_of(e)->anew = lsn;
}

bool raft_log_rely_on_anew(struct raft_log *l, uint64_t first, uint64_t lsn)
{
    uint64_t before = 0;
    for (uint64_t i = first; i <= raft_log_last(l); i++) {
        struct raft_slot *s = raft_log_slot_of(raft_log_at(l, i));
        uint64_t newest = s->anew != 0 ? s->anew : s->entry.lsn;
        if (newest <= before || s->anew > lsn)
            return false;
        before = newest;
    }
    for (uint64_t i = first; i <= raft_log_last(l); i++) {
        struct raft_slot *s = raft_log_slot_of(raft_log_at(l, i));
        s->entry.lsn = s->anew != 0 ? s->anew : s->entry.lsn;
        s->anew = 0;
    }
    return true;
}

static void give_back(struct raft_log *l)
{
    if (l->count > 0)
        return;
    free(l->slots);
    l->slots = NULL;
    l->head = l->capacity = 0;
}

void raft_log_truncate(struct raft_log *l, uint64_t index)
{
    must(index > l->base_index);
    while (raft_log_last(l) >= index)
        slot_drop_last(l, l->slots[l->head + --l->count]);
    give_back(l);
}

void raft_log_compact(struct raft_log *l, uint64_t index)
{
    must(index >= l->base_index);
    must(index <= raft_log_last(l));
    l->base_term = raft_log_term(l, index);
    l->base_bytes_to = raft_log_bytes_to(l, index);
    for (; l->base_index < index; l->base_index++, l->head++, l->count--)
        slot_drop_first(l);
    give_back(l);
}

void raft_log_reset(struct raft_log *l, uint64_t index, uint64_t term)
{
    raft_log_truncate(l, l->base_index + 1);
    l->base_index = index;
    l->base_term = term;
}

void raft_log_deinit(struct raft_log *l)
{
    raft_log_reset(l, 0, 0);
}
