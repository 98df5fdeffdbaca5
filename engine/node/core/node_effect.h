/* node_effect.h - the options of a node, and its effects. */
#pragma once

#include "engine/message/message.h"
#include "engine/node/core/node_trace.h"

struct config;

struct node_options {
    const struct config *config; /* borrows */
    uint32_t id;                 /* 1 .. node_count */
    uint32_t node_count;
    uint64_t seed;
};

/* What store_touch takes. The key lends until node_touched. */
struct touch {
    uint32_t ticket;
    bool reverse;
    struct slice key;
    uint64_t bytes;
};

/* Everything but the key of a touch lends until the next event. */
struct node_effect {
    enum node_effect_kind kind;
    uint64_t to; /* REPLY: the `from` of the request; REQUEST: the node */
    union {
        struct reply reply;     /* REPLY */
        struct request request; /* REQUEST */
        struct slice frame;     /* SEND: the frame from MESSAGE_PEER on, without its length */
        uint64_t lsn;           /* TRIM_LOG */
        struct touch touch;
    };
};
