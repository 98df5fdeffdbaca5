/* mix.c - see mix.h.
 *
 * Twitter-like sizes: log-normal, median 230 bytes, sigma 1.18, cut at 400 KB.
 * The figures come from a reader's notes (xuluna.github.io/2021/03/07/paper4) on Yang et al., "A
 * large scale analysis of hundreds of in-memory cache clusters at Twitter", OSDI 2020. They are
 * not compared with the paper. Notes: objects have a median of 230 bytes, and 24 % of the clusters
 * have a mean below 100 bytes. Guessed: that the median is the one of the clusters' means, that
 * items of one table are spread as those means are, and the log-normal form. Sigma follows from
 * the two figures. */
#include "workload/mix.h"

#include <ctype.h>
#include <math.h>

#include "base/limits.h"
#include "workload/text_fields.h"

enum {
    SCAN_LENGTH = 100, /* YCSB's maxscanlength */
    SCAN_LENGTH_MAX = 1000000,
    TWITTER_MEDIAN = 230,
    YCSB_ITEM_BYTES = 1000, /* ten fields of 100 bytes */
};

#define TWITTER_SIGMA 1.18

const char *const traffic_kind_names[TRAFFIC_KINDS] = {[TRAFFIC_READ] = "read",
                                                       [TRAFFIC_UPDATE] = "update",
                                                       [TRAFFIC_INSERT] = "insert",
                                                       [TRAFFIC_SCAN] = "scan",
                                                       [TRAFFIC_READ_MODIFY_WRITE] =
                                                           "read-modify-write",
                                                       [TRAFFIC_DELETE] = "delete"};

static const struct {
    double fraction[TRAFFIC_KINDS];
    enum load_keys_kind keys;
} ycsb_letters[] = {
    {{[TRAFFIC_READ] = 0.5, [TRAFFIC_UPDATE] = 0.5}, LOAD_KEYS_SCRAMBLED_ZIPF},
    {{[TRAFFIC_READ] = 0.95, [TRAFFIC_UPDATE] = 0.05}, LOAD_KEYS_SCRAMBLED_ZIPF},
    {{[TRAFFIC_READ] = 1}, LOAD_KEYS_SCRAMBLED_ZIPF},
    {{[TRAFFIC_READ] = 0.95, [TRAFFIC_INSERT] = 0.05}, LOAD_KEYS_LATEST},
    {{[TRAFFIC_SCAN] = 0.95, [TRAFFIC_INSERT] = 0.05}, LOAD_KEYS_SCRAMBLED_ZIPF},
    {{[TRAFFIC_READ] = 0.5, [TRAFFIC_READ_MODIFY_WRITE] = 0.5}, LOAD_KEYS_SCRAMBLED_ZIPF},
};

bool ycsb_workload(char letter, struct traffic_mix *m, struct load_keys *k, struct item_sizes *s)
{
    int at = toupper((unsigned char)letter) - 'A';
    if (at < 0 || at >= (int)COUNT_OF(ycsb_letters))
        return false;
    *m = (struct traffic_mix){.scan_length_max = SCAN_LENGTH};
    memcpy(m->fraction, ycsb_letters[at].fraction, sizeof m->fraction);
    k->kind = ycsb_letters[at].keys;
    k->theta = 0.99;
    *s = (struct item_sizes){.min = YCSB_ITEM_BYTES, .max = YCSB_ITEM_BYTES};
    return true;
}

static const char mix_expected[] =
    "ycsb:LETTER with A to F, or fractions that add up to 1 of read, update, insert, scan, "
    "read-modify-write and delete, then eventual:FRACTION and scan-length:MOST, such as "
    "read:0.9:update:0.1:eventual:1";

static bool set_field(struct traffic_mix *m, const char *name, double value)
{
    for (int kind = 0; kind < TRAFFIC_KINDS; kind++)
        if (strcmp(name, traffic_kind_names[kind]) == 0) {
            m->fraction[kind] = value;
            return value >= 0 && value <= 1;
        }
    if (strcmp(name, "eventual") == 0) {
        m->eventual = value;
        return value >= 0 && value <= 1;
    }
    if (strcmp(name, "scan-length") != 0 || !(value >= 1 && value <= SCAN_LENGTH_MAX))
        return false;
    m->scan_length_max = (int32_t)value;
    return value == floor(value);
}

const char *traffic_mix_parse(void *member, const char *text)
{
    struct traffic_mix *m = member;
    char name[TEXT_FIELD_SIZE_MAX], number[TEXT_FIELD_SIZE_MAX];
    struct load_keys keys;
    struct item_sizes sizes;
    double value, sum = 0;
    const char *rest;
    if (text_begins(text, "ycsb", &rest)) {
        bool ok = rest != NULL && rest[0] != 0 && rest[1] == 0 &&
                  ycsb_workload(rest[0], m, &keys, &sizes);
        return ok ? NULL : mix_expected;
    }
    *m = (struct traffic_mix){.scan_length_max = SCAN_LENGTH};
    for (rest = text; rest != NULL;)
        if (!text_field(&rest, name) || !text_field(&rest, number) ||
            !field_parse_real(number, &value) || !set_field(m, name, value))
            return mix_expected;
    for (int kind = 0; kind < TRAFFIC_KINDS; kind++)
        sum += m->fraction[kind];
    return fabs(sum - 1) < 1e-6 ? NULL : mix_expected;
}

enum traffic_kind traffic_mix_kind(const struct traffic_mix *m, struct prng *random)
{
    double u = prng_unit(random);
    enum traffic_kind last = TRAFFIC_READ;
    for (int kind = 0; kind < TRAFFIC_KINDS; kind++) {
        if (m->fraction[kind] == 0)
            continue;
        last = (enum traffic_kind)kind;
        if (u < m->fraction[kind])
            break;
        u -= m->fraction[kind]; /* a sum below 1 by rounding leaves the last kind */
    }
    return last;
}

/* ---- sizes ---- */

const char *item_sizes_parse(void *member, const char *text)
{
    struct item_sizes *s = member;
    static const char expected[] =
        "bytes up to 409600, such as 900, or uniform:MIN:MAX, or twitter[:MEDIAN] (a heavy tail)";
    double n[2];
    const char *rest;
    *s = (struct item_sizes){.kind = ITEM_SIZES_UNIFORM};
    if (text_begins(text, "twitter", &rest)) {
        *s = (struct item_sizes){
            .kind = ITEM_SIZES_TWITTER, .min = 1, .max = ITEM_SIZE_MAX, .median = TWITTER_MEDIAN};
        if (rest != NULL && text_numbers(rest, &s->median, 1) != 1)
            return expected;
        return s->median >= 1 && s->median <= ITEM_SIZE_MAX ? NULL : expected;
    }
    if (text_begins(text, "uniform", &rest)) {
        if (text_numbers(rest, n, 2) != 2)
            return expected;
    } else if (text_numbers(text, n, 1) == 1) {
        n[1] = n[0];
    } else {
        return expected;
    }
    if (!(n[0] >= 1 && n[0] <= n[1] && n[1] <= ITEM_SIZE_MAX) || n[0] != floor(n[0]) ||
        n[1] != floor(n[1]))
        return expected;
    s->min = (int64_t)n[0];
    s->max = (int64_t)n[1];
    return NULL;
}

/* A normal variate by Marsaglia's polar method, which needs no cosine. */
static double next_normal(struct prng *random)
{
    for (;;) {
        double x = 2 * prng_unit(random) - 1, y = 2 * prng_unit(random) - 1, q = x * x + y * y;
        if (q > 0 && q < 1)
            return x * sqrt(-2 * log(q) / q);
    }
}

int32_t item_sizes_next(const struct item_sizes *s, struct prng *random)
{
    if (s->kind == ITEM_SIZES_UNIFORM)
        return (int32_t)prng_between(random, s->min, s->max);
    double size = s->median * exp(TWITTER_SIGMA * next_normal(random));
    if (size >= (double)s->max)
        return (int32_t)s->max;
    return size > (double)s->min ? (int32_t)size : (int32_t)s->min;
}
