/* Any bytes as a history: each line is taken or refused with its number, and what was taken can be
 * checked. */
#include <stdlib.h>

#include "base/must.h"
#include "workload/history.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    OPS_MAX = 64 /* of a key: this looks for crashes, not for long searches */
};

static void check_keys(struct history *h)
{
    struct buffer text = {0};
    for (uint32_t key = 0; key < h->key_count; key++) {
        const struct history_key *k = &h->keys[key];
        struct history_op ops[OPS_MAX];
        struct history_verdict v;
        if (k->count > OPS_MAX)
            continue;
        history_check_key(h, key, ops, &v);
        must(!v.exhausted || !v.linearizable);
        const struct history_entry *e = history_false_read(h, key);
        must(e == NULL || e->eventual);
        for (size_t i = k->first; i < k->first + k->count; i++) {
            must(h->entries[i].key == key);
            history_describe(&h->entries[i], &text);
        }
    }
    buffer_deinit(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct history h;
    struct buffer text = {0}, error = {0};
    history_init(&h);
    buffer_append(&text, data, size);
    buffer_reserve(&text, HISTORY_LINE_PADDING);
    for (size_t at = 0; at < size;) {
        const uint8_t *end = memchr(text.data + at, '\n', size - at);
        size_t length = end ? (size_t)(end - text.data) - at : size - at;
        size_t before = h.count;
        buffer_clear(&error);
        if (history_add_line(&h, slice_make(text.data + at, length), &error) == STATUS_OK) {
            must(error.size == 0);
        } else {
            must(slice_starts_with(buffer_slice(&error), slice_of("line ")));
            must(h.count == before);
        }
        at += length + 1;
    }
    buffer_clear(&error);
    if (history_group(&h, &error) == STATUS_OK)
        check_keys(&h);
    else
        must(error.size > 0);
    history_deinit(&h);
    buffer_deinit(&text);
    buffer_deinit(&error);
    return 0;
}
