/* mac.c - HMAC-SHA256. */
#include "server/host/mac.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

void mac_sha256(struct slice secret, struct slice bytes, uint8_t out[GREETING_MAC_SIZE])
{
    unsigned size = 0;
    must(HMAC(EVP_sha256(), secret.data, (int)secret.size, bytes.data, bytes.size, out, &size) !=
         NULL);
    must(size == GREETING_MAC_SIZE);
}
