/* Frames of a stranger to both sides of a greeting: nobody is let in, nothing breaks.
 * Input: u8 which side and which options, then frames, each after a u8 with its size. A frame whose
 * size is 0 stands for what an honest process that has another secret would say. */
#include "host/greeting.h"
#include "base/must.h"
#include "server/host/mac.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t nonce[GREETING_NONCE_SIZE] = {1, 2, 3}, other[GREETING_NONCE_SIZE] = {4};
    struct reader r = {slice_make(data, size), false};
    uint8_t how = reader_u8(&r);
    struct greeting_self self = {.kind = PEER_NODE,
                                 .id = 7,
                                 .cluster = slice_of("orchard"),
                                 .secret = slice_of("the secret"),
                                 .accepts = 0xff,
                                 .mac = mac_sha256};
    struct greeting_self stranger = self;
    stranger.secret = slice_of("another");
    const struct greeting_expected expected = {PEER_NODE, 7};
    struct greeting g, s;
    struct buffer out = {0}, error = {0}, reply = {0};
    greeting_init(&g, &self, how & 1 ? &expected : NULL, nonce);
    greeting_init(&s, &stranger, how & 1 ? NULL : &expected, other);
    greeting_hello(how & 1 ? &g : &s, how & 1 ? &out : &reply);
    while (r.left.size > 0 && !r.failed && g.state < GREETING_DONE) {
        size_t length = reader_u8(&r);
        struct slice frame = reader_take(&r, length < r.left.size ? length : r.left.size);
        if (length == 0) {
            if (reply.size == 0 && out.size > 0 && s.state < GREETING_DONE)
                greeting_take(&s, buffer_slice(&out), &reply, &error);
            frame = buffer_slice(&reply);
        }
        buffer_clear(&out);
        buffer_clear(&error);
        must(greeting_take(&g, frame, &out, &error) != GREETING_DONE);
        must(out.size <= GREETING_FRAME_MAX);
        must((g.state == GREETING_REFUSED) == (error.size > 0));
        if (length == 0)
            buffer_clear(&reply);
    }
    buffer_deinit(&out);
    buffer_deinit(&error);
    buffer_deinit(&reply);
    return 0;
}
