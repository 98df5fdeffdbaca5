/* square_root.h - square roots of whole numbers, the same on every machine. */
#pragma once

#include <stdint.h>

/* The greatest number whose square is not above `value`. */
static inline uint64_t square_root(unsigned __int128 value)
{
    uint64_t root = 0, high = (uint64_t)(value >> 64), low = (uint64_t)value;
    int bits = high != 0 ? 128 - __builtin_clzll(high) : low != 0 ? 64 - __builtin_clzll(low) : 0;
    for (int bit = (bits + 1) / 2 - 1; bit >= 0; bit--) {
        uint64_t more = root | UINT64_C(1) << bit;
        if ((unsigned __int128)more * more <= value)
            root = more;
    }
    return root;
}
