/* split_point.c - from a sorted list of keys and weights to cuts.
 *
 * A unit of a kind weighs one over the partition's maximum of that kind: that is what a partition
 * runs out of. Cuts divide the sum of both kinds equally; whether they help is judged by the kind
 * that is scarcest, since each maximum holds by itself.
 *
 * Two-way, the cut is the best there is between the keys the sketch knows. For more children the
 * cuts are placed from the left, each where what is left would divide equally: a heavy key takes
 * its child and the others share the rest. */
#include "engine/heat/split_point.h"

#include "base/limits.h"
#include "base/must.h"
#include "engine/item/storage_key.h"

enum {
    MORE_CHILDREN = 2, /* tried beyond what the rate needs, where those do not help */
};

struct division {
    const struct split_question *q;
    struct arena *arena;
    uint32_t shared;
    const struct heat_point *points;
    uint32_t count;
    int64_t *below;                 /* [count + 1]: weight of the points before, both kinds */
    int64_t total_mcu[SPLIT_KINDS]; /* of all points */
    int64_t need_ppm[SPLIT_KINDS];  /* what is asked for, of the partition maximum */
    uint32_t *collections; /* [count]: equal for points of one, where they must stay whole */
    uint32_t cut_points[SPLIT_CUTS_MAX]; /* a child begins with this one */
    uint32_t cut_count;
};

static int64_t ppm_of(int64_t part, int64_t whole)
{
    return whole == 0 ? 0 : (int64_t)((__int128)part * SPLIT_WHOLE_PPM / whole);
}

static struct slice whole_key(const struct division *d, struct slice rest, size_t more)
{
    uint8_t *bytes = arena_zalloc(d->arena, d->shared + rest.size + more);
    memcpy(bytes, d->q->lo.data, d->shared);
    if (rest.size > 0)
        memcpy(bytes + d->shared, rest.data, rest.size);
    return slice_make(bytes, d->shared + rest.size + more);
}

/* ---- where a cut may fall ---- */

/* The least number of `b`'s bytes that tell it from `a`, which is before it. */
static size_t separating_size(struct slice a, struct slice b)
{
    size_t size = 0;
    while (size < a.size && a.data[size] == b.data[size])
        size++;
    return size + 1;
}

static struct slice cut_before(const struct division *d, uint32_t i)
{
    struct slice key = d->points[i].key;
    key.size = separating_size(d->points[i - 1].key, key);
    return whole_key(d, key, 0);
}

static bool same_collection(const struct division *d, uint32_t i)
{
    return d->collections[i - 1] == d->collections[i];
}

static bool may_cut(const struct division *d, uint32_t i)
{
    if (d->q->whole_collections && same_collection(d, i))
        return false;
    struct slice cut = cut_before(d, i);
    return slice_compare(cut, d->q->lo) > 0 &&
           (d->q->hi.size == 0 || slice_compare(cut, d->q->hi) < 0);
}

static int64_t distance(int64_t a, int64_t b)
{
    return a < b ? b - a : a - b;
}

/* The allowed cut after `first` whose weight below is nearest to `target`; 0: none. */
static uint32_t nearest_cut(const struct division *d, uint32_t first, int64_t target)
{
    uint32_t right = first + 1, left;
    while (right < d->count && d->below[right] < target)
        right++;
    left = right - 1;
    while (right < d->count && !may_cut(d, right))
        right++;
    while (left > first && !may_cut(d, left))
        left--;
    if (left <= first)
        return right < d->count ? right : 0;
    if (right >= d->count)
        return left;
    return distance(d->below[left], target) < distance(d->below[right], target) ? left : right;
}

static void place_cuts(struct division *d, uint32_t children)
{
    uint32_t last = 0;
    d->cut_count = 0;
    for (uint32_t left = children; left > 1; left--) {
        int64_t rest = d->below[d->count] - d->below[last];
        uint32_t cut = nearest_cut(d, last, d->below[last] + rest / left);
        if (cut == 0)
            return;
        d->cut_points[d->cut_count++] = last = cut;
    }
}

/* ---- what it would bring ---- */

/* Parts of a kind between two points, rounded so that neighbours add up. */
static uint32_t share_of(const struct division *d, int kind, uint32_t child)
{
    const uint32_t from = child == 0 ? 0 : d->cut_points[child - 1];
    const uint32_t to = child == d->cut_count ? d->count : d->cut_points[child];
    const int64_t children = d->cut_count + 1;
    int64_t before = 0, until = 0;
    if (d->total_mcu[kind] == 0)
        return (uint32_t)(SPLIT_WHOLE_PPM * (child + 1) / children -
                          SPLIT_WHOLE_PPM * child / children);
    for (uint32_t i = 0; i < to; i++) {
        until += d->points[i].mcu[kind];
        before += i < from ? d->points[i].mcu[kind] : 0;
    }
    return (uint32_t)(ppm_of(until, d->total_mcu[kind]) - ppm_of(before, d->total_mcu[kind]));
}

/* What the hottest child asks for of its scarcest kind, of what the parent does. */
static int64_t hottest_child_ppm(const struct division *d)
{
    int64_t parent = 0, hottest = 0;
    for (int kind = 0; kind < SPLIT_KINDS; kind++) {
        parent = d->need_ppm[kind] > parent ? d->need_ppm[kind] : parent;
        for (uint32_t child = 0; child <= d->cut_count && d->total_mcu[kind] > 0; child++) {
            int64_t need = d->need_ppm[kind] * share_of(d, kind, child);
            hottest = need > hottest ? need : hottest;
        }
    }
    return parent == 0 ? SPLIT_WHOLE_PPM : hottest / parent;
}

static bool helps(const struct division *d)
{
    return d->cut_count > 0 && hottest_child_ppm(d) <= SPLIT_LARGEST_PPM;
}

static uint32_t children_needed(const struct division *d)
{
    int64_t need = d->need_ppm[ADMIT_READ] > d->need_ppm[ADMIT_WRITE] ? d->need_ppm[ADMIT_READ]
                                                                      : d->need_ppm[ADMIT_WRITE];
    int64_t children = (need + SPLIT_FILL_PPM - 1) / SPLIT_FILL_PPM;
    if (children < 2)
        return 2;
    return children > SPLIT_CUTS_MAX + 1 ? SPLIT_CUTS_MAX + 1 : (uint32_t)children;
}

static bool find_cuts(struct division *d)
{
    uint32_t children = d->q->children > 0 ? d->q->children : children_needed(d);
    uint32_t most = d->q->children > 0 ? children : children + MORE_CHILDREN;
    if (most > SPLIT_CUTS_MAX + 1)
        most = SPLIT_CUTS_MAX + 1;
    for (; children <= most; children++) {
        place_cuts(d, children);
        if (helps(d))
            return true;
    }
    return false;
}

/* ---- why not ---- */

/* The heaviest run of points that no cut may divide, from the key `*first`; its weight. */
static int64_t heaviest(const struct division *d, bool collections, uint32_t *first)
{
    int64_t most = 0;
    uint32_t from = 0;
    for (uint32_t i = 1; i <= d->count; i++) {
        if (i < d->count && collections && same_collection(d, i))
            continue;
        int64_t weight = d->below[i] - d->below[from];
        if (weight > most) {
            most = weight;
            *first = from;
        }
        from = i;
    }
    return most;
}

static void blame(const struct division *d, enum split_verdict verdict, uint32_t first,
                  int64_t weight, struct split_advice *out)
{
    struct slice key = whole_key(d, d->points[first].key, 0);
    if (verdict == SPLIT_REFUSED_COLLECTION)
        key.size = storage_key_collection_size(key);
    out->verdict = verdict;
    out->key = key;
    out->key_share_ppm = (uint32_t)ppm_of(weight, d->below[d->count]);
}

/* A key that is over what a partition may serve stays so in any child. */
static bool has_popular_key(const struct division *d, struct split_advice *out)
{
    for (uint32_t i = 0; i < d->count; i++)
        for (int kind = 0; kind < SPLIT_KINDS; kind++) {
            int64_t share = ppm_of(d->points[i].mcu[kind], d->total_mcu[kind]);
            if (share * d->need_ppm[kind] < (int64_t)SPLIT_ALONE_PPM * SPLIT_WHOLE_PPM)
                continue;
            blame(d, SPLIT_REFUSED_POPULAR_KEY, i, d->below[i + 1] - d->below[i], out);
            return true;
        }
    return false;
}

static void explain(const struct division *d, struct split_advice *out)
{
    uint32_t first = 0;
    int64_t half = d->below[d->count] / 2;
    int64_t key = heaviest(d, false, &first);
    if (key > half) {
        blame(d, SPLIT_REFUSED_POPULAR_KEY, first, key, out);
        return;
    }
    int64_t collection = d->q->whole_collections ? heaviest(d, true, &first) : 0;
    if (collection > half)
        blame(d, SPLIT_REFUSED_COLLECTION, first, collection, out);
    else
        out->verdict = SPLIT_REFUSED_NO_BENEFIT;
}

/* ---- direction ---- */

/* That of the kinds that make up at least half of what is asked for. */
static enum sketch_direction direction_of(const struct heat *h, const struct division *d)
{
    int64_t moving = 0, unknown = 0, all = d->need_ppm[ADMIT_READ] + d->need_ppm[ADMIT_WRITE];
    enum sketch_direction way = SKETCH_STAYS;
    for (int kind = 0; kind < SPLIT_KINDS; kind++) {
        enum sketch_direction k = heat_direction(h, (enum admit_kind)kind);
        unknown += k == SKETCH_UNKNOWN ? d->need_ppm[kind] : 0;
        if (k != SKETCH_FORWARD && k != SKETCH_BACKWARD)
            continue;
        moving += d->need_ppm[kind];
        way = k;
    }
    if (2 * unknown > all)
        return SKETCH_UNKNOWN;
    return 2 * moving >= all ? way : SKETCH_STAYS;
}

/* Kinds that move go on above the newest key; the others stay below it. */
static void advise_ahead(struct heat *h, const struct division *d, struct split_advice *out)
{
    out->verdict = SPLIT_ADVISED;
    out->cut_count = 1;
    out->cuts[0] = whole_key(d, d->points[d->count - 1].key, 1);
    for (int kind = 0; kind < SPLIT_KINDS; kind++) {
        bool moves = heat_direction(h, (enum admit_kind)kind) == SKETCH_FORWARD;
        uint32_t above = moves ? SPLIT_WHOLE_PPM : d->total_mcu[kind] > 0 ? 0 : SPLIT_WHOLE_PPM / 2;
        out->share_ppm[kind][0] = SPLIT_WHOLE_PPM - above;
        out->share_ppm[kind][1] = above;
    }
}

static bool has_room_ahead(const struct division *d)
{
    struct slice cut = whole_key(d, d->points[d->count - 1].key, 1);
    return cut.size <= STORAGE_KEY_SIZE_MAX &&
           (d->q->hi.size == 0 || slice_compare(cut, d->q->hi) < 0);
}

/* ---- all together ---- */

static void weigh(struct heat *h, struct instant now, struct division *d)
{
    d->below = arena_alloc(d->arena, (d->count + 1) * sizeof d->below[0]);
    d->below[0] = 0;
    for (int kind = 0; kind < SPLIT_KINDS; kind++)
        d->need_ppm[kind] =
            ppm_of(heat_rate_now(h, now, (enum admit_kind)kind), d->q->max_mcu[kind]);
    for (uint32_t i = 0; i < d->count; i++) {
        const int64_t *mcu = d->points[i].mcu;
        d->below[i + 1] = d->below[i] +
                          mcu[ADMIT_READ] * (d->q->max_mcu[ADMIT_WRITE] / MCU_PER_UNIT) +
                          mcu[ADMIT_WRITE] * (d->q->max_mcu[ADMIT_READ] / MCU_PER_UNIT);
        for (int kind = 0; kind < SPLIT_KINDS; kind++)
            d->total_mcu[kind] += mcu[kind];
    }
}

/* Numbers the item collections, in order. */
static void tell_collections(struct division *d)
{
    const size_t size_max = d->shared + SKETCH_KEY_MAX;
    uint8_t *key = arena_alloc(d->arena, size_max), *last = arena_alloc(d->arena, size_max);
    struct slice of_last = {NULL, 0};
    d->collections = arena_alloc(d->arena, (d->count + 1) * sizeof d->collections[0]);
    for (uint32_t i = 0; i < d->count; i++) {
        struct slice rest = d->points[i].key, whole = slice_make(key, d->shared + rest.size);
        memcpy(key, d->q->lo.data, d->shared);
        memcpy(key + d->shared, rest.data, rest.size);
        whole.size = storage_key_collection_size(whole);
        bool same = i > 0 && slice_equal(whole, of_last);
        d->collections[i] = i == 0 ? 0 : d->collections[i - 1] + !same;
        of_last = whole;
        uint8_t *other = last;
        last = key;
        key = other;
    }
}

void split_advise(struct heat *h, struct instant now, const struct split_question *q,
                  struct arena *arena, struct split_advice *out)
{
    struct division d = {.q = q, .arena = arena, .shared = h->shared};
    struct heat_point *points;
    must(q->max_mcu[ADMIT_READ] >= MCU_PER_UNIT);
    must(q->max_mcu[ADMIT_WRITE] >= MCU_PER_UNIT);
    must(q->children <= SPLIT_CUTS_MAX + 1);
    d.count = heat_points(h, now, arena, &points);
    d.points = points;
    weigh(h, now, &d);
    if (q->whole_collections)
        tell_collections(&d);
    *out = (struct split_advice){.verdict = SPLIT_REFUSED_FEW_SAMPLES};
    out->samples = heat_samples(h, now, ADMIT_READ) + heat_samples(h, now, ADMIT_WRITE);
    enum sketch_direction way = direction_of(h, &d);
    if (out->samples < SPLIT_SAMPLES_MIN || way == SKETCH_UNKNOWN || d.below[d.count] == 0)
        return;
    if (way != SKETCH_STAYS && q->sequential != SPLIT_SEQUENTIAL_IGNORED) {
        out->verdict = SPLIT_REFUSED_SEQUENTIAL;
        if (way == SKETCH_FORWARD && q->sequential == SPLIT_SEQUENTIAL_AHEAD && has_room_ahead(&d))
            advise_ahead(h, &d, out);
        return;
    }
    if (has_popular_key(&d, out))
        return;
    if (!find_cuts(&d)) {
        explain(&d, out);
        return;
    }
    out->verdict = SPLIT_ADVISED;
    out->cut_count = d.cut_count;
    for (uint32_t i = 0; i < d.cut_count; i++)
        out->cuts[i] = cut_before(&d, d.cut_points[i]);
    for (int kind = 0; kind < SPLIT_KINDS; kind++)
        for (uint32_t child = 0; child <= d.cut_count; child++)
            out->share_ppm[kind][child] = share_of(&d, kind, child);
}
