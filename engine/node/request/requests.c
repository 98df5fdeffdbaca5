/* requests.c - the table of all kinds of requests: the function of each, and where it may run. */
#include "engine/node/request/requests_internal.h"

/* Where a request is answered. Elsewhere it is refused before its `run` is called. */
enum answered_at {
    AT_THE_NODE,       /* at any node; `run` may refuse */
    AT_CATALOG,        /* at the leader of group 0 */
    AT_CATALOG_SURELY, /* at the leader of group 0, after its leadership is confirmed */
};

void requests_deinit(struct requests *requests)
{
    buffer_deinit(&requests->updated);
    buffer_deinit(&requests->row_keys);
    buffer_deinit(&requests->index_feed_value);
    buffer_deinit(&requests->stream_value);
    buffer_deinit(&requests->last_key);
}

static void requests_ping(struct requests *requests, struct operation *o)
{
    env_reply(requests->env, o, REPLY_OK);
}

static void requests_split(struct requests *requests, struct operation *o)
{
    applier_run_split(requests->applier, o);
}

static void requests_merge(struct requests *requests, struct operation *o)
{
    applier_run_merge(requests->applier, o);
}

/* A new kind of request is a row here. */
static const struct request_kind {
    void (*run)(struct requests *requests, struct operation *o);
    enum answered_at at;
} request_kinds[REQUEST_OPS] = {
    [REQUEST_GET] = {requests_read, AT_THE_NODE},
    [REQUEST_PUT] = {requests_write, AT_THE_NODE},
    [REQUEST_DELETE] = {requests_write, AT_THE_NODE},
    [REQUEST_UPDATE] = {requests_write, AT_THE_NODE},
    [REQUEST_RANGE] = {requests_read, AT_THE_NODE},
    [REQUEST_CHECK] = {requests_write, AT_THE_NODE},
    [REQUEST_UNCHANGED] = {requests_unchanged, AT_THE_NODE},
    [REQUEST_TRANSACT] = {requests_transact, AT_THE_NODE},
    [REQUEST_TRANSACT_ADMIT] = {requests_admit_parts, AT_THE_NODE},
    [REQUEST_TRANSACT_DECIDE] = {requests_decide_transaction, AT_THE_NODE},
    [REQUEST_TRANSACT_RESOLVE] = {requests_resolve, AT_THE_NODE},
    [REQUEST_TRANSACT_QUERY] = {requests_query_transaction, AT_THE_NODE},
    [REQUEST_KEY_SHARD_MOVE] = {requests_move_shard, AT_THE_NODE},
    [REQUEST_RECORDS] = {requests_records, AT_THE_NODE},
    [REQUEST_STATS] = {requests_stats, AT_THE_NODE},
    [REQUEST_PING] = {requests_ping, AT_THE_NODE},
    [REQUEST_PARTITION_OPEN] = {requests_open, AT_THE_NODE},
    [REQUEST_PARTITION_CLOSE] = {requests_close, AT_THE_NODE},
    [REQUEST_PARTITION_MEMBERS] = {requests_members, AT_THE_NODE},
    [REQUEST_PARTITION_SPLIT] = {requests_split, AT_THE_NODE},
    [REQUEST_PARTITION_MERGE] = {requests_merge, AT_THE_NODE},
    [REQUEST_PARTITION_HEAT] = {requests_advise, AT_THE_NODE},
    [REQUEST_PARTITION_MIDDLE] = {requests_advise, AT_THE_NODE},
    [REQUEST_INDEX_FILL] = {requests_fill_index, AT_THE_NODE},
    [REQUEST_INDEX_SHOWS] = {requests_index_shows, AT_THE_NODE},
    [REQUEST_INDEX_SESSION] = {requests_open_session, AT_THE_NODE},
    [REQUEST_TABLE_CREATE] = {requests_change_table, AT_CATALOG},
    [REQUEST_TABLE_UPDATE] = {requests_change_table, AT_CATALOG},
    [REQUEST_TABLE_DELETE] = {requests_change_table, AT_CATALOG},
    [REQUEST_TABLE_SPLIT] = {requests_split_table, AT_CATALOG},
    [REQUEST_DECIDE] = {requests_decide, AT_CATALOG},
    [REQUEST_TABLE_GET] = {requests_get_table, AT_CATALOG_SURELY},
    [REQUEST_TABLE_LIST] = {requests_list_tables, AT_CATALOG_SURELY},
    [REQUEST_EVENTS] = {requests_list_events, AT_CATALOG_SURELY},
    [REQUEST_TABLE_REPORT] = {requests_take_report,
                              AT_CATALOG_SURELY}, /* the answer may erase replicas */
};

/* Whether the request may run. If not, it was refused, or will run again. */
static bool catalog_may_answer(struct requests *requests, struct operation *o, enum answered_at at)
{
    struct partition *p = partitions_find(requests->partitions, CATALOG_GROUP);
    if (p == NULL)
        env_refuse(requests->env, o, REPLY_NOT_LEADER, "node %u has no replica of the catalog",
                   requests->env->id);
    else if (p->led == 0)
        raft_driver_refuse(requests->driver, o, p);
    else
        return at == AT_CATALOG || requests_leads_read(requests, p, o);
    return false;
}

void requests_run(struct requests *requests, struct operation *o)
{
    const struct request_kind *kind = &request_kinds[o->request.op];
    must(o->request.op < REQUEST_OPS && kind->run != NULL);
    if (kind->at == AT_THE_NODE || catalog_may_answer(requests, o, kind->at))
        kind->run(requests, o);
}

void requests_run_reads(struct requests *requests, struct partition *p)
{
    struct operation o;
    while (pending_next_read(requests->pending, p, &o)) {
        if (o.confirmed == 0)
            raft_driver_refuse(requests->driver, &o, p);
        else
            requests_run(requests, &o);
    }
}
