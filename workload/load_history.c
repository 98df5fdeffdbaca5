/* load_history.c - a line for each request, and a line for its end. */
#include "workload/load_history.h"

#include <xxhash.h>

#include "router/json/json_writer.h"
#include "workload/history.h"

void load_history_deinit(struct load_history *h)
{
    buffer_deinit(&h->line);
}

static void begin_line(struct load_history *h, uint64_t number, const char *type, int64_t t)
{
    buffer_clear(&h->line);
    json_write_open(&h->line, '{');
    json_member_integer(&h->line, "op", (int64_t)number);
    json_member_text(&h->line, "type", type);
    json_member_integer(&h->line, "t", t);
}

static void end_line(struct load_history *h)
{
    json_write_close(&h->line, '}');
    buffer_append_u8(&h->line, '\n');
    fwrite(h->line.data, 1, h->line.size, h->file);
}

void load_history_invoke(struct load_history *h, const struct load_workload_options *w,
                         const struct load_request *r)
{
    char key[LOAD_KEY_SIZE_MAX], value[LOAD_NUMBER_DIGITS];
    size_t size = load_keys_text(&w->traffic.keys, r->key, key);
    begin_line(h, r->number, "invoke", r->sent_ns);
    json_member_text(&h->line, "f",
                     r->kind == LOAD_GET   ? "read"
                     : r->kind == LOAD_ADD ? "add"
                                           : "write");
    json_member_text(&h->line, "table", w->table);
    json_member_string(&h->line, "key", slice_make(key, size));
    if (r->kind == LOAD_GET) {
        if (!r->consistent)
            json_member_bool(&h->line, "consistent", false);
    } else if (r->kind != LOAD_ADD) {
        json_write_key(&h->line, "value");
        load_number_text(r->number, value);
        if (r->kind == LOAD_DELETE)
            json_write_null(&h->line);
        else
            json_write_string(&h->line, slice_make(value, sizeof value));
    }
    end_line(h);
}

/* The value of the load's own attribute in {"Item":{..,"v":{"S":"..."}}}, as hexadecimal digits;
 * of a counter it is {"N":"..."}. What no load has written gets digits that no load writes: a
 * checker shall see it, and is told so. Empty: there is none. */
static struct slice load_history_value_of(const struct json_value *answer, bool is_read,
                                          char room[LOAD_NUMBER_DIGITS + 1])
{
    struct json_value item = json_find(answer, is_read ? "Item" : "Attributes");
    struct json_value attribute = json_find(&item, LOAD_NUMBER_NAME);
    struct json_value text = json_find(&attribute, "S"), number = json_find(&attribute, "N");
    const struct slice digits = number.type == JSON_STRING ? json_text(&number) : json_text(&text);
    const int64_t count = slice_number(json_text(&number));
    uint64_t value = 0;
    if (count > 0)
        value = (uint64_t)count;
    else if ((is_read && item.type == JSON_ABSENT) ||
             (text.type == JSON_STRING && history_value_read(digits, &value)))
        return digits;
    else
        value = XXH3_64bits(digits.data, digits.size) | UINT64_C(1) << 63;
    snprintf(room, LOAD_NUMBER_DIGITS + 1, "%llx", (unsigned long long)value);
    return slice_of(room);
}

void load_history_return(struct load_history *h, const struct load_request *r, int64_t now_ns,
                         const struct load_verdict *v, const struct json_value *answer)
{
    bool ok = v->outcome == LOAD_ADMITTED;
    bool unknown = v->applied_unknown && r->kind != LOAD_GET;
    begin_line(h, r->number, ok ? "ok" : unknown ? "info" : "fail", now_ns);
    if (!ok)
        json_member_text(&h->line, "error", v->error);
    if (ok && (r->kind == LOAD_GET || r->kind == LOAD_ADD)) {
        char room[LOAD_NUMBER_DIGITS + 1];
        struct slice value = load_history_value_of(answer, r->kind == LOAD_GET, room);
        json_write_key(&h->line, "value");
        if (value.size > 0)
            json_write_string(&h->line, value);
        else
            json_write_null(&h->line);
    }
    end_line(h);
}
