/* gac_property.c - promises of global admission control under any load, and under single faults. */
#include "tests/check.h"

#include "tests/support/gac_world.h"

static void show(const char *what, const struct gac_world *w)
{
    printf("%s: offered %llu admitted %llu refused %llu (%.4f %%) over %.3f units, messages %.3f %%\n", what, (unsigned long long)w->offered,
           (unsigned long long)w->admitted, (unsigned long long)w->refused, 100.0 * (double)w->refused / (double)w->offered, (double)w->over_mcu / 1000,
           100.0 * (double)w->messages / (double)w->offered);
}

static void world(struct gac_world *w, struct prng *p, enum gac_policy policy, int64_t units)
{
    const struct gac_world_options options = {.routers = 16, .servers = 3, .policy = policy, .units = units, .bank_ms = getenv("BANK") ? atoi(getenv("BANK")) : 1000,
        .delay_ns = 200000, .drift_ppm = 100, .skew_ns = 1000000000000, .seed = prng_next(p)};
    gac_world_init(w, &options);
}

static void zipf(struct gac_world *w, double load)
{
    double weight[16], sum = 0;
    for (int i = 0; i < 16; i++)
        sum += weight[i] = 1.0 / (i + 1);
    for (uint32_t i = 0; i < 16; i++)
        gac_world_load(w, i, (int64_t)(load * (double)w->options.units * 1000 * weight[i] / sum));
}

static void hot(struct gac_world *w, double load, double part, uint32_t at)
{
    for (uint32_t i = 0; i < 16; i++)
        gac_world_load(w, i, (int64_t)(load * (double)w->options.units * 1000 * (i == at ? part : (1 - part) / 15)));
}

static void measure(struct gac_world *w, const char *what, int64_t s)
{
    gac_world_measure(w);
    gac_world_run(w, s * NS_PER_S);
    show(what, w);
}

static void skew(struct prng *p, enum gac_policy policy, int64_t units)
{
    struct gac_world w;
    world(&w, p, policy, units);
    printf("---- %s %lld units/s\n", gac_policy_name(policy), (long long)units);
    zipf(&w, 0.95);
    gac_world_run(&w, 2 * NS_PER_S);
    measure(&w, "zipf 0.95", 10);
    zipf(&w, 1.5);
    gac_world_run(&w, 2 * NS_PER_S);
    measure(&w, "zipf 1.5", 5);
    zipf(&w, 0.95);
    gac_world_run(&w, 2 * NS_PER_S);
    for (int f = 0; f < 2; f++) {
        gac_world_measure(&w);
        for (uint32_t i = 0; i < 10; i++) {
            hot(&w, 0.95, f ? 0.99 : 0.6, i);
            gac_world_run(&w, NS_PER_S);
        }
        show(f ? "hotspot 0.99 moving each s" : "hotspot 0.6 moving each s", &w);
    }
    zipf(&w, 0.95);
    gac_world_run(&w, 2 * NS_PER_S);
    uint32_t owner = gac_world_owner(&w);
    if (owner != 0) {
        gac_world_crash_server(&w, owner);
        measure(&w, "owner crashed", 3);
        gac_world_start_server(&w, owner);
        measure(&w, "owner back", 3);
        gac_world_cut(&w, 3, owner, true);
        measure(&w, "router 3 cut from owner", 3);
        gac_world_cut(&w, 3, owner, false);
        measure(&w, "healed", 3);
        for (uint32_t s = 1; s <= 3; s++)
            gac_world_cut(&w, 3, s, true);
        measure(&w, "router 3 cut from all", 3);
        for (uint32_t s = 1; s <= 3; s++)
            gac_world_cut(&w, 3, s, false);
        measure(&w, "healed", 3);
        gac_world_crash_router(&w, 2);
        measure(&w, "router 2 crashed", 3);
        gac_world_start_router(&w, 2);
        measure(&w, "router 2 back", 3);
        for (uint32_t s = 1; s <= 3; s++)
            gac_world_crash_server(&w, s);
        measure(&w, "all servers crashed", 5);
        for (uint32_t s = 1; s <= 3; s++)
            gac_world_start_server(&w, s);
        measure(&w, "all back", 5);
    }
    gac_world_deinit(&w);
}

static void any_static_skew(void **state)
{
    (void)state;
    struct prng p = prng_seeded(1);
    int64_t units = getenv("UNITS") ? atoi(getenv("UNITS")) : 16000;
    skew(&p, GAC_STATIC, units);
    skew(&p, GAC_PERIODIC, units);
    skew(&p, GAC_LEASE, units);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_static_skew)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
