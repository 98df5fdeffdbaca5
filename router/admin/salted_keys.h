/* salted_keys.h - how pages show salted keys. */
#pragma once

#include "router/operations/operation.h"

/* Appends the members `key`, `hash`, `shards`, `former`, `version`, `counter` and `moving`. */
void salted_key_write(struct buffer *out, const struct table *t, const struct salted_key *k);

/* Appends "salting":{..}, if any key of the table was ever salted. */
void salting_write(struct buffer *out, const struct table *t);
