/* request_parts.c - see request_parts.h. */
#include "cmd/request_parts.h"

#include <stdlib.h>

#include "engine/catalog/table_key.h"

enum {
    SIZES = 1 << 16, /* keys whose sizes are kept: one for each value of the hash's last bits */
    SCANNED_MAX = 1000000
};

struct request_size {
    uint64_t hash; /* of table and key; 0: none */
    int64_t bytes;
};

/* What was told about requests of a kind. */
struct request_mean {
    int64_t count, bytes, items;
};

struct request_table {
    uint32_t number; /* in the trace */
    struct request_mean means[TRAFFIC_KINDS];
};

void request_parts_init(struct request_parts *p)
{
    *p = (struct request_parts){.sizes = must_calloc(SIZES, sizeof p->sizes[0])};
}

void request_parts_deinit(struct request_parts *p)
{
    void *table;
    for (size_t at = 0; (table = id_map_next(&p->tables, &at)) != NULL;)
        free(table);
    id_map_deinit(&p->tables);
    free(p->sizes);
    *p = (struct request_parts){0};
}

static struct request_table *table_of(struct request_parts *p, const struct table *t,
                                      struct buffer *lines)
{
    struct request_table *found = id_map_find(&p->tables, t->id);
    if (found != NULL)
        return found;
    found = must_calloc(1, sizeof *found);
    found->number = p->table_count++;
    id_map_add(&p->tables, t->id, found);
    trace_append_name(lines, "table", found->number, t->name);
    return found;
}

/* ---- keys ---- */

static void append_key_part(struct buffer *out, enum attr_type type, const struct buffer *value)
{
    struct number n;
    size_t used;
    char text[NUMBER_TEXT_MAX];
    if (type == ATTR_NUMBER && number_decode(buffer_slice(value), &n, &used) == STATUS_OK)
        buffer_append(out, text, number_format(&n, text));
    else
        buffer_append_slice(out, buffer_slice(value));
}

static void append_key(struct buffer *out, const struct router_part *part)
{
    const struct table *t = part->table;
    struct slice left = part->key;
    struct buffer value = {0};
    storage_key_skip_hash(&left);
    if (left.size > 0) {
        storage_key_next_part(&left, &value);
        append_key_part(out, t->partition_key.type, &value);
    } else {
        buffer_append_format(out, "scan-%016llx",
                             (unsigned long long)storage_key_bound_hash(part->key, 0));
    }
    if (left.size > 0 && part->op != REQUEST_RANGE && table_has_sort_key(t)) {
        buffer_clear(&value);
        storage_key_next_part(&left, &value);
        buffer_append_u8(out, 0);
        append_key_part(out, t->sort_key.type, &value);
    }
    buffer_deinit(&value);
}

/* ---- sizes ---- */

static struct request_size *size_of(struct request_parts *p, const struct router_part *part)
{
    static const struct trace_salt none;
    uint64_t hash =
        trace_hash(&none, part->key) | 1; /* the storage key begins with the table's id */
    struct request_size *s = &p->sizes[hash >> 1 & (SIZES - 1)];
    if (s->hash != hash)
        *s = (struct request_size){hash, -1};
    return s;
}

/* The size that a write does not tell: what it paid for, which is the larger of old and new
 * item. */
static int64_t size_paid(const struct router_part *part, int64_t known_bytes)
{
    if (known_bytes >= 0 && write_cost_mcu(known_bytes) == part->consumed_mcu)
        return known_bytes;
    return (part->consumed_mcu + MCU_PER_UNIT - 1) / MCU_PER_UNIT * 1024;
}

static int64_t size_of_item(struct request_parts *p, const struct router_part *part,
                            struct request_mean *mean)
{
    struct request_size *known = size_of(p, part);
    bool write = part->op != REQUEST_GET;
    int64_t bytes = part->item_bytes;
    if (bytes < 0 && write && part->replied && part->consumed_mcu > 0)
        bytes = size_paid(part, known->bytes);
    if (bytes >= 0) {
        mean->count++;
        mean->bytes += bytes;
    } else if (known->bytes >= 0) {
        bytes = known->bytes;
    } else {
        bytes = mean->count > 0 ? mean->bytes / mean->count : 0;
    }
    if (part->replied && part->code == REPLY_OK)
        known->bytes = part->op == REQUEST_DELETE ? -1 : bytes;
    return bytes;
}

/* Sets size and number of the items of a range. */
static void sizes_of_range(const struct router_part *part, struct request_mean *mean,
                           struct trace_record *out)
{
    int64_t bytes = part->item_bytes, items = part->scanned;
    if (bytes >= 0) {
        mean->count++;
        mean->bytes += bytes;
        mean->items += items;
    } else if (mean->count > 0) {
        bytes = mean->bytes / mean->count;
        items = mean->items / mean->count;
    }
    items = MIN(items, SCANNED_MAX);
    out->scan_length = items > 1 ? (int32_t)items : 1;
    bytes = bytes > 0 ? bytes / out->scan_length : 0;
    out->size_bytes = (int32_t)MIN(bytes, ITEM_SIZE_MAX);
}

/* ---- records ---- */

static enum traffic_kind kind_of(enum request_op op)
{
    return op == REQUEST_GET      ? TRAFFIC_READ
           : op == REQUEST_RANGE  ? TRAFFIC_SCAN
           : op == REQUEST_DELETE ? TRAFFIC_DELETE
                                  : TRAFFIC_UPDATE;
}

/* A write that the item refuses was admitted, and costs what it costs. */
static enum trace_outcome outcome_of(const struct router_part *part)
{
    if (!part->replied)
        return TRACE_UNANSWERED;
    if (part->code == REPLY_THROTTLED)
        return TRACE_THROTTLED;
    return part->code == REPLY_OK || part->code == REPLY_CONDITION_FAILED ||
                   part->code == REPLY_UPDATE_FAILED
               ? TRACE_ADMITTED
               : TRACE_FAILED;
}

void request_parts_take(struct request_parts *p, const struct router_part *part,
                        struct trace_record *out, struct buffer *key, struct buffer *lines)
{
    struct request_table *t = table_of(p, part->table, lines);
    enum traffic_kind kind = kind_of(part->op);
    *out = (struct trace_record){.table = t->number,
                                 .kind = kind,
                                 .scan_length = 1,
                                 .consistent = traffic_kind_writes(kind) || part->consistent,
                                 .outcome = outcome_of(part)};
    if (kind == TRAFFIC_SCAN) {
        sizes_of_range(part, &t->means[kind], out);
    } else {
        int64_t bytes = size_of_item(p, part, &t->means[kind]);
        out->size_bytes = (int32_t)MIN(bytes, ITEM_SIZE_MAX);
    }
    buffer_clear(key);
    append_key(key, part);
}
