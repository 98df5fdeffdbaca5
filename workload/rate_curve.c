/* rate_curve.c - see rate_curve.h. */
#include "workload/rate_curve.h"

#include <math.h>
#include <string.h>

#include "workload/text_fields.h"

enum {
    KNOTS = 96, /* pieces of a diurnal period: a quarter of an hour of a day */
    NOISE_KNOTS =
        4, /* the noise is an average over so many knots to each side: two hours of a day */
};

/* A lower rate could mean years of pieces without a request. */
#define RATE_MIN 1e-3
#define RATE_MAX 1e7

/* ---- the texts ---- */

static bool are_rates(const double *n, int count)
{
    for (int i = 0; i < count; i++)
        if (n[i] != 0 && !(n[i] >= RATE_MIN && n[i] <= RATE_MAX))
            return false;
    return true;
}

static const char *parse_ramp(struct rate_curve *c, const double *n, int count)
{
    if (count != 3 || !are_rates(n, 2) || !text_seconds(n[2], &c->span_ns))
        return "ramp:FROM:TO:SPAN_S with rates up to 10M and seconds above 0, such as "
               "ramp:100:2k:60";
    c->count = 2;
    return NULL;
}

static const char *parse_steps(struct rate_curve *c, const double *n, int count)
{
    if (count < 2 || count > RATE_STEPS_MAX || !are_rates(n, count - 1) ||
        !text_seconds(n[count - 1], &c->span_ns))
        return "steps:R1:R2:...:EVERY_S with up to 63 rates up to 10M and seconds above 0, such as "
               "steps:100:200:400:60";
    c->count = count - 1;
    return NULL;
}

static const char *parse_spike(struct rate_curve *c, const double *n, int count)
{
    c->from_ns = 0;
    if (count != 4 || !are_rates(n, 2) || !(n[2] == 0 || text_seconds(n[2], &c->from_ns)) ||
        !text_seconds(n[3], &c->span_ns))
        return "spike:BASE:PEAK:FROM_S:FOR_S with rates up to 10M, such as spike:100:5k:60:30";
    c->count = 2;
    return NULL;
}

static const char *parse_diurnal(struct rate_curve *c, const double *n, int count)
{
    c->noise = count == 4 ? n[3] : 0;
    if (count < 3 || count > 4 || !are_rates(n, 1) || n[0] == 0 || !(n[1] >= 1 && n[1] <= 1000) ||
        !(n[2] >= 1) || !text_seconds(n[2], &c->span_ns) || !(c->noise >= 0 && c->noise <= 2))
        return "diurnal:MEAN:RATIO:PERIOD_S[:NOISE] with a rate above 0, peak / trough from 1 to "
               "1000, "
               "a period of at least 1 s and noise (sigma of the rate's logarithm) up to 2, such "
               "as "
               "diurnal:1000:4.3:86400:0.1";
    c->ratio = n[1];
    c->count = 1;
    return NULL;
}

static const char *parse_on_off(struct rate_curve *c, const double *n, int count)
{
    if (count != 3 || !are_rates(n, 1) || n[0] == 0 || !text_seconds(n[1], &c->span_ns) ||
        !text_seconds(n[2], &c->off_ns))
        return "on-off:RATE:ON_S:OFF_S with a rate above 0 and seconds above 0, such as "
               "on-off:1k:10:50";
    c->count = 1;
    return NULL;
}

static const struct {
    const char *name;
    enum rate_curve_kind kind;
    const char *(*parse)(struct rate_curve *c, const double *n, int count);
} rate_forms[] = {{"ramp", RATE_RAMP, parse_ramp},
                  {"steps", RATE_STEPS, parse_steps},
                  {"spike", RATE_SPIKE, parse_spike},
                  {"diurnal", RATE_DIURNAL, parse_diurnal},
                  {"on-off", RATE_ON_OFF, parse_on_off}};

const char rate_curve_expected[] =
    "requests per second up to 10M, such as 500 or 2.5k, or one of ramp:FROM:TO:SPAN_S, "
    "steps:R1:R2:...:EVERY_S, spike:BASE:PEAK:FROM_S:FOR_S, "
    "diurnal:MEAN:RATIO:PERIOD_S[:NOISE], on-off:RATE:ON_S:OFF_S";

const char *rate_curve_parse(void *member, const char *text)
{
    struct rate_curve *c = member;
    double n[RATE_STEPS_MAX + 1];
    const char *rest;
    *c = (struct rate_curve){.kind = RATE_CONSTANT, .count = 1};
    for (size_t i = 0; i < COUNT_OF(rate_forms); i++) {
        if (!text_begins(text, rate_forms[i].name, &rest))
            continue;
        int count = text_numbers(rest, n, RATE_STEPS_MAX + 1);
        c->kind = rate_forms[i].kind;
        const char *wrong = rate_forms[i].parse(c, n, count);
        if (wrong == NULL)
            memcpy(c->rates, n, (size_t)c->count * sizeof n[0]);
        return wrong;
    }
    if (field_parse_real(text, &c->rates[0]) && are_rates(c->rates, 1))
        return NULL;
    return rate_curve_expected;
}

/* ---- pieces ---- */

static struct rate_piece piece_level(int64_t from_ns, int64_t to_ns, double rate)
{
    return (struct rate_piece){from_ns, to_ns, rate, rate};
}

static double knot_normal(uint64_t seed, int64_t knot)
{
    struct prng p = prng_seeded(seed * UINT64_C(0x9E3779B97F4A7C15) + (uint64_t)knot);
    double radius = sqrt(-2 * log1p(-prng_unit(&p)));
    return radius * cos(2 * M_PI * prng_unit(&p));
}

/* A moving average of independent normal variates, of variance 1 again; its exponential has the
 * mean 1. */
static double knot_noise(const struct rate_curve *c, int64_t knot)
{
    double sum = 0;
    if (c->noise == 0)
        return 1;
    for (int64_t i = knot - NOISE_KNOTS; i <= knot + NOISE_KNOTS; i++)
        sum += knot_normal(c->seed, i);
    return exp(c->noise * sum / sqrt(2 * NOISE_KNOTS + 1) - c->noise * c->noise / 2);
}

static double knot_rate(const struct rate_curve *c, int64_t knot)
{
    double swing = (c->ratio - 1) / (c->ratio + 1);
    double day = 1 - swing * cos(2 * M_PI * (double)(knot % KNOTS) / KNOTS);
    return c->rates[0] * day * knot_noise(c, knot);
}

static int64_t knot_ns(const struct rate_curve *c, int64_t knot)
{
    return (int64_t)((__int128)knot * c->span_ns / KNOTS);
}

static struct rate_piece diurnal_piece(const struct rate_curve *c, int64_t t_ns)
{
    int64_t knot = (int64_t)((__int128)t_ns * KNOTS / c->span_ns);
    while (knot_ns(c, knot + 1) <= t_ns)
        knot++;
    return (struct rate_piece){knot_ns(c, knot), knot_ns(c, knot + 1), knot_rate(c, knot),
                               knot_rate(c, knot + 1)};
}

static struct rate_piece steps_piece(const struct rate_curve *c, int64_t t_ns)
{
    int64_t step = t_ns / c->span_ns;
    if (step >= c->count - 1)
        return piece_level((c->count - 1) * c->span_ns, INT64_MAX, c->rates[c->count - 1]);
    return piece_level(step * c->span_ns, (step + 1) * c->span_ns, c->rates[step]);
}

/* The piece that holds t_ns. */
static struct rate_piece piece_at(const struct rate_curve *c, int64_t t_ns)
{
    int64_t end_ns;
    switch (c->kind) {
    case RATE_CONSTANT:
        break;
    case RATE_RAMP:
        if (t_ns >= c->span_ns)
            return piece_level(c->span_ns, INT64_MAX, c->rates[1]);
        return (struct rate_piece){0, c->span_ns, c->rates[0], c->rates[1]};
    case RATE_STEPS:
        return steps_piece(c, t_ns);
    case RATE_SPIKE:
        end_ns = c->from_ns + c->span_ns;
        if (t_ns < c->from_ns)
            return piece_level(0, c->from_ns, c->rates[0]);
        return t_ns < end_ns ? piece_level(c->from_ns, end_ns, c->rates[1])
                             : piece_level(end_ns, INT64_MAX, c->rates[0]);
    case RATE_DIURNAL:
        return diurnal_piece(c, t_ns);
    case RATE_ON_OFF: {
        int64_t turn_ns = t_ns - t_ns % (c->span_ns + c->off_ns), off_ns = turn_ns + c->span_ns;
        return t_ns < off_ns ? piece_level(turn_ns, off_ns, c->rates[0])
                             : piece_level(off_ns, off_ns + c->off_ns, 0);
    }
    }
    return piece_level(0, INT64_MAX, c->rates[0]);
}

static double piece_rate(const struct rate_piece *p, int64_t t_ns)
{
    if (p->from_rate == p->to_rate)
        return p->from_rate;
    double part = (double)(t_ns - p->from_ns) / (double)(p->to_ns - p->from_ns);
    return p->from_rate + part * (p->to_rate - p->from_rate);
}

/* All requests of the piece. */
static double piece_requests(const struct rate_piece *p)
{
    if (p->to_ns == INT64_MAX)
        return p->from_rate > 0 ? INFINITY : 0;
    return (p->from_rate + p->to_rate) / 2 * ((double)(p->to_ns - p->from_ns) * 1e-9);
}

/* When the piece has had `requests` requests. */
static int64_t piece_time(const struct rate_piece *p, double requests)
{
    double seconds, a = p->from_rate;
    if (p->from_rate == p->to_rate) {
        seconds = requests / a;
    } else {
        double slope = (p->to_rate - a) / ((double)(p->to_ns - p->from_ns) * 1e-9);
        double root = a * a + 2 * slope * requests;
        seconds = requests > 0 ? 2 * requests / (a + sqrt(root > 0 ? root : 0)) : 0;
    }
    if (seconds * 1e9 >= (double)(p->to_ns - p->from_ns))
        return p->to_ns - 1;
    return p->from_ns + (int64_t)(seconds * 1e9 + 0.5);
}

double rate_curve_at(const struct rate_curve *c, int64_t t_ns)
{
    struct rate_piece p = piece_at(c, t_ns);
    return piece_rate(&p, t_ns);
}

double rate_curve_requests(const struct rate_curve *c, int64_t from_ns, int64_t to_ns)
{
    double sum = 0;
    while (from_ns < to_ns) {
        struct rate_piece p = piece_at(c, from_ns), part = p;
        part.from_ns = from_ns;
        part.to_ns = MIN(p.to_ns, to_ns);
        part.from_rate = piece_rate(&p, part.from_ns);
        part.to_rate = piece_rate(&p, part.to_ns);
        if (part.from_rate > 0 || part.to_rate > 0)
            sum += piece_requests(&part);
        from_ns = part.to_ns;
    }
    return sum;
}

double rate_curve_peak(const struct rate_curve *c)
{
    double peak = 0;
    for (int i = 0; i < c->count; i++)
        peak = MAX(c->rates[i], peak);
    return c->kind == RATE_DIURNAL ? peak * 2 * c->ratio / (c->ratio + 1) : peak;
}

/* ---- arrivals ---- */

const char *const arrival_names[] = {
    [ARRIVAL_POISSON] = "poisson", [ARRIVAL_CONSTANT] = "constant", NULL};

void arrivals_init(struct arrivals *a, enum arrival_kind kind)
{
    *a = (struct arrivals){.kind = kind};
}

int64_t arrivals_next(struct arrivals *a, const struct rate_curve *c, struct prng *random,
                      int64_t until_ns)
{
    double step = 1;
    if (a->kind == ARRIVAL_POISSON)
        step = -log(1 - prng_unit(random));
    else if (!a->begun)
        step = 0;
    if (!a->begun)
        a->piece = piece_at(c, 0);
    a->begun = true;
    a->requests += step;
    for (;;) {
        double whole = piece_requests(&a->piece);
        if (a->requests < whole) {
            int64_t at_ns = piece_time(&a->piece, a->requests);
            return at_ns < until_ns ? at_ns : INT64_MAX;
        }
        if (a->piece.to_ns >= until_ns)
            return INT64_MAX;
        a->requests -= whole;
        a->piece = piece_at(c, a->piece.to_ns);
    }
}
