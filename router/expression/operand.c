#include "router/expression/operand.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/must.h"
#include "router/value.h"

void operand_error(struct operand_errors *e, enum condition_error error, const char *format, ...)
{
    if (error >= e->first)
        return;
    char text[FAULT_SHOWN_MAX + 512];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    must(size >= 0);
    e->first = error;
    buffer_clear(&e->text);
    buffer_append_text(&e->text, text);
}

void operand_check_nested(struct operand_errors *e, const struct condition *c)
{
    for (const struct condition *a = c->args; a != NULL; a = a->next) {
        if (a->kind == CONDITION_FUNCTION && !slice_is(a->name, "size"))
            operand_error(e, CONDITION_ERROR_MISUSED,
                          "The function is not allowed to be used this way in an expression; "
                          "function: %.*s",
                          SHOWN(a->name));
    }
}

void operand_check_condition(struct operand_errors *e, const struct condition *c)
{
    if (c->kind == CONDITION_FUNCTION && slice_is(c->name, "size"))
        operand_error(e, CONDITION_ERROR_MISUSED,
                      "The function is not allowed to be used this way in an expression; "
                      "function: size");
}

static bool same_path(const struct path_part *a, const struct path_part *b)
{
    while (a != NULL && b != NULL && a->indexed == b->indexed && slice_equal(a->name, b->name) &&
           a->index == b->index) {
        a = a->next;
        b = b->next;
    }
    return a == NULL && b == NULL;
}

static void distinct(struct operand_errors *e, const struct condition *c, struct slice operator)
{
    const struct condition *a = c->args, *b = a->next;
    if (a->kind != CONDITION_PATH || b->kind != CONDITION_PATH || !same_path(a->path, b->path))
        return;
    struct buffer path = {0};
    for (const struct path_part *p = a->path; p != NULL; p = p->next) {
        if (path.size > 0)
            buffer_append_text(&path, ", ");
        if (!p->indexed)
            buffer_append(&path, p->name.data, (size_t)fault_shown_size(p->name));
        else
            buffer_append_format(&path, "[%u]", p->index);
    }
    operand_error(e, CONDITION_ERROR_OPERANDS,
                  "The first operand must be distinct from the remaining operands for this "
                  "operator or function; operator: %.*s, first operand: [%.*s]",
                  SHOWN(operator), (int)path.size, (const char *)path.data);
    buffer_deinit(&path);
}

void operand_check_distinct(struct operand_errors *e, const struct condition *c)
{
    static const char *const SIGNS[] = {[TOKEN_EQ] = "=",  [TOKEN_NE] = "<>", [TOKEN_LT] = "<",
                                        [TOKEN_LE] = "<=", [TOKEN_GT] = ">",  [TOKEN_GE] = ">="};
    distinct(e, c, slice_of(SIGNS[c->op]));
}

int operand_compare(const struct attr *a, const struct attr *b)
{
    must(a->type == b->type);
    return slice_compare(a->body, b->body); /* numbers are encoded in their order */
}

/* {S:text} as the service prints it. */
static void shown_append(struct buffer *out, const struct attr *v)
{
    struct number n = {0};
    char digits[NUMBER_TEXT_MAX];
    size_t used;
    buffer_append_format(out, "{%s:", value_type_name(v->type));
    if (v->type == ATTR_NUMBER && number_decode(v->body, &n, &used) == STATUS_OK)
        buffer_append(out, digits, number_format(&n, digits));
    else if (v->type == ATTR_STRING)
        buffer_append(out, v->body.data, (size_t)fault_shown_size(v->body));
    buffer_append_u8(out, '}');
}

static void bounds_error(struct operand_errors *e, const char *rule, const struct attr *low,
                         const struct attr *high)
{
    struct buffer text = {0};
    buffer_append_format(&text,
                         "The BETWEEN operator requires %s; lower bound operand: "
                         "AttributeValue: ",
                         rule);
    shown_append(&text, low);
    buffer_append_text(&text, ", upper bound operand: AttributeValue: ");
    shown_append(&text, high);
    operand_error(e, CONDITION_ERROR_OPERANDS, "%.*s", (int)text.size, (const char *)text.data);
    buffer_deinit(&text);
}

static bool is_ordered(enum attr_type type)
{
    return type == ATTR_STRING || type == ATTR_NUMBER || type == ATTR_BINARY;
}

void operand_check_between(struct operand_errors *e, const struct condition *c)
{
    const struct condition *low = c->args->next, *high = low->next;
    if (low->kind != CONDITION_VALUE || high->kind != CONDITION_VALUE || low->value.type == 0 ||
        high->value.type == 0)
        return;
    if (low->value.type != high->value.type)
        bounds_error(e, "same data type for lower and upper bounds", &low->value, &high->value);
    else if (is_ordered(low->value.type) && operand_compare(&low->value, &high->value) > 0)
        bounds_error(e, "upper bound to be greater than or equal to lower bound", &low->value,
                     &high->value);
}

/* ---- functions ---- */

static void wrong_operand(struct operand_errors *e, const struct condition *c, const char *type)
{
    operand_error(e, CONDITION_ERROR_OPERANDS,
                  "Incorrect operand type for operator or function; operator or function: %.*s, "
                  "operand type: %s",
                  SHOWN(c->name), type);
}

static void check_begins_with(struct operand_errors *e, const struct condition *c)
{
    for (const struct condition *a = c->args; a != NULL; a = a->next) {
        if (a->kind == CONDITION_FUNCTION)
            wrong_operand(e, c, "N"); /* size() */
        else if (a->kind == CONDITION_VALUE && a->value.type != 0 && a->value.type != ATTR_STRING &&
                 a->value.type != ATTR_BINARY)
            wrong_operand(e, c, value_type_name(a->value.type));
    }
}

static void check_exists(struct operand_errors *e, const struct condition *c)
{
    if (c->args->kind != CONDITION_PATH)
        operand_error(e, CONDITION_ERROR_OPERANDS,
                      "Operator or function requires a document path; operator or function: %.*s",
                      SHOWN(c->name));
}

static void check_attribute_type(struct operand_errors *e, const struct condition *c)
{
    const struct condition *type = c->args->next;
    if (type->kind != CONDITION_VALUE)
        wrong_operand(e, c, "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}");
    else if (type->value.type != 0 && type->value.type != ATTR_STRING)
        wrong_operand(e, c, value_type_name(type->value.type));
    else if (type->value.type != 0 && value_type_of(type->value.body) == 0)
        operand_error(e, CONDITION_ERROR_OPERANDS,
                      "Invalid attribute type name found; type: %.*s, valid types: "
                      "{B,NULL,SS,BOOL,L,BS,N,NS,S,M}",
                      SHOWN(type->value.body));
}

static void check_size(struct operand_errors *e, const struct condition *c)
{
    enum attr_type type = c->args->value.type;
    if (c->args->kind == CONDITION_VALUE &&
        (type == ATTR_NUMBER || type == ATTR_BOOL || type == ATTR_NULL))
        wrong_operand(e, c, value_type_name(type));
}

static void check_contains(struct operand_errors *e, const struct condition *c)
{
    (void)e;
    (void)c;
}

void operand_check_function(struct operand_errors *e, const struct condition *c)
{
    static const struct {
        const char *name;
        uint32_t operands;
        void (*check)(struct operand_errors *, const struct condition *);
    } FUNCTIONS[] = {
        {"attribute_exists", 1, check_exists},
        {"attribute_not_exists", 1, check_exists},
        {"attribute_type", 2, check_attribute_type},
        {"begins_with", 2, check_begins_with},
        {"contains", 2, check_contains},
        {"size", 1, check_size},
    };
    for (size_t i = 0; i < sizeof FUNCTIONS / sizeof FUNCTIONS[0]; i++) {
        if (!slice_is(c->name, FUNCTIONS[i].name))
            continue;
        if (FUNCTIONS[i].operands != c->arg_count) {
            operand_error(e, CONDITION_ERROR_OPERANDS,
                          "Incorrect number of operands for operator or function; operator or "
                          "function: %.*s, number of operands: %u",
                          SHOWN(c->name), c->arg_count);
            return;
        }
        if (c->arg_count == 2)
            distinct(e, c, c->name);
        FUNCTIONS[i].check(e, c);
        return;
    }
    operand_error(e, CONDITION_ERROR_FUNCTION_NAME, "Invalid function name; function: %.*s",
                  SHOWN(c->name));
}
