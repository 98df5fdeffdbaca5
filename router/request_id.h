/* request_id.h - x-amzn-RequestId: 52 characters as the service sends, with 130 random bits. */
#ifndef WEIR_ROUTER_REQUEST_ID_H
#define WEIR_ROUTER_REQUEST_ID_H

#include "base/prng.h"

enum {
    REQUEST_ID_SIZE = 52
};

/* Writes REQUEST_ID_SIZE characters, without a NUL. */
void request_id_make(struct prng *prng, char out[REQUEST_ID_SIZE]);

#endif
