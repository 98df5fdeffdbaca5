/* expression.c - texts of expressions: what parses encodes to a program that passes its check and
 * can be evaluated. Words: expression.dict. */
#include "base/must.h"
#include "engine/expression/key_condition.h"
#include "engine/expression/program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* {a: "abc", m: {b: [1]}}: also the values of :a and :m. */
static struct slice expression_item(struct buffer *out)
{
    struct item_writer w;
    struct number n;
    must(number_parse(slice_of("1"), &n) == NUMBER_OK);
    item_begin(&w, out);
    item_name(&w, slice_of("a"));
    item_string(&w, slice_of("abc"));
    item_name(&w, slice_of("m"));
    item_open(&w, ATTR_MAP);
    item_name(&w, slice_of("b"));
    item_open(&w, ATTR_LIST);
    item_number(&w, &n);
    item_close(&w);
    item_close(&w);
    item_end(&w);
    return buffer_slice(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct buffer bytes = {0}, program = {0};
    struct slice item = expression_item(&bytes);
    struct expression_name names[] = {{.key = slice_of("#m"), .name = slice_of("m")}};
    struct expression_name values[] = {{.key = slice_of(":a")}, {.key = slice_of(":m")}};
    struct expression_names all = {names, 1, values, 2};
    struct expression_fault fault;
    struct key_conditions keys;
    must(item_find(item, slice_of("a"), &values[0].value));
    must(item_find(item, slice_of("m"), &values[1].value));
    const struct condition *c = condition_parse(slice_make(data, size), &all, &arena, &fault);
    must((c == NULL) == (fault.error != EXPRESSION_OK));
    if (c != NULL) {
        program_encode(&program, c);
        must(program_check(buffer_slice(&program)) == STATUS_OK);
        program_holds(buffer_slice(&program), item);
        program_holds(buffer_slice(&program), slice_make(NULL, 0));
        if (key_conditions_gather(c, &keys, &fault))
            must(keys.count >= 1 && keys.count <= 2);
    }
    buffer_deinit(&program);
    buffer_deinit(&bytes);
    arena_deinit(&arena);
    return 0;
}
