/* load_request.c - templates written at the start, filled in for each request. */
#include "workload/load_request.h"

#include <stdio.h>

static const char number_name[] = LOAD_NUMBER_NAME, filling_name[] = "data";
static const char sort_open[] = "\"},\"", sort_close[] = "\":{\"S\":\"";

enum {
    KEYS_SIZE_MAX = 3 * LOAD_KEY_SIZE_MAX + 16
};

/* The values of the partition key and of the sort key, if any: the text between the quotes. */
static size_t keys_text(const struct load_workload_options *w, uint64_t number,
                        char out[KEYS_SIZE_MAX])
{
    char item[LOAD_KEY_SIZE_MAX + 1];
    size_t size = load_keys_text(&w->traffic.keys, number, item);
    if (w->sort_name[0] == 0) {
        memcpy(out, item, size);
        return size;
    }
    bool collection = load_keys_share_one(&w->traffic.keys);
    item[size] = '\0';
    return (size_t)snprintf(out, KEYS_SIZE_MAX, "%s%s%s%s%s",
                            collection ? w->traffic.keys.single : item, sort_open, w->sort_name,
                            sort_close, collection ? item : "-");
}

static size_t partition_key_text(const struct load_workload_options *w, uint64_t number,
                                 char out[KEYS_SIZE_MAX])
{
    if (!load_keys_share_one(&w->traffic.keys))
        return load_keys_text(&w->traffic.keys, number, out);
    size_t size = strlen(w->traffic.keys.single);
    memcpy(out, w->traffic.keys.single, size);
    return size;
}

int64_t load_item_bytes_min(const struct load_workload_options *w)
{
    char key[KEYS_SIZE_MAX];
    size_t quotes = w->sort_name[0] == 0 ? 0 : strlen(sort_open) + strlen(sort_close);
    return (int64_t)(strlen(w->key_name) + keys_text(w, 0, key) - quotes + strlen(number_name) +
                     LOAD_NUMBER_DIGITS);
}

/* Opens the body of a request for one item; its key goes into `container`. */
static void open_item(struct load_form *form, const struct load_workload_options *w,
                      const char *container)
{
    buffer_append_format(&form->open, "{\"TableName\":\"%s\",\"%s\":{\"%s\":{\"S\":\"", w->table,
                         container, w->key_name);
}

static void close_body(struct load_form *form, const char *name, const char *expression)
{
    if (expression[0] != 0)
        buffer_append_format(&form->close, ",\"%s\":\"%s\"", name, expression);
    buffer_append_u8(&form->close, '}');
}

static void load_template_init_writes(struct load_template *t,
                                      const struct load_workload_options *w)
{
    static const char condition[] = "ConditionExpression";
    struct load_form *put = &t->forms[LOAD_PUT], *delete = &t->forms[LOAD_DELETE],
                     *add = &t->forms[LOAD_ADD];
    open_item(put, w, "Item");
    buffer_append_format(&t->put_middle, "\"},\"%s\":{\"S\":\"", number_name);
    buffer_append_text(&put->close, "}");
    open_item(delete, w, "Key");
    buffer_append_text(&delete->close, "\"}}");
    open_item(add, w, "Key");
    buffer_append_format(&add->close,
                         "\"}},\"UpdateExpression\":\"ADD %s :one\",\"ExpressionAttributeValues\":"
                         "{\":one\":{\"N\":\"1\"}}%s",
                         number_name, w->returns_sum ? ",\"ReturnValues\":\"UPDATED_NEW\"" : "");
    close_body(put, condition, w->condition);
    close_body(delete, condition, w->condition);
    close_body(add, condition, w->condition);
}

/* Both ways in which a read's body goes on behind the key. */
static void close_read(struct load_form *form, const char *name, const char *expression)
{
    static const char consistent[] = ",\"ConsistentRead\":true";
    buffer_append_format(&form->close_consistent, "\"}}%s", consistent);
    buffer_append_text(&form->close, "\"}}");
    for (int i = 0; i < 2 && expression[0] != 0; i++)
        buffer_append_format(i == 0 ? &form->close : &form->close_consistent, ",\"%s\":\"%s\"",
                             name, expression);
}

static void load_template_init_reads(struct load_template *t, const struct load_workload_options *w)
{
    struct load_form *get = &t->forms[LOAD_GET], *query = &t->forms[LOAD_QUERY],
                     *scan = &t->forms[LOAD_SCAN];
    open_item(get, w, "Key");
    close_read(get, "", "");
    open_item(scan, w, "ExclusiveStartKey");
    close_read(scan, "", "");
    buffer_append_format(
        &query->open,
        "{\"TableName\":\"%s\",\"KeyConditionExpression\":\"#p = :p\",\"ExpressionAttributeNames\":"
        "{\"#p\":\"%s\"},\"ExpressionAttributeValues\":{\":p\":{\"S\":\"",
        w->table, w->key_name);
    close_read(query, "FilterExpression", w->filter);
}

void load_template_init(struct load_template *t, const struct load_workload_options *w,
                        const struct client_url *url, bool is_unsigned)
{
    static const char *const operations[LOAD_KINDS] = {[LOAD_TRANSACT] = "TransactWriteItems",
                                                       [LOAD_PUT] = "PutItem",
                                                       [LOAD_DELETE] = "DeleteItem",
                                                       [LOAD_ADD] = "UpdateItem",
                                                       [LOAD_GET] = "GetItem",
                                                       [LOAD_QUERY] = "Query",
                                                       [LOAD_SCAN] = "Scan"};
    *t = (struct load_template){.options = w};
    if (w->path[0] != 0) {
        char path[sizeof w->path + sizeof "GET "];
        snprintf(path, sizeof path, "GET %s", w->path);
        client_write_plain(&t->plain, url, path, NULL);
        return;
    }
    for (int kind = 0; kind < LOAD_KINDS; kind++)
        client_write_head(&t->forms[kind].head, url->host, url->port, operations[kind],
                          is_unsigned);
    load_template_init_writes(t, w);
    load_template_init_reads(t, w);
    struct prng random = prng_seeded(1);
    int64_t max = w->replay[0] != 0 ? ITEM_SIZE_MAX : w->traffic.sizes.max;
    for (int64_t i = 0; i < max; i++)
        buffer_append_u8(&t->filling, (uint8_t)('a' + prng_below(&random, 26)));
}

void load_template_deinit(struct load_template *t)
{
    for (int kind = 0; kind < LOAD_KINDS; kind++) {
        buffer_deinit(&t->forms[kind].head);
        buffer_deinit(&t->forms[kind].open);
        buffer_deinit(&t->forms[kind].close);
        buffer_deinit(&t->forms[kind].close_consistent);
    }
    buffer_deinit(&t->put_middle);
    buffer_deinit(&t->body);
    buffer_deinit(&t->filling);
    buffer_deinit(&t->plain);
}

void load_number_text(uint64_t number, char out[LOAD_NUMBER_DIGITS])
{
    for (int i = LOAD_NUMBER_DIGITS - 1; i >= 0; i--, number >>= 4)
        out[i] = "0123456789abcdef"[number & 15];
}

static void load_request_append_number(struct buffer *out, uint64_t number)
{
    char digits[LOAD_NUMBER_DIGITS];
    load_number_text(number, digits);
    buffer_append(out, digits, sizeof digits);
}

/* The body of a put of the key. */
static void write_put_body(const struct load_template *t, const struct load_request *r,
                           uint64_t number, struct buffer *out)
{
    static const char close_text[] = "\"}", open_filling[] = ",\"data\":{\"S\":\"";
    const struct load_form *form = &t->forms[LOAD_PUT];
    char key[KEYS_SIZE_MAX];
    const size_t key_size = keys_text(t->options, number, key);
    const int64_t filling = r->item_bytes - load_item_bytes_min(t->options) - r->more_bytes -
                            (int64_t)strlen(filling_name);
    buffer_append_slice(out, buffer_slice(&form->open));
    buffer_append(out, key, key_size);
    buffer_append_slice(out, buffer_slice(&t->put_middle));
    load_request_append_number(out, r->number);
    buffer_append_text(out, close_text);
    buffer_append_slice(out, r->more);
    if (filling > 0) {
        buffer_append_text(out, open_filling);
        buffer_append(out, t->filling.data, (size_t)filling);
        buffer_append_text(out, close_text);
    }
    buffer_append_slice(out, buffer_slice(&form->close));
}

/* How far apart the keys of a transaction are. So keys of one transaction differ, and those of
 * sequential ones meet no others for long. */
static uint64_t transact_step(const struct load_workload_options *w, const struct load_request *r)
{
    const uint64_t max = w->traffic.keys.count / (uint64_t)w->transact;
    return w->traffic.keys.kind == LOAD_KEYS_SEQUENTIAL ? max : 1 + r->number % max;
}

static void write_transact_body(const struct load_template *t, const struct load_request *r,
                                struct buffer *out)
{
    const uint64_t keys = t->options->traffic.keys.count, step = transact_step(t->options, r);
    buffer_append_text(out, "{\"TransactItems\":[");
    for (uint64_t i = 0; i < (uint64_t)t->options->transact; i++) {
        buffer_append_text(out, i > 0 ? ",{\"Put\":" : "{\"Put\":");
        write_put_body(t, r, (r->key + i * step) % keys, out);
        buffer_append_text(out, "}");
    }
    buffer_append_text(out, "]}");
}

/* The head has the size of the body. */
static void write_puts(struct load_template *t, const struct load_request *r, struct buffer *out)
{
    struct buffer *body = &t->body;
    buffer_clear(body);
    if (r->kind == LOAD_TRANSACT)
        write_transact_body(t, r, body);
    else
        write_put_body(t, r, r->key, body);
    buffer_append_slice(out, buffer_slice(&t->forms[r->kind].head));
    client_write_length(out, body->size);
    buffer_append_slice(out, buffer_slice(body));
}

/* Of all others, which differ only around the key, and in what ends them. */
static void write_with_key(const struct load_template *t, const struct load_request *r,
                           struct buffer *out)
{
    const struct load_form *form = &t->forms[r->kind];
    const struct buffer *close =
        r->consistent && load_kind_reads(r->kind) ? &form->close_consistent : &form->close;
    char key[KEYS_SIZE_MAX], end[32] = "}";
    if (r->kind == LOAD_SCAN)
        snprintf(end, sizeof end, ",\"Limit\":%d}", r->scan_length);
    size_t end_size = load_kind_reads(r->kind) ? strlen(end) : 0;
    size_t key_size = r->kind == LOAD_QUERY ? partition_key_text(t->options, r->key, key)
                                            : keys_text(t->options, r->key, key);
    buffer_append_slice(out, buffer_slice(&form->head));
    client_write_length(out, form->open.size + key_size + close->size + end_size);
    buffer_append_slice(out, buffer_slice(&form->open));
    buffer_append(out, key, key_size);
    buffer_append_slice(out, buffer_slice(close));
    buffer_append(out, end, end_size);
}

void load_request_write(struct load_template *t, const struct load_request *r, struct buffer *out)
{
    if (t->plain.size > 0)
        buffer_append_slice(out, buffer_slice(&t->plain));
    else if (r->kind == LOAD_PUT || r->kind == LOAD_TRANSACT)
        write_puts(t, r, out);
    else
        write_with_key(t, r, out);
}
