/* sketch.c - a KLL sketch of fixed height; sketch.h tells what it guarantees.
 *
 * Invariants
 *   LEVEL-1  No level is full between calls: each has room for one more key of SKETCH_KEY_MAX
 *            bytes.
 *   LEVEL-2  A level's bytes hold its entries' keys and nothing else.
 *   LEVEL-3  0 < until <= rest + until, and the point drawn lies inside its stretch.
 *
 * Why a fixed height: decay bounds what a sketch has to hold. KLL would put another level on top;
 * this sketch halves all levels and doubles the unit. Costs below the unit are sampled: one random
 * point in each stretch of a unit. So a sketch with much demand is always between half full and
 * full, and as precise as possible. */
#include "engine/heat/sketch.h"

#include "base/must.h"

enum {
    TOP = SKETCH_LEVELS - 1,
    LEVEL_BYTES_MAX = 17024,
    PPM = 1000000,
    ONE_WAY_PPM =
        880000,        /* four standard deviations from standing still, in the shortest windows */
    AVERAGED_OVER = 4, /* windows */
    UNITS_MAX = (1 << SKETCH_LEVELS) - 1, /* one key at every level */
    SAMPLED_MAX = 2,                      /* most points within less than a unit */
    WINDOW_MIN = 24,                      /* keys */
    PLACES_LOG = 8,
    PLACES = 1 << PLACES_LOG, /* for a rough order */
    RUN = 8,                  /* put in order by insertion */
};

/* Each level has about 0.85 of the entries of the level above. Bytes: 40 for each key, and two of
 * the longest keys. The keys of a level fit into the level above if that has at most one key. */
static const struct place {
    uint16_t entries, first_entry;
    uint16_t bytes, first_byte;
} places[SKETCH_LEVELS] = {
    {128, 0, 6144, 0},         {160, 128, 7424, 6144},   {200, 288, 9024, 13568},
    {240, 488, 10624, 22592},  {290, 728, 12624, 33216}, {340, 1018, 14624, 45840},
    {400, 1358, 17024, 60464},
};
_Static_assert(1358 + SKETCH_K == SKETCH_ENTRIES, "the table above fills the entries");
_Static_assert(60464 + LEVEL_BYTES_MAX == SKETCH_BYTES, "and the bytes");
_Static_assert(PLACES_LOG <= 8, "a place is one byte");

static struct sketch_entry *entries_of(struct sketch *s, int h)
{
    return s->entries + places[h].first_entry;
}

static uint8_t *bytes_of(struct sketch *s, int h)
{
    return s->bytes + places[h].first_byte;
}

static struct slice sketch_key_of(const uint8_t *bytes, const struct sketch_entry *e)
{
    return slice_make(bytes + e->at, e->size);
}

/* Whether the level's bytes hold its entries' keys and nothing else: LEVEL-2. */
static bool level_is_sound(const struct sketch *s, int h)
{
    const struct sketch_entry *e = s->entries + places[h].first_entry;
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < s->levels[h].count; i++)
        bytes += e[i].at + e[i].size <= s->levels[h].bytes ? e[i].size : UINT16_MAX;
    return bytes == s->levels[h].bytes;
}

/* ---- order ---- */

static bool sketch_before(const uint8_t *bytes, const struct sketch_entry *a,
                          const struct sketch_entry *b)
{
    if (a->head != b->head)
        return a->head < b->head;
    return slice_compare(sketch_key_of(bytes, a), sketch_key_of(bytes, b)) < 0;
}

static void sort_run(const uint8_t *bytes, struct sketch_entry *e, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        struct sketch_entry x = e[i];
        uint32_t j = i;
        for (; j > 0 && sketch_before(bytes, &x, &e[j - 1]); j--)
            e[j] = e[j - 1];
        e[j] = x;
    }
}

/* Has no branch on keys whose heads differ: the order of two keys cannot be predicted. */
static void sketch_merge(const uint8_t *bytes, const struct sketch_entry *a, uint32_t a_count,
                         const struct sketch_entry *b, uint32_t b_count, struct sketch_entry *out)
{
    const struct sketch_entry *a_end = a + a_count, *b_end = b + b_count;
    while (a < a_end && b < b_end) {
        bool second = b->head < a->head;
        if (__builtin_expect(a->head == b->head, 0))
            second = sketch_before(bytes, b, a);
        const struct sketch_entry *less = second ? b : a;
        *out++ = *less;
        b += second;
        a += !second;
    }
    memcpy(out, a, (size_t)(a_end - a) * sizeof *a);
    memcpy(out + (a_end - a), b, (size_t)(b_end - b) * sizeof *b);
}

/* Puts entries roughly in the order of their heads. Most keys begin with hashes: these are then
 * nearly in order. False: too many entries would share a place, and nothing is done. */
static bool sketch_spread(const struct sketch_entry *from, uint32_t count, struct sketch_entry *to)
{
    uint16_t ends[PLACES] = {0};
    uint8_t place[SKETCH_K];
    must(count <= SKETCH_K);
    uint64_t low = UINT64_MAX, high = 0;
    uint32_t crowded = 0;
    for (uint32_t i = 0; i < count; i++) {
        low = MIN(from[i].head, low);
        high = MAX(from[i].head, high);
    }
    const int shift = high == low ? 0 : 64 - __builtin_clzll(high - low) - PLACES_LOG;
    for (uint32_t i = 0; i < count; i++) {
        place[i] = (uint8_t)(shift > 0 ? (from[i].head - low) >> shift : from[i].head - low);
        crowded += ends[place[i]]++;
    }
    if (crowded > 2 * count)
        return false;
    for (uint32_t i = 1; i < PLACES; i++)
        ends[i] = (uint16_t)(ends[i] + ends[i - 1]);
    for (uint32_t i = count; i-- > 0;)
        to[--ends[place[i]]] = from[i];
    return true;
}

/* The number of bytes that all keys begin with. */
static uint32_t common_size(const uint8_t *bytes, const struct sketch_entry *e, uint32_t count)
{
    const struct slice first = sketch_key_of(bytes, &e[0]);
    uint32_t common = e[0].size;
    for (uint32_t i = 1; i < count; i++) {
        const struct slice key = sketch_key_of(bytes, &e[i]);
        if (key.size >= common && memcmp(key.data, first.data, common) == 0)
            continue;
        common = key.size < common ? e[i].size : common;
        while (memcmp(key.data, first.data, common) != 0)
            common--;
    }
    return common;
}

/* Takes heads from the bytes behind the first `from`. If all heads are equal, heads behind the
 * common bytes are better: keys of one item collection are sorted by their sort keys. */
static void set_heads(const uint8_t *bytes, struct sketch_entry *e, uint32_t count, uint32_t from)
{
    for (uint32_t i = 0; i < count; i++)
        e[i].head = slice_head(slice_make(bytes + e[i].at + from, e[i].size - from));
}

static void sketch_sort(const uint8_t *bytes, struct sketch_entry *from, uint32_t count)
{
    struct sketch_entry scratch[SKETCH_K], *to = scratch;
    if (sketch_spread(from, count, scratch)) {
        memcpy(from, scratch, count * sizeof *from);
        sort_run(bytes, from, count);
        return;
    }
    for (uint32_t i = 0; i < count; i += RUN)
        sort_run(bytes, from + i, count - i < RUN ? count - i : RUN);
    for (uint32_t width = RUN; width < count; width *= 2) {
        for (uint32_t i = 0; i < count; i += 2 * width) {
            uint32_t left = count - i < width ? count - i : width;
            uint32_t right = count - i - left < width ? count - i - left : width;
            sketch_merge(bytes, from + i, left, from + i + left, right, to + i);
        }
        struct sketch_entry *other = from;
        from = to;
        to = other;
    }
    if (from == scratch)
        memcpy(to, from, count * sizeof *from);
}

static void sort_level(struct sketch *s, int h)
{
    struct sketch_entry *e = entries_of(s, h);
    const uint8_t *bytes = bytes_of(s, h);
    const uint32_t count = s->levels[h].count;
    bool same = count > 0;
    for (uint32_t i = 1; i < count; i++)
        same = same && e[i].head == e[0].head;
    if (same)
        set_heads(bytes, e, count, common_size(bytes, e, count));
    sketch_sort(bytes, e, count);
    if (same)
        set_heads(bytes, e, count, 0);
}

/* ---- direction ---- */

static void sketch_average(uint32_t *ppm, uint32_t part, uint32_t count, bool first)
{
    int32_t now = (int32_t)((uint64_t)part * PPM / count);
    *ppm =
        first ? (uint32_t)now : (uint32_t)((int32_t)*ppm + (now - (int32_t)*ppm) / AVERAGED_OVER);
}

/* The number of sorted entries below `key`; with `equal`, of those that are not above it. */
static uint32_t count_below(const uint8_t *bytes, const struct sketch_entry *e, uint32_t count,
                            struct slice key, bool equal)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        int order = slice_compare(sketch_key_of(bytes, &e[middle]), key);
        if (order < 0 || (equal && order == 0))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A sorted level holds the demand since the level was empty: a window in time. */
static void sketch_watch(struct sketch *s, int h)
{
    struct sketch_level *l = &s->levels[h];
    const struct sketch_entry *e = entries_of(s, h);
    const uint8_t *bytes = bytes_of(s, h);
    if (l->count < WINDOW_MIN)
        return;
    if (l->mark_size != UINT32_MAX) {
        struct slice mark = slice_make(l->mark, l->mark_size);
        uint32_t below = count_below(bytes, e, l->count, mark, false);
        uint32_t above = l->count - count_below(bytes, e, l->count, mark, true);
        sketch_average(&l->forward_ppm, above, l->count, l->windows == 0);
        sketch_average(&l->backward_ppm, below, l->count, l->windows == 0);
        l->windows += l->windows < SKETCH_WINDOWS_MIN;
    }
    struct slice middle = sketch_key_of(bytes, &e[l->count / 2]);
    memcpy(l->mark, middle.data, middle.size);
    l->mark_size = (uint32_t)middle.size;
}

enum sketch_direction sketch_direction(const struct sketch *s)
{
    enum sketch_direction found = SKETCH_UNKNOWN;
    for (int h = 0; h < SKETCH_LEVELS; h++) {
        const struct sketch_level *l = &s->levels[h];
        if (l->windows < SKETCH_WINDOWS_MIN)
            continue;
        if (l->forward_ppm >= ONE_WAY_PPM)
            return SKETCH_FORWARD;
        if (l->backward_ppm >= ONE_WAY_PPM)
            return SKETCH_BACKWARD;
        found = SKETCH_STAYS;
    }
    return found;
}

/* ---- levels ---- */

static bool sketch_coin(struct sketch *s)
{
    return prng_next(&s->prng) >> 63;
}

static bool has_room(const struct sketch *s, int h, uint32_t count, uint32_t bytes)
{
    return s->levels[h].count + count <= places[h].entries &&
           s->levels[h].bytes + bytes <= places[h].bytes;
}

static bool sketch_full(const struct sketch *s, int h)
{
    return !has_room(s, h, 1, SKETCH_KEY_MAX);
}

/* Between calls. */
static bool sketch_has_room(const struct sketch *s)
{
    bool room = true;
    for (int h = 0; h < SKETCH_LEVELS; h++)
        room = room && !sketch_full(s, h);
    return room;
}

static inline void sketch_check(const struct sketch *s)
{
    must_in_tests(s->until > 0); /* LEVEL-3 */
    must_in_tests(s->rest >= 0);
    must_in_tests(s->unit >= s->unit_min);
    must_in_tests(s->variance4 >= 0);
    must_in_tests(sketch_has_room(s)); /* LEVEL-1 */
}

static void sketch_push(struct sketch *s, int h, struct slice key, uint64_t head)
{
    struct sketch_level *l = &s->levels[h];
    must(l->count < places[h].entries);
    must(l->bytes + key.size <= places[h].bytes);
    entries_of(s, h)[l->count++] = (struct sketch_entry){head, l->bytes, (uint32_t)key.size};
    memcpy(bytes_of(s, h) + l->bytes, key.data, key.size);
    l->bytes += (uint32_t)key.size;
}

/* Clears a level whose pairs went up. The last entry of an odd number stays. */
static void keep_last(struct sketch *s, int h)
{
    struct sketch_level *l = &s->levels[h];
    must(l->count > 0);
    const struct sketch_entry e = entries_of(s, h)[l->count - 1];
    const bool odd = l->count & 1;
    l->count = l->bytes = 0;
    if (!odd)
        return;
    memmove(bytes_of(s, h), bytes_of(s, h) + e.at, e.size);
    entries_of(s, h)[l->count++] = (struct sketch_entry){e.head, 0, e.size};
    l->bytes = e.size;
    must_in_tests(level_is_sound(s, h)); /* LEVEL-2 */
}

/* Keeps one of each pair of a sorted level; `last`: also the last entry of an odd number. */
static void keep_half(struct sketch *s, int h, bool second, bool last)
{
    uint8_t bytes[LEVEL_BYTES_MAX];
    const struct sketch_entry *e = entries_of(s, h);
    struct sketch_level *l = &s->levels[h];
    const uint32_t count = l->count;
    memcpy(bytes, bytes_of(s, h), l->bytes);
    l->count = l->bytes = 0;
    for (uint32_t i = second; i < (count & ~1U); i += 2)
        sketch_push(s, h, sketch_key_of(bytes, &e[i]), e[i].head);
    if (last && (count & 1))
        sketch_push(s, h, sketch_key_of(bytes, &e[count - 1]), e[count - 1].head);
    must_in_tests(level_is_sound(s, h)); /* LEVEL-2 */
}

/* Every level forgets every other key. The keys that are left keep their weight. */
static void sketch_halve(struct sketch *s)
{
    s->variance4 /= 4;
    for (int h = 0; h < SKETCH_LEVELS; h++) {
        const uint32_t count = s->levels[h].count;
        if (count == 0)
            continue;
        sort_level(s, h);
        bool second = sketch_coin(s), last = sketch_coin(s);
        keep_half(s, h, second, last);
        s->variance4 += INT64_C(1) << (2 * h + (int)(count & 1));
    }
}

static void draw_point(struct sketch *s)
{
    must(s->unit > 0);
    s->until = 1 + (int64_t)prng_below(&s->prng, (uint64_t)s->unit);
    s->rest = s->unit - s->until;
}

/* The unit has changed: forgets what was computed for the old unit. */
static void unit_changed(struct sketch *s)
{
    s->whole_cost = 0;
    draw_point(s);
}

/* Makes room in the top level. */
static void sketch_coarsen(struct sketch *s)
{
    do {
        sketch_halve(s);
        s->unit *= 2;
    } while (sketch_full(s, TOP));
    unit_changed(s);
}

static void sketch_promote(struct sketch *s, int h)
{
    struct sketch_level *l = &s->levels[h];
    const struct sketch_entry *e = entries_of(s, h);
    const uint8_t *bytes = bytes_of(s, h);
    if (l->count < 2) /* coarsening has taken the pairs already */
        return;
    sort_level(s, h);
    sketch_watch(s, h);
    l->upper = l->again ? !l->upper : sketch_coin(s);
    l->again = !l->again;
    for (uint32_t i = l->upper; i < (l->count & ~1U); i += 2)
        sketch_push(s, h + 1, sketch_key_of(bytes, &e[i]), e[i].head);
    keep_last(s, h);
    s->variance4 += INT64_C(4) << (2 * h);
}

/* Makes room in a full level. Afterwards LEVEL-1 holds for this level and all above. */
static void sketch_squeeze(struct sketch *s, int h)
{
    if (h == TOP) {
        sketch_coarsen(s);
        return;
    }
    while (!has_room(s, h + 1, s->levels[h].count / 2, s->levels[h].bytes))
        sketch_squeeze(s, h + 1);
    sketch_promote(s, h);
    if (sketch_full(s, h + 1))
        sketch_squeeze(s, h + 1);
}

/* ---- adding and reading ---- */

void sketch_init(struct sketch *s, int64_t unit_mcu, uint64_t seed)
{
    must(unit_mcu > 0);
    s->unit_min = unit_mcu;
    s->unit = unit_mcu * SKETCH_FRACTION;
    s->variance4 = 0;
    s->prng = prng_seeded(seed);
    for (int h = 0; h < SKETCH_LEVELS; h++) {
        struct sketch_level *l = &s->levels[h];
        l->count = l->bytes = l->windows = 0;
        l->again = l->upper = false;
        l->forward_ppm = l->backward_ppm = 0;
        l->mark_size = UINT32_MAX;
    }
    unit_changed(s);
    sketch_check(s);
}

/* The number of sampled points within `cost`, which is less than a unit. */
static int64_t sketch_sampled(struct sketch *s, int64_t cost)
{
    int64_t units = 0;
    while (cost >= s->until) {
        const int64_t rest = s->rest;
        cost -= s->until;
        draw_point(s);
        s->until += rest;
        s->variance4++;
        units++;
    }
    s->until -= cost;
    return units;
}

static int64_t sketch_units_of(struct sketch *s, int64_t cost)
{
    if (cost == s->whole_cost)
        return s->whole_units;
    while (cost / s->unit > UNITS_MAX - SAMPLED_MAX)
        sketch_coarsen(s);
    if (cost < s->unit)
        return sketch_sampled(s, cost);
    int64_t whole = cost / s->unit, rest = cost - whole * s->unit;
    if (rest > 0)
        return whole + sketch_sampled(s, rest);
    s->whole_cost = cost;
    s->whole_units = whole;
    return whole;
}

bool sketch_add(struct sketch *s, struct slice key, int64_t cost_mcu)
{
    must(cost_mcu > 0);
    must(cost_mcu <= INT64_MAX / SKETCH_FRACTION);
    sketch_check(s);
    const int64_t units = sketch_units_of(s, cost_mcu * SKETCH_FRACTION);
    must(units <= UNITS_MAX); /* a key for each bit has a level */
    if (units == 0)
        return false;
    key.size = MIN(key.size, SKETCH_KEY_MAX);
    const uint64_t head = slice_head(key);
    for (int64_t left = units; left > 0; left &= left - 1) /* a key for each bit */
        sketch_push(s, __builtin_ctzll((uint64_t)left), key, head);
    for (int64_t left = units; left > 0; left &= left - 1)
        if (sketch_full(s, __builtin_ctzll((uint64_t)left)))
            sketch_squeeze(s, __builtin_ctzll((uint64_t)left));
    sketch_check(s);
    return true;
}

void sketch_decay(struct sketch *s)
{
    if (s->unit / 2 < s->unit_min) {
        sketch_halve(s);
        return;
    }
    s->unit /= 2;
    unit_changed(s);
    sketch_check(s);
}

uint32_t sketch_items(const struct sketch *s, struct sketch_item *out)
{
    uint32_t count = 0;
    for (int h = 0; h < SKETCH_LEVELS; h++)
        for (uint32_t i = 0; i < s->levels[h].count; i++)
            out[count++] = (struct sketch_item){
                .key = sketch_key_of(s->bytes + places[h].first_byte,
                                     &s->entries[places[h].first_entry + i]),
                .mcu = (s->unit << h) / SKETCH_FRACTION,
            };
    must(count <= SKETCH_ENTRIES);
    return count;
}

/* The least whole number whose square is at least `square`. */
static int64_t sketch_root(int64_t square)
{
    int64_t low = 0, high = INT64_C(1) << 31;
    must(square >= 0);
    must(square <= high * high);
    LOWER_BOUND(low, high, middle, middle * middle < square);
    return low;
}

int64_t sketch_error(const struct sketch *s)
{
    return sketch_root(s->variance4) * s->unit / (2 * SKETCH_FRACTION);
}
