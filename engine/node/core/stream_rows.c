/* stream_rows.c - what writes do to the stream of their table. */
#include "engine/node/core/stream_rows.h"

#include "base/probe.h"
#include "engine/item/equal.h"
#include "engine/node/core/owned_keys.h"

/* ---- planning ---- */

void stream_rows_plan(const struct partition *p, struct slice old, struct slice now,
                      bool by_service, int64_t wall_ms, struct steps *steps, struct buffer *out)
{
    const bool was = old.size > 0, is = now.size > 0;
    if ((!was && !is) || (was && is && item_equal(old, now, steps)))
        return;
    const struct stream_change change = {
        .stream = p->info.stream.id,
        .epoch = p->info.epoch,
        .view = p->info.stream.view,
        .event = !was ? STREAM_INSERT
                 : is ? STREAM_MODIFY
                      : STREAM_REMOVE,
        .by_service = by_service,
        .wall_ms = wall_ms,
        .old = stream_shows_old((enum stream_view)p->info.stream.view) ? old : slice_make(NULL, 0)};
    stream_change_encode(out, &change);
}

/* ---- applying ---- */

static void record_apply(struct node_env *env, struct partition *p, const struct stream_change *s,
                         const struct change *item, uint64_t index, uint32_t place)
{
    const struct stream_position at = {s->stream, s->epoch, index, (uint16_t)place};
    const struct stream_record record = {
        .event = s->event,
        .by_service = s->by_service,
        .wall_ms = s->wall_ms,
        .key = item->key,
        .old = s->old,
        .now = stream_shows_new((enum stream_view)s->view) ? item->value : slice_make(NULL, 0)};
    struct buffer key = {0}, value = {0};
    must(index != 0 && s->stream != 0 && place <= UINT16_MAX);
    stream_key_append(&key, p->info.lo, p->info.id, &at);
    stream_record_encode(&value, &record);
    store_put(env->store, buffer_slice(&key), buffer_slice(&value));
    if (partition_has_counted(p, buffer_slice(&key)))
        tally_add(&p->stream.rows, 1, (int64_t)(key.size + value.size));
    p->stream.written++;
    buffer_deinit(&key);
    buffer_deinit(&value);
}

/* After a split another partition may own the record: then that one trims it. */
static void trim_apply(struct node_env *env, struct partition *p, const struct change *c)
{
    struct stream_position at;
    uint32_t partition;
    must(stream_key_split(c->key, &partition, &at)); /* stream_change_is_valid */
    if (!partition_holds(p, key_in_space(c->key, 0, &env->lent))) {
        PROBE("a record is to be trimmed that a split has taken away");
        return;
    }
    store_put(env->store, c->key, c->value);
    if (partition_has_counted(p, c->key))
        tally_add(&p->stream.rows, -1, -(int64_t)c->key.size - c->old_size);
    p->stream.trims++;
    if (partition == p->info.id && stream_position_compare(&p->stream.trimmed, &at) < 0)
        p->stream.trimmed = at;
}

void stream_rows_apply(struct node_env *env, struct partition *p, const struct change *c,
                       const struct change *item, uint64_t index, uint32_t place)
{
    struct stream_change s;
    if (c->value.data == NULL) {
        trim_apply(env, p, c);
        return;
    }
    must(stream_change_decode(c->value, &s) == STATUS_OK); /* stream_change_is_valid */
    if (MUTATED(MUTATION_SKIP_STREAM) && s.event == STREAM_MODIFY && index % 8 == 0)
        return;
    record_apply(env, p, &s, item, index, place);
    if (MUTATED(MUTATION_DOUBLE_STREAM) && index % 8 == 0)
        record_apply(env, p, &s, item, index, place + 1);
}

/* ---- changes from elsewhere ---- */

bool stream_change_is_valid(const struct change *c)
{
    struct stream_change s;
    struct stream_position at;
    uint32_t partition;
    if (c->value.data == NULL)
        return stream_key_split(c->key, &partition, &at) && at.index != 0 && c->old_size > 0;
    return c->key.data[0] == SPACE_STREAM_KEYS && storage_key_is_complete(c->key) &&
           stream_change_decode(c->value, &s) == STATUS_OK;
}
