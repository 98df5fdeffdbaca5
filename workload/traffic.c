/* traffic.c - see traffic.h. */
#include "workload/traffic.h"

#include <math.h>

#include "workload/text_fields.h"

enum {
    CLIENTS_MAX = 10000000,
    THINK_MS_MAX = 86400000,
};

const char *traffic_clients_parse(void *member, const char *text)
{
    struct traffic_clients *c = member;
    static const char expected[] =
        "closed:CLIENTS:THINK_MS[:exponential] with 1 to 10M clients and up to 86400000 ms, such "
        "as closed:100:50:exponential";
    char clients[TEXT_FIELD_SIZE_MAX], think[TEXT_FIELD_SIZE_MAX];
    const char *rest;
    double think_ms;
    *c = (struct traffic_clients){0};
    if (!text_begins(text, "closed", &rest) || !text_field(&rest, clients) ||
        !text_field(&rest, think) || !field_parse_integer(clients, 1, CLIENTS_MAX, &c->count) ||
        !field_parse_real(think, &think_ms) || !(think_ms >= 0 && think_ms <= THINK_MS_MAX))
        return expected;
    c->think_ns = (int64_t)(think_ms * 1e6);
    c->exponential = rest != NULL;
    return rest == NULL || strcmp(rest, "exponential") == 0 ? NULL : expected;
}

struct traffic_options traffic_defaults(void)
{
    return (struct traffic_options){
        .end_ns = INT64_MAX,
        .rate = {.kind = RATE_CONSTANT, .count = 1, .rates = {100}},
        .keys = {.count = 10000},
        .mix = {.fraction = {[TRAFFIC_READ] = 0.5, [TRAFFIC_UPDATE] = 0.5}, .scan_length_max = 100},
        .sizes = {.min = 100, .max = 100}};
}

void traffic_init(struct traffic *t, const struct traffic_options *o, uint64_t seed)
{
    struct prng seeds = prng_seeded(seed);
    struct prng *const streams[] = {&t->arrival_random,     &t->key_random,  &t->kind_random,
                                    &t->consistency_random, &t->size_random, &t->scan_random,
                                    &t->think_random};
    *t = (struct traffic){.options = *o};
    for (size_t i = 0; i < COUNT_OF(streams); i++)
        *streams[i] = prng_seeded(prng_next(&seeds));
    uint64_t noise = prng_next(&seeds);
    if (t->options.rate.seed == 0)
        t->options.rate.seed = noise;
    arrivals_init(&t->arrivals, o->arrivals);
    if (o->source.next == NULL)
        load_keys_start(&t->options.keys);
}

void traffic_deinit(struct traffic *t)
{
    load_keys_stop(&t->options.keys);
}

static bool next_of_source(struct traffic *t, struct traffic_request *out)
{
    const struct traffic_options *o = &t->options;
    if (!o->source.next(o->source.context, out))
        return false;
    double speed = o->source.speed > 0 ? o->source.speed : 1;
    if (speed != 1)
        out->at_ns = (int64_t)((double)out->at_ns / speed);
    if (out->at_ns >= o->end_ns - o->start_ns)
        return false;
    out->at_ns += o->start_ns;
    out->number = t->number++;
    return true;
}

/* `since_ns`: since the beginning of the workload. */
static void traffic_fill(struct traffic *t, int64_t since_ns, struct traffic_request *out)
{
    struct traffic_options *o = &t->options;
    enum traffic_kind kind = traffic_mix_kind(&o->mix, &t->kind_random);
    bool eventual = prng_unit(&t->consistency_random) < o->mix.eventual;
    out->number = t->number++;
    out->kind = kind;
    out->consistent = !eventual || traffic_kind_writes(kind);
    out->key = kind == TRAFFIC_INSERT ? load_keys_insert(&o->keys)
                                      : load_keys_next(&o->keys, &t->key_random, since_ns);
    out->size_bytes = item_sizes_next(&o->sizes, &t->size_random);
    out->scan_length = kind == TRAFFIC_SCAN
                           ? (int32_t)prng_between(&t->scan_random, 1, o->mix.scan_length_max)
                           : 1;
    out->table = out->tenant = 0;
}

bool traffic_next(struct traffic *t, struct traffic_request *out)
{
    const struct traffic_options *o = &t->options;
    if (o->source.next != NULL)
        return next_of_source(t, out);
    int64_t since_ns =
        arrivals_next(&t->arrivals, &o->rate, &t->arrival_random, o->end_ns - o->start_ns);
    if (since_ns == INT64_MAX)
        return false;
    traffic_fill(t, since_ns, out);
    out->at_ns = o->start_ns + since_ns;
    return true;
}

void traffic_make(struct traffic *t, int64_t now_ns, struct traffic_request *out)
{
    traffic_fill(t, now_ns - t->options.start_ns, out);
    out->at_ns = TRAFFIC_NO_TIME;
}

int64_t traffic_think_ns(struct traffic *t)
{
    const struct traffic_clients *c = &t->options.clients;
    if (!c->exponential)
        return c->think_ns;
    return (int64_t)(-log(1 - prng_unit(&t->think_random)) * (double)c->think_ns);
}
