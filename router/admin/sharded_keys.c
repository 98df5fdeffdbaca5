/* sharded_keys.c - shows sharded keys in pages. */
#include "router/admin/sharded_keys.h"

#include <stdio.h>

#include "engine/catalog/key_text.h"
#include "router/json/json_writer.h"

void sharded_key_write(struct buffer *out, const struct table *t, const struct sharded_key *k)
{
    struct buffer key = {0}, text = {0};
    char hash[17];
    sharded_key_append_prefix(&key, k, t->id, 0);
    key_text_append(&text, t, buffer_slice(&key));
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)k->hash);
    json_member_string(out, "key", buffer_slice(&text));
    json_member_text(out, "hash", hash);
    json_member_integer(out, "shards", k->shards);
    json_member_open(out, "former", '[');
    for (uint32_t i = 0; i < k->before_count; i++)
        buffer_append_format(out, "%s%u", i > 0 ? "," : "", k->before[i]);
    json_write_close(out, ']');
    json_member_integer(out, "version", (int64_t)k->version);
    json_member_bool(out, "counter", k->counter);
    json_member_bool(out, "moving", sharded_key_moves(k));
    buffer_deinit(&key);
    buffer_deinit(&text);
}

void key_sharding_write(struct buffer *out, const struct table *t)
{
    const struct key_sharding *s = t->sharded_keys;
    if (s == NULL)
        return;
    json_member_open(out, "key_sharding", '{');
    json_member_integer(out, "version", (int64_t)s->version);
    json_member_open(out, "keys", '[');
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->keys[i].shards == 1 && !sharded_key_moves(&s->keys[i]))
            continue; /* it is not sharded any more, but for what is remembered of it */
        json_write_open(out, '{');
        sharded_key_write(out, t, &s->keys[i]);
        json_write_close(out, '}');
    }
    json_write_closes(out, "]}");
}
