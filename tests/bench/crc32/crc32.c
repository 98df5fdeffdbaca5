/* CRC-32 of bodies as answers have them: zlib beside libdeflate. docs/decisions/0013 has the
 * command.
 */
#include <libdeflate.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <zlib.h>

enum {
    ROUNDS = 5,
    CALLS = 1000000,
    STARTS = 64 /* bodies start at any address */
};

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static uint32_t by_zlib(const uint8_t *data, size_t size)
{
    return (uint32_t)crc32_z(0, data, size);
}

static uint32_t by_libdeflate(const uint8_t *data, size_t size)
{
    return libdeflate_crc32(0, data, size);
}

/* Nanoseconds per body, the best of the rounds. */
static double best_of(uint32_t (*crc32_of)(const uint8_t *, size_t), size_t size, uint32_t *sum)
{
    static uint8_t bytes[4096];
    int64_t best = INT64_MAX;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7 + 1);
    for (int round = 0; round < ROUNDS; round++) {
        int64_t start = now_ns();
        for (int i = 0; i < CALLS; i++)
            *sum += crc32_of(bytes + i % STARTS, size);
        int64_t took = now_ns() - start;
        best = took < best ? took : best;
    }
    return (double)best / CALLS;
}

int main(void)
{
    static const size_t sizes[] = {2, 60, 100, 300, 1000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint32_t a = 0, b = 0;
        double zlib = best_of(by_zlib, sizes[i], &a),
               deflate = best_of(by_libdeflate, sizes[i], &b);
        printf("| %zu | %.0f | %.0f |\n", sizes[i], zlib, deflate);
        if (a != b)
            return 1;
    }
    return 0;
}
