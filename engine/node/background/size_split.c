/* size_split.c - finds the split point of a partition that is too big: in the middle of its bytes.
 *
 * At the first request the leader begins to read its items from the first key on, in slices. The
 * search ends when half of its bytes are read. Requests meanwhile are told to ask again. Writes
 * meanwhile shift the middle a little, which does no harm. Searches in several partitions take
 * turns. Each partition keeps its result. */
#include "engine/node/background/size_split.h"

#include "engine/node/core/collection.h"
#include "engine/node/core/owned_keys.h"
#include "engine/node/core/pending_requests.h"

enum {
    KEPT_MS = 10000 /* an older result is not used: a new search begins */
};

/* The split point between two neighbouring keys. Empty: none is allowed there. */
static struct slice size_split_at_middle(const struct partition *p, struct slice last,
                                         struct slice key)
{
    struct slice point = p->info.whole_collections ? collection_key(key) : key;
    bool inside = last.size >= point.size && slice_equal(slice_make(last.data, point.size), point);
    return last.size == 0 || inside ? slice_make(NULL, 0) : point;
}

/* Adds the item. Keeps the point before the key if it is nearer to the middle than the kept point.
 * True: the middle is passed, the search is over. */
static bool size_split_pass(struct partition *p, struct middle *m, struct slice key,
                            struct slice item)
{
    struct slice point = size_split_at_middle(p, buffer_slice(&m->last), key);
    if (point.size > 0) {
        bool half = 2 * m->bytes >= partition_bytes(p);
        if (!half || m->point.size == 0 ||
            2 * m->bytes - partition_bytes(p) <= partition_bytes(p) - 2 * m->split_bytes) {
            buffer_set(&m->point, point);
            m->split_bytes = m->bytes;
        }
        if (half)
            return true;
    }
    must(m->step == MIDDLE_SOUGHT && m->split_bytes <= m->bytes);
    m->bytes += partition_bytes_of(p, item);
    buffer_set(&m->last, key);
    return false;
}

static void size_split_give_up(struct partition *p)
{
    middle_destroy(p->middle);
    p->middle = NULL;
}

static void size_split_read_slice(struct node_env *env, struct partition *p)
{
    struct middle *m = p->middle;
    struct items_cursor c;
    struct slice key, item;
    enum status status = STATUS_OK;
    bool found = false;
    size_t bytes = 0;
    items_seek(p, env->store, size_split_from(p), p->info.hi, false, &c);
    for (int i = 0; status == STATUS_OK && !found; i++) {
        status = items_next(&c, &key, &item);
        if (status != STATUS_OK || i == SCAN_ITEMS || bytes >= SCAN_BYTES)
            break;
        bytes += item.size;
        found = item_checksum_holds(item) && size_split_pass(p, m, key, item);
    }
    if (status != STATUS_OK && status != STATUS_NOT_FOUND) {
        size_split_give_up(p); /* no advice for a partition that cannot be read */
    } else if (found || status == STATUS_NOT_FOUND) {
        m->step = MIDDLE_FOUND;
        m->found_at = env->now;
    } else {
        buffer_set(&m->at, key);
    }
}

bool size_split_is_needed(const struct partition *p)
{
    return p->middle != NULL && p->middle->step == MIDDLE_SOUGHT;
}

struct slice size_split_from(const struct partition *p)
{
    return p->middle->at.size > 0 ? buffer_slice(&p->middle->at) : p->info.lo;
}

void size_split_slice(struct node_env *env, struct partition *p)
{
    if (p->info.epoch != p->middle->epoch || p->no_state || p->led == 0)
        size_split_give_up(p);
    else
        size_split_read_slice(env, p);
}

static void size_split_begin(struct partition *p)
{
    size_split_give_up(p);
    p->middle = must_calloc(1, sizeof *p->middle);
    p->middle->step = MIDDLE_SOUGHT;
    p->middle->epoch = p->info.epoch;
}

static void size_split_conclude(const struct partition *p, const struct middle *m,
                                struct split_advice *out)
{
    if (m->point.size == 0) {
        bool one_collection = p->info.whole_collections && m->last.size > 0;
        out->verdict = one_collection ? SPLIT_REFUSED_COLLECTION : SPLIT_REFUSED_NO_BENEFIT;
        out->key = one_collection ? collection_key(buffer_slice(&m->last)) : slice_make(NULL, 0);
        out->key_share_ppm = one_collection ? SPLIT_WHOLE_PPM : 0;
        return;
    }
    must_in_tests(partition_holds(p, buffer_slice(&m->point)));
    out->verdict = SPLIT_ADVISED;
    out->point_count = 1;
    out->points[0] = buffer_slice(&m->point);
    for (int kind = 0; kind < SPLIT_KINDS; kind++)
        out->share_ppm[kind][0] = out->share_ppm[kind][1] = SPLIT_WHOLE_PPM / 2;
}

bool size_split_advise(const struct node_env *env, struct partition *p, struct split_advice *out)
{
    struct middle *m = p->middle;
    *out = (struct split_advice){.verdict = SPLIT_REFUSED_FEW_SAMPLES};
    bool known = m != NULL && m->epoch == p->info.epoch;
    if (!partition_items_counted(p) || (known && m->step == MIDDLE_SOUGHT))
        return false; /* the caller asks again */
    bool fresh = known && m->step == MIDDLE_FOUND &&
                 instant_before(env->now, instant_add_ms(m->found_at, KEPT_MS));
    if (!fresh) {
        size_split_begin(p);
        return true;
    }
    size_split_conclude(p, m, out);
    m->step = MIDDLE_REPORTED; /* the advice borrows from `m` until the next search begins */
    return false;
}
