/* wording.c - the service's texts for faults of expressions. */
#include "engine/expression/wording.h"

/* Stands before the fault's text. */
static const char *const TEXTS[] = {
    [EXPRESSION_EMPTY] = "The expression can not be empty;",
    [EXPRESSION_PARENTHESES] = "The expression has redundant parentheses;",
    [EXPRESSION_FUNCTION_NAME] = "Invalid function name; function: ",
    [EXPRESSION_NOT_IN_CONDITIONS] = "The function is not allowed in a condition expression; "
                                     "function: ",
    [EXPRESSION_NOT_IN_UPDATES] = "The function is not allowed in an update expression; "
                                  "function: ",
    [EXPRESSION_MISUSED] = "The function is not allowed to be used this way in an expression; "
                           "function: ",
    [EXPRESSION_RESERVED] = "Attribute name is a reserved keyword; reserved keyword: ",
    [EXPRESSION_NAME_UNDEFINED] = "An expression attribute name used in the document path is not "
                                  "defined; attribute name: ",
    [EXPRESSION_VALUE_UNDEFINED] = "An expression attribute value used in expression is not "
                                   "defined; attribute value: ",
    [EXPRESSION_PATH_REQUIRED] = "Operator or function requires a document path; operator or "
                                 "function: ",
};

/* Stands before the fault's count. */
static const char *const COUNTED[] = {
    [EXPRESSION_TOO_LONG] = "Expression size has exceeded the maximum allowed size; expression "
                            "size: ",
    [EXPRESSION_TOO_MANY_OPERATORS] = "The expression contains too many operators; operator "
                                      "count: ",
    [EXPRESSION_PATH_DEPTH] = "The document path has too many nesting levels; nesting levels: ",
    [EXPRESSION_OPERANDS_OF_IN] = "The IN operator is provided with too many operands; number of "
                                  "operands: ",
};

/* {S:text}, as the service prints a value. */
static void wording_value(struct buffer *out, const struct attr *v)
{
    struct number n = {0};
    char digits[NUMBER_TEXT_MAX];
    size_t used;
    buffer_append_format(out, "{%s:", attr_type_name(v->type));
    if (v->type == ATTR_NUMBER && number_decode(v->body, &n, &used) == STATUS_OK)
        buffer_append(out, digits, number_format(&n, digits));
    else if (v->type == ATTR_STRING)
        buffer_append(out, v->body.data, (size_t)slice_shown_size(v->body));
    buffer_append_u8(out, '}');
}

static void wording_between(struct buffer *out, const struct expression_fault *why)
{
    buffer_append_format(out,
                         "The BETWEEN operator requires %s; lower bound operand: AttributeValue: ",
                         why->error == EXPRESSION_BETWEEN_TYPES
                             ? "same data type for lower and upper bounds"
                             : "upper bound to be greater than or equal to lower bound");
    wording_value(out, &why->low);
    buffer_append_text(out, ", upper bound operand: AttributeValue: ");
    wording_value(out, &why->high);
}

/* [a, [1]], as the service prints a path. */
static void wording_path(struct buffer *out, const struct path_part *path)
{
    const char *comma = "";
    const size_t start = out->size;
    buffer_append_u8(out, '[');
    for (const struct path_part *p = path; p != NULL && out->size - start < SLICE_SHOWN_MAX;
         p = p->next) {
        buffer_append_text(out, comma);
        comma = ", ";
        if (p->indexed)
            buffer_append_format(out, "[%u]", p->index);
        else
            buffer_append(out, p->name.data, (size_t)slice_shown_size(p->name));
    }
    buffer_append_u8(out, ']');
}

static void wording_same(struct buffer *out, const struct expression_fault *why)
{
    buffer_append_format(out,
                         "The first operand must be distinct from the remaining operands for this "
                         "operator or function; operator: %.*s, first operand: ",
                         SHOWN(why->text));
    wording_path(out, why->path);
}

static void wording_two_paths(struct buffer *out, const struct expression_fault *why)
{
    buffer_append_format(out,
                         "Two document paths %s with each other; must remove or rewrite one of "
                         "these paths; path one: ",
                         why->error == EXPRESSION_PATHS_OVERLAP ? "overlap" : "conflict");
    wording_path(out, why->path);
    buffer_append_text(out, ", path two: ");
    wording_path(out, why->other);
}

static void wording_action_type(struct buffer *out, const struct expression_fault *why)
{
    static const char *const NAMES[] = {
        [ATTR_STRING] = "STRING",
        [ATTR_NUMBER] = "NUMBER",
        [ATTR_BINARY] = "BINARY",
        [ATTR_BOOL] = "BOOLEAN",
        [ATTR_NULL] = "NULL",
        [ATTR_STRING_SET] = "STRING_SET",
        [ATTR_NUMBER_SET] = "NUMBER_SET",
        [ATTR_BINARY_SET] = "BINARY_SET",
        [ATTR_LIST] = "LIST",
        [ATTR_MAP] = "MAP",
    };
    must(why->type < COUNT_OF(NAMES));
    must(NAMES[why->type] != NULL);
    buffer_append_format(out,
                         "Incorrect operand type for operator or function; operator: %.*s, operand "
                         "type: %s, typeSet: ALLOWED_FOR_%.*s_OPERAND",
                         SHOWN(why->text), NAMES[why->type], SHOWN(why->text));
}

/* For the faults that are in none of the tables above. */
static void wording_append(struct buffer *out, const struct expression_fault *why)
{
    switch (why->error) {
    case EXPRESSION_SYNTAX:
        buffer_append_format(out, "Syntax error; token: \"%.*s\", near: \"%.*s\"",
                             SHOWN(why->text.size == 0 ? slice_of("<EOF>") : why->text),
                             SHOWN(why->near));
        break;
    case EXPRESSION_LIST_INDEX:
        buffer_append_format(out, "List index is not within the allowable range; index: [%.*s]",
                             SHOWN(why->text));
        break;
    case EXPRESSION_SECTION_TWICE:
        buffer_append_format(out,
                             "The \"%.*s\" section can only be used once in an update expression;",
                             SHOWN(why->text));
        break;
    case EXPRESSION_PATHS_OVERLAP:
    case EXPRESSION_PATHS_CONFLICT:
        wording_two_paths(out, why);
        break;
    case EXPRESSION_ACTION_TYPE:
        wording_action_type(out, why);
        break;
    case EXPRESSION_SAME_OPERANDS:
        wording_same(out, why);
        break;
    case EXPRESSION_BETWEEN_TYPES:
    case EXPRESSION_BETWEEN_ORDER:
        wording_between(out, why);
        break;
    case EXPRESSION_OPERAND_COUNT:
        buffer_append_format(out,
                             "Incorrect number of operands for operator or function; operator or "
                             "function: %.*s, number of operands: %zu",
                             SHOWN(why->text), why->count);
        break;
    case EXPRESSION_OPERAND_TYPE:
        buffer_append_format(
            out,
            "Incorrect operand type for operator or function; operator or function: %.*s, operand "
            "type: %s",
            SHOWN(why->text),
            why->type == 0 ? "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}" : attr_type_name(why->type));
        break;
    default:
        buffer_append_text(out, "Invalid attribute type name found; type: ");
        buffer_append(out, why->text.data, (size_t)slice_shown_size(why->text));
        buffer_append_text(out, ", valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}");
    }
}

void expression_fault_append(struct buffer *out, const struct expression_fault *why)
{
    must(why->error != EXPRESSION_OK);
    must(why->error < EXPRESSION_KEY_OPERATOR);
    if (why->error < COUNT_OF(COUNTED) && COUNTED[why->error] != NULL) {
        buffer_append_format(out, "%s%zu", COUNTED[why->error], why->count);
    } else if (why->error < COUNT_OF(TEXTS) && TEXTS[why->error] != NULL) {
        buffer_append_text(out, TEXTS[why->error]);
        buffer_append(out, why->text.data, (size_t)slice_shown_size(why->text));
    } else {
        wording_append(out, why);
    }
}
