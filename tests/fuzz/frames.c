/* Tampered frames to nodes with replicas (tests/support/frame_cluster.h), of every kind and role.
 * Input: steps of 8 bytes: u8 role and node, u8 which recorded frame, u16 place, u8 how, u8 ms,
 * u16 value. frames_property.c does the same from random numbers, by far faster. */
#include "base/must.h"
#include "tests/support/frame_cluster.h"

enum {
    STEPS_MAX = 64
};

/* `how` lowest: the value's bytes as they are, shifted to great numbers, a cut, or nothing. */
static void change(struct buffer *frame, size_t place, uint8_t how, uint16_t value)
{
    uint64_t number = how & 0x80 ? ~(uint64_t)value : (uint64_t)value << (how >> 3 & 0x3f) % 57;
    size_t at = frame->size > 0 ? place % frame->size : 0, size = (size_t)1 << (how & 3);
    if ((how & 4) != 0 && (how & 3) == 3)
        frame->size = at + 1;
    else if ((how & 4) == 0 && at + size <= frame->size)
        memcpy(frame->data + at, &number, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum peer_kind kinds[] = {PEER_NODE, PEER_ROUTER, PEER_NODE, PEER_TOOL};
    struct reader r = {slice_make(data, size), false};
    struct frame_cluster *w = frame_cluster_create();
    struct buffer frame = {0};
    bool by_nodes = false;
    for (int step = 0; step < STEPS_MAX && r.left.size >= 8; step++) {
        uint8_t who = reader_u8(&r), which = reader_u8(&r);
        size_t place = reader_u8(&r) | (size_t)reader_u8(&r) << 8;
        uint8_t how = reader_u8(&r), ms = reader_u8(&r);
        uint16_t value = (uint16_t)(reader_u8(&r) | reader_u8(&r) << 8);
        enum peer_kind kind = kinds[who & 3];
        by_nodes |= kind == PEER_NODE;
        if ((how & 0x40) == 0 ||
            frame.size == 0) { /* otherwise the last one is changed once more */
            buffer_clear(&frame);
            buffer_append_slice(&frame, frame_cluster_frame(w, which % frame_cluster_recorded(w)));
        }
        change(&frame, place, how, value);
        if (frame.size > 0)
            frame_cluster_inject(w, kind, 1 + (who >> 2) % FRAME_CLUSTER_NODES,
                                 1 + (who >> 4) % FRAME_CLUSTER_NODES, buffer_slice(&frame));
        if (ms > 127)
            frame_cluster_pass(w, ms % 16 * 10);
    }
    frame_cluster_pass(w, 300);
    frame_cluster_restart(w);
    if (by_nodes)
        frame_cluster_pass(w, 1000);
    else
        must(frame_cluster_is_available(w));
    frame_cluster_destroy(w);
    buffer_deinit(&frame);
    return 0;
}
