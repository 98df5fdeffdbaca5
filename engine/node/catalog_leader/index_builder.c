/* index_builder.c - fills new global indexes with the items that their tables have. */
#include "engine/node/catalog_leader/index_builder.h"

#include <stdlib.h>

#include "engine/message/index_messages.h"

enum {
    CHECK_MS = 50,
    FILL_TIMEOUT_MS = 60000 /* for one piece: the index may take few units a second */
};

struct index_build {
    LIST_ENTRY(index_build) place;
    uint32_t table_id;  /* of the index */
    struct buffer from; /* everything before this key is done */
    bool requesting;
    bool done; /* the catalog is being told */
};

static void build_free(struct index_build *b)
{
    LIST_REMOVE(b, place);
    buffer_deinit(&b->from);
    free(b);
}

void index_builder_end(struct index_builder *builder)
{
    internal_calls_end_all(builder->calls, INTERNAL_CALL_INDEX_FILL);
    while (!LIST_EMPTY(&builder->all))
        build_free(LIST_FIRST(&builder->all));
}

static struct index_build *build_find(const struct index_builder *builder, uint32_t table_id)
{
    struct index_build *b;
    LIST_FOREACH (b, &builder->all, place) {
        if (b->table_id == table_id)
            return b;
    }
    return NULL;
}

static struct index_build *build_of(struct index_builder *builder, uint32_t table_id)
{
    struct index_build *b = build_find(builder, table_id);
    if (b != NULL)
        return b;
    b = must_calloc(1, sizeof *b);
    b->table_id = table_id;
    LIST_INSERT_HEAD(&builder->all, b, place);
    return b;
}

static void build_send(struct index_builder *builder, struct index_build *b,
                       const struct table *base)
{
    if (b->from.size == 0)
        buffer_set(&b->from, base->partitions[0].lo);
    const struct partition_info *p = table_partition_of(base, buffer_slice(&b->from));
    struct internal_call_options options = {.kind = INTERNAL_CALL_INDEX_FILL,
                                            .subject = b->table_id,
                                            .timeout = duration_ms(FILL_TIMEOUT_MS)};
    internal_calls_to_leader(&options, p);
    struct request request = {.op = REQUEST_INDEX_FILL, .partition = p->id, .epoch = p->epoch};
    *request_edit_fill(&request) = (struct request_fill){buffer_slice(&b->from), b->table_id};
    b->requesting = true;
    internal_calls_begin(builder->calls, &options, &request);
}

static void build_propose_done(struct index_builder *builder, struct index_build *b)
{
    const struct operation o = {.from = FROM_SELF};
    struct catalog_command command = catalog_replica_command(builder->catalog, CATALOG_FILLED);
    command.table_id = b->table_id;
    command.spec.name = slice_of("-");
    if (proposals_may_write(builder->proposals, &o, 1024))
        catalog_replica_propose(builder->catalog, &o, &command);
}

/* Whether the table's partitions know the index, and its index can take rows. */
static bool build_may_go_on(const struct table *index, const struct table *base)
{
    return index->filling && index->status == TABLE_ACTIVE && base != NULL &&
           base->status == TABLE_ACTIVE;
}

void index_builder_tick(struct index_builder *builder)
{
    const struct catalog *catalog = builder->catalog->state;
    if (!catalog_replica_leads(builder->catalog) || instant_before(builder->env->now, builder->at))
        return;
    builder->at = instant_add_ms(builder->env->now, CHECK_MS);
    struct index_build *b = LIST_FIRST(&builder->all), *next;
    for (; b != NULL; b = next) {
        next = LIST_NEXT(b, place);
        const struct table *t = catalog_find_id(catalog, b->table_id);
        if (t != NULL && t->filling)
            continue;
        internal_calls_end(builder->calls, INTERNAL_CALL_INDEX_FILL, b->table_id);
        build_free(b);
    }
    for (const struct table *t = NULL; (t = catalog_next(catalog, t)) != NULL;) {
        if (t->index_of == 0 || !build_may_go_on(t, catalog_find_id(catalog, t->index_of)))
            continue;
        b = build_of(builder, t->id);
        if (b->done)
            build_propose_done(builder, b); /* the last proposal may be lost */
        else if (!b->requesting)
            build_send(builder, b, catalog_find_id(catalog, t->index_of));
    }
}

struct instant index_builder_deadline(const struct index_builder *builder)
{
    return LIST_EMPTY(&builder->all) ? INSTANT_NEVER : builder->at;
}

void index_builder_answered(struct index_builder *builder,
                            const struct internal_call_answer *answer)
{
    struct index_build *b = build_find(builder, answer->subject);
    const struct catalog *catalog = builder->catalog->state;
    const struct table *t = b != NULL ? catalog_find_id(catalog, b->table_id) : NULL;
    const struct table *base = t != NULL ? catalog_find_id(catalog, t->index_of) : NULL;
    const struct reply *r = answer->reply;
    if (base == NULL)
        return;
    b->requesting = false;
    if (r->code != REPLY_OK || r->kind != ANSWER_RANGE ||
        slice_compare(r->range.last, buffer_slice(&b->from)) <= 0)
        return; /* no step forward: asked again at the next check */
    buffer_set(&b->from, r->range.last);
    const struct slice end = base->partitions[base->partition_count - 1].hi;
    b->done = end.size > 0 && slice_compare(buffer_slice(&b->from), end) >= 0;
    builder->at = builder->env->now;
}
