/* expression.c - texts of conditions: a condition that parses encodes to a program that passes its
 * check and can be evaluated. What is a key condition has at most two conditions. Words:
 * expression.dict. */
#include "base/must.h"
#include "engine/expression/key_condition.h"
#include "engine/expression/program.h"
#include "tests/support/rich_item.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct buffer bytes = {0}, program = {0};
    const struct slice item = rich_item(&bytes, NULL);
    struct expression_name names[] = {{.key = slice_of("#m"), .name = slice_of("m")}};
    struct expression_name values[RICH_VALUES];
    struct expression_names all = {names, 1, values, RICH_VALUES};
    struct expression_fault fault;
    struct key_conditions keys;
    rich_item_values(item, values);
    const struct condition *c = condition_parse(slice_make(data, size), &all, &arena, &fault);
    must((c == NULL) == (fault.error != EXPRESSION_OK));
    if (c != NULL) {
        program_encode(&program, c);
        must(program_check(buffer_slice(&program)) == STATUS_OK);
        program_holds(buffer_slice(&program), item, &(struct steps){0});
        program_holds(buffer_slice(&program), slice_make(NULL, 0), &(struct steps){0});
        if (key_conditions_gather(c, &keys, &fault))
            must(keys.count >= 1 && keys.count <= 2);
    }
    buffer_deinit(&program);
    buffer_deinit(&bytes);
    arena_deinit(&arena);
    return 0;
}
