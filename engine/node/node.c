/* node.c - a node's life, events and turns: composes the components, and acts on their results. */
#include "engine/node/node.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/settings/replication.h"
#include "base/settings/storage.h"
#include "engine/admission/policy_choice.h"
#include "engine/node/core/pending_requests_internal.h"
#include "engine/node/node_internal.h"

/* ---- life ---- */

/* The components that drive replicas. */
static void node_compose_lower(struct node *n)
{
    struct node_env *env = &n->env;
    internal_calls_init(&n->calls, env);
    n->log.env = env;
    n->checkpoints = (struct checkpoints){
        .env = env,
        .log = &n->log,
        .at = INSTANT_NEVER,
        .retry_at = INSTANT_NEVER,
    };
    n->reports = (struct load_reports){
        .env = env,
        .partitions = &n->partitions,
        .throughput = &n->throughput,
        .calls = &n->calls,
        .at = INSTANT_NEVER,
    };
    n->buckets = (struct bucket_mirrors){
        .env = env,
        .partitions = &n->partitions,
        .throughput = &n->throughput,
        .proposals = &n->proposals,
        .peers = &n->peers,
        .mirror_at = INSTANT_NEVER,
        .save_at = INSTANT_NEVER,
    };
    n->driver = (struct raft_driver){
        .env = env,
        .log = &n->log,
        .partitions = &n->partitions,
        .identity = &n->identity,
        .proposals = &n->proposals,
        .peers = &n->peers,
        .buckets = &n->buckets,
    };
    n->heat = (struct node_heat){
        .env = env,
        .partitions = &n->partitions,
        .reports = &n->reports,
        .at = INSTANT_NEVER,
    };
    proposals_init(&n->proposals, env, &n->log);
    pending_init(&n->pending, env);
    peers_init(&n->peers, env, &n->partitions, &n->identity, &n->throughput);
    raft_driver_init(&n->driver);
}

/* The components that keep global indexes up to date, transactions, and streams. */
static void node_compose_indexes(struct node *n)
{
    struct node_env *env = &n->env;
    n->index_maps = (struct index_maps){.env = env, .calls = &n->calls};
    n->feeds = (struct index_feeds){
        .env = env,
        .partitions = &n->partitions,
        .proposals = &n->proposals,
        .driver = &n->driver,
        .calls = &n->calls,
        .maps = &n->index_maps,
    };
    n->transactions = (struct transactions){
        .env = env,
        .partitions = &n->partitions,
        .pending = &n->pending,
        .proposals = &n->proposals,
        .driver = &n->driver,
        .calls = &n->calls,
        .maps = &n->index_maps,
        .background = &n->background,
    };
    n->key_shard_moves = (struct key_shard_moves){
        .env = env,
        .partitions = &n->partitions,
        .identity = &n->identity,
        .calls = &n->calls,
        .maps = &n->index_maps,
    };
    n->stream_trims = (struct stream_trims){
        .env = env,
        .partitions = &n->partitions,
        .proposals = &n->proposals,
        .driver = &n->driver,
        .background = &n->background,
        .at = INSTANT_NEVER,
        .check_at = INSTANT_NEVER,
    };
    n->index_builder = (struct index_builder){
        .env = env, .calls = &n->calls, .catalog = &n->catalog, .proposals = &n->proposals};
    n->key_shard_mover =
        (struct key_shard_mover){.env = env, .calls = &n->calls, .catalog = &n->catalog};
}

/* The components that go over all items of a partition. */
static void node_compose_background(struct node *n)
{
    struct node_env *env = &n->env;
    background_init(&n->background, env, &n->partitions, &n->pending);
    n->expiry = (struct expiry){
        .env = env,
        .partitions = &n->partitions,
        .throughput = &n->throughput,
        .calls = &n->calls,
        .background = &n->background,
        .at = INSTANT_NEVER,
    };
}

/* The components that decide which replicas exist, and how they answer. */
static void node_compose_upper(struct node *n)
{
    struct node_env *env = &n->env;
    node_compose_background(n);
    n->snapshots = (struct snapshots){
        .env = env,
        .log = &n->log,
        .partitions = &n->partitions,
        .throughput = &n->throughput,
        .pending = &n->pending,
        .checkpoints = &n->checkpoints,
        .peers = &n->peers,
        .driver = &n->driver,
    };
    TAILQ_INIT(&n->snapshots.in);
    node_compose_indexes(n);
    n->catalog = (struct catalog_replica){
        .env = env,
        .partitions = &n->partitions,
        .driver = &n->driver,
    };
    n->reconciler = (struct reconciler){
        .env = env,
        .partitions = &n->partitions,
        .identity = &n->identity,
        .proposals = &n->proposals,
        .peers = &n->peers,
        .calls = &n->calls,
        .catalog = &n->catalog,
    };
    n->applier = (struct applier){
        .env = env,
        .log = &n->log,
        .partitions = &n->partitions,
        .identity = &n->identity,
        .proposals = &n->proposals,
        .pending = &n->pending,
        .buckets = &n->buckets,
        .driver = &n->driver,
        .snapshots = &n->snapshots,
        .background = &n->background,
        .catalog = &n->catalog,
        .reconciler = &n->reconciler,
        .feeds = &n->feeds,
        .transactions = &n->transactions,
        .stream_trims = &n->stream_trims,
        .propose_at = INSTANT_NEVER,
    };
    n->requests = (struct requests){
        .env = env,
        .log = &n->log,
        .partitions = &n->partitions,
        .identity = &n->identity,
        .throughput = &n->throughput,
        .proposals = &n->proposals,
        .pending = &n->pending,
        .peers = &n->peers,
        .buckets = &n->buckets,
        .driver = &n->driver,
        .heat = &n->heat,
        .background = &n->background,
        .catalog = &n->catalog,
        .reconciler = &n->reconciler,
        .applier = &n->applier,
        .feeds = &n->feeds,
        .transactions = &n->transactions,
        .key_shard_moves = &n->key_shard_moves,
    };
}

enum status node_create(const struct node_options *options, struct store *store,
                        struct buffer *error, struct node **out)
{
    must(options->id >= 1 && options->id <= options->node_count &&
         options->node_count <= NODES_MAX);
    if (admission_policies_check(options->config, error) != STATUS_OK) {
        store_destroy(store);
        return STATUS_MALFORMED;
    }
    struct node *n = must_calloc(1, sizeof *n);
    env_init(&n->env, options, store);
    node_compose_lower(n);
    node_compose_upper(n);
    enum status status = node_load(n, error);
    if (status != STATUS_OK) {
        node_destroy(n);
        return status;
    }
    *out = n;
    return STATUS_OK;
}

void node_destroy(struct node *n)
{
    snapshots_deinit(&n->snapshots); /* uses the partitions */
    reconcile_end(&n->reconciler);   /* also destroys the loads */
    catalog_replica_discard(&n->catalog);
    index_builder_end(&n->index_builder);
    key_shard_mover_deinit(&n->key_shard_mover);
    index_feeds_deinit(&n->feeds);
    key_shard_moves_deinit(&n->key_shard_moves);
    transactions_deinit(&n->transactions);
    expiry_deinit(&n->expiry);
    index_maps_deinit(&n->index_maps);
    internal_calls_deinit(&n->calls);
    partitions_deinit(&n->partitions);
    bucket_mirrors_deinit(&n->buckets);
    pending_deinit(&n->pending);
    proposals_deinit(&n->proposals);
    peers_deinit(&n->peers);
    requests_deinit(&n->requests);
    raft_driver_deinit(&n->driver);
    members_deinit(&n->throughput.members);
    arena_deinit(&n->received);
    log_writer_deinit(&n->log.writer);
    env_deinit(&n->env);
    free(n);
}

/* Logs the node's generation, and for how long it gives support from now on. A node without a
 * generation draws one. */
static void node_keep_support(struct node *n)
{
    uint32_t generation = n->identity.generation != 0 ? n->identity.generation
                                                      : (uint32_t)prng_next(&n->env.prng) | 1;
    uint64_t support_ns = (uint64_t)duration_ms(config_replication(n->env.config)->support_ms).ns;
    proposals_append_own(&n->proposals, LOG_NODE, 0, generation,
                         slice_make(&support_ns, sizeof support_ns));
    n->identity.support_changing = true;
}

/* If an earlier life gave a longer support, logs the shorter one once that life's support is
 * over. */
static void node_shorten_support(struct node *n)
{
    bool shorter =
        n->identity.support_kept.ns > duration_ms(config_replication(n->env.config)->support_ms).ns;
    if (shorter && !n->identity.support_changing &&
        !instant_before(n->env.now, n->identity.quiet_until) &&
        !proposals_are_full(&n->proposals) && node_log_has_space(&n->log, sizeof(uint64_t)))
        node_keep_support(n);
}

enum status node_replay(struct node *n, const struct log_record *record)
{
    return applier_replay(&n->applier, record);
}

void node_start(struct node *n, struct instant now, uint64_t segment_bytes, uint64_t next_lsn)
{
    must(!n->env.started);
    n->env.now = now;
    n->env.started = true;
    env_note(&n->env, NODE_TRACE_STARTED, 0, (int64_t)next_lsn);
    log_writer_init(&n->log.writer, n->env.id, (uint32_t)config_storage(n->env.config)->log_writes,
                    segment_bytes, next_lsn);
    node_admission_init(&n->throughput.admission, n->env.config, now);
    overload_init(&n->throughput.overload, n->env.config);
    members_init(&n->throughput.members, n->env.config, n->env.node_count);
    peers_start(&n->peers);
    snapshots_start(&n->snapshots);
    checkpoints_start(&n->checkpoints);
    expiry_start(&n->expiry);
    n->reports.at = n->driver.hand_back_at = now;
    background_wake(&n->background, BACKGROUND_COUNT);
    struct duration support = duration_ms(config_replication(n->env.config)->support_ms);
    n->identity.quiet_until = instant_add(now, support);
    if (n->identity.support_kept.ns > support.ns)
        n->identity.quiet_until = instant_add(now, n->identity.support_kept);
    if (!peers_may_send(&n->peers))
        node_keep_support(n);
    for (uint32_t i = 0; i < n->partitions.count; i++) {
        struct partition *p = n->partitions.all[i];
        bucket_mirrors_begin(&n->buckets, p);
        raft_driver_start(&n->driver, p, n->identity.quiet_until);
    }
}

void node_set_wall_clock(struct node *n, struct instant now, int64_t wall_ms)
{
    n->env.wall_ms = wall_ms;
    n->env.wall_at = now;
}

/* ---- events ---- */

static void event_begin(struct node *n, struct instant now)
{
    env_begin_event(&n->env, now);
    peers_reclaim(&n->peers);
}

/* The node has stopped: answers all requests in flight. The outcome of writes is unknown. */
static void node_answer_all(struct node *n)
{
    char why[128];
    snprintf(why, sizeof why, "node %u could not write its log (%s)", n->env.id,
             strerror(n->env.stop_error));
    for (uint32_t i = 0; i < n->partitions.count; i++) {
        proposals_drop(&n->proposals, n->partitions.all[i], why);
        pending_drop_reads(&n->pending, n->partitions.all[i], REPLY_STOPPED, why);
    }
    proposals_drop_own(&n->proposals, why);
    key_shard_moves_stop(&n->key_shard_moves, why);
}

/* Acts on what components noted during the event. */
static void event_end(struct node *n)
{
    if (n->driver.catalog_lost) {
        reconcile_end(&n->reconciler);
        index_builder_end(&n->index_builder);
        key_shard_mover_end(&n->key_shard_mover);
    }
    n->driver.catalog_lost = false;
    if (n->env.stop_error == 0 || n->stopped)
        return;
    n->stopped = true;
    node_answer_all(n);
}

static void node_answer_call(struct node *n, const struct internal_call_answer *answer)
{
    uint64_t as_of;
    struct reader named;
    struct partition *p;
    switch (answer->kind) {
    case INTERNAL_CALL_REPORT:
        if (load_reports_answered(&n->reports, answer, &as_of, &named)) {
            while ((p = load_reports_next_named(&n->reports, &named)) != NULL)
                requests_close_orphan(&n->requests, p, as_of);
        }
        break;
    case INTERNAL_CALL_RECONCILE:
        reconcile_answered(&n->reconciler, answer);
        break;
    case INTERNAL_CALL_INDEX_MAP:
        index_maps_answered(&n->index_maps, answer);
        break;
    case INTERNAL_CALL_INDEX_FILL:
        index_builder_answered(&n->index_builder, answer);
        break;
    case INTERNAL_CALL_INDEX_SESSION:
    case INTERNAL_CALL_INDEX_ROW:
        index_feeds_answered(&n->feeds, answer);
        break;
    case INTERNAL_CALL_TRANSACT_QUERY:
    case INTERNAL_CALL_TRANSACT_NOTIFY:
        transactions_answered(&n->transactions, answer);
        break;
    case INTERNAL_CALL_EXPIRY:
        expiry_answered(&n->expiry, answer);
        break;
    case INTERNAL_CALL_KEY_SHARD_MOVER:
        key_shard_mover_answered(&n->key_shard_mover, answer);
        break;
    case INTERNAL_CALL_KEY_SHARD_MOVE:
        key_shard_moves_answered(&n->key_shard_moves, answer);
        break;
    }
}

/* An answer to a request of this node itself. If a proposal was refused, its component proposes
 * again at its next check, if the proposal is still needed. */
static void node_take_reply(struct node *n, const struct reply *reply)
{
    struct internal_call_answer answer;
    if (internal_calls_take_reply(&n->calls, reply, &answer))
        node_answer_call(n, &answer);
    event_end(n);
}

static void node_run(struct node *n, struct waiting waited, uint64_t from, const struct request *r)
{
    struct operation o = {.from = from, .waited = waited, .request = *r};
    requests_run(&n->requests, &o);
    event_end(n);
}

/* What the policy of overload tells the sender. */
static uint32_t node_overload_hint(struct node *n, uint64_t to)
{
    const struct overload_arrival a = {.now = n->env.now, .sender = to};
    return overload_report(&n->throughput.overload, &a);
}

const struct node_effect *node_next_effect(struct node *n)
{
    struct node_env *env = &n->env;
    while (env->effect_next < env->effect_count) {
        struct node_effect *e = &env->effects[env->effect_next++];
        if (e->kind == NODE_REPLY && e->to == FROM_SELF) {
            struct reply reply = e->reply; /* taking the reply may move the array of effects */
            node_take_reply(n, &reply);
        } else if (e->kind == NODE_REQUEST && e->to == env->id) {
            const struct request request = e->request;
            node_run(n, (struct waiting){0}, FROM_SELF, &request);
        } else {
            if (e->kind == NODE_REPLY)
                e->reply.overload_hint = node_overload_hint(n, e->to);
            return e;
        }
    }
    return NULL;
}

void node_request(struct node *n, struct instant now, struct waiting waited, uint64_t from,
                  const struct request *r)
{
    must(from != FROM_SELF);
    event_begin(n, now);
    node_run(n, waited, from, r);
}

void node_reply(struct node *n, struct instant now, const struct reply *reply)
{
    event_begin(n, now);
    node_take_reply(n, reply);
}

void node_touched(struct node *n, struct instant now, uint32_t ticket)
{
    event_begin(n, now);
    const struct parked_request *d = pending_resume(&n->pending, ticket);
    struct operation o = d->operation;
    switch (d->resume) {
    case RESUME_REQUEST:
        requests_run(&n->requests, &o);
        break;
    case RESUME_BACKGROUND:
        background_touched(&n->background, d->subject);
        break;
    case RESUME_SNAPSHOT_OUT:
    case RESUME_SNAPSHOT_IN:
        snapshots_touched(&n->snapshots, d->resume, d->subject);
        break;
    }
    pending_free(&n->pending, ticket);
    event_end(n);
}

enum status node_receive(struct node *n, struct instant now, struct slice frame)
{
    event_begin(n, now);
    enum status status = node_receive_envelope(n, frame);
    event_end(n);
    return status;
}

void node_occupy(struct node *n, struct instant now, enum admit_kind kind, int64_t mcu)
{
    must(mcu >= 0);
    event_begin(n, now);
    struct token_bucket *b = &n->throughput.admission.buckets[kind];
    token_bucket_refill(b, now);
    token_bucket_debit(b, mcu);
    n->throughput.consumed_mcu[kind] += mcu;
    event_end(n);
}

/* ---- the log and the checkpoints ---- */

const struct log_batch *node_next_batch(struct node *n)
{
    return n->env.stop_error != 0 ? NULL : log_writer_next(&n->log.writer);
}

void node_log_space(struct node *n, uint64_t end_lsn, int error)
{
    n->log.space_end = end_lsn;
    n->log.segment_error = error;
}

/* Applies the node's own records that are durable. */
static void node_apply_own(struct node *n)
{
    for (struct inflight *e; (e = proposals_take_own(&n->proposals)) != NULL;) {
        const struct own_record record = {.group = e->group,
                                          .index = e->index,
                                          .lsn = e->lsn - log_record_size(e->payload.size),
                                          .payload = e->payload};
        must(applier_apply_own(&n->applier, e->kind, &record) == STATUS_OK);
        if (e->answer)
            env_reply_to(&n->env, e->from, e->request_id, REPLY_OK);
        proposals_free_own(&n->proposals, e);
    }
}

void node_log_written(struct node *n, struct instant now, uint64_t lsn, int error)
{
    event_begin(n, now);
    if (n->env.stop_error != 0)
        return;
    if (error != 0) {
        env_stop(&n->env, error);
    } else {
        log_writer_written(&n->log.writer, lsn);
        env_note(&n->env, NODE_TRACE_LOG_WRITTEN, 0, (int64_t)n->log.writer.written_lsn);
        node_apply_own(n);
        raft_driver_persisted(&n->driver);
    }
    event_end(n);
}

void node_checkpoint_done(struct node *n, struct instant now, enum status status)
{
    event_begin(n, now);
    if (status == STATUS_FULL)
        snapshots_close(&n->snapshots); /* the map cannot grow while a snapshot is open */
    if (checkpoints_ended(&n->checkpoints, status)) {
        raft_driver_relog(&n->driver, n->log.local_lsn);
        applier_stored(&n->applier);
    }
    event_end(n);
}

void node_checkpoint_soon(struct node *n)
{
    checkpoints_soon(&n->checkpoints);
}

void node_finish(struct node *n)
{
    bucket_mirrors_finish(&n->buckets);
    n->checkpoints.at = n->env.now;
}

/* The checkpoint contains everything applied, and for each replica a row with its applied index. */
static void node_checkpoint(struct node *n)
{
    raft_driver_compact(&n->driver);
    for (uint32_t i = 0; i < n->partitions.count; i++) {
        if (!n->partitions.all[i]->stored)
            local_state_store_partition(&n->env, n->partitions.all[i]);
    }
    checkpoints_begin(&n->checkpoints, raft_driver_pinned_lsn(&n->driver));
    snapshots_frozen(&n->snapshots);
}

/* ---- time ---- */

struct instant node_deadline(const struct node *n)
{
    struct instant t = instant_earlier(n->reports.at, checkpoints_deadline(&n->checkpoints));
    if (n->env.stop_error != 0)
        return t;
    t = instant_earlier(t, n->calls.at);
    t = instant_earlier(t, n->applier.propose_at);
    t = instant_earlier(t, raft_timers_first_at(&n->driver.timers));
    t = instant_earlier(t, background_deadline(&n->background));
    t = instant_earlier(t, n->heat.at);
    t = instant_earlier(t, instant_earlier(n->buckets.mirror_at, n->buckets.save_at));
    t = instant_earlier(t, reconcile_deadline(&n->reconciler));
    t = instant_earlier(t, index_feeds_deadline(&n->feeds));
    t = instant_earlier(t, transactions_deadline(&n->transactions));
    t = instant_earlier(t, expiry_deadline(&n->expiry));
    t = instant_earlier(t, stream_trims_deadline(&n->stream_trims));
    t = instant_earlier(t, index_builder_deadline(&n->index_builder));
    t = instant_earlier(t, key_shard_mover_deadline(&n->key_shard_mover));
    t = instant_earlier(t, snapshots_deadline(&n->snapshots));
    return instant_earlier(t, n->peers.liveness_at);
}

/* Has items of sharded keys moved, and tells the catalog which keys are done. */
static void node_move_shards(struct node *n)
{
    const struct operation o = {.from = FROM_SELF};
    struct decision d;
    key_shard_mover_tick(&n->key_shard_mover);
    while (key_shard_mover_next(&n->key_shard_mover, &d)) {
        struct catalog_command command = catalog_replica_command(&n->catalog, CATALOG_KEY_SHARDS);
        buffer_clear(&n->env.scratch);
        decision_encode(&n->env.scratch, &d);
        command.spec.name = slice_of("-");
        command.decision = env_lend_scratch(&n->env);
        if (proposals_may_write(&n->proposals, &o, command.decision.size + 1024))
            catalog_replica_propose(&n->catalog, &o, &command);
    }
}

void node_tick(struct node *n, struct instant now)
{
    struct internal_call_answer answer;
    event_begin(n, now);
    while (n->env.stop_error == 0 && internal_calls_tick(&n->calls, &answer))
        node_answer_call(n, &answer);
    load_reports_tick(&n->reports);
    raft_driver_hand_back(&n->driver);
    if (n->env.stop_error == 0) {
        node_shorten_support(n);
        if (peers_tick(&n->peers))
            raft_driver_tick(&n->driver, true);
        raft_driver_tick(&n->driver, false);
        applier_tick(&n->applier);
        reconcile_tick(&n->reconciler);
        index_builder_tick(&n->index_builder);
        node_move_shards(n);
        expiry_tick(&n->expiry);
        background_tick(&n->background);
        node_heat_tick(&n->heat);
        bucket_mirrors_tick(&n->buckets);
    }
    event_end(n);
}

static void node_see_leader(struct node *n, struct partition *p)
{
    if (!raft_driver_check_leader(&n->driver, p))
        return;
    if (p->info.id == CATALOG_GROUP) {
        reconcile_start(&n->reconciler);
        return;
    }
    transactions_begin(&n->transactions, p);
    stream_trims_begin(&n->stream_trims, p);
    if (p->indexes != NULL)
        index_feeds_begin(&n->feeds, p);
}

/* Reads that waited for transactions run again. */
static void node_run_freed(struct node *n)
{
    if (!n->transactions.freed)
        return;
    n->transactions.freed = false;
    for (uint32_t i = 0; i < n->partitions.count; i++) {
        struct partition *p = n->partitions.all[i];
        for (uint32_t left = pending_locked_count(p); left > 0; left--) {
            struct operation o;
            pending_take_locked(&n->pending, p, &o);
            requests_run(&n->requests, &o);
        }
    }
}

/* Ends the turn for a replica that was stepped in it. */
static void node_end_stepped(struct node *n, struct partition *p)
{
    raft_driver_flush(&n->driver, p);
    event_end(n);
    node_see_leader(n, p);
    applier_apply_committed(&n->applier, p);
    node_see_leader(n, p);
    applier_stepped(&n->applier, p);
    applier_propose_known_indexes(&n->applier, p);
    transactions_see(&n->transactions, p);
    expiry_see(&n->expiry, p);
    requests_close_ended(&n->requests, p);
    requests_run_reads(&n->requests, p);
    if (partition_led_term(p) != 0)
        snapshots_offer(&n->snapshots, p);
    raft_driver_rest(&n->driver, p);
}

void node_end_turn(struct node *n, struct instant now)
{
    event_begin(n, now);
    if (n->env.stop_error != 0)
        return;
    node_begin_cluster(n);
    for (struct partition *p; (p = raft_driver_next_dirty(&n->driver)) != NULL;)
        node_end_stepped(n, p);
    index_feeds_end_turn(&n->feeds);
    transactions_end_turn(&n->transactions);
    stream_trims_end_turn(&n->stream_trims);
    node_run_freed(n);
    snapshots_end_turn(&n->snapshots);
    if (checkpoints_tick(&n->checkpoints))
        node_checkpoint(n);
    for (struct partition *p; (p = raft_driver_next_dirty(&n->driver)) != NULL;)
        node_end_stepped(n, p); /* in which something was done just now */
    peers_end_turn(&n->peers);
    event_end(n);
    must_in_tests(LIST_EMPTY(&n->driver.dirty)); /* nothing would wake the node for it */
}

/* ---- looking ---- */

uint64_t node_log_end(const struct node *n)
{
    return n->log.writer.next_lsn;
}

int64_t node_balance(struct node *n, enum admit_kind kind)
{
    token_bucket_refill(&n->throughput.admission.buckets[kind], n->env.now);
    return n->throughput.admission.buckets[kind].balance;
}

size_t node_backlog(const struct node *n)
{
    return index_feeds_bytes_max(&n->feeds);
}

const struct served_totals *node_served(const struct node *n)
{
    return &n->throughput.served;
}

bool node_is_stopped(const struct node *n)
{
    return n->env.stop_error != 0;
}

bool node_is_full(const struct node *n)
{
    return n->log.map_full;
}

bool node_is_idle(const struct node *n)
{
    return n->proposals.count == 0 && !n->checkpoints.running && n->pending.count == 0 &&
           n->pending.scans == 0;
}

bool node_is_ready(const struct node *n)
{
    bool ready =
        partitions_find(&n->partitions, CATALOG_GROUP) != NULL &&
        (!catalog_replica_leads(&n->catalog) || catalog_replica_knows_enough_nodes(&n->catalog));
    for (uint32_t i = 0; i < n->partitions.count && ready; i++) {
        const struct partition *p = n->partitions.all[i];
        uint64_t leader = raft_leader(p->raft);
        ready = leader != 0 && (leader != raft_self(p->raft) || p->led != 0);
    }
    return ready;
}

const struct trace *node_trace(const struct node *n)
{
    return &n->env.trace;
}

void node_trace_describe(const struct node *n, uint64_t max, struct buffer *out)
{
    for (uint64_t back = max; back-- > 0;) {
        const struct trace_event *e = trace_last(&n->env.trace, back);
        if (e == NULL)
            continue;
        buffer_append_format(out, "%9.3f s ago  ", (double)(n->env.now.ns - e->at.ns) / 1e9);
        node_trace_event_describe(e, out);
        buffer_append_u8(out, '\n');
    }
}

const struct partition_info *node_replica(const struct node *n, uint32_t partition)
{
    const struct partition *p = partitions_find(&n->partitions, partition);
    return p == NULL ? NULL : &p->info;
}

struct store *node_store(struct node *n)
{
    return n->env.store;
}
