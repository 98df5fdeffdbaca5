/* explain.c - GET /weir/explain/ID: why a request was answered so. GET /weir/explain?last=N: the
 * latest records. Both as JSON, or with as=text as text. */
#include "base/settings/explain.h"
#include "base/settings/choices.h"
#include "router/admin/explanation.h"
#include "router/admin/pages.h"
#include "router/core/request_id.h"
#include "router/json/json_writer.h"

enum {
    LAST_INITIAL = 10,
    LAST_MAX = 1000,
    SINCE_MAX_S = 100000000,
};

#define PATH "/weir/explain/"

static bool explain_read_form(struct call *c, struct slice form, bool *as_text)
{
    *as_text = slice_is(form, "text");
    if (form.data != NULL && !*as_text && !slice_is(form, "json"))
        return call_invalid(c, "as=%.*s: text or json is expected", SHOWN(form));
    if (*as_text)
        c->content_type = "text/plain; charset=utf-8";
    return true;
}

static bool explain_is_on(struct call *c)
{
    return c->router->records != NULL ||
           fault_set(call_fault(c), FAULT_NOT_FOUND,
                     "The router keeps no decision records: its setting explain_bytes is 0");
}

/* `alone`: without the other attempts of the same call. */
static void explain_write(struct call *c, const struct decision_record *d, bool as_text, bool alone)
{
    struct explanation e;
    explanation_make(&e, d, c->router->config);
    if (!alone)
        explanation_add_attempts(&e, c->router->records);
    if (as_text)
        explanation_append_text(&c->body, &e, c->router->options.number);
    else
        explanation_append_json(&c->body, &e, c->router->options.number);
}

/* ---- one request ---- */

/* Why there is no record. Always false. */
static bool explain_refuse(struct call *c, const struct request_id_parts *id)
{
    const struct router *r = c->router;
    const struct records_counts counts = records_count(r->records);
    struct fault *f = call_fault(c);
    if (id->version != REQUEST_ID_VERSION || id->wall_ms > router_wall_ms(r) + 86400 * 1000)
        return fault_set(f, FAULT_NOT_FOUND, "This is no id of this cluster");
    if (id->router != r->options.number)
        return fault_set(f, FAULT_NOT_FOUND,
                         "This id is of router %u, and this is router %u: the records of a request "
                         "are at the router that answered it",
                         id->router, r->options.number);
    if (id->wall_ms > router_wall_ms(r) + 1000)
        return fault_set(f, FAULT_NOT_FOUND,
                         "This id is of a time that has not come yet by this router's clock");
    if (counts.held > 0 && id->wall_ms < counts.oldest_ms)
        return fault_set(f, FAULT_NOT_FOUND,
                         "Too old: the request came %lld s ago, and the oldest record is %lld s "
                         "old (explain_bytes)",
                         (long long)(router_wall_ms(r) - id->wall_ms) / 1000,
                         (long long)(router_wall_ms(r) - counts.oldest_ms) / 1000);
    return fault_set(f, FAULT_NOT_FOUND,
                     "The request left no record: it was neither refused nor slow, or its record "
                     "had to make room, or the router has started since");
}

static bool explain_begin_one(struct call *c, UNUSED const struct json_value m[])
{
    static const char *const NAMES[] = {"as", NULL};
    struct slice form;
    struct request_id_parts parts;
    struct decision_record d;
    bool as_text;
    const struct http_head *head = &c->client->http.head;
    const struct slice path = http_text(head, head->path);
    const struct slice id = slice_make(path.data + sizeof PATH - 1, path.size - (sizeof PATH - 1));
    if (!page_read_query(c, NAMES, &form) || !explain_read_form(c, form, &as_text) ||
        !explain_is_on(c))
        return false;
    if (!request_id_read(id, &parts))
        return call_invalid(c, "'%.*s' is no request id: an id has %d digits and capital letters",
                            SHOWN(id), HTTP_REQUEST_ID_SIZE);
    if (!records_find(c->router->records, request_id_number(id), &d) ||
        memcmp(d.id, id.data, sizeof d.id) != 0)
        return explain_refuse(c, &parts);
    explain_write(c, &d, as_text, false);
    return true;
}

const struct operation operation_explain_one = {.name = "explain", .begin = explain_begin_one};

/* ---- the latest ---- */

struct explain_filter {
    struct slice table, reason, key;
    int64_t last;
    int64_t since_ms; /* records before it are left out */
    bool slow;
};

static bool explain_read_filter(struct call *c, const struct slice values[],
                                struct explain_filter *f)
{
    const int64_t last = values[0].data != NULL ? slice_number(values[0]) : LAST_INITIAL;
    const int64_t since = values[4].data != NULL ? slice_number(values[4]) : SINCE_MAX_S;
    if (last < 1 || last > LAST_MAX)
        return call_invalid(c, "last=%.*s: a number from 1 to %d is expected", SHOWN(values[0]),
                            LAST_MAX);
    if (since < 0 || (values[4].data != NULL && since > SINCE_MAX_S))
        return call_invalid(c, "since=%.*s: a number of seconds up to %d is expected",
                            SHOWN(values[4]), SINCE_MAX_S);
    if (values[5].data != NULL && !slice_is(values[5], "1"))
        return call_invalid(c, "slow=%.*s: slow must be 1, or not be given", SHOWN(values[5]));
    *f = (struct explain_filter){.table = values[1],
                                 .reason = values[2],
                                 .key = values[3],
                                 .last = last,
                                 .since_ms = router_wall_ms(c->router) - since * 1000,
                                 .slow = values[5].data != NULL};
    return true;
}

static bool explain_passes(const struct explain_filter *f, const struct decision_record *d)
{
    const struct slice key = record_text(d, RECORD_KEY);
    return d->wall_ms >= f->since_ms &&
           (f->table.data == NULL || record_is_of_table(d, f->table)) &&
           (f->reason.data == NULL || slice_is(f->reason, record_reason_name(d))) &&
           (!f->slow || (d->causes & RECORD_OF_SLOW) != 0) &&
           (f->key.data == NULL || (f->key.size > 0 && key.size > 0 &&
                                    memmem(key.data, key.size, f->key.data, f->key.size) != NULL));
}

static void explain_open_list(struct call *c)
{
    const struct records_counts counts = records_count(c->router->records);
    json_write_open(&c->body, '{');
    json_member_integer(&c->body, "version", 1);
    json_member_integer(&c->body, "full", (int64_t)counts.full);
    json_member_integer(&c->body, "short", (int64_t)counts.brief);
    json_member_integer(&c->body, "held", (int64_t)counts.held);
    json_member_open(&c->body, "records", '[');
}

static void explain_write_list(struct call *c, const struct explain_filter *f, bool as_text)
{
    const bool with_keys = config_choices(c->router->config)->show_keys != SHOW_KEYS_OWN;
    struct records_cursor at = {0};
    struct decision_record d;
    int64_t left = f->last;
    while (left > 0 && records_next(c->router->records, &at, &d) && d.wall_ms >= f->since_ms) {
        if (!explain_passes(f, &d))
            continue;
        if (!with_keys)
            record_hide_key(&d);
        if (as_text)
            record_append_line(&c->body, &d);
        else
            explain_write(c, &d, false, true);
        left--;
    }
}

static bool explain_begin_last(struct call *c, UNUSED const struct json_value m[])
{
    static const char *const NAMES[] = {"last",  "table", "reason", "key",
                                        "since", "slow",  "as",     NULL};
    struct slice values[COUNT_OF(NAMES) - 1];
    struct explain_filter filter = {0};
    bool as_text;
    if (!page_read_query(c, NAMES, values) || !explain_read_filter(c, values, &filter) ||
        !explain_read_form(c, values[6], &as_text) || !explain_is_on(c))
        return false;
    if (!as_text)
        explain_open_list(c);
    explain_write_list(c, &filter, as_text);
    if (!as_text)
        json_write_closes(&c->body, "]}");
    else if (c->body.size == 0)
        buffer_append_text(&c->body, "no such record\n");
    return true;
}

const struct operation operation_explain_last = {.name = "explain", .begin = explain_begin_last};
