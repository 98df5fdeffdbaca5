/* tags.h - the tags of a table, and changes of them, as bytes.
 *
 * A list of tags is a run of entries in ascending order of their keys, each key once:
 *
 *     u32 size, key | u8 set | u32 size, value
 *
 * In a table every entry is set. In a change an entry that is not set removes the tag of that key;
 * its value is empty. */
#pragma once

#include "base/buffer.h"

enum {
    TAGS_MAX = 50,                /* of a table, and in a change */
    TAG_KEY_CHARACTERS_MAX = 128, /* of UTF-8: up to 4 bytes each */
    TAG_VALUE_CHARACTERS_MAX = 256,
    TAG_KEY_SIZE_MAX = 4 * TAG_KEY_CHARACTERS_MAX,
    TAG_VALUE_SIZE_MAX = 4 * TAG_VALUE_CHARACTERS_MAX,
};

struct tag {
    struct slice key;
    struct slice value;
    bool set;
};

void tag_append(struct buffer *out, const struct tag *tag);
/* Takes the next entry off the list. False: the list is at its end. The list must have passed
 * tags_valid. */
bool tags_next(struct slice *list, struct tag *out);

/* Whether the bytes are such a list. `change`: entries may remove tags. */
bool tags_valid(struct slice list, bool change);

/* Appends `tags` with the change made. Returns the number of tags. Both lists must be valid. */
uint32_t tags_merge(struct buffer *out, struct slice tags, struct slice change);
