/* program_part.c - the parts that programs of conditions and of updates share: paths and values. */
#include "engine/expression/program_part.h"

void program_append_u16(struct buffer *out, uint32_t value)
{
    must(value <= UINT16_MAX);
    buffer_append_u8(out, (uint8_t)value);
    buffer_append_u8(out, (uint8_t)(value >> 8));
}

void program_append_path(struct buffer *out, const struct path_part *path)
{
    uint32_t count = 0;
    for (const struct path_part *p = path; p != NULL; p = p->next)
        count++;
    must(count > 0);
    must(!path->indexed);
    program_append_u16(out, count);
    for (const struct path_part *p = path; p != NULL; p = p->next) {
        buffer_append_u8(out, p->indexed ? PROGRAM_INDEX : PROGRAM_NAME);
        if (p->indexed)
            buffer_append_u32(out, p->index);
        else
            buffer_append_sized(out, p->name);
    }
}

void program_append_value(struct buffer *out, const struct attr *value)
{
    must(value->type != 0);
    must(value->body.size <= UINT32_MAX);
    buffer_append_u8(out, (uint8_t)value->type);
    buffer_append_sized(out, value->body);
}

/* The names of updates go into items, so all names obey the limit of items. */
bool program_check_path(struct reader *r)
{
    const uint32_t count = program_read_u16(r);
    for (uint32_t i = 0; i < count && !r->failed; i++) {
        const uint8_t part = reader_u8(r);
        if (part == PROGRAM_NAME) {
            if (reader_sized(r).size > ATTRIBUTE_NAME_SIZE_MAX)
                return false;
        } else if (part == PROGRAM_INDEX && i > 0) {
            reader_u32(r);
        } else {
            return false;
        }
    }
    return count > 0 && !r->failed;
}

bool program_check_value(struct reader *r)
{
    const struct attr value = program_read_value(r);
    return !r->failed && attr_is_sound(&value);
}

struct attr program_read_value(struct reader *r)
{
    const enum attr_type type = reader_u8(r);
    return (struct attr){type, reader_sized(r)};
}

bool program_read_step(struct reader *r, struct path_part *out)
{
    *out = (struct path_part){.indexed = reader_u8(r) == PROGRAM_INDEX};
    if (out->indexed)
        out->index = reader_u32(r);
    else
        out->name = reader_sized(r);
    return !r->failed;
}

static bool program_seek(struct attr_cursor c, const struct path_part *step, struct attr *out,
                         struct steps *steps)
{
    struct slice name;
    uint32_t passed = 0;
    bool found = false;
    while (!found && attr_next(&c, &name, out)) {
        found = step->indexed ? passed == step->index : slice_equal(name, step->name);
        passed++;
    }
    steps_take(steps, passed + 1);
    return found;
}

/* Takes one step from a list or map. False: the step leads to nothing. */
static bool program_take_step(const struct attr *from, const struct path_part *step,
                              struct attr *out, struct steps *steps)
{
    if (from->type != (step->indexed ? ATTR_LIST : ATTR_MAP))
        return false;
    return program_seek(attr_elements(from), step, out, steps);
}

bool program_find_path(struct reader *r, struct slice item, struct attr *out, struct steps *steps)
{
    const uint32_t count = program_read_u16(r);
    must(count > 0);
    bool there = item.size > 0;
    for (uint32_t i = 0; i < count; i++) {
        struct path_part step;
        program_read_step(r, &step);
        const struct attr at = *out;
        if (there && i == 0)
            there = program_seek(item_attrs(item), &step, out, steps);
        else if (there)
            there = program_take_step(&at, &step, out, steps);
    }
    return there;
}
