/* sharded_keys.h - how pages show sharded keys. */
#pragma once

#include "router/core/operation.h"

/* Appends the members `key`, `hash`, `shards`, `former`, `version`, `counter` and `moving`. */
void sharded_key_write(struct buffer *out, const struct table *t, const struct sharded_key *k);

/* Appends "key_sharding":{..}, if any key of the table was ever sharded. */
void key_sharding_write(struct buffer *out, const struct table *t);
