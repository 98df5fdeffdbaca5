/* space.c - how much a backing can still take. */
#include "engine/store/space.h"

#include "replication/raft_mutation.h"

enum {
    RESERVE_PART = 10,     /* a tenth of the total is the reserve, */
    RESERVE_MIN = 2 << 20, /* and so much of a small total, up to a quarter: nodes of one disk */
    RESERVE_MIN_PART = 4,  /* write checkpoints at the same time */
    STEP_PART = 64,        /* growth needs so much, so that checkpoints are not too small */
    SCARCE_PART = 2,       /* free pages count once less than a half was never used */
    SOON_PART = 4,         /* a checkpoint begins when its cost is such a part of what is left */
    CHECKPOINT_PAGES = 16, /* for the pages above those that hold the records */
};

void space_set_promise(struct space *s, uint64_t bytes)
{
    s->disk_bound = s->file_bytes < s->map_bytes && bytes < s->map_bytes - s->file_bytes;
    s->total_bytes = s->disk_bound ? s->file_bytes + bytes : s->map_bytes;
}

bool space_is_scarce(const struct space *s)
{
    return s->total_bytes < s->file_bytes + s->total_bytes / SCARCE_PART;
}

void space_add_run(struct space *s, uint64_t pages)
{
    if (MUTATED(RAFT_MUTATION_FORGET_FREED))
        return;
    s->free_bytes += pages * SPACE_PAGE;
    if (pages < SPACE_RUN_MAX) {
        s->runs[pages]++;
        return;
    }
    s->long_runs++;
    s->long_pages += pages;
}

/* The free bytes that values of so many pages can use. */
static uint64_t space_usable_bytes(const struct space *s, uint64_t pages)
{
    if (pages <= 1 || s->free_bytes == 0)
        return s->free_bytes;
    const uint64_t lost = s->long_runs * (pages - 1);
    uint64_t usable = s->long_pages > lost ? s->long_pages - lost : 0;
    for (uint64_t size = pages; size < SPACE_RUN_MAX; size++)
        usable += s->runs[size] * (size / pages) * pages;
    return usable * SPACE_PAGE;
}

static uint64_t space_pages_of(size_t bytes)
{
    const uint64_t pages = bytes / SPACE_PAGE + 1;
    return bytes <= SPACE_PAGE / 2 ? 1 : pages < SPACE_RUN_MAX ? pages : SPACE_RUN_MAX - 1;
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

/* The bytes that values of so many pages may still use. */
static uint64_t space_growth_left(const struct space *s, uint64_t pages)
{
    const uint64_t usable = space_usable_bytes(s, pages);
    return space_left(space_growth_max_bytes(s), space_left(s->file_bytes, usable));
}

uint64_t space_growth_left_bytes(const struct space *s)
{
    return space_growth_left(s, 1);
}

uint64_t space_need(const struct space *s, uint64_t cost, size_t largest)
{
    return space_left(cost, space_usable_bytes(s, space_pages_of(largest)));
}

/* The bytes that a checkpoint may use for values of so many pages. As much is left for the next
 * one, which cannot use what this one replaces. */
static uint64_t space_change_left(const struct space *s, uint64_t pages)
{
    const uint64_t usable = space_usable_bytes(s, pages);
    return space_left(s->total_bytes, space_left(s->file_bytes, usable)) / 2;
}

uint64_t space_cost(const struct space *s, size_t records, size_t bytes)
{
    const uint64_t pages = (uint64_t)records * SPACE_PAGE, all = space_used_bytes(s) + bytes;
    return bytes + (pages < all ? pages : all);
}

enum space_verdict space_for_growth(const struct space *s, uint64_t cost, size_t bytes,
                                    size_t largest)
{
    if (s->total_bytes == 0)
        return SPACE_THERE;
    const uint64_t left = space_growth_left(s, space_pages_of(largest));
    const uint64_t wanted = space_cost(s, 1, bytes);
    if (left < wanted + s->total_bytes / STEP_PART)
        return SPACE_FULL;
    return cost + wanted <= left ? SPACE_THERE : SPACE_WAITS;
}

enum space_verdict space_for_change(const struct space *s, uint64_t cost, size_t bytes)
{
    if (s->total_bytes == 0)
        return SPACE_THERE;
    const uint64_t left = space_change_left(s, space_pages_of(bytes));
    const uint64_t wanted = space_cost(s, CHECKPOINT_PAGES, bytes);
    if (cost + wanted <= left)
        return SPACE_THERE;
    return left < wanted && cost == 0 ? SPACE_FULL : SPACE_WAITS;
}

uint64_t space_checkpoint_cost(const struct space *s)
{
    const uint64_t growth = space_growth_left(s, 1), change = space_change_left(s, 1);
    const uint64_t step = s->total_bytes / STEP_PART;
    const uint64_t left = growth >= step ? growth : change;
    return s->total_bytes == 0 ? UINT64_MAX : left / SOON_PART + 1;
}
