/* set.c - unions and differences of sets. The second set is sorted; elements of the first set are
 * looked up in it. */
#include "engine/expression/set.h"

#include <stdlib.h>

struct set_entry {
    struct slice body;
    bool seen;
};

struct set_index {
    struct set_entry few[SET_FEW];
    struct set_entry *sorted; /* owns, unless it is `few` */
    size_t count;
};

static int set_compare(const void *a, const void *b)
{
    return slice_compare(((const struct set_entry *)a)->body, ((const struct set_entry *)b)->body);
}

static void set_index_init(struct set_index *ix, const struct attr *set)
{
    struct slice name;
    struct attr element;
    ix->count = 0;
    for (struct attr_cursor c = attr_elements(set); attr_next(&c, &name, &element);)
        ix->count++;
    ix->sorted = ix->few;
    if (ix->count > SET_FEW)
        ix->sorted = must_calloc(ix->count, sizeof *ix->sorted);
    size_t i = 0;
    for (struct attr_cursor c = attr_elements(set); attr_next(&c, &name, &element);)
        ix->sorted[i++] = (struct set_entry){.body = element.body};
    qsort(ix->sorted, ix->count, sizeof *ix->sorted, set_compare);
}

static void set_index_deinit(struct set_index *ix)
{
    if (ix->sorted != ix->few)
        free(ix->sorted);
}

/* NULL: the set has no such element. */
static struct set_entry *set_index_find(const struct set_index *ix, const struct attr *element)
{
    const struct set_entry key = {.body = element->body};
    return bsearch(&key, ix->sorted, ix->count, sizeof key, set_compare);
}

void set_write_union(struct item_writer *w, const struct attr *a, const struct attr *b)
{
    struct set_index ix;
    struct slice name;
    struct attr element;
    set_index_init(&ix, b);
    item_open(w, a->type);
    for (struct attr_cursor c = attr_elements(a); attr_next(&c, &name, &element);) {
        struct set_entry *same = set_index_find(&ix, &element);
        if (same != NULL)
            same->seen = true;
        item_attr(w, &element);
    }
    for (struct attr_cursor c = attr_elements(b); attr_next(&c, &name, &element);) {
        if (!set_index_find(&ix, &element)->seen)
            item_attr(w, &element);
    }
    item_close(w);
    set_index_deinit(&ix);
}

bool set_has_all(const struct attr *b, const struct attr *a)
{
    struct set_index ix;
    struct slice name;
    struct attr element;
    bool all = true;
    set_index_init(&ix, b);
    for (struct attr_cursor c = attr_elements(a); all && attr_next(&c, &name, &element);)
        all = set_index_find(&ix, &element) != NULL;
    set_index_deinit(&ix);
    return all;
}

void set_write_difference(struct item_writer *w, const struct attr *a, const struct attr *b)
{
    struct set_index ix;
    struct slice name;
    struct attr element;
    set_index_init(&ix, b);
    item_open(w, a->type);
    for (struct attr_cursor c = attr_elements(a); attr_next(&c, &name, &element);) {
        if (set_index_find(&ix, &element) == NULL)
            item_attr(w, &element);
    }
    item_close(w);
    set_index_deinit(&ix);
}
