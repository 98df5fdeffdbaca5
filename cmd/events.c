/* events.c - `weir events`: the decisions of the controller, with reasons. */
#include <stdio.h>
#include <time.h>

#include "cmd/cmd.h"
#include "cmd/server_call.h"
#include "cmd/usage.h"
#include "router/json/json_writer.h"

enum {
    FOLLOW_NS = 500 * 1000 * 1000
};

static const char about[] = "The decisions of the cluster's controller, oldest first: moved "
                            "replicas, changed allocations and others, each with its reason, and "
                            "the figures before and after. The last 1,000 are kept.\n\n"
                            "Exit code 0: done; 1: the router did not answer; 2: wrong usage.\n";

struct events_run {
    struct client_url url;
    bool follow, json;
    int64_t last; /* number of the last event shown */
    bool more;
    struct json_parser *parser;
};

/* The parts of an event that are shown. */
struct shown {
    int64_t number, partition, before, after;
    double time_s;
    struct slice kind, table, reason, figure;
};

static void events_take_member(struct shown *e, struct slice name, const struct json_value *v)
{
    const struct {
        const char *name;
        struct slice *text;
        int64_t *number;
    } members[] = {
        {"kind", &e->kind, NULL},     {"table", &e->table, NULL},
        {"reason", &e->reason, NULL}, {"figure", &e->figure, NULL},
        {"number", NULL, &e->number}, {"partition", NULL, &e->partition},
        {"before", NULL, &e->before}, {"after", NULL, &e->after},
    };
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        if (!slice_is(name, members[i].name))
            continue;
        if (members[i].text != NULL && v->type == JSON_STRING)
            *members[i].text = json_string(v);
        if (members[i].number != NULL && v->type == JSON_INTEGER)
            *members[i].number = json_integer(v);
    }
    if (slice_is(name, "time") && v->type == JSON_DECIMAL)
        e->time_s = json_decimal(v);
    if (slice_is(name, "time") && v->type == JSON_INTEGER)
        e->time_s = (double)json_integer(v);
}

static void events_show_text(const struct shown *e)
{
    char when[32] = "";
    struct tm local;
    time_t seconds = (time_t)e->time_s;
    if (localtime_r(&seconds, &local) != NULL)
        strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &local);
    printf("%s  %-18.*s", when, TEXT_OF(e->kind));
    if (e->table.size > 0)
        printf(" %.*s", TEXT_OF(e->table));
    if (e->table.size > 0 && e->partition != 0) /* else it is about the whole table */
        printf("/%lld", (long long)e->partition);
    printf("  %.*s", TEXT_OF(e->reason));
    if (e->figure.size > 0)
        printf(" (%.*s %lld -> %lld)", TEXT_OF(e->figure), (long long)e->before,
               (long long)e->after);
    puts("");
}

static void events_show_json(const struct shown *e)
{
    struct buffer out = {0};
    json_write_open(&out, '{');
    json_member_integer(&out, "number", e->number);
    json_member_thousandths(&out, "time", (int64_t)(e->time_s * 1000 + 0.5));
    json_member_string(&out, "kind", e->kind);
    if (e->table.size > 0)
        json_member_string(&out, "table", e->table);
    if (e->partition != 0)
        json_member_integer(&out, "partition", e->partition);
    json_member_string(&out, "reason", e->reason);
    if (e->figure.size > 0) {
        json_member_string(&out, "figure", e->figure);
        json_member_integer(&out, "before", e->before);
        json_member_integer(&out, "after", e->after);
    }
    json_write_close(&out, '}');
    printf("%.*s\n", TEXT_OF(out));
    buffer_deinit(&out);
}

static void events_show(struct events_run *r, const struct json_value *event)
{
    struct shown e = {0};
    struct slice name;
    struct json_value value;
    JSON_FOREACH_MEMBER (name, value, event)
        events_take_member(&e, name, &value);
    r->last = MAX(r->last, e.number);
    if (r->json)
        events_show_json(&e);
    else
        events_show_text(&e);
}

/* Shows the events of the answer. False: not a router's answer. */
static bool events_take_answer(struct events_run *r, const struct buffer *answer)
{
    struct json_value root, value, event;
    struct slice name;
    if (json_parse(r->parser, buffer_slice(answer), &root) != STATUS_OK || root.type != JSON_OBJECT)
        return false;
    JSON_FOREACH_MEMBER (name, value, &root) {
        if (slice_is(name, "more") && value.type == JSON_BOOL)
            r->more = json_bool(&value);
        if (!slice_is(name, "events") || value.type != JSON_LIST)
            continue;
        JSON_FOREACH (event, &value) {
            if (event.type == JSON_OBJECT)
                events_show(r, &event);
        }
    }
    fflush(stdout);
    return true;
}

static int events_request(struct events_run *r)
{
    struct buffer request = {0}, answer = {0}, error = {0};
    int http_status = 0, code = 0;
    char path[64];
    snprintf(path, sizeof path, "GET /weir/events?after=%lld", (long long)r->last);
    client_write_plain(&request, &r->url, path, NULL);
    r->more = false;
    enum status status =
        client_exchange(&r->url, buffer_slice(&request), &http_status, &answer, &error);
    if (status != STATUS_OK) {
        fprintf(stderr, "weir events: %.*s\n", TEXT_OF(error));
        code = 1;
    } else if (http_status != 200 || !events_take_answer(r, &answer)) {
        server_call_print("weir events", http_status, &answer);
        code = 1;
    }
    buffer_deinit(&request);
    buffer_deinit(&answer);
    buffer_deinit(&error);
    return code;
}

static const struct field events_options[] = {
    {"url", FIELD_PARSED, FIELD_MEMBER(struct events_run, url), "URL", .parse = client_url_parse,
     .initial = "http://127.0.0.1:8000", .help = "A router of the cluster."},
    {"follow", FIELD_FLAG, FIELD_MEMBER(struct events_run, follow),
     .help = "Then print new decisions, until interrupted."},
    {"json", FIELD_FLAG, FIELD_MEMBER(struct events_run, json),
     .help = "Print one JSON object per line, as in GET /weir/events."},
};

int cmd_events(int argc, char **argv)
{
    struct events_run r = {.url = {.host = "127.0.0.1", .port = 8000}};
    const struct command_line line = {
        .command = "weir events",
        .usage = "[--url URL] [--follow] [--json]",
        .about = about,
        .examples = "  weir events\n"
                    "  weir events --follow --url http://127.0.0.1:8001\n"
                    "  weir events --json | jq 'select(.kind == \"replica-moved\")'\n",
        .groups = {OPTION_GROUP(NULL, events_options, &r)}};
    int code = usage_parse(&line, argc, argv);
    if (code != USAGE_GO_ON)
        return code;
    r.parser = json_parser_create();
    while ((code = events_request(&r)) == 0 && (r.more || r.follow)) {
        if (!r.more)
            nanosleep(&(struct timespec){.tv_nsec = FOLLOW_NS}, NULL);
    }
    if (code == 0 && r.last == 0 && !r.json)
        puts("the controller has made no decision yet");
    json_parser_destroy(r.parser);
    return code;
}
