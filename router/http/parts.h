/* parts.h - a large body in parts: it grows without being copied. */
#pragma once

#include "base/buffer.h"

struct parts {
    struct buffer *at; /* owns; none is empty */
    uint32_t count;
    size_t size; /* of all parts */
};

/* Takes the bytes over: `bytes` is empty afterwards. */
void parts_add(struct parts *p, struct buffer *bytes);
void parts_deinit(struct parts *p);
