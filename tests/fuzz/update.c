/* update.c - texts of updates: what parses encodes to a program that passes its check, and makes an
 * item that is whole, or tells why not. Words: update.dict. */
#include "base/must.h"
#include "engine/expression/projection.h"
#include "engine/expression/update_program.h"
#include "tests/support/rich_item.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void update_apply_to(struct slice program, struct slice item, bool exists)
{
    static const char before[] = "before";
    struct buffer out = {0};
    buffer_append_text(&out, before);
    const enum update_fault fault = update_apply(program, item, exists, &(struct steps){0}, &out);
    const size_t kept = strlen(before);
    must(fault < UPDATE_FAULTS && memcmp(out.data, before, kept) == 0);
    if (fault == UPDATE_OK)
        must(item_check(slice_make(out.data + kept, out.size - kept)) == STATUS_OK);
    else
        must(out.size == kept);
    buffer_deinit(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct buffer bytes = {0}, program = {0}, shown = {0};
    const struct slice item = rich_item(&bytes, NULL);
    struct expression_name names[] = {{.key = slice_of("#m"), .name = slice_of("m")}};
    struct expression_name values[RICH_VALUES];
    struct expression_names all = {names, 1, values, RICH_VALUES};
    struct expression_fault fault;
    rich_item_values(item, values);
    const struct update *u = update_parse(slice_make(data, size), &all, &arena, &fault);
    must((u == NULL) == (fault.error != EXPRESSION_OK));
    if (u != NULL) {
        must(update_paths(u, &arena)->count == u->count);
        projection_append(&shown, update_paths(u, &arena), item);
        must(item_check(buffer_slice(&shown)) == STATUS_OK);
        update_program_encode(&program, u);
        must(update_program_check(buffer_slice(&program)) == STATUS_OK);
        update_apply_to(buffer_slice(&program), item, true);
        update_apply_to(buffer_slice(&program), item, false);
    }
    buffer_deinit(&shown);
    buffer_deinit(&program);
    buffer_deinit(&bytes);
    arena_deinit(&arena);
    return 0;
}
