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
                     LOAD_NUMBER_DIGITS);
}

void load_template_init(struct load_template *t, const struct load_workload_options *w,
                        const struct client_url *url, bool is_unsigned)
{
    *t = (struct load_template){.options = w};
    if (w->path[0] != 0) {
        char path[sizeof w->path + sizeof "GET "];
        snprintf(path, sizeof path, "GET %s", w->path);
        client_write_plain(&t->plain, url, path, NULL);
        return;
    }
    client_write_head(&t->put_head, url->host, url->port, "PutItem", is_unsigned);
    client_write_head(&t->get_head, url->host, url->port, "GetItem", is_unsigned);
    client_write_head(&t->delete_head, url->host, url->port, "DeleteItem", is_unsigned);
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
    for (size_t i = 0; i < COUNT_OF(all); i++)
        buffer_deinit(all[i]);
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

static void write_put(const struct load_template *t, const struct load_request *r,
                      struct buffer *out)
{
    static const char close_number[] = "\"}", open_filling[] = ",\"data\":{\"S\":\"",
                      close_filling[] = "\"}", close_all[] = "}}";
    char key[KEYS_SIZE_MAX];
    size_t key_size = keys_text(t->options, r->key, key);
    int64_t filling =
        r->item_bytes - load_item_bytes_min(t->options) - (int64_t)strlen(filling_name);
    size_t size = t->put_open.size + key_size + t->put_middle.size + LOAD_NUMBER_DIGITS +
                  strlen(close_number) + strlen(close_all);
    if (filling > 0)
        size += strlen(open_filling) + (size_t)filling + strlen(close_filling);
    buffer_append_slice(out, buffer_slice(&t->put_head));
    client_write_length(out, size);
    buffer_append_slice(out, buffer_slice(&t->put_open));
    buffer_append(out, key, key_size);
    buffer_append_slice(out, buffer_slice(&t->put_middle));
    load_request_append_number(out, r->number);
    buffer_append_text(out, close_number);
    if (filling > 0) {
        buffer_append_text(out, open_filling);
        buffer_append(out, t->filling.data, (size_t)filling);
        buffer_append_text(out, close_filling);
    }
    buffer_append_text(out, close_all);
}

/* Writes a GetItem or a DeleteItem: they differ only at their ends. */
static void write_with_key(const struct load_template *t, const struct load_request *r,
                           const struct buffer *head, const struct buffer *close,
                           struct buffer *out)
{
    char key[KEYS_SIZE_MAX];
    size_t key_size = keys_text(t->options, r->key, key);
    buffer_append_slice(out, buffer_slice(head));
    client_write_length(out, t->get_open.size + key_size + close->size);
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
