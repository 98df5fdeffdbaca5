/* explain.c - `weir explain`: why a request was refused or slow. */
#include <stdio.h>
#include <stdlib.h>

#include "cmd/cmd.h"
#include "cmd/server_call.h"
#include "cmd/usage.h"
#include "router/core/request_id.h"

enum {
    NO_ROUTER = 3,
    TEXT_MAX = 1024 * 1024, /* of standard input */
};

static const char about[] =
    "Why a request was refused, or slow: what it cost, the level of each limit that it met, when "
    "the same request would have passed, and what helps.\n\n"
    "TEXT is anything with a request id (x-amzn-RequestId) in it, such as the text of an "
    "exception; - is standard input. Without TEXT the latest records are listed.\n\n"
    "A router keeps a record of each request that was throttled, refused for overload, or "
    "cancelled for a conflict, of each that took explain_slow_ms or waited 5 ms for tokens, and of "
    "one in 1,024 others. The record is at the router that has answered the request.\n\n"
    "Exit code 0: done; 1: there is no record of the request; 2: wrong usage; 3: no router "
    "answered.\n";

struct explain_options {
    struct client_url url;
    const char *table, *reason, *key;
    int64_t last, since;
    bool slow, json;
};

static const struct field explain_fields[] = {
    {"url", FIELD_PARSED, FIELD_MEMBER(struct explain_options, url), "URL",
     .parse = client_url_parse, .initial = "http://127.0.0.1:8000",
     .help = "The router that answered the request."},
    {"last", FIELD_INTEGER, FIELD_MEMBER(struct explain_options, last), "N", .min = 1, .max = 1000,
     .initial = "10", .help = "List this many records at most."},
    {"table", FIELD_TEXT, FIELD_MEMBER(struct explain_options, table), "NAME",
     .help = "List records of this table: a name, or TABLE/INDEX."},
    {"reason", FIELD_TEXT, FIELD_MEMBER(struct explain_options, reason), "R",
     .help = "List records with this reason, such as key-range, table or conflict."},
    {"key", FIELD_TEXT, FIELD_MEMBER(struct explain_options, key), "TEXT",
     .help = "List records whose key has this text in it."},
    {"since", FIELD_INTEGER, FIELD_MEMBER(struct explain_options, since), "S", .min = 0,
     .max = 100000000, .help = "List records of the last S seconds."},
    {"slow", FIELD_FLAG, FIELD_MEMBER(struct explain_options, slow),
     .help = "List slow requests only."},
    {"json", FIELD_FLAG, FIELD_MEMBER(struct explain_options, json), .help = "Print JSON."},
};

static void append_parameter(struct buffer *out, const char *name, const char *value)
{
    if (value == NULL)
        return;
    buffer_append_format(out, "&%s=", name);
    client_write_percent(out, slice_of(value));
}

static void append_list_path(struct buffer *out, const struct explain_options *o)
{
    buffer_append_format(out, "GET /weir/explain?last=%lld", (long long)o->last);
    append_parameter(out, "table", o->table);
    append_parameter(out, "reason", o->reason);
    append_parameter(out, "key", o->key);
    if (o->since > 0)
        buffer_append_format(out, "&since=%lld", (long long)o->since);
    if (o->slow)
        buffer_append_text(out, "&slow=1");
    buffer_append_text(out, o->json ? "&as=json" : "&as=text");
}

static int explain_request(const struct explain_options *o, struct buffer *path)
{
    struct buffer request = {0}, answer = {0}, error = {0};
    int http_status = 0, code = 0;
    buffer_append_u8(path, '\0');
    client_write_plain(&request, &o->url, (const char *)path->data, NULL);
    if (client_exchange(&o->url, buffer_slice(&request), &http_status, &answer, &error) !=
        STATUS_OK) {
        fprintf(stderr, "weir explain: %.*s\n", TEXT_OF(error));
        code = NO_ROUTER;
    } else if (http_status != 200) {
        server_call_refused("weir explain", http_status, &answer);
        code = 1;
    } else {
        printf("%.*s%s", TEXT_OF(answer), o->json ? "\n" : "");
    }
    buffer_deinit(&request);
    buffer_deinit(&answer);
    buffer_deinit(&error);
    return code;
}

static int explain_text(const struct explain_options *o, struct slice text)
{
    struct buffer path = {0};
    const struct slice id = request_id_find(text);
    if (id.size == 0) {
        fprintf(stderr,
                "weir explain: there is no request id in the text. An id has %d digits and capital "
                "letters; it is the header line x-amzn-RequestId of each answer.\n",
                HTTP_REQUEST_ID_SIZE);
        return 2;
    }
    buffer_append_format(&path, "GET /weir/explain/%.*s?as=%s", TEXT_OF(id),
                         o->json ? "json" : "text");
    const int code = explain_request(o, &path);
    buffer_deinit(&path);
    return code;
}

static int explain_input(const struct explain_options *o)
{
    struct buffer text = {0};
    size_t got;
    do {
        got = fread(buffer_reserve(&text, 4096), 1, 4096, stdin);
        text.size += got;
    } while (got > 0 && text.size < TEXT_MAX);
    const int code = explain_text(o, buffer_slice(&text));
    buffer_deinit(&text);
    return code;
}

int cmd_explain(int argc, char **argv)
{
    struct explain_options o = {.url = {.host = "127.0.0.1", .port = 8000}, .last = 10};
    const char *text = NULL;
    int count = 0;
    const struct command_line line = {
        .command = "weir explain",
        .usage = "[TEXT] [--url URL] [option]...",
        .about = about,
        .examples = "  weir explain --last 3\n"
                    "  weir explain --table orders --reason key-range --since 60\n"
                    "  weir explain TA7TTFE2BIFUHAH175T0GTEU6VVV4KQNSO5AEMVJF66Q9ASUAAJG\n"
                    "  weir explain - --json <message.txt\n",
        .groups = {OPTION_GROUP(NULL, explain_fields, &o)},
        .words = {
            .at = &text, .count = &count, .max = 1, .expected = "one text with a request id"}};
    const int code = usage_parse(&line, argc, argv);
    if (code != USAGE_GO_ON)
        return code;
    if (count == 1 && strcmp(text, "-") == 0)
        return explain_input(&o);
    if (count == 1)
        return explain_text(&o, slice_of(text));
    struct buffer path = {0};
    append_list_path(&path, &o);
    const int listed = explain_request(&o, &path);
    buffer_deinit(&path);
    return listed;
}
