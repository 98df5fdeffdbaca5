/* index_messages.h - requests for rows of global indexes: in the rooms of struct request
 * and struct reply. */
#pragma once

#include "engine/message/message.h"

/* INDEX_SESSION */
struct request_session {
    struct slice lo; /* the base partition's range */
    struct slice hi;
};
MESSAGE_FAMILY(request, session)

/* INDEX_FILL: the answer is a range without items */
struct request_fill {
    struct slice from; /* the least storage key to begin with */
    uint32_t index;    /* the table of the index */
};
MESSAGE_FAMILY(request, fill)

/* INDEX_SHOWS */
struct request_shows {
    struct slice key; /* where the partition begins */
    uint64_t after;   /* AFTER_ALL: transactions that are decided, and what is applied then */
};
MESSAGE_FAMILY(request, shows)

/* INDEX_SESSION */
struct reply_session {
    uint64_t id;
};
MESSAGE_FAMILY(reply, session)
