/* load_options.c - the command line of `weir load`: the tables of its options. */
#include "workload/load_options.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/instant.h"
#include "workload/load_request.h"
#include "workload/text_fields.h"

/* ---- options of a workload ---- */

static const char *take_rate(void *target, const char *value)
{
    struct load_workload_options *w = target;
    const char *rest, *wrong;
    w->traffic.clients = (struct traffic_clients){0};
    w->as_fast_as_possible = strcmp(value, "max") == 0;
    if (w->as_fast_as_possible)
        return NULL;
    if (text_begins(value, "closed", &rest))
        return traffic_clients_parse(&w->traffic.clients, value);
    wrong = rate_curve_parse(&w->traffic.rate, value);
    if (wrong == rate_curve_expected || (wrong == NULL && rate_curve_peak(&w->traffic.rate) == 0))
        return "requests per second above 0 and up to 10M, such as 500 or 2.5k, or max, or "
               "closed:CLIENTS:THINK_MS[:exponential], or a curve: ramp:FROM:TO:SPAN_S, "
               "steps:R1:R2:...:EVERY_S, spike:BASE:PEAK:FROM_S:FOR_S, "
               "diurnal:MEAN:RATIO:PERIOD_S[:NOISE], on-off:RATE:ON_S:OFF_S";
    return wrong;
}

static const char *take_mix(void *target, const char *value)
{
    struct load_workload_options *w = target;
    w->has_mix = true;
    return traffic_mix_parse(&w->traffic.mix, value);
}

static const char *take_ycsb(void *target, const char *value)
{
    struct load_workload_options *w = target;
    struct traffic_options *t = &w->traffic;
    if (strlen(value) != 1 || !ycsb_workload(value[0], &t->mix, &t->keys, &t->sizes))
        return "one letter, A to F";
    t->mix.eventual = 1; /* as YCSB's binding of DynamoDB */
    w->has_mix = true;
    return NULL;
}

/* An expression goes into a request's JSON as it is. */
static bool is_expression(struct slice value)
{
    for (size_t i = 0; i < value.size; i++)
        if (value.data[i] == '"' || value.data[i] == '\\' || iscntrl(value.data[i]))
            return false;
    return value.size > 0;
}

#define EXPRESSION                                                                           \
    .valid = is_expression, .expected = "an expression of up to 4096 bytes without quotes, " \
                                        "backslashes and control characters"

#define MEMBER(member) FIELD_MEMBER(struct load_workload_options, member)

static const struct field workload_options[] = {
    {"table", FIELD_NAME, MEMBER(table), "T", .min = TABLE_NAME_SIZE_MIN,
     .help = "The table to use."},
    {"rate", FIELD_PARSED, .form = "R", .parse = take_rate, .initial = "100",
     .help = "Requests per second: a number, or a curve over time: "
             "ramp:FROM:TO:SPAN_S, steps:R1:R2:...:EVERY_S, spike:BASE:PEAK:FROM_S:FOR_S, "
             "diurnal:MEAN:RATIO:PERIOD_S[:NOISE] (peak / trough; begins at the trough), "
             "on-off:RATE:ON_S:OFF_S. max: each answer makes a request due. "
             "closed:CLIENTS:THINK_MS[:exponential]: each client waits for its answer and thinks "
             "before the next request."},
    {"arrival", FIELD_CHOICE, MEMBER(traffic.arrivals), "KIND", .choices = arrival_names,
     .help = "The distribution of requests over time: poisson or constant."},
    {"concurrency", FIELD_INTEGER, MEMBER(concurrency), "N", .min = 1, .max = 1000000,
     .initial = "connections times pipeline", .help = "Requests in flight, with --rate max."},
    {"connections", FIELD_INTEGER, MEMBER(connections), "N", .min = 1, .max = 10000,
     .help = "Connections of each workload."},
    {"pipeline", FIELD_INTEGER, MEMBER(pipeline), "N", .min = 1, .max = 64,
     .help = "Requests in flight on one connection."},
    {"outstanding", FIELD_INTEGER, MEMBER(outstanding_max), "N", .min = 1, .max = 10000000,
     .help = "The maximum number of unanswered requests. A request above it is not sent, and "
             "counts as client_overrun."},
    {"start", FIELD_SPAN, MEMBER(traffic.start_ns), "TIME",
     .help = "The time from the start of the run to that of the workload."},
    {"duration", FIELD_SPAN, MEMBER(duration_ns), "TIME", .min = 1,
     .initial = "10s; with --replay the whole trace", .help = "The duration of the workload."},
    {"ycsb", FIELD_PARSED, .form = "LETTER", .parse = take_ycsb, .early = true, .initial = "",
     .help = "The mix, distribution and item size of a YCSB core workload, A to F. In a workload "
             "group, name it before options that change a part of it."},
    {"mix", FIELD_PARSED, .form = "M", .parse = take_mix, .initial = "read-ratio and delete-ratio",
     .help = "Fractions of kinds of requests that add up to 1, such as "
             "read:0.7:update:0.1:insert:0.1:scan:0.1, also read-modify-write and delete. Then "
             "eventual:FRACTION (of reads, default 0) and scan-length:MAX (default 100)."},
    {"keys", FIELD_INTEGER, MEMBER(traffic.keys.count), "N", .min = 1, .max = INT64_C(10000000000),
     .help = "The number of keys."},
    {"distribution", FIELD_PARSED, MEMBER(traffic.keys), "D", .parse = load_keys_parse,
     .initial = "uniform",
     .help = "The distribution of keys: uniform, zipf:THETA, scrambled-zipf:THETA (the same, "
             "scattered "
             "over the keys), latest:THETA (the newest key most often), hotspot:FRACTION:KEYS, "
             "shifting:FRACTION:EVERY_S[:RANGES] (a hot range of keys that moves), sequential, "
             "single:KEY, collection:KEY (evenly over the sort keys of one partition key), "
             "append:KEY (one sort key after the other)."},
    {"item-bytes", FIELD_PARSED, MEMBER(traffic.sizes), "N", .parse = item_sizes_parse,
     .initial = "100",
     .help =
         "The size of an item in bytes, names and values together: a number, uniform:MIN:MAX, or "
         "twitter[:MEDIAN] (a heavy tail, median 230)."},
    {"read-ratio", FIELD_REAL, MEMBER(read_ratio), "R", .min = 0, .max = 1,
     .help = "The fraction of requests that read."},
    {"delete-ratio", FIELD_REAL, MEMBER(delete_ratio), "R", .min = 0, .max = 1,
     .help = "The fraction of writes that delete."},
    {"increments", FIELD_FLAG, MEMBER(increments),
     .help = "Writes are UpdateItems that add 1 to a counter in the item. item-bytes has no "
             "effect. With --history they request the sum (ReturnValues), which sharded counters "
             "refuse."},
    {"retry", FIELD_PARSED, MEMBER(retry), "MODEL", .parse = retry_parse, .initial = "none",
     .help = "The retries of a throttled or failed request: none, legacy, standard or adaptive "
             "(AWS SDKs before November 2026), standard-2026 or adaptive-2026 (after it), all with "
             ":ATTEMPTS, or sre-throttle[:K]. A workload is one client, with one retry quota."},
    {"replay", FIELD_NAME, MEMBER(replay), "FILE", .min = 1, .initial = "none",
     .help =
         "The requests of a trace, at its times: a recording of --record (of the same table), a "
         "Twitter cache trace, or weir:cache, which comes with weir. It replaces rate, mix, "
         "distribution and item-bytes."},
    {"replay-speed", FIELD_REAL, MEMBER(replay_speed), "F", .min = 0, .max = 1000000,
     .help = "The speed of a replay, divided by that of the recording."},
    {"condition", FIELD_NAME, MEMBER(condition), "EXPRESSION", EXPRESSION, .initial = "none",
     .help = "The ConditionExpression of every write, such as attribute_not_exists(pk). Writes "
             "whose condition is false count as failed, with a type of their own."},
    {"transact", FIELD_INTEGER, MEMBER(transact), "N", .min = 1, .max = 100, .initial = "none",
     .help = "Writes are TransactWriteItems of N puts: of the chosen key and of other keys."},
    {"consistent", FIELD_FLAG, MEMBER(consistent), .help = "Reads are strongly consistent."},
    {"queries", FIELD_FLAG, MEMBER(queries),
     .help = "Reads are Queries for the partition key, one page each."},
    {"filter", FIELD_NAME, MEMBER(filter), "EXPRESSION", EXPRESSION, .initial = "none",
     .help = "The FilterExpression of every Query."},
    {"key-name", FIELD_NAME, MEMBER(key_name), "NAME",
     .help = "The attribute of the partition key."},
    {"sort-key", FIELD_NAME, MEMBER(sort_name), "NAME", .initial = "none",
     .help = "The attribute of the sort key."},
    {"wcu", FIELD_INTEGER, MEMBER(wcu), "N", .min = 1, .max = 1000000,
     .help = "Write capacity units per second of a table that --create-table creates."},
    {"rcu", FIELD_INTEGER, MEMBER(rcu), "N", .min = 1, .max = 1000000,
     .help = "Read capacity units per second of a table that --create-table creates."},
    {"on-demand", FIELD_FLAG, MEMBER(on_demand),
     .help = "--create-table creates a table on demand, without wcu and rcu."},
    {"path", FIELD_NAME, MEMBER(path), "/PATH",
     .help = "Requests are plain HTTP GETs of this path, to measure another server."},
};

/* ---- options of the whole run ---- */

static const char *load_options_take_url(void *target, const char *value, struct buffer *error)
{
    struct load_options *o = target;
    if (o->url_count == LOAD_URLS_MAX) {
        buffer_append_format(error, "`--url` may be given at most %d times", LOAD_URLS_MAX);
        return "";
    }
    const char *allowed = client_url_parse(&o->urls[o->url_count], value);
    o->url_count += allowed == NULL;
    return allowed;
}

static const char *take_json(void *target, const char *value)
{
    struct load_options *o = target;
    if (value != NULL && *value == '\0')
        return "a FILE, or - for standard output";
    o->json = true;
    o->json_path = value != NULL && strcmp(value, "-") != 0 ? value : NULL;
    return NULL;
}

#undef MEMBER
#define MEMBER(member) FIELD_MEMBER(struct load_options, member)

static const char *take_policy(void *target, const char *value, struct buffer *error)
{
    const struct load_policies *p = ((struct load_options *)target)->policies;
    if (p == NULL)
        return "not available here";
    return p->load(p->policies, value, error) == STATUS_OK ? NULL : "";
}

static const struct field run_options[] = {
    {"url", FIELD_CUSTOM, .form = "URL", .take = load_options_take_url,
     .initial = "http://127.0.0.1:8000",
     .help = "A router, http://HOST:PORT. May be repeated: connections are spread over the "
             "routers, and move to the next one when their router dies."},
    {"create-table", FIELD_FLAG, MEMBER(create_table),
     .help = "Create missing tables, and wait until they are active."},
    {"preload", FIELD_FLAG, MEMBER(preload),
     .help = "Write every key once before the run. Refused writes are retried."},
    {"timeout", FIELD_SPAN, MEMBER(timeout_ns), "TIME", .min = 1,
     .help = "A request without an answer fails after this time."},
    {"seed", FIELD_INTEGER, MEMBER(seed), "N", .min = 0, .max = INT64_C(1) << 53,
     .help = "The seed of keys, sizes and arrivals."},
    {"history", FIELD_TEXT, MEMBER(history_path), "FILE",
     .help = "Write every request and its outcome to FILE, as JSON lines."},
    {"record", FIELD_TEXT, MEMBER(record_path), "FILE",
     .help = "Write every request with its time, key, size and outcome to FILE, for --replay."},
    {"record-salt", FIELD_TEXT, MEMBER(record_salt), "TEXT",
     .help = "Record hashes of keys under this salt in place of the keys."},
    {"policy", FIELD_CUSTOM, .form = "FILE", .take = take_policy, .early = true, .initial = "none",
     .help = "Load retry policies from this shared object (docs/guide-policies.md). --retry names "
             "them. --policy may be repeated."},
    {"unsigned", FIELD_FLAG, MEMBER(unsigned_requests),
     .help = "Omit the Authorization header, which has no valid signature anyway."},
    {"quiet", FIELD_FLAG, MEMBER(quiet), .help = "Print no progress."},
    {"json", FIELD_PARSED, .form = "[FILE]", .parse = take_json, .optional = true,
     .help = "Print the result as JSON, to FILE or to standard output."},
};

#undef MEMBER

/* ---- several workloads: NAME:option=value,option=value ---- */

struct load_parse {
    struct load_options *options;
    struct load_workload_options defaults;
    const char *groups[LOAD_WORKLOADS_MAX];
    int group_count;
};

static const char *take_workload(void *target, const char *value, struct buffer *error)
{
    struct load_parse *p = target;
    if (p->group_count == LOAD_WORKLOADS_MAX) {
        buffer_append_format(error, "`--workload` may be given at most %d times",
                             LOAD_WORKLOADS_MAX);
        return "";
    }
    p->groups[p->group_count++] = value;
    return NULL;
}

static const struct field group_options[] = {
    {"workload", FIELD_CUSTOM, .form = "NAME:...", .take = take_workload,
     .help = "One of several workloads that run at once: NAME:option=value,option=value. Options "
             "of a workload outside of a group apply to all groups."},
};

static enum status take_assignment(struct load_workload_options *w, char *assignment,
                                   struct buffer *error)
{
    char *value = strchr(assignment, '=');
    size_t name_size = value ? (size_t)(value - assignment) : strlen(assignment);
    const struct field *o =
        field_find(workload_options, COUNT_OF(workload_options), slice_make(assignment, name_size));
    buffer_append_format(error, "workload %s: ", w->name);
    if (o == NULL)
        return buffer_explain(error, STATUS_MALFORMED, "there is no option `%.*s`", (int)name_size,
                              assignment);
    if (!option_take(o, w, value ? value + 1 : "", "", error))
        return STATUS_MALFORMED;
    buffer_clear(error);
    return STATUS_OK;
}

static enum status parse_group(struct load_workload_options *w, const char *text,
                               struct buffer *error)
{
    const char *colon = strchr(text, ':');
    size_t size = colon ? (size_t)(colon - text) : strlen(text);
    bool ok = size > 0 && size < sizeof w->name;
    for (size_t i = 0; ok && i < size; i++)
        ok = isalnum((unsigned char)text[i]) || text[i] == '-' || text[i] == '_';
    if (!ok)
        return buffer_explain(error, STATUS_MALFORMED,
                              "--workload %s: expected NAME:option=value,... with a name of up to "
                              "31 letters, digits, - and _",
                              text);
    memcpy(w->name, text, size);
    w->name[size] = 0;
    char *copy = strdup(colon ? colon + 1 : ""), *rest = copy, *assignment;
    must(copy != NULL);
    enum status status = STATUS_OK;
    while (status == STATUS_OK && (assignment = strsep(&rest, ",")) != NULL)
        if (*assignment != 0)
            status = take_assignment(w, assignment, error);
    free(copy);
    return status;
}

static void set_mix(struct load_workload_options *w)
{
    struct traffic_mix *m = &w->traffic.mix;
    if (!w->has_mix) {
        *m = (struct traffic_mix){.eventual = w->consistent ? 0 : 1, .scan_length_max = 1};
        m->fraction[TRAFFIC_READ] = w->read_ratio;
        m->fraction[TRAFFIC_DELETE] = (1 - w->read_ratio) * w->delete_ratio;
        m->fraction[TRAFFIC_UPDATE] = (1 - w->read_ratio) * (1 - w->delete_ratio);
    } else if (w->consistent) {
        m->eventual = 0;
    }
}

static void set_clients(struct load_workload_options *w)
{
    if (w->as_fast_as_possible)
        w->traffic.clients.count =
            w->concurrency > 0 ? w->concurrency : w->connections * w->pipeline;
    if (w->replay[0] != 0)
        w->traffic.clients.count = 0;
    if (w->duration_ns == 0)
        w->duration_ns = w->replay[0] != 0 ? INT64_C(1000000000) * NS_PER_S : 10 * NS_PER_S;
    w->traffic.end_ns = w->traffic.start_ns + w->duration_ns;
}

static enum status check_workload(struct load_workload_options *w, struct buffer *error)
{
    struct traffic_options *t = &w->traffic;
    const char *wrong = load_keys_check(&t->keys);
    if (load_keys_share_one(&t->keys) && w->sort_name[0] == 0)
        wrong = "collection:KEY and append:KEY need a table with a sort key: --sort-key NAME";
    if (w->increments && w->delete_ratio > 0)
        wrong = "increments: counters cannot be deleted: omit delete-ratio";
    if (w->transact > 0 && (w->traffic.mix.fraction[TRAFFIC_INSERT] > 0 || w->replay[0] != 0))
        wrong = "transact: its writes use existing keys: omit inserts and traces";
    if (w->transact > 0 && w->increments)
        wrong = "transact: its writes are puts: omit increments";
    if ((uint64_t)w->transact > t->keys.count)
        wrong = "transact: the items of a transaction differ: choose more keys";
    if (w->filter[0] != 0 && !w->queries)
        wrong = "filter: only Queries have a filter: add queries";
    if (w->has_mix && (w->read_ratio > 0 || w->delete_ratio > 0))
        wrong = "mix: it includes read-ratio and delete-ratio: omit these";
    if (w->replay[0] != 0 && w->replay_speed == 0)
        wrong = "replay-speed must be above 0";
    if (w->path[0] != 0 && w->path[0] != '/')
        wrong = "path must begin with /";
    if (wrong != NULL)
        return buffer_explain(error, STATUS_MALFORMED, "workload %s: %s", w->name, wrong);
    set_mix(w);
    set_clients(w);
    int64_t min = load_item_bytes_min(w);
    if (w->path[0] != 0 || w->replay[0] != 0 || t->sizes.kind == ITEM_SIZES_TWITTER ||
        t->sizes.min >= min)
        return STATUS_OK;
    return buffer_explain(
        error, STATUS_MALFORMED,
        "workload %s: item-bytes=%lld: an item with this key has at least %lld bytes", w->name,
        (long long)t->sizes.min, (long long)min);
}

/* Workload groups come last: options on the command line itself hold for all groups. */
static enum status add_workloads(struct load_parse *p, struct buffer *error)
{
    struct load_options *o = p->options;
    o->workload_count = p->group_count ? p->group_count : 1;
    for (int i = 0; i < o->workload_count; i++) {
        struct load_workload_options *w = &o->workloads[i];
        *w = p->defaults;
        if (p->group_count && parse_group(w, p->groups[i], error) != STATUS_OK)
            return STATUS_MALFORMED;
        for (int other = 0; other < i; other++)
            if (strcmp(w->name, o->workloads[other].name) == 0)
                return buffer_explain(error, STATUS_MALFORMED, "two workloads are called %s",
                                      w->name);
        w->returns_sum = o->history_path != NULL;
        if (w->retry.policy != NULL && strcmp(w->retry.policy->name, "none") == 0)
            w->retry.policy = NULL;
        if (check_workload(w, error) != STATUS_OK)
            return STATUS_MALFORMED;
    }
    return STATUS_OK;
}

static bool load_reads_many(const struct load_workload_options *w)
{
    return w->queries || w->replay[0] != 0 || w->traffic.mix.fraction[TRAFFIC_SCAN] > 0;
}

static const char about[] =
    "Generates load for a DynamoDB endpoint and measures it. Requests start when they are due, "
    "even if earlier ones have no answer. Latency counts from the due time, so it includes stalls "
    "of the server. There are no retries without --retry. Numbers may end in k (1000) or M "
    "(1000000).\n\n"
    "`unfinished` counts requests without an answer at the end of the run. `client_overrun` counts "
    "requests that were not sent because --outstanding requests were unanswered. `client_rejected` "
    "counts requests that the client gave up before an attempt.\n\n"
    "Exit code 0: done; 1: the run failed, or no request succeeded or was throttled; 2: wrong "
    "usage.\n";

static const char examples[] =
    "  weir load --create-table --wcu 1000 --rate 1500 --duration 30s\n"
    "  weir load --rate max --concurrency 64 --read-ratio 1 --preload \\\n"
    "      --json result.json\n"
    "  weir load --url http://127.0.0.1:8000 --url http://127.0.0.1:8001 \\\n"
    "      --create-table --rate 2000 --connections 64 --outstanding 64 --keys 8 \\\n"
    "      --read-ratio 0.5 --consistent --preload --history run.jsonl\n"
    "  weir check-history run.jsonl\n"
    "  weir load --create-table --table hits --increments \\\n"
    "      --distribution single:page --rate max --history hits.jsonl\n"
    "  weir load --create-table --table claims --rate 500 \\\n"
    "      --condition 'attribute_not_exists(pk)'\n"
    "  weir load --create-table --duration 20s \\\n"
    "      --workload one:table=one,wcu=100,rate=150 \\\n"
    "      --workload two:table=two,on-demand,rate=5k\n"
    "  weir load --create-table --on-demand --ycsb A --rate diurnal:500:4.3:60 \\\n"
    "      --duration 60s\n"
    "  weir load --create-table --wcu 200 --rate spike:100:2k:5:5 --duration 20s \\\n"
    "      --distribution shifting:0.6:10 --retry standard-2026 --record run.trace\n"
    "  weir load --create-table --wcu 400 --replay run.trace --replay-speed 2\n"
    "  weir load --table orders --duration 20s \\\n"
    "      --workload base:rate=3000,distribution=uniform \\\n"
    "      --workload hot:rate=5000,distribution=single:popular,start=5s\n";

enum command_line_result load_options_parse(struct load_options *o, int argc, char **argv,
                                            const struct load_policies *policies,
                                            struct buffer *text)
{
    *o = (struct load_options){.timeout_ns = 10 * NS_PER_S, .seed = 1, .policies = policies};
    struct load_parse p = {
        .options = o,
        .defaults = {.name = "main",
                     .retry.policies = policies == NULL ? NULL : policies->policies,
                     .table = "load",
                     .key_name = "pk",
                     .traffic = traffic_defaults(),
                     .replay_speed = 1,
                     .connections = 32,
                     .pipeline = 1,
                     .outstanding_max = 10000,
                     .rcu = 1000,
                     .wcu = 1000}};
    const struct command_line line = {
        .command = "weir load",
        .usage = "[option]...",
        .about = about,
        .examples = examples,
        .groups = {OPTION_GROUP("the run", run_options, o),
                   OPTION_GROUP("the workload", workload_options, &p.defaults),
                   OPTION_GROUP("several workloads", group_options, &p)}};
    enum command_line_result result = command_line_read(&line, argc, argv, text);
    if (result != COMMAND_LINE_TAKEN)
        return result;
    if (o->url_count == 0)
        o->urls[o->url_count++] = (struct client_url){.host = "127.0.0.1", .port = 8000};
    if (add_workloads(&p, text) != STATUS_OK)
        return COMMAND_LINE_WRONG;
    for (int i = 0; i < o->workload_count; i++)
        if (o->history_path != NULL && load_reads_many(&o->workloads[i])) {
            buffer_append_format(text,
                                 "workload %s: queries: a history has reads of single items: omit "
                                 "queries, scans and traces, or --history",
                                 o->workloads[i].name);
            return COMMAND_LINE_WRONG;
        }
    return COMMAND_LINE_TAKEN;
}
