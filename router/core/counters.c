/* counters.c - which writes a cell takes, which cell that is, and the sum of cells. */
#include "router/core/counters.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "engine/expression/update.h"

const char counter_takes_only[] = "While the item's partition key is a sharded counter, the item "
                                  "takes only UpdateItem with ADD of "
                                  "numbers, without a condition, and with ReturnValues NONE; "
                                  "GetItem returns the sum. `weir unshard` "
                                  "makes an ordinary item of it";

const char counter_shrinks[] = "the item's partition key is a sharded counter whose cells are "
                               "being merged, which takes seconds: try again";

/* ---- writes ---- */

static bool action_adds_number(const struct update_action *a)
{
    return a->verb == UPDATE_ADD && a->path->next == NULL && a->value->kind == UPDATE_VALUE &&
           a->value->value.type == ATTR_NUMBER;
}

/* Whether one cell can take the write: an update of ADD with numbers, without condition and without
 * returned values. */
static bool counter_takes(const struct item_request *q)
{
    if (q->op != REQUEST_UPDATE || q->updated == NULL || q->updated->count == 0 ||
        q->condition.size > 0 || q->return_values != RETURN_NONE)
        return false;
    for (const struct update_action *a = q->updated->actions; a != NULL; a = a->next) {
        if (!action_adds_number(a))
            return false;
    }
    return true;
}

/* A client that sends its request again names it as before. A request without a name is like no
 * other. */
static void token_of(const struct call *c, struct slice key, uint8_t out[TRANSACTION_TOKEN_SIZE])
{
    XXH3_state_t hash;
    /* The head of a client's request stays until the request is answered. */
    struct slice named = {NULL, 0};
    if (c->client != NULL)
        named = http_find(&c->client->http.head, "amz-sdk-invocation-id");
    XXH3_128bits_reset(&hash);
    if (named.size > 0)
        XXH3_128bits_update(&hash, named.data, named.size);
    else
        XXH3_128bits_update(&hash, c->request_id, sizeof c->request_id);
    XXH3_128bits_update(&hash, key.data, key.size);
    const XXH128_hash_t digest = XXH3_128bits_digest(&hash);
    memcpy(out, &digest, TRANSACTION_TOKEN_SIZE);
}

/* Also before the key is sharded: the request may be sent again after that. */
static bool may_be_counter(const struct table *t, struct slice key)
{
    uint32_t fixed;
    const struct sharded_key *k = key_sharding_find(t->sharded_keys, key);
    if (k != NULL)
        return k->counter;
    return t->tags.size > 0 && table_key_sharding_mode(t, &fixed) == KEY_SHARDING_COUNTER;
}

void counter_name_update(struct call *c, const struct table *t, const struct item_request *q,
                         struct request *update)
{
    if (!counter_takes(q) || !may_be_counter(t, q->key))
        return;
    uint8_t *token = arena_alloc(&c->arena, TRANSACTION_TOKEN_SIZE);
    token_of(c, q->key, token);
    update->write.token.id = slice_make(token, TRANSACTION_TOKEN_SIZE);
}

uint32_t counter_cell(struct slice token, uint32_t cells)
{
    return key_shard_jump(slice_head(token), cells);
}

/* Of a key that only grew, the former numbers are known. Of one that shrank, only the largest. */
uint32_t counter_previous_cells(const struct sharded_key *k, struct slice token,
                                uint32_t out[KEY_SHARDS_MAX])
{
    const uint32_t cell = counter_cell(token, k->shards);
    const uint32_t numbers = k->shrank ? k->widest : k->before_count;
    uint32_t count = 0;
    for (uint32_t i = 0; i < numbers; i++) {
        const uint32_t was = counter_cell(token, k->shrank ? i + 1 : k->before[i]);
        if (was != cell && (count == 0 || out[count - 1] != was))
            out[count++] = was;
    }
    return count;
}

/* ---- sums ---- */

static bool is_key(const struct table *t, struct slice name)
{
    return slice_equal(name, t->partition_key.name) || slice_equal(name, t->sort_key.name);
}

/* An attribute of a cell. */
struct cell_value {
    struct slice name;
    struct attr value;
    struct cell_value *next; /* of the same name in a later cell */
    bool later;              /* an earlier cell has the name */
};

/* For qsort: by the name; the attribute of the earlier cell first. */
static int cell_value_compare(const void *x, const void *y)
{
    const struct cell_value *a = *(struct cell_value *const *)x,
                            *b = *(struct cell_value *const *)y;
    const int order = slice_compare(a->name, b->name);
    return order != 0 ? order : (a > b) - (a < b);
}

/* Chains the attributes of each name. Sorting: looking each name up in all cells is quadratic. */
static void cell_values_chain(struct cell_value *all, size_t count)
{
    struct cell_value **sorted = must_calloc(count + 1, sizeof(struct cell_value *));
    for (size_t i = 0; i < count; i++)
        sorted[i] = &all[i];
    qsort(sorted, count, sizeof(struct cell_value *), cell_value_compare);
    for (size_t i = 1; i < count; i++) {
        if (!slice_equal(sorted[i - 1]->name, sorted[i]->name))
            continue;
        sorted[i - 1]->next = sorted[i];
        sorted[i]->later = true;
    }
    free(sorted);
}

/* Adds the numbers that the cells have under the name. */
static enum number_error sum_of(const struct cell_value *first, struct number *sum)
{
    enum number_error error = NUMBER_OK;
    *sum = (struct number){0};
    for (const struct cell_value *v = first; v != NULL && error == NUMBER_OK; v = v->next) {
        struct number n, so_far = *sum;
        size_t used;
        if (v->value.type == ATTR_NUMBER && number_decode(v->value.body, &n, &used) == STATUS_OK)
            error = number_add(&so_far, &n, sum);
    }
    return error;
}

static enum number_error cell_values_write(struct item_writer *w, const struct table *t,
                                           const struct cell_value *all, size_t count)
{
    enum number_error error = NUMBER_OK;
    for (const struct cell_value *v = all; v < all + count && error == NUMBER_OK; v++) {
        struct number sum;
        if (v->later)
            continue;
        item_name(w, v->name);
        if (v->value.type != ATTR_NUMBER || is_key(t, v->name))
            item_attr(w, &v->value);
        else if ((error = sum_of(v, &sum)) == NUMBER_OK)
            item_number(w, &sum);
    }
    return error;
}

enum number_error counter_sum(struct buffer *out, const struct table *t, const struct slice cells[],
                              uint32_t count)
{
    struct item_writer w;
    const size_t start = out->size;
    size_t room = 0, values = 0;
    for (uint32_t i = 0; i < count; i++)
        room += item_count(cells[i]);
    struct cell_value *all = must_calloc(room + 1, sizeof *all);
    for (uint32_t i = 0; i < count; i++) {
        struct attr_cursor at = item_attrs(cells[i]);
        while (values < room && attr_next(&at, &all[values].name, &all[values].value))
            values++;
    }
    cell_values_chain(all, values);
    item_begin(&w, out);
    const enum number_error error = cell_values_write(&w, t, all, values);
    free(all);
    if (error == NUMBER_OK)
        item_end(&w);
    else
        out->size = start;
    return error;
}
