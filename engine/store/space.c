/* space.c - how much a backing can still take. */
#include "engine/store/space.h"

#include "base/must.h"

enum {
    RESERVE_PART = 10,     /* a tenth of the total is the reserve, */
    RESERVE_MIN = 2 << 20, /* and so much of a small total, up to a quarter: nodes of one disk */
    RESERVE_MIN_PART = 4,  /* write checkpoints at the same time */
    STEP_PART = 64,        /* growth needs so much, so that checkpoints are not too small */
    SCARCE_PART = 2,       /* free pages count once less than a half was never used */
    SOON_PART = 4,         /* a checkpoint begins when its cost is such a part of what is left */
    DELETIONS_PART = 4,    /* of what a checkpoint may cost stays for deletions */
    CHECKPOINT_PAGES = 16, /* for the pages above those that hold the records */
    PARTS_PAGES = 3,       /* for a record whose value may have parts: its page, and theirs */
    PARTS_PART = 32,       /* of the bytes, for what their pages hold besides */
};

void space_set_quota(struct space *s, uint64_t bytes)
{
    s->disk_bound = s->file_bytes < s->map_bytes && bytes < s->map_bytes - s->file_bytes;
    s->total_bytes = s->disk_bound ? s->file_bytes + bytes : s->map_bytes;
}

bool space_is_scarce(const struct space *s)
{
    return s->total_bytes < s->file_bytes + s->total_bytes / SCARCE_PART;
}

static uint64_t space_left(uint64_t limit, uint64_t used)
{
    return limit > used ? limit - used : 0;
}

uint64_t space_used_bytes(const struct space *s)
{
    return space_left(s->file_bytes, s->free_bytes);
}

uint64_t space_growth_max_bytes(const struct space *s)
{
    const uint64_t part = s->total_bytes / RESERVE_PART;
    const uint64_t quarter = s->total_bytes / RESERVE_MIN_PART;
    const uint64_t least = quarter < RESERVE_MIN ? quarter : RESERVE_MIN;
    return s->total_bytes - (part > least ? part : least);
}

uint64_t space_growth_left_bytes(const struct space *s)
{
    return space_left(space_growth_max_bytes(s), space_used_bytes(s));
}

uint64_t space_need(const struct space *s, uint64_t cost)
{
    return space_left(cost, s->free_bytes);
}

/* The bytes that a checkpoint may use. As much is left for the next one, which cannot use what this
 * one replaces. */
static uint64_t space_change_left(const struct space *s)
{
    return space_left(s->total_bytes, space_used_bytes(s)) / 2;
}

uint64_t space_cost(const struct space *s, size_t records, size_t bytes)
{
    const uint64_t pages = (uint64_t)records * SPACE_PAGE * (s->has_parts ? PARTS_PAGES : 1);
    const uint64_t all = space_used_bytes(s) + bytes;
    return bytes + bytes / PARTS_PART + (pages < all ? pages : all);
}

uint64_t space_run_bytes(const struct space *s)
{
    const uint64_t never_used = space_left(s->total_bytes, s->file_bytes);
    const uint64_t run = s->run_bytes > never_used ? s->run_bytes : never_used;
    return run > SPACE_PAGE ? run : SPACE_PAGE;
}

/* What checkpoints may cost, so that the list of the pages that one frees has a place. */
static uint64_t space_listed_max(const struct space *s)
{
    return space_run_bytes(s) * SPACE_LISTED;
}

/* What is wanted alone has a place. */
static bool space_is_listed(const struct space *s, uint64_t cost, uint64_t needed)
{
    return cost == 0 || cost + needed <= space_listed_max(s);
}

enum space_verdict space_for_growth(const struct space *s, uint64_t cost, size_t bytes)
{
    if (s->total_bytes == 0)
        return SPACE_THERE;
    const uint64_t left = space_growth_left_bytes(s);
    must(left <= s->total_bytes - s->total_bytes / RESERVE_PART); /* SPACE-1 */
    const uint64_t needed = space_cost(s, 1, bytes);
    if (left < needed + s->total_bytes / STEP_PART)
        return SPACE_FULL;
    return cost + needed <= left && space_is_listed(s, cost, needed) ? SPACE_THERE : SPACE_WAITS;
}

/* What a checkpoint may cost that contains more than one record. */
static uint64_t space_checkpoint_max(const struct space *s)
{
    const uint64_t left = space_change_left(s), listed = space_listed_max(s);
    return left < listed ? left : listed;
}

static enum space_verdict space_beside(const struct space *s, uint64_t cost, uint64_t kept,
                                       size_t bytes)
{
    if (s->total_bytes == 0)
        return SPACE_THERE;
    const uint64_t left = space_change_left(s);
    const uint64_t needed = space_cost(s, CHECKPOINT_PAGES, bytes);
    if (cost + kept + needed <= (cost == 0 ? left : space_checkpoint_max(s)))
        return SPACE_THERE;
    return left < needed && cost == 0 ? SPACE_FULL : SPACE_WAITS;
}

enum space_verdict space_for_change(const struct space *s, uint64_t cost, size_t bytes)
{
    return space_beside(s, cost, 0, bytes);
}

enum space_verdict space_for_write(const struct space *s, uint64_t cost, size_t bytes)
{
    return space_beside(s, cost, cost == 0 ? 0 : space_checkpoint_max(s) / DELETIONS_PART, bytes);
}

bool space_for_last(const struct space *s, size_t bytes)
{
    return space_cost(s, CHECKPOINT_PAGES, bytes) <=
           space_left(s->total_bytes, space_used_bytes(s));
}

uint64_t space_checkpoint_cost(const struct space *s)
{
    const uint64_t growth = space_growth_left_bytes(s), change = space_change_left(s);
    const uint64_t step = s->total_bytes / STEP_PART;
    const uint64_t left = growth >= step ? growth : change, listed = space_listed_max(s) / 2;
    if (s->total_bytes == 0)
        return UINT64_MAX;
    return (left / SOON_PART < listed ? left / SOON_PART : listed) + 1;
}
