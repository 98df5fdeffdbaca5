/* indexes.c - reads the global indexes of a table. */
#include "lab/scenario/indexes.h"

#include "base/limits.h"
#include "engine/catalog/table_name.h"

#define AT(member) FIELD_MEMBER(struct index_options, member)

enum {
    UNITS_MAX = 100000000,
    NAME_SIZE_MAX = 63 /* as of tables */
};

static const char *const projections[] = {[INDEX_ALL] = "all", [INDEX_KEYS] = "keys", NULL};

const struct field index_fields[] = {
    {"name", FIELD_ANY_TEXT, AT(name), .required = true, .help = "Name of the index."},
    {"keys", FIELD_PARSED, AT(keys), .parse = load_keys_parse,
     .help = "The distribution of the index's key over written items, like `keys` of a workload. "
             "Default: uniform."},
    {"key_count", FIELD_INTEGER, AT(keys.count), .min = 1, .max = 1000000000000,
     .help = "Number of values of the key. Default: 10000."},
    {"projection", FIELD_CHOICE, AT(projection), .choices = projections,
     .help = "The attributes of a row: all of the item, or the keys. Default: all."},
    {"rcu", FIELD_INTEGER, AT(rcu), .min = 0, .max = UNITS_MAX,
     .help = "Provisioned read units per second; 0: as many as the table. Default: 0."},
    {"wcu", FIELD_INTEGER, AT(wcu), .min = 0, .max = UNITS_MAX,
     .help = "Provisioned write units per second; 0: as many as the table. Default: 0."},
    {"partitions", FIELD_INTEGER, AT(partitions), .min = 0, .max = 100000,
     .help = "Partitions at the start, at least as many as its throughput needs. Default: 0."},
    FIELDS_END};

bool index_read(struct reading *r, const struct document_node *n, void *target)
{
    struct index_options *x = target;
    *x = (struct index_options){.keys.count = 10000};
    if (!fields_read(r, n, index_fields, x))
        return false;
    const size_t size = strlen(x->name);
    if (size < INDEX_NAME_SIZE_MIN || size > NAME_SIZE_MAX ||
        !table_name_is_valid(slice_of(x->name)))
        return reading_fail(
            r, n, "the name of an index has %d to %d letters, digits, _, - and ., not `%s`",
            INDEX_NAME_SIZE_MIN, NAME_SIZE_MAX, x->name);
    const char *fault = load_keys_check(&x->keys);
    return fault == NULL || reading_fail(r, n, "keys of index %s: %s", x->name, fault);
}

bool indexes_check(struct reading *r, const struct document_node *n,
                   const struct indexes_options *o, bool on_demand)
{
    for (uint32_t i = 0; i < o->count && on_demand; i++) {
        const struct index_options *x = &o->at[i];
        if (x->rcu != 0 || x->wcu != 0)
            return reading_fail(r, n,
                                "index %s: rcu and wcu must be 0, since its table is on demand, "
                                "not %lld and %lld",
                                x->name, (long long)x->rcu, (long long)x->wcu);
    }
    return true;
}

const char *indexes_check_count(const struct indexes_options *o, int64_t key_count)
{
    for (uint32_t i = 0; i < o->count; i++) {
        struct load_keys keys = o->at[i].keys;
        keys.count = key_count > 0 ? (uint64_t)key_count : keys.count;
        const char *fault = load_keys_check(&keys);
        if (fault != NULL)
            return fault;
    }
    return NULL;
}

void index_append_attribute(struct buffer *out, const struct index_options *x)
{
    buffer_append_format(out, "%s-key", x->name);
}
