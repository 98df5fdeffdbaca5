/* split_point_cases_test.c - where a partition is split, and when it is not: tests/cases/split
 * (tests/support/case_file.h, case_words.h). Commands:
 *
 *   load N TIME KIND KEYS..        N requests a second. KIND: reads, writes, or reads KEYS.. writes
 *                                  KEYS..: N of each. A request is a thousandth of the partition's
 *                                  maximum. KEYS: NAME/SORT, NAME/FROM-TO (one of them by chance),
 *                                  NAME/FROM+ (upwards), NAME/FROM- (downwards). Several KEYS are
 *                                  drawn by their *WEIGHT (else 1), or with the word `turns` come
 *                                  in turn. NAME#SHARD: of a sharded key; NAME~FROM-TO: without the
 *                                  last characters of the sort key
 *   ask [children=N] [whole] [gain=PPM]     the advice. whole: item collections stay whole
 *   pieces KEY..                   the pieces of the last advice that have these keys
 *
 * Split points and keys are shown without table and hash, `.` for bytes that are no characters,
 * `hash` between item collections. Each advice is checked: points ascend inside of the partition,
 * and shares add up. */
#include <ctype.h>
#include <stdlib.h>

#include "base/settings/heat.h"
#include "engine/heat/split_point.h"
#include "engine/item/storage_key.h"
#include "engine/key_sharding/key_sharding.h"
#include "tests/check.h"
#include "tests/support/case_file.h"
#include "tests/support/case_words.h"
#include "tests/support/split_verdicts.h"

enum {
    TABLE_ID = 9,
    KEYS_MAX = 16,
    NO_SHARD = UINT32_MAX
};

static const struct slice lo = {(const uint8_t *)"\0\0\0\x09", 4};
static const struct slice hi = {(const uint8_t *)"\0\0\0\x0A", 4};

struct keys {
    enum admit_kind kind;
    char name[16];
    uint32_t shard;
    bool cut;      /* the sort key */
    int direction; /* 0: any from `first` to `last` */
    uint64_t first, last, weight;
};

struct scene {
    struct config config;
    struct heat heat;
    struct arena arena;
    struct instant now;
    struct buffer key;
    struct prng prng;
    struct split_question question;
    struct split_advice advice;
};

/* ---- keys ---- */

static struct slice key_of(struct scene *s, const struct keys *k, uint64_t sort)
{
    char text[24];
    struct attr p = {.type = ATTR_STRING, .body = slice_of(k->name)};
    snprintf(text, sizeof text, "%06llu", (unsigned long long)sort);
    struct attr sort_key = {.type = ATTR_STRING, .body = slice_of(text)};
    buffer_clear(&s->key);
    storage_key_append(&s->key, TABLE_ID, &p, &sort_key);
    if (k->shard != NO_SHARD)
        key_shard_put(s->key.data, key_shard_bare_hash(buffer_slice(&s->key)), k->shard);
    s->key.size -= k->cut ? 4 : 0;
    return buffer_slice(&s->key);
}

static struct keys keys_read(const char *word, enum admit_kind kind)
{
    struct keys k = {.kind = kind, .shard = NO_SHARD, .weight = 1};
    const size_t size = strcspn(word, "/~#");
    char *at = (char *)(uintptr_t)word + size;
    assert_in_range(size, 1, sizeof k.name - 1);
    memcpy(k.name, word, size);
    if (*at == '#')
        k.shard = (uint32_t)strtoul(at + 1, &at, 10);
    k.cut = *at == '~';
    k.first = k.last = strtoull(at + 1, &at, 10);
    if (*at == '-' && isdigit((unsigned char)at[1]))
        k.last = strtoull(at + 1, &at, 10);
    else if (*at == '+' || *at == '-')
        k.direction = *at++ == '+' ? 1 : -1;
    if (*at == '*')
        k.weight = strtoull(at + 1, &at, 10);
    if (*at != '\0')
        fail_msg("'%s' are no keys", word);
    return k;
}

/* ---- commands ---- */

/* `turn` -1: which keys is drawn. */
static void load_one(struct scene *s, struct keys *keys, int count, enum admit_kind kind,
                     int64_t turn)
{
    uint64_t all = 0;
    struct keys *k = keys;
    for (int i = 0; i < count; i++)
        all += keys[i].kind == kind ? keys[i].weight : 0;
    if (all == 0)
        return;
    uint64_t drawn = turn >= 0 ? (uint64_t)turn % all : prng_below(&s->prng, all);
    for (; k->kind != kind || drawn >= k->weight; k++)
        drawn -= k->kind == kind ? k->weight : 0;
    const uint64_t sort =
        k->direction == 0 ? k->first + prng_below(&s->prng, k->last - k->first + 1) : k->first;
    k->first += (uint64_t)(int64_t)k->direction;
    heat_add(&s->heat, s->now, kind, key_of(s, k, sort), kind == ADMIT_READ ? 3000 : 1000);
}

static void run_load(void *world, struct case_words *c)
{
    struct scene *s = world;
    struct keys keys[KEYS_MAX];
    const int64_t a_second = case_word_number(c, 1), ns = case_ns(case_word(c, 2));
    enum admit_kind kind = ADMIT_READ;
    const bool turns = case_flag(c, "turns");
    int count = 0;
    for (int i = 3; i < c->count; i++) {
        const char *word = case_word(c, i);
        if (strcmp(word, "reads") == 0 || strcmp(word, "writes") == 0) {
            kind = word[0] == 'r' ? ADMIT_READ : ADMIT_WRITE;
            continue;
        }
        if (strcmp(word, "turns") == 0)
            continue;
        assert_in_range(count, 0, KEYS_MAX - 1);
        keys[count++] = keys_read(word, kind);
    }
    for (int64_t i = 0; i < a_second * ns / NS_PER_S; i++) {
        s->now.ns += NS_PER_S / a_second;
        load_one(s, keys, count, ADMIT_READ, turns ? i : -1);
        load_one(s, keys, count, ADMIT_WRITE, turns ? i : -1);
    }
}

static void check_advice(const struct scene *s)
{
    const struct split_advice *a = &s->advice;
    for (uint32_t i = 0; i < a->point_count; i++) {
        assert_true(slice_compare(a->points[i], i == 0 ? lo : a->points[i - 1]) > 0);
        assert_true(slice_compare(a->points[i], hi) < 0);
    }
    for (int kind = 0; kind < SPLIT_KINDS && a->verdict == SPLIT_ADVISED; kind++) {
        uint32_t sum = 0;
        for (uint32_t i = 0; i <= a->point_count; i++)
            sum += a->share_ppm[kind][i];
        assert_int_equal(sum, SPLIT_WHOLE_PPM);
    }
}

static void print_key(struct case_words *c, struct slice key)
{
    if (key.size <= STORAGE_KEY_BOUND_SIZE)
        case_print(c, "hash");
    for (size_t i = STORAGE_KEY_BOUND_SIZE; i < key.size; i++)
        case_print(c, "%c", isgraph(key.data[i]) ? key.data[i] : '.');
}

static void print_pair(struct case_words *c, const char *what, const int64_t mcu[SPLIT_KINDS])
{
    case_print(c, "%s %lld/%lld", what, (long long)mcu[ADMIT_READ], (long long)mcu[ADMIT_WRITE]);
}

static void print_advised(struct case_words *c, const struct split_advice *a)
{
    for (int kind = 0; kind < SPLIT_KINDS; kind++) {
        case_print(c, kind == ADMIT_READ ? "  reads" : "  writes");
        for (uint32_t i = 0; i <= a->point_count; i++)
            case_print(c, " %u", a->share_ppm[kind][i]);
        case_print(c, "\n");
    }
    case_print(c, "  points");
    for (uint32_t i = 0; i < a->point_count; i++) {
        case_print(c, " ");
        print_key(c, a->points[i]);
    }
    print_pair(c, ", serves", a->served_before_mcu);
    print_pair(c, ", then", a->served_after_mcu);
    if (a->key.size > 0)
        print_pair(c, ", of the key", a->key_served_mcu);
    case_print(c, "\n");
}

static void run_advise(void *world, struct case_words *c)
{
    struct scene *s = world;
    const struct split_advice *a = &s->advice;
    struct split_question q = s->question;
    q.children = (uint32_t)case_option_number(c, "children", 0);
    q.gain_ppm = case_option_number(c, "gain", q.gain_ppm);
    q.whole_collections = case_flag(c, "whole");
    split_advise(&s->heat, s->now, &q, &s->arena, &s->advice);
    check_advice(s);
    case_print(c, "%s, %lld samples", split_verdict_name(a->verdict), (long long)a->samples);
    if (a->verdict == SPLIT_ADVISED)
        case_print(c, ", %u pieces", a->point_count + 1);
    if (a->key.size > 0) {
        case_print(c, ", key ");
        print_key(c, a->key);
        case_print(c, " has %u", a->key_share_ppm);
    }
    case_print(c, "\n");
    if (a->verdict == SPLIT_ADVISED)
        print_advised(c, a);
}

static void run_pieces(void *world, struct case_words *c)
{
    struct scene *s = world;
    for (int i = 1; i < c->count; i++) {
        const struct keys k = keys_read(case_word(c, i), ADMIT_WRITE);
        const struct slice key = key_of(s, &k, k.first);
        uint32_t piece = 0;
        while (piece < s->advice.point_count && slice_compare(s->advice.points[piece], key) <= 0)
            piece++;
        case_print(c, i == 1 ? "%u" : " %u", piece);
    }
    case_print(c, "\n");
}

static void scene_start(struct scene *s)
{
    *s = (struct scene){.now = {5 * NS_PER_S}, .prng = prng_seeded(1)};
    config_init(&s->config, PROFILE_AWS);
    config_edit_heat(&s->config)->heat_start_percent = 0;
    s->question = split_question_of(&s->config, lo, hi);
    heat_init(&s->heat, lo, hi, 1, &s->config);
}

static void end(void *world)
{
    struct scene *s = world;
    heat_deinit(&s->heat);
    arena_deinit(&s->arena);
    buffer_deinit(&s->key);
}

static void run_fresh(void *world, struct case_words *c)
{
    (void)c;
    end(world);
    scene_start(world);
}

static void run(void *world, struct slice command, struct buffer *out)
{
    static const struct case_verb VERBS[] = {
        {.name = "fresh", .run = run_fresh},
        {.name = "load", .run = run_load},
        {.name = "ask", .run = run_advise},
        {.name = "pieces", .run = run_pieces},
        {0},
    };
    case_words_run(VERBS, world, command, out);
}

static void *begin(void)
{
    static struct scene s;
    case_words_begin();
    scene_start(&s);
    return &s;
}

TEST(splits_are_advised_as_in_the_files)
{
    static const struct case_format FORMAT = {begin, end, run};
    case_files_run("split/*.case", &FORMAT);
}
