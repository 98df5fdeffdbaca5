/* indexes.c - the keys of global indexes in what clients write, and which index a refusal names.
 *
 * A write keeps its keys when it is tried again. */
#include <stdio.h>
#include <stdlib.h>

#include "lab/clients/clients_internal.h"

static const struct indexes_options *indexes_of(const struct clients_workload *w)
{
    return &w->clients->options.scenario->tables[w->scenario->table_place].indexes;
}

void indexes_start(struct clients_source *s, uint64_t seed)
{
    const struct indexes_options *o = indexes_of(s->workload);
    const int64_t count = s->workload->scenario->index_key_count;
    s->index_random = prng_seeded(seed);
    s->index_keys = o->count > 0 ? must_calloc(o->count, sizeof s->index_keys[0]) : NULL;
    for (uint32_t i = 0; i < o->count; i++) {
        s->index_keys[i] = o->at[i].keys;
        if (count > 0)
            s->index_keys[i].count = (uint64_t)count;
        load_keys_start(&s->index_keys[i]);
    }
}

void indexes_stop(struct clients_source *s)
{
    for (uint32_t i = 0; i < indexes_of(s->workload)->count; i++)
        load_keys_stop(&s->index_keys[i]);
    free(s->index_keys);
}

void indexes_draw(struct clients_source *s, struct attempt *a)
{
    const int64_t since_ns = a->due_ns - s->traffic.options.start_ns;
    if (!traffic_kind_writes(a->traffic.kind))
        return;
    for (uint32_t i = 0; i < indexes_of(s->workload)->count; i++)
        a->index_keys[i] = load_keys_next(&s->index_keys[i], &s->index_random, since_ns);
}

void indexes_add_members(struct clients *c, const struct attempt *a, struct load_request *r)
{
    const struct clients_source *s = a->source;
    const struct indexes_options *o = indexes_of(s->workload);
    buffer_clear(&c->members);
    r->more_bytes = 0;
    for (uint32_t i = 0; i < o->count; i++) {
        char key[LOAD_KEY_SIZE_MAX];
        const size_t size = load_keys_text(&s->index_keys[i], a->index_keys[i], key);
        buffer_append_text(&c->members, ",\"");
        const size_t begin = c->members.size;
        index_append_attribute(&c->members, &o->at[i]);
        r->more_bytes += (int32_t)(c->members.size - begin + size);
        buffer_append_format(&c->members, "\":{\"S\":\"%.*s\"}", (int)size, key);
    }
    r->more = buffer_slice(&c->members);
}

void indexes_declare(struct clients *c)
{
    const struct scenario *s = c->options.scenario;
    for (uint32_t place = 0; place < s->table_count; place++) {
        for (uint32_t i = 0; i < s->tables[place].indexes.count; i++)
            measure_add_index(c->options.measure);
    }
}

/* The answer has the index's ARN: "..:table/TABLE/index/NAME". */
uint32_t indexes_named(const struct clients *c, const struct attempt *a, struct slice body)
{
    const struct clients_workload *w = a->source->workload;
    const struct indexes_options *o = indexes_of(w);
    for (uint32_t i = 0; i < o->count; i++) {
        char text[SCENARIO_NAME_SIZE_MAX + 16];
        const int size = snprintf(text, sizeof text, "/index/%s\"", o->at[i].name);
        if (memmem(body.data, body.size, text, (size_t)size) != NULL)
            return 1 + demand_index(c->options.scenario, w->scenario->table_place, i);
    }
    return 0;
}
