/* gac_message.c - asks, answers and signs of life as bytes. */
#include "gac/gac_message.h"

#include "base/must.h"

enum {
    ASKS = 1,
    ANSWERS = 2,
    KEY_SIZE = 9,
    ASK_SIZE = KEY_SIZE + 2 + 10 * 8,
    ANSWER_SIZE = KEY_SIZE + 6 * 8
};

/* What requests have spent in an epoch grows for as long as the epoch lasts. */
static const int64_t spent_max = INT64_MAX / 16;
static const int64_t span_max_ns = 3600 * NS_PER_S;

static const char *const policy_names[GAC_POLICIES] = {
    [GAC_OFF] = "off", [GAC_STATIC] = "static", [GAC_PERIODIC] = "periodic", [GAC_LEASE] = "lease"};

const char *gac_policy_name(enum gac_policy policy)
{
    return policy_names[policy];
}

bool gac_policy_find(struct slice name, enum gac_policy *out)
{
    for (int i = 0; i < GAC_POLICIES; i++) {
        if (slice_equal(name, slice_of(policy_names[i]))) {
            *out = (enum gac_policy)i;
            return true;
        }
    }
    return false;
}

static void append_i64(struct buffer *out, int64_t value)
{
    buffer_append_u64(out, (uint64_t)value);
}

static void append_head(struct buffer *out, uint8_t kind, uint64_t sender, uint64_t about,
                        uint32_t count)
{
    must(count <= GAC_BATCH_MAX);
    buffer_append_u8(out, kind);
    buffer_append_u64(out, sender);
    buffer_append_u64(out, about);
    buffer_append_u32(out, count);
}

static void gac_message_append_key(struct buffer *out, struct gac_key key)
{
    buffer_append_u32(out, key.table);
    buffer_append_u32(out, key.index);
    buffer_append_u8(out, (uint8_t)key.kind);
}

void gac_asks_begin(struct buffer *out, const struct gac_asks *asks)
{
    append_head(out, ASKS, asks->router, asks->view, asks->count);
}

void gac_ask_append(struct buffer *out, const struct gac_ask *ask)
{
    gac_message_append_key(out, ask->key);
    buffer_append_u8(out, (uint8_t)ask->policy);
    buffer_append_u8(out, ask->created);
    buffer_append_u64(out, ask->epoch);
    buffer_append_u64(out, ask->number);
    buffer_append_u64(out, ask->version);
    append_i64(out, ask->rate);
    append_i64(out, ask->spent);
    append_i64(out, ask->pending);
    append_i64(out, ask->held);
    append_i64(out, ask->demand);
    append_i64(out, ask->need);
    append_i64(out, ask->cost);
}

void gac_answers_begin(struct buffer *out, const struct gac_answers *answers)
{
    append_head(out, ANSWERS, answers->server, answers->routers, answers->count);
}

void gac_answer_append(struct buffer *out, const struct gac_answer *answer)
{
    gac_message_append_key(out, answer->key);
    buffer_append_u64(out, answer->epoch);
    buffer_append_u64(out, answer->number);
    buffer_append_u64(out, answer->version);
    append_i64(out, answer->granted);
    append_i64(out, answer->lifetime.ns);
    append_i64(out, answer->wait.ns);
}

/* ---- reading ---- */

static int64_t read_between(struct reader *r, int64_t least, int64_t most)
{
    int64_t value = (int64_t)reader_u64(r);
    if (value < least || value > most)
        r->failed = true;
    return value;
}

static struct gac_key gac_message_read_key(struct reader *r)
{
    struct gac_key key = {.table = reader_u32(r), .index = reader_u32(r)};
    uint8_t kind = reader_u8(r);
    if (kind > GAC_WRITE)
        r->failed = true;
    key.kind = kind == GAC_WRITE ? GAC_WRITE : GAC_READ;
    return key;
}

static enum status read_status(const struct reader *r)
{
    return r->failed ? STATUS_MALFORMED : STATUS_OK;
}

static void read_head(struct reader *r, uint8_t kind, size_t size, uint64_t *sender,
                      uint64_t *about, uint32_t *count)
{
    if (reader_u8(r) != kind)
        r->failed = true;
    *sender = reader_u64(r);
    *about = reader_u64(r);
    *count = reader_u32(r);
    if (*sender == 0 || *count > GAC_BATCH_MAX || r->left.size != *count * size)
        r->failed = true;
}

enum status gac_asks_read(struct reader *r, struct gac_asks *out)
{
    read_head(r, ASKS, ASK_SIZE, &out->router, &out->view, &out->count);
    return read_status(r);
}

enum status gac_ask_read(struct reader *r, struct gac_ask *out)
{
    out->key = gac_message_read_key(r);
    uint8_t policy = reader_u8(r), created = reader_u8(r);
    if (policy >= GAC_POLICIES || created > 1)
        r->failed = true;
    out->created = created == 1;
    out->policy = r->failed ? GAC_OFF : (enum gac_policy)policy;
    out->epoch = reader_u64(r);
    out->number = reader_u64(r);
    out->version = reader_u64(r);
    out->rate = read_between(r, 0, GAC_AMOUNT_MAX);
    out->spent = read_between(r, -spent_max, spent_max);
    out->pending = read_between(r, 0, GAC_AMOUNT_MAX);
    out->held = read_between(r, -GAC_AMOUNT_MAX, GAC_AMOUNT_MAX);
    out->demand = read_between(r, 0, GAC_AMOUNT_MAX);
    out->need = read_between(r, 0, GAC_AMOUNT_MAX);
    out->cost = read_between(r, 0, GAC_AMOUNT_MAX);
    if (out->epoch == 0 || out->number == 0)
        r->failed = true;
    return read_status(r);
}

enum status gac_answers_read(struct reader *r, struct gac_answers *out)
{
    uint64_t routers = 0;
    read_head(r, ANSWERS, ANSWER_SIZE, &out->server, &routers, &out->count);
    if (routers == 0 || routers > UINT32_MAX)
        r->failed = true;
    out->routers = (uint32_t)routers;
    return read_status(r);
}

enum status gac_answer_read(struct reader *r, struct gac_answer *out)
{
    out->key = gac_message_read_key(r);
    out->epoch = reader_u64(r);
    out->number = reader_u64(r);
    out->version = reader_u64(r);
    out->granted = read_between(r, 0, GAC_AMOUNT_MAX);
    out->lifetime.ns = read_between(r, 0, span_max_ns);
    out->wait.ns = read_between(r, 0, span_max_ns);
    return read_status(r);
}
