/* tags.c - the tags of a table, and changes of them, as bytes. */
#include "engine/catalog/tags.h"

void tag_append(struct buffer *out, const struct tag *tag)
{
    buffer_append_sized(out, tag->key);
    buffer_append_u8(out, tag->set);
    buffer_append_sized(out, tag->value);
}

static struct tag tag_read(struct reader *r)
{
    struct tag tag;
    tag.key = reader_sized(r);
    uint8_t set = reader_u8(r);
    tag.set = set == 1;
    tag.value = reader_sized(r);
    if (set > 1)
        r->failed = true;
    return tag;
}

bool tags_next(struct slice *list, struct tag *out)
{
    if (list->size == 0)
        return false;
    struct reader r = {*list, false};
    *out = tag_read(&r);
    must(!r.failed);
    *list = r.left;
    return true;
}

static bool tag_valid(const struct tag *tag)
{
    return tag->key.size > 0 && tag->key.size <= TAG_KEY_SIZE_MAX && slice_is_utf8(tag->key) &&
           tag->value.size <= TAG_VALUE_SIZE_MAX && slice_is_utf8(tag->value) &&
           (tag->set || tag->value.size == 0);
}

bool tags_valid(struct slice list, bool change)
{
    struct reader r = {list, false};
    struct slice before = {NULL, 0};
    for (uint32_t count = 0; r.left.size > 0; count++) {
        struct tag tag = tag_read(&r);
        if (r.failed || count == TAGS_MAX || !tag_valid(&tag) || !(tag.set || change) ||
            slice_compare(before, tag.key) >= 0)
            return false;
        before = tag.key;
    }
    return true;
}

uint32_t tags_merge(struct buffer *out, struct slice tags, struct slice change)
{
    struct tag ours, theirs;
    uint32_t count = 0;
    bool has_ours = tags_next(&tags, &ours), has_theirs = tags_next(&change, &theirs);
    while (has_ours || has_theirs) {
        int order = !has_ours ? 1 : !has_theirs ? -1 : slice_compare(ours.key, theirs.key);
        const struct tag *next = order < 0 ? &ours : &theirs;
        if (next->set) {
            tag_append(out, next);
            count++;
        }
        if (order <= 0)
            has_ours = tags_next(&tags, &ours);
        if (order >= 0)
            has_theirs = tags_next(&change, &theirs);
    }
    return count;
}
