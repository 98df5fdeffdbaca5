/* background.c - the table of jobs, and which partition has its turn. */
#include "engine/node/background/background.h"

#include "engine/node/background/counting.h"
#include "engine/node/background/expiry_scan.h"
#include "engine/node/background/size_split.h"
#include "engine/node/background/stream_sweep.h"
#include "engine/node/background/token_sweep.h"

/* A new job is a row here. */
static const struct background_kind {
    /* Whether there is something to do for the partition. */
    bool (*is_needed)(const struct partition *p);
    /* The key the next slice reads from. */
    struct slice (*from)(const struct partition *p);
    void (*slice)(struct node_env *env, struct partition *p);
} kinds[BACKGROUND_JOBS] = {
    [BACKGROUND_COUNT] = {counting_is_needed, counting_from, counting_slice},
    [BACKGROUND_MIDDLE] = {size_split_is_needed, size_split_from, size_split_slice},
    [BACKGROUND_TOKENS] = {token_sweep_is_needed, token_sweep_from, token_sweep_slice},
    [BACKGROUND_EXPIRY] = {expiry_scan_is_needed, expiry_scan_from, expiry_scan_slice},
    [BACKGROUND_STREAMS] = {stream_sweep_is_needed, stream_sweep_from, stream_sweep_slice},
};

void background_init(struct background *background, struct node_env *env,
                     struct partitions *partitions, struct pending_requests *pending)
{
    background->env = env;
    background->partitions = partitions;
    background->pending = pending;
    for (int job = 0; job < BACKGROUND_JOBS; job++)
        background->jobs[job].at = INSTANT_NEVER;
}

void background_wake(struct background *background, enum background_job job)
{
    struct background_state *state = &background->jobs[job];
    state->at = instant_earlier(state->at, background->env->now);
}

void background_touched(struct background *background, uint64_t subject)
{
    must(subject >> 32 < BACKGROUND_JOBS);
    struct background_state *state = &background->jobs[subject >> 32];
    state->scan.state = SCAN_READY;
    state->at = background->env->now;
}

/* The partition whose pages were asked for, or else the next partition with work. NULL: no work. */
static struct partition *background_next(const struct background *background,
                                         enum background_job job)
{
    const struct background_state *state = &background->jobs[job];
    struct partition *p = partitions_find(background->partitions, state->last);
    if (state->scan.state != SCAN_IDLE && p != NULL && kinds[job].is_needed(p))
        return p;
    uint32_t id = state->last;
    for (uint32_t i = 0; i < background->partitions->count; i++) {
        p = partitions_after(background->partitions, id);
        if (kinds[job].is_needed(p))
            return p;
        id = p->info.id;
    }
    return NULL;
}

static void background_run(struct background *background, enum background_job job)
{
    struct background_state *state = &background->jobs[job];
    struct partition *p = background_next(background, job);
    state->at = INSTANT_NEVER;
    if (p == NULL)
        return;
    state->last = p->info.id;
    state->at = instant_add_ms(background->env->now, SCAN_MS);
    struct slice from = kinds[job].from(p);
    must_in_tests(kinds[job].is_needed(p));
    const uint64_t subject = (uint64_t)job << 32 | p->info.id;
    if (pending_may_scan(background->pending, &state->scan, RESUME_BACKGROUND, subject, from))
        kinds[job].slice(background->env, p);
    else
        state->at = pending_scan_again_at(background->pending, &state->scan);
}

void background_tick(struct background *background)
{
    for (int job = 0; job < BACKGROUND_JOBS; job++) {
        if (!instant_before(background->env->now, background->jobs[job].at))
            background_run(background, (enum background_job)job);
    }
}

struct instant background_deadline(const struct background *background)
{
    struct instant t = INSTANT_NEVER;
    for (int job = 0; job < BACKGROUND_JOBS; job++)
        t = instant_earlier(t, background->jobs[job].at);
    return t;
}
