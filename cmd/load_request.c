#include "cmd/load_request.h"

#include <stdio.h>

#include "base/prng.h"

enum {
    NUMBER_DIGITS = 16
};

static const char number_name[] = "v", filling_name[] = "data";
static const char sort_open[] = "\"},\"", sort_close[] = "\":{\"S\":\"";

enum {
    KEYS_SIZE_MAX = 3 * LOAD_KEY_SIZE_MAX + 16
};

/* Well-formed and wrong: for servers that want to see one, and check none. */
static const char authorization[] =
    "Authorization: AWS4-HMAC-SHA256 Credential=weir/20250101/us-east-1/dynamodb/aws4_request, "
    "SignedHeaders=host;x-amz-date;x-amz-target, "
    "Signature=0000000000000000000000000000000000000000000000000000000000000000\r\n"
    "X-Amz-Date: 20250101T000000Z\r\n";

static void write_head(const struct load_url *url, const char *operation, bool is_unsigned,
                       struct buffer *out)
{
    buffer_append_format(out,
                         "POST / HTTP/1.1\r\nHost: %s:%u\r\n"
                         "Content-Type: application/x-amz-json-1.0\r\n"
                         "X-Amz-Target: DynamoDB_20120810.%s\r\n%sContent-Length: ",
                         url->host, url->port, operation, is_unsigned ? "" : authorization);
}

/* The partition key's value and, where there is one, the sort key: what stands between the quotes.
 */
static size_t keys_text(const struct load_workload_options *w, uint64_t number,
                        char out[KEYS_SIZE_MAX])
{
    char item[LOAD_KEY_SIZE_MAX + 1];
    size_t size = load_keys_text(&w->keys, number, item);
    if (w->sort_name[0] == 0) {
        memcpy(out, item, size);
        return size;
    }
    bool collection = load_keys_share_one(&w->keys);
    item[size] = '\0';
    return (size_t)snprintf(out, KEYS_SIZE_MAX, "%s%s%s%s%s", collection ? w->keys.single : item,
                            sort_open, w->sort_name, sort_close, collection ? item : "-");
}

int64_t load_item_bytes_min(const struct load_workload_options *w)
{
    char key[KEYS_SIZE_MAX];
    size_t quotes = w->sort_name[0] == 0 ? 0 : strlen(sort_open) + strlen(sort_close);
    return (int64_t)(strlen(w->key_name) + keys_text(w, 0, key) - quotes + strlen(number_name) +
                     NUMBER_DIGITS);
}

void load_template_init(struct load_template *t, const struct load_workload_options *w,
                        const struct load_url *url, bool is_unsigned)
{
    *t = (struct load_template){.options = w};
    if (w->path[0] != 0) {
        buffer_append_format(&t->plain, "GET %s HTTP/1.1\r\nHost: %s:%u\r\n\r\n", w->path,
                             url->host, url->port);
        return;
    }
    write_head(url, "PutItem", is_unsigned, &t->put_head);
    write_head(url, "GetItem", is_unsigned, &t->get_head);
    write_head(url, "DeleteItem", is_unsigned, &t->delete_head);
    buffer_append_text(&t->delete_close, "\"}}}");
    buffer_append_format(&t->put_open, "{\"TableName\":\"%s\",\"Item\":{\"%s\":{\"S\":\"", w->table,
                         w->key_name);
    buffer_append_format(&t->put_middle, "\"},\"%s\":{\"S\":\"", number_name);
    buffer_append_format(&t->get_open, "{\"TableName\":\"%s\",\"Key\":{\"%s\":{\"S\":\"", w->table,
                         w->key_name);
    buffer_append_format(&t->get_close, "\"}}%s}", w->consistent ? ",\"ConsistentRead\":true" : "");
    struct prng random = prng_seeded(1);
    for (int64_t i = 0; i < w->item_bytes_max; i++)
        buffer_append_u8(&t->filling, (uint8_t)('a' + prng_below(&random, 26)));
}

void load_template_deinit(struct load_template *t)
{
    struct buffer *all[] = {&t->put_head,    &t->get_head,    &t->put_open, &t->get_open,
                            &t->put_middle,  &t->get_close,   &t->filling,  &t->plain,
                            &t->delete_head, &t->delete_close};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        buffer_deinit(all[i]);
}

static void append_length(struct buffer *out, size_t length)
{
    char digits[24];
    int at = sizeof digits;
    do
        digits[--at] = (char)('0' + length % 10);
    while ((length /= 10) > 0);
    buffer_append(out, digits + at, sizeof digits - (size_t)at);
    buffer_append(out, "\r\n\r\n", 4);
}

static void append_number(struct buffer *out, uint64_t number)
{
    char digits[NUMBER_DIGITS];
    for (int i = NUMBER_DIGITS - 1; i >= 0; i--, number >>= 4)
        digits[i] = "0123456789abcdef"[number & 15];
    buffer_append(out, digits, sizeof digits);
}

static void write_put(const struct load_template *t, const struct load_request *r,
                      struct buffer *out)
{
    static const char close_number[] = "\"}", open_filling[] = ",\"data\":{\"S\":\"",
                      close_filling[] = "\"}", close_all[] = "}}";
    char key[KEYS_SIZE_MAX];
    size_t key_size = keys_text(t->options, r->key, key);
    int64_t filling =
        r->item_bytes - load_item_bytes_min(t->options) - (int64_t)strlen(filling_name);
    size_t size = t->put_open.size + key_size + t->put_middle.size + NUMBER_DIGITS +
                  strlen(close_number) + strlen(close_all);
    if (filling > 0)
        size += strlen(open_filling) + (size_t)filling + strlen(close_filling);
    buffer_append_slice(out, buffer_slice(&t->put_head));
    append_length(out, size);
    buffer_append_slice(out, buffer_slice(&t->put_open));
    buffer_append(out, key, key_size);
    buffer_append_slice(out, buffer_slice(&t->put_middle));
    append_number(out, r->number);
    buffer_append_text(out, close_number);
    if (filling > 0) {
        buffer_append_text(out, open_filling);
        buffer_append(out, t->filling.data, (size_t)filling);
        buffer_append_text(out, close_filling);
    }
    buffer_append_text(out, close_all);
}

/* GetItem or DeleteItem: alike but for their ends. */
static void write_with_key(const struct load_template *t, const struct load_request *r,
                           const struct buffer *head, const struct buffer *close,
                           struct buffer *out)
{
    char key[KEYS_SIZE_MAX];
    size_t key_size = keys_text(t->options, r->key, key);
    buffer_append_slice(out, buffer_slice(head));
    append_length(out, t->get_open.size + key_size + close->size);
    buffer_append_slice(out, buffer_slice(&t->get_open));
    buffer_append(out, key, key_size);
    buffer_append_slice(out, buffer_slice(close));
}

void load_request_write(const struct load_template *t, const struct load_request *r,
                        struct buffer *out)
{
    if (t->plain.size > 0)
        buffer_append_slice(out, buffer_slice(&t->plain));
    else if (r->is_read)
        write_with_key(t, r, &t->get_head, &t->get_close, out);
    else if (r->is_delete)
        write_with_key(t, r, &t->delete_head, &t->delete_close, out);
    else
        write_put(t, r, out);
}

void load_request_write_operation(const struct load_url *url, const char *operation,
                                  struct slice body, bool is_unsigned, struct buffer *out)
{
    write_head(url, operation, is_unsigned, out);
    append_length(out, body.size);
    buffer_append_slice(out, body);
}
