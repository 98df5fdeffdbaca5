/* limiter_cases_test.c - what commands make of a bucket of the rate limiter: tests/cases/limiter
 * (tests/support/case_file.h, case_words.h, limiter_fixture.h). Amounts are thousandths of tokens
 * (mtok), and as many as there are limits. Commands:
 *
 *   bucket [NAME=TOKENS/REFILL/TIME[/LEAST]]..    a sender that knows these limits, and no shard;
 *                                  alone: rpd=1000/1000/1d
 *   limits VERSION [..]            the sender's limits from now on
 *   after TIME, before TIME        the clock of the shards' leaders goes on, or is behind
 *   take SHARD AMOUNT.., adjust SHARD AMOUNT.. [OPTION..]        times=N: until it is refused,
 *                                  every=TIME
 *   send VERB SHARD [OPTION..]     reserve, create, merge-begin, seal, merge-in, commit, configure,
 *                                  reset, grow-only. Options: owner=HEX, expires=TIME, mwcu=N,
 *                                  refusals=N, child=N, share=NAME (a kept one) or share-of=SHARD,
 *                                  child-epoch=N, map=NAME
 *   keep NAME send ..              what is sent, to be sent again: again NAME
 *   keep-map NAME, use-map NAME, read-map, know-map EPOCH      what the sender knows of shard 0
 *   keep-share NAME SHARD I        a reserved share of the shard
 *   grow, create SHARD, merge      all steps, none of which may fail; forget SHARD: its item
 *                                  is gone
 *   drain                          single tokens from all shards in turn, until there are none
 *   show SHARD.., tokens */
#include "tests/check.h"
#include "tests/support/case_file.h"
#include "tests/support/case_words.h"
#include "tests/support/limiter_fixture.h"

#define NOW_MS INT64_C(1755500000000)

enum {
    KEPT_MAX = 8
};

static struct {
    struct limiter_fixture s;
    char names[LIMITER_LIMITS_MAX * 4][8];
    int name_count;
    struct {
        char name[16];
        struct limiter_command command;
        struct limiter_shard_map map;
        struct limiter_reserved_share share;
    } kept[KEPT_MAX];
} w;

/* ---- words ---- */

static int kept_find(const char *name)
{
    int i = 0;
    while (i < KEPT_MAX && w.kept[i].name[0] != '\0' && strcmp(w.kept[i].name, name) != 0)
        i++;
    assert_in_range(i, 0, KEPT_MAX - 1);
    snprintf(w.kept[i].name, sizeof w.kept[i].name, "%s", name);
    return i;
}

/* NAME=TOKENS/REFILL/TIME[/LEAST], the rest of the words. */
static void limits_read(struct case_words *c)
{
    char name[8], period[16];
    for (int i = 1; i < c->count; i++) {
        long long capacity, amount, least = 0;
        if (c->seen[i])
            continue;
        const int read = sscanf(case_word(c, i), "%7[^=]=%lld/%lld/%15[^/]/%lld", name, &capacity,
                                &amount, period, &least);
        assert_true(read >= 4 && w.name_count < (int)COUNT_OF(w.names));
        char *kept = memcpy(w.names[w.name_count++], name, sizeof name);
        limiter_fixture_limit(&w.s, kept, capacity, amount, case_ms(period));
        if (read == 5)
            w.s.limits.at[w.s.limits.count - 1].request_min = least * 1000;
    }
}

static void run_bucket(void *world, struct case_words *c)
{
    (void)world;
    limiter_fixture_deinit(&w.s);
    memset(&w, 0, sizeof w);
    if (c->count == 1)
        limiter_fixture_init_daily(&w.s, NOW_MS);
    else
        limiter_fixture_init(&w.s, NOW_MS);
    limits_read(c);
}

static void run_limits(void *world, struct case_words *c)
{
    (void)world;
    w.s.limits = (struct limiter_limits){.version = (uint64_t)case_word_number(c, 1)};
    limits_read(c);
}

static void run_time(void *world, struct case_words *c)
{
    (void)world;
    w.s.now_ms += case_word_ms(c, 1) * (strcmp(case_word(c, 0), "after") == 0 ? 1 : -1);
}

/* ---- commands to shards ---- */

static void print_refusal(struct case_words *c, enum limiter_refusal refusal)
{
    static const char *const NAMES[LIMITER_REFUSALS] = {
        "done",    "too few tokens", "too few writes", "absent",    "sealed",        "no change",
        "expired", "not its owner",  "no such limit",  "no bucket", "too large debt"};
    case_print(c, "%s\n", NAMES[refusal]);
}

static void command_read_options(struct case_words *c, struct limiter_command *m)
{
    const char *owner = case_option(c, "owner"), *expires = case_option(c, "expires"),
               *map = case_option(c, "map"), *share = case_option(c, "share");
    const int64_t of = case_option_number(c, "share-of", -1);
    m->mwcu = case_option_number(c, "mwcu", m->mwcu);
    m->unreported_refusals = case_option_number(c, "refusals", 0);
    m->child = (uint32_t)case_option_number(c, "child", 0);
    if (owner != NULL) {
        m->token_has_owner = true;
        m->owner_key = strtoull(owner, NULL, 16);
    }
    if (expires != NULL)
        m->expires_ms = w.s.now_ms + case_ms(expires);
    if (map != NULL)
        m->sender_map = w.kept[kept_find(map)].map;
    if (share != NULL)
        m->reserved_share = w.kept[kept_find(share)].share;
    if (of >= 0) { /* what a sealed child has, to be merged in */
        const struct limiter_bucket b = limiter_fixture_bucket(&w.s, (uint32_t)of);
        m->created = true;
        m->reserved_share.child = (uint32_t)of;
        m->reserved_share.epoch =
            w.s.shard_map.epoch + (uint64_t)case_option_number(c, "child-epoch", 0);
        m->reserved_share.balances[0] = b.balances[0];
    }
}

static void run_take(void *world, struct case_words *c)
{
    (void)world;
    const bool adjusts = strcmp(case_word(c, 0), "adjust") == 0;
    const int64_t times = case_option_number(c, "times", 1);
    struct limiter_command m = limiter_fixture_command(
        &w.s, adjusts ? LIMITER_ADJUST : LIMITER_TAKE, (uint32_t)case_word_number(c, 1));
    command_read_options(c, &m);
    const char *amount;
    for (int i = 0; (amount = case_next(c)) != NULL; i++)
        m.amounts[i] = case_number(amount);
    const char *every = case_option(c, "every");
    int64_t done = 0;
    enum limiter_refusal refusal = LIMITER_DONE;
    while (done < times && (refusal = limiter_fixture_run(&w.s, &m)) == LIMITER_DONE) {
        done++;
        w.s.now_ms += every == NULL ? 0 : case_ms(every);
    }
    if (times > 1)
        case_print(c, "%lld times, then ", (long long)done);
    print_refusal(c, refusal);
}

static struct limiter_command command_read(struct case_words *c, int at)
{
    static const char *const VERBS[LIMITER_VERBS] = {
        [LIMITER_TAKE] = "take",           [LIMITER_ADJUST] = "adjust",
        [LIMITER_GROW] = "grow-only",      [LIMITER_RESERVE_CHILD] = "reserve",
        [LIMITER_CREATE_CHILD] = "create", [LIMITER_MERGE_BEGIN] = "merge-begin",
        [LIMITER_SEAL] = "seal",           [LIMITER_MERGE_IN] = "merge-in",
        [LIMITER_MERGE_COMMIT] = "commit", [LIMITER_CONFIGURE] = "configure",
        [LIMITER_RESET] = "reset"};
    const int verb = case_choice(case_word(c, at), VERBS, LIMITER_VERBS);
    struct limiter_command m = limiter_fixture_command(&w.s, (enum limiter_verb)verb,
                                                       (uint32_t)case_word_number(c, at + 1));
    command_read_options(c, &m);
    return m;
}

static void run_send(void *world, struct case_words *c)
{
    (void)world;
    const struct limiter_command m = command_read(c, 1);
    print_refusal(c, limiter_fixture_run(&w.s, &m));
}

static void run_keep(void *world, struct case_words *c)
{
    (void)world;
    assert_string_equal(case_word(c, 2), "send");
    w.kept[kept_find(case_word(c, 1))].command = command_read(c, 3);
}

static void run_again(void *world, struct case_words *c)
{
    (void)world;
    print_refusal(c, limiter_fixture_run(&w.s, &w.kept[kept_find(case_word(c, 1))].command));
}

static void run_keep_map(void *world, struct case_words *c)
{
    (void)world;
    w.kept[kept_find(case_word(c, 1))].map = w.s.shard_map;
}

static void run_use_map(void *world, struct case_words *c)
{
    (void)world;
    w.s.shard_map = w.kept[kept_find(case_word(c, 1))].map;
}

/* One that is newer than the clock. */
static void run_know_map(void *world, struct case_words *c)
{
    (void)world;
    w.s.shard_map = (struct limiter_shard_map){
        .epoch = NOW_MS + (uint64_t)case_word_number(c, 1), .count = 1, .grown = {5}};
}

static void run_read_map(void *world, struct case_words *c)
{
    (void)world;
    (void)c;
    limiter_fixture_read_map(&w.s);
}

static void run_keep_share(void *world, struct case_words *c)
{
    (void)world;
    const struct limiter_bucket b = limiter_fixture_bucket(&w.s, (uint32_t)case_word_number(c, 2));
    w.kept[kept_find(case_word(c, 1))].share = b.reserved[case_word_number(c, 3)];
}

static void run_grow(void *world, struct case_words *c)
{
    (void)world;
    for (int64_t i = case_option_number(c, "times", 1); i > 0; i--)
        limiter_fixture_grow(&w.s);
}

static void run_create(void *world, struct case_words *c)
{
    (void)world;
    for (const char *shard; (shard = case_next(c)) != NULL;)
        limiter_fixture_create_shard(&w.s, (uint32_t)case_number(shard));
}

static void run_merge(void *world, struct case_words *c)
{
    (void)world;
    (void)c;
    limiter_fixture_merge(&w.s);
}

static void run_delete(void *world, struct case_words *c)
{
    (void)world;
    buffer_deinit(&w.s.items[case_word_number(c, 1)]);
}

/* A second later each time, so that the hidden limit never refuses. */
static void run_drain(void *world, struct case_words *c)
{
    (void)world;
    int64_t admitted = 0;
    for (bool any = true; any;) {
        any = false;
        for (uint32_t shard = 0; shard < w.s.shard_map.count; shard++) {
            if (w.s.items[shard].size == 0)
                limiter_fixture_create_shard(&w.s, shard);
            const enum limiter_refusal refusal = limiter_fixture_take(&w.s, shard, 1000);
            assert_true(refusal == LIMITER_DONE || refusal == LIMITER_TOO_FEW_TOKENS ||
                        refusal == LIMITER_TOO_FEW_WRITES);
            admitted += refusal == LIMITER_DONE;
            any |= refusal == LIMITER_DONE;
        }
    }
    case_print(c, "%lld tokens taken from %u shards\n", (long long)admitted, w.s.shard_map.count);
}

/* ---- output ---- */

/* Epochs are shown as ms after the beginning. */
static void show_epoch(struct case_words *c, const char *what, uint64_t epoch)
{
    if (epoch == 0)
        case_print(c, "%s 0", what);
    else
        case_print(c, "%s %+lld", what, (long long)epoch - NOW_MS);
}

static void show_shard(struct case_words *c, uint32_t shard)
{
    struct limiter_bucket b;
    if (!limiter_fixture_find(&w.s, shard, &b)) {
        case_print(c, "shard %u: none\n", shard);
        return;
    }
    case_print(c, "shard %u of %u%s, limits %llu", shard, b.shards, b.sealed ? ", sealed" : "",
               (unsigned long long)b.limits.version);
    for (uint32_t i = 0; i < b.limits.count; i++) {
        case_print(c, ", %.*s %lld", (int)b.limits.at[i].name.size,
                   (const char *)b.limits.at[i].name.data, (long long)b.balances[i].tokens);
        if (b.balances[i].fraction != 0)
            case_print(c, " and %lld", (long long)b.balances[i].fraction);
        case_print(c, " taken %lld", (long long)b.taken[i]);
    }
    case_print(c, ", admitted %lld, refused %lld, writes %lld", (long long)b.admitted,
               (long long)b.refused, (long long)b.write_balance.tokens);
    show_epoch(c, ", epoch", b.epoch);
    for (uint32_t i = 0; i < b.reserved_count; i++) {
        case_print(c, ", for %u: %lld", b.reserved[i].child,
                   (long long)b.reserved[i].balances[0].tokens);
        show_epoch(c, " of", b.reserved[i].epoch);
    }
    if (shard == 0) {
        show_epoch(c, ", map", b.shard_map.epoch);
        case_print(c, " of %u", b.shard_map.count);
        for (uint32_t i = 0; i < LIMITER_SIZES && b.shard_map.grown[i] != 0; i++)
            show_epoch(c, i == 0 ? " grown" : "", b.shard_map.grown[i]);
    }
    case_print(c, "\n");
}

static void run_show(void *world, struct case_words *c)
{
    (void)world;
    for (const char *shard; (shard = case_next(c)) != NULL;) {
        struct case_words line = *c;
        struct buffer text = {0};
        line.out = &text;
        show_shard(&line, (uint32_t)case_number(shard));
        case_append_text(c->out, slice_make(text.data, text.size - 1), false);
        buffer_deinit(&text);
    }
}

static void run_tokens(void *world, struct case_words *c)
{
    (void)world;
    case_print(c, "tokens %lld\n", (long long)limiter_fixture_tokens(&w.s));
}

static void run_command(void *world, struct slice command, struct buffer *out)
{
    static const struct case_verb VERBS[] = {
        {.name = "bucket", .run = run_bucket},     {.name = "limits", .run = run_limits},
        {.name = "after", .run = run_time},        {.name = "before", .run = run_time},
        {.name = "take", .run = run_take},         {.name = "adjust", .run = run_take},
        {.name = "send", .run = run_send},         {.name = "keep", .run = run_keep},
        {.name = "again", .run = run_again},       {.name = "keep-map", .run = run_keep_map},
        {.name = "use-map", .run = run_use_map},   {.name = "read-map", .run = run_read_map},
        {.name = "know-map", .run = run_know_map}, {.name = "keep-share", .run = run_keep_share},
        {.name = "grow", .run = run_grow},         {.name = "create", .run = run_create},
        {.name = "merge", .run = run_merge},       {.name = "forget", .run = run_delete},
        {.name = "drain", .run = run_drain},       {.name = "show", .run = run_show},
        {.name = "tokens", .run = run_tokens},     {0},
    };
    case_words_run(VERBS, world, command, out);
}

static void *begin(void)
{
    case_words_begin();
    memset(&w, 0, sizeof w);
    return &w;
}

static void end(void *world)
{
    (void)world;
    limiter_fixture_deinit(&w.s);
}

TEST(buckets_are_as_in_the_files)
{
    static const struct case_format FORMAT = {begin, end, run_command};
    case_files_run("limiter/*.case", &FORMAT);
}
