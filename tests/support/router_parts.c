/* router_parts.c - commands of case files that show parts of answers, or read all pages. */
#include <stdlib.h>
#include <string.h>

#include "tests/check.h"
#include "tests/support/case_file.h"
#include "tests/support/router_world.h"

/* Appends the values of the attribute in the answer's items. */
static int show_values(const struct router_world *w, const char *attribute, struct buffer *out)
{
    char *body = strndup((const char *)w->answer.body.data, w->answer.body.size), pattern[64];
    char *end = strstr(body, "],\"Count\""), *at = body;
    int count = 0;
    if (end == NULL)
        end = strstr(body, "]");
    snprintf(pattern, sizeof pattern, "\"%s\":{\"", attribute);
    while ((at = strstr(at, pattern)) != NULL && at < end) {
        at += strlen(pattern) + 4; /* N":" */
        buffer_append_format(out, "%s%.*s", count++ > 0 ? " " : "", (int)strcspn(at, "\""), at);
    }
    free(body);
    return count;
}

/* What the request for the next page has more than the one before. False: there is no next page. */
static bool next_page(const struct router_world *w, struct buffer *out)
{
    static const char KEY[] = "\"LastEvaluatedKey\":", TOKEN[] = "\"NextToken\":";
    const struct slice body = w->answer.body;
    const uint8_t *end = body.data + body.size - 1;
    const uint8_t *key = memmem(body.data, body.size, KEY, strlen(KEY));
    const uint8_t *token = memmem(body.data, body.size, TOKEN, strlen(TOKEN));
    buffer_clear(out);
    if (token != NULL) {
        const uint8_t *stop = memchr(token + strlen(TOKEN) + 1, '"', (size_t)(end - token));
        buffer_append_format(out, ",%.*s", (int)(stop + 1 - token), (const char *)token);
    } else if (key != NULL) {
        key += strlen(KEY);
        buffer_append_format(out, ",\"ExclusiveStartKey\":%.*s", (int)(end - key),
                             (const char *)key);
    }
    return out->size > 0;
}

/* Reads all pages of a request, which ends in `}`. Returns how many items there were. */
static int read_pages(struct router_world *w, const char *attribute, int limit, const char *more,
                      const char *request, struct buffer *out)
{
    struct buffer text = {0}, next = {0};
    int count = 0, pages = 0;
    for (bool again = true; again && pages < 100; pages++) {
        buffer_clear(&text);
        buffer_append_format(&text, "%.*s%s\"Limit\":%d%s%.*s}", (int)strlen(request) - 1, request,
                             request[strlen(request) - 2] == '{' ? "" : ",", limit, more,
                             (int)next.size, (const char *)next.data);
        buffer_append_u8(&text, 0);
        router_world_send(w, (const char *)text.data);
        if (w->answer.status != 200) {
            router_world_show(w, out);
            break;
        }
        buffer_append_text(out, pages > 0 ? " | " : "");
        count += show_values(w, attribute, out);
        again = next_page(w, &next);
        if (w->splitting[0] != '\0')
            fake_repartition(&w->f, router_world_table(w, w->splitting),
                             1 + (uint32_t)(pages + 1) % 8);
    }
    buffer_deinit(&text);
    buffer_deinit(&next);
    return count;
}

/* `ATTRIBUTE LIMIT[-LIMIT] Operation {..}`; with limits of which all give the same items, once. */
static void run_pages(struct router_world *w, const char *text, struct buffer *out)
{
    char attribute[32];
    int first, last, at = 0;
    assert_int_equal(sscanf(text, "%31s %d-%d %n", attribute, &first, &last, &at), 3);
    for (int limit = first; limit <= last; limit++) {
        struct buffer line = {0};
        const int count = read_pages(w, attribute, limit, "", text + at, &line);
        buffer_append_format(out, "%d: %d items: ", limit, count);
        buffer_append_slice(out, buffer_slice(&line));
        buffer_append_u8(out, '\n');
        buffer_deinit(&line);
    }
}

/* `ATTRIBUTE N Operation {..}`: pages of three items. */
static void run_segments(struct router_world *w, const char *text, struct buffer *out)
{
    char attribute[32], more[64];
    int segments, at = 0, count = 0;
    struct buffer line = {0};
    assert_int_equal(sscanf(text, "%31s %d %n", attribute, &segments, &at), 2);
    for (int i = 0; i < segments; i++) {
        snprintf(more, sizeof more, ",\"Segment\":%d,\"TotalSegments\":%d", i, segments);
        buffer_append_text(&line, i > 0 ? " / " : "");
        count += read_pages(w, attribute, 3, more, text + at, &line);
    }
    buffer_append_format(out, "%d items: ", count);
    buffer_append_slice(out, buffer_slice(&line));
    buffer_append_u8(out, '\n');
    buffer_deinit(&line);
}

/* The end of the JSON value. */
static const char *value_end(const char *at)
{
    int depth = 0;
    bool within = false; /* a string */
    for (; *at != '\0'; at++) {
        if (within)
            within = *at != '"' || at[-1] == '\\';
        else if (depth == 0 && (*at == ',' || *at == '}' || *at == ']'))
            break;
        else if (*at == '"')
            within = true;
        else
            depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
    }
    return at;
}

/* Whether a member of one of the names begins here. */
static bool is_member(const char *at, const char *names)
{
    const char *end = *at == '"' ? strchr(at + 1, '"') : NULL;
    const size_t size = end == NULL ? 0 : (size_t)(end - at - 1);
    for (; size > 0 && end[1] == ':' && *names != '\0'; names += names[0] == ',') {
        const size_t name = strcspn(names, ",");
        if (name == size && memcmp(at + 1, names, size) == 0)
            return true;
        names += name;
    }
    return false;
}

/* `NAME[,NAME] Operation {..}`: all members of these names, in their order. */
static void run_show(struct router_world *w, const char *text, struct buffer *out)
{
    char names[256];
    int at = 0;
    assert_int_equal(sscanf(text, "%255s %n", names, &at), 1);
    router_world_send(w, text + at);
    if (w->answer.status != 200) {
        router_world_show(w, out);
        return;
    }
    struct buffer line = {0};
    char *body = strndup((const char *)w->answer.body.data, w->answer.body.size);
    buffer_append_text(&line, "200");
    for (const char *c = body; *c != '\0'; c++) {
        if (!is_member(c, names))
            continue;
        const char *end = value_end(strchr(c, ':') + 1);
        buffer_append_format(&line, "%s%.*s", line.size == 3 ? " " : ",", (int)(end - c), c);
        c = end - 1;
    }
    if (line.size == 3)
        buffer_append_text(&line, " nothing of it");
    case_append_wrapped(out, buffer_slice(&line));
    buffer_deinit(&line);
    free(body);
}

static void run_values(struct router_world *w, const char *text, struct buffer *out)
{
    char attribute[32];
    int at = 0;
    struct buffer next = {0};
    assert_int_equal(sscanf(text, "%31s %n", attribute, &at), 1);
    router_world_send(w, text + at);
    if (w->answer.status != 200) {
        router_world_show(w, out);
        return;
    }
    if (show_values(w, attribute, out) == 0)
        buffer_append_text(out, "none");
    buffer_append_text(out, next_page(w, &next) ? " ..\n" : "\n");
    buffer_deinit(&next);
}

/* `N OPERATION ..`: so many characters of the answer, in one line. */
static void run_first(struct router_world *w, const char *text, struct buffer *out)
{
    int most, at = 0;
    assert_int_equal(sscanf(text, "%d %n", &most, &at), 1);
    router_world_send(w, text + at);
    buffer_append_format(out, "%d ", w->answer.status);
    for (size_t i = 0; i < w->answer.body.size && i < (size_t)most; i++) {
        const uint8_t c = w->answer.body.data[i];
        buffer_append_u8(out, c == '\n' ? '|' : c);
    }
    buffer_append_u8(out, '\n');
}

/* `NAME MEMBER`: $NAME stands for this text in the last answer. */
static void run_keep(struct router_world *w, const char *text, struct buffer *out)
{
    char name[32], member[32], pattern[40];
    (void)out;
    assert_int_equal(sscanf(text, "%31s %31s", name, member), 2);
    const int size = snprintf(pattern, sizeof pattern, "\"%s\":\"", member);
    const uint8_t *at = memmem(w->answer.body.data, w->answer.body.size, pattern, (size_t)size);
    assert_non_null(at);
    at += size;
    const uint8_t *end = memchr(at, '"', (size_t)(w->answer.body.data + w->answer.body.size - at));
    router_world_let(w, name, slice_make(at, (size_t)(end - at)));
}

/* `NAME NAME`: the second is as the first but for the eleventh character. */
static void run_spoil(struct router_world *w, const char *text, struct buffer *out)
{
    char name[32], from[2048];
    (void)out;
    assert_int_equal(sscanf(text, "%31s %2047s", name, from), 2);
    from[10] = from[10] == 'A' ? 'B' : 'A';
    router_world_let(w, name, slice_of(from));
}

bool router_world_part(struct router_world *w, const char *command, struct buffer *out)
{
    static const struct {
        const char *name;
        void (*run)(struct router_world *w, const char *text, struct buffer *out);
    } PARTS[] = {{"values ", run_values},    {"show ", run_show},   {"first ", run_first},
                 {"keep ", run_keep},        {"spoil ", run_spoil}, {"pages ", run_pages},
                 {"segments ", run_segments}};
    for (size_t i = 0; i < COUNT_OF(PARTS); i++) {
        const size_t size = strlen(PARTS[i].name);
        if (strncmp(command, PARTS[i].name, size) == 0) {
            PARTS[i].run(w, command + size, out);
            return true;
        }
    }
    return false;
}
