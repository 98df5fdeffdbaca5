#include "cmd/load_options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/instant.h"
#include "base/must.h"
#include "cmd/arguments.h"
#include "host/address.h"

/* ---- values ---- */

/* 1500, 2.5k, 3M; k and M are 1,000 and 1,000,000. */
static bool parse_number(const char *text, double *out)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text)
        return false;
    if (*end == 'k')
        value *= 1e3, end++;
    else if (*end == 'M')
        value *= 1e6, end++;
    *out = value;
    return *end == 0 && isfinite(value);
}

static bool parse_integer(const char *text, int64_t least, int64_t most, int64_t *out)
{
    double value;
    if (!parse_number(text, &value) || value != floor(value))
        return false;
    if (value < (double)least || value > (double)most)
        return false;
    *out = (int64_t)value;
    return true;
}

/* 10, 10s, 500ms, 2m, 1h; seconds without a unit. */
static bool parse_span(const char *text, int64_t *out_ns)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || !isfinite(value) || value < 0)
        return false;
    if (strcmp(end, "ms") == 0)
        value /= 1000;
    else if (strcmp(end, "m") == 0)
        value *= 60;
    else if (strcmp(end, "h") == 0)
        value *= 3600;
    else if (strcmp(end, "s") != 0 && *end != 0)
        return false;
    if (value > 1e7)
        return false;
    *out_ns = (int64_t)(value * 1e9);
    return true;
}

static bool parse_flag(const char *text, bool *out)
{
    *out = strcmp(text, "true") == 0 || *text == 0;
    return *out || strcmp(text, "false") == 0;
}

static bool copy_text(const char *text, char *out, size_t capacity)
{
    size_t size = strlen(text);
    for (size_t i = 0; i < size; i++)
        if (text[i] <= ' ' || text[i] == '"' || text[i] == '\\' || text[i] == 127)
            return false;
    if (size == 0 || size >= capacity)
        return false;
    memcpy(out, text, size + 1);
    return true;
}

/* ---- settings of a workload: NULL if taken, otherwise what the value may be ---- */

static const char *set_table(struct load_workload_options *w, const char *v)
{
    bool ok = copy_text(v, w->table, sizeof w->table) && strlen(v) >= TABLE_NAME_SIZE_MIN;
    return ok ? NULL : "a table name of 3 to 255 characters";
}

static const char *set_rate(struct load_workload_options *w, const char *v)
{
    if (strcmp(v, "max") == 0) {
        w->rate = 0;
        return NULL;
    }
    bool ok = parse_number(v, &w->rate) && w->rate > 0 && w->rate <= 1e7;
    return ok ? NULL : "requests per second above 0, such as 500 or 2.5k, or `max`";
}

static const char *set_arrival(struct load_workload_options *w, const char *v)
{
    w->arrival = strcmp(v, "constant") == 0 ? LOAD_ARRIVAL_CONSTANT : LOAD_ARRIVAL_POISSON;
    bool ok = w->arrival == LOAD_ARRIVAL_CONSTANT || strcmp(v, "poisson") == 0;
    return ok ? NULL : "poisson or constant";
}

static const char *set_concurrency(struct load_workload_options *w, const char *v)
{
    return parse_integer(v, 1, 1000000, &w->concurrency) ? NULL : "1 to 1000000";
}

static const char *set_connections(struct load_workload_options *w, const char *v)
{
    return parse_integer(v, 1, 10000, &w->connections) ? NULL : "1 to 10000";
}

static const char *set_pipeline(struct load_workload_options *w, const char *v)
{
    return parse_integer(v, 1, 64, &w->pipeline) ? NULL : "1 to 64";
}

static const char *set_outstanding(struct load_workload_options *w, const char *v)
{
    return parse_integer(v, 1, 10000000, &w->outstanding_max) ? NULL : "1 to 10000000";
}

static const char *set_start(struct load_workload_options *w, const char *v)
{
    return parse_span(v, &w->start_ns) ? NULL : "a time after the start, such as 5s or 500ms";
}

static const char *set_duration(struct load_workload_options *w, const char *v)
{
    bool ok = parse_span(v, &w->duration_ns) && w->duration_ns > 0;
    return ok ? NULL : "a time above 0, such as 30s or 5m";
}

static const char *set_keys(struct load_workload_options *w, const char *v)
{
    int64_t count;
    if (!parse_integer(v, 1, INT64_C(10000000000), &count))
        return "1 to 10000000000";
    w->keys.count = (uint64_t)count;
    return NULL;
}

static const char *set_distribution(struct load_workload_options *w, const char *v)
{
    return load_keys_parse(&w->keys, v);
}

static const char *set_item_bytes(struct load_workload_options *w, const char *v)
{
    char low[32];
    const char *dash = strchr(v, '-'), *high = v;
    if (dash != NULL && (size_t)(dash - v) < sizeof low) {
        memcpy(low, v, (size_t)(dash - v));
        low[dash - v] = 0;
        v = low;
        high = dash + 1;
    }
    bool ok = parse_integer(v, 1, ITEM_SIZE_MAX, &w->item_bytes_min) &&
              parse_integer(high, w->item_bytes_min, ITEM_SIZE_MAX, &w->item_bytes_max);
    return ok ? NULL : "bytes up to 409600, such as 900, or a range such as 100-4000";
}

static const char *set_read_ratio(struct load_workload_options *w, const char *v)
{
    bool ok = parse_number(v, &w->read_ratio) && w->read_ratio >= 0 && w->read_ratio <= 1;
    return ok ? NULL : "0 (writes only) to 1 (reads only)";
}

static const char *set_delete_ratio(struct load_workload_options *w, const char *v)
{
    bool ok = parse_number(v, &w->delete_ratio) && w->delete_ratio >= 0 && w->delete_ratio <= 1;
    return ok ? NULL : "0 (puts only) to 1 (deletes only)";
}

static const char *set_consistent(struct load_workload_options *w, const char *v)
{
    return parse_flag(v, &w->consistent) ? NULL : "true or false";
}

static const char *set_key_name(struct load_workload_options *w, const char *v)
{
    return copy_text(v, w->key_name, sizeof w->key_name) ? NULL : "an attribute name";
}

static const char *set_sort_key(struct load_workload_options *w, const char *v)
{
    return copy_text(v, w->sort_name, sizeof w->sort_name) ? NULL : "an attribute name";
}

static const char *set_path(struct load_workload_options *w, const char *v)
{
    bool ok = copy_text(v, w->path, sizeof w->path) && v[0] == '/';
    return ok ? NULL : "a path that begins with /";
}

static const char *set_rcu(struct load_workload_options *w, const char *v)
{
    return parse_integer(v, 1, 1000000, &w->rcu) ? NULL : "1 to 1000000";
}

static const char *set_wcu(struct load_workload_options *w, const char *v)
{
    return parse_integer(v, 1, 1000000, &w->wcu) ? NULL : "1 to 1000000";
}

static const char *set_on_demand(struct load_workload_options *w, const char *v)
{
    return parse_flag(v, &w->on_demand) ? NULL : "true or false";
}

struct workload_setting {
    const char *name;
    const char *value; /* its shape in the help; NULL for a flag */
    const char *(*set)(struct load_workload_options *w, const char *value);
    const char *help;
};

static const struct workload_setting workload_settings[] = {
    {"table", "T", set_table, "table to use; `load` by default"},
    {"rate", "N|max", set_rate, "requests per second, 100 by default; max: as answers come back"},
    {"arrival", "KIND", set_arrival, "poisson (default) or constant"},
    {"concurrency", "N", set_concurrency, "with rate max: requests on their way at any time"},
    {"connections", "N", set_connections, "of each workload, 32 by default"},
    {"pipeline", "N", set_pipeline, "requests on their way on one connection, 1 by default"},
    {"outstanding", "N", set_outstanding,
     "most requests begun and unanswered, 10000 by default;"
     " what would exceed it counts as client_overrun"},
    {"start", "TIME", set_start, "begin that long after the others"},
    {"duration", "TIME", set_duration, "10s by default"},
    {"keys", "N", set_keys, "number of keys, 10000 by default"},
    {"distribution", "D", set_distribution,
     "uniform, zipf:THETA, hotspot:FRACTION:KEYS, sequential, single:KEY,"
     " collection:KEY (evenly over the sort keys of one partition key),"
     " append:KEY (one sort key after the other)"},
    {"item-bytes", "N|LO-HI", set_item_bytes, "size of an item, names and values; 100 by default"},
    {"read-ratio", "R", set_read_ratio, "part of the requests that read, 0 by default"},
    {"delete-ratio", "R", set_delete_ratio, "part of the writes that delete, 0 by default"},
    {"consistent", NULL, set_consistent, "strongly consistent reads"},
    {"key-name", "NAME", set_key_name, "the partition key's attribute, `pk` by default"},
    {"sort-key", "NAME", set_sort_key, "the sort key's attribute; the table has none by default"},
    {"wcu", "N", set_wcu, "with --create-table: write units per second, 1000 by default"},
    {"rcu", "N", set_rcu, "with --create-table: read units per second, 1000 by default"},
    {"on-demand", NULL, set_on_demand,
     "with --create-table: an on-demand table, without wcu and rcu"},
    {"path", "/PATH", set_path, "plain HTTP GETs of that path, to measure another server"},
};

enum {
    WORKLOAD_SETTINGS = sizeof workload_settings / sizeof workload_settings[0]
};

static const struct workload_setting *find_setting(struct slice name)
{
    for (int i = 0; i < WORKLOAD_SETTINGS; i++)
        if (slice_is(name, workload_settings[i].name))
            return &workload_settings[i];
    return NULL;
}

/* ---- groups: NAME:key=value,key=value ---- */

static enum status set_from_group(struct load_workload_options *w, char *assignment,
                                  struct buffer *error)
{
    char *value = strchr(assignment, '=');
    size_t name_size = value ? (size_t)(value - assignment) : strlen(assignment);
    const struct workload_setting *s = find_setting(slice_make(assignment, name_size));
    if (s == NULL) {
        buffer_append_format(error, "workload %s: there is no setting `%.*s`", w->name,
                             (int)name_size, assignment);
        return STATUS_MALFORMED;
    }
    const char *wrong = s->set(w, value ? value + 1 : "");
    if (wrong != NULL) {
        buffer_append_format(error, "workload %s: %s=%s: expected %s", w->name, s->name,
                             value ? value + 1 : "", wrong);
        return STATUS_MALFORMED;
    }
    return STATUS_OK;
}

static enum status parse_group(struct load_workload_options *w, const char *text,
                               struct buffer *error)
{
    const char *colon = strchr(text, ':');
    size_t size = colon ? (size_t)(colon - text) : strlen(text);
    bool ok = size > 0 && size < sizeof w->name;
    for (size_t i = 0; ok && i < size; i++)
        ok = (text[i] >= 'a' && text[i] <= 'z') || (text[i] >= 'A' && text[i] <= 'Z') ||
             (text[i] >= '0' && text[i] <= '9') || text[i] == '-' || text[i] == '_';
    if (!ok) {
        buffer_append_format(error,
                             "--workload %s: expected NAME:setting=value,... with a name of up to "
                             "31 letters, digits, - and _",
                             text);
        return STATUS_MALFORMED;
    }
    memcpy(w->name, text, size);
    w->name[size] = 0;
    char *copy = strdup(colon ? colon + 1 : ""), *rest = copy, *assignment;
    must(copy != NULL);
    enum status status = STATUS_OK;
    while (status == STATUS_OK && (assignment = strsep(&rest, ",")) != NULL)
        if (*assignment != 0)
            status = set_from_group(w, assignment, error);
    free(copy);
    return status;
}

/* ---- URLs ---- */

bool load_url_parse(const char *text, struct load_url *out)
{
    struct buffer host = {0};
    if (strncmp(text, "http://", 7) != 0)
        return false;
    struct slice rest = slice_of(text + 7);
    if (rest.size > 0 && rest.data[rest.size - 1] == '/')
        rest.size--;
    bool ok = address_parse(rest, &host, &out->port) == STATUS_OK && host.size < sizeof out->host;
    if (ok)
        memcpy(out->host, host.data, host.size + 1);
    buffer_deinit(&host);
    return ok;
}

static const char *add_url(struct load_options *o, const char *v)
{
    if (o->url_count == LOAD_URLS_MAX || !load_url_parse(v, &o->urls[o->url_count]))
        return "http://HOST:PORT";
    o->url_count++;
    return NULL;
}

/* ---- options of the whole run ---- */

static const char *set_url(struct load_options *o, const char *v)
{
    return add_url(o, v);
}

static const char *set_timeout(struct load_options *o, const char *v)
{
    return parse_span(v, &o->timeout_ns) && o->timeout_ns > 0 ? NULL : "a time above 0, as 5s";
}

static const char *set_seed(struct load_options *o, const char *v)
{
    int64_t seed;
    if (!parse_integer(v, 0, INT64_C(1) << 53, &seed))
        return "a whole number";
    o->seed = (uint64_t)seed;
    return NULL;
}

static const char *set_history(struct load_options *o, const char *v)
{
    o->history_path = v;
    return *v ? NULL : "a file";
}

struct run_setting {
    const char *name;
    const char *value;
    const char *(*set)(struct load_options *o, const char *value);
    size_t flag_offset; /* of a flag's bool */
    const char *help;
};

#define FLAG(name, member, help)                                      \
    {                                                                 \
        name, NULL, NULL, offsetof(struct load_options, member), help \
    }

static const struct run_setting run_settings[] = {
    {"url", "URL", set_url, 0,
     "http://127.0.0.1:8000 by default; repeat it to spread over routers,"
     " whose connections move to the next when one dies"},
    FLAG("create-table", create_table, "create the tables that are missing, and wait for them"),
    FLAG("preload", preload, "write every key once before the run (refusals are tried again)"),
    {"timeout", "TIME", set_timeout, 0, "a request fails after this, 10s by default"},
    {"seed", "N", set_seed, 0, "of keys, sizes and arrivals, 1 by default"},
    {"history", "FILE", set_history, 0, "write every request and its outcome as JSON lines"},
    FLAG("unsigned", unsigned_requests, "leave out the (dummy) Authorization header"),
    FLAG("quiet", quiet, "no progress lines"),
    FLAG("help", help, "this text"),
};

enum {
    RUN_SETTINGS = sizeof run_settings / sizeof run_settings[0]
};

/* ---- the command line ---- */

struct parse {
    struct load_options *options;
    struct load_workload_options defaults;
    const char *groups[LOAD_WORKLOADS_MAX];
    int group_count;
    struct buffer *error;
};

enum {
    OPTION_WORKLOAD_GROUP = WORKLOAD_SETTINGS + RUN_SETTINGS,
    OPTION_JSON_RESULT,
    OPTION_COUNT
};

/* Settings of a workload, then those of the run, then the two that are neither. */
static void list_options(struct argument_spec out[OPTION_COUNT])
{
    int count = 0;
    for (int i = 0; i < WORKLOAD_SETTINGS; i++, count++)
        out[count] = (struct argument_spec){
            workload_settings[i].name,
            workload_settings[i].value ? ARGUMENT_VALUE : ARGUMENT_SWITCH, count};
    for (int i = 0; i < RUN_SETTINGS; i++, count++)
        out[count] = (struct argument_spec){
            run_settings[i].name, run_settings[i].value ? ARGUMENT_VALUE : ARGUMENT_SWITCH, count};
    out[OPTION_WORKLOAD_GROUP] =
        (struct argument_spec){"workload", ARGUMENT_VALUE, OPTION_WORKLOAD_GROUP};
    out[OPTION_JSON_RESULT] = (struct argument_spec){"json", ARGUMENT_OPTIONAL, OPTION_JSON_RESULT};
}

/* NULL if it was taken, otherwise what it may be. */
static const char *take_option(struct parse *p, int option, const char *value)
{
    struct load_options *o = p->options;
    if (option < WORKLOAD_SETTINGS)
        return workload_settings[option].set(&p->defaults, value ? value : "");
    if (option < OPTION_WORKLOAD_GROUP) {
        const struct run_setting *r = &run_settings[option - WORKLOAD_SETTINGS];
        if (r->set != NULL)
            return r->set(o, value);
        bool *flag = (bool *)((char *)o + r->flag_offset);
        return parse_flag(value ? value : "", flag) ? NULL : "true or false";
    }
    if (option == OPTION_WORKLOAD_GROUP) {
        if (p->group_count == LOAD_WORKLOADS_MAX)
            return "it at most 16 times";
        p->groups[p->group_count++] = value;
        return NULL;
    }
    o->json = true;
    o->json_path = value != NULL && strcmp(value, "-") != 0 ? value : NULL;
    return NULL;
}

static enum status parse_options(struct parse *p, int argc, char **argv)
{
    struct argument_spec specs[OPTION_COUNT];
    list_options(specs);
    struct arguments a = {specs, OPTION_COUNT, argc, argv, 1};
    const char *value, *wrong = NULL;
    int option = ARGUMENTS_END;
    while (wrong == NULL && (option = arguments_next(&a, &value, p->error)) >= 0) {
        wrong = take_option(p, option, value);
        if (wrong != NULL)
            buffer_append_format(p->error, "--%s %s: expected %s", specs[option].name,
                                 value ? value : "", wrong);
    }
    if (wrong == NULL && option == ARGUMENTS_WORD)
        buffer_append_format(p->error, "unexpected argument `%s`; see `weir load --help`", value);
    return wrong == NULL && option == ARGUMENTS_END ? STATUS_OK : STATUS_MALFORMED;
}

/* Groups come last: what stands on the command line itself holds for all of them. */
static enum status add_workloads(struct parse *p)
{
    struct load_options *o = p->options;
    o->workload_count = p->group_count ? p->group_count : 1;
    for (int i = 0; i < o->workload_count; i++) {
        struct load_workload_options *w = &o->workloads[i];
        *w = p->defaults;
        if (p->group_count && parse_group(w, p->groups[i], p->error) != STATUS_OK)
            return STATUS_MALFORMED;
        for (int other = 0; other < i; other++)
            if (strcmp(w->name, o->workloads[other].name) == 0) {
                buffer_append_format(p->error, "two workloads are called %s", w->name);
                return STATUS_MALFORMED;
            }
        if (w->concurrency == 0)
            w->concurrency = w->connections * w->pipeline;
        const char *wrong = load_keys_start(&w->keys);
        if (load_keys_share_one(&w->keys) && w->sort_name[0] == 0)
            wrong = "collection:KEY and append:KEY need a table with a sort key: --sort-key NAME";
        if (wrong != NULL) {
            buffer_append_format(p->error, "workload %s: %s", w->name, wrong);
            return STATUS_MALFORMED;
        }
    }
    return STATUS_OK;
}

enum status load_options_parse(struct load_options *o, int argc, char **argv, struct buffer *error)
{
    *o = (struct load_options){.timeout_ns = 10 * NS_PER_S, .seed = 1};
    struct parse p = {.options = o,
                      .error = error,
                      .defaults = {.name = "main",
                                   .table = "load",
                                   .key_name = "pk",
                                   .rate = 100,
                                   .connections = 32,
                                   .pipeline = 1,
                                   .outstanding_max = 10000,
                                   .duration_ns = 10 * NS_PER_S,
                                   .keys = {.count = 10000},
                                   .rcu = 1000,
                                   .wcu = 1000,
                                   .item_bytes_min = 100,
                                   .item_bytes_max = 100}};
    if (parse_options(&p, argc, argv) != STATUS_OK)
        return STATUS_MALFORMED;
    if (o->url_count == 0)
        add_url(o, "http://127.0.0.1:8000");
    return add_workloads(&p);
}

static void describe(struct buffer *out, const char *name, const char *value, const char *help)
{
    char left[40];
    snprintf(left, sizeof left, "--%s %s", name, value ? value : "");
    buffer_append_format(out, "  %-22s %s\n", left, help);
}

void load_options_help(struct buffer *out)
{
    buffer_append_text(
        out,
        "weir load - put load on a DynamoDB endpoint and measure it\n\n"
        "Requests start when they are due, whether or not earlier ones were answered, and latency\n"
        "counts from that moment: a server that stalls cannot hide it. Nothing is tried again.\n"
        "Numbers may end in k (1000) or M (1000000). `unfinished` counts requests that had no\n"
        "answer when the run ended. `client_overrun` counts requests that were due while\n"
        "--outstanding requests were unanswered: they were not sent.\n"
        "Exit code 0: done; 1: the run failed, or no request was answered well or throttled;\n"
        "2: wrong usage.\n\n"
        "The run:\n");
    for (int i = 0; i < RUN_SETTINGS; i++)
        describe(out, run_settings[i].name, run_settings[i].value, run_settings[i].help);
    describe(out, "json", "[FILE]", "the result as JSON, on standard output without FILE");
    buffer_append_text(out, "\nThe workload:\n");
    for (int i = 0; i < WORKLOAD_SETTINGS; i++)
        describe(out, workload_settings[i].name, workload_settings[i].value,
                 workload_settings[i].help);
    describe(out, "workload", "NAME:...", "one of several workloads at once: setting=value,...;");
    buffer_append_text(
        out,
        "                         settings outside of it hold for all\n\n"
        "Examples:\n"
        "  weir load --create-table --wcu 1000 --rate 1500 --duration 30s\n"
        "  weir load --rate max --concurrency 64 --read-ratio 1 --preload --json result.json\n"
        "  weir load --url http://127.0.0.1:8000 --url http://127.0.0.1:8001 --create-table \\\n"
        "      --rate 2000 --connections 64 --outstanding 64 --keys 8 --read-ratio 0.5 \\\n"
        "      --consistent --preload --history run.jsonl\n"
        "  weir check-history run.jsonl\n"
        "  weir load --create-table --duration 20s --workload one:table=one,wcu=100,rate=150 \\\n"
        "      --workload two:table=two,on-demand,rate=5k\n"
        "  weir load --table orders --duration 20s \\\n"
        "      --workload base:rate=3000,distribution=uniform \\\n"
        "      --workload hot:rate=5000,distribution=single:popular,start=5s\n");
}
