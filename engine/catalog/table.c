/* table.c - tables and their partitions as the catalog knows them, and as bytes. */
#include "engine/catalog/table.h"

#include "base/must.h"
#include "engine/admission/admission.h"

_Static_assert(ADMIT_KINDS == 2, "partition_info.rate_mcu has one rate for each kind");

static void key_attr_encode(struct buffer *out, const struct key_attr *k)
{
    buffer_append_u8(out, (uint8_t)k->type);
    buffer_append_sized(out, k->name);
}

static bool key_type_valid(enum attr_type type)
{
    return type == ATTR_STRING || type == ATTR_NUMBER || type == ATTR_BINARY;
}

static struct key_attr key_attr_decode(struct reader *r)
{
    struct key_attr k;
    k.type = (enum attr_type)reader_u8(r);
    k.name = reader_sized(r);
    if (k.name.size > KEY_NAME_SIZE_MAX || (k.name.size > 0 && !key_type_valid(k.type)))
        r->failed = true;
    return k;
}

/* Item collections are whole, and counted, only where there are any. */
static bool whole_decode(struct reader *r, const struct key_attr *sort_key)
{
    uint8_t whole = reader_u8(r);
    if (whole > 1 || (whole == 1 && sort_key->name.size == 0))
        r->failed = true;
    return whole;
}

static uint8_t gac_decode(struct reader *r)
{
    uint8_t said = reader_u8(r);
    if (said > GAC_POLICIES)
        r->failed = true;
    return said;
}

/* A value of an enumeration from `least` on. */
static uint8_t choice_decode(struct reader *r, uint8_t least, uint8_t most)
{
    uint8_t value = reader_u8(r);
    if (value < least || value > most)
        r->failed = true;
    return value;
}

/* A count or rate: anything negative is damage. */
static int64_t amount_decode(struct reader *r)
{
    int64_t value = (int64_t)reader_u64(r);
    if (value < 0)
        r->failed = true;
    return value;
}

static void pair_encode(struct buffer *out, const int64_t pair[ADMIT_KINDS])
{
    for (int kind = 0; kind < ADMIT_KINDS; kind++)
        buffer_append_u64(out, (uint64_t)pair[kind]);
}

/* Units per second, from `least` on. */
static void pair_decode(struct reader *r, int64_t least, int64_t pair[ADMIT_KINDS])
{
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        pair[kind] = (int64_t)reader_u64(r);
        if (pair[kind] < least || pair[kind] > TABLE_UNITS_MAX)
            r->failed = true;
    }
}

void table_spec_encode(struct buffer *out, const struct table_spec *spec)
{
    buffer_append_sized(out, spec->name);
    key_attr_encode(out, &spec->partition_key);
    key_attr_encode(out, &spec->sort_key);
    buffer_append_u8(out, spec->whole_collections);
    buffer_append_u8(out, spec->gac);
    buffer_append_u8(out, (uint8_t)spec->billing);
    buffer_append_u64(out, (uint64_t)spec->rcu);
    buffer_append_u64(out, (uint64_t)spec->wcu);
    pair_encode(out, spec->warm);
    pair_encode(out, spec->maximum);
    buffer_append_u8(out, (uint8_t)spec->class);
    buffer_append_u8(out, (uint8_t)spec->encryption);
    buffer_append_sized(out, spec->encryption_key);
    buffer_append_sized(out, spec->tags);
}

/* Letters, digits, _ - and . as the service has it. Names go into pages and log lines. */
static bool is_table_name(struct slice name)
{
    for (size_t i = 0; i < name.size; i++) {
        uint8_t c = name.data[i], letter = c | 0x20;
        if ((letter < 'a' || letter > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' &&
            c != '.')
            return false;
    }
    return name.size > 0 && name.size <= TABLE_NAME_SIZE_MAX;
}

static struct slice encryption_key_decode(struct reader *r)
{
    struct slice key = reader_sized(r);
    if (key.size > ENCRYPTION_KEY_SIZE_MAX || !slice_is_utf8(key))
        r->failed = true;
    return key;
}

static struct slice tags_decode(struct reader *r, bool change)
{
    struct slice tags = reader_sized(r);
    if (!tags_valid(tags, change))
        r->failed = true;
    return tags;
}

static bool is_key_name(struct slice name)
{
    return name.size <= KEY_NAME_SIZE_MAX && slice_is_utf8(name);
}

enum status table_spec_decode(struct slice bytes, struct table_spec *out)
{
    struct reader r = {bytes, false};
    out->name = reader_sized(&r);
    out->partition_key = key_attr_decode(&r);
    out->sort_key = key_attr_decode(&r);
    out->whole_collections = whole_decode(&r, &out->sort_key);
    out->gac = gac_decode(&r);
    out->billing = choice_decode(&r, BILLING_AS_IT_IS, BILLING_ON_DEMAND);
    out->rcu = amount_decode(&r);
    out->wcu = amount_decode(&r);
    pair_decode(&r, 0, out->warm);
    pair_decode(&r, MAXIMUM_NONE, out->maximum);
    out->class = choice_decode(&r, TABLE_CLASS_UNSAID, TABLE_CLASS_INFREQUENT_ACCESS);
    out->encryption = choice_decode(&r, ENCRYPTION_UNSAID, ENCRYPTION_WITH_KEY);
    out->encryption_key = encryption_key_decode(&r);
    out->tags = tags_decode(&r, true);
    if (r.failed || r.left.size > 0 || !is_table_name(out->name) ||
        !is_key_name(out->partition_key.name) || !is_key_name(out->sort_key.name))
        return STATUS_MALFORMED;
    return STATUS_OK;
}

enum {
    INFO_LEAVING = 1 << REPLICAS_MAX, /* in the byte `joined`: `leaving` follows the members */
    /* in the byte of the number of members */
    INFO_GAC_SHIFT = 3,
    INFO_GAC_MASK = 7,
    INFO_ON_DEMAND = 0x40, /* `maximum_mcu` follows the byte */
    INFO_WHOLE = 0x80,
    MERGE_ABSORBED_BIT = 0x80 /* in the byte of the merge's step */
};
_Static_assert(REPLICAS_MAX < 1 << INFO_GAC_SHIFT, "members leave room for what is behind them");
_Static_assert((int)GAC_POLICIES <= (int)INFO_GAC_MASK, "and that leaves room too");

/* u8 step, with a bit for `absorbed` | unless none: u32 merge_with | ABSORB: u64 index, u64 term.
 */
static void merge_encode(struct buffer *out, const struct partition_info *p)
{
    buffer_append_u8(out, (uint8_t)((uint32_t)p->merge | (p->absorbed ? MERGE_ABSORBED_BIT : 0)));
    if (p->merge != MERGE_NONE)
        buffer_append_u32(out, p->merge_with);
    if (p->merge != MERGE_ABSORB)
        return;
    buffer_append_u64(out, p->frozen_index);
    buffer_append_u64(out, p->frozen_term);
}

static void table_merge_decode(struct reader *r, struct partition_info *out)
{
    uint8_t step = reader_u8(r);
    out->absorbed = step & MERGE_ABSORBED_BIT;
    step &= (uint8_t)~MERGE_ABSORBED_BIT;
    if (step > MERGE_ABSORB || (out->absorbed && step != MERGE_ABSORB))
        r->failed = true;
    out->merge = (enum merge_step)step;
    out->merge_with = step != MERGE_NONE ? reader_u32(r) : 0;
    out->frozen_index = step == MERGE_ABSORB ? reader_u64(r) : 0;
    out->frozen_term = step == MERGE_ABSORB ? reader_u64(r) : 0;
    if (step != MERGE_NONE && (out->merge_with == 0 || out->merge_with == out->id))
        r->failed = true;
}

void partition_info_encode(struct buffer *out, const struct partition_info *p)
{
    buffer_append_u32(out, p->id);
    buffer_append_u64(out, p->epoch);
    buffer_append_u32(out, p->table_id);
    for (int kind = 0; kind < ADMIT_KINDS; kind++)
        buffer_append_u64(out, (uint64_t)p->rate_mcu[kind]);
    buffer_append_sized(out, p->lo);
    buffer_append_sized(out, p->hi);
    buffer_append_u8(out, (uint8_t)(p->member_count | (uint32_t)p->gac << INFO_GAC_SHIFT |
                                    (p->on_demand ? INFO_ON_DEMAND : 0) |
                                    (p->whole_collections ? INFO_WHOLE : 0)));
    for (int kind = 0; kind < ADMIT_KINDS && p->on_demand; kind++)
        buffer_append_u64(out, (uint64_t)p->maximum_mcu[kind]);
    buffer_append_u8(out, (uint8_t)(p->joined | (p->leaving != 0 ? INFO_LEAVING : 0)));
    for (uint32_t i = 0; i < p->member_count; i++)
        buffer_append_u64(out, p->members[i]);
    if (p->leaving != 0) {
        buffer_append_u64(out, p->leaving);
        buffer_append_u8(out, p->let_go);
    }
    buffer_append_u32(out, p->arrivals);
    buffer_append_u32(out, p->parent);
    for (int kind = 0; kind < ADMIT_KINDS; kind++)
        buffer_append_u32(out, p->share_ppm[kind]);
    merge_encode(out, p);
}

enum status partition_info_decode(struct reader *r, struct partition_info *out)
{
    out->id = reader_u32(r);
    out->epoch = reader_u64(r);
    out->table_id = reader_u32(r);
    for (int kind = 0; kind < ADMIT_KINDS; kind++)
        out->rate_mcu[kind] = amount_decode(r);
    out->lo = reader_sized(r);
    out->hi = reader_sized(r);
    uint8_t members = reader_u8(r);
    out->whole_collections = members & INFO_WHOLE;
    out->on_demand = members & INFO_ON_DEMAND;
    out->gac = members >> INFO_GAC_SHIFT & INFO_GAC_MASK;
    out->member_count = members & ((1 << INFO_GAC_SHIFT) - 1);
    for (int kind = 0; kind < ADMIT_KINDS; kind++)
        out->maximum_mcu[kind] = out->on_demand ? amount_decode(r) : 0;
    uint8_t joined = reader_u8(r);
    out->joined = joined & ~(uint32_t)INFO_LEAVING;
    if (out->id > PARTITION_ID_MAX || out->lo.size > STORAGE_KEY_SIZE_MAX ||
        out->hi.size > STORAGE_KEY_SIZE_MAX || out->member_count == 0 ||
        out->member_count > REPLICAS_MAX || out->gac > GAC_POLICIES)
        r->failed = true;
    for (uint32_t i = 0; i < out->member_count && !r->failed; i++) {
        out->members[i] = reader_u64(r);
        if (raft_member_node(out->members[i]) == 0)
            r->failed = true;
    }
    out->leaving = joined & INFO_LEAVING ? reader_u64(r) : 0;
    uint8_t let_go = joined & INFO_LEAVING ? reader_u8(r) : 0;
    out->let_go = let_go != 0;
    if (let_go > 1 || ((joined & INFO_LEAVING) != 0 && raft_member_node(out->leaving) == 0))
        r->failed = true;
    out->arrivals = reader_u32(r);
    if (out->arrivals > RAFT_ARRIVAL_MAX)
        r->failed = true;
    out->parent = reader_u32(r);
    for (int kind = 0; kind < ADMIT_KINDS; kind++)
        out->share_ppm[kind] = reader_u32(r);
    table_merge_decode(r, out);
    return r->failed ? STATUS_MALFORMED : STATUS_OK;
}

void table_encode(struct buffer *out, const struct table *t)
{
    buffer_append_u32(out, t->id);
    buffer_append_sized(out, t->name);
    buffer_append(out, t->uuid, sizeof t->uuid);
    buffer_append_u8(out, (uint8_t)t->status);
    key_attr_encode(out, &t->partition_key);
    key_attr_encode(out, &t->sort_key);
    buffer_append_u8(out, t->whole_collections);
    buffer_append_u8(out, t->gac);
    buffer_append_u8(out, (uint8_t)t->billing);
    buffer_append_u64(out, t->version);
    buffer_append_u64(out, (uint64_t)t->rcu);
    buffer_append_u64(out, (uint64_t)t->wcu);
    pair_encode(out, t->warm);
    pair_encode(out, t->promised);
    pair_encode(out, t->maximum);
    for (int i = 0; i < ON_DEMAND_SWITCHES_MAX; i++)
        buffer_append_u64(out, (uint64_t)t->on_demand_ms[i]);
    buffer_append_u64(out, (uint64_t)t->created_ms);
    buffer_append_u64(out, (uint64_t)t->increased_ms);
    buffer_append_u64(out, (uint64_t)t->decreased_ms);
    buffer_append_u32(out, t->decreases_today);
    buffer_append_u8(out, (uint8_t)t->class);
    buffer_append_u8(out, (uint8_t)t->encryption);
    buffer_append_sized(out, t->encryption_key);
    buffer_append_sized(out, t->tags);
    buffer_append_u64(out, (uint64_t)t->item_count);
    buffer_append_u64(out, (uint64_t)t->size_bytes);
    buffer_append_u32(out, t->partition_count);
    for (uint32_t i = 0; i < t->partition_count; i++)
        partition_info_encode(out, &t->partitions[i]);
}

enum {
    PARTITION_INFO_SIZE_MIN = 67
}; /* encoded, with empty bounds */

enum status table_decode(struct slice bytes, struct arena *arena, struct table *out)
{
    struct reader r = {bytes, false};
    *out = (struct table){0};
    out->id = reader_u32(&r);
    out->name = reader_sized(&r);
    struct slice uuid = reader_take(&r, sizeof out->uuid);
    if (uuid.size > 0)
        memcpy(out->uuid, uuid.data, uuid.size);
    uint8_t status = reader_u8(&r);
    out->status = (enum table_status)status;
    out->partition_key = key_attr_decode(&r);
    out->sort_key = key_attr_decode(&r);
    out->whole_collections = whole_decode(&r, &out->sort_key);
    out->gac = gac_decode(&r);
    out->billing = choice_decode(&r, BILLING_PROVISIONED, BILLING_ON_DEMAND);
    out->version = reader_u64(&r);
    out->rcu = amount_decode(&r);
    out->wcu = amount_decode(&r);
    pair_decode(&r, 0, out->warm);
    pair_decode(&r, 0, out->promised);
    pair_decode(&r, 0, out->maximum);
    for (int i = 0; i < ON_DEMAND_SWITCHES_MAX; i++)
        out->on_demand_ms[i] = amount_decode(&r);
    out->created_ms = amount_decode(&r);
    out->increased_ms = amount_decode(&r);
    out->decreased_ms = amount_decode(&r);
    out->decreases_today = reader_u32(&r);
    out->class = choice_decode(&r, TABLE_CLASS_UNSAID, TABLE_CLASS_INFREQUENT_ACCESS);
    out->encryption = choice_decode(&r, ENCRYPTION_UNSAID, ENCRYPTION_WITH_KEY);
    out->encryption_key = encryption_key_decode(&r);
    out->tags = tags_decode(&r, false);
    out->item_count = amount_decode(&r);
    out->size_bytes = amount_decode(&r);
    out->partition_count = reader_u32(&r);
    if (r.failed || status < TABLE_CREATING || status > TABLE_DELETING ||
        out->partition_count > r.left.size / PARTITION_INFO_SIZE_MIN)
        return STATUS_MALFORMED;
    out->partitions = arena_zalloc(arena, out->partition_count * sizeof *out->partitions);
    for (uint32_t i = 0; i < out->partition_count; i++) {
        if (partition_info_decode(&r, &out->partitions[i]) != STATUS_OK)
            return STATUS_MALFORMED;
    }
    return r.left.size > 0 ? STATUS_MALFORMED : STATUS_OK;
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

const struct partition_info *table_partition_before(const struct table *t, struct slice key)
{
    const struct partition_info *p = table_partition_of(t, key);
    return p > t->partitions && slice_equal(p->lo, key) ? p - 1 : p;
}

bool table_range_past(const struct table *t, uint32_t partition, bool reverse, struct slice *lo,
                      struct slice *hi)
{
    const struct partition_info *at = t->partitions, *end = t->partitions + t->partition_count;
    while (at < end && at->id != partition)
        at++;
    if (at == end)
        return false;
    if (reverse)
        *hi = at->lo;
    else
        *lo = at->hi;
    return (reverse ? hi : lo)->size > 0 && slice_compare(*lo, *hi) < 0;
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
