/* stream_messages.h - requests for records of streams: in the rooms of struct request
 * and struct reply. */
#pragma once

#include "engine/message/message.h"

/* RECORDS */
struct request_records {
    struct slice key; /* a key of the partition */
    uint32_t stream;
    uint64_t epoch; /* of the shard */
    uint64_t index; /* the first record that is wanted: engine/stream/stream.h; 0: the
                       oldest that is there */
    uint32_t place;
    uint32_t items_max;
    uint32_t bytes_max; /* stop after the record that reaches so many bytes */
    bool latest;        /* none is wanted, but where the next one will be */
};
MESSAGE_FAMILY(request, records)

/* RECORDS */
struct reply_records {
    struct slice records; /* each u32 size: u64 index, u32 place, struct stream_record */
    uint64_t index;       /* where to go on */
    uint32_t place;
    bool closed;  /* nothing will follow */
    bool trimmed; /* the first one that is wanted is gone: there are none */
};
MESSAGE_FAMILY(reply, records)
