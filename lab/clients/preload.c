/* preload.c - how many items make up a table's bytes, and when each is put. */
#include "lab/clients/preload.h"

#include "engine/admission/admission.h"

enum {
    BYTES_MAX =
        64 * 1024 * 1024, /* of all tables: simulated disks are memory and temporary files */
    FILL_S_MAX = 600,     /* for each copy of a table */
    ITEMS_TARGET = 256,   /* so that each partition gets some */
    ITEM_BYTES_MIN = 1024,
    ITEM_BYTES_MAX = 16 * 1024,
    USED_PERCENT = 90,    /* of the table's write capacity */
    ON_DEMAND_WCU = 1000, /* a table on demand takes that at once */
    NAME_SIZE = SCENARIO_NAME_SIZE_MAX + 16,
    NAMES_BYTES = 2 + 16 + 1, /* `pk`, its value, and the name of the value */
    SORT_BYTES = 2 + 1        /* `sk` and its value */
};

static int64_t preload_wcu(const struct scenario_table *t)
{
    int64_t wcu = t->on_demand ? ON_DEMAND_WCU : t->wcu;
    if (t->on_demand && t->max_wcu > 0 && t->max_wcu < wcu)
        wcu = t->max_wcu;
    return wcu > 1 ? wcu : 1;
}

struct preload preload_of(const struct scenario_table *t)
{
    struct preload out = {0};
    if (t->bytes == 0)
        return out;
    int64_t item_bytes = t->bytes / ITEMS_TARGET;
    item_bytes = item_bytes < ITEM_BYTES_MIN ? ITEM_BYTES_MIN : item_bytes;
    item_bytes = item_bytes > ITEM_BYTES_MAX ? ITEM_BYTES_MAX : item_bytes;
    out.items = t->bytes > item_bytes ? t->bytes / item_bytes : 1;
    out.item_bytes = t->bytes / out.items;
    out.pause_ns = write_cost_mcu(out.item_bytes) * (NS_PER_S / MCU_PER_UNIT) * 100 /
                   (preload_wcu(t) * USED_PERCENT);
    return out;
}

static bool check_fill_time(struct reading *r, const struct document_node *at,
                            const struct scenario_table *t, const char *fidelity)
{
    const struct preload preload = preload_of(t);
    const int64_t takes_s = preload.items * (preload.pause_ns / NS_PER_US) / 1000000;
    return takes_s <= FILL_S_MAX ||
           reading_fail(r, at,
                        "the fidelity %s fills table %s with its write capacity: `bytes` %lld "
                        "would take %lld s, and may take %d s",
                        fidelity, t->name, (long long)t->bytes, (long long)takes_s, FILL_S_MAX);
}

bool preload_check(struct reading *r, const struct scenario *s, const char *fidelity)
{
    int64_t left = BYTES_MAX;
    for (uint32_t i = 0; i < s->table_count; i++) {
        const struct scenario_table *t = &s->tables[i];
        const struct document_node *at = document_nearest(r->document, "tables.%u.bytes", i + 1);
        if (t->bytes > left / t->copies)
            return reading_fail(r, at,
                                "the fidelity %s stores at most %d `bytes` in all tables and "
                                "copies together; table %s has %lld. The fidelity admission has "
                                "no such limit",
                                fidelity, BYTES_MAX, t->name, (long long)t->bytes);
        left -= t->bytes * t->copies;
        if (!check_fill_time(r, at, t, fidelity))
            return false;
    }
    return true;
}

void preload_write_put(struct buffer *out, const struct scenario *s, uint32_t place, uint32_t copy,
                       int64_t number)
{
    const struct scenario_table *t = &s->tables[place];
    const bool sort = demand_has_sort_key(s, place);
    char name[NAME_SIZE];
    demand_table_name(t, copy, name, sizeof name);
    int64_t left = preload_of(t).item_bytes - NAMES_BYTES - (sort ? SORT_BYTES : 0);
    struct prng p = prng_seeded((uint64_t)number);
    buffer_append_format(out, "{\"TableName\":\"%s\",\"Item\":{\"pk\":{\"S\":\"%016llx\"}", name,
                         (unsigned long long)prng_next(&p));
    if (sort)
        buffer_append_text(out, ",\"sk\":{\"S\":\"0\"}");
    buffer_append_text(out, ",\"v\":{\"S\":\"");
    const size_t size = left > 1 ? (size_t)left : 1;
    memset(buffer_reserve(out, size), 'x', size);
    out->size += size;
    buffer_append_text(out, "\"}}}");
}

bool preload_may_try_again(int status, struct slice answer)
{
    static const char *const names[] = {"ProvisionedThroughputExceeded", "Throttling"};
    if (status != 400)
        return status != 200;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (memmem(answer.data, answer.size, names[i], strlen(names[i])) != NULL)
            return true;
    }
    return false;
}
