/* printable.c - replaces what a terminal obeys. */
#include "base/printable.h"

/* UTF-8 from `first` to `last`, which differ in their last byte alone. */
static const struct {
    uint32_t size;
    uint8_t first[3];
    uint8_t last;
} OBEYED[] = {
    {1, {0x00}, 0x1F},             /* C0 */
    {1, {0x7F}, 0x7F},             /* delete */
    {2, {0xC2, 0x80}, 0x9F},       /* C1 */
    {2, {0xD8, 0x9C}, 0x9C},       /* U+061C, a mark of direction */
    {3, {0xE2, 0x80, 0x8E}, 0x8F}, /* U+200E, U+200F: marks of direction */
    {3, {0xE2, 0x80, 0xA8}, 0xAE}, /* separators; U+202A to U+202E: embeddings and overrides */
    {3, {0xE2, 0x81, 0xA6}, 0xA9}, /* U+2066 to U+2069: isolates */
};

/* The bytes of the character that the text begins with, if a terminal obeys it. 0: it does not. */
static uint32_t obeyed_size(struct slice text)
{
    for (size_t i = 0; i < COUNT_OF(OBEYED); i++) {
        const uint32_t end = OBEYED[i].size - 1;
        if (text.size > end && memcmp(text.data, OBEYED[i].first, end) == 0 &&
            text.data[end] >= OBEYED[i].first[end] && text.data[end] <= OBEYED[i].last)
            return OBEYED[i].size;
    }
    return 0;
}

void buffer_append_printable(struct buffer *out, struct slice text)
{
    for (size_t i = 0; i < text.size;) {
        const uint32_t obeyed = obeyed_size(slice_make(text.data + i, text.size - i));
        buffer_append_u8(out, obeyed > 0 ? '?' : text.data[i]);
        i += obeyed > 0 ? obeyed : 1;
    }
}
