/* gac_property.c - promises of global admission control under any load, and under single faults. */
#include "tests/check.h"

#include "tests/support/gac_world.h"

static void show(const char *what, const struct gac_world *w)
{
    printf("%s: offered %llu admitted %llu refused %llu (%.4f %%) over %.3f units, messages %.3f %%\n", what, (unsigned long long)w->offered,
           (unsigned long long)w->admitted, (unsigned long long)w->refused, 100.0 * (double)w->refused / (double)w->offered, (double)w->over_mcu / 1000,
           100.0 * (double)w->messages / (double)w->offered);
}

static void skew(struct prng *p, enum gac_policy policy)
{
    struct gac_world w;
    const struct gac_world_options options = {.routers = 16, .servers = 3, .policy = policy, .units = 16000, .bank_ms = getenv("BANK") ? atoi(getenv("BANK")) : 1000,
        .delay_ns = 200000, .drift_ppm = 100, .skew_ns = 1000000000000, .seed = prng_next(p)};
    gac_world_init(&w, &options);
    double weight[16], sum = 0;
    for (int i = 0; i < 16; i++)
        sum += weight[i] = 1.0 / (i + 1);
    double load = getenv("LOAD") ? atof(getenv("LOAD")) : 0.95;
    for (uint32_t i = 0; i < 16; i++)
        gac_world_load(&w, i, (int64_t)(load * 16000 * 1000 * weight[i] / sum));
    gac_world_run(&w, 2 * NS_PER_S);
    gac_world_measure(&w);
    gac_world_run(&w, 10 * NS_PER_S);
    show(gac_policy_name(policy), &w);
    gac_world_deinit(&w);
}

static void any_static_skew(void **state)
{
    (void)state;
    struct prng p = prng_seeded(1);
    skew(&p, GAC_STATIC);
    skew(&p, GAC_PERIODIC);
    skew(&p, GAC_LEASE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_static_skew)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
