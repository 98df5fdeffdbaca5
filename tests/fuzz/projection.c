/* projection.c - texts of projections: a projection that parses shows a part of an item of all
 * types that is whole, and of an empty item nothing. Words: projection.dict. */
#include "engine/expression/projection.h"
#include "base/must.h"
#include "tests/support/rich_item.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void projection_show(const struct projection *p, struct slice item)
{
    struct buffer shown = {0};
    struct attr whole, part;
    struct slice name;
    projection_append(&shown, p, item);
    must(item_check(buffer_slice(&shown)) == STATUS_OK);
    must(item_size(buffer_slice(&shown)) <= item_size(item));
    must(item_count(buffer_slice(&shown)) <= p->count);
    struct attr_cursor c = item_attrs(buffer_slice(&shown));
    while (attr_next(&c, &name, &part)) {
        must(item_find(item, name, &whole) && whole.type == part.type);
        must(part.body.size <= whole.body.size);
    }
    buffer_deinit(&shown);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct buffer bytes = {0}, empty = {0};
    struct item_writer w;
    struct expression_name names[] = {{.key = slice_of("#m"), .name = slice_of("m")},
                                      {.key = slice_of("#odd"), .name = slice_of("a.b[0]")}};
    struct expression_names all = {names, COUNT_OF(names), NULL, 0};
    struct expression_fault fault;
    const struct projection *p = projection_parse(slice_make(data, size), &all, &arena, &fault);
    must((p == NULL) == (fault.error != EXPRESSION_OK));
    if (p != NULL) {
        must(p->count > 0);
        projection_show(p, rich_item(&bytes, NULL));
        item_begin(&w, &empty);
        item_end(&w);
        projection_show(p, buffer_slice(&empty));
    }
    buffer_deinit(&empty);
    buffer_deinit(&bytes);
    arena_deinit(&arena);
    return 0;
}
