/* config_set.c - see config_set.h: open addressing by value and bits. */
#include "workload/config_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/must.h"

static size_t hash_config(const struct config *k, size_t words)
{
    uint64_t h = k->value + UINT64_C(0x9E3779B97F4A7C15);
    for (size_t i = 0; i < words; i++) {
        h = (h ^ k->bits[i]) * UINT64_C(0xBF58476D1CE4E5B9);
        h ^= h >> 29;
    }
    return (size_t)h;
}

static bool same_place(const struct config *a, const struct config *b, size_t words)
{
    return a->value == b->value && memcmp(a->bits, b->bits, words * sizeof a->bits[0]) == 0;
}

/* Every future of b is possible for a, too. */
static bool at_least_as_good(const struct config *a, const struct config *b)
{
    return a->absent_until >= b->absent_until && a->unknown_deletes <= b->unknown_deletes;
}

static void index_item(struct config_set *s, size_t item, size_t words)
{
    size_t at = hash_config(&s->items[item], words);
    while (s->index[at & (s->index_size - 1)] != 0)
        at++;
    s->index[at & (s->index_size - 1)] = (uint32_t)item + 1;
}

static void index_resize(struct config_set *s, size_t size, size_t words)
{
    if (size > s->index_size || s->index == NULL) {
        free(s->index);
        s->index = must_calloc(size, sizeof s->index[0]);
    }
    s->index_size = size;
    memset(s->index, 0, size * sizeof s->index[0]);
    for (size_t i = 0; i < s->count; i++)
        index_item(s, i, words);
}

void config_set_clear(struct config_set *s)
{
    s->count = 0;
    index_resize(s, INDEX_SIZE_MIN, 0);
}

void config_set_deinit(struct config_set *s)
{
    free(s->items);
    free(s->index);
}

static void set_append(struct config_set *s, const struct config *k, size_t words)
{
    s->items = must_grow(s->items, s->count, &s->capacity, sizeof s->items[0]);
    s->items[s->count++] = *k;
    if (s->count * 2 > s->index_size)
        index_resize(s, s->index_size * 2, words);
    else
        index_item(s, s->count - 1, words);
}

bool config_set_add(struct config_set *s, const struct config *k, size_t words)
{
    size_t at = hash_config(k, words);
    uint32_t found;
    while ((found = s->index[at++ & (s->index_size - 1)]) != 0) {
        struct config *other = &s->items[found - 1];
        if (!same_place(other, k, words))
            continue;
        if (at_least_as_good(other, k))
            return true;
        if (at_least_as_good(k, other)) {
            *other = *k;
            return true;
        }
    }
    if (s->count == CONFIGS_MAX)
        return false;
    set_append(s, k, words);
    return true;
}
