/* gac_message.c - grant requests, answers and signs of life as bytes. */
#include "gac/gac_message.h"

#include "base/codec.h"

enum {
    REQUESTS = 1,
    ANSWERS = 2,
    KEY_SIZE = 9,
    REQUEST_SIZE = KEY_SIZE + 3 + 11 * 8,
    ANSWER_SIZE = KEY_SIZE + 9 * 8
};

/* Tokens spent in an epoch grow as long as the epoch lasts. */
static const int64_t spent_max = INT64_MAX / 16;
static const int64_t span_max_ns = 3600 * NS_PER_S;

static const char *const policy_names[GAC_POLICIES] = {[GAC_OFF] = "off",
                                                       [GAC_STATIC] = "static",
                                                       [GAC_PERIODIC] = "periodic",
                                                       [GAC_LEASE] = "lease",
                                                       [GAC_NAMED] = "named"};

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

struct duration gac_refill_time(int64_t more, int64_t rate)
{
    const int64_t ns_max = INT64_MAX / 4;
    if (more <= 0 || rate <= 0)
        return (struct duration){more <= 0 ? 0 : ns_max};
    const __int128 ns = ((__int128)more * NS_PER_S + rate - 1) / rate;
    return (struct duration){ns < ns_max ? (int64_t)ns : ns_max};
}

static void head_walk(struct codec *c, uint8_t kind, size_t size, uint64_t *sender, uint64_t *about,
                      uint32_t *count)
{
    codec_choice(c, kind, kind, kind);
    codec_u64(c, sender);
    codec_u64(c, about);
    codec_u32(c, count);
    codec_check(c, *sender != 0 && *count <= GAC_BATCH_MAX);
    if (codec_reads(c))
        codec_check(c, c->in->left.size == *count * size);
}

static void gac_key_walk(struct codec *c, struct gac_key *key)
{
    codec_u32(c, &key->table);
    codec_u32(c, &key->index);
    codec_check(c, key->table != 0 && key->index >> 31 == 0);
    key->kind = codec_choice(c, key->kind, GAC_READ, GAC_WRITE);
}

static void gac_request_walk(struct codec *c, struct gac_request *request)
{
    gac_key_walk(c, &request->key);
    request->policy = (enum gac_policy)codec_choice(c, request->policy, 0, GAC_POLICIES - 1);
    codec_bool(c, &request->created);
    codec_bool(c, &request->reports);
    codec_u64(c, &request->epoch);
    codec_u64(c, &request->number);
    codec_check(c, request->epoch != 0 && request->number != 0);
    codec_u64(c, &request->version);
    codec_i64(c, &request->rate, 0, GAC_AMOUNT_MAX);
    codec_i64(c, &request->spent, -spent_max, spent_max);
    codec_i64(c, &request->pending, 0, GAC_AMOUNT_MAX);
    codec_i64(c, &request->held, -GAC_AMOUNT_MAX, GAC_AMOUNT_MAX);
    codec_i64(c, &request->demand, 0, GAC_AMOUNT_MAX);
    codec_i64(c, &request->need, 0, GAC_AMOUNT_MAX);
    codec_i64(c, &request->cost, 0, GAC_AMOUNT_MAX);
    codec_i64(c, &request->share, 0, GAC_WHOLE);
}

CODEC_ENCODE(gac_request)
CODEC_DECODE(gac_request)

static void gac_answer_walk(struct codec *c, struct gac_answer *answer)
{
    gac_key_walk(c, &answer->key);
    codec_u64(c, &answer->epoch);
    codec_u64(c, &answer->number);
    codec_u64(c, &answer->version);
    codec_i64(c, &answer->granted, 0, GAC_AMOUNT_MAX);
    codec_i64(c, &answer->lifetime.ns, 0, span_max_ns);
    codec_i64(c, &answer->wait.ns, 0, span_max_ns);
    codec_i64(c, &answer->until.ns, 0, INT64_MAX);
    codec_i64(c, &answer->others, GAC_UNKNOWN, GAC_AMOUNT_MAX);
    codec_i64(c, &answer->share, 0, GAC_WHOLE);
}

CODEC_ENCODE(gac_answer)
CODEC_DECODE(gac_answer)

static void gac_requests_walk(struct codec *c, struct gac_requests *a)
{
    must(codec_reads(c) || a->count <= GAC_BATCH_MAX);
    head_walk(c, REQUESTS, REQUEST_SIZE, &a->router, &a->view, &a->count);
}

static void gac_answers_walk(struct codec *c, struct gac_answers *a)
{
    uint64_t routers = a->routers;
    must(codec_reads(c) || a->count <= GAC_BATCH_MAX);
    head_walk(c, ANSWERS, ANSWER_SIZE, &a->server, &routers, &a->count);
    codec_check(c, routers >= 1 && routers <= UINT32_MAX);
    a->routers = (uint32_t)routers;
}

CODEC_ENCODE(gac_requests)
CODEC_DECODE(gac_requests)
CODEC_ENCODE(gac_answers)
CODEC_DECODE(gac_answers)
