/* catalog_replica.c - this node's replica of the catalog (group 0), if there is one. */
#include "engine/node/catalog_leader/catalog_replica.h"

#include "base/settings/replication.h"
#include "engine/node/core/local_state.h"

bool catalog_replica_leads(const struct catalog_replica *catalog)
{
    const struct partition *p = partitions_find(catalog->partitions, CATALOG_GROUP);
    return p != NULL && p->led != 0;
}

bool catalog_replica_knows_enough_nodes(const struct catalog_replica *catalog)
{
    uint32_t known = 0;
    for (uint32_t node = 1; node <= catalog->env->node_count; node++)
        known += catalog_generation(catalog->state, node) != 0;
    return known == catalog->env->node_count ||
           known >= config_replication(catalog->env->config)->replicas;
}

struct catalog_command catalog_replica_command(const struct catalog_replica *catalog,
                                               enum catalog_op op)
{
    struct catalog_command command;
    catalog_command_init(&command, op, catalog->env->config, catalog->env->node_count,
                         env_stamp_ms(catalog->env));
    const int64_t agreed_ms = env_agreed_ms(catalog->env);
    command.agreed_ms = MAX(agreed_ms, 0);
    return command;
}

void catalog_replica_propose(struct catalog_replica *catalog, const struct operation *o,
                             struct catalog_command *command)
{
    for (size_t i = 0; i < sizeof command->uuid; i++)
        command->uuid[i] = (uint8_t)prng_next(&catalog->env->prng);
    struct catalog_command read;
    buffer_clear(&catalog->env->scratch);
    catalog_command_encode(&catalog->env->scratch, command);
    if (catalog_command_decode(buffer_slice(&catalog->env->scratch), &read) != STATUS_OK) {
        env_refuse(catalog->env, o, REPLY_MALFORMED,
                   "malformed catalog command: a name, an amount or a date is invalid");
        return;
    }
    raft_driver_propose(catalog->driver, partitions_find(catalog->partitions, CATALOG_GROUP), o,
                        LOG_CATALOG, buffer_slice(&catalog->env->scratch), slice_make(NULL, 0));
}

void catalog_replica_answer(struct catalog_replica *catalog, const struct table *t,
                            struct reply *out)
{
    struct buffer *b = &catalog->env->scratch;
    struct buffer index = {0};
    buffer_clear(b);
    table_encode(b, t);
    out->kind = ANSWER_TABLE;
    out->table.bytes = env_lend_scratch(catalog->env);
    buffer_clear(b);
    for (const struct table *x = NULL;
         t->index_of == 0 && (x = catalog_next_index(catalog->state, t, x)) != NULL;) {
        buffer_clear(&index);
        table_encode(&index, x);
        buffer_append_sized(b, buffer_slice(&index));
    }
    out->table.indexes = env_lend_scratch(catalog->env);
    out->table.agreed_ms = env_agreed_ms(catalog->env);
    buffer_deinit(&index);
}

uint64_t catalog_replica_as_of(const struct catalog_replica *catalog)
{
    return raft_applied(partitions_find(catalog->partitions, CATALOG_GROUP)->raft);
}

uint64_t catalog_replica_term(const struct catalog_replica *catalog)
{
    return raft_term(partitions_find(catalog->partitions, CATALOG_GROUP)->raft);
}

static enum status load_catalog_row(void *context, struct slice key, struct slice value)
{
    return catalog_load_row(context, key, value);
}

enum status catalog_replica_load(struct catalog_replica *catalog)
{
    static const uint8_t lo[4] = {0, 0, 0, 0}, hi[4] = {0, 0, 0, 1};
    if (catalog->state == NULL)
        catalog->state = catalog_create();
    catalog_clear(catalog->state);
    return local_state_each(catalog->env, slice_make(lo, sizeof lo), slice_make(hi, sizeof hi),
                            catalog->state, load_catalog_row);
}

void catalog_replica_discard(struct catalog_replica *catalog)
{
    if (catalog->state != NULL) /* NULL while the replica waits for a snapshot */
        catalog_destroy(catalog->state);
    catalog->state = NULL;
}
