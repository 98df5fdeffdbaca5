#include "engine/node/node.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/must.h"
#include "engine/node/node_internal.h"

enum {
    HAND_BACK_MS = 2000,
    INFLIGHT_OWN = 8,   /* at least, for the node's own records when the queue is full */
    EFFECTS_KEPT = 1024 /* room for more is given back with the next event */
};

/* ---- partitions ---- */

struct partition *node_partition(const struct node *n, uint32_t id)
{
    return id < n->partitions_size ? n->partitions[id] : NULL;
}

void node_add_partition(struct node *n, struct partition *p)
{
    uint32_t id = p->info.id;
    if (id >= n->partitions_size) {
        uint32_t size = n->partitions_size * 2 > id + 1 ? n->partitions_size * 2 : id + 64;
        n->partitions = realloc(n->partitions, size * sizeof n->partitions[0]);
        must(n->partitions != NULL);
        memset(n->partitions + n->partitions_size, 0,
               (size - n->partitions_size) * sizeof n->partitions[0]);
        n->partitions_size = size;
    }
    must(n->partitions[id] == NULL);
    n->partitions[id] = p;
}

static void unlist(struct partition **dirty, struct partition **writing, const struct partition *p)
{
    while (*dirty != NULL && *dirty != p)
        dirty = &(*dirty)->next_dirty;
    if (*dirty != NULL)
        *dirty = p->next_dirty;
    while (*writing != NULL && *writing != p)
        writing = &(*writing)->next_writing;
    if (*writing != NULL)
        *writing = p->next_writing;
}

void node_remove_partition(struct node *n, uint32_t id)
{
    struct partition *p = n->partitions[id];
    node_drop_proposals(n, p, "the partition was closed");
    node_drop_reads(n, p, REPLY_WRONG_PARTITION, "the partition was closed");
    node_snapshots_forget(n, id);
    node_split_orphan(n, p);
    n->partitions[id] = NULL;
    node_buckets_end(n, p);
    unlist(&n->dirty, &n->writing, p); /* last: nothing lists the partition after this */
    partition_destroy(p);
}

/* ---- life ---- */

static uint32_t power_of_two_above(int64_t value)
{
    uint32_t size = 16;
    while (size < value)
        size *= 2;
    return size;
}

enum status node_create(const struct node_options *options, struct store *store,
                        struct buffer *error, struct node **out)
{
    must(options->id >= 1 && options->id <= options->node_count &&
         options->node_count <= NODES_MAX);
    struct node *n = calloc(1, sizeof *n);
    must(n != NULL);
    n->options = *options;
    n->config = options->config;
    n->store = store;
    n->prng = prng_seeded(options->seed);
    const char *policy = n->config->partition_policy;
    if (admission_policy_find(slice_of(policy)) == NULL) {
        buffer_append_format(error, "partition_policy '%s' is not known: it must be one of %s",
                             policy, admission_policy_names());
        store_destroy(store);
        free(n);
        return STATUS_MALFORMED;
    }
    n->inflight_size = power_of_two_above(n->config->node_queue_max + INFLIGHT_OWN);
    n->inflight = calloc(n->inflight_size, sizeof n->inflight[0]);
    for (int kind = 0; kind < SHADOWS; kind++) {
        n->shadow[kind] = malloc(n->inflight_size * sizeof n->shadow[kind][0]);
        must(n->shadow[kind] != NULL);
    }
    node_groups_init(n);
    n->peers = calloc(options->node_count + 1, sizeof n->peers[0]);
    must(n->inflight != NULL && n->peers != NULL);
    for (uint32_t i = n->inflight_size; i-- > 0;) {
        for (int kind = 0; kind < SHADOWS; kind++)
            n->shadow[kind][i] = NO_ENTRY;
        n->inflight[i].next = n->inflight_free;
        n->inflight_free = &n->inflight[i];
    }
    n->deferred_size = (uint32_t)n->config->node_queue_max;
    n->deferred = calloc(n->deferred_size, sizeof n->deferred[0]);
    must(n->deferred != NULL);
    n->checkpoint_at = n->retry_at = n->report_at = n->raft_at = n->heat_at = INSTANT_NEVER;
    n->mirror_at = n->save_at = INSTANT_NEVER;
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
    node_snapshots_deinit(n); /* they look at the partitions */
    for (uint32_t i = 0; i < n->partitions_size; i++)
        partition_destroy(n->partitions[i]);
    node_buckets_deinit(n);
    free(n->partitions);
    for (uint32_t i = 0; i < n->deferred_size; i++)
        buffer_deinit(&n->deferred[i].bytes);
    free(n->deferred);
    buffer_deinit(&n->deferred_spare);
    node_settling_end(n); /* and what was reported for it */
    if (n->catalog != NULL)
        catalog_destroy(n->catalog);
    for (struct inflight *e = n->own_first; e != NULL; e = e->next)
        free((void *)(uintptr_t)e->payload.data);
    node_peers_deinit(n);
    members_deinit(&n->members);
    raft_outbox_deinit(&n->outbox);
    arena_deinit(&n->received);
    log_writer_deinit(&n->log);
    free(n->inflight);
    for (int kind = 0; kind < SHADOWS; kind++)
        free(n->shadow[kind]);
    free(n->effects);
    arena_deinit(&n->lent);
    buffer_deinit(&n->range_out);
    buffer_deinit(&n->scratch);
    buffer_deinit(&n->outgoing);
    store_destroy(n->store);
    free(n);
}

/* Writes down which node this is, and for how long it gives support from now on. */
static void keep_support(struct node *n)
{
    uint32_t generation = n->generation != 0 ? n->generation : (uint32_t)prng_next(&n->prng) | 1;
    uint64_t support_ns = (uint64_t)duration_ms(n->config->support_ms).ns;
    node_append_own(n, LOG_NODE, 0, generation, slice_make(&support_ns, sizeof support_ns));
    n->support_changing = true;
}

/* A shorter support than an earlier life gave counts once that life's promises are over. */
static void shorten_support(struct node *n)
{
    bool shorter = n->support_kept.ns > duration_ms(n->config->support_ms).ns;
    if (shorter && !n->support_changing && !instant_before(n->now, n->quiet_until) &&
        n->inflight_free != NULL && node_has_log_space(n, sizeof(uint64_t)))
        keep_support(n);
}

void node_start(struct node *n, struct instant now, uint64_t segment_bytes, uint64_t next_lsn)
{
    must(!n->started);
    n->now = now;
    n->started = true;
    node_note(n, NODE_TRACE_STARTED, 0, (int64_t)next_lsn);
    log_writer_init(&n->log, n->options.id, (uint32_t)n->config->log_writes, segment_bytes,
                    next_lsn);
    n->start_lsn = next_lsn;
    node_admission_init(&n->admission, n->config, now);
    members_init(&n->members, n->config, n->options.node_count);
    node_peers_start(n);
    node_snapshots_start(n);
    n->report_at = n->hand_back_at = n->count_at = now;
    n->middle_at = INSTANT_NEVER;
    struct duration support = duration_ms(n->config->support_ms);
    n->quiet_until = instant_add(now, support);
    if (n->support_kept.ns > support.ns)
        n->quiet_until = instant_add(now, n->support_kept);
    if (!node_may_speak(n))
        keep_support(n);
    for (uint32_t i = 0; i < n->partitions_size; i++) {
        struct partition *p = n->partitions[i];
        if (p == NULL)
            continue;
        node_buckets_begin(n, p);
        node_group_start(n, p, n->quiet_until);
    }
}

/* ---- effects ---- */

struct node_effect *node_push(struct node *n, enum node_effect_kind kind)
{
    if (n->effect_count == n->effect_capacity) {
        n->effect_capacity = n->effect_capacity == 0 ? 64 : n->effect_capacity * 2;
        n->effects = realloc(n->effects, n->effect_capacity * sizeof n->effects[0]);
        must(n->effects != NULL);
    }
    struct node_effect *e = &n->effects[n->effect_count++];
    memset(e, 0, sizeof *e);
    e->kind = kind;
    return e;
}

struct reply *node_push_reply(struct node *n, uint64_t from, uint64_t request_id,
                              enum reply_code code)
{
    struct node_effect *e = node_push(n, NODE_REPLY);
    e->to = from;
    e->reply.id = request_id;
    e->reply.code = code;
    return &e->reply;
}

void node_refuse(struct node *n, uint64_t from, uint64_t request_id, enum reply_code code,
                 const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    struct slice copy = arena_copy(&n->lent, slice_of(text));
    node_push_reply(n, from, request_id, code)->text = copy;
    node_note(n, NODE_TRACE_REFUSED, code, (int64_t)request_id);
}

/* Every event starts here: what the last one lent is given back. */
static void event(struct node *n, struct instant now)
{
    must(n->started);
    must(!instant_before(now, n->now));
    must(n->effect_next == n->effect_count); /* all effects were taken */
    n->now = now;
    n->effect_count = n->effect_next = 0;
    if (n->effect_capacity > EFFECTS_KEPT) {
        free(n->effects);
        n->effects = NULL;
        n->effect_capacity = 0;
    }
    arena_reset(&n->lent);
    node_peers_reclaim(n);
    buffer_clear(&n->range_out);
}

/* An answer to a request of this node's own. A proposal that was refused is made again when the
 * next look shows that it is still wanted. */
static void take_reply(struct node *n, const struct reply *reply)
{
    if (reply->id == OWN_REPORT)
        node_reported(n, reply);
    else if (reply->id != OWN_UNANSWERED)
        node_settling_reply(n, reply);
}

const struct node_effect *node_next_effect(struct node *n)
{
    while (n->effect_next < n->effect_count) {
        const struct node_effect *e = &n->effects[n->effect_next++];
        if (e->kind == NODE_REPLY && e->to == FROM_SELF) {
            struct reply reply = e->reply; /* what it brings about may move the effects */
            take_reply(n, &reply);
        } else if (e->kind == NODE_REQUEST && e->to == n->options.id) {
            struct operation o = {.from = FROM_SELF, .request = e->request};
            node_run(n, &o);
        } else {
            return e;
        }
    }
    return NULL;
}

/* ---- the log and the checkpoints ---- */

const struct log_batch *node_next_batch(struct node *n)
{
    return n->stop_error != 0 ? NULL : log_writer_next(&n->log);
}

void node_log_space(struct node *n, uint64_t end_lsn, bool disk_full)
{
    n->log_space_end = end_lsn;
    n->log_disk_full = disk_full;
}

void node_log_error(struct node *n, int error)
{
    n->log_error = error;
}

static void free_own(struct node *n, struct inflight *e)
{
    free((void *)(uintptr_t)e->payload.data);
    node_free_inflight(n, e);
}

void node_stop(struct node *n, int error)
{
    n->stop_error = error;
    node_note(n, NODE_TRACE_STOPPED, 0, error);
    char why[128];
    snprintf(why, sizeof why, "node %u could not write its log (%s)", n->options.id,
             strerror(error));
    for (uint32_t i = 0; i < n->partitions_size; i++) {
        if (n->partitions[i] == NULL)
            continue;
        node_drop_proposals(n, n->partitions[i], why);
        node_drop_reads(n, n->partitions[i], REPLY_STOPPED, why);
    }
    while (n->own_first != NULL) {
        struct inflight *e = n->own_first;
        n->own_first = e->next;
        if (e->answer)
            node_refuse(n, e->from, e->request_id, REPLY_UNKNOWN, "%s", why);
        free_own(n, e);
    }
    n->own_last = NULL;
}

/* Records of the node's own that are durable take effect. */
static void apply_own(struct node *n)
{
    while (n->own_first != NULL && n->own_first->lsn <= n->log.written_lsn) {
        struct inflight *e = n->own_first;
        n->own_first = e->next;
        if (n->own_first == NULL)
            n->own_last = NULL;
        must(node_apply_own(n, e->kind, e->group, e->index,
                            e->lsn - log_record_size(e->payload.size), e->payload) == STATUS_OK);
        if (e->answer)
            node_push_reply(n, e->from, e->request_id, REPLY_OK);
        free_own(n, e);
    }
}

void node_log_written(struct node *n, struct instant now, uint64_t lsn, int error)
{
    event(n, now);
    if (n->stop_error != 0)
        return;
    if (error != 0) {
        node_stop(n, error);
        return;
    }
    log_writer_written(&n->log, lsn);
    node_note(n, NODE_TRACE_LOG_WRITTEN, 0, (int64_t)n->log.written_lsn);
    apply_own(n);
    node_groups_persisted(n);
}

void node_checkpoint_done(struct node *n, struct instant now, enum status status)
{
    event(n, now);
    node_checkpoint_ended(n, status);
}

/* ---- requests ---- */

void node_request(struct node *n, struct instant now, uint64_t from, const struct request *r)
{
    event(n, now);
    must(from != FROM_SELF);
    struct operation o = {.from = from, .request = *r};
    node_run(n, &o);
}

void node_reply(struct node *n, struct instant now, const struct reply *reply)
{
    event(n, now);
    take_reply(n, reply);
}

void node_touched(struct node *n, struct instant now, uint32_t ticket)
{
    event(n, now);
    node_resume(n, ticket);
}

enum status node_receive(struct node *n, struct instant now, struct slice frame)
{
    event(n, now);
    return node_peers_receive(n, frame);
}

/* ---- time ---- */

struct instant node_deadline(const struct node *n)
{
    struct instant t = instant_earlier(n->report_at, node_checkpoint_deadline(n));
    if (n->stop_error != 0)
        return t;
    t = instant_earlier(t, n->raft_at);
    t = instant_earlier(t, n->count_at);
    t = instant_earlier(t, n->middle_at);
    t = instant_earlier(t, n->heat_at);
    t = instant_earlier(t, instant_earlier(n->mirror_at, n->save_at));
    t = instant_earlier(t, node_settling_deadline(n));
    t = instant_earlier(t, node_snapshots_deadline(n));
    return instant_earlier(t, n->liveness_at);
}

void node_tick(struct node *n, struct instant now)
{
    event(n, now);
    if (!instant_before(now, n->report_at)) {
        node_report(n);
    }
    if (!instant_before(now, n->hand_back_at)) {
        node_groups_hand_back(n);
        n->hand_back_at = instant_add(now, duration_ms(HAND_BACK_MS));
    }
    if (n->stop_error != 0)
        return;
    shorten_support(n);
    node_peers_tick(n);
    node_groups_tick(n, false);
    node_settling_tick(n);
    node_count_tick(n);
    node_middle_tick(n);
    node_heat_tick(n);
    node_buckets_tick(n);
}

void node_end_turn(struct node *n, struct instant now)
{
    event(n, now);
    if (n->stop_error != 0)
        return;
    node_begin_cluster(n);
    node_groups_end_turn(n);
    node_snapshots_end_turn(n);
    node_checkpoint_tick(n);
    node_peers_end_turn(n);
    n->liveness_at = liveness_deadline(&n->liveness, n->now);
}

/* ---- looking ---- */

uint64_t node_log_end(const struct node *n)
{
    return n->log.next_lsn;
}

int64_t node_balance(struct node *n, enum admit_kind kind)
{
    token_bucket_refill(&n->admission.buckets[kind], n->now);
    return n->admission.buckets[kind].balance;
}

bool node_is_stopped(const struct node *n)
{
    return n->stop_error != 0;
}

bool node_is_full(const struct node *n)
{
    return n->map_full;
}

bool node_is_idle(const struct node *n)
{
    return n->inflight_count == 0 && !n->checkpoint_running && n->deferred_count == 0;
}

bool node_is_ready(const struct node *n)
{
    bool ready = node_partition(n, CATALOG_GROUP) != NULL &&
                 (!node_leads_catalog(n) || node_knows_enough_nodes(n));
    for (uint32_t i = 0; i < n->partitions_size && ready; i++) {
        const struct partition *p = n->partitions[i];
        if (p == NULL)
            continue;
        uint64_t leader = raft_leader(p->raft);
        ready = leader != 0 && (leader != raft_self(p->raft) || p->led != 0);
    }
    return ready;
}

const struct trace *node_trace(const struct node *n)
{
    return &n->trace;
}

void node_trace_event_describe(const struct trace_event *e, struct buffer *out)
{
    static const struct {
        const char *text;
        bool numbered;
        const char *value;
    } kinds[] = {
#define X(code, text, numbered, value) [code] = {text, numbered, value},
        NODE_TRACE_LIST(X)
#undef X
    };
    buffer_append_text(out, kinds[e->kind].text);
    if (kinds[e->kind].numbered)
        buffer_append_format(out, " %u", e->subject);
    buffer_append_format(out, ", %s %lld", kinds[e->kind].value, (long long)e->value);
}

void node_trace_describe(const struct node *n, uint64_t most, struct buffer *out)
{
    for (uint64_t back = most; back-- > 0;) {
        const struct trace_event *e = trace_last(&n->trace, back);
        if (e == NULL)
            continue;
        buffer_append_format(out, "%9.3f s ago  ", (double)(n->now.ns - e->at.ns) / 1e9);
        node_trace_event_describe(e, out);
        buffer_append_u8(out, '\n');
    }
}

const struct partition_info *node_replica(const struct node *n, uint32_t partition)
{
    const struct partition *p = node_partition(n, partition);
    return p == NULL ? NULL : &p->info;
}

struct store *node_store(struct node *n)
{
    return n->store;
}
