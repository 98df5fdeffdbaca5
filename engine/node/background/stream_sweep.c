/* stream_sweep.c - finds records of streams that may go. */
#include "engine/node/background/stream_sweep.h"

#include "base/settings/streams.h"
#include "engine/node/core/owned_keys.h"
#include "engine/node/core/pending_requests.h"
#include "engine/node/core/stream_rows.h"

enum {
    EXPIRED_BYTES_MAX = 64 * 1024 /* of keys */
};

bool stream_sweep_is_needed(const struct partition *p)
{
    return p->stream.sweeping && !p->no_state;
}

struct slice stream_sweep_from(const struct partition *p)
{
    return buffer_slice(&p->stream.sweep_from);
}

void stream_sweep_slice(struct node_env *env, struct partition *p)
{
    struct store_cursor c;
    struct slice key, value;
    struct stream_record record;
    enum status status;
    int64_t excess = p->stream.rows.bytes - config_streams(env->config)->stream_max_bytes;
    const int64_t now_ms = env_agreed_ms(env);
    must(p->stream.trimming == 0 && p->stream.expired.size == 0); /* the last slice's are gone */
    p->stream.sweeping = p->stream.more = false;
    p->stream.oldest_ms = INT64_MAX;
    store_seek(env->store, buffer_slice(&p->stream.sweep_from),
               key_in_space(p->info.hi, SPACE_STREAM_KEYS, &env->lent), false, &c);
    for (int i = 0; (status = store_next(&c, &key, &value)) == STATUS_OK; i++) {
        if (i == SCAN_ITEMS || p->stream.expired.size >= EXPIRED_BYTES_MAX) {
            p->stream.more = true;
            break;
        }
        const bool readable = stream_record_decode(value, &record) == STATUS_OK;
        const bool old =
            readable && now_ms - record.wall_ms >= config_streams(env->config)->stream_retention_ms;
        if (readable && p->stream.oldest_ms == INT64_MAX)
            p->stream.oldest_ms = record.wall_ms;
        if (!old && excess <= 0)
            break;
        p->stream.for_bytes += !old;
        excess -= (int64_t)(key.size + value.size);
        buffer_append_sized(&p->stream.expired, key);
        buffer_append_u32(&p->stream.expired, (uint32_t)value.size);
    }
}

int64_t stream_sweep_lag_ms(const struct node_env *env, const struct partition *p)
{
    if (!stream_rows_any(p) || p->stream.oldest_ms == INT64_MAX || p->stream.oldest_ms == 0)
        return 0;
    const int64_t age = env_agreed_ms(env) - p->stream.oldest_ms;
    const int64_t lag = age - config_streams(env->config)->stream_retention_ms;
    return MAX(lag, 0);
}
