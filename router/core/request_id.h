/* request_id.h - x-amzn-RequestId: an id looks random, and tells which router answered and when.
 *
 *   TA7TTFE2BIFUHAH175T0GTEU6V VV4KQNSO5AEMVJF66Q9ASUAAJG
 *   |            |             |
 *   |            |             the end of every id of the service, 26 characters
 *   |            version (2 bits), router (12), milliseconds since 2020 (42), count (9),
 *   |            XORed with a mix of the random bits, 13 characters
 *   random bits (65), 13 characters
 *
 * A character is a digit of base 32: 0 to 9, A to V. The digit with the lowest bits comes first.
 * Promise: ids of one router are different: up to 512 of one millisecond by their count, more by
 * their random bits. */
#pragma once

#include "base/prng.h"
#include "router/http/http.h"

enum {
    REQUEST_ID_VERSION = 1,
    REQUEST_ID_ROUTER_MAX = 4095,
};

struct request_id_parts {
    uint32_t version;
    uint32_t router;
    int64_t wall_ms; /* since 1970, of the router's clock */
    uint32_t count;
};

/* Writes HTTP_REQUEST_ID_SIZE characters. The version in `parts` is not used, and what does not fit
 * is cut. Returns request_id_number. */
uint64_t request_id_write(struct prng *prng, const struct request_id_parts *parts,
                          char out[HTTP_REQUEST_ID_SIZE]);

/* False: the text is no id. Its parts may be impossible: the id may be another service's. */
bool request_id_read(struct slice text, struct request_id_parts *out);

/* The first id in a text: a URL, or the message of an exception. size 0: there is none. */
struct slice request_id_find(struct slice text);

/* 64 of the id's random bits, to find it by. `id` is one. */
uint64_t request_id_number(struct slice id);
