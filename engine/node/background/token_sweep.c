/* token_sweep.c - finds clients' tokens that nobody needs any more. */
#include "engine/node/background/token_sweep.h"

#include "base/settings/transactions.h"
#include "engine/node/core/owned_keys.h"
#include "engine/node/core/pending_requests.h"
#include "engine/transaction/transaction.h"

enum {
    EXPIRED_BYTES_MAX = 64 * 1024
};

bool token_sweep_is_needed(const struct partition *p)
{
    return p->token_sweep.on && !p->no_state && p->token_sweep.expired.size < EXPIRED_BYTES_MAX;
}

struct slice token_sweep_from(const struct partition *p)
{
    return buffer_slice(&p->token_sweep.to);
}

bool token_is_over(const struct node_env *env, int64_t committed_ms)
{
    return committed_ms + config_transactions(env->config)->transaction_token_ms <=
           env_agreed_ms(env);
}

bool token_row_is_over(const struct node_env *env, struct slice value)
{
    struct transaction_token t;
    struct reader r = {value, false};
    transaction_token_walk(&(struct codec){.in = &r}, &t);
    return !r.failed && t.state == TRANSACTION_COMMITTED && token_is_over(env, t.wall_ms);
}

void token_sweep_slice(struct node_env *env, struct partition *p)
{
    struct store_cursor c;
    struct slice key, value;
    enum status status = STATUS_NOT_FOUND;
    size_t bytes = 0;
    store_seek(env->store, buffer_slice(&p->token_sweep.to),
               key_in_space(p->info.hi, SPACE_TOKEN_KEYS, &env->lent), false, &c);
    for (int i = 0;; i++) {
        status = store_next(&c, &key, &value);
        if (status != STATUS_OK || i == SCAN_ITEMS || bytes >= SCAN_BYTES)
            break;
        bytes += key.size + value.size;
        if (token_row_is_over(env, value))
            buffer_append_sized(&p->token_sweep.expired, key);
    }
    if (status == STATUS_OK)
        buffer_set(&p->token_sweep.to, key);
    else
        p->token_sweep.on =
            false; /* to the end; or a read has failed: the next sweep goes there again */
}
