#include "router/request_id.h"

#include <string.h>

void request_id_make(struct prng *prng, char out[REQUEST_ID_SIZE])
{
    static const char DIGITS[] = "0123456789ABCDEFGHIJKLMNOPQRSTUV";
    static const char END[] = "VV4KQNSO5AEMVJF66Q9ASUAAJG"; /* all of the service's end so */
    uint64_t bits = 0;
    for (int i = 0; i < REQUEST_ID_SIZE - (int)(sizeof END - 1); i++) {
        if (i % 12 == 0)
            bits = prng_next(prng);
        out[i] = DIGITS[bits & 31];
        bits >>= 5;
    }
    memcpy(out + REQUEST_ID_SIZE - (sizeof END - 1), END, sizeof END - 1);
}
