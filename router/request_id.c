/* request_id.c - makes random ids in the alphabet of the service. */
#include "router/request_id.h"

#include <string.h>

void request_id_make(struct prng *prng, char out[REQUEST_ID_SIZE])
{
    static const char DIGITS[] = "0123456789ABCDEFGHIJKLMNOPQRSTUV";
    static const char END[] = "VV4KQNSO5AEMVJF66Q9ASUAAJG"; /* ends every id of the service */
    const int drawn = REQUEST_ID_SIZE - (int)(sizeof END - 1), digits_each = 13;
    for (int i = 0; i < drawn; i += digits_each) {
        uint64_t bits = prng_next(prng);
        for (int k = i; k < i + digits_each; k++, bits >>= 5)
            out[k] = DIGITS[bits & 31];
    }
    memcpy(out + drawn, END, sizeof END - 1);
}
