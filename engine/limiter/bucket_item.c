/* bucket_item.c - a bucket as an item that any client can read.
 *
 *   PK SK       the key, as it was
 *   sh sc       the shard, of so many
 *   ep vn ch    epoch, version of the limits, when the number of shards changed (ms)
 *   lm          {name: {tk tokens, cp capacity, ra amount, rp period, ls smallest request, rf
 *               refilled up to (ms), pt fraction of the next mtok, tc taken, tb see
 *               taken_before}}; the hidden limit is `wcu`. Without ls it is
 *               LIMITER_REQUEST_MIN_MTOK, without pt and tb 0
 *   gf          {child: [epoch, refilled up to, tokens of each limit, fraction of each limit]}.
 *               Without fractions all are 0
 *   ct gr mg    of shard 0: number of shards, epochs of growth, whether it is being merged
 *   cl op       of a sealed shard: true, whether it had been created
 *   ad rd       requests admitted and refused
 *   ttl         when the item may go (s)
 *
 * Promises: limiter_bucket_decode takes what limiter_bucket_encode writes, and no item that breaks
 * an invariant of bucket.h: a client may have written it. Other attributes are ignored, and go with
 * the next write. */
#include "engine/limiter/bucket_internal.h"

enum bucket_field {
    FIELD_SHARD,
    FIELD_SHARDS,
    FIELD_EPOCH,
    FIELD_VERSION,
    FIELD_CHANGED,
    FIELD_LIMITS,
    FIELD_RESERVED,
    FIELD_COUNT,
    FIELD_GROWN,
    FIELD_MERGING,
    FIELD_SEALED,
    FIELD_CREATED,
    FIELD_ADMITTED,
    FIELD_REFUSED,
    BUCKET_FIELDS,
};

static const char *const bucket_names[BUCKET_FIELDS] = {
    [FIELD_SHARD] = "sh",    [FIELD_SHARDS] = "sc",  [FIELD_EPOCH] = "ep",
    [FIELD_VERSION] = "vn",  [FIELD_CHANGED] = "ch", [FIELD_LIMITS] = "lm",
    [FIELD_RESERVED] = "gf", [FIELD_COUNT] = "ct",   [FIELD_GROWN] = "gr",
    [FIELD_MERGING] = "mg",  [FIELD_SEALED] = "cl",  [FIELD_CREATED] = "op",
    [FIELD_ADMITTED] = "ad", [FIELD_REFUSED] = "rd",
};

enum balance_field {
    BALANCE_TOKENS,
    BALANCE_CAPACITY,
    BALANCE_AMOUNT,
    BALANCE_PERIOD,
    BALANCE_REQUEST_MIN,
    BALANCE_AT,
    BALANCE_FRACTION,
    BALANCE_TAKEN,
    BALANCE_BEFORE,
    BALANCE_FIELDS,
};

static const char *const balance_names[BALANCE_FIELDS] = {
    [BALANCE_TOKENS] = "tk",   [BALANCE_CAPACITY] = "cp",    [BALANCE_AMOUNT] = "ra",
    [BALANCE_PERIOD] = "rp",   [BALANCE_REQUEST_MIN] = "ls", [BALANCE_AT] = "rf",
    [BALANCE_FRACTION] = "pt", [BALANCE_TAKEN] = "tc",       [BALANCE_BEFORE] = "tb",
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
    struct slice name;
    struct attr value;
    for (struct attr_cursor at = item_attrs(old); attr_next(&at, &name, &value);) {
        if (value.type != ATTR_STRING || !(slice_is(name, "PK") || slice_is(name, "SK")))
            continue;
        item_name(w, name);
        item_attr(w, &value);
    }
}

/* `taken` NULL: the hidden limit. */
static void balance_put(struct item_writer *w, const struct limiter_limit *limit,
                        const struct limiter_balance *balance, const int64_t *taken,
                        const int64_t *before)
{
    item_name(w, limit->name);
    item_open(w, ATTR_MAP);
    field_put(w, "tk", balance->tokens);
    field_put(w, "cp", limit->capacity);
    field_put(w, "ra", limit->amount);
    field_put(w, "rp", limit->period_ms);
    if (limit->request_min != LIMITER_REQUEST_MIN_MTOK)
        field_put(w, "ls", limit->request_min);
    field_put(w, "rf", balance->at_ms);
    if (balance->fraction != 0)
        field_put(w, "pt", balance->fraction);
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
        balance_put(w, &b->limits.at[i], &b->balances[i], &b->taken[i], &b->taken_before[i]);
    balance_put(w, &limiter_write_limit, &b->write_balance, NULL, NULL);
    item_close(w);
}

static void reserved_share_put(struct item_writer *w, const struct limiter_reserved_share *reserved,
                               uint32_t limits)
{
    uint8_t text[DECIMAL_SIZE_MAX];
    int64_t fractions = 0;
    item_name(w, slice_make(text, (size_t)(put_decimal(text, reserved->child) - text)));
    item_open(w, ATTR_LIST);
    number_put(w, (int64_t)reserved->epoch);
    number_put(w, reserved->balances[0].at_ms);
    for (uint32_t i = 0; i < limits; i++) {
        must(reserved->balances[i].at_ms == reserved->balances[0].at_ms);
        number_put(w, reserved->balances[i].tokens);
        fractions |= reserved->balances[i].fraction;
    }
    for (uint32_t i = 0; i < limits && fractions != 0; i++)
        number_put(w, reserved->balances[i].fraction);
    item_close(w);
}

static void reserved_shares_put(struct item_writer *w, const struct limiter_bucket *b)
{
    if (b->reserved_count == 0)
        return;
    item_name(w, slice_of("gf"));
    item_open(w, ATTR_MAP);
    for (uint32_t i = 0; i < b->reserved_count; i++)
        reserved_share_put(w, &b->reserved[i], b->limits.count);
    item_close(w);
}

static void shard_map_put(struct item_writer *w, const struct limiter_bucket *b)
{
    must(b->shard_map.epoch == b->epoch);
    field_put(w, "ct", b->shard_map.count);
    item_name(w, slice_of("gr"));
    item_open(w, ATTR_LIST);
    for (uint32_t i = 0; i < LIMITER_SIZES && b->shard_map.grown[i] != 0; i++)
        number_put(w, (int64_t)b->shard_map.grown[i]);
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
    reserved_shares_put(&w, b);
    if (b->shard == 0)
        shard_map_put(&w, b);
    if (b->sealed) {
        flag_put(&w, "cl", true);
        flag_put(&w, "op", b->created);
    }
    field_put(&w, "ad", b->admitted);
    field_put(&w, "rd", b->refused);
    const int64_t expiry_s = limiter_bucket_expiry_s(b);
    if (expiry_s > 0)
        field_put(&w, "ttl", expiry_s);
    item_end(&w);
}

/* ---- reading ---- */

/* The values with these names; type 0: absent. Attributes mostly come in the order of the names:
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

static bool number_read(const struct attr *value, int64_t min, int64_t max, int64_t *out)
{
    return value->type == ATTR_NUMBER && number_read_i64(value->body, out) && *out >= min &&
           *out <= max;
}

static bool u32_read(const struct attr *value, uint32_t max, uint32_t *out)
{
    int64_t number;
    if (!number_read(value, 0, max, &number))
        return false;
    *out = (uint32_t)number;
    return true;
}

static bool epoch_read(const struct attr *value, uint64_t *out)
{
    int64_t number;
    if (!number_read(value, 1, LIMITER_TIME_MAX, &number))
        return false;
    *out = (uint64_t)number;
    return true;
}

/* Without the attribute the flag is false. */
static bool flag_read(const struct attr *value, bool *out)
{
    *out = value->type == ATTR_BOOL && value->body.data[0] != 0;
    return value->type == 0 || value->type == ATTR_BOOL;
}

/* The tokens of a balance; -LIMITER_MTOK_MAX <= tokens <= the share. */
static bool tokens_read(const struct attr *value, const struct limiter_limit *limit, uint32_t shard,
                        uint32_t shards, int64_t *out)
{
    return number_read(value, -LIMITER_MTOK_MAX, limiter_share(limit->capacity, shard, shards),
                       out);
}

static bool balance_read(const struct attr *value, uint32_t shard, uint32_t shards,
                         struct limiter_limit *limit, struct limiter_balance *balance,
                         int64_t *taken, int64_t *before)
{
    struct attr f[BALANCE_FIELDS];
    if (value->type != ATTR_MAP)
        return false;
    fields_gather(attr_elements(value), balance_names, BALANCE_FIELDS, f);
    limit->request_min = LIMITER_REQUEST_MIN_MTOK;
    balance->fraction = 0;
    *taken = *before = 0;
    return number_read(&f[BALANCE_CAPACITY], 1, LIMITER_MTOK_MAX, &limit->capacity) &&
           number_read(&f[BALANCE_AMOUNT], 1, LIMITER_MTOK_MAX, &limit->amount) &&
           number_read(&f[BALANCE_PERIOD], 1, LIMITER_PERIOD_MAX, &limit->period_ms) &&
           (f[BALANCE_REQUEST_MIN].type == 0 ||
            number_read(&f[BALANCE_REQUEST_MIN], 1, LIMITER_MTOK_MAX, &limit->request_min)) &&
           tokens_read(&f[BALANCE_TOKENS], limit, shard, shards, &balance->tokens) &&
           number_read(&f[BALANCE_AT], 0, LIMITER_TIME_MAX, &balance->at_ms) &&
           (f[BALANCE_FRACTION].type == 0 ||
            number_read(&f[BALANCE_FRACTION], 0, limit->period_ms - 1, &balance->fraction)) &&
           (f[BALANCE_TAKEN].type == 0 ||
            number_read(&f[BALANCE_TAKEN], INT64_MIN, INT64_MAX, taken)) &&
           (f[BALANCE_BEFORE].type == 0 ||
            number_read(&f[BALANCE_BEFORE], INT64_MIN, INT64_MAX, before));
}

/* The hidden limit is always the same. */
static bool write_balance_read(const struct attr *value, struct limiter_bucket *b)
{
    struct limiter_limit limit;
    int64_t taken, before;
    return balance_read(value, 0, 1, &limit, &b->write_balance, &taken, &before) &&
           limit.capacity == limiter_write_limit.capacity &&
           limit.amount == limiter_write_limit.amount &&
           limit.period_ms == limiter_write_limit.period_ms &&
           limit.request_min == limiter_write_limit.request_min &&
           b->write_balance.tokens >= -LIMITER_WRITES_MWCU;
}

static bool limits_read(const struct attr *value, struct limiter_bucket *b)
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
            if (writes || !write_balance_read(&element, b))
                return false;
            writes = true;
            continue;
        }
        const uint32_t i = b->limits.count++;
        if (i == LIMITER_LIMITS_MAX ||
            !balance_read(&element, b->shard, b->shards, &b->limits.at[i], &b->balances[i],
                          &b->taken[i], &b->taken_before[i]))
            return false;
        b->limits.at[i].name = name;
    }
    if (b->limits.count == 0) /* a shard that was never created has none */
        return writes && b->sealed && !b->created;
    return writes && limiter_limits_fault(&b->limits) == NULL;
}

static bool reserved_share_read(const struct attr *value, const struct limiter_limits *limits,
                                struct limiter_reserved_share *reserved)
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
    const bool fractions = count == 2 + 2 * limits->count;
    if (at.left.size > 0 || (count != 2 + limits->count && !fractions) ||
        !epoch_read(&numbers[0], &reserved->epoch) ||
        !number_read(&numbers[1], 0, LIMITER_TIME_MAX, &at_ms))
        return false;
    for (uint32_t i = 0; i < limits->count; i++) {
        struct limiter_balance *balance = &reserved->balances[i];
        *balance = (struct limiter_balance){.at_ms = at_ms};
        if (!tokens_read(&numbers[2 + i], &limits->at[i], reserved->child,
                         limiter_size_at_creation(reserved->child), &balance->tokens) ||
            (fractions && !number_read(&numbers[2 + limits->count + i], 0,
                                       limits->at[i].period_ms - 1, &balance->fraction)))
            return false;
    }
    return true;
}

/* LIMITER-6: exactly the reserved shares that a shard of so many has. */
static bool reserved_shares_read(const struct attr *value, struct limiter_bucket *b)
{
    if (value->type != 0 && value->type != ATTR_MAP)
        return false;
    const struct attr_cursor all =
        value->type == 0 ? (struct attr_cursor){.named = true} : attr_elements(value);
    for (uint32_t shards = limiter_size_at_creation(b->shard); shards < b->shards; shards *= 2) {
        struct limiter_reserved_share *reserved = &b->reserved[b->reserved_count++];
        uint8_t text[DECIMAL_SIZE_MAX];
        struct attr element;
        reserved->child = b->shard + shards;
        const size_t size = (size_t)(put_decimal(text, reserved->child) - text);
        if (!attr_find(all, slice_make(text, size), &element) ||
            !reserved_share_read(&element, &b->limits, reserved))
            return false;
    }
    uint32_t count = 0;
    struct attr_cursor at = all;
    struct slice name;
    struct attr element;
    while (count <= b->reserved_count && attr_next(&at, &name, &element))
        count++;
    return count == b->reserved_count;
}

static bool shard_map_read(const struct attr f[BUCKET_FIELDS], struct limiter_bucket *b)
{
    struct limiter_shard_map *shard_map = &b->shard_map;
    uint32_t size = 0;
    uint64_t before = 0;
    struct slice name;
    struct attr element;
    if (!u32_read(&f[FIELD_COUNT], LIMITER_SHARDS_MAX, &shard_map->count) ||
        !limiter_is_size(shard_map->count) || !flag_read(&f[FIELD_MERGING], &b->merging) ||
        f[FIELD_GROWN].type != ATTR_LIST)
        return false;
    struct attr_cursor at = attr_elements(&f[FIELD_GROWN]);
    for (; attr_next(&at, &name, &element); before = shard_map->grown[size++]) {
        if (size == LIMITER_SIZES || !epoch_read(&element, &shard_map->grown[size]) ||
            shard_map->grown[size] <= before)
            return false;
    }
    shard_map->epoch = b->epoch;
    const bool halved = b->merging && b->shards == 2 * shard_map->count;
    return size == limiter_size_index(shard_map->count) + 1 + b->merging && before <= b->epoch &&
           (b->shards == shard_map->count || halved);
}

static bool state_read(const struct attr f[BUCKET_FIELDS], struct limiter_bucket *b)
{
    int64_t version;
    if (!u32_read(&f[FIELD_SHARD], LIMITER_SHARDS_MAX - 1, &b->shard) ||
        !u32_read(&f[FIELD_SHARDS], LIMITER_SHARDS_MAX, &b->shards) ||
        !limiter_is_size(b->shards) || b->shard >= b->shards ||
        !epoch_read(&f[FIELD_EPOCH], &b->epoch) ||
        !number_read(&f[FIELD_VERSION], 0, INT64_MAX, &version) ||
        !number_read(&f[FIELD_CHANGED], 0, LIMITER_TIME_MAX, &b->changed_ms) ||
        !flag_read(&f[FIELD_SEALED], &b->sealed) || !flag_read(&f[FIELD_CREATED], &b->created) ||
        !number_read(&f[FIELD_ADMITTED], 0, INT64_MAX, &b->admitted) ||
        !number_read(&f[FIELD_REFUSED], 0, INT64_MAX, &b->refused))
        return false;
    b->limits.version = (uint64_t)version;
    return b->sealed ? b->shard > 0 && b->shards == limiter_size_at_creation(b->shard)
                     : !b->created;
}

bool limiter_bucket_decode(struct slice item, struct limiter_bucket *out)
{
    struct attr f[BUCKET_FIELDS];
    fields_gather(item_attrs(item), bucket_names, BUCKET_FIELDS, f);
    *out = (struct limiter_bucket){0};
    return state_read(f, out) && limits_read(&f[FIELD_LIMITS], out) &&
           reserved_shares_read(&f[FIELD_RESERVED], out) &&
           (out->shard > 0 || shard_map_read(f, out));
}
