/* update_program.c - turns an update into bytes, checks bytes from outside, tells faults. */
#include "engine/expression/update_program.h"

#include "engine/expression/program_part.h"

/* ---- encoding ---- */

static void encode_operand(struct buffer *out, const struct update_value *v)
{
    for (; v->kind == UPDATE_IF_NOT_EXISTS; v = v->right) {
        must(v->right != NULL);
        buffer_append_u8(out, UPDATE_OP_IF_NOT_EXISTS);
        program_append_path(out, v->path);
    }
    if (v->kind == UPDATE_PATH) {
        buffer_append_u8(out, UPDATE_OP_PATH);
        program_append_path(out, v->path);
        return;
    }
    must(v->kind == UPDATE_VALUE);
    buffer_append_u8(out, UPDATE_OP_VALUE);
    program_append_value(out, &v->value);
}

static void encode_value(struct buffer *out, const struct update_value *v)
{
    static const uint8_t OPS[] = {[UPDATE_PLUS] = UPDATE_OP_PLUS,
                                  [UPDATE_MINUS] = UPDATE_OP_MINUS,
                                  [UPDATE_LIST_APPEND] = UPDATE_OP_APPEND};
    if (v->kind >= COUNT_OF(OPS) || OPS[v->kind] == 0) {
        encode_operand(out, v);
        return;
    }
    buffer_append_u8(out, OPS[v->kind]);
    encode_operand(out, v->left);
    encode_operand(out, v->right);
}

static size_t update_value_size(const struct update_value *v)
{
    return v == NULL
               ? 0
               : v->value.body.size + update_value_size(v->left) + update_value_size(v->right);
}

bool update_program_encode(struct buffer *out, const struct update *update)
{
    size_t size = 0;
    uint32_t count = 0;
    const size_t start = out->size;
    for (const struct update_action *a = update->actions; a != NULL; a = a->next)
        size += update_value_size(a->value);
    if (size > EXPRESSION_VALUES_SIZE_MAX)
        return false;
    program_append_u16(out, update->count);
    for (const struct update_action *a = update->actions; a != NULL; a = a->next, count++) {
        must(a->verb >= UPDATE_SET);
        must(a->verb <= UPDATE_DELETE);
        must(a->verb == UPDATE_REMOVE || a->value != NULL);
        buffer_append_u8(out, (uint8_t)a->verb);
        program_append_path(out, a->path);
        if (a->verb == UPDATE_SET)
            encode_value(out, a->value);
        else if (a->verb != UPDATE_REMOVE)
            program_append_value(out, &a->value->value);
    }
    must(count == update->count);
    must_in_tests(update_program_check(slice_make(out->data + start, out->size - start)) ==
                  STATUS_OK);
    return true;
}

/* ---- checking ---- */

static bool check_operand(struct reader *r, uint8_t kind)
{
    for (; kind == UPDATE_OP_IF_NOT_EXISTS; kind = reader_u8(r)) {
        if (!program_check_path(r))
            return false;
    }
    return kind == UPDATE_OP_PATH ? program_check_path(r)
                                  : kind == UPDATE_OP_VALUE && program_check_value(r);
}

static bool check_value(struct reader *r)
{
    const uint8_t op = reader_u8(r);
    if (op < UPDATE_OP_PLUS || op > UPDATE_OP_APPEND)
        return check_operand(r, op);
    return check_operand(r, reader_u8(r)) && check_operand(r, reader_u8(r));
}

static bool check_action(struct reader *r)
{
    const enum update_verb verb = reader_u8(r);
    if (verb < UPDATE_SET || verb > UPDATE_DELETE || !program_check_path(r))
        return false;
    if (verb == UPDATE_REMOVE)
        return true;
    if (verb == UPDATE_SET)
        return check_value(r);
    const enum attr_type type = r->left.size > 0 ? r->left.data[0] : 0;
    return program_check_value(r) &&
           (attr_set_element(type) != 0 ||
            (verb == UPDATE_ADD && (type == ATTR_NUMBER || type == ATTR_LIST)));
}

enum status update_program_check(struct slice program)
{
    struct reader r = {program, false};
    if (program.size == 0)
        return STATUS_OK;
    const uint32_t count = program_read_u16(&r);
    bool sound = !r.failed;
    for (uint32_t i = 0; i < count && sound; i++)
        sound = check_action(&r);
    return sound && !r.failed && r.left.size == 0 ? STATUS_OK : STATUS_MALFORMED;
}

/* ---- texts ---- */

const char *update_fault_text(enum update_fault fault)
{
    static const char *const TEXTS[UPDATE_FAULTS] = {
        [UPDATE_NO_ATTRIBUTE] = "The provided expression refers to an attribute that does not "
                                "exist in the item",
        [UPDATE_OPERAND_TYPE] = "An operand in the update expression has an incorrect data type",
        [UPDATE_PATH_INVALID] = "The document path provided in the update expression is invalid "
                                "for update",
        [UPDATE_INDEX_KEY_TYPE] =
            "The update expression attempted to update the secondary index key "
            "to unsupported type",
        [UPDATE_INDEX_KEY_EMPTY] =
            "One or more parameter values are not valid. The update expression attempted to update "
            "a secondary index key to a value that is not supported. The AttributeValue for a key "
            "attribute cannot contain an empty string value.",
        [UPDATE_INDEX_KEY_SIZE] =
            "One or more parameter values were invalid: Aggregated size of all "
            "range keys has exceeded the size limit of 1024 bytes",
        [UPDATE_TOO_LARGE] = "Item size to update has exceeded the maximum allowed size",
        [UPDATE_TOO_DEEP] = "Nesting Levels have exceeded supported limits: Attributes in the item "
                            "have nested levels beyond supported limit",
        [UPDATE_NUMBER_RANGE] = "Number overflow. Attempting to store a number with magnitude "
                                "larger than supported range",
        [UPDATE_NUMBER_SMALL] = "Number underflow. Attempting to store a number with magnitude "
                                "smaller than supported range",
        [UPDATE_TOO_COSTLY] =
            "The expressions need too many steps on an item of this size: use fewer "
            "comparisons and paths, or sets, lists and maps with fewer elements",
    };
    must(fault > UPDATE_OK && fault < UPDATE_FAULTS);
    return TEXTS[fault];
}
