/* key_condition.c - texts of key conditions, against the schema of a table: a sort key fulfils the
 * condition exactly if its storage key lies in the range. Words: key_condition.dict. */
#include "base/must.h"
#include "engine/item/storage_key.h"
#include "router/core/key_schema.h"
#include "tests/support/rich_item.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The sort key is any value of the schema's type: those of the conditions, and what the input holds
 * behind its text. */
static void key_check(const struct key_condition *partition, const struct key_condition *sort,
                      const struct attr *value)
{
    struct buffer lo = {0}, hi = {0}, key = {0};
    storage_key_append_collection(&lo, 1, &partition->values[0]);
    key_condition_bound_lo(&lo, sort);
    storage_key_append_collection(&hi, 1, &partition->values[0]);
    key_condition_bound_hi(&hi, sort);
    storage_key_append(&key, 1, &partition->values[0], value);
    const bool inside = slice_compare(buffer_slice(&lo), buffer_slice(&key)) <= 0 &&
                        slice_compare(buffer_slice(&key), buffer_slice(&hi)) < 0;
    must(inside == (sort->op == KEY_ANY || key_condition_holds(sort, value)));
    buffer_deinit(&lo);
    buffer_deinit(&hi);
    buffer_deinit(&key);
}

static void key_match(const struct key_conditions *keys, enum attr_type type, struct slice input)
{
    const struct key_schema schema = {1, 1, {{slice_of("p"), ATTR_STRING}, {slice_of("s"), type}}};
    struct key_matches found;
    struct fault fault = {0};
    struct number n;
    size_t used;
    if (key_conditions_match(keys, &schema, &found, &fault)) {
        const struct key_condition partition = found.of[0], sort = found.of[1];
        const struct attr text = {type, input};
        if (type != ATTR_NUMBER && input.size > 0)
            key_check(&partition, &sort, &text);
        if (type == ATTR_NUMBER && number_decode(input, &n, &used) == STATUS_OK)
            key_check(&partition, &sort, &(struct attr){type, slice_make(input.data, used)});
        for (int i = 0; sort.op != KEY_ANY && i < (sort.op == KEY_BETWEEN ? 2 : 1); i++)
            key_check(&partition, &sort, &sort.values[i]);
    }
    fault_deinit(&fault);
}

/* u8 size of a sort key, the sort key, the text. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || data[0] > size - 1)
        return 0;
    struct arena arena = {0};
    struct buffer bytes = {0};
    const struct slice input = slice_make(data + 1, data[0]);
    const struct slice text = slice_make(data + 1 + data[0], size - 1 - data[0]);
    const struct slice item = rich_item(&bytes, NULL);
    struct expression_name names[] = {{.key = slice_of("#p"), .name = slice_of("p")},
                                      {.key = slice_of("#s"), .name = slice_of("s")}};
    struct expression_name values[RICH_VALUES + 1];
    struct expression_names all = {names, COUNT_OF(names), values, COUNT_OF(values)};
    struct expression_fault fault;
    struct key_conditions keys;
    rich_item_values(item, values);
    values[RICH_VALUES] =
        (struct expression_name){.key = slice_of(":i"), .value = {ATTR_STRING, input}};
    const struct condition *c = condition_parse(text, &all, &arena, &fault);
    if (c != NULL && key_conditions_gather(c, &keys, &fault)) {
        key_match(&keys, ATTR_STRING, input);
        key_match(&keys, ATTR_NUMBER, input);
        key_match(&keys, ATTR_BINARY, input);
    }
    buffer_deinit(&bytes);
    arena_deinit(&arena);
    return 0;
}
