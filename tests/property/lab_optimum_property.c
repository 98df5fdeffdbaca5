/* The optimum against another solver (GLPK), against all allocations of small problems, and against
 * the property that defines max-min allocations. */
#include "lab/optimum/optimum.h"

#include <glpk.h>
#include <math.h>
#include <string.h>

#include "tests/check.h"

enum {
    FLOWS_MAX = 2100,
    RESOURCES_MAX = 800
};

struct instance {
    struct optimum_problem problem;
    struct optimum_flow flows[FLOWS_MAX];
    int64_t capacities[RESOURCES_MAX];
};

struct shape {
    uint32_t tables, partitions, nodes, flows;
    int64_t scale; /* of demands */
};

static bool has_resource(const struct optimum_flow *f, uint32_t r)
{
    for (uint32_t k = 0; k < f->count; k++)
        if (f->resources[k] == r)
            return true;
    return false;
}

static void add_resource(struct optimum_flow *f, uint32_t r)
{
    if (!has_resource(f, r) && f->count < OPTIMUM_PATH_MAX)
        f->resources[f->count++] = r;
}

/* What an mcu debits of the flow's resource number k. */
static int64_t coefficient(const struct optimum_flow *f, uint32_t k)
{
    return f->coefficients[k] == 0 ? 1 : f->coefficients[k];
}

static int64_t debit_of(const struct optimum_flow *f, uint32_t r, int64_t mcu)
{
    for (uint32_t k = 0; k < f->count; k++)
        if (f->resources[k] == r)
            return mcu * coefficient(f, k);
    return 0;
}

/* How often the flow fits into what is left of its resources. */
static int64_t room_of(const struct optimum_flow *f, const int64_t *rest)
{
    int64_t room = f->demand_mcu;
    for (uint32_t k = 0; k < f->count; k++) {
        const int64_t fits = rest[f->resources[k]] / coefficient(f, k);
        room = fits < room ? fits : room;
    }
    return room;
}

static void take(const struct optimum_flow *f, int64_t mcu, int64_t *rest)
{
    for (uint32_t k = 0; k < f->count; k++)
        rest[f->resources[k]] -= mcu * coefficient(f, k);
}

static int64_t capacity_of(const struct instance *in, uint32_t r)
{
    return in->capacities[r] > 0 ? in->capacities[r] : 0;
}

/* Processors count ns: in some instances what a flow debits of a node is drawn. */
static void draw_coefficients(struct prng *p, const struct shape *s, struct instance *in)
{
    static const int64_t greatest[] = {1, 3, 1000, 1000000};
    const int64_t max = greatest[prng_below(p, COUNT_OF(greatest))];
    for (uint32_t i = 0; max > 1 && i < s->flows; i++) {
        struct optimum_flow *f = &in->flows[i];
        const bool flat = prng_below(p, 4) == 0;
        for (uint32_t k = 0; k < f->count; k++)
            if (!flat && f->resources[k] >= s->tables + s->partitions)
                f->coefficients[k] = (uint32_t)prng_between(p, 1, max);
    }
}

/* Tables, then partitions, then nodes. A read debits one node, a write up to three, an odd flow
 * whatever there is. How scarce capacity is differs from one instance to the next. */
static void draw_instance(struct prng *p, const struct shape *s, struct instance *in)
{
    memset(in, 0, sizeof *in);
    uint32_t resources = s->tables + s->partitions + s->nodes;
    in->problem = (struct optimum_problem){in->flows, s->flows, in->capacities, resources};
    for (uint32_t i = 0; i < s->flows; i++) {
        struct optimum_flow *f = &in->flows[i];
        uint32_t partition = (uint32_t)prng_below(p, s->partitions);
        f->demand_mcu = prng_between(p, 0, s->scale);
        f->weight = prng_below(p, 2) ? 1 : prng_between(p, 1, 5);
        if (prng_below(p, 20) > 0) {
            add_resource(f, partition % s->tables);
            add_resource(f, s->tables + partition);
        }
        int nodes = prng_below(p, 2) ? 1 : 3;
        for (int k = 0; k < nodes; k++)
            add_resource(f, s->tables + s->partitions + (uint32_t)prng_below(p, s->nodes));
        if (prng_below(p, 20) == 0)
            add_resource(f, (uint32_t)prng_below(p, resources));
    }
    draw_coefficients(p, s, in);
    int64_t scarcity = prng_between(p, 1, 150);
    for (uint32_t r = 0; r < resources; r++) {
        int64_t load = 0;
        for (uint32_t i = 0; i < s->flows; i++)
            load += debit_of(&in->flows[i], r, in->flows[i].demand_mcu);
        in->capacities[r] = prng_between(p, 0, load / 75 * scarcity + scarcity);
        if (prng_below(p, 20) == 0)
            in->capacities[r] = prng_below(p, 2) ? OPTIMUM_UNLIMITED : -5;
    }
}

static struct shape draw_shape(struct prng *p, bool large)
{
    if (large)
        return (struct shape){(uint32_t)prng_between(p, 1, 30), (uint32_t)prng_between(p, 1, 300),
                              (uint32_t)prng_between(p, 1, 60), (uint32_t)prng_between(p, 100, 500),
                              INT64_C(1) << prng_between(p, 1, 30)};
    return (struct shape){(uint32_t)prng_between(p, 1, 5), (uint32_t)prng_between(p, 1, 12),
                          (uint32_t)prng_between(p, 1, 6), (uint32_t)prng_between(p, 1, 40),
                          INT64_C(1) << prng_between(p, 1, 30)};
}

static void check_allowed(const struct instance *in, const int64_t *admitted, int64_t total)
{
    int64_t load[RESOURCES_MAX] = {0}, sum = 0;
    for (uint32_t i = 0; i < in->problem.flow_count; i++) {
        const struct optimum_flow *f = &in->flows[i];
        assert_true(admitted[i] >= 0 && admitted[i] <= f->demand_mcu);
        sum += admitted[i];
        for (uint32_t k = 0; k < f->count; k++)
            load[f->resources[k]] += admitted[i] * coefficient(f, k);
    }
    for (uint32_t r = 0; r < in->problem.resource_count; r++)
        assert_true(load[r] <= capacity_of(in, r));
    assert_true(sum == total);
}

static bool has_coefficients(const struct instance *in)
{
    bool has = false;
    for (uint32_t i = 0; i < in->problem.flow_count; i++)
        for (uint32_t k = 0; k < in->flows[i].count; k++)
            has |= in->flows[i].coefficients[k] > 1;
    return has;
}

/* Whole mcu of a flow that debits a million may leave a million mcu to others: then allocations
 * that are rounded in different orders differ. */
static void drop_coefficients(struct instance *in)
{
    for (uint32_t i = 0; i < in->problem.flow_count; i++)
        memset(in->flows[i].coefficients, 0, sizeof in->flows[i].coefficients);
}

static double total_by_glpk(const struct instance *in)
{
    int flows = (int)in->problem.flow_count, resources = (int)in->problem.resource_count;
    glp_prob *lp = glp_create_prob();
    glp_set_obj_dir(lp, GLP_MAX);
    glp_add_rows(lp, resources);
    glp_add_cols(lp, flows);
    for (int r = 0; r < resources; r++) {
        int64_t c = in->capacities[r];
        if (c != OPTIMUM_UNLIMITED)
            glp_set_row_bnds(lp, r + 1, GLP_UP, 0, c > 0 ? (double)c : 0);
    }
    for (int i = 0; i < flows; i++) {
        const struct optimum_flow *f = &in->flows[i];
        int rows[OPTIMUM_PATH_MAX + 1];
        double values[OPTIMUM_PATH_MAX + 1];
        for (uint32_t k = 0; k < f->count; k++) {
            rows[k + 1] = (int)f->resources[k] + 1;
            values[k + 1] = (double)coefficient(f, k);
        }
        glp_set_obj_coef(lp, i + 1, 1);
        glp_set_col_bnds(lp, i + 1, f->demand_mcu > 0 ? GLP_DB : GLP_FX, 0, (double)f->demand_mcu);
        glp_set_mat_col(lp, i + 1, (int)f->count, rows, values);
    }
    glp_scale_prob(lp, GLP_SF_AUTO);
    glp_smcp how;
    glp_init_smcp(&how);
    how.msg_lev = GLP_MSG_OFF;
    assert_int_equal(glp_simplex(lp, &how), 0);
    if (has_coefficients(in)) /* 1 and a million in one row: doubles are off by 1e-7 */
        assert_int_equal(glp_exact(lp, &how), 0);
    assert_int_equal(glp_get_status(lp), GLP_OPT);
    double total = glp_get_obj_val(lp);
    glp_delete_prob(lp);
    return total;
}

static struct optimum *optimum;

static int set_up(void **state)
{
    (void)state;
    glp_term_out(GLP_OFF);
    optimum = optimum_create();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    optimum_destroy(optimum);
    glp_free_env();
    return 0;
}

FILE_FIXTURE(set_up, tear_down)
static struct instance instance;
static int64_t admitted[FLOWS_MAX];

static void check_against_glpk(struct prng *p, bool large)
{
    struct shape s = draw_shape(p, large);
    draw_instance(p, &s, &instance);
    struct optimum_result r = optimum_total(optimum, &instance.problem, admitted);
    check_allowed(&instance, admitted, r.total_mcu);
    const bool differs = has_coefficients(&instance);
    const double whole = differs ? instance.problem.resource_count : 0;
    double expected = total_by_glpk(&instance);
    double noise = fabs(expected) * (differs ? 1e-7 : 1e-9) + 1e-6;
    if ((double)r.bound_mcu < floor(expected - noise) - whole ||
        (double)r.bound_mcu > expected + noise)
        fail_msg("bound %lld, GLPK %.3f", (long long)r.bound_mcu, expected);
    const double short_of = differs ? expected * 1e-5 : noise;
    if ((double)r.total_mcu < expected - short_of - (double)instance.problem.resource_count)
        fail_msg("total %lld, GLPK %.3f", (long long)r.total_mcu, expected);
    struct optimum_result fair = optimum_fair(optimum, &instance.problem, NULL);
    assert_true(fair.total_mcu <= r.bound_mcu);
}

TEST(the_bound_is_the_optimum_of_another_solver)
{
    struct prng p = prng_seeded(check_first_seed(1));
    for (int i = 0; i < 9700; i++)
        check_against_glpk(&p, false);
    for (int i = 0; i < 300; i++)
        check_against_glpk(&p, true);
}

/* 700 partitions, each on three of 20 nodes, nearly all overloaded: more than the inverse holds. */
TEST(too_many_overloaded_resources_still_have_a_true_bound)
{
    struct prng p = prng_seeded(check_first_seed(1));
    memset(&instance, 0, sizeof instance);
    instance.problem = (struct optimum_problem){instance.flows, 2100, instance.capacities, 720};
    for (uint32_t i = 0; i < 2100; i++) {
        struct optimum_flow *f = &instance.flows[i];
        *f = (struct optimum_flow){prng_between(&p, 100000, 150000), 1, 0, {0}, {0}};
        add_resource(f, i / 3);
        add_resource(f, 700 + (i / 3 * 7 + i % 3 * 5 + i / 60) % 20);
        for (uint32_t k = 0; k < 2; k++)
            instance.capacities[f->resources[k]] += f->demand_mcu * prng_between(&p, 15, 45) / 100;
    }
    struct optimum_result r = optimum_total(optimum, &instance.problem, admitted);
    check_allowed(&instance, admitted, r.total_mcu);
    double expected = total_by_glpk(&instance);
    assert_true((double)r.bound_mcu >= expected - 1 && (double)r.bound_mcu <= expected * 1.03);
    assert_true((double)r.total_mcu <= expected + 1 && (double)r.total_mcu >= expected * 0.9);
}

/* OPTIMUM-1 */
static int64_t greatest_total(const struct instance *in, uint32_t at, int64_t *rest)
{
    if (at == in->problem.flow_count)
        return 0;
    const struct optimum_flow *f = &in->flows[at];
    int64_t room = room_of(f, rest), best = 0;
    for (int64_t x = 0; x <= room; x++) {
        take(f, x, rest);
        int64_t total = x + greatest_total(in, at + 1, rest);
        best = total > best ? total : best;
        take(f, -x, rest);
    }
    return best;
}

TEST(no_allocation_of_small_problems_exceeds_the_bound)
{
    struct prng p = prng_seeded(check_first_seed(1));
    int met = 0;
    for (int i = 0; i < 2000; i++) {
        struct shape s = {(uint32_t)prng_between(&p, 1, 2), (uint32_t)prng_between(&p, 1, 3),
                          (uint32_t)prng_between(&p, 1, 4), (uint32_t)prng_between(&p, 1, 5), 4};
        draw_instance(&p, &s, &instance);
        int64_t rest[RESOURCES_MAX];
        for (uint32_t r = 0; r < instance.problem.resource_count; r++)
            rest[r] = capacity_of(&instance, r);
        int64_t best = greatest_total(&instance, 0, rest);
        struct optimum_result r = optimum_total(optimum, &instance.problem, admitted);
        assert_true(r.total_mcu <= best && best <= r.bound_mcu);
        assert_true(r.bound_mcu - r.total_mcu <= 2);
        met += r.total_mcu == best && r.bound_mcu == best;
    }
    assert_true(met > 1980); /* the rest are optima with half units */
}

/* A flow below its demand meets a full resource where no other flow has more per weight. Rounding
 * leaves less than 1 mcu of each flow there, and moves 1 mcu down or 2 up. */
static void check_bottlenecks(const struct instance *in, const int64_t *x)
{
    int64_t load[RESOURCES_MAX] = {0}, left[RESOURCES_MAX] = {0};
    double most[RESOURCES_MAX] = {0};
    for (uint32_t i = 0; i < in->problem.flow_count; i++) {
        const struct optimum_flow *f = &in->flows[i];
        for (uint32_t k = 0; k < f->count; k++) {
            load[f->resources[k]] += x[i] * coefficient(f, k);
            left[f->resources[k]] += coefficient(f, k);
            most[f->resources[k]] =
                fmax(most[f->resources[k]], (double)(x[i] - 2) / (double)f->weight);
        }
    }
    for (uint32_t i = 0; i < in->problem.flow_count; i++) {
        const struct optimum_flow *f = &in->flows[i];
        bool stopped = x[i] == f->demand_mcu;
        for (uint32_t k = 0; !stopped && k < f->count; k++) {
            uint32_t r = f->resources[k];
            stopped = load[r] > capacity_of(in, r) - left[r] &&
                      most[r] <= (double)(x[i] + 1) / (double)f->weight;
        }
        if (!stopped)
            fail_msg("flow %u has %lld of %lld and no bottleneck", i, (long long)x[i],
                     (long long)f->demand_mcu);
    }
}

TEST(fair_flows_below_their_demand_have_a_bottleneck)
{
    struct prng p = prng_seeded(check_first_seed(1));
    for (int i = 0; i < 10000; i++) {
        struct shape s = draw_shape(&p, i % 20 == 0);
        draw_instance(&p, &s, &instance);
        struct optimum_result r = optimum_fair(optimum, &instance.problem, admitted);
        check_allowed(&instance, admitted, r.total_mcu);
        check_bottlenecks(&instance, admitted);
    }
}

static int compare_amounts(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The lexicographically greatest sorted vector of all whole allocations. */
static void search_fair(const struct instance *in, uint32_t at, int64_t *rest, int64_t *x,
                        int64_t *best)
{
    uint32_t n = in->problem.flow_count;
    if (at == n) {
        int64_t sorted[FLOWS_MAX];
        memcpy(sorted, x, n * sizeof *x);
        qsort(sorted, n, sizeof *sorted, compare_amounts);
        for (uint32_t i = 0; i < n; i++) {
            if (sorted[i] < best[i])
                return;
            if (sorted[i] > best[i])
                break;
        }
        memcpy(best, sorted, n * sizeof *best);
        return;
    }
    const struct optimum_flow *f = &in->flows[at];
    const int64_t room = room_of(f, rest);
    for (x[at] = 0; x[at] <= room; x[at]++) {
        const int64_t taken = x[at];
        take(f, taken, rest);
        search_fair(in, at + 1, rest, x, best);
        take(f, -taken, rest);
    }
}

/* Rounding may move a mcu from one flow to another, and only then do the two differ. */
TEST(fair_allocations_of_small_problems_are_the_best_of_all)
{
    struct prng p = prng_seeded(check_first_seed(1));
    int same = 0;
    for (int i = 0; i < 2000; i++) {
        struct shape s = {(uint32_t)prng_between(&p, 1, 2), (uint32_t)prng_between(&p, 1, 3),
                          (uint32_t)prng_between(&p, 1, 4), (uint32_t)prng_between(&p, 1, 5), 5};
        draw_instance(&p, &s, &instance);
        int64_t rest[RESOURCES_MAX], best[FLOWS_MAX], x[FLOWS_MAX] = {0};
        drop_coefficients(&instance);
        uint32_t n = s.flows;
        for (uint32_t r = 0; r < instance.problem.resource_count; r++)
            rest[r] = capacity_of(&instance, r);
        for (uint32_t k = 0; k < n; k++) {
            instance.flows[k].weight = 1;
            best[k] = -1;
        }
        search_fair(&instance, 0, rest, x, best);
        optimum_fair(optimum, &instance.problem, admitted);
        qsort(admitted, n, sizeof *admitted, compare_amounts);
        bool equal = true;
        for (uint32_t k = 0; k < n; k++) {
            assert_true(llabs(admitted[k] - best[k]) <= 2);
            equal &= admitted[k] == best[k];
        }
        same += equal;
    }
    assert_true(same > 1900);
}

/* ---- groups ---- */

enum {
    GROUPS_MAX = 12
};

struct tree_instance {
    struct optimum_tree tree;
    struct optimum_group groups[GROUPS_MAX];
    uint32_t group_of[FLOWS_MAX];
};

static struct tree_instance forest;

/* Some flows are alone in their group; some groups have none. */
static void draw_tree(struct prng *p, uint32_t flows, struct tree_instance *t)
{
    uint32_t count = (uint32_t)prng_between(p, 1, GROUPS_MAX);
    t->tree = (struct optimum_tree){t->groups, count, t->group_of};
    for (uint32_t g = 0; g < count; g++) {
        t->groups[g].parent =
            g == 0 || prng_below(p, 3) == 0 ? OPTIMUM_NO_GROUP : (uint32_t)prng_below(p, g);
        t->groups[g].weight = prng_between(p, 1, 9);
    }
    for (uint32_t i = 0; i < flows; i++)
        t->group_of[i] = (uint32_t)prng_below(p, count);
}

/* A member of a group, or of no group: a group or a flow. */
struct member {
    bool is_flow;
    uint32_t index;
    double weight, demand, share;
};

static double demand_of(const struct instance *in, const struct tree_instance *t, uint32_t group)
{
    double sum = 0;
    for (uint32_t i = 0; i < in->problem.flow_count; i++)
        sum += t->group_of[i] == group ? (double)in->flows[i].demand_mcu : 0;
    for (uint32_t g = 0; g < t->tree.group_count; g++)
        sum += t->groups[g].parent == group ? demand_of(in, t, g) : 0;
    return sum;
}

/* The definition on one resource, from the top down: the level at which the members' weighted
 * parts, or what they want if that is less, add up to what there is. Found by halving. */
static void share_from_top(const struct instance *in, const struct tree_instance *t, uint32_t group,
                           double amount, double *out)
{
    struct member members[GROUPS_MAX + 64];
    uint32_t count = 0;
    for (uint32_t i = 0; i < in->problem.flow_count; i++) {
        if (t->group_of[i] == group)
            members[count++] = (struct member){true, i, (double)in->flows[i].weight,
                                               (double)in->flows[i].demand_mcu, 0};
    }
    for (uint32_t g = 0; g < t->tree.group_count; g++) {
        if (t->groups[g].parent == group)
            members[count++] =
                (struct member){false, g, (double)t->groups[g].weight, demand_of(in, t, g), 0};
    }
    double low = 0, high = 1e15;
    for (int step = 0; step < 200; step++) {
        double level = (low + high) / 2, sum = 0;
        for (uint32_t k = 0; k < count; k++) {
            members[k].share = fmin(members[k].demand, level * members[k].weight);
            sum += members[k].share;
        }
        if (sum > amount)
            high = level;
        else
            low = level;
    }
    for (uint32_t k = 0; k < count; k++) {
        if (members[k].is_flow)
            out[members[k].index] = members[k].share;
        else
            share_from_top(in, t, members[k].index, members[k].share, out);
    }
}

TEST(groups_on_one_resource_share_as_defined_from_the_top)
{
    struct prng p = prng_seeded(check_first_seed(1));
    double expected[64];
    for (int round = 0; round < 5000; round++) {
        uint32_t flows = (uint32_t)prng_between(&p, 1, 40);
        int64_t load = 0, scale = INT64_C(1) << prng_between(&p, 1, 40);
        memset(&instance, 0, sizeof instance);
        instance.problem = (struct optimum_problem){instance.flows, flows, instance.capacities, 1};
        for (uint32_t i = 0; i < flows; i++) {
            instance.flows[i] = (struct optimum_flow){
                prng_between(&p, 0, scale), prng_between(&p, 1, 5), 1, {0}, {0}};
            load += instance.flows[i].demand_mcu;
        }
        instance.capacities[0] = prng_between(&p, 0, load + load / 4);
        draw_tree(&p, flows, &forest);
        struct optimum_result r =
            optimum_fair_tree(optimum, &instance.problem, &forest.tree, admitted);
        check_allowed(&instance, admitted, r.total_mcu);
        assert_true(r.total_mcu >= (load < instance.capacities[0] ? load : instance.capacities[0]));
        share_from_top(&instance, &forest, OPTIMUM_NO_GROUP, (double)instance.capacities[0],
                       expected);
        for (uint32_t i = 0; i < flows; i++) {
            double off = fabs((double)admitted[i] - expected[i]);
            if (off > 3 + 1e-6 * (double)scale)
                fail_msg("round %d: flow %u has %lld, not %.3f", round, i, (long long)admitted[i],
                         expected[i]);
        }
    }
}

/* The fluid in small steps, over several resources. */
static void pour(const struct instance *in, const struct tree_instance *t, double step, double *x)
{
    double rest[RESOURCES_MAX], speed[GROUPS_MAX];
    uint32_t n = in->problem.flow_count;
    bool rises[FLOWS_MAX], any = true;
    for (uint32_t r = 0; r < in->problem.resource_count; r++)
        rest[r] = in->capacities[r] > 0 ? (double)in->capacities[r] : 0;
    for (uint32_t i = 0; i < n; i++)
        x[i] = 0;
    while (any) {
        double sums[GROUPS_MAX] = {0};
        any = false;
        for (uint32_t i = 0; i < n; i++) {
            rises[i] = x[i] < (double)in->flows[i].demand_mcu;
            for (uint32_t k = 0; k < in->flows[i].count; k++)
                rises[i] &= rest[in->flows[i].resources[k]] > 0;
            any |= rises[i];
            sums[t->group_of[i]] += rises[i] ? (double)in->flows[i].weight : 0;
        }
        for (uint32_t g = t->tree.group_count; g-- > 0;) {
            if (sums[g] > 0 && t->groups[g].parent != OPTIMUM_NO_GROUP)
                sums[t->groups[g].parent] += (double)t->groups[g].weight;
        }
        for (uint32_t g = 0; g < t->tree.group_count; g++) {
            uint32_t up = t->groups[g].parent;
            speed[g] = (double)t->groups[g].weight;
            if (up != OPTIMUM_NO_GROUP)
                speed[g] *= sums[up] > 0 ? speed[up] / sums[up] : 0;
        }
        for (uint32_t i = 0; i < n; i++) {
            uint32_t g = t->group_of[i];
            double mcu = rises[i] ? step * speed[g] * (double)in->flows[i].weight / sums[g] : 0;
            x[i] += mcu;
            for (uint32_t k = 0; k < in->flows[i].count; k++)
                rest[in->flows[i].resources[k]] -= mcu * (double)coefficient(&in->flows[i], k);
        }
    }
}

TEST(groups_on_many_resources_rise_as_a_fluid)
{
    struct prng p = prng_seeded(check_first_seed(1));
    static double x[FLOWS_MAX];
    for (int round = 0; round < 400; round++) {
        struct shape s = {(uint32_t)prng_between(&p, 1, 3), (uint32_t)prng_between(&p, 1, 6),
                          (uint32_t)prng_between(&p, 1, 4), (uint32_t)prng_between(&p, 1, 15),
                          1 << 20};
        draw_instance(&p, &s, &instance);
        draw_tree(&p, s.flows, &forest);
        struct optimum_result r =
            optimum_fair_tree(optimum, &instance.problem, &forest.tree, admitted);
        check_allowed(&instance, admitted, r.total_mcu);
        pour(&instance, &forest, 40, x);
        for (uint32_t i = 0; i < s.flows; i++) {
            if (fabs((double)admitted[i] - x[i]) > 0.004 * (1 << 20))
                fail_msg("round %d: flow %u has %lld, not %.0f", round, i, (long long)admitted[i],
                         x[i]);
        }
    }
}

/* Rounding may move as many mcu as there are flows. */
TEST(a_group_for_each_flow_changes_nothing)
{
    struct prng p = prng_seeded(check_first_seed(1));
    static int64_t flat[FLOWS_MAX];
    struct optimum_group groups[40];
    uint32_t group_of[40];
    for (int round = 0; round < 5000; round++) {
        struct shape s = draw_shape(&p, false);
        draw_instance(&p, &s, &instance);
        drop_coefficients(&instance);
        for (uint32_t i = 0; i < s.flows; i++) {
            groups[i] = (struct optimum_group){OPTIMUM_NO_GROUP, instance.flows[i].weight};
            group_of[i] = i;
        }
        const struct optimum_tree tree = {groups, s.flows, group_of};
        optimum_fair(optimum, &instance.problem, flat);
        struct optimum_result r = optimum_fair_tree(optimum, &instance.problem, &tree, admitted);
        check_allowed(&instance, admitted, r.total_mcu);
        for (uint32_t i = 0; i < s.flows; i++) {
            if (llabs(admitted[i] - flat[i]) > s.flows + s.scale / 10000000)
                fail_msg("round %d: flow %u has %lld, not %lld", round, i, (long long)admitted[i],
                         (long long)flat[i]);
        }
    }
}

/* A, B and C of optimum.h. */
TEST(the_fair_total_may_be_less_than_the_greatest)
{
    const struct optimum_flow flows[] = {
        {9, 1, 2, {0, 1}, {0}}, {9, 1, 1, {0}, {0}}, {9, 1, 1, {1}, {0}}};
    const int64_t capacities[] = {2, 2};
    struct optimum_problem problem = {flows, 3, capacities, 2};
    struct optimum_result r = optimum_total(optimum, &problem, admitted);
    assert_true(r.total_mcu == 4 && r.bound_mcu == 4 && admitted[0] == 0);
    r = optimum_fair(optimum, &problem, admitted);
    assert_true(r.total_mcu == 3 && admitted[0] == 1 && admitted[1] == 1 && admitted[2] == 1);
}

/* Two processors. Flow A takes 100 of 1,000 for an mcu at both, B 1 at the first, C
 * 500 at the second. */
TEST(processors_are_debited_by_the_time_that_a_flow_takes)
{
    const struct optimum_flow flows[] = {
        {400, 1, 2, {0, 1}, {100, 100}}, {400, 1, 1, {0}, {1}}, {400, 1, 1, {1}, {500}}};
    const int64_t capacities[] = {1010, 3000};
    struct optimum_problem problem = {flows, 3, capacities, 2};
    struct optimum_result r = optimum_total(optimum, &problem, admitted);
    assert_true(r.total_mcu == 410 && r.bound_mcu == 410);
    assert_true(admitted[0] == 6 && admitted[1] == 400 && admitted[2] == 4);
    optimum_fair(optimum, &problem, admitted);
    assert_true(admitted[0] == 5 && admitted[2] == 5); /* 600 a level: the second is full first */
    assert_true(admitted[1] == 400);
}

/* Fractions of large weights and coefficients do not fit into products. */
TEST(large_weights_and_coefficients_are_compared_exactly)
{
    const int64_t weight = OPTIMUM_WEIGHT_MAX;
    const struct optimum_flow flows[] = {{1000000, weight, 2, {0, 1}, {UINT32_MAX, UINT32_MAX}},
                                         {1000000, weight - 1, 1, {0}, {UINT32_MAX}},
                                         {1000000, weight, 1, {1}, {UINT32_MAX}}};
    const int64_t one = UINT32_MAX, capacities[] = {200000 * one, 200001 * one};
    struct optimum_problem problem = {flows, 3, capacities, 2};
    optimum_fair(optimum, &problem, admitted);
    assert_true(admitted[0] == 100000 && admitted[1] == 100000 && admitted[2] == 100001);
}

/* Three writes on two of three nodes each: half of each fits, no whole unit of two does. */
TEST(whole_units_may_lose_to_halves_and_the_bound_still_holds)
{
    const struct optimum_flow flows[] = {
        {1, 1, 2, {0, 1}, {0}}, {1, 1, 2, {1, 2}, {0}}, {1, 1, 2, {0, 2}, {0}}};
    const int64_t capacities[] = {1, 1, 1};
    struct optimum_problem problem = {flows, 3, capacities, 3};
    struct optimum_result r = optimum_total(optimum, &problem, admitted);
    assert_true(r.total_mcu == 1 && r.bound_mcu == 1);
}

TEST(without_demand_and_capacity_nothing_is_admitted)
{
    struct optimum_problem problem = {NULL, 0, NULL, 0};
    assert_true(optimum_total(optimum, &problem, NULL).bound_mcu == 0);
    assert_true(optimum_fair(optimum, &problem, NULL).total_mcu == 0);
    const struct optimum_flow flow = {7, 1, 1, {0}, {0}};
    const int64_t zero = 0;
    problem = (struct optimum_problem){&flow, 1, &zero, 1};
    assert_true(optimum_total(optimum, &problem, admitted).bound_mcu == 0 && admitted[0] == 0);
    assert_true(optimum_fair(optimum, &problem, admitted).total_mcu == 0 && admitted[0] == 0);
}
