/* mac.h - HMAC-SHA256, by OpenSSL: RFC 2104, RFC 4231. A greeting_mac (host/greeting.h). */
#pragma once

#include "host/greeting.h"

void mac_sha256(struct slice secret, struct slice bytes, uint8_t out[GREETING_MAC_SIZE]);
