/* limiter_reply.c - bytes of a server into the rate limiter's client.
 *
 * Whatever comes: fed in two pieces or as one, an answer has the same end, status and body; a body
 * that is an answer of the limiter has texts inside the body. Seeds:
 * tests/fuzz/seeds/limiter_reply. */
#include <stdlib.h>

#include "base/must.h"
#include "client/http_reply.h"
#include "client/limiter_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const struct buffer *body, const char *text)
{
    const char *first = (const char *)body->data;
    if (text == NULL || *text == '\0')
        return;
    must(text >= first);
    must(text + strlen(text) <= first + body->size);
}

static void check_answer(struct buffer *body)
{
    struct limiter_answer *answer = must_calloc(1, sizeof *answer);
    if (limiter_answer_read((char *)body->data, body->size, answer)) {
        check_text(body, answer->lease);
        check_text(body, answer->code);
        check_text(body, answer->message);
        check_text(body, answer->answer.limit);
        check_text(body, answer->answer.reason);
        for (uint32_t i = 0; i < answer->answer.balance_count; i++) {
            check_text(body, answer->balances[i].entity);
            check_text(body, answer->balances[i].name);
        }
    }
    free(answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const size_t cut = data[0] < size ? data[0] : size;
    struct http_reply whole = {0}, pieces = {0};
    const enum http_reply_state state = http_reply_feed(&whole, slice_make(data + 1, size - 1));
    enum http_reply_state then = HTTP_REPLY_MORE;
    if (cut > 1)
        then = http_reply_feed(&pieces, slice_make(data + 1, cut - 1));
    if (then == HTTP_REPLY_MORE && cut > 0 && cut < size)
        then = http_reply_feed(&pieces, slice_make(data + cut, size - cut));
    if (state == HTTP_REPLY_WHOLE && then == HTTP_REPLY_WHOLE) {
        must(whole.status == pieces.status);
        must(slice_equal(buffer_slice(&whole.body), buffer_slice(&pieces.body)));
    }
    if (state == HTTP_REPLY_WHOLE)
        check_answer(&whole.body);
    http_reply_deinit(&whole);
    http_reply_deinit(&pieces);
    return 0;
}
