/* value_words.c - refuses numbers and sets in the words of the operation at work. */
#include "router/json/value_words.h"

#include <stdlib.h>

enum value_form {
    FORM_OLDER = 0, /* what the table does not name: batches of writes, scans, transactions */
    FORM_BARE,
    FORM_PREFIXED,
};

/* The choice: the words of 31 of 33 regions, as measured on 2026-10-07. */
static const struct {
    const char *operation;
    enum value_form form;
} OPERATION_FORMS[] = {
    {"PutItem", FORM_PREFIXED}, {"UpdateItem", FORM_PREFIXED}, {"DeleteItem", FORM_PREFIXED},
    {"GetItem", FORM_BARE},     {"BatchGetItem", FORM_BARE},   {"Query", FORM_BARE},
};

static const char *const FORM_PREFIXES[] = {
    [FORM_OLDER] = "", [FORM_BARE] = "", [FORM_PREFIXED] = "1 validation error detected: "};

static enum value_form value_form_of(const struct fault *fault)
{
    for (size_t i = 0; fault->operation != NULL && i < COUNT_OF(OPERATION_FORMS); i++) {
        if (strcmp(OPERATION_FORMS[i].operation, fault->operation) == 0)
            return OPERATION_FORMS[i].form;
    }
    return FORM_OLDER;
}

/* ---- numbers ---- */

static const char *const NUMBER_TEXTS[] = {
    [NUMBER_NOT_NUMERIC] = "The parameter cannot be converted to a numeric value",
    [NUMBER_TOO_MANY_DIGITS] = "Attempting to store more than 38 significant digits in a Number",
    [NUMBER_OVERFLOW] = "Number overflow. Attempting to store a number with magnitude larger than "
                        "supported range",
    [NUMBER_UNDERFLOW] = "Number underflow. Attempting to store a number with magnitude smaller "
                         "than supported range"};

bool value_refuse_number(struct fault *fault, enum number_error why, struct slice text)
{
    must(why != NUMBER_OK);
    const enum value_form form = value_form_of(fault);
    const bool shown = why == NUMBER_NOT_NUMERIC;
    const char *colon = shown && (text.size > 0 || form != FORM_OLDER) ? ": " : "";
    const struct slice digits = shown ? text : slice_make(NULL, 0);
    fault_invalid(fault, "%s%s%s%.*s", FORM_PREFIXES[form], NUMBER_TEXTS[why], colon,
                  SHOWN(digits));
    fault->alone = form != FORM_OLDER;
    return false;
}

/* ---- sets ---- */

enum {
    ELEMENTS_SHOWN_MAX = SLICE_SHOWN_MAX / 4 + 2, /* each has quotes and a comma at least */
    ELEMENTS_KEPT_MAX = 2 * ELEMENTS_SHOWN_MAX
};

/* As they came. */
static void elements_show(struct buffer *out, const struct json_value *list)
{
    struct json_cursor cursor = json_elements(list);
    struct json_value element;
    for (int i = 0; out->size < SLICE_SHOWN_MAX && json_next_element(&cursor, &element); i++) {
        const struct slice text = json_text(&element);
        if (i > 0)
            buffer_append_text(out, ", ");
        buffer_append(out, text.data, (size_t)slice_shown_size(text));
    }
}

/* Finds the first elements in order, as many as a text may show. Only those are sorted. */
static size_t elements_first(const struct json_value *list, struct slice first[ELEMENTS_KEPT_MAX])
{
    struct json_value element;
    size_t count = 0;
    bool full = false;
    JSON_FOREACH (element, list) {
        const struct slice text = json_text(&element);
        if (full && slice_compare(text, first[ELEMENTS_SHOWN_MAX - 1]) >= 0)
            continue;
        first[count++] = text;
        if (count < ELEMENTS_KEPT_MAX)
            continue;
        qsort(first, count, sizeof first[0], slice_compare_at);
        count = ELEMENTS_SHOWN_MAX;
        full = true;
    }
    qsort(first, count, sizeof first[0], slice_compare_at);
    return count;
}

/* Sorted, up to the first that occurs twice, in quotes. */
static void elements_show_sorted(struct buffer *out, const struct json_value *list)
{
    struct slice first[ELEMENTS_KEPT_MAX];
    const size_t count = elements_first(list, first);
    for (size_t i = 0; i < count && out->size < SLICE_SHOWN_MAX; i++) {
        buffer_append_text(out, i > 0 ? ", \"" : "\"");
        buffer_append(out, first[i].data, (size_t)slice_shown_size(first[i]));
        buffer_append_text(out, "\"");
        if (i > 0 && slice_equal(first[i], first[i - 1]))
            break;
    }
}

static void numbers_refuse_repeat(struct fault *fault, enum value_form form)
{
    if (form == FORM_OLDER)
        fault_invalid(fault, "Input collection contains duplicates");
    else
        fault_invalid(fault, "%s" INVALID "Input collection contains duplicates.",
                      FORM_PREFIXES[form]);
}

/* A set of more elements than an item may have is not looked at as a whole: as it came. */
static void elements_refuse_repeat(struct fault *fault, enum value_form form, bool binary,
                                   const struct json_value *list)
{
    struct buffer shown = {0};
    if (form == FORM_OLDER || binary || json_count(list) > ITEM_SIZE_MAX / 2)
        elements_show(&shown, list);
    else
        elements_show_sorted(&shown, list);
    fault_invalid(fault, "%s" INVALID "Input collection [%.*s]%s contains duplicates.",
                  FORM_PREFIXES[form], TEXT_OF(shown), binary ? "of type BS" : "");
    buffer_deinit(&shown);
}

bool value_refuse_repeat(struct fault *fault, enum attr_type set, const struct json_value *list)
{
    const enum value_form form = value_form_of(fault);
    if (set == ATTR_NUMBER_SET)
        numbers_refuse_repeat(fault, form);
    else
        elements_refuse_repeat(fault, form, set == ATTR_BINARY_SET, list);
    fault->alone = form != FORM_OLDER;
    return false;
}
