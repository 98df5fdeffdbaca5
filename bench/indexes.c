/* indexes.c - `weir-bench indexes`: what a table's global indexes cost its durable writes.
 *
 * One `weir local` of its own without limits. Tables with and without indexes are written in
 * turn. A round of a table with indexes lasts until its indexes have every row, so a backlog
 * counts. The ratio is the median over the rounds of what a table with indexes serves, over the
 * same without. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/must.h"
#include "bench/bench.h"
#include "bench/one_server.h"
#include "router/json/json_writer.h"
#include "workload/client_exchange.h"

enum {
    POLL_NS = 1000 * 1000,
    FOLLOW_POLLS_MAX = 30000
};

/* The attributes of `weir load`: pk is the partition key, v differs from write to write. */
#define INDEX(name, hash, more, projection)                                 \
    "{\"IndexName\":\"" name "\",\"KeySchema\":[{\"AttributeName\":\"" hash \
    "\",\"KeyType\":\"HASH\"}" more "],\"Projection\":{\"ProjectionType\":\"" projection "\"}}"
#define RANGE(name) ",{\"AttributeName\":\"" name "\",\"KeyType\":\"RANGE\"}"

static const char one_index[] = INDEX("by-v", "v", "", "KEYS_ONLY");
static const char three_indexes[] = INDEX("by-v", "v", "", "ALL") "," INDEX(
    "by-v-pk", "v", RANGE("pk"), "ALL") "," INDEX("by-pk-v", "pk", RANGE("v"), "ALL");

struct index_scene {
    const char *name;
    const char *indexes; /* NULL: the table has none, and later scenes are compared with it */
    bool again;          /* the items exist, so that each row moves */
    double budget;       /* 0: none */
};

static const struct index_scene scenes[] = {
    {"new items", NULL, false, 0},
    {"new items, one KEYS_ONLY index", one_index, false, 0.5},
    {"new items, three ALL indexes", three_indexes, false, 0},
    {"items again", NULL, true, 0},
    {"items again, one KEYS_ONLY index", one_index, true, 0},
};

enum {
    SCENES = COUNT_OF(scenes)
};

/* What an index lacks. */
struct backlog {
    int64_t lag_ms, items, bytes;
};

struct index_table {
    const struct bench_one_server *bench; /* borrows */
    char name[32];
    char settings[128];
    struct client_url url;
    struct json_parser *parser;                /* owns */
    struct backlog answered[BENCH_ROUNDS_MAX]; /* at the last answer of each round */
    double followed_ms[BENCH_ROUNDS_MAX];      /* from then until nothing was lacking */
};

/* ---- requests ---- */

/* Parses what the server has answered into `root`, whose lifetime is the parser's. */
static enum status indexes_take(struct index_table *t, const char *what, enum status status,
                                int http_status, const struct buffer *answer,
                                struct json_value *root, struct buffer *error)
{
    if (status == STATUS_OK &&
        (http_status != 200 || json_parse(t->parser, buffer_slice(answer), root) != STATUS_OK))
        status = buffer_explain(error, STATUS_IO, "%s %s: the server answered %.*s", what, t->name,
                                (int)MIN(answer->size, 500), (const char *)answer->data);
    return status;
}

static enum status indexes_create(struct index_table *t, const char *indexes, struct buffer *error)
{
    struct buffer body = {0}, answer = {0};
    struct json_value root;
    int http_status = 0;
    buffer_append_format(
        &body,
        "{\"TableName\":\"%s\",\"BillingMode\":\"PAY_PER_REQUEST\",\"KeySchema\":[{"
        "\"AttributeName\":\"pk\",\"KeyType\":\"HASH\"}],\"AttributeDefinitions\":[{"
        "\"AttributeName\":\"pk\",\"AttributeType\":\"S\"},{\"AttributeName\":\"v\","
        "\"AttributeType\":\"S\"}],\"GlobalSecondaryIndexes\":[%s]}",
        t->name, indexes);
    enum status status =
        client_call(&t->url, "CreateTable", buffer_slice(&body), &http_status, &answer, error);
    status = indexes_take(t, "CreateTable", status, http_status, &answer, &root, error);
    buffer_deinit(&body);
    buffer_deinit(&answer);
    return status;
}

/* STATUS_PENDING: not all leaders are known. */
static enum status backlog_of(const struct json_value *page, struct backlog *out)
{
    struct json_value partition, partitions = json_find(page, "partitions"),
                                 missing = json_find(page, "unresponsive_nodes");
    bool any = false;
    *out = (struct backlog){0};
    JSON_FOREACH (partition, &partitions) {
        struct json_value indexes = json_find(&partition, "indexes");
        if (indexes.type != JSON_OBJECT)
            continue;
        struct json_value lag = json_find(&indexes, "lag_ms"),
                          items = json_find(&indexes, "backlog_items"),
                          bytes = json_find(&indexes, "backlog_bytes");
        any = true;
        out->lag_ms = MAX(out->lag_ms, json_integer(&lag));
        out->items += json_integer(&items);
        out->bytes += json_integer(&bytes);
    }
    return any && json_count(&missing) == 0 ? STATUS_OK : STATUS_PENDING;
}

static enum status backlog_request(struct index_table *t, struct backlog *out, struct buffer *error)
{
    char path[96];
    struct buffer request = {0}, answer = {0};
    struct json_value root;
    int http_status = 0;
    snprintf(path, sizeof path, "GET /weir/partitions?table=%s", t->name);
    client_write_plain(&request, &t->url, path, NULL);
    enum status status =
        client_exchange(&t->url, buffer_slice(&request), &http_status, &answer, error);
    status = indexes_take(t, path, status, http_status, &answer, &root, error);
    if (status == STATUS_OK)
        status = backlog_of(&root, out);
    buffer_deinit(&request);
    buffer_deinit(&answer);
    return status;
}

/* ---- rounds ---- */

/* Waits until the indexes have every row. */
static enum status indexes_follow(struct bench_side *side, int round, struct buffer *error)
{
    struct index_table *t = side->context;
    struct backlog now = {0};
    const int64_t start_ns = bench_clock_ns();
    bool first = true;
    for (int i = 0; i < FOLLOW_POLLS_MAX; i++) {
        const enum status status = backlog_request(t, &now, error);
        if (status != STATUS_OK && status != STATUS_PENDING)
            return status;
        if (status == STATUS_OK && first)
            t->answered[round] = now;
        first = first && status != STATUS_OK;
        if (status == STATUS_OK && now.items == 0 && now.bytes == 0) {
            t->followed_ms[round] = (double)(bench_clock_ns() - start_ns) / 1e6;
            return STATUS_OK;
        }
        nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
    }
    return buffer_explain(error, STATUS_IO, "%s: the indexes still lack %lld items", t->name,
                          (long long)now.items);
}

/* New items have keys behind all earlier ones. */
static void indexes_set(const struct index_scene *s, struct index_table *t, int64_t sent)
{
    const int64_t keys = s->again ? t->bench->load.keys : sent;
    snprintf(t->settings, sizeof t->settings, "table=%s,mix=%s:1,keys=%lld", t->name,
             s->again ? "update" : "insert", (long long)keys);
}

static enum status indexes_prepare(struct bench_one_server *b, int number, struct index_table *t,
                                   struct bench_side *side, struct buffer *error)
{
    const struct index_scene *s = &scenes[number];
    t->bench = b;
    t->parser = json_parser_create();
    must(client_url_parse(&t->url, b->url) == NULL);
    snprintf(t->name, sizeof t->name, "scene-%d", number);
    *side = (struct bench_side){.server = &b->server,
                                .settings = t->settings,
                                .finish = s->indexes != NULL ? indexes_follow : NULL,
                                .context = t};
    side->sent = s->again ? b->load.keys : 1;
    indexes_set(s, t, side->sent);
    enum status status = s->indexes != NULL ? indexes_create(t, s->indexes, error) : STATUS_OK;
    if (status == STATUS_OK)
        status = bench_load_preload(&b->load, b->url, t->settings, error);
    return status == STATUS_OK && s->indexes != NULL ? indexes_follow(side, 0, error) : status;
}

/* ---- results ---- */

static struct backlog backlog_max(const struct index_table *t, int64_t rounds)
{
    struct backlog max = {0};
    for (int64_t i = 0; i < rounds; i++) {
        const struct backlog *b = &t->answered[i];
        max.lag_ms = MAX(b->lag_ms, max.lag_ms);
        max.items = MAX(b->items, max.items);
        max.bytes = MAX(b->bytes, max.bytes);
    }
    return max;
}

static void indexes_write(struct bench_one_server *b, const struct index_scene *s,
                          struct bench_side *side, double ratio, double cpu_ratio)
{
    struct index_table *t = side->context;
    const struct backlog max = backlog_max(t, b->rounds);
    const double per_s = bench_median(side->per_s, (size_t)b->rounds);
    const double cpu_us = bench_median(side->cpu_us, (size_t)b->rounds);
    const double followed_ms = bench_median(t->followed_ms, (size_t)b->rounds);
    if (!b->json) {
        printf("%-34s %8.0f/s %6.1f us", s->name, per_s, cpu_us);
        if (s->indexes != NULL)
            printf(": %.2f, processor %.2f; lag %lld ms, %lld items behind, gone in %.1f ms", ratio,
                   cpu_ratio, (long long)max.lag_ms, (long long)max.items, followed_ms);
        printf(s->budget > 0 ? " (budget %.2f)\n" : "\n", s->budget);
        return;
    }
    json_write_open(&b->out, '{');
    json_member_text(&b->out, "name", s->name);
    json_member_real(&b->out, "per_s", per_s);
    json_member_real(&b->out, "cpu_us", cpu_us);
    if (s->indexes != NULL) {
        json_member_real(&b->out, "ratio", ratio);
        json_member_real(&b->out, "cpu_ratio", cpu_ratio);
        json_member_integer(&b->out, "lag_ms_most", max.lag_ms);
        json_member_integer(&b->out, "backlog_items_most", max.items);
        json_member_integer(&b->out, "backlog_bytes_most", max.bytes);
        json_member_real(&b->out, "followed_ms", followed_ms);
    }
    if (s->budget > 0)
        json_member_real(&b->out, "budget", s->budget);
    json_write_close(&b->out, '}');
}

/* Ratios come first: medians sort the rounds. */
static void indexes_compare(struct bench_one_server *b, struct bench_side *sides)
{
    double ratio[SCENES], cpu_ratio[SCENES];
    int plain = 0;
    for (int i = 0; i < SCENES; i++) {
        plain = scenes[i].indexes == NULL ? i : plain;
        ratio[i] = bench_median_ratio(sides[i].per_s, sides[plain].per_s, (size_t)b->rounds);
        cpu_ratio[i] = bench_median_ratio(sides[plain].cpu_us, sides[i].cpu_us, (size_t)b->rounds);
        b->missed |= ratio[i] < scenes[i].budget;
    }
    for (int i = 0; i < SCENES; i++)
        indexes_write(b, &scenes[i], &sides[i], ratio[i], cpu_ratio[i]);
}

static enum status indexes_run(struct bench_one_server *b, struct buffer *error)
{
    struct index_table *tables = must_calloc(SCENES, sizeof *tables);
    struct bench_side *sides = must_calloc(SCENES, sizeof *sides);
    enum status status = STATUS_OK;
    for (int i = 0; i < SCENES && status == STATUS_OK; i++)
        status = indexes_prepare(b, i, &tables[i], &sides[i], error);
    for (int i = 0; i < SCENES * (int)b->rounds && status == STATUS_OK; i++) {
        const int round = i / SCENES, number = (i + round) % SCENES;
        indexes_set(&scenes[number], &tables[number], sides[number].sent);
        status = bench_load_round(&b->load, &sides[number], round, error);
    }
    if (status == STATUS_OK)
        indexes_compare(b, sides);
    for (int i = 0; i < SCENES; i++)
        json_parser_destroy(tables[i].parser);
    free(sides);
    free(tables);
    return status;
}

int bench_indexes(int argc, char **argv)
{
    struct bench_one_server b = {
        .name = "indexes",
        .about =
            "The cost of global indexes for durable PutItems over HTTP: tables with and without "
            "indexes are written in turn. A round lasts until the indexes have every row. "
            "Exit code 1: below a budget.\n",
        .examples = "  weir-bench indexes\n"
                    "  weir-bench indexes --rounds 15 --item-bytes 1000 --json\n",
        .run = indexes_run};
    return bench_on_one_server(&b, argc, argv);
}
