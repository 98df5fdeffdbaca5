/* cell_merge.c - makes the update of a cell that is added to another. */
#include "engine/node/key_sharding/cell_merge.h"

#include "engine/expression/update_program.h"

static bool is_key(const struct table *t, struct slice name)
{
    return slice_equal(name, t->partition_key.name) || slice_equal(name, t->sort_key.name);
}

static struct update_action *cell_merge_action(struct arena *arena, struct slice name,
                                               const struct attr *number)
{
    struct update_action *a = arena_zalloc(arena, sizeof *a);
    a->verb = UPDATE_ADD;
    a->path = arena_zalloc(arena, sizeof *a->path);
    a->path->name = name;
    a->value = arena_zalloc(arena, sizeof *a->value);
    *a->value = (struct update_value){.kind = UPDATE_VALUE, .value = *number};
    return a;
}

void cell_merge(const struct table *t, struct slice cell, struct arena *arena, struct slice *item,
                struct slice *update)
{
    struct attr_cursor at = item_attrs(cell);
    struct buffer keys = {0}, program = {0};
    struct update additions = {0};
    struct update_action **next = &additions.actions;
    struct item_writer w;
    struct slice name;
    struct attr value;
    item_begin(&w, &keys);
    while (attr_next(&at, &name, &value)) {
        if (is_key(t, name)) {
            item_name(&w, name);
            item_attr(&w, &value);
        } else if (value.type == ATTR_NUMBER) {
            *next = cell_merge_action(arena, name, &value);
            next = &(*next)->next;
            additions.count++;
        }
    }
    item_end(&w);
    must(
        update_program_encode(&program, &additions)); /* an item is smaller than what it may have */
    *item = arena_copy(arena, buffer_slice(&keys));
    *update = arena_copy(arena, buffer_slice(&program));
    buffer_deinit(&keys);
    buffer_deinit(&program);
}
