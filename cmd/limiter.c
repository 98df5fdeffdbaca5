/* limiter.c - `weir limiter`: limits and buckets of the rate limiter, over HTTP
 * (docs/limiter-api.yaml). */
#include <math.h>
#include <stdio.h>

#include "cmd/cmd.h"
#include "cmd/limit_text.h"
#include "cmd/server_call.h"
#include "cmd/usage.h"
#include "engine/limiter/bucket.h"
#include "router/json/json_writer.h"

static const char about[] =
    "Shows and changes token buckets of the rate limiter, through a router.\n\n"
    "  status   the shards of a bucket and the tokens of each limit\n"
    "  set      sets the limits of a level, by --entity, --resource, both or neither\n"
    "  reset    fills all limits of a bucket\n"
    "  top      the buckets with the most requests at this router\n\n"
    "A limit is NAME=CAPACITY/PERIOD[:REFILL]: the maximum number of tokens in a bucket, and the "
    "tokens refilled in each period. The default of REFILL is the capacity. PERIOD has the unit "
    "ms, s, m, h or d. New limits replace all limits of the level.\n\n"
    "Exit code 0: done; 1: the router did not answer, or refused; 2: wrong usage.\n";

enum limiter_verb_word {
    VERB_NONE,
    VERB_STATUS,
    VERB_SET,
    VERB_RESET,
    VERB_TOP
};
#define VERBS_EXPECTED "status, set, reset or top"
static const char *const verbs[] = {"", "status", "set", "reset", "top", NULL};
static const char *const verb_requests[] = {[VERB_STATUS] = "GET /limiter/v1/status",
                                            [VERB_SET] = "PUT /limiter/v1/limits",
                                            [VERB_RESET] = "POST /limiter/v1/reset",
                                            [VERB_TOP] = "GET /limiter/v1/top"};

static const char *const without_store[] = {"allow", "block", NULL};
enum {
    WITHOUT_STORE_UNSET = COUNT_OF(without_store) - 1
};

struct limiter_line {
    struct client_url url;
    enum limiter_verb_word verb;
    const char *name_space, *entity, *resource; /* NULL: not given */
    struct limit_text limits[LIMITER_LIMITS_MAX];
    uint32_t limit_count;
    uint32_t on_unavailable; /* place in `without_store` */
    int64_t count;
    bool json;
    struct json_parser *parser;
};

/* ---- requests ---- */

static void limiter_add_parameter(struct buffer *path, const char *name, const char *value)
{
    if (value == NULL)
        return;
    const bool first = memchr(path->data, '?', path->size) == NULL;
    buffer_append_format(path, "%c%s=", first ? '?' : '&', name);
    client_write_percent(path, slice_of(value));
}

static bool limiter_get(const struct limiter_line *l, struct buffer *answer)
{
    struct buffer path = {0}, request = {0};
    buffer_append_text(&path, verb_requests[l->verb]);
    limiter_add_parameter(&path, "namespace", l->name_space);
    limiter_add_parameter(&path, "entity", l->entity);
    limiter_add_parameter(&path, "resource", l->resource);
    if (l->verb == VERB_TOP)
        buffer_append_format(&path, "%ccount=%lld", l->name_space == NULL ? '?' : '&',
                             (long long)l->count);
    buffer_append_u8(&path, 0);
    client_write_plain(&request, &l->url, (const char *)path.data, NULL);
    const bool done = server_call("weir limiter", &l->url, &request, answer);
    buffer_deinit(&path);
    buffer_deinit(&request);
    return done;
}

static void limiter_member(struct buffer *body, const char *name, const char *value)
{
    if (value != NULL)
        json_member_text(body, name, value);
}

static bool limiter_send(const struct limiter_line *l, struct buffer *answer)
{
    struct buffer body = {0}, request = {0};
    json_write_open(&body, '{');
    limiter_member(&body, "namespace", l->name_space);
    limiter_member(&body, "entity", l->entity);
    limiter_member(&body, "resource", l->resource);
    if (l->verb == VERB_SET)
        json_member_open(&body, "limits", '[');
    for (uint32_t i = 0; i < l->limit_count; i++) {
        const struct limit_text *limit = &l->limits[i];
        json_write_open(&body, '{');
        json_member_string(&body, "name", limit->name);
        json_member_thousandths(&body, "capacity", limit->capacity);
        json_member_thousandths(&body, "refill_amount", limit->refill);
        json_member_integer(&body, "refill_period_ms", limit->period_ms);
        json_write_close(&body, '}');
    }
    if (l->verb == VERB_SET)
        json_write_close(&body, ']');
    if (l->on_unavailable != WITHOUT_STORE_UNSET)
        json_member_text(&body, "on_unavailable", without_store[l->on_unavailable]);
    json_write_close(&body, '}');
    client_write_json(&request, &l->url, verb_requests[l->verb], NULL, buffer_slice(&body));
    const bool done = server_call("weir limiter", &l->url, &request, answer);
    buffer_deinit(&body);
    buffer_deinit(&request);
    return done;
}

/* ---- what is shown ---- */

static double limiter_number_of(const struct json_value *v)
{
    if (v->type == JSON_INTEGER)
        return (double)json_integer(v);
    return v->type == JSON_DECIMAL ? json_decimal(v) : 0;
}

static double limiter_number(const struct json_value *object, const char *name)
{
    const struct json_value v = json_find(object, name);
    return limiter_number_of(&v);
}

static long long limiter_count_of(const struct json_value *object, const char *name)
{
    return (long long)limiter_number(object, name);
}

/* A number of tokens, to the right of a column. */
static void limiter_show_tokens(double tokens)
{
    struct buffer text = {0};
    limit_text_write(&text, llround(tokens * 1000));
    printf("  %14.*s", TEXT_OF(text));
    buffer_deinit(&text);
}

static void limiter_show_limits(const struct json_value *limits)
{
    struct json_value limit;
    JSON_FOREACH (limit, limits) {
        const struct json_value name = json_find(&limit, "name");
        const struct slice text = json_text(&name);
        printf("%5s  %-16.*s", "all", TEXT_OF(text));
        limiter_show_tokens(limiter_number(&limit, "available"));
        limiter_show_tokens(limiter_number(&limit, "capacity"));
        puts("");
    }
}

static void limiter_show_shard(const struct json_value *shard)
{
    const struct json_value tokens = json_find(shard, "tokens");
    struct json_value value;
    struct slice name;
    if (tokens.type != JSON_OBJECT)
        return;
    JSON_FOREACH_MEMBER (name, value, &tokens) {
        printf("%5lld  %-16.*s", limiter_count_of(shard, "shard"), TEXT_OF(name));
        limiter_show_tokens(limiter_number_of(&value));
        puts("");
    }
}

static void limiter_show_status(const struct json_value *root)
{
    const struct json_value limits = json_find(root, "limits"), items = json_find(root, "items");
    const struct json_value merging = json_find(root, "merging"), level = json_find(root, "level");
    const struct slice level_name = json_text(&level);
    const long long count = limiter_count_of(root, "shards");
    struct json_value shard;
    printf("%lld shard%s, epoch %lld%s; limits of the level %.*s\n", count, count == 1 ? "" : "s",
           limiter_count_of(root, "epoch"),
           merging.type == JSON_BOOL && json_bool(&merging) ? ", being merged" : "",
           TEXT_OF(level_name));
    printf("%5s  %-16s  %14s  %14s\n", "shard", "limit", "available", "capacity");
    if (limits.type == JSON_LIST)
        limiter_show_limits(&limits);
    if (items.type != JSON_LIST || count < 2)
        return;
    JSON_FOREACH (shard, &items)
        limiter_show_shard(&shard);
}

static void limiter_show_top(const struct json_value *root)
{
    const struct json_value buckets = json_find(root, "buckets");
    struct json_value bucket;
    if (buckets.type != JSON_LIST || json_count(&buckets) == 0) {
        puts("this router has had no requests in the namespace");
        return;
    }
    printf("%10s  %10s  %6s  %s\n", "admitted", "refused", "shards", "entity, resource");
    JSON_FOREACH (bucket, &buckets) {
        const struct json_value entity = json_find(&bucket, "entity");
        const struct json_value resource = json_find(&bucket, "resource");
        const struct slice names[] = {json_text(&entity), json_text(&resource)};
        printf("%10lld  %10lld  %6lld  %.*s, %.*s\n", limiter_count_of(&bucket, "admitted"),
               limiter_count_of(&bucket, "refused"), limiter_count_of(&bucket, "shards"),
               TEXT_OF(names[0]), TEXT_OF(names[1]));
    }
}

static void limiter_show_set(const struct limiter_line *l)
{
    for (uint32_t i = 0; i < l->limit_count; i++) {
        struct buffer text = {0};
        limit_text_write(&text, l->limits[i].capacity);
        buffer_append_text(&text, " tokens; ");
        limit_text_write(&text, l->limits[i].refill);
        printf("%.*s: at most %.*s refilled every %lld ms\n", TEXT_OF(l->limits[i].name),
               TEXT_OF(text), (long long)l->limits[i].period_ms);
        buffer_deinit(&text);
    }
}

/* False: no JSON. */
static bool limiter_show(const struct limiter_line *l, const struct buffer *answer)
{
    struct json_value root = {0};
    if (l->json) {
        printf("%.*s\n", TEXT_OF(*answer));
        return true;
    }
    if (json_parse(l->parser, buffer_slice(answer), &root) != STATUS_OK) {
        fputs("weir limiter: the answer is not JSON\n", stderr);
        return false;
    }
    switch (l->verb) {
    case VERB_STATUS:
        limiter_show_status(&root);
        break;
    case VERB_TOP:
        limiter_show_top(&root);
        break;
    case VERB_SET:
        limiter_show_set(l);
        break;
    case VERB_RESET:
        puts("the bucket is full");
        break;
    case VERB_NONE:
        break;
    }
    return true;
}

static int limiter_run(struct limiter_line *l)
{
    struct buffer answer = {0};
    l->parser = json_parser_create();
    const bool sends = l->verb == VERB_SET || l->verb == VERB_RESET;
    bool done = sends ? limiter_send(l, &answer) : limiter_get(l, &answer);
    done = done && limiter_show(l, &answer);
    buffer_deinit(&answer);
    json_parser_destroy(l->parser);
    return done ? 0 : 1;
}

/* ---- the command line ---- */

static const char *limiter_take_limit(void *target, const char *value, struct buffer *error)
{
    struct limiter_line *l = target;
    if (l->limit_count == LIMITER_LIMITS_MAX) {
        buffer_append_format(error, "`--limit` may be given at most %d times", LIMITER_LIMITS_MAX);
        return "";
    }
    struct limit_text *limit = &l->limits[l->limit_count];
    if (!limit_text_read(value, limit))
        return "NAME=CAPACITY/PERIOD[:REFILL], such as rpm=100/60s or tpm=10000/1m:5000";
    const char *allowed = limit_text_check(limit);
    l->limit_count += allowed == NULL;
    return allowed;
}

static enum limiter_verb_word limiter_verb_of(const char *word)
{
    int i = VERB_STATUS;
    while (verbs[i] != NULL && strcmp(word, verbs[i]) != 0)
        i++;
    return verbs[i] != NULL ? (enum limiter_verb_word)i : VERB_NONE;
}

static const struct field limiter_options[] = {
    {"url", FIELD_PARSED, FIELD_MEMBER(struct limiter_line, url), "URL", .parse = client_url_parse,
     .initial = "http://127.0.0.1:8000", .help = "A router of the cluster."},
    {"namespace", FIELD_TEXT, FIELD_MEMBER(struct limiter_line, name_space), "NAME",
     .initial = "default", .help = "The namespace of buckets, limits and entities."},
    {"entity", FIELD_TEXT, FIELD_MEMBER(struct limiter_line, entity), "NAME",
     .help = "The owner of the bucket, such as a user or a tenant."},
    {"resource", FIELD_TEXT, FIELD_MEMBER(struct limiter_line, resource), "NAME",
     .help = "The thing that is used, such as an API or a model."},
    {"limit", FIELD_CUSTOM, .form = "LIMIT", .take = limiter_take_limit,
     .help = "For set: a limit as NAME=CAPACITY/PERIOD[:REFILL]. May be repeated up to 8 times."},
    {"on-unavailable", FIELD_CHOICE, FIELD_MEMBER(struct limiter_line, on_unavailable), "WHAT",
     .choices = without_store, .initial = "block",
     .help = "For set: allow or block requests while the store cannot be reached."},
    {"count", FIELD_INTEGER, FIELD_MEMBER(struct limiter_line, count), "N", .min = 1, .max = 100,
     .help = "For top: the maximum number of buckets."},
    {"json", FIELD_FLAG, FIELD_MEMBER(struct limiter_line, json),
     .help = "Print the router's answer unchanged."},
};

static int limiter_check(const struct limiter_line *l, const char *command, const char *word)
{
    const bool named = l->entity != NULL && l->resource != NULL;
    switch (l->verb) {
    case VERB_NONE:
        return usage_wrong(command, "`%s` must be " VERBS_EXPECTED, word);
    case VERB_STATUS:
    case VERB_RESET:
        return named ? USAGE_GO_ON
                     : usage_wrong(command, "%s needs --entity and --resource", verbs[l->verb]);
    case VERB_SET:
        return l->limit_count > 0 ? USAGE_GO_ON
                                  : usage_wrong(command, "set needs --limit at least once");
    case VERB_TOP:
        return l->entity == NULL && l->resource == NULL
                   ? USAGE_GO_ON
                   : usage_wrong(command, "top takes no --entity and no --resource");
    }
    return USAGE_GO_ON;
}

int cmd_limiter(int argc, char **argv)
{
    const char *verb = NULL;
    int count = 0;
    struct limiter_line l = {.url = {.host = "127.0.0.1", .port = 8000},
                             .on_unavailable = WITHOUT_STORE_UNSET,
                             .count = 10};
    const struct command_line line = {
        .command = "weir limiter",
        .usage = "status|set|reset|top [option]...",
        .about = about,
        .examples = "  weir limiter set --entity alice --resource api --limit rpm=100/60s \\\n"
                    "      --limit tpm=10000/60s:5000\n"
                    "  weir limiter set --limit rpm=10/60s --on-unavailable allow\n"
                    "  weir limiter status --entity alice --resource api\n"
                    "  weir limiter reset --entity alice --resource api\n"
                    "  weir limiter top --count 5 --json\n",
        .groups = {OPTION_GROUP(NULL, limiter_options, &l)},
        .words = {&verb, &count, 1, 1, VERBS_EXPECTED}};
    int code = usage_parse(&line, argc, argv);
    if (code == USAGE_GO_ON) {
        l.verb = limiter_verb_of(verb);
        code = limiter_check(&l, line.command, verb);
    }
    return code == USAGE_GO_ON ? limiter_run(&l) : code;
}
