/* limiter_command.c - commands of the rate limiter from another process, on items that a client has
 * written. What is done makes a whole item that reads as a bucket; what is refused makes none. The
 * input: u16 size of the command, the command, and the item's attributes. Seeds:
 * tests/fuzz/seeds/limiter_command. */
#include <stdlib.h>

#include "engine/limiter/bucket.h"
#include "tests/support/sealed_item.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void apply_check(const struct limiter_command *m, struct slice item, bool exists,
                        int64_t now_ms)
{
    struct buffer out = {0};
    struct limiter_bucket b;
    const enum limiter_refusal refusal = limiter_apply(m, item, exists, now_ms, &out);
    must(refusal < LIMITER_REFUSALS);
    if (refusal == LIMITER_DONE) {
        must(item_check(buffer_slice(&out)) == STATUS_OK);
        must(limiter_bucket_decode(buffer_slice(&out), &b));
        must(b.shard == m->shard);
    } else {
        must(out.size == 0);
    }
    buffer_deinit(&out);
}

static void command_check(struct slice command, struct slice attributes)
{
    static const int64_t times[] = {INT64_MIN, 0, INT64_C(1755500001000), INT64_MAX};
    struct codec c = {.in = &(struct reader){command, false}};
    struct limiter_command m = {0};
    struct buffer again = {0}, item = {0};
    limiter_command_walk(&c, &m);
    if (codec_end(&c) == STATUS_OK) {
        limiter_command_walk(&(struct codec){.out = &again}, &m);
        must(slice_equal(buffer_slice(&again), command));
        for (size_t i = 0; i < COUNT_OF(times); i++) {
            buffer_clear(&item);
            if (!sealed_item(attributes, &item) || item_check(buffer_slice(&item)) != STATUS_OK)
                break;
            apply_check(&m, buffer_slice(&item), true, times[i]);
            apply_check(&m, buffer_slice(&item), false, times[i]);
        }
    }
    buffer_deinit(&again);
    buffer_deinit(&item);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint16_t used;
    if (size < sizeof used)
        return 0;
    memcpy(&used, data, sizeof used);
    if (used > size - sizeof used)
        return 0;
    uint8_t *command = malloc(used + 1U); /* its own block: a read past the end is seen */
    must(command != NULL);
    memcpy(command, data + sizeof used, used);
    command_check(slice_make(command, used),
                  slice_make(data + sizeof used + used, size - sizeof used - used));
    free(command);
    return 0;
}
