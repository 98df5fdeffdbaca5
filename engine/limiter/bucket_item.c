/* bucket_item.c - a bucket as an item that any client can read.
 *
 *   PK SK       the key, as it was
 *   sh sc       the shard, of so many
 *   ep vn ch    epoch, version of the limits, when the number of shards changed (ms)
 *   lm          {name: {tk tokens, cp capacity, ra amount, rp period, ls smallest request, rf refilled
 *               up to (ms), pt fraction of the next mtok, tc taken, tb see taken_before}};
 *               the hidden limit is `wcu`. Without ls it is LIMITER_LEAST_MTOK, without pt and tb 0
 *   gf          {child: [epoch, refilled up to, tokens of each limit, fraction of each limit]}.
 *               Without fractions all are 0
 *   ct gr mg    of shard 0: number of shards, epochs of growth, whether it is being merged
 *   cl op       of a closed shard: true, whether it had been made
 *   ad rd       requests admitted and refused
 *   ttl         when the item may go (s)
 *
 * Promises: limiter_bucket_decode takes what limiter_bucket_encode writes, and no item that breaks an
 * invariant of bucket.h: a client may have written it. Other attributes are ignored, and go with the
 * next write. */
#include "engine/limiter/bucket_internal.h"

enum bucket_field {
    FIELD_SHARD,
    FIELD_SHARDS,
    FIELD_EPOCH,
    FIELD_VERSION,
    FIELD_CHANGED,
    FIELD_LIMITS,
    FIELD_GIFTS,
    FIELD_COUNT,
    FIELD_GROWN,
    FIELD_MERGING,
    FIELD_CLOSED,
    FIELD_OPENED,
    FIELD_ADMITTED,
    FIELD_REFUSED,
    BUCKET_FIELDS,
};

static const char *const bucket_names[BUCKET_FIELDS] = {
    [FIELD_SHARD] = "sh",    [FIELD_SHARDS] = "sc",  [FIELD_EPOCH] = "ep",  [FIELD_VERSION] = "vn",
    [FIELD_CHANGED] = "ch",  [FIELD_LIMITS] = "lm",  [FIELD_GIFTS] = "gf",  [FIELD_COUNT] = "ct",
    [FIELD_GROWN] = "gr",    [FIELD_MERGING] = "mg", [FIELD_CLOSED] = "cl", [FIELD_OPENED] = "op",
    [FIELD_ADMITTED] = "ad", [FIELD_REFUSED] = "rd",
};

enum level_field {
    LEVEL_TOKENS,
    LEVEL_CAPACITY,
    LEVEL_AMOUNT,
    LEVEL_PERIOD,
    LEVEL_LEAST,
    LEVEL_AT,
    LEVEL_PART,
    LEVEL_TAKEN,
    LEVEL_BEFORE,
    LEVEL_FIELDS,
};

static const char *const level_names[LEVEL_FIELDS] = {
    [LEVEL_TOKENS] = "tk", [LEVEL_CAPACITY] = "cp", [LEVEL_AMOUNT] = "ra",
    [LEVEL_PERIOD] = "rp", [LEVEL_LEAST] = "ls",    [LEVEL_AT] = "rf",
    [LEVEL_PART] = "pt",   [LEVEL_TAKEN] = "tc",    [LEVEL_BEFORE] = "tb",
};

/* ---- writing ---- */

static void number_put(struct item_writer *w, int64_t value)
{
    const struct number n = number_from_i64(value);
    item_number(w, &n);
}

static void field_put(struct item_writer *w, const char *name, int64_t value)
{
    item_name(w, slice_of(name));
    number_put(w, value);
}

static void flag_put(struct item_writer *w, const char *name, bool value)
{
    item_name(w, slice_of(name));
    item_bool(w, value);
}

static void key_put(struct item_writer *w, struct slice old)
{
    struct attr_cursor at = item_attrs(old);
    struct slice name;
    struct attr value;
    while (attr_next(&at, &name, &value)) {
        if (value.type != ATTR_STRING || !(slice_is(name, "PK") || slice_is(name, "SK")))
            continue;
        item_name(w, name);
        item_attr(w, &value);
    }
}

/* `taken` NULL: the hidden limit. */
static void level_put(struct item_writer *w, const struct limiter_limit *limit,
                      const struct limiter_level *level, const int64_t *taken,
                      const int64_t *before)
{
    item_name(w, limit->name);
    item_open(w, ATTR_MAP);
    field_put(w, "tk", level->tokens);
    field_put(w, "cp", limit->capacity);
    field_put(w, "ra", limit->amount);
    field_put(w, "rp", limit->period_ms);
    if (limit->least != LIMITER_LEAST_MTOK)
        field_put(w, "ls", limit->least);
    field_put(w, "rf", level->at_ms);
    if (level->part != 0)
        field_put(w, "pt", level->part);
    if (taken != NULL)
        field_put(w, "tc", *taken);
    if (before != NULL && *before != 0)
        field_put(w, "tb", *before);
    item_close(w);
}

static void limits_put(struct item_writer *w, const struct limiter_bucket *b)
{
    item_name(w, slice_of("lm"));
    item_open(w, ATTR_MAP);
    for (uint32_t i = 0; i < b->limits.count; i++)
        level_put(w, &b->limits.at[i], &b->levels[i], &b->taken[i], &b->taken_before[i]);
    level_put(w, &limiter_writes, &b->writes, NULL, NULL);
    item_close(w);
}

static void gift_put(struct item_writer *w, const struct limiter_gift *gift, uint32_t limits)
{
    uint8_t text[DECIMAL_SIZE_MAX];
    int64_t parts = 0;
    item_name(w, slice_make(text, (size_t)(put_decimal(text, gift->child) - text)));
    item_open(w, ATTR_LIST);
    number_put(w, (int64_t)gift->epoch);
    number_put(w, gift->levels[0].at_ms);
    for (uint32_t i = 0; i < limits; i++) {
        must(gift->levels[i].at_ms == gift->levels[0].at_ms);
        number_put(w, gift->levels[i].tokens);
        parts |= gift->levels[i].part;
    }
    for (uint32_t i = 0; i < limits && parts != 0; i++)
        number_put(w, gift->levels[i].part);
    item_close(w);
}

static void gifts_put(struct item_writer *w, const struct limiter_bucket *b)
{
    if (b->gift_count == 0)
        return;
    item_name(w, slice_of("gf"));
    item_open(w, ATTR_MAP);
    for (uint32_t i = 0; i < b->gift_count; i++)
        gift_put(w, &b->gifts[i], b->limits.count);
    item_close(w);
}

static void truth_put(struct item_writer *w, const struct limiter_bucket *b)
{
    must(b->truth.epoch == b->epoch);
    field_put(w, "ct", b->truth.count);
    item_name(w, slice_of("gr"));
    item_open(w, ATTR_LIST);
    for (uint32_t i = 0; i < LIMITER_SIZES && b->truth.grown[i] != 0; i++)
        number_put(w, (int64_t)b->truth.grown[i]);
    item_close(w);
    if (b->merging)
        flag_put(w, "mg", true);
}

void limiter_bucket_encode(struct slice old, const struct limiter_bucket *b, struct buffer *out)
{
    struct item_writer w;
    item_begin(&w, out);
    key_put(&w, old);
    field_put(&w, "sh", b->shard);
    field_put(&w, "sc", b->shards);
    field_put(&w, "ep", (int64_t)b->epoch);
    field_put(&w, "vn", (int64_t)b->limits.version);
    field_put(&w, "ch", b->changed_ms);
    limits_put(&w, b);
    gifts_put(&w, b);
    if (b->shard == 0)
        truth_put(&w, b);
    if (b->closed) {
        flag_put(&w, "cl", true);
        flag_put(&w, "op", b->opened);
    }
    field_put(&w, "ad", b->admitted);
    field_put(&w, "rd", b->refused);
    const int64_t expiry_s = limiter_bucket_expiry_s(b);
    if (expiry_s > 0)
        field_put(&w, "ttl", expiry_s);
    item_end(&w);
}

/* ---- reading ---- */

/* The values with these names; type 0: there is none. Attributes mostly come in the order of the names:
 * each search begins behind the name found last. */
static void fields_gather(struct attr_cursor at, const char *const *names, uint32_t count,
                          struct attr *out)
{
    struct slice name;
    struct attr value;
    uint32_t i = 0;
    memset(out, 0, count * sizeof *out);
    while (attr_next(&at, &name, &value)) {
        uint32_t left = count;
        for (; left > 0 && !slice_is(name, names[i]); left--)
            i = i + 1 < count ? i + 1 : 0;
        if (left > 0)
            out[i] = value;
    }
}

static bool number_take(const struct attr *value, int64_t least, int64_t most, int64_t *out)
{
    return value->type == ATTR_NUMBER && number_read_i64(value->body, out) && *out >= least &&
           *out <= most;
}

static bool u32_take(const struct attr *value, uint32_t most, uint32_t *out)
{
    int64_t number;
    if (!number_take(value, 0, most, &number))
        return false;
    *out = (uint32_t)number;
    return true;
}

static bool epoch_take(const struct attr *value, uint64_t *out)
{
    int64_t number;
    if (!number_take(value, 1, LIMITER_TIME_MAX, &number))
        return false;
    *out = (uint64_t)number;
    return true;
}

/* Without the attribute the flag is false. */
static bool flag_take(const struct attr *value, bool *out)
{
    *out = value->type == ATTR_BOOL && value->body.data[0] != 0;
    return value->type == 0 || value->type == ATTR_BOOL;
}

/* The tokens of a level; -LIMITER_MTOK_MAX <= tokens <= the share. */
static bool tokens_take(const struct attr *value, const struct limiter_limit *limit, uint32_t shard,
                        uint32_t shards, int64_t *out)
{
    return number_take(value, -LIMITER_MTOK_MAX, limiter_share(limit->capacity, shard, shards),
                       out);
}

static bool level_take(const struct attr *value, uint32_t shard, uint32_t shards,
                       struct limiter_limit *limit, struct limiter_level *level, int64_t *taken,
                       int64_t *before)
{
    struct attr f[LEVEL_FIELDS];
    if (value->type != ATTR_MAP)
        return false;
    fields_gather(attr_elements(value), level_names, LEVEL_FIELDS, f);
    limit->least = LIMITER_LEAST_MTOK;
    level->part = 0;
    *taken = *before = 0;
    return number_take(&f[LEVEL_CAPACITY], 1, LIMITER_MTOK_MAX, &limit->capacity) &&
           number_take(&f[LEVEL_AMOUNT], 1, LIMITER_MTOK_MAX, &limit->amount) &&
           number_take(&f[LEVEL_PERIOD], 1, LIMITER_PERIOD_MAX, &limit->period_ms) &&
           (f[LEVEL_LEAST].type == 0 ||
            number_take(&f[LEVEL_LEAST], 1, LIMITER_MTOK_MAX, &limit->least)) &&
           tokens_take(&f[LEVEL_TOKENS], limit, shard, shards, &level->tokens) &&
           number_take(&f[LEVEL_AT], 0, LIMITER_TIME_MAX, &level->at_ms) &&
           (f[LEVEL_PART].type == 0 ||
            number_take(&f[LEVEL_PART], 0, limit->period_ms - 1, &level->part)) &&
           (f[LEVEL_TAKEN].type == 0 ||
            number_take(&f[LEVEL_TAKEN], INT64_MIN, INT64_MAX, taken)) &&
           (f[LEVEL_BEFORE].type == 0 ||
            number_take(&f[LEVEL_BEFORE], INT64_MIN, INT64_MAX, before));
}

/* The hidden limit is always the same. */
static bool writes_take(const struct attr *value, struct limiter_bucket *b)
{
    struct limiter_limit limit;
    int64_t taken, before;
    return level_take(value, 0, 1, &limit, &b->writes, &taken, &before) &&
           limit.capacity == limiter_writes.capacity && limit.amount == limiter_writes.amount &&
           limit.period_ms == limiter_writes.period_ms && limit.least == limiter_writes.least &&
           b->writes.tokens >= -LIMITER_WRITES_MWCU;
}

static bool limits_take(const struct attr *value, struct limiter_bucket *b)
{
    struct attr_cursor at;
    struct attr element;
    struct slice name;
    bool writes = false;
    if (value->type != ATTR_MAP)
        return false;
    at = attr_elements(value);
    while (attr_next(&at, &name, &element)) {
        if (slice_is(name, LIMITER_WRITES_NAME)) {
            if (writes || !writes_take(&element, b))
                return false;
            writes = true;
            continue;
        }
        const uint32_t i = b->limits.count++;
        if (i == LIMITER_LIMITS_MAX ||
            !level_take(&element, b->shard, b->shards, &b->limits.at[i], &b->levels[i],
                        &b->taken[i], &b->taken_before[i]))
            return false;
        b->limits.at[i].name = name;
    }
    if (b->limits.count == 0) /* a shard that was never made has none */
        return writes && b->closed && !b->opened;
    return writes && limiter_limits_fault(&b->limits) == NULL;
}

static bool gift_take(const struct attr *value, const struct limiter_limits *limits,
                      struct limiter_gift *gift)
{
    struct attr numbers[2 + 2 * LIMITER_LIMITS_MAX];
    struct slice none;
    uint32_t count = 0;
    int64_t at_ms;
    if (value->type != ATTR_LIST)
        return false;
    struct attr_cursor at = attr_elements(value);
    while (count < COUNT_OF(numbers) && attr_next(&at, &none, &numbers[count]))
        count++;
    const bool parts = count == 2 + 2 * limits->count;
    if (at.left.size > 0 || (count != 2 + limits->count && !parts) ||
        !epoch_take(&numbers[0], &gift->epoch) ||
        !number_take(&numbers[1], 0, LIMITER_TIME_MAX, &at_ms))
        return false;
    for (uint32_t i = 0; i < limits->count; i++) {
        struct limiter_level *level = &gift->levels[i];
        *level = (struct limiter_level){.at_ms = at_ms};
        if (!tokens_take(&numbers[2 + i], &limits->at[i], gift->child, limiter_born(gift->child),
                         &level->tokens) ||
            (parts && !number_take(&numbers[2 + limits->count + i], 0, limits->at[i].period_ms - 1,
                                   &level->part)))
            return false;
    }
    return true;
}

/* LIMITER-6: exactly the gifts that a shard of so many has. */
static bool gifts_take(const struct attr *value, struct limiter_bucket *b)
{
    if (value->type != 0 && value->type != ATTR_MAP)
        return false;
    const struct attr_cursor all =
        value->type == 0 ? (struct attr_cursor){.named = true} : attr_elements(value);
    for (uint32_t shards = limiter_born(b->shard); shards < b->shards; shards *= 2) {
        struct limiter_gift *gift = &b->gifts[b->gift_count++];
        uint8_t text[DECIMAL_SIZE_MAX];
        struct attr element;
        gift->child = b->shard + shards;
        const size_t size = (size_t)(put_decimal(text, gift->child) - text);
        if (!attr_find(all, slice_make(text, size), &element) ||
            !gift_take(&element, &b->limits, gift))
            return false;
    }
    uint32_t count = 0;
    struct attr_cursor at = all;
    struct slice name;
    struct attr element;
    while (count <= b->gift_count && attr_next(&at, &name, &element))
        count++;
    return count == b->gift_count;
}

static bool truth_take(const struct attr f[BUCKET_FIELDS], struct limiter_bucket *b)
{
    struct limiter_shards *truth = &b->truth;
    uint32_t size = 0;
    uint64_t before = 0;
    struct slice name;
    struct attr element;
    if (!u32_take(&f[FIELD_COUNT], LIMITER_SHARDS_MAX, &truth->count) ||
        !limiter_is_size(truth->count) || !flag_take(&f[FIELD_MERGING], &b->merging) ||
        f[FIELD_GROWN].type != ATTR_LIST)
        return false;
    struct attr_cursor at = attr_elements(&f[FIELD_GROWN]);
    for (; attr_next(&at, &name, &element); before = truth->grown[size++]) {
        if (size == LIMITER_SIZES || !epoch_take(&element, &truth->grown[size]) ||
            truth->grown[size] <= before)
            return false;
    }
    truth->epoch = b->epoch;
    const bool halved = b->merging && b->shards == 2 * truth->count;
    return size == limiter_size_index(truth->count) + 1 + b->merging && before <= b->epoch &&
           (b->shards == truth->count || halved);
}

static bool state_take(const struct attr f[BUCKET_FIELDS], struct limiter_bucket *b)
{
    int64_t version;
    if (!u32_take(&f[FIELD_SHARD], LIMITER_SHARDS_MAX - 1, &b->shard) ||
        !u32_take(&f[FIELD_SHARDS], LIMITER_SHARDS_MAX, &b->shards) ||
        !limiter_is_size(b->shards) || b->shard >= b->shards ||
        !epoch_take(&f[FIELD_EPOCH], &b->epoch) ||
        !number_take(&f[FIELD_VERSION], 0, INT64_MAX, &version) ||
        !number_take(&f[FIELD_CHANGED], 0, LIMITER_TIME_MAX, &b->changed_ms) ||
        !flag_take(&f[FIELD_CLOSED], &b->closed) || !flag_take(&f[FIELD_OPENED], &b->opened) ||
        !number_take(&f[FIELD_ADMITTED], 0, INT64_MAX, &b->admitted) ||
        !number_take(&f[FIELD_REFUSED], 0, INT64_MAX, &b->refused))
        return false;
    b->limits.version = (uint64_t)version;
    return b->closed ? b->shard > 0 && b->shards == limiter_born(b->shard) : !b->opened;
}

bool limiter_bucket_decode(struct slice item, struct limiter_bucket *out)
{
    struct attr f[BUCKET_FIELDS];
    fields_gather(item_attrs(item), bucket_names, BUCKET_FIELDS, f);
    *out = (struct limiter_bucket){0};
    return state_take(f, out) && limits_take(&f[FIELD_LIMITS], out) &&
           gifts_take(&f[FIELD_GIFTS], out) && (out->shard > 0 || truth_take(f, out));
}
