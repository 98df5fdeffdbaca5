/* answers_test.c - what a router answers to requests, word for word: tests/cases/router
 * (tests/support/case_file.h, fake_cluster.h, router_world.h). Commands:
 *
 *   fresh [NAME=VALUE]..           a cluster without tables, with these settings
 *   table NAME KEY:TYPE [SORT:TYPE] [PARTITIONS]     TYPE: S, N or B
 *   let NAME TEXT                  $NAME in later requests of the file stands for this text
 *   Operation {..}                 a request; the output is its status and body
 *   GET /PATH, POST /PATH {..}     the same of another path; PUT and DELETE, too
 *   as KEY POST /PATH {..}         with this Idempotency-Key
 *   keep NAME MEMBER               $NAME stands for the text of that member in the last answer
 *   spoil NAME TEXT                $NAME stands for this text with a wrong character
 *   headers NAME..                 header fields of the last answer
 *   show NAME[,NAME] Operation {..}         members of these names in the answer
 *   first N Operation {..}         so many characters of the answer, `|` for line feeds
 *   values ATTRIBUTE Operation {..}         of the items in the answer, `..` if there are more
 *   pages ATTRIBUTE LIMIT Operation {..}    of all pages, `|` between them; LIMIT: 1-9 tries each
 *   segments ATTRIBUTE N Operation {..}     of all pages of all segments
 *   repeat N COMMAND               equal outputs that follow each other are shown once
 *   after MS                       lets time pass
 *   answer                         in place of Operation {..}: what has come by now to the last one
 *   counts                         shows how many items and tables there are
 *   asked                          the requests to nodes since the last time
 *   fail CODE [REASON] [times=N] [after=N] [wait-us=N]       what nodes answer to data
 *   hold changes|indexes, release  tables, or those of indexes, stay as they are meanwhile
 *   status TABLE STATUS            it has this status, or is `gone`
 *   shard TABLE KEY VERSION SHARDS [before=N,N] [widest=N] [counter] [shrank]
 *                                  its only sharded key
 *   split TABLE PARTITIONS         the router's map is out of date then; splitting [TABLE]: between
 *                                  pages from now on
 *
 * In requests <N*TEXT> stands for so many times TEXT, and <N,TEXT> for a list of them, in which `#`
 * is the number of each. A refusal whose body has a type and a message alone is shown as
 * `400 Type: message`. */
#include "engine/item/number.h"
#include "engine/item/storage_key.h"
#include "tests/check.h"
#include "tests/support/case_file.h"
#include "tests/support/router_world.h"

static void run_fresh(void *world, struct case_words *c)
{
    struct router_world *w = world;
    struct buffer error = {0};
    fake_deinit(&w->f);
    fake_init(&w->f);
    for (int i = 1; i < c->count; i++) {
        char *value = strchr(c->words[i], '=');
        assert_non_null(value);
        *value = '\0';
        if (config_set(&w->f.config, slice_of(case_word(c, i)), slice_of(value + 1), &error) !=
            STATUS_OK)
            fail_msg("%.*s", (int)error.size, (const char *)error.data);
    }
    buffer_deinit(&error);
    fake_start(&w->f);
}

/* Divides "name:S". */
static enum attr_type run_key(char *word)
{
    char *type = strchr(word, ':');
    assert_true(type != NULL && type[1] != '\0' && strchr("SNB", type[1]) != NULL);
    *type = '\0';
    return type[1] == 'S' ? ATTR_STRING : type[1] == 'N' ? ATTR_NUMBER : ATTR_BINARY;
}

static void run_table(void *world, struct case_words *c)
{
    struct router_world *w = world;
    case_word(c, 2);
    const enum attr_type type = run_key(c->words[2]);
    const bool sorted = c->count > 3 && strchr(c->words[3], ':') != NULL;
    const enum attr_type sort_type = sorted ? run_key(c->words[3]) : 0;
    const char *sort = sorted ? case_word(c, 3) : NULL, *partitions = case_next(c);
    if (partitions == c->words[1])
        partitions = case_next(c);
    fake_table(&w->f, case_word(c, 1), c->words[2], type, sort, sort_type,
               partitions == NULL ? 2 : (uint32_t)case_number(partitions));
}

static void run_counts(void *world, struct case_words *c)
{
    const struct router_world *w = world;
    case_print(c, "%zu items, %u tables\n", w->f.item_count, w->f.table_count);
}

static void run_after(void *world, struct case_words *c)
{
    struct router_world *w = world;
    fake_advance_ms(&w->f, case_word_number(c, 1));
}

static void run_requests(void *world, struct case_words *c)
{
    static const char *const NAMES[REQUEST_OPS] = {
        [REQUEST_GET] = "get",
        [REQUEST_PUT] = "put",
        [REQUEST_DELETE] = "delete",
        [REQUEST_RANGE] = "range",
        [REQUEST_UPDATE] = "update",
        [REQUEST_TRANSACT] = "transact",
        [REQUEST_DECIDE] = "decide",
        [REQUEST_TABLE_GET] = "get table",
        [REQUEST_TABLE_CREATE] = "create table",
        [REQUEST_TABLE_UPDATE] = "update table",
    };
    struct router_world *w = world;
    bool any = false;
    for (int op = 0; op < REQUEST_OPS; op++) {
        if (NAMES[op] == NULL || w->f.requests[op] == 0)
            continue;
        case_print(c, "%s%s %lld", any ? ", " : "asked: ", NAMES[op], (long long)w->f.requests[op]);
        any = true;
    }
    case_print(c, any ? "\n" : "asked nobody\n");
    memset(w->f.requests, 0, sizeof w->f.requests);
}

static void run_fail(void *world, struct case_words *c)
{
    static const char *const CODES[] = {[REPLY_OK] = "ok",
                                        [REPLY_THROTTLED] = "throttled",
                                        [REPLY_WRONG_PARTITION] = "wrong-partition",
                                        [REPLY_OVERLOADED] = "overloaded",
                                        [REPLY_UNKNOWN] = "unknown",
                                        [REPLY_CORRUPT] = "corrupt"};
    struct router_world *w = world;
    w->f.fail_code = (enum reply_code)case_choice(case_word(c, 1), CODES, COUNT_OF(CODES));
    w->f.fail_count = (int)case_option_number(c, "times", 1);
    w->f.fail_after = (int)case_option_number(c, "after", 0);
    w->f.fail_wait_us = case_option_number(c, "wait-us", 0);
    const char *reason = case_next(c);
    int found = ADMIT_OK;
    while (reason != NULL && strcmp(admit_reason_name((enum admit_reason)found), reason) != 0)
        assert_true(++found < ADMIT_REASONS);
    w->f.fail_reason = (enum admit_reason)found;
}

static void run_hold(void *world, struct case_words *c)
{
    struct router_world *w = world;
    w->f.hold_changes = case_flag(c, "changes");
    w->f.hold_indexes = case_flag(c, "indexes");
}

static void run_status(void *world, struct case_words *c)
{
    static const char *const STATUS[] = {"gone", "creating", "active", "updating", "deleting"};
    struct table *t = router_world_table(world, case_word(c, 1));
    t->status = (enum table_status)case_choice(case_word(c, 2), STATUS, COUNT_OF(STATUS));
    if (t->status == 0)
        t->name.size = 0;
}

static void run_split(void *world, struct case_words *c)
{
    struct router_world *w = world;
    fake_repartition(&w->f, router_world_table(w, case_word(c, 1)),
                     (uint32_t)case_word_number(c, 2));
}

/* The partition key is a string, or a number of a table of such. */
static void run_shard(void *world, struct case_words *c)
{
    struct router_world *w = world;
    struct table *t = router_world_table(w, case_word(c, 1));
    struct buffer prefix = {0};
    uint8_t encoded[NUMBER_ENCODED_MAX];
    struct attr key = {ATTR_STRING, slice_of(case_word(c, 2))};
    struct number number;
    if (t->partition_key.type == ATTR_NUMBER) {
        assert_int_equal(number_parse(key.body, &number), NUMBER_OK);
        key = (struct attr){ATTR_NUMBER, slice_make(encoded, number_encode(&number, encoded))};
    }
    storage_key_append_collection(&prefix, t->id, &key);
    const struct slice bytes = buffer_slice(&prefix);
    struct sharded_key k = {
        .hash = key_shard_bare_hash(bytes),
        .key = slice_make(bytes.data + STORAGE_KEY_BOUND_SIZE, bytes.size - STORAGE_KEY_BOUND_SIZE),
        .version = (uint64_t)case_word_number(c, 3),
        .shards = (uint32_t)case_word_number(c, 4),
        .widest = (uint32_t)case_option_number(c, "widest", 0),
        .counter = case_flag(c, "counter"),
        .shrank = case_flag(c, "shrank")};
    const char *before = case_option(c, "before");
    for (; before != NULL; before = strchr(before, ',') == NULL ? NULL : strchr(before, ',') + 1)
        k.before[k.before_count++] = (uint32_t)strtoul(before, NULL, 10);
    fake_shard_keys(&w->f, t, &(struct key_sharding){k.version, 1, &k});
    buffer_deinit(&prefix);
}

/* From now on between two pages; of no table: no more. */
static void run_splitting(void *world, struct case_words *c)
{
    struct router_world *w = world;
    snprintf(w->splitting, sizeof w->splitting, "%s", c->count > 1 ? case_word(c, 1) : "");
}

static void run_command(void *world, struct slice command, struct buffer *out)
{
    static const struct case_verb VERBS[] = {
        {.name = "fresh", .run = run_fresh},
        {.name = "table", .run = run_table},
        {.name = "after", .run = run_after},
        {.name = "counts", .run = run_counts},
        {.name = "asked", .run = run_requests},
        {.name = "fail", .run = run_fail},
        {.name = "hold", .run = run_hold},
        {.name = "release", .run = run_hold},
        {.name = "status", .run = run_status},
        {.name = "shard", .run = run_shard},
        {.name = "split", .run = run_split},
        {.name = "splitting", .run = run_splitting},
        {.name = "headers", .run = router_world_headers},
        {0},
    };
    if (!router_world_request(world, (const char *)command.data, out))
        case_words_run(VERBS, world, command, out);
}

static void *begin(void)
{
    static struct router_world w;
    case_words_begin();
    fake_init(&w.f);
    fake_start(&w.f);
    return &w;
}

static void end(void *world)
{
    struct router_world *w = world;
    fake_deinit(&w->f);
    w->let_count = 0;
    w->splitting[0] = '\0';
}

TEST(the_answers_are_those_in_the_files)
{
    static const struct case_format FORMAT = {begin, end, run_command};
    case_files_run("router/*.case", &FORMAT);
}
