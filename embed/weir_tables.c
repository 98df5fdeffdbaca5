/* weir_tables.c - tables are made and opened.
 *
 * What a caller gives is checked here, so that an error names the member, its value and what it may
 * be: the node only knows that a description as a whole makes no sense. */
#include <stdlib.h>

#include "embed/weir_internal.h"
#include "engine/catalog/table_name.h"

enum {
    SETTLE_MS = 5000
};

/* ---- checks. Not STATUS_OK: db->error has the text ---- */

static enum status table_check_name(struct weir *db, const char *name)
{
    const struct slice text = slice_of(name != NULL ? name : "");
    buffer_clear(&db->error);
    return table_name_is_valid(text)
               ? STATUS_OK
               : buffer_explain(&db->error, STATUS_MALFORMED,
                                "name: \"%.*s\": the name of a table has 1 to %d of the "
                                "characters a-z, A-Z, 0-9, _, - and .",
                                SHOWN(text), TABLE_NAME_SIZE_MAX);
}

static enum status table_check_key(struct weir *db, const char *member, const char *name,
                                   enum weir_type type)
{
    const struct slice text = slice_of(name != NULL ? name : "");
    if (text.size == 0 || !key_name_is_valid(text))
        return buffer_explain(
            &db->error, STATUS_MALFORMED,
            "%s: \"%.*s\": the name of a key attribute has 1 to %d bytes of UTF-8", member,
            SHOWN(text), KEY_NAME_SIZE_MAX);
    if (type < WEIR_STRING || type > WEIR_BINARY)
        return buffer_explain(&db->error, STATUS_MALFORMED,
                              "%s_type: %d: a key is WEIR_STRING (%d), WEIR_NUMBER (%d) or "
                              "WEIR_BINARY (%d)",
                              member, (int)type, WEIR_STRING, WEIR_NUMBER, WEIR_BINARY);
    return STATUS_OK;
}

/* The most units are the catalog's to check: they are a setting. */
static enum status table_check_units(struct weir *db, const char *member, int64_t units)
{
    return units > 0 ? STATUS_OK
                     : buffer_explain(&db->error, STATUS_MALFORMED,
                                      "%s: %lld: at least 1 per second, or 0 for both read_units "
                                      "and write_units: on demand",
                                      member, (long long)units);
}

static bool table_is_on_demand(const struct weir_table_options *o)
{
    return o->read_units == 0 && o->write_units == 0;
}

static enum status table_check(struct weir *db, const char *name,
                               const struct weir_table_options *o)
{
    enum status status = table_check_name(db, name);
    if (status == STATUS_OK)
        status = table_check_key(db, "partition_key", o->partition_key, o->partition_key_type);
    if (status == STATUS_OK && o->sort_key != NULL)
        status = table_check_key(db, "sort_key", o->sort_key, o->sort_key_type);
    if (status == STATUS_OK && o->sort_key != NULL && strcmp(o->sort_key, o->partition_key) == 0)
        status =
            buffer_explain(&db->error, STATUS_MALFORMED,
                           "sort_key: \"%s\": partition_key is the same attribute", o->sort_key);
    if (status == STATUS_OK && !table_is_on_demand(o))
        status = table_check_units(db, "read_units", o->read_units);
    if (status == STATUS_OK && !table_is_on_demand(o))
        status = table_check_units(db, "write_units", o->write_units);
    return status;
}

/* ---- tables ---- */

enum weir_status weir_fetch_table(struct weir *db, struct slice name, struct weir_table *t)
{
    struct request r = {.op = REQUEST_TABLE_GET, .table.name = name};
    const struct reply *reply = weir_call(db, &r);
    if (reply->code != REPLY_OK)
        return weir_status_of(reply->code);
    buffer_clear(&t->bytes);
    arena_reset(&t->arena);
    buffer_append_slice(&t->bytes, reply->table.bytes);
    must(table_decode(buffer_slice(&t->bytes), &t->arena, &t->table) == STATUS_OK);
    return WEIR_OK;
}

enum weir_status weir_table_create(struct weir *db, const char *name,
                                   const struct weir_table_options *options)
{
    if (table_check(db, name, options) != STATUS_OK)
        return WEIR_INVALID;
    struct table_spec spec = {
        .name = slice_of(name),
        .billing = table_is_on_demand(options) ? BILLING_ON_DEMAND : BILLING_PROVISIONED,
        .rcu = options->read_units,
        .wcu = options->write_units,
        .partition_key = {slice_of(options->partition_key),
                          (enum attr_type)options->partition_key_type},
    };
    if (options->sort_key != NULL)
        spec.sort_key =
            (struct key_attr){slice_of(options->sort_key), (enum attr_type)options->sort_key_type};
    buffer_clear(&db->key);
    table_spec_encode(&db->key, &spec);
    struct request r = {.op = REQUEST_TABLE_CREATE,
                        .table = {.name = spec.name, .spec = buffer_slice(&db->key)}};
    const struct reply *reply = weir_call(db, &r);
    if (reply->code != REPLY_OK)
        return weir_status_of(reply->code);
    struct weir_table t = {0};
    enum weir_status status = WEIR_OK;
    struct instant end = instant_add(loop_now(db->loop), duration_ms(SETTLE_MS));
    do {
        weir_turn(db, instant_add(loop_now(db->loop), duration_ms(1)));
        status = weir_fetch_table(db, slice_of(name), &t);
    } while (status == WEIR_OK &&
             (t.table.status != TABLE_ACTIVE || !node_is_ready(node_server_node(db->server))) &&
             instant_before(loop_now(db->loop), end));
    buffer_deinit(&t.bytes);
    arena_deinit(&t.arena);
    return status;
}

enum weir_status weir_table_open(struct weir *db, const char *name, struct weir_table **out)
{
    struct weir_table *t = db->tables;
    if (table_check_name(db, name) != STATUS_OK)
        return WEIR_INVALID;
    while (t != NULL && !slice_is(t->table.name, name))
        t = t->next;
    if (t == NULL) {
        t = must_calloc(1, sizeof *t);
        enum weir_status status = weir_fetch_table(db, slice_of(name), t);
        if (status == WEIR_OK && table_key_sharding_version(&t->table) > 0)
            status = weir_invalid(db,
                                  "the table has sharded keys, which only a router finds: open its "
                                  "data with `weir local`",
                                  NULL);
        if (status != WEIR_OK) {
            buffer_deinit(&t->bytes);
            arena_deinit(&t->arena);
            free(t);
            return status;
        }
        t->db = db;
        t->next = db->tables;
        db->tables = t;
    }
    *out = t;
    return WEIR_OK;
}
