/* set.c - unions and differences of sets: elements of one set are looked up in a table of the
 * other. */
#include "engine/expression/set.h"

#include "engine/item/element_table.h"

void set_write_union(struct item_writer *w, const struct attr *a, const struct attr *b,
                     struct steps *steps)
{
    struct element_table in_b;
    struct slice name;
    struct attr element;
    must(attr_set_element(a->type) != 0);
    must(a->type == b->type);
    element_table_init(&in_b, b, steps);
    item_open(w, a->type);
    for (struct attr_cursor c = attr_elements(a); attr_next(&c, &name, &element);) {
        struct element *same = element_table_find(&in_b, element.body, steps);
        if (same != NULL)
            same->seen = true;
        item_attr(w, &element);
    }
    for (uint32_t i = 0; i < in_b.count; i++) {
        if (!in_b.elements[i].seen)
            item_attr(w, &in_b.elements[i].value);
    }
    item_close(w);
    element_table_deinit(&in_b);
}

bool set_write_difference(struct item_writer *w, struct slice name, const struct attr *a,
                          const struct attr *b, struct steps *steps)
{
    struct element_table in_b;
    struct element e;
    bool any = false;
    must(attr_set_element(a->type) != 0);
    must(a->type == b->type);
    element_table_init(&in_b, b, steps);
    for (struct attr_cursor c = attr_elements(a); element_next(&c, &e);) {
        if (element_table_find(&in_b, e.key, steps) != NULL)
            continue;
        if (!any && name.data != NULL)
            item_name(w, name);
        if (!any)
            item_open(w, a->type);
        any = true;
        item_attr(w, &e.value);
    }
    if (any)
        item_close(w);
    element_table_deinit(&in_b);
    return any;
}
