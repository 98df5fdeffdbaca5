/* request_id.h - x-amzn-RequestId: 52 characters as the service sends, with 130 random bits. */
#pragma once

#include "base/prng.h"

enum {
    REQUEST_ID_SIZE = 52
};

/* Writes REQUEST_ID_SIZE characters, without a NUL. */
void request_id_make(struct prng *prng, char out[REQUEST_ID_SIZE]);
