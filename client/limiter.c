/* limiter.c - see include/weir/limiter.h: requests, their repetition, and leases.
 *
 * Why a key for each request: an answer that is lost, or comes too late, does not tell whether the
 * request was done. The server knows a key that it has seen. A use of a lease is known by the
 * lease's text. */
#include "include/weir/limiter.h"

#include <stdlib.h>
#include <sys/random.h>

#include "client/limiter_answer.h"
#include "client/wire.h"

enum {
    TIMEOUT_MS = 1000,
    ATTEMPTS = 3,
    PAUSE_MS = 10, /* before the second attempt; doubled each time */
    HOST_MAX = 255,
    PORT_MAX = 5,
    KEY_BYTES = 16,
};
static const char default_url[] = "http://127.0.0.1:8000";

enum answer_kind {
    ANSWER_NONE, /* no router has answered, or all have failed: an outage */
    ANSWER_READ,
    ANSWER_UNREADABLE, /* a server has answered; only its status can be read */
};

struct weir_limiter {
    char host[HOST_MAX + 1], port[PORT_MAX + 1];
    char *name_space; /* owns; NULL: not given */
    uint32_t timeout_ms, attempts;
    enum weir_limiter_outage outage;
    struct wire wire;
    struct buffer body, request; /* of the last call */
    struct http_reply reply;     /* its answer, from which texts lend */
    struct buffer error;         /* ended by a NUL */
    struct limiter_answer answer;
    enum answer_kind kind; /* of the last call */
};

struct weir_limiter_lease {
    char *text; /* owns */
    int64_t expires_ms;
};

static char *limiter_copy_text(const char *text)
{
    char *copy = strdup(text);
    must(copy != NULL);
    return copy;
}

/* ---- opening ---- */

/* "http://HOST:PORT", with [HOST] for IPv6, and perhaps a final slash. */
static bool limiter_read_url(struct weir_limiter *l, const char *url)
{
    static const char scheme[] = "http://";
    if (strncmp(url, scheme, sizeof scheme - 1) != 0)
        return false;
    const char *host = url + sizeof scheme - 1;
    const char *colon = strrchr(host, ':');
    if (colon == NULL)
        return false;
    size_t host_size = (size_t)(colon - host), port_size = strspn(colon + 1, "0123456789");
    const char *rest = colon + 1 + port_size;
    if (*host == '[' && host_size > 2 && colon[-1] == ']') {
        host++;
        host_size -= 2;
    } else if (memchr(host, ':', host_size) != NULL) {
        return false;
    }
    if (host_size == 0 || host_size > HOST_MAX || port_size == 0 || port_size > PORT_MAX ||
        (*rest != '\0' && strcmp(rest, "/") != 0))
        return false;
    memcpy(l->host, host, host_size);
    memcpy(l->port, colon + 1, port_size);
    return atoi(l->port) <= UINT16_MAX;
}

enum weir_limiter_status weir_limiter_open(const struct weir_limiter_options *options,
                                           struct weir_limiter **out)
{
    struct weir_limiter *l = must_calloc(1, sizeof *l);
    *l = (struct weir_limiter){.timeout_ms =
                                   options->timeout_ms == 0 ? TIMEOUT_MS : options->timeout_ms,
                               .attempts = options->attempts == 0 ? ATTEMPTS : options->attempts,
                               .outage = options->outage,
                               .wire = {.fd = -1}};
    *out = NULL;
    if (!limiter_read_url(l, options->url == NULL ? default_url : options->url)) {
        free(l);
        return WEIR_LIMITER_INVALID;
    }
    l->wire.host = l->host;
    l->wire.port = l->port;
    if (options->name_space != NULL)
        l->name_space = limiter_copy_text(options->name_space);
    buffer_append_u8(&l->error, 0);
    *out = l;
    return WEIR_LIMITER_OK;
}

void weir_limiter_close(struct weir_limiter *client)
{
    if (client == NULL)
        return;
    wire_close(&client->wire);
    free(client->name_space);
    buffer_deinit(&client->body);
    buffer_deinit(&client->request);
    http_reply_deinit(&client->reply);
    buffer_deinit(&client->error);
    free(client);
}

const char *weir_limiter_error(const struct weir_limiter *client)
{
    return (const char *)client->error.data;
}

/* ---- requests ---- */

static void limiter_write_text(struct buffer *out, const char *text)
{
    buffer_append_u8(out, '"');
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            buffer_append_u8(out, '\\');
        if ((uint8_t)*text < ' ')
            buffer_append_format(out, "\\u%04x", (unsigned)(uint8_t)*text);
        else
            buffer_append_u8(out, (uint8_t)*text);
    }
    buffer_append_u8(out, '"');
}

/* A comma, unless the member is the first. */
static void limiter_write_name(struct buffer *out, const char *name)
{
    if (out->data[out->size - 1] != '{')
        buffer_append_u8(out, ',');
    limiter_write_text(out, name);
    buffer_append_u8(out, ':');
}

static void limiter_write_member(struct buffer *out, const char *name, const char *text)
{
    limiter_write_name(out, name);
    limiter_write_text(out, text);
}

static void limiter_write_amounts(struct buffer *out, const char *name,
                                  const struct weir_limiter_amount *amounts, uint32_t count)
{
    limiter_write_name(out, name);
    buffer_append_u8(out, '{');
    for (uint32_t i = 0; i < count; i++) {
        const int64_t mtok = amounts[i].mtok;
        const uint64_t size = mtok < 0 ? -(uint64_t)mtok : (uint64_t)mtok;
        limiter_write_name(out, amounts[i].limit);
        buffer_append_format(out, "%s%llu.%03u", mtok < 0 ? "-" : "",
                             (unsigned long long)(size / 1000), (unsigned)(size % 1000));
    }
    buffer_append_u8(out, '}');
}

/* 32 random digits. */
static void limiter_write_key(struct buffer *out)
{
    uint8_t bytes[KEY_BYTES];
    must(getrandom(bytes, sizeof bytes, 0) == sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        buffer_append_format(out, "%02x", bytes[i]);
}

/* The whole request with l->body: every attempt sends the same bytes. */
static void limiter_write_request(struct weir_limiter *l, const char *operation)
{
    const bool v6 = strchr(l->host, ':') != NULL;
    buffer_append_u8(&l->body, '}');
    buffer_clear(&l->request);
    buffer_append_format(&l->request,
                         "POST /limiter/v1/%s HTTP/1.1\r\nHost: %s%s%s:%s\r\n"
                         "Content-Type: application/json\r\nContent-Length: %zu\r\n"
                         "Idempotency-Key: ",
                         operation, v6 ? "[" : "", l->host, v6 ? "]" : "", l->port, l->body.size);
    limiter_write_key(&l->request);
    buffer_append_text(&l->request, "\r\n\r\n");
    buffer_append_slice(&l->request, buffer_slice(&l->body));
}

static void limiter_begin_body(struct weir_limiter *l)
{
    buffer_clear(&l->body);
    buffer_append_u8(&l->body, '{');
}

/* ---- attempts ---- */

/* Reads the answer. A status below 500 is final, whatever the body is. */
static enum answer_kind limiter_read_answer(struct weir_limiter *l)
{
    const struct buffer *body = &l->reply.body;
    buffer_clear(&l->error);
    if (l->reply.status < 500 && limiter_answer_read((char *)body->data, body->size, &l->answer)) {
        if (l->answer.message != NULL)
            buffer_append_text(&l->error, l->answer.message);
        return ANSWER_READ;
    }
    buffer_append_format(&l->error, "%s:%s answered with status %d", l->host, l->port,
                         l->reply.status);
    l->answer = (struct limiter_answer){0};
    if (l->reply.status >= 500)
        return ANSWER_NONE;
    buffer_append_text(&l->error, " and a body that is not an answer of the rate limiter");
    return ANSWER_UNREADABLE;
}

/* ANSWER_NONE: no answer within the time-out. */
static enum answer_kind limiter_exchange(struct weir_limiter *l)
{
    const int64_t deadline_ms = wire_now_ms() + l->timeout_ms;
    int64_t pause_ms = PAUSE_MS;
    for (uint32_t attempt = 1; attempt <= l->attempts; attempt++) {
        const int64_t left_ms = deadline_ms - wire_now_ms();
        const int64_t until_ms = attempt == l->attempts ? deadline_ms : deadline_ms - left_ms / 2;
        enum wire_result result;
        do {
            buffer_clear(&l->error);
            result =
                wire_exchange(&l->wire, buffer_slice(&l->request), until_ms, &l->reply, &l->error);
        } while (result == WIRE_STALE);
        const enum answer_kind kind = result == WIRE_DONE ? limiter_read_answer(l) : ANSWER_NONE;
        if (kind != ANSWER_NONE)
            return kind;
        if (attempt == l->attempts || wire_now_ms() + pause_ms >= deadline_ms)
            return ANSWER_NONE;
        wire_pause(pause_ms);
        pause_ms *= 2;
    }
    return ANSWER_NONE;
}

static enum weir_limiter_status limiter_send_request(struct weir_limiter *l, const char *operation,
                                                     struct weir_limiter_answer *out)
{
    limiter_write_request(l, operation);
    l->kind = limiter_exchange(l);
    buffer_append_u8(&l->error, 0);
    const enum weir_limiter_status status =
        l->kind == ANSWER_NONE ? WEIR_LIMITER_UNAVAILABLE
                               : limiter_answer_status(l->reply.status, l->answer.code);
    if (l->kind == ANSWER_NONE || (l->kind == ANSWER_UNREADABLE && status == WEIR_LIMITER_OK)) {
        *out = (struct weir_limiter_answer){0};
        return WEIR_LIMITER_UNAVAILABLE;
    }
    *out = l->answer.answer;
    out->uncounted = status == WEIR_LIMITER_OK && out->reason != NULL;
    return status;
}

static enum weir_limiter_status limiter_invalid(struct weir_limiter *l, const char *why,
                                                struct weir_limiter_answer *out)
{
    *out = (struct weir_limiter_answer){0};
    buffer_clear(&l->error);
    buffer_append_text(&l->error, why);
    buffer_append_u8(&l->error, 0);
    return WEIR_LIMITER_INVALID;
}

/* The lease gets the text for its next use. */
static void limiter_keep_lease(const struct weir_limiter *l, struct weir_limiter_lease *lease)
{
    if (l->answer.lease == NULL)
        return;
    free(lease->text);
    lease->text = limiter_copy_text(l->answer.lease);
    lease->expires_ms = l->answer.expires_ms;
}

enum weir_limiter_status weir_limiter_acquire(struct weir_limiter *client,
                                              const struct weir_limiter_request *request,
                                              struct weir_limiter_lease **lease,
                                              struct weir_limiter_answer *out)
{
    if (lease != NULL)
        *lease = NULL;
    if (request->entity == NULL || request->resource == NULL)
        return limiter_invalid(client, "entity and resource are needed", out);
    if (request->lease_ms > 0 && lease == NULL)
        return limiter_invalid(client, "lease_ms is given, but `lease` is NULL", out);
    struct buffer *body = &client->body;
    limiter_begin_body(client);
    if (client->name_space != NULL)
        limiter_write_member(body, "namespace", client->name_space);
    limiter_write_member(body, "entity", request->entity);
    limiter_write_member(body, "resource", request->resource);
    limiter_write_amounts(body, "consume", request->amounts, request->amount_count);
    if (request->lease_ms > 0) {
        limiter_write_name(body, "lease_ms");
        buffer_append_decimal(body, request->lease_ms);
    }
    if (client->outage == WEIR_LIMITER_ALLOW)
        limiter_write_member(body, "on_unavailable", "allow");
    const enum weir_limiter_status status = limiter_send_request(client, "acquire", out);
    if (client->kind == ANSWER_NONE && client->outage == WEIR_LIMITER_ALLOW) {
        out->uncounted = true;
        return WEIR_LIMITER_OK;
    }
    if (status == WEIR_LIMITER_OK && lease != NULL && client->answer.lease != NULL) {
        *lease = must_calloc(1, sizeof **lease);
        limiter_keep_lease(client, *lease);
    }
    return status;
}

/* ---- leases ---- */

/* `amounts` NULL: the operation has none. */
static enum weir_limiter_status
limiter_lease_operation(struct weir_limiter *l, const char *operation,
                        struct weir_limiter_lease *lease, const struct weir_limiter_amount *amounts,
                        uint32_t count, struct weir_limiter_answer *out)
{
    if (lease == NULL) {
        *out = (struct weir_limiter_answer){.uncounted = true};
        return WEIR_LIMITER_OK;
    }
    limiter_begin_body(l);
    limiter_write_member(&l->body, "lease", lease->text);
    if (amounts != NULL)
        limiter_write_amounts(&l->body, operation, amounts, count);
    const enum weir_limiter_status status = limiter_send_request(l, operation, out);
    if (status == WEIR_LIMITER_OK)
        limiter_keep_lease(l, lease);
    return status;
}

enum weir_limiter_status weir_limiter_consume(struct weir_limiter *client,
                                              struct weir_limiter_lease *lease,
                                              const struct weir_limiter_amount *amounts,
                                              uint32_t count, struct weir_limiter_answer *out)
{
    return limiter_lease_operation(client, "consume", lease, amounts, count, out);
}

enum weir_limiter_status weir_limiter_adjust(struct weir_limiter *client,
                                             struct weir_limiter_lease *lease,
                                             const struct weir_limiter_amount *amounts,
                                             uint32_t count, struct weir_limiter_answer *out)
{
    return limiter_lease_operation(client, "adjust", lease, amounts, count, out);
}

enum weir_limiter_status weir_limiter_release(struct weir_limiter *client,
                                              struct weir_limiter_lease *lease,
                                              const struct weir_limiter_amount *amounts,
                                              uint32_t count, struct weir_limiter_answer *out)
{
    return limiter_lease_operation(client, "release", lease, amounts, count, out);
}

enum weir_limiter_status weir_limiter_commit(struct weir_limiter *client,
                                             struct weir_limiter_lease *lease,
                                             struct weir_limiter_answer *out)
{
    return limiter_lease_operation(client, "commit", lease, NULL, 0, out);
}

enum weir_limiter_status weir_limiter_rollback(struct weir_limiter *client,
                                               struct weir_limiter_lease *lease,
                                               struct weir_limiter_answer *out)
{
    return limiter_lease_operation(client, "rollback", lease, NULL, 0, out);
}

int64_t weir_limiter_lease_expires_ms(const struct weir_limiter_lease *lease)
{
    return lease == NULL ? 0 : lease->expires_ms;
}

void weir_limiter_lease_destroy(struct weir_limiter_lease *lease)
{
    if (lease == NULL)
        return;
    free(lease->text);
    free(lease);
}
