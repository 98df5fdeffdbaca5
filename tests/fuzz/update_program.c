/* update_program.c - updates from another process: what passes the check is applied to an item of
 * all types, and makes an item that is whole, or tells why not. It reads nothing outside. Seeds:
 * tests/fuzz/seeds/update_program. */
#include <stdlib.h>

#include "base/must.h"
#include "engine/expression/update_program.h"
#include "tests/support/rich_item.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void update_apply_to(struct slice program, struct slice item, bool exists)
{
    struct buffer out = {0};
    const enum update_fault fault = update_apply(program, item, exists, &(struct steps){0}, &out);
    must(fault < UPDATE_FAULTS);
    if (fault == UPDATE_OK)
        must(item_check(buffer_slice(&out)) == STATUS_OK);
    else
        must(out.size == 0);
    buffer_deinit(&out);
}

/* u8 size of the program, the program, and what is left as the elements of the list a. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || data[0] > size - 1)
        return 0;
    struct buffer bytes = {0};
    uint8_t *program = malloc(data[0] + 1U); /* its own block: a read past the end is seen */
    must(program != NULL);
    memcpy(program, data + 1, data[0]);
    const struct attr list = {ATTR_LIST, slice_make(data + 1 + data[0], size - 1 - data[0])};
    if (update_program_check(slice_make(program, data[0])) == STATUS_OK) {
        const struct slice item = rich_item(&bytes, attr_is_sound(&list) ? &list : NULL);
        update_apply_to(slice_make(program, data[0]), item, true);
        update_apply_to(slice_make(program, data[0]), item, false);
    }
    buffer_deinit(&bytes);
    free(program);
    return 0;
}
