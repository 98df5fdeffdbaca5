#include "lab/run/csv.h"

void csv_append_text(struct buffer *out, struct slice text)
{
    buffer_append_u8(out, '"');
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '"')
            buffer_append_u8(out, '"');
        buffer_append_u8(out, text.data[i]);
    }
    buffer_append_u8(out, '"');
}
