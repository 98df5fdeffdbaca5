/* load_setup.c - asks for the tables, one call after the other. */
#include "workload/load_setup.h"

#include <time.h>

#include "router/json/json_writer.h"
#include "workload/client_exchange.h"
#include "workload/load_verdict.h"

enum {
    POLLS_MAX = 300,
    POLL_NS = 100 * 1000 * 1000,
    ATTEMPTS = 50, /* of a call that the server could not do, as SDKs make some */
};

/* One call of an operation about a table, and its answer. */
struct setup_call {
    const struct client_url *url; /* borrows */
    struct json_parser *parser;   /* owns */
    struct buffer body, answer;
    int http_status;
    struct json_value root; /* of the answer; JSON_ABSENT: no JSON */
};

static void setup_begin(struct setup_call *c, const struct client_url *url, const char *table)
{
    *c = (struct setup_call){.url = url, .parser = json_parser_create()};
    json_write_open(&c->body, '{');
    json_member_text(&c->body, "TableName", table);
}

static void setup_end(struct setup_call *c)
{
    json_parser_destroy(c->parser);
    buffer_deinit(&c->body);
    buffer_deinit(&c->answer);
}

static void setup_pause(void)
{
    nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
}

static enum status setup_call(struct setup_call *c, const char *operation, struct buffer *error)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < ATTEMPTS && (i == 0 || c->http_status >= 500); i++) {
        if (i > 0)
            setup_pause();
        status = client_call(c->url, operation, buffer_slice(&c->body), &c->http_status, &c->answer,
                             error);
        if (status != STATUS_OK)
            break;
    }
    c->root = (struct json_value){0};
    if (status == STATUS_OK &&
        json_parse(c->parser, buffer_slice(&c->answer), &c->root) != STATUS_OK)
        c->root = (struct json_value){0};
    return status;
}

/* Whether the answer is an error of this type. */
static bool setup_failed_with(const struct setup_call *c, const char *type)
{
    struct load_verdict v;
    load_verdict_of(c->http_status, &c->root, &v);
    return strcmp(v.error, type) == 0;
}

static enum status setup_refused(const struct setup_call *c, const char *operation,
                                 const char *table, struct buffer *error)
{
    return buffer_explain(error, STATUS_MALFORMED, "%s %s: the server answered %.*s", operation,
                          table, (int)MIN(c->answer.size, 500), (const char *)c->answer.data);
}

static void write_attribute(struct buffer *body, const char *name, const char *member,
                            const char *value)
{
    json_write_open(body, '{');
    json_member_text(body, "AttributeName", name);
    json_member_text(body, member, value);
    json_write_close(body, '}');
}

/* The rest of CreateTable behind TableName. */
static void write_create_table(const struct load_workload_options *w, struct buffer *body)
{
    bool sorted = w->sort_name[0] != 0;
    json_member_open(body, "AttributeDefinitions", '[');
    write_attribute(body, w->key_name, "AttributeType", "S");
    if (sorted)
        write_attribute(body, w->sort_name, "AttributeType", "S");
    json_write_close(body, ']');
    json_member_open(body, "KeySchema", '[');
    write_attribute(body, w->key_name, "KeyType", "HASH");
    if (sorted)
        write_attribute(body, w->sort_name, "KeyType", "RANGE");
    json_write_close(body, ']');
    if (w->on_demand) {
        json_member_text(body, "BillingMode", "PAY_PER_REQUEST");
    } else {
        json_member_open(body, "ProvisionedThroughput", '{');
        json_member_integer(body, "ReadCapacityUnits", w->rcu);
        json_member_integer(body, "WriteCapacityUnits", w->wcu);
        json_write_close(body, '}');
    }
    json_write_close(body, '}');
}

static enum status wait_until_active(const struct client_url *url, const char *table,
                                     struct buffer *error)
{
    struct setup_call c;
    setup_begin(&c, url, table);
    json_write_close(&c.body, '}');
    enum status status = STATUS_PENDING;
    for (int i = 0; i < POLLS_MAX && status == STATUS_PENDING; i++) {
        if (i > 0)
            setup_pause();
        status = setup_call(&c, "DescribeTable", error);
        if (status != STATUS_OK)
            break;
        struct json_value described = json_find(&c.root, "Table");
        struct json_value state = json_find(&described, "TableStatus");
        if (c.http_status != 200)
            status = setup_refused(&c, "DescribeTable", table, error);
        else if (!json_is_text(&state, "ACTIVE"))
            status = STATUS_PENDING;
    }
    if (status == STATUS_PENDING)
        status =
            buffer_explain(error, STATUS_IO, "table %s did not become active within 30 s", table);
    setup_end(&c);
    return status;
}

static enum status load_setup_create_table(const struct client_url *url,
                                           const struct load_workload_options *w,
                                           struct buffer *error)
{
    struct setup_call c;
    setup_begin(&c, url, w->table);
    write_create_table(w, &c.body);
    enum status status = setup_call(&c, "CreateTable", error);
    if (status == STATUS_OK && c.http_status != 200 &&
        !setup_failed_with(&c, "ResourceInUseException"))
        status = setup_refused(&c, "CreateTable", w->table, error);
    setup_end(&c);
    return status == STATUS_OK ? wait_until_active(url, w->table, error) : status;
}

/* A server that does not answer is no error here: the run itself reports it. */
static enum status find_table(const struct client_url *url, const struct load_workload_options *w,
                              struct buffer *error)
{
    struct setup_call c;
    struct buffer ignored = {0};
    setup_begin(&c, url, w->table);
    json_write_close(&c.body, '}');
    bool missing = setup_call(&c, "DescribeTable", &ignored) == STATUS_OK &&
                   setup_failed_with(&c, "ResourceNotFoundException");
    buffer_deinit(&ignored);
    setup_end(&c);
    if (!missing)
        return STATUS_OK;
    return buffer_explain(error, STATUS_MALFORMED,
                          "the table `%s` does not exist: create it with --create-table, or name "
                          "another with --table",
                          w->table);
}

/* A history contains only the writes of its run: a checker cannot explain older values. If the Scan
 * is refused, the checker decides. */
static enum status check_empty(const struct client_url *url, const struct load_workload_options *w,
                               struct buffer *error)
{
    struct setup_call c;
    struct buffer ignored = {0};
    setup_begin(&c, url, w->table);
    json_member_bool(&c.body, "ConsistentRead", true);
    json_member_integer(&c.body, "Limit", 1);
    json_write_close(&c.body, '}');
    enum status status = setup_call(&c, "Scan", &ignored);
    struct json_value items = json_find(&c.root, "Items");
    bool used = status == STATUS_OK && c.http_status == 200 && items.type == JSON_LIST &&
                json_count(&items) > 0;
    if (used)
        buffer_append_format(
            error,
            "table `%s` has items that would not be in the history: write each key "
            "first with --preload, or name another table with --table",
            w->table);
    buffer_deinit(&ignored);
    setup_end(&c);
    return used ? STATUS_MALFORMED : STATUS_OK;
}

enum status load_setup_tables(const struct load_options *o, struct buffer *error)
{
    const struct client_url *url = &o->urls[0];
    enum status status = STATUS_OK;
    for (int i = 0; i < o->workload_count && status == STATUS_OK; i++) {
        const struct load_workload_options *w = &o->workloads[i];
        bool seen = w->path[0] != 0;
        for (int other = 0; other < i; other++)
            seen |= strcmp(w->table, o->workloads[other].table) == 0;
        if (!seen)
            status = o->create_table ? load_setup_create_table(url, w, error)
                                     : find_table(url, w, error);
        if (!seen && status == STATUS_OK && o->history_path != NULL && !o->preload &&
            (w->traffic.mix.fraction[TRAFFIC_READ] > 0 ||
             w->traffic.mix.fraction[TRAFFIC_READ_MODIFY_WRITE] > 0))
            status = check_empty(url, w, error);
    }
    return status;
}
