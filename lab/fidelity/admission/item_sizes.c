/* item_sizes.c - the sizes of stored items, where they matter: a write is charged for the larger
 * of the new and the old item, a delete for the old one.
 *
 * Where all items of a workload have one size, nothing is kept. */
#include "lab/fidelity/admission/model_internal.h"

enum {
    KEYS_MAX = 1 << 22 /* of a table; later keys count as new ones at each write */
};

static uint64_t size_id(uint64_t key)
{
    return key == UINT64_MAX ? 1 : key + 1; /* an id is never 0 */
}

bool model_sizes_vary(const struct model_source *s)
{
    const struct traffic_options *o = &s->workload->traffic;
    return o->source.next != NULL || o->sizes.kind != ITEM_SIZES_UNIFORM ||
           o->sizes.min != o->sizes.max || o->mix.fraction[TRAFFIC_DELETE] > 0;
}

int64_t model_sizes_of(const struct model_table *t, uint64_t key)
{
    return (int64_t)(uintptr_t)id_map_find(&t->sizes, size_id(key));
}

void model_sizes_set(struct model_table *t, uint64_t key, int64_t bytes)
{
    uint64_t id = size_id(key);
    if (id_map_find(&t->sizes, id) != NULL)
        id_map_remove(&t->sizes, id);
    if (bytes > 0 && t->sizes.count < KEYS_MAX)
        id_map_add(&t->sizes, id, (void *)(uintptr_t)bytes);
}
