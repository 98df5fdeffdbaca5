/* router_world.c - expands, sends and shows requests of case files. */
#include "tests/support/router_world.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tests/check.h"
#include "tests/support/case_file.h"

/* ---- requests ---- */

static const char *let_find(const struct router_world *w, const char *name, size_t size)
{
    for (int i = 0; i < w->let_count; i++) {
        if (strlen(w->lets[i].name) == size && memcmp(w->lets[i].name, name, size) == 0)
            return w->lets[i].text;
    }
    fail_msg("nothing is called $%.*s", (int)size, name);
    return NULL;
}

static void request_expand(const struct router_world *w, const char *text, struct buffer *out);

void router_world_let(struct router_world *w, const char *name, struct slice text)
{
    int i = 0;
    while (i < w->let_count && strcmp(w->lets[i].name, name) != 0)
        i++;
    assert_true(i < ROUTER_LETS_MAX && text.size < sizeof w->lets[0].text);
    w->let_count += i == w->let_count;
    snprintf(w->lets[i].name, sizeof w->lets[i].name, "%s", name);
    memcpy(w->lets[i].text, text.data, text.size);
    w->lets[i].text[text.size] = '\0';
}

/* `let NAME TEXT` */
static void let_add(struct router_world *w, const char *text)
{
    struct buffer b = {0};
    char name[32];
    int at = 0;
    assert_int_equal(sscanf(text, "%31s %n", name, &at), 1);
    request_expand(w, text + at, &b);
    router_world_let(w, name, buffer_slice(&b));
    buffer_deinit(&b);
}

static void request_expand(const struct router_world *w, const char *text, struct buffer *out)
{
    while (*text != '\0') {
        const char *next = *text == '<' ? case_append_repeated(out, text + 1) : NULL;
        if (next == NULL && text[0] == '$' && islower((unsigned char)text[1])) {
            size_t size = 1;
            while (islower((unsigned char)text[size]) || text[size] == '-')
                size++;
            buffer_append_text(out, let_find(w, text + 1, size - 1));
            next = text + size;
        }
        if (next == NULL) {
            buffer_append_u8(out, (uint8_t)*text);
            next = text + 1;
        }
        text = next;
    }
}

static bool starts_with(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

static bool is_method(const char *word)
{
    return strcmp(word, "GET") == 0 || strcmp(word, "POST") == 0 || strcmp(word, "PUT") == 0 ||
           strcmp(word, "DELETE") == 0;
}

/* `METHOD /PATH [BODY]` on a connection of its own. */
static void send_path(struct router_world *w, const char *method, const char *text)
{
    struct buffer b = {0};
    const size_t path = strcspn(text, " ");
    const char *body = text[path] == '\0' ? "" : text + path + 1;
    buffer_append_format(&b, "%s %.*s HTTP/1.1\r\nHost: h\r\n", method, (int)path, text);
    if (w->idempotency_key[0] != '\0')
        buffer_append_format(&b, "Idempotency-Key: %s\r\n", w->idempotency_key);
    w->idempotency_key[0] = '\0';
    if (body[0] != '\0')
        buffer_append_format(&b, "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                             strlen(body), body);
    else
        buffer_append_text(&b, "\r\n");
    if (!w->f.clients[2].open)
        fake_open(&w->f, 2);
    fake_send(&w->f, 2, buffer_slice(&b));
    w->answer = fake_take_answer(&w->f, 2);
    buffer_deinit(&b);
}

/* `[as KEY] OPERATION [BODY]`, expanded. */
void router_world_send(struct router_world *w, const char *text)
{
    char operation[64];
    int at = 0;
    if (sscanf(text, "as %31s %n", w->idempotency_key, &at) == 1)
        text += at;
    const size_t size = strcspn(text, " ");
    const char *body = text[size] == '\0' ? "{}" : text + size + 1;
    assert_true(size < sizeof operation);
    memcpy(operation, text, size);
    operation[size] = '\0';
    if (strcmp(operation, "answer") == 0)
        w->answer = fake_take_answer(&w->f, 1);
    else if (is_method(operation))
        send_path(w, operation, body);
    else
        w->answer = fake_call(&w->f, operation, body);
}

/* ---- answers ---- */

/* Whether the body is a fault with nothing beside type and message: then they are appended. */
static bool append_fault(struct buffer *out, const struct fake_answer *a)
{
    char *body = strndup((const char *)a->body.data, a->body.size), *type, *message, *rest;
    const bool is = a->status != 200 && strncmp(body, "{\"__type\":\"", 11) == 0 &&
                    (type = strchr(body, '#')) != NULL &&
                    (message = strstr(type, "\",\"message\":\"")) != NULL &&
                    (rest = strstr(message + 13, "\"}")) != NULL && rest[2] == '\0';
    if (is) {
        *message = *rest = '\0';
        buffer_append_format(out, "%d %s: %s\n", a->status, type + 1, message + 13);
    }
    free(body);
    return is;
}

void router_world_show(const struct router_world *w, struct buffer *out)
{
    const struct fake_answer *a = &w->answer;
    if (a->status == 0) {
        buffer_append_text(out, "no answer yet\n");
        return;
    }
    if (append_fault(out, a))
        return;
    struct buffer line = {0};
    buffer_append_format(&line, a->body.size > 0 ? "%d " : "%d", a->status);
    buffer_append_slice(&line, a->body);
    if (a->body.size > ROUTER_SHOWN_MAX) {
        line.size = 100;
        buffer_append_format(&line, " .. %zu KB", a->body.size / 1000);
    }
    case_append_wrapped(out, buffer_slice(&line));
    buffer_deinit(&line);
}

/* ---- commands ---- */

static void run_repeat(struct router_world *w, const char *text, struct buffer *out)
{
    struct buffer last = {0}, now = {0};
    int at = 0, times, same = 0;
    assert_int_equal(sscanf(text, "%d %n", &times, &at), 1);
    for (int i = 0; i <= times; i++) {
        buffer_clear(&now);
        if (i < times)
            assert_true(router_world_request(w, text + at, &now));
        if (i > 0 && (i == times || !slice_equal(buffer_slice(&now), buffer_slice(&last)))) {
            buffer_append_format(out, "%d x ", same);
            buffer_append_slice(out, buffer_slice(&last));
            same = 0;
        }
        same++;
        buffer_clear(&last);
        buffer_append_slice(&last, buffer_slice(&now));
    }
    buffer_deinit(&last);
    buffer_deinit(&now);
}

struct table *router_world_table(struct router_world *w, const char *name)
{
    for (uint32_t i = 0; i < w->f.table_count; i++) {
        if (slice_is(w->f.tables[i].name, name))
            return &w->f.tables[i];
    }
    fail_msg("no table '%s'", name);
    return NULL;
}

bool router_world_request(struct router_world *w, const char *command, struct buffer *out)
{
    struct buffer text = {0};
    bool is = true;
    if (starts_with(command, "let ")) {
        let_add(w, command + 4);
        return true;
    }
    request_expand(w, command, &text);
    buffer_append_u8(&text, 0);
    const char *t = (const char *)text.data;
    if (isupper((unsigned char)t[0]) || strcmp(t, "answer") == 0 || starts_with(t, "as ")) {
        router_world_send(w, t);
        router_world_show(w, out);
    } else if (starts_with(t, "repeat ")) {
        run_repeat(w, t + 7, out);
    } else {
        is = router_world_part(w, t, out);
    }
    buffer_deinit(&text);
    return is;
}

void router_world_headers(void *world, struct case_words *c)
{
    const struct router_world *w = world;
    for (const char *name; (name = case_next(c)) != NULL;) {
        const struct slice value = fake_header(w->answer, name);
        case_print(c, value.size > 0 ? "%s: %.*s\n" : "no %s\n", name, (int)value.size,
                   (const char *)value.data);
    }
}
