/* stream_trim.c - trims records of streams. */
#include "engine/node/stream/stream_trim.h"

#include "engine/node/core/owned_keys.h"
#include "engine/node/core/stream_rows.h"

enum {
    CHECK_MS = 1000,
    RETRY_MS = 20
};

void stream_trims_begin(struct stream_trims *trims, struct partition *p)
{
    p->stream.sweeping = p->stream.more = false;
    if (p->led != p->stream.term) /* else the entry that trims may be on its way (TRIM-1) */
        p->stream.trimming = p->stream.changing = 0;
    p->stream.term = p->led;
    buffer_clear(&p->stream.expired);
    if (p->led == 0 || !(stream_rows_any(p) || stream_rows_on(p)))
        return;
    trims->check_at = instant_earlier(trims->check_at, instant_add_ms(trims->env->now, CHECK_MS));
    trims->at = instant_earlier(trims->at, trims->check_at);
}

static void trim_sweep(struct stream_trims *trims, struct partition *p)
{
    buffer_set(&p->stream.sweep_from,
               key_in_space(p->info.lo, SPACE_STREAM_KEYS, &trims->env->lent));
    p->stream.sweeping = true;
    background_wake(trims->background, BACKGROUND_STREAMS);
}

/* Proposes to delete what the last slice has found. */
static void trim_propose(struct stream_trims *trims, struct partition *p)
{
    const struct operation o = {.from = FROM_SELF};
    struct reader r = {buffer_slice(&p->stream.expired), false};
    struct buffer set = {0};
    must(p->stream.trimming == 0); /* TRIM-1 */
    change_set_begin(&set, 0, 0);
    while (r.left.size > 0) {
        struct change c = {.space = SPACE_STREAM};
        c.key = reader_sized(&r);
        c.old_size = reader_u32(&r);
        change_set_append(&set, &c);
    }
    const struct inflight *e = proposals_may_write(trims->proposals, &o, set.size) &&
                                       raft_driver_may_propose(trims->driver, p, &o, set.size)
                                   ? raft_driver_propose(trims->driver, p, &o, LOG_WRITE,
                                                         buffer_slice(&set), slice_make(NULL, 0))
                                   : NULL;
    if (e != NULL) {
        must(e->index > raft_applied(p->raft));
        p->stream.trimming = e->index;
        buffer_clear(&p->stream.expired);
    }
    buffer_deinit(&set);
}

/* Whether there is more to do soon. */
static bool trim_turn(struct stream_trims *trims, struct partition *p, bool check)
{
    if (p->led == 0 || p->frozen.index != 0 || p->closing || p->ended)
        return false;
    if (p->stream.trimming != 0 && raft_applied(p->raft) >= p->stream.trimming) {
        p->stream.trimming = 0;
        check |= p->stream.more;
    }
    if (p->stream.trimming == 0 && p->stream.expired.size > 0)
        trim_propose(trims, p);
    else if (p->stream.trimming == 0 && check && stream_rows_any(p) && !p->stream.sweeping)
        trim_sweep(trims, p);
    return p->stream.sweeping || p->stream.trimming != 0 || p->stream.expired.size > 0;
}

void stream_trims_end_turn(struct stream_trims *trims)
{
    const struct instant now = trims->env->now;
    const bool check = !instant_before(now, trims->check_at);
    bool soon = false, any = false;
    if (instant_before(now, trims->at))
        return;
    for (uint32_t i = 0; i < trims->partitions->count; i++) {
        struct partition *p = trims->partitions->all[i];
        soon |= trim_turn(trims, p, check);
        any |= p->led != 0 && (stream_rows_any(p) || stream_rows_on(p));
    }
    if (check)
        trims->check_at = any ? instant_add_ms(now, CHECK_MS) : INSTANT_NEVER;
    trims->at = soon ? instant_add_ms(now, RETRY_MS) : trims->check_at;
}
