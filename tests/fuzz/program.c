/* program.c - programs from another process: what passes the check is evaluated, over an item of
 * all types or over none, and reads nothing outside. Seeds: tests/fuzz/seeds/program. */
#include <stdlib.h>

#include "base/must.h"
#include "engine/expression/program.h"
#include "tests/support/rich_item.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* u8 size of the program, the program, and what is left as the elements of the list a. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || data[0] > size - 1)
        return 0;
    struct buffer bytes = {0};
    uint8_t *program =
        malloc(data[0] + 1U); /* its own block, so that a read past the end is seen */
    must(program != NULL);
    memcpy(program, data + 1, data[0]);
    const struct attr list = {ATTR_LIST, slice_make(data + 1 + data[0], size - 1 - data[0])};
    if (program_check(slice_make(program, data[0])) == STATUS_OK) {
        program_holds(slice_make(program, data[0]),
                      rich_item(&bytes, attr_is_sound(&list) ? &list : NULL), &(struct steps){0});
        program_holds(slice_make(program, data[0]), slice_make(NULL, 0), &(struct steps){0});
    }
    buffer_deinit(&bytes);
    free(program);
    return 0;
}
