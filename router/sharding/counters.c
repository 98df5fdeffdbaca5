/* counters.c - which writes a cell takes, which cell that is, and the sum of cells. */
#include "router/sharding/counters.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "engine/expression/update.h"
#include "router/client.h"

const char counter_takes_only[] = "While the item's partition key is a sharded counter, the item "
                                  "takes only UpdateItem with ADD of "
                                  "numbers, without a condition, and with ReturnValues NONE; "
                                  "GetItem returns the sum. `weir unsalt` "
                                  "makes an ordinary item of it";

const char counter_shrinks[] =
    "the item's partition key is a sharded counter whose cells are being "
    "added up, which takes seconds: try again";

/* ---- writes ---- */

static bool action_adds_number(const struct update_action *a)
{
    return a->verb == UPDATE_ADD && a->path->next == NULL && a->value->kind == UPDATE_VALUE &&
           a->value->value.type == ATTR_NUMBER;
}

bool counter_takes(const struct item_request *q)
{
    if (q->op != REQUEST_UPDATE || q->updated == NULL || q->updated->count == 0 ||
        q->condition.size > 0 || q->want != WANT_NOTHING)
        return false;
    for (const struct update_action *a = q->updated->actions; a != NULL; a = a->next) {
        if (!action_adds_number(a))
            return false;
    }
    return true;
}

/* A client that sends its request again names it as before. A request without a name is like no other. */
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

/* Also before the key is salted: the request may be sent again after that. */
static bool may_be_counter(const struct table *t, struct slice key)
{
    uint32_t fixed;
    const struct salted_key *k = salting_find(t->salted, key);
    if (k != NULL)
        return k->counter;
    return t->tags.size > 0 && table_salting_wish(t, &fixed) == SALTING_COUNTER;
}

void counter_name_update(struct call *c, const struct table *t, const struct item_request *q,
                         struct request *update)
{
    if (!counter_takes(q) || !may_be_counter(t, q->key))
        return;
    uint8_t *token = arena_alloc(&c->arena, TRANSACTION_TOKEN_SIZE);
    token_of(c, q->key, token);
    update->write.token = slice_make(token, TRANSACTION_TOKEN_SIZE);
}

uint32_t counter_cell(struct slice token, uint32_t cells)
{
    return shard_jump(slice_head(token), cells);
}

/* Of a key that only grew, the former numbers are known. Of one that shrank, only the largest. */
uint32_t counter_former_cells(const struct salted_key *k, struct slice token,
                              uint32_t out[SHARDS_MAX])
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

/* Adds the numbers that the cells from `first` on have under the name. */
static enum number_error sum_of(const struct slice cells[], uint32_t first, uint32_t count,
                                struct slice name, struct number *sum)
{
    enum number_error error = NUMBER_OK;
    *sum = (struct number){0};
    for (uint32_t i = first; i < count && error == NUMBER_OK; i++) {
        struct attr value;
        struct number n, so_far = *sum;
        size_t used;
        if (item_find(cells[i], name, &value) && value.type == ATTR_NUMBER &&
            number_decode(value.body, &n, &used) == STATUS_OK)
            error = number_add(&so_far, &n, sum);
    }
    return error;
}

static bool cell_before_has(const struct slice cells[], uint32_t count, struct slice name)
{
    struct attr value;
    for (uint32_t i = 0; i < count; i++) {
        if (item_find(cells[i], name, &value))
            return true;
    }
    return false;
}

enum number_error counter_sum(struct buffer *out, const struct table *t, const struct slice cells[],
                              uint32_t count)
{
    struct item_writer w;
    const size_t start = out->size;
    item_begin(&w, out);
    for (uint32_t i = 0; i < count; i++) {
        struct attr_cursor at = item_attrs(cells[i]);
        struct slice name;
        struct attr value;
        struct number sum;
        while (attr_next(&at, &name, &value)) {
            if (cell_before_has(cells, i, name))
                continue;
            item_name(&w, name);
            if (value.type != ATTR_NUMBER || is_key(t, name)) {
                item_attr(&w, &value);
                continue;
            }
            const enum number_error error = sum_of(cells, i, count, name, &sum);
            if (error != NUMBER_OK) {
                out->size = start;
                return error;
            }
            item_number(&w, &sum);
        }
    }
    item_end(&w);
    return NUMBER_OK;
}
