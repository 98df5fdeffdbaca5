/* index.c - the secondary indexes of a table, and their bytes. */
#include "engine/index/index.h"

static bool key_attr_is_valid(const struct key_attr *k)
{
    return k->name.size == 0 || k->type == ATTR_STRING || k->type == ATTR_NUMBER ||
           k->type == ATTR_BINARY;
}

void key_attr_walk(struct codec *c, struct key_attr *k)
{
    uint8_t type = (uint8_t)k->type;
    codec_u8(c, &type);
    k->type = (enum attr_type)type;
    codec_sized(c, &k->name, KEY_NAME_SIZE_MAX);
    codec_check(c, key_attr_is_valid(k));
}

static bool index_names_are_valid(const struct index *x)
{
    struct reader r = {x->names, false};
    uint32_t count = 0;
    for (; r.left.size > 0 && !r.failed; count++) {
        struct slice name = reader_sized(&r);
        if (name.size == 0 || name.size > ATTRIBUTE_NAME_SIZE_MAX || !slice_is_utf8(name))
            return false;
    }
    return !r.failed && (x->projection == PROJECT_INCLUDE) == (count > 0) &&
           count <= PROJECTED_NAMES_MAX;
}

static void index_walk(struct codec *c, struct index *x)
{
    codec_u8(c, &x->number);
    codec_check(c, x->number <= LOCAL_INDEXES_MAX);
    codec_u32(c, &x->table_id);
    codec_check(c, x->number == 0 || x->table_id == 0);
    codec_sized(c, &x->name, INDEX_NAME_SIZE_MAX);
    codec_check(c, x->name.size > 0 && slice_is_utf8(x->name));
    codec_count(c, &x->partition_count, 1, INDEX_KEYS_MAX);
    codec_count(c, &x->sort_count, 0, INDEX_KEYS_MAX);
    codec_check(c, x->number == 0 || (x->partition_count == 1 && x->sort_count == 1));
    for (uint32_t i = 0; i < x->partition_count + x->sort_count && !codec_failed(c); i++) {
        key_attr_walk(c, &x->keys[i]);
        codec_check(c, x->keys[i].name.size > 0 && slice_is_utf8(x->keys[i].name));
    }
    x->projection =
        (enum projection_kind)codec_choice(c, x->projection, PROJECT_ALL, PROJECT_INCLUDE);
    codec_sized(c, &x->names, UINT32_MAX);
    codec_check(c, index_names_are_valid(x));
}

static void index_set_walk(struct codec *c, struct index_set *set)
{
    key_attr_walk(c, &set->partition_key);
    key_attr_walk(c, &set->sort_key);
    codec_count(c, &set->count, 1, LOCAL_INDEXES_MAX + GLOBAL_INDEXES_MAX);
    codec_count(c, &set->local_count, 0, LOCAL_INDEXES_MAX);
    codec_check(c, set->partition_key.name.size > 0 && set->local_count <= set->count &&
                       set->count - set->local_count <= GLOBAL_INDEXES_MAX &&
                       (set->sort_key.name.size > 0 || set->local_count == 0));
}

void index_set_encode(struct buffer *out, const struct index_set *set)
{
    struct codec c = {.out = out};
    struct index_set copy = *set;
    if (set->count == 0)
        return;
    index_set_walk(&c, &copy);
    for (uint32_t i = 0; i < set->count; i++) {
        struct index x = set->at[i];
        index_walk(&c, &x);
    }
}

static bool index_is_unlike(const struct index_set *set, uint32_t i)
{
    for (uint32_t j = 0; j < i; j++) {
        const struct index *a = &set->at[j], *b = &set->at[i];
        if ((a->number != 0 && a->number == b->number) || slice_equal(a->name, b->name) ||
            (a->table_id != 0 && a->table_id == b->table_id))
            return false;
    }
    return true;
}

enum status index_set_decode(struct slice bytes, struct arena *arena, const struct index_set **out)
{
    *out = NULL;
    if (bytes.size == 0)
        return STATUS_OK;
    struct codec c = {.in = &(struct reader){bytes, false}};
    struct index_set *set = arena_zalloc(arena, sizeof *set);
    index_set_walk(&c, set);
    if (codec_failed(&c))
        return STATUS_MALFORMED;
    set->at = arena_zalloc(arena, set->count * sizeof *set->at);
    for (uint32_t i = 0; i < set->count && !codec_failed(&c); i++) {
        index_walk(&c, &set->at[i]);
        codec_check(&c,
                    index_is_unlike(set, i) && (set->at[i].number != 0) == (i < set->local_count));
    }
    *out = set;
    return codec_end(&c);
}

const struct index *index_set_find(const struct index_set *set, struct slice name)
{
    for (uint32_t i = 0; set != NULL && i < set->count; i++) {
        if (slice_equal(set->at[i].name, name))
            return &set->at[i];
    }
    return NULL;
}

const struct index *index_set_find_table(const struct index_set *set, uint32_t table_id)
{
    for (uint32_t i = 0; i < index_set_global(set); i++) {
        if (index_set_global_at(set, i)->table_id == table_id)
            return index_set_global_at(set, i);
    }
    return NULL;
}
