/* Any text as a rate, keys, a mix, sizes, clients, a retry model: taken or refused, and what is
 * taken can be used. */
#include <math.h>

#include "base/must.h"
#include "workload/retry.h"
#include "workload/traffic.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use_keys(struct load_keys *k)
{
    struct prng random = prng_seeded(1);
    k->count = 1000000;
    if (load_keys_check(k) != NULL)
        return;
    load_keys_start(k);
    for (int i = 0; i < 20; i++)
        must(load_keys_next(k, &random, i * INT64_C(1000000000000)) < k->count);
    load_keys_stop(k);
}

static void use_rate(const struct rate_curve *c)
{
    struct prng random = prng_seeded(1);
    struct arrivals a;
    int64_t last_ns = 0;
    arrivals_init(&a, ARRIVAL_POISSON);
    for (int i = 0; i < 20; i++) {
        int64_t at_ns = arrivals_next(&a, c, &random, INT64_C(100000000000));
        must(at_ns >= last_ns);
        last_ns = at_ns;
    }
    must(rate_curve_at(c, INT64_C(1) << 62) >= 0);
    must(rate_curve_peak(c) >= 0);
}

static void use_retry(const struct retry_options *o)
{
    struct prng random = prng_seeded(1);
    struct retry r;
    struct retry_request q = {0};
    const struct retry_outcome outcome = {RETRY_THROTTLED, -1};
    int64_t now_ns = 0;
    retry_init(&r, o, 0);
    for (int i = 0; i < 3000; i++) {
        struct retry_verdict v = retry_send(&r, &q, now_ns, &random);
        must(!v.again || v.at_ns >= now_ns);
        if (v.again && v.at_ns > now_ns) {
            now_ns = v.at_ns;
            continue;
        }
        if (v.again)
            v = retry_after(&r, &q, &outcome, now_ns, &random);
        if (!v.again)
            return;
        must(v.at_ns >= now_ns);
        now_ns = v.at_ns;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[512];
    struct load_keys keys = {0};
    struct rate_curve rate;
    struct traffic_mix mix;
    struct item_sizes sizes;
    struct traffic_clients clients;
    struct retry_options retry = {0};
    struct prng random = prng_seeded(1);
    if (size >= sizeof text)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    if (load_keys_parse(&keys, text) == NULL)
        use_keys(&keys);
    if (rate_curve_parse(&rate, text) == NULL)
        use_rate(&rate);
    if (traffic_mix_parse(&mix, text) == NULL)
        must(mix.fraction[traffic_mix_kind(&mix, &random)] > 0);
    if (item_sizes_parse(&sizes, text) == NULL)
        must(item_sizes_next(&sizes, &random) >= 1);
    if (traffic_clients_parse(&clients, text) == NULL)
        must(clients.count >= 1 && clients.think_ns >= 0);
    if (retry_parse(&retry, text) == NULL)
        use_retry(&retry);
    return 0;
}
