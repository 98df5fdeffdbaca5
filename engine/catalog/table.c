/* table.c - tables and their partitions, as the catalog knows them and as bytes. */
#include "engine/catalog/table.h"

#include <xxhash.h>

#include "base/gac_policy.h"
#include "engine/catalog/table_name.h"
#include "engine/message/request_traits.h"

_Static_assert(ADMIT_KINDS == 2, "partition_info.rate_mcu has one rate for each kind");

/* Only a table with a sort key can have whole item collections. */
static void whole_collections_walk(struct codec *c, bool *whole_collections,
                                   const struct key_attr *sort_key)
{
    codec_bool(c, whole_collections);
    codec_check(c, !*whole_collections || sort_key->name.size > 0);
}

/* Only a table of whole item collections can have local indexes. */
static bool indexes_are_valid(struct slice bytes, bool whole_collections)
{
    const struct index_set *set;
    struct arena arena = {0};
    const bool valid = index_set_decode(bytes, &arena, &set) == STATUS_OK &&
                       (whole_collections || index_set_local(set) == 0);
    arena_deinit(&arena);
    return valid;
}

static void indexes_walk(struct codec *c, struct slice *indexes, bool whole_collections)
{
    codec_sized(c, indexes, UINT32_MAX);
    if (codec_reads(c) && indexes->size > 0)
        codec_check(c, indexes_are_valid(*indexes, whole_collections));
}

static void ttl_walk(struct codec *c, enum table_ttl *ttl, struct slice *attribute)
{
    *ttl = (enum table_ttl)codec_choice(c, *ttl, TTL_DISABLED, TTL_DISABLING);
    codec_sized(c, attribute, TTL_NAME_SIZE_MAX);
    codec_check(c, (attribute->size > 0) == (*ttl != TTL_DISABLED) && slice_is_utf8(*attribute));
}

static void pair_walk(struct codec *c, int64_t min, int64_t max, int64_t pair[ADMIT_KINDS])
{
    for (int kind = 0; kind < ADMIT_KINDS; kind++)
        codec_i64(c, &pair[kind], min, max);
}

/* What is only stored and returned. */
static void description_walk(struct codec *c, enum table_class *class,
                             enum table_encryption *encryption, struct slice *key)
{
    *class = (enum table_class)codec_choice(c, *class, 0, TABLE_CLASS_INFREQUENT_ACCESS);
    *encryption = (enum table_encryption)codec_choice(c, *encryption, 0, ENCRYPTION_WITH_KEY);
    codec_sized(c, key, ENCRYPTION_KEY_SIZE_MAX);
    codec_check(c, slice_is_utf8(*key));
}

static void table_spec_walk(struct codec *c, struct table_spec *s)
{
    codec_sized(c, &s->name, TABLE_NAME_SIZE_MAX);
    key_attr_walk(c, &s->partition_key);
    key_attr_walk(c, &s->sort_key);
    whole_collections_walk(c, &s->whole_collections, &s->sort_key);
    indexes_walk(c, &s->indexes, s->whole_collections);
    codec_sized(c, &s->globals, UINT32_MAX);
    codec_sized(c, &s->add_index, UINT32_MAX);
    codec_sized(c, &s->add_throughput, UINT32_MAX);
    codec_sized(c, &s->drop_index, INDEX_NAME_SIZE_MAX);
    s->gac = codec_choice(c, s->gac, 0, GAC_POLICIES);
    s->weight = codec_choice(c, s->weight, 0, TABLE_WEIGHT_MAX);
    s->billing =
        (enum table_billing)codec_choice(c, s->billing, BILLING_AS_IT_IS, BILLING_ON_DEMAND);
    codec_amount(c, &s->rcu);
    codec_amount(c, &s->wcu);
    pair_walk(c, 0, TABLE_UNITS_MAX, s->warm);
    pair_walk(c, MAXIMUM_NONE, TABLE_UNITS_MAX, s->maximum);
    s->protection = (enum table_protection)codec_choice(c, s->protection, 0, PROTECTION_ON);
    ttl_walk(c, &s->ttl, &s->ttl_attribute);
    codec_check(c, s->ttl != TTL_ENABLED);
    s->stream = codec_choice(c, s->stream, 0, 1 + STREAM_BOTH_IMAGES);
    description_walk(c, &s->class, &s->encryption, &s->encryption_key);
    codec_sized(c, &s->tags, UINT32_MAX);
    codec_check(c, tags_valid(s->tags, true));
    codec_check(c, table_name_is_valid(s->name) && key_name_is_valid(s->partition_key.name) &&
                       key_name_is_valid(s->sort_key.name));
}

CODEC_ENCODE(table_spec)
CODEC_DECODE_ALL(table_spec)

uint8_t table_gac_setting(uint8_t gac, bool of_index, int kind)
{
    return of_index && kind == ADMIT_WRITE ? 1 + GAC_OFF : gac;
}

void table_spec_append_sized(struct buffer *out, const struct table_spec *spec)
{
    struct buffer bytes = {0};
    table_spec_encode(&bytes, spec);
    buffer_append_sized(out, buffer_slice(&bytes));
    buffer_deinit(&bytes);
}

enum {
    INFO_LEAVING = 1 << REPLICAS_MAX, /* in the byte `joined`: `leaving` follows the members */
    /* in the byte of the number of members */
    INFO_GAC_SHIFT = 3,
    INFO_GAC_MASK = 7,
    INFO_ON_DEMAND = 0x40, /* `maximum_mcu` follows the byte */
    INFO_WHOLE_COLLECTIONS = 0x80,
    MERGE_ABSORBED_BIT = 0x80, /* in the byte of the merge's step */
    INFO_OF_INDEX = 1,
    INFO_STREAM = 2 /* the stream follows the byte */
};
_Static_assert(REPLICAS_MAX < 1 << INFO_GAC_SHIFT, "members leave room for what is behind them");
_Static_assert((int)GAC_POLICIES <= (int)INFO_GAC_MASK, "and that leaves room too");

/* u8 step, with a bit for `absorbed` | unless none: u32 merge_with | ABSORB: u64 index, u64 term.
 */
static void table_merge_walk(struct codec *c, struct partition_info *p)
{
    uint8_t step = (uint8_t)((uint32_t)p->merge | (p->absorbed ? MERGE_ABSORBED_BIT : 0));
    codec_u8(c, &step);
    p->absorbed = step & MERGE_ABSORBED_BIT;
    step &= (uint8_t)~MERGE_ABSORBED_BIT;
    codec_check(c, step <= MERGE_ABSORB && (!p->absorbed || step == MERGE_ABSORB));
    p->merge = (enum merge_step)step;
    if (p->merge != MERGE_NONE) {
        codec_u32(c, &p->merge_with);
        codec_check(c, p->merge_with != 0 && p->merge_with != p->id);
    }
    if (p->merge == MERGE_ABSORB) {
        codec_u64(c, &p->frozen_index);
        codec_u64(c, &p->frozen_term);
    }
}

/* u8: number of members and bits of INFO_* | on demand: maxima | u8 joined | members | leaving. */
static void info_members_walk(struct codec *c, struct partition_info *p)
{
    uint8_t flags = (uint8_t)(p->member_count | (uint32_t)p->gac << INFO_GAC_SHIFT |
                              (p->on_demand ? INFO_ON_DEMAND : 0) |
                              (p->whole_collections ? INFO_WHOLE_COLLECTIONS : 0));
    codec_u8(c, &flags);
    p->whole_collections = flags & INFO_WHOLE_COLLECTIONS;
    p->on_demand = flags & INFO_ON_DEMAND;
    p->gac = flags >> INFO_GAC_SHIFT & INFO_GAC_MASK;
    p->member_count = flags & ((1 << INFO_GAC_SHIFT) - 1);
    codec_check(c,
                p->member_count > 0 && p->member_count <= REPLICAS_MAX && p->gac <= GAC_POLICIES);
    if (p->on_demand)
        pair_walk(c, 0, INT64_MAX, p->maximum_mcu);
    uint8_t joined = (uint8_t)(p->joined | (p->leaving != 0 ? INFO_LEAVING : 0));
    codec_u8(c, &joined);
    p->joined = joined & ~(uint32_t)INFO_LEAVING;
    for (uint32_t i = 0; i < p->member_count && !codec_failed(c); i++) {
        codec_u64(c, &p->members[i]);
        codec_check(c, raft_member_node(p->members[i]) != 0);
    }
    if (joined & INFO_LEAVING) {
        codec_u64(c, &p->leaving);
        codec_bool(c, &p->let_go);
        codec_check(c, raft_member_node(p->leaving) != 0);
    }
}

/* u8: of_index, and whether there ever was a stream | if so: the stream. */
static void info_stream_walk(struct codec *c, struct partition_info *p)
{
    const uint32_t streams = p->stream.id != 0 ? INFO_STREAM : 0;
    uint8_t flags = codec_choice(c, (p->of_index ? INFO_OF_INDEX : 0) | streams, 0,
                                 INFO_OF_INDEX | INFO_STREAM);
    p->of_index = flags & INFO_OF_INDEX;
    if (flags & INFO_STREAM) {
        stream_latest_walk(c, &p->stream);
        codec_check(c, p->stream.id != 0);
    }
}

void partition_info_walk(struct codec *c, struct partition_info *p)
{
    codec_u32(c, &p->id);
    codec_check(c, p->id <= PARTITION_ID_MAX);
    codec_u64(c, &p->epoch);
    codec_u32(c, &p->table_id);
    pair_walk(c, 0, INT64_MAX, p->rate_mcu);
    codec_sized(c, &p->lo, STORAGE_KEY_SIZE_MAX);
    codec_sized(c, &p->hi, STORAGE_KEY_SIZE_MAX);
    info_members_walk(c, p);
    p->weight = codec_choice(c, p->weight, 0, TABLE_WEIGHT_MAX);
    info_stream_walk(c, p);
    codec_u32(c, &p->arrivals);
    codec_check(c, p->arrivals <= RAFT_ARRIVAL_MAX);
    codec_u32(c, &p->parent);
    for (int kind = 0; kind < ADMIT_KINDS; kind++)
        codec_u32(c, &p->share_ppm[kind]);
    table_merge_walk(c, p);
    indexes_walk(c, &p->indexes, p->whole_collections);
    codec_u32(c, &p->indexes_version);
    codec_sized(c, &p->ttl, TTL_NAME_SIZE_MAX);
    codec_u64(c, &p->key_sharding_version);
}

CODEC_ENCODE(partition_info)
CODEC_DECODE_ALL(partition_info)

static void table_walk(struct codec *c, struct table *t)
{
    codec_u32(c, &t->id);
    codec_u32(c, &t->index_of);
    codec_bool(c, &t->filling);
    codec_bool(c, &t->no_pending_parts);
    codec_sized(c, &t->name, UINT32_MAX);
    codec_bytes(c, t->uuid, sizeof t->uuid);
    t->status = (enum table_status)codec_choice(c, t->status, TABLE_CREATING, TABLE_DELETING);
    key_attr_walk(c, &t->partition_key);
    key_attr_walk(c, &t->sort_key);
    whole_collections_walk(c, &t->whole_collections, &t->sort_key);
    indexes_walk(c, &t->indexes, t->whole_collections);
    codec_u32(c, &t->indexes_version);
    t->gac = codec_choice(c, t->gac, 0, GAC_POLICIES);
    t->weight = codec_choice(c, t->weight, 0, TABLE_WEIGHT_MAX);
    t->billing =
        (enum table_billing)codec_choice(c, t->billing, BILLING_PROVISIONED, BILLING_ON_DEMAND);
    codec_u64(c, &t->version);
    codec_amount(c, &t->rcu);
    codec_amount(c, &t->wcu);
    pair_walk(c, 0, TABLE_UNITS_MAX, t->warm);
    pair_walk(c, 0, TABLE_UNITS_MAX, t->reserved);
    pair_walk(c, 0, TABLE_UNITS_MAX, t->maximum);
    for (int i = 0; i < ON_DEMAND_SWITCHES_MAX; i++)
        codec_amount(c, &t->on_demand_ms[i]);
    codec_amount(c, &t->on_demand_since_ms);
    codec_amount(c, &t->created_ms);
    codec_amount(c, &t->increased_ms);
    codec_amount(c, &t->decreased_ms);
    codec_u32(c, &t->decreases_today);
    codec_bool(c, &t->protected);
    ttl_walk(c, &t->ttl, &t->ttl_attribute);
    codec_amount(c, &t->ttl_changed_ms);
    codec_sized(c, &t->key_sharding, KEY_SHARDING_SIZE_MAX);
    description_walk(c, &t->class, &t->encryption, &t->encryption_key);
    codec_sized(c, &t->tags, UINT32_MAX);
    codec_check(c, tags_valid(t->tags, false));
    codec_sized(c, &t->streams, UINT32_MAX);
    codec_amount(c, &t->item_count);
    codec_amount(c, &t->size_bytes);
    for (int i = 0; i < LOCAL_INDEXES_MAX && t->indexes.size > 0; i++) {
        codec_amount(c, &t->rows[i].count);
        codec_amount(c, &t->rows[i].bytes);
    }
    codec_u32(c, &t->partition_count);
}

void table_encode(struct buffer *out, const struct table *t)
{
    struct table copy = *t;
    table_walk(&(struct codec){.out = out}, &copy);
    for (uint32_t i = 0; i < t->partition_count; i++) {
        struct partition_info p = t->partitions[i];
        p.indexes = slice_make(NULL, 0); /* the table's, which are there already */
        p.indexes_version = 0;
        p.ttl = slice_make(NULL, 0);
        p.stream = (struct stream_latest){0};
        p.key_sharding_version = 0;
        partition_info_encode(out, &p);
    }
}

enum {
    PARTITION_INFO_SIZE_MIN = 88
}; /* encoded, with empty bounds */

enum status table_decode(struct slice bytes, struct arena *arena, struct table *out)
{
    struct codec c = {.in = &(struct reader){bytes, false}};
    *out = (struct table){0};
    table_walk(&c, out);
    if (codec_failed(&c) || out->partition_count > c.in->left.size / PARTITION_INFO_SIZE_MIN ||
        index_set_decode(out->indexes, arena, &out->index_set) != STATUS_OK ||
        table_streams_decode(out->streams, arena, &out->stream_set) != STATUS_OK ||
        key_sharding_decode(out->key_sharding, arena, &out->sharded_keys) != STATUS_OK)
        return STATUS_MALFORMED;
    out->partitions = arena_zalloc(arena, out->partition_count * sizeof *out->partitions);
    for (uint32_t i = 0; i < out->partition_count; i++) {
        partition_info_walk(&c, &out->partitions[i]);
        const struct partition_info *p = &out->partitions[i];
        codec_check(&c, p->indexes.size == 0 && p->ttl.size == 0 && p->stream.id == 0 &&
                            p->key_sharding_version == 0);
        out->partitions[i].indexes = table_kept_indexes(out);
        out->partitions[i].indexes_version = out->indexes_version;
        out->partitions[i].ttl = table_kept_ttl(out);
        out->partitions[i].stream = table_streams_latest(out->stream_set);
        out->partitions[i].key_sharding_version = table_key_sharding_version(out);
    }
    return codec_end(&c);
}

void table_append_index_name(struct buffer *out, const struct table *t, const struct index *x)
{
    buffer_append_slice(out, t->name);
    buffer_append_u8(out, '/');
    buffer_append_slice(out, x->name);
}

enum status table_decode_indexes(struct slice records, struct arena *arena, const struct table *t,
                                 const struct table ***out)
{
    const uint32_t count = index_set_global(t->index_set);
    struct reader r = {records, false};
    *out = count > 0 ? arena_zalloc(arena, count * sizeof **out) : NULL;
    while (r.left.size > 0) {
        const struct slice bytes = reader_sized(&r);
        struct table *x = arena_zalloc(arena, sizeof *x);
        if (r.failed || table_decode(bytes, arena, x) != STATUS_OK)
            return STATUS_MALFORMED;
        for (uint32_t i = 0; i < count; i++) {
            if (index_set_global_at(t->index_set, i)->table_id == x->id)
                (*out)[i] = x;
        }
    }
    return STATUS_OK;
}

int64_t table_shared_units(const struct table *t, int kind)
{
    if (t->billing == BILLING_ON_DEMAND)
        return t->reserved[kind];
    return kind == ADMIT_READ ? t->rcu : t->wcu;
}

enum key_sharding_mode table_key_sharding_mode(const struct table *t, uint32_t *fixed)
{
    struct tag tag;
    enum key_sharding_mode mode = KEY_SHARDING_OFF;
    bool renamed = false;
    *fixed = 0;
    for (struct slice tags = t->tags; tags_next(&tags, &tag);) {
        if (!table_tag_is_key_sharding(tag.key) ||
            (renamed && slice_is(tag.key, KEY_SHARDING_TAG_OLD)))
            continue;
        renamed = slice_is(tag.key, KEY_SHARDING_TAG);
        if (!key_sharding_mode_parse(tag.value, &mode, fixed))
            mode = KEY_SHARDING_OFF; /* a value from before routers checked it */
    }
    return mode;
}

bool table_tag_is_key_sharding(struct slice key)
{
    return slice_is(key, KEY_SHARDING_TAG) || slice_is(key, KEY_SHARDING_TAG_OLD);
}

bool table_counts(const struct table *t)
{
    uint32_t fixed;
    bool counts = table_key_sharding_mode(t, &fixed) == KEY_SHARDING_COUNTER;
    for (uint32_t i = 0; t->sharded_keys != NULL && i < t->sharded_keys->count; i++)
        counts |= t->sharded_keys->keys[i].counter;
    return counts;
}

struct partition_info *table_find_partition(const struct table *t, uint32_t id)
{
    struct partition_info *p = t->partitions, *end = p + t->partition_count;
    while (p < end && p->id != id)
        p++;
    return p < end ? p : NULL;
}

const struct partition_info *table_partition_of(const struct table *t, struct slice key)
{
    must(t->partition_count > 0);
    uint32_t low = 0, high = t->partition_count; /* partitions[low].lo <= key */
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (slice_compare(t->partitions[middle].lo, key) <= 0)
            low = middle;
        else
            high = middle;
    }
    return &t->partitions[low];
}

/* The partition that holds the keys just before `key`. */
static const struct partition_info *table_partition_before(const struct table *t, struct slice key)
{
    const struct partition_info *p = table_partition_of(t, key);
    return p > t->partitions && slice_equal(p->lo, key) ? p - 1 : p;
}

const struct partition_info *table_partition_for(const struct table *t, const struct request *q)
{
    return q->op == REQUEST_RANGE && q->range.reverse ? table_partition_before(t, q->range.hi)
                                                      : table_partition_of(t, request_key(q));
}

bool table_range_past(const struct table *t, uint32_t partition, bool reverse, struct slice *lo,
                      struct slice *hi)
{
    const struct partition_info *at = table_find_partition(t, partition);
    if (at == NULL)
        return false;
    if (reverse)
        *hi = at->lo;
    else
        *lo = at->hi;
    return (reverse ? hi : lo)->size > 0 && slice_compare(*lo, *hi) < 0;
}

uint64_t table_reconcile_hash(const struct table *t)
{
    struct buffer b = {0};
    buffer_append_u8(&b, (uint8_t)t->status);
    buffer_append_u8(&b, t->no_pending_parts);
    for (uint32_t i = 0; i < t->partition_count; i++) {
        const struct partition_info *p = &t->partitions[i];
        buffer_append_u32(&b, p->id);
        buffer_append_u64(&b, p->epoch);
        buffer_append_u32(&b, p->indexes_version);
        for (int kind = 0; kind < ADMIT_KINDS; kind++)
            buffer_append_u64(&b, (uint64_t)p->rate_mcu[kind]);
    }
    const uint64_t word = XXH3_64bits(b.data, b.size);
    buffer_deinit(&b);
    return word;
}

bool table_is_splitting(const struct table *t)
{
    for (uint32_t i = 0; i < t->partition_count; i++) {
        if (t->partitions[i].parent != 0)
            return true;
    }
    return false;
}

bool table_partition_is_splitting(const struct table *t, const struct partition_info *p)
{
    const struct partition_info *next = p + 1; /* its first child follows it */
    bool last = next == t->partitions + t->partition_count;
    return p->parent != 0 || (!last && next->parent == p->id);
}

bool table_is_merging(const struct table *t)
{
    for (uint32_t i = 0; i < t->partition_count; i++) {
        if (t->partitions[i].merge != MERGE_NONE)
            return true;
    }
    return false;
}

bool table_partition_is_merging(const struct table *t, const struct partition_info *p)
{
    const struct partition_info *next = p + 1;
    bool last = next == t->partitions + t->partition_count;
    return p->merge != MERGE_NONE || (!last && next->merge == MERGE_FREEZE);
}

uint64_t partition_member_on(const struct partition_info *info, uint32_t node)
{
    for (uint32_t i = 0; i < info->member_count; i++) {
        if (partition_node(info, i) == node)
            return info->members[i];
    }
    return 0;
}
