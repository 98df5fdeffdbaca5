/* control_policy_test.c - policies of the controller's decision points: what they see, what comes of
 * their decisions, and that nonsense changes nothing. */
#include "base/policies.h"

#include "control/points.h"
#include "engine/item/storage_key.h"
#include "tests/check.h"
#include "tests/support/control_scene.h"

static struct {
    char text[512];
    int count;
} told;

static void tell(void *context, const char *text)
{
    (void)context;
    snprintf(told.text, sizeof told.text, "%s", text);
    told.count++;
}

static struct policies policies;

/* A scene whose settings name the policy `scripted` for each point of the plug-in. */
static void scene_with(struct scene *w, const struct weir_policy_plugin *plugin)
{
    struct buffer error = {0};
    memset(&told, 0, sizeof told);
    policies = (struct policies){.tell = tell};
    assert_int_equal(policies_add(&policies, plugin, "FILE.so", NULL, &error), STATUS_OK);
    scene_init(w, 3);
    w->config.policies = &policies;
    if (plugin->adaptive_count > 0)
        memcpy(w->config.adaptive_policy, "scripted", sizeof "scripted");
    assert_int_equal(control_policies_check(&w->config, &error), STATUS_OK);
    buffer_deinit(&error);
}

static void expect_told(const char *point, uint64_t times)
{
    char begin[64];
    snprintf(begin, sizeof begin, "%s policy 'scripted' of FILE.so ", point);
    if (told.count != 1 || strstr(told.text, begin) == NULL ||
        strstr(told.text, "Such decisions change nothing") == NULL)
        fail_msg("%s is told %d times: %s", begin, told.count, told.text);
    assert_in_range(policies.entries[0].nonsense, times, UINT64_MAX);
}

/* ---- names ---- */

static void a_name_that_no_policy_has_is_told_with_those_there_are(void **state)
{
    (void)state;
    struct config config;
    struct buffer error = {0};
    config_init(&config, PROFILE_RESEARCH);
    assert_int_equal(control_policies_check(&config, &error), STATUS_OK);
    memcpy(config.adaptive_policy, "luck", sizeof "luck");
    assert_int_equal(control_policies_check(&config, &error), STATUS_MALFORMED);
    buffer_append_u8(&error, 0);
    assert_non_null(strstr((const char *)error.data, "adaptive_policy 'luck' is not known"));
    assert_non_null(strstr((const char *)error.data, "one of proportional"));
    assert_true(control_policy_is_own(POLICY_ADAPTIVE, "proportional"));
    assert_false(control_policy_is_own(POLICY_PARTITION, "proportional"));
    buffer_deinit(&error);
}

/* ---- allocations ---- */

static struct {
    bool saw;
    int64_t limit, maximum, base, allocation, demand, use, throttled_ns, calls;
    uint32_t count;
    void (*then)(struct weir_rates *r);
} rates;

static void scripted_adapt(struct weir_rates *r)
{
    if (weir_rates_kind(r) != WEIR_POLICY_WRITE)
        return;
    int64_t *calls = weir_rates_state(r, 0);
    if (calls != NULL)
        rates.calls = ++*calls;
    rates.saw = true;
    rates.limit = weir_rates_limit(r);
    rates.maximum = weir_rates_maximum(r);
    rates.count = weir_rates_count(r);
    rates.base = weir_rates_base(r, 0);
    rates.allocation = weir_rates_allocation(r, 0);
    rates.demand = weir_rates_demand(r, 0);
    rates.use = weir_rates_use(r, 0);
    rates.throttled_ns = weir_rates_throttled_ns(r, 0);
    if (rates.then != NULL)
        rates.then(r);
}

static const struct weir_adaptive_policy adaptive = {
    .size = sizeof adaptive, .partition_bytes = 8, .name = "scripted", .adapt = scripted_adapt};
static const struct weir_adaptive_policy *const adaptives[] = {&adaptive};
static const struct weir_policy_plugin adaptive_plugin = {.abi = WEIR_POLICY_ABI,
                                                          .size = sizeof adaptive_plugin,
                                                          .adaptive_count = 1,
                                                          .adaptive = adaptives};

/* A table of two partitions of 700, of which the first is asked for 900 for a while. */
static const struct table *scene_skewed(struct scene *w)
{
    memset(&rates, 0, sizeof rates);
    scene_with(w, &adaptive_plugin);
    const struct table *t = scene_create(w, "orders", BILLING_PROVISIONED, 10, 1400);
    struct demand d = {.units = {900, 100}};
    assert_int_equal(t->partition_count, 2);
    for (int i = 0; i < 20; i++) {
        scene_serve(w, catalog_find(w->catalog, slice_of("orders")), &d, 500);
        scene_look(w, 500, true);
    }
    return catalog_find(w->catalog, slice_of("orders"));
}

static void raise_the_first(struct weir_rates *r)
{
    if (weir_rates_allocation(r, 0) < 800000)
        weir_rates_raise(r, 0, 800000);
}

static void a_policy_of_allocations_sees_demand_and_what_it_raises_is_decided(void **state)
{
    (void)state;
    struct scene w;
    const struct table *t = scene_skewed(&w);
    assert_true(rates.saw);
    assert_int_equal(rates.limit, 1400000);
    assert_int_equal(rates.maximum, partition_max_mcu(&w.config, ADMIT_WRITE));
    assert_int_equal(rates.count, t->partition_count);
    assert_int_equal(rates.base, 1400000 / t->partition_count);
    assert_int_equal(rates.allocation, rates.base);
    assert_in_range(rates.demand, 890000, 910000);
    assert_int_equal(rates.use, rates.base);
    assert_true(rates.throttled_ns > 0);
    assert_in_range(rates.calls, 5, 15); /* its state is kept from look to look */
    rates.then = raise_the_first;
    struct demand d = {.units = {900, 100}};
    for (int i = 0; i < 4; i++) {
        scene_serve(&w, catalog_find(w.catalog, slice_of("orders")), &d, 500);
        scene_look(&w, 500, true);
    }
    t = catalog_find(w.catalog, slice_of("orders"));
    assert_int_equal(t->partitions[0].rate_mcu[ADMIT_WRITE], 800000);
    assert_int_equal(told.count, 0);
    scene_deinit(&w);
}

static void raise_what_is_not(struct weir_rates *r)
{
    weir_rates_raise(r, weir_rates_count(r), 800000);
}

static void raise_too_high(struct weir_rates *r)
{
    weir_rates_raise(r, 0, weir_rates_maximum(r) + 1);
}

static void raise_to_less(struct weir_rates *r)
{
    weir_rates_raise(r, 0, 1);
}

static void lower_below_zero(struct weir_rates *r)
{
    weir_rates_lower(r, 0, -1, WEIR_RATES_UNUSED);
}

static void lower_to_more(struct weir_rates *r)
{
    weir_rates_lower(r, 0, INT64_MAX, WEIR_RATES_UNUSED);
}

static void lower_for_no_reason(struct weir_rates *r)
{
    weir_rates_lower(r, 0, 1, (enum weir_rates_why)7);
}

static void change_twice(struct weir_rates *r)
{
    weir_rates_lower(r, 0, 2000, WEIR_RATES_UNUSED);
    weir_rates_lower(r, 0, 1000, WEIR_RATES_UNUSED);
}

static void look_beside_it(struct weir_rates *r)
{
    assert_int_equal(weir_rates_allocation(r, UINT32_MAX), 0);
    assert_int_equal(weir_rates_base(r, UINT32_MAX), 0);
    assert_int_equal(weir_rates_demand(r, UINT32_MAX), 0);
    assert_int_equal(weir_rates_use(r, UINT32_MAX), 0);
    assert_true(weir_rates_throttled_ns(r, UINT32_MAX) < 0);
    assert_null(weir_rates_state(r, UINT32_MAX));
    assert_int_equal(weir_rates_setting(r, (enum weir_rates_setting)99), 0);
    weir_rates_lower(r, 1, 1000, WEIR_RATES_UNUSED); /* sound, but it comes with nonsense */
    weir_rates_lower(r, UINT32_MAX, 1000, WEIR_RATES_UNUSED);
}

/* ADAPTIVE-1 */
static void nonsense_about_allocations_changes_nothing_and_is_told_once(void **state)
{
    (void)state;
    static void (*const cases[])(struct weir_rates *) = {
        raise_what_is_not, raise_too_high,      raise_to_less, lower_below_zero,
        lower_to_more,     lower_for_no_reason, change_twice,  look_beside_it,
    };
    struct scene w;
    scene_skewed(&w);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rates.then = cases[i];
        scene_look(&w, 1500, true);
        assert_int_equal(w.decision_count, 0);
        assert_int_equal(policies.entries[0].nonsense, i + 1);
    }
    expect_told("adaptive", 8);
    scene_deinit(&w);
}

/* ---- versions ---- */

static void a_plugin_from_before_the_controllers_points_is_taken(void **state)
{
    (void)state;
    static const struct weir_headroom_policy headroom = {
        .size = sizeof headroom, .name = "old", .flags = WEIR_HEADROOM_UNCHECKED};
    static const struct weir_headroom_policy *const headrooms[] = {&headroom};
    const struct weir_policy_plugin plugin = {
        .abi = WEIR_POLICY_ABI,
        .size = offsetof(struct weir_policy_plugin, adaptive_count),
        .headroom_count = 1,
        .headroom = headrooms,
        .adaptive_count = 1000, /* what lies behind it */
    };
    struct buffer error = {0};
    policies = (struct policies){0};
    assert_int_equal(policies_add(&policies, &plugin, "FILE.so", NULL, &error), STATUS_OK);
    assert_int_equal(policies.count, 1);
    buffer_deinit(&error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_that_no_policy_has_is_told_with_those_there_are),
        cmocka_unit_test(a_policy_of_allocations_sees_demand_and_what_it_raises_is_decided),
        cmocka_unit_test(nonsense_about_allocations_changes_nothing_and_is_told_once),
        cmocka_unit_test(a_plugin_from_before_the_controllers_points_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
