/* split_place.c - places the split points of a partition.
 *
 * A key that fills a child by itself (split_fill_percent) gets a child of its own. There is a
 * split point just before the key and one just behind it, if the neighbours there are worth a
 * child. The ranges between such keys are divided equally, by the sum of both kinds, each over its
 * maximum. There are as few children as keep each kind within the fill in every child. So one
 * decision fits reads and writes, wherever they are.
 *
 * Equal parts are placed from the left. Each split point is where the rest would divide equally: a
 * heavy key takes its child, and the others share the rest. */
#include "engine/heat/split_point_internal.h"
#include "engine/item/storage_key.h"

enum {
    MORE_CHILDREN = 2 /* tried beyond the need of both kinds together, because of heavy keys */
};

struct slice split_whole_key(const struct division *d, struct slice rest)
{
    uint8_t *bytes = arena_alloc(d->arena, d->shared + rest.size + 1);
    memcpy(bytes, d->q->lo.data, d->shared);
    if (rest.size > 0)
        memcpy(bytes + d->shared, rest.data, rest.size);
    return slice_make(bytes, d->shared + rest.size);
}

/* ---- where a split point may lie ---- */

/* The least number of bytes of `b` that tell it from `a`. `a` is before `b`. */
static size_t separating_size(struct slice a, struct slice b)
{
    size_t size = 0;
    must_in_tests(slice_compare(a, b) < 0);
    while (size < a.size && a.data[size] == b.data[size])
        size++;
    return size + 1;
}

/* The shortest key between the point and the point before. */
static struct slice bound_before(const struct division *d, uint32_t i)
{
    must(i > 0);
    must(i < d->count);
    struct slice key = d->points[i].key;
    key.size = separating_size(d->points[i - 1].key, key);
    return split_whole_key(d, key);
}

static bool is_inside(const struct division *d, struct slice bound)
{
    return slice_compare(bound, d->q->lo) > 0 &&
           (d->q->hi.size == 0 || slice_compare(bound, d->q->hi) < 0);
}

static bool may_split(const struct division *d, uint32_t i)
{
    bool same = d->collections != NULL && d->collections[i - 1] == d->collections[i];
    return !same && is_inside(d, bound_before(d, i));
}

static int64_t split_place_distance(int64_t a, int64_t b)
{
    return a < b ? b - a : a - b;
}

/* The allowed split point behind `first` and before `end` whose weight below is nearest to
 * `target`. 0: there is none. */
static uint32_t nearest_split(const struct division *d, uint32_t first, uint32_t end,
                              int64_t target)
{
    uint32_t right = first + 1, left;
    while (right < end && d->below[right] < target)
        right++;
    left = right - 1;
    while (right < end && !may_split(d, right))
        right++;
    while (left > first && !may_split(d, left))
        left--;
    if (left <= first)
        return right < end ? right : 0;
    if (right >= end)
        return left;
    return split_place_distance(d->below[left], target) <
                   split_place_distance(d->below[right], target)
               ? left
               : right;
}

/* ---- equal parts ---- */

static void add_bound(struct division *d, struct slice bound, uint32_t point)
{
    must(d->bound_count < SPLIT_POINTS_MAX);
    must(point <= d->count);
    must(d->bound_count == 0 || d->bound_points[d->bound_count - 1] <= point);
    must(d->bound_count == 0 || slice_compare(d->bounds[d->bound_count - 1], bound) < 0);
    must(is_inside(d, bound));
    d->bounds[d->bound_count] = bound;
    d->bound_points[d->bound_count++] = point;
}

/* Divides the points [from, to). */
static void place_equally(struct division *d, uint32_t from, uint32_t to, uint32_t parts)
{
    uint32_t last = from;
    for (uint32_t left = parts; left > 1; left--) {
        int64_t rest = d->below[to] - d->below[last];
        uint32_t point = nearest_split(d, last, to, d->below[last] + rest / left);
        if (point == 0)
            return;
        must(point > last);
        must(point < to);
        add_bound(d, bound_before(d, point), point);
        last = point;
    }
}

/* Whether each child in [from, to), from split point `first` on, is within the fill. */
static bool all_fit(const struct division *d, uint32_t first, uint32_t from, uint32_t to)
{
    for (uint32_t i = first; i <= d->bound_count; i++) {
        uint32_t end = i < d->bound_count ? d->bound_points[i] : to;
        for (int kind = 0; kind < SPLIT_KINDS; kind++) {
            if (split_need(d, kind, from, end) > d->q->fill_ppm)
                return false;
        }
        from = end;
    }
    return true;
}

static uint32_t run_end(const struct division *d, uint32_t i)
{
    uint32_t end = i + 1;
    while (d->collections != NULL && end < d->count && d->collections[end] == d->collections[i])
        end++;
    return end;
}

/* The need that split points can divide. What none divides counts as at most one full child. */
static int64_t divisible_need(const struct division *d, int kind, uint32_t from, uint32_t to)
{
    int64_t need = split_need(d, kind, from, to);
    for (uint32_t i = from, end; i < to; i = end) {
        end = run_end(d, i);
        int64_t run = split_need(d, kind, i, end);
        need -= run > d->q->fill_ppm ? run - d->q->fill_ppm : 0;
    }
    return need;
}

static uint32_t parts_for(const struct division *d, int64_t need_ppm)
{
    must(need_ppm >= 0);
    int64_t parts = (need_ppm + d->q->fill_ppm - 1) / d->q->fill_ppm;
    return parts > SPLIT_POINTS_MAX + 1 ? SPLIT_POINTS_MAX + 1 : (uint32_t)parts;
}

/* The fewest equal parts of [from, to), between `least` and `most`, that fit. If none fit: as many
 * as one kind needs. */
static void place_fewest(struct division *d, uint32_t from, uint32_t to, uint32_t least,
                         uint32_t most)
{
    const uint32_t first = d->bound_count;
    int64_t reads = divisible_need(d, ADMIT_READ, from, to);
    int64_t writes = divisible_need(d, ADMIT_WRITE, from, to);
    uint32_t parts = parts_for(d, MAX(reads, writes));
    uint32_t last = parts_for(d, reads + writes) + MORE_CHILDREN;
    parts = MAX(parts, least);
    parts = MIN(parts, most);
    last = MIN(last, most);
    for (uint32_t n = parts; n <= last; n++) {
        d->bound_count = first;
        place_equally(d, from, to, n);
        if (all_fit(d, first, from, to))
            return;
    }
    d->bound_count = first;
    place_equally(d, from, to, parts);
}

/* ---- keys that fill a child by themselves ---- */

/* The range of the point's key, or of its collection, and nothing else. False: the point is not a
 * whole key. It is where a range read began, or it was cut off. */
static bool range_of(const struct division *d, uint32_t i, struct split_single *single)
{
    struct slice key = split_whole_key(d, d->points[i].key);
    if (d->points[i].key.size == SKETCH_KEY_MAX || !storage_key_is_complete(key))
        return false;
    if (d->collections != NULL)
        key.size = storage_key_collection_size(key);
    struct buffer end = {0};
    buffer_append_slice(&end, key);
    storage_key_successor(&end);
    *single = (struct split_single){
        .from = i, .to = i, .lo = key, .hi = arena_copy(d->arena, buffer_slice(&end))};
    buffer_deinit(&end);
    while (single->to < d->count &&
           slice_compare(split_whole_key(d, d->points[single->to].key), single->hi) < 0)
        single->to++;
    return true;
}

static bool fills_a_child(const struct division *d, uint32_t from, uint32_t to)
{
    return split_need(d, ADMIT_READ, from, to) >= d->q->fill_ppm ||
           split_need(d, ADMIT_WRITE, from, to) >= d->q->fill_ppm;
}

static void find_singles(struct division *d)
{
    d->single_count = 0;
    for (uint32_t i = 0, end; i < d->count && d->single_count < SPLIT_POINTS_MAX / 2; i = end) {
        struct split_single *single = &d->singles[d->single_count];
        end = run_end(d, i);
        if (!fills_a_child(d, i, end) || !range_of(d, i, single))
            continue;
        must(single->to > i); /* its own point is inside */
        end = single->to;
        d->single_count++;
    }
}

/* Whether the demand for the points is worth a child. A load from before the key grew popular may
 * be gone, so the mean over all the time with heat counts, if it is lower. */
static bool is_worth_a_child(const struct division *d, uint32_t from, uint32_t to)
{
    int64_t worth = 0, doubt = 0;
    for (int kind = 0; kind < SPLIT_KINDS; kind++) {
        int64_t need = split_need(d, kind, from, to), all = d->need_ppm[kind];
        if (d->lasting_ppm[kind] < all)
            need = (int64_t)((__int128)need * d->lasting_ppm[kind] / all);
        worth += need;
        doubt += SPLIT_ERRORS * d->error_ppm[kind];
    }
    return worth >= d->q->gain_ppm && worth > doubt;
}

/* Neighbours that are not worth a child stay with the key. */
static void place_around_singles(struct division *d)
{
    for (uint32_t i = 0; i <= d->single_count; i++) {
        uint32_t from = i == 0 ? 0 : d->singles[i - 1].to;
        uint32_t to = i == d->single_count ? d->count : d->singles[i].from;
        bool child = is_worth_a_child(d, from, to);
        /* two split points are kept for each key that follows */
        must(d->bound_count + 2 * (d->single_count - i) <= SPLIT_POINTS_MAX);
        uint32_t room = SPLIT_POINTS_MAX - d->bound_count - 2 * (d->single_count - i);
        if (child && i > 0 && is_inside(d, d->singles[i - 1].hi)) {
            must(room > 0);
            add_bound(d, d->singles[i - 1].hi, from);
            room--;
        }
        if (child)
            place_fewest(d, from, to, 1, room + 1);
        if (i < d->single_count && (child || i > 0) && is_inside(d, d->singles[i].lo))
            add_bound(d, d->singles[i].lo, d->singles[i].from);
    }
}

void split_place(struct division *d)
{
    d->bound_count = 0;
    if (d->q->children > 0) {
        place_equally(d, 0, d->count, d->q->children);
        return;
    }
    find_singles(d);
    if (d->single_count > 0)
        place_around_singles(d);
    else
        place_fewest(d, 0, d->count, 2, SPLIT_POINTS_MAX + 1);
}
