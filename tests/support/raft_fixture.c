/* raft_fixture.c - messages, clocks and disks of a simulated group. */
#include "tests/support/raft_fixture.h"

#include <stdlib.h>

#include "base/must.h"

struct raft_fixture_options raft_fixture_options_default(uint32_t nodes, uint32_t voters)
{
    return (struct raft_fixture_options){
        .nodes = nodes,
        .voters = voters,
        .seed = 1,
        .election = duration_ms(150),
        .retry = duration_ms(30),
        .interval = duration_ms(20),
        .support = duration_ms(100),
        .delay_ns_max = NS_PER_MS,
        .sync_ns_max = NS_PER_MS,
        .inflight_max_bytes = 4096,
        .uncommitted_max_bytes = 64 * 1024,
        .message_max_bytes = 1024,
    };
}

struct instant raft_fixture_local(const struct raft_fixture *w, const struct raft_fixture_node *n)
{
    int64_t million = 1000000;
    return (struct instant){n->clock_offset + w->now + w->now / million * n->clock_ppm +
                            w->now % million * n->clock_ppm / million};
}

uint64_t raft_fixture_member(const struct raft_fixture *w, uint32_t node)
{
    return raft_member_id(node, w->nodes[node].row.generation, 0);
}

/* ---- messages ---- */

static struct raft_fixture_message *message_post(struct raft_fixture *w,
                                                 enum raft_fixture_message_kind kind, uint32_t from,
                                                 uint32_t to)
{
    if (w->bag_count == w->bag_capacity) {
        w->bag_capacity = w->bag_capacity == 0 ? 64 : w->bag_capacity * 2;
        w->bag = realloc(w->bag, w->bag_capacity * sizeof *w->bag);
        must(w->bag != NULL);
    }
    struct raft_fixture_message *m = &w->bag[w->bag_count++];
    *m = (struct raft_fixture_message){
        .kind = kind, .from = from, .to = to, .sequence = ++w->sequence};
    if (w->options.automatic) {
        int64_t slow = !w->calm && prng_below(&w->prng, 50) == 0 ? 100 : 1;
        m->at = w->now + slow * prng_between(&w->prng, 1, w->options.delay_ns_max);
    }
    return m;
}

/* The sender of a snapshot learns how the snapshot ended. */
static void end_snapshot(struct raft_fixture *w, const struct raft_fixture_node *n, uint32_t to,
                         uint64_t member, uint64_t index)
{
    struct raft_fixture_message *m = message_post(w, RAFT_FIXTURE_SNAPSHOT_END, n->id, to);
    m->to_member = member;
    m->index = index;
}

/* ---- life ---- */

static void open_raft(struct raft_fixture *w, struct raft_fixture_node *n)
{
    const struct raft_options options = {
        .group = RAFT_FIXTURE_GROUP,
        .self = raft_fixture_member(w, n->id),
        .seed = prng_next(&w->prng),
        .shared = &n->shared,
    };
    n->shared = (struct raft_shared){
        .election = w->options.election,
        .retry = w->options.retry,
        .inflight_max_bytes = w->options.inflight_max_bytes,
        .uncommitted_max_bytes = w->options.uncommitted_max_bytes,
        .message_max_bytes = w->options.message_max_bytes,
        .liveness = &n->liveness,
        .outbox = &n->outbox,
    };
    n->raft = raft_create(&options, &n->row.base);
    n->applied = n->row.base.index;
    n->hash = n->row.hash;
    n->led = 0;
    n->proposal_count = n->read_count = 0;
    n->installing = false;
}

static void node_replay(struct raft_fixture *w, struct raft_fixture_node *n)
{
    raft_replay_hard_state(n->raft, n->row.term, n->row.vote);
    for (size_t i = 0; i < n->record_count; i++) {
        const struct raft_fixture_record *r = &n->records[i];
        if (r->lsn <= n->row.since_lsn)
            continue;
        if (r->kind == LOG_HARD_STATE) {
            raft_replay_hard_state(n->raft, r->term, r->index);
            continue;
        }
        const struct raft_entry e = {.index = r->index,
                                     .term = r->term,
                                     .kind = r->kind,
                                     .lsn = r->lsn,
                                     .payload = slice_make(r->payload, r->size)};
        if (raft_replay_entry(n->raft, &e) != STATUS_OK)
            raft_fixture_fail(w, "node %u cannot replay its log", n->id);
    }
}

static void node_start_replica(struct raft_fixture *w, uint32_t node, bool fresh)
{
    struct raft_fixture_node *n = &w->nodes[node];
    must(!n->up);
    n->up = true;
    n->paused = false;
    n->clock_offset = prng_between(&w->prng, 0, 1000 * NS_PER_S);
    n->clock_ppm = prng_between(&w->prng, -w->options.clock_ppm_max, w->options.clock_ppm_max);
    const struct liveness_options options = {
        .node = node,
        .node_count = w->options.nodes,
        .incarnation = prng_next(&w->prng) | 1,
        .interval = w->options.interval,
        .support = w->options.support,
        .drift_ppm = 2 * w->options.clock_ppm_max + 1,
    };
    struct instant now = raft_fixture_local(w, n);
    liveness_init(&n->liveness, &options, now);
    n->live_at = now;
    if (!n->row.hosted)
        return;
    open_raft(w, n);
    node_replay(w, n);
    raft_start(n->raft, now, fresh ? now : instant_add(now, w->options.support), true);
    raft_fixture_turn(w, node);
}

void raft_fixture_start(struct raft_fixture *w, uint32_t node)
{
    node_start_replica(w, node, false);
}

static void node_shut(struct raft_fixture_node *n)
{
    raft_destroy(n->raft);
    n->raft = NULL;
    liveness_deinit(&n->liveness);
    n->outbox.count = 0;
    n->up = false;
}

void raft_fixture_crash(struct raft_fixture *w, uint32_t node, uint32_t kept)
{
    struct raft_fixture_node *n = &w->nodes[node];
    must(n->up);
    w->counts.crashes++;
    if (n->installing)
        end_snapshot(w, n, n->incoming_from, raft_fixture_member(w, node), 0);
    uint64_t durable = n->durable_lsn;
    for (size_t i = 0; i < n->record_count && kept > 0; i++) {
        if (n->records[i].lsn > n->durable_lsn && n->records[i].lsn <= n->submitted_lsn) {
            durable = n->records[i].lsn;
            kept--;
        }
    }
    while (n->record_count > 0 && n->records[n->record_count - 1].lsn > durable)
        n->record_count--;
    n->next_lsn = n->durable_lsn = durable;
    n->submitted_lsn = 0;
    node_shut(n);
    trace_add(&w->trace, (struct instant){w->now}, 1, node, (int64_t)durable);
}

struct raft_fixture *raft_fixture_create(const struct raft_fixture_options *options)
{
    must(options->nodes >= 1 && options->nodes <= RAFT_FIXTURE_NODES_MAX);
    struct raft_fixture *w = calloc(1, sizeof *w);
    must(w != NULL);
    w->options = *options;
    w->prng = prng_seeded(options->seed);
    for (uint32_t i = 1; i <= options->voters; i++)
        w->first.all[w->first.count++] = (struct raft_member){raft_member_id(i, 1, 0), true};
    for (uint32_t i = 1; i <= options->nodes; i++) {
        struct raft_fixture_node *n = &w->nodes[i];
        n->id = i;
        n->row.base.members = w->first;
        n->row.hosted = i <= options->voters;
        n->row.generation = n->row.hosted;
        node_start_replica(w, i, true);
    }
    return w;
}

void raft_fixture_destroy(struct raft_fixture *w)
{
    for (uint32_t i = 1; i <= w->options.nodes; i++) {
        struct raft_fixture_node *n = &w->nodes[i];
        if (n->up)
            node_shut(n);
        raft_outbox_deinit(&n->outbox);
        free(n->records);
    }
    while (w->bag_count > 0)
        raft_fixture_drop(w, 0);
    free(w->bag);
    free(w->committed);
    arena_deinit(&w->arena);
    free(w);
}

void raft_fixture_host(struct raft_fixture *w, uint32_t node)
{
    struct raft_fixture_node *n = &w->nodes[node];
    must(n->up && n->raft == NULL);
    n->row = (struct raft_fixture_row){.base = {.members = w->first},
                                       .since_lsn = n->next_lsn,
                                       .generation = n->row.generation + 1,
                                       .hosted = true};
    open_raft(w, n);
    raft_start(n->raft, raft_fixture_local(w, n), raft_fixture_local(w, n), true);
    raft_fixture_turn(w, node);
}

void raft_fixture_unhost(struct raft_fixture *w, uint32_t node)
{
    struct raft_fixture_node *n = &w->nodes[node];
    must(n->up && n->raft != NULL);
    if (n->installing)
        end_snapshot(w, n, n->incoming_from, raft_fixture_member(w, node), 0);
    raft_destroy(n->raft);
    n->raft = NULL;
    n->row.hosted = false;
    n->installing = false;
}

/* ---- the disk ---- */

static void append_record(struct raft_fixture_node *n, const struct raft_fixture_record *r)
{
    if (n->record_count == n->record_capacity) {
        n->record_capacity = n->record_capacity == 0 ? 64 : n->record_capacity * 2;
        n->records = realloc(n->records, n->record_capacity * sizeof *n->records);
        must(n->records != NULL);
    }
    n->next_lsn += 64 + r->size;
    n->records[n->record_count] = *r;
    n->records[n->record_count++].lsn = n->next_lsn;
}

static void append_entry(struct raft_fixture_node *n, uint64_t index)
{
    const struct raft_entry *e = raft_entry_at(n->raft, index);
    must(e != NULL && e->payload.size <= RAFT_FIXTURE_PAYLOAD_MAX);
    struct raft_fixture_record r = {
        .kind = e->kind, .term = e->term, .index = index, .size = (uint32_t)e->payload.size};
    if (r.size > 0)
        memcpy(r.payload, e->payload.data, r.size);
    append_record(n, &r);
    raft_entry_logged(n->raft, index, n->next_lsn);
}

static void take_writes(struct raft_fixture_node *n)
{
    struct raft_writes writes;
    if (!raft_take_writes(n->raft, &writes))
        return;
    if (writes.hard_state) {
        append_record(n, &(struct raft_fixture_record){
                             .kind = LOG_HARD_STATE, .term = writes.term, .index = writes.vote});
        raft_hard_state_logged(n->raft, n->next_lsn);
    }
    for (uint64_t i = writes.first; i <= writes.last; i++)
        append_entry(n, i);
}

static void node_submit(struct raft_fixture *w, struct raft_fixture_node *n)
{
    if (!w->options.automatic || n->submitted_lsn != 0 || n->next_lsn == n->durable_lsn)
        return;
    n->submitted_lsn = n->next_lsn;
    int64_t slow = n->slow_disk > 1 ? n->slow_disk : 1;
    n->sync_at = w->now + slow * prng_between(&w->prng, 1, w->options.sync_ns_max);
}

void raft_fixture_sync_to(struct raft_fixture *w, uint32_t node, uint64_t lsn)
{
    struct raft_fixture_node *n = &w->nodes[node];
    must(lsn <= n->next_lsn);
    n->durable_lsn = lsn;
    if (n->submitted_lsn <= lsn)
        n->submitted_lsn = 0;
    if (n->raft == NULL)
        return;
    raft_persisted(n->raft, raft_fixture_local(w, n), lsn);
    raft_fixture_turn(w, node);
}

void raft_fixture_sync(struct raft_fixture *w, uint32_t node)
{
    raft_fixture_sync_to(w, node, w->nodes[node].next_lsn);
}

static void node_trim(struct raft_fixture_node *n, uint64_t lsn)
{
    size_t kept = 0;
    for (size_t i = 0; i < n->record_count; i++) {
        if (n->records[i].lsn >= lsn)
            n->records[kept++] = n->records[i];
    }
    n->record_count = kept;
}

void raft_fixture_checkpoint(struct raft_fixture *w, uint32_t node, bool compact)
{
    struct raft_fixture_node *n = &w->nodes[node];
    (void)w;
    if (n->raft == NULL)
        return;
    /* As a node does: also in the middle of a snapshot. A replica without its state must keep its
     * log. */
    uint64_t applied = raft_applied(n->raft);
    bool no_state = n->row.base.no_state;
    compact = compact && !no_state;
    n->row.base = (struct raft_base){applied, raft_term_at(n->raft, applied),
                                     *raft_members_applied(n->raft), no_state};
    n->row.term = raft_term(n->raft);
    n->row.vote = raft_vote(n->raft);
    if (!n->installing) /* during an installation the hash belongs to neither state */
        n->row.hash = n->hash;
    uint64_t pinned = raft_pinned_lsn(n->raft);
    node_trim(n, pinned < n->durable_lsn ? pinned : n->durable_lsn);
    if (compact)
        raft_compact(n->raft, applied);
    w->counts.compactions += compact;
}

void raft_fixture_rewrite(struct raft_fixture *w, uint32_t node)
{
    struct raft_fixture_node *n = &w->nodes[node];
    if (n->raft == NULL)
        return;
    for (uint64_t i = raft_applied(n->raft) + 1; i <= raft_last(n->raft); i++)
        append_entry(n, i);
    raft_fixture_turn(w, node);
}

/* ---- the network ---- */

static bool is_lost(struct raft_fixture *w, uint32_t from, uint32_t to)
{
    return w->cut[from][to] || (w->drop_percent > 0 && prng_below(&w->prng, 100) < w->drop_percent);
}

static void copy_message(struct raft_fixture *w, const struct raft_fixture_message *m,
                         struct raft_fixture_message *out)
{
    struct buffer bytes = {0};
    buffer_append_slice(&bytes, buffer_slice(&m->bytes));
    *out = *m;
    out->bytes = bytes;
    (void)w;
}

static void post_raft(struct raft_fixture *w, struct raft_fixture_node *n,
                      const struct raft_message *message)
{
    uint32_t to = raft_member_node(message->to);
    w->raft_messages++;
    if (to == 0 || to > w->options.nodes || to == n->id ||
        (w->options.automatic && is_lost(w, n->id, to)))
        return;
    struct raft_fixture_message *m = message_post(w, RAFT_FIXTURE_RAFT, n->id, to);
    raft_message_encode(&m->bytes, message);
    m->shape = *message;
    m->shape.entries = NULL;
    if (w->duplicate_percent > 0 && prng_below(&w->prng, 100) < w->duplicate_percent) {
        struct raft_fixture_message copy;
        copy_message(w, m, &copy);
        struct raft_fixture_message *again = message_post(w, RAFT_FIXTURE_RAFT, n->id, to);
        copy.at = again->at;
        copy.sequence = again->sequence;
        *again = copy;
    }
}

void raft_fixture_post_beat(struct raft_fixture *w, struct raft_fixture_node *n, uint32_t to,
                            bool heartbeat)
{
    struct liveness_beat beat =
        liveness_beat(&n->liveness, raft_fixture_local(w, n), to, heartbeat);
    if (is_lost(w, n->id, to))
        return;
    struct raft_fixture_message *m = message_post(w, RAFT_FIXTURE_BEAT, n->id, to);
    liveness_beat_encode(&m->bytes, &beat);
    if (!w->options.automatic)
        raft_fixture_deliver(w, w->bag_count - 1);
}

void raft_fixture_drop(struct raft_fixture *w, size_t at)
{
    must(at < w->bag_count);
    buffer_deinit(&w->bag[at].bytes);
    w->bag_count--;
    memmove(&w->bag[at], &w->bag[at + 1], (w->bag_count - at) * sizeof *w->bag);
}

static void raft_receive_message(struct raft_fixture *w, struct raft_fixture_node *n,
                                 const struct raft_fixture_message *m)
{
    struct reader r = {buffer_slice(&m->bytes), false};
    struct liveness_beat beat;
    must(liveness_beat_decode(&r, &beat) == STATUS_OK);
    struct instant now = raft_fixture_local(w, n);
    struct liveness_change change = liveness_received(&n->liveness, now, m->from, &beat);
    if (change.answer)
        raft_fixture_post_beat(w, n, m->from, false);
    n->live_at = liveness_deadline(&n->liveness, now);
    if (n->raft == NULL)
        return;
    if (change.given || change.restarted)
        raft_tick(n->raft, now);
    if (change.got)
        raft_support_changed(n->raft, now, m->from);
    raft_fixture_turn(w, n->id);
}

static void begin_install(struct raft_fixture *w, struct raft_fixture_node *n,
                          const struct raft_fixture_message *m)
{
    bool deliverable = n->up && n->raft != NULL && raft_self(n->raft) == m->to_member &&
                       !n->installing && raft_role(n->raft) != RAFT_LEADER &&
                       (n->row.base.no_state || m->row.base.index > raft_commit(n->raft));
    if (!deliverable) {
        end_snapshot(w, n, m->from, m->to_member, 0);
        return;
    }
    raft_install_begin(n->raft);
    raft_fixture_turn(w, n->id);
    n->row.base.no_state = true; /* durable before the first row changes */
    n->row.hash = ~n->row.hash;  /* then the state is neither the old one nor the new */
    n->installing = true;
    n->incoming = m->row;
    n->incoming_from = m->from;
    n->install_at = w->now + prng_between(&w->prng, 1, 5 * w->options.delay_ns_max);
}

/* The state and the base become durable together. Then raft learns of them. */
void raft_fixture_install(struct raft_fixture *w, uint32_t node)
{
    struct raft_fixture_node *n = &w->nodes[node];
    must(n->installing);
    n->installing = false;
    uint64_t index = n->incoming.base.index;
    if (index < raft_first(n->raft) - 1) {
        end_snapshot(w, n, n->incoming_from, raft_self(n->raft), 0);
        return;
    }
    n->row.base = n->incoming.base;
    n->row.hash = n->incoming.hash;
    n->row.term = raft_term(n->raft);
    n->row.vote = raft_vote(n->raft);
    if (raft_install(n->raft, raft_fixture_local(w, n), &n->row.base)) {
        n->applied = index;
        n->hash = n->incoming.hash;
        w->counts.snapshots++;
    } else {
        raft_fixture_fail(w, "node %u refuses a snapshot it began to install", node);
    }
    end_snapshot(w, n, n->incoming_from, raft_self(n->raft), index);
    raft_fixture_turn(w, node);
}

static void message_deliver(struct raft_fixture *w, const struct raft_fixture_message *m)
{
    struct raft_fixture_node *n = &w->nodes[m->to];
    if (m->kind == RAFT_FIXTURE_SNAPSHOT) {
        begin_install(w, n, m);
        return;
    }
    if (!n->up)
        return;
    if (m->kind == RAFT_FIXTURE_BEAT) {
        raft_receive_message(w, n, m);
        return;
    }
    struct instant now = raft_fixture_local(w, n);
    if (m->kind == RAFT_FIXTURE_SNAPSHOT_END) {
        if (n->raft == NULL)
            return;
        raft_snapshot_ended(n->raft, now, m->to_member, m->index);
    } else {
        arena_reset(&w->arena);
        struct reader r = {buffer_slice(&m->bytes), false};
        struct raft_message message, answer;
        must(raft_message_decode(&r, &w->arena, &message) == STATUS_OK);
        must(r.left.size == 0);
        if (n->raft == NULL || raft_self(n->raft) != message.to) {
            if (raft_answer_for_absent(&message, &answer))
                post_raft(w, n, &answer);
            return;
        }
        raft_receive(n->raft, now, &message);
    }
    trace_add(&w->trace, (struct instant){w->now}, 2, m->to, (int64_t)m->sequence);
    raft_fixture_turn(w, n->id);
}

void raft_fixture_deliver(struct raft_fixture *w, size_t at)
{
    must(at < w->bag_count);
    struct raft_fixture_message m = w->bag[at];
    w->bag_count--;
    memmove(&w->bag[at], &w->bag[at + 1], (w->bag_count - at) * sizeof *w->bag);
    message_deliver(w, &m);
    buffer_deinit(&m.bytes);
}

void raft_fixture_deliver_copy(struct raft_fixture *w, size_t at)
{
    must(at < w->bag_count);
    struct raft_fixture_message m;
    copy_message(w, &w->bag[at], &m);
    message_deliver(w, &m);
    buffer_deinit(&m.bytes);
}

/* ---- the end of an event ---- */

static void node_send(struct raft_fixture *w, struct raft_fixture_node *n)
{
    for (size_t i = 0; i < n->outbox.count; i++)
        post_raft(w, n, &n->outbox.messages[i]);
    n->outbox.count = 0;
}

static void stream_snapshots(struct raft_fixture *w, struct raft_fixture_node *n)
{
    uint64_t member;
    while ((member = raft_next_snapshot(n->raft)) != 0) {
        raft_snapshot_started(n->raft, member);
        uint32_t to = raft_member_node(member);
        if (is_lost(w, n->id, to)) {
            end_snapshot(w, n, n->id, member, 0); /* the sender notices later */
            continue;
        }
        struct raft_fixture_message *m = message_post(w, RAFT_FIXTURE_SNAPSHOT, n->id, to);
        m->to_member = member;
        m->row.hash = n->hash;
        m->row.base = (struct raft_base){n->applied, raft_term_at(n->raft, n->applied),
                                         *raft_members_applied(n->raft), false};
        raft_fixture_check_snapshot(w, &m->row);
    }
}

void raft_fixture_turn(struct raft_fixture *w, uint32_t node)
{
    struct raft_fixture_node *n = &w->nodes[node];
    struct instant now = raft_fixture_local(w, n);
    take_writes(n);
    node_send(w, n);
    raft_flush(n->raft, now);
    take_writes(n);
    node_send(w, n);
    const struct raft_entry *e;
    while ((e = raft_next_committed(n->raft)) != NULL) {
        raft_fixture_check_applied(w, n, e);
        trace_add(&w->trace, (struct instant){w->now}, 3, node, (int64_t)e->index);
    }
    if (raft_role(n->raft) != RAFT_LEADER)
        n->proposal_count = 0;
    raft_fixture_answer(w, n);
    stream_snapshots(w, n);
    node_submit(w, n);
    raft_fixture_check(w);
}

/* ---- events ---- */

uint64_t raft_fixture_propose(struct raft_fixture *w, uint32_t node, uint32_t size)
{
    struct raft_fixture_node *n = &w->nodes[node];
    uint8_t bytes[RAFT_FIXTURE_PAYLOAD_MAX] = {0};
    uint64_t id = w->next_id + 1, index;
    must(size >= sizeof id && size <= sizeof bytes);
    memcpy(bytes, &id, sizeof id);
    if (n->proposal_count == RAFT_FIXTURE_WAITING_MAX ||
        raft_propose(n->raft, raft_fixture_local(w, n), LOG_WRITE, slice_make(bytes, 4),
                     slice_make(bytes + 4, size - 4), false, &index) != RAFT_OK)
        return 0;
    w->next_id = id;
    n->proposals[n->proposal_count++] =
        (struct raft_fixture_proposal){id, index, raft_term(n->raft)};
    raft_fixture_turn(w, node);
    return id;
}

enum raft_outcome raft_fixture_change(struct raft_fixture *w, uint32_t node,
                                      enum raft_change change, uint64_t member)
{
    struct raft_fixture_node *n = &w->nodes[node];
    enum raft_outcome outcome =
        raft_change_members(n->raft, raft_fixture_local(w, n), change, member);
    w->counts.changes += outcome == RAFT_OK;
    raft_fixture_turn(w, node);
    return outcome;
}

enum raft_outcome raft_fixture_transfer(struct raft_fixture *w, uint32_t node, uint32_t to)
{
    struct raft_fixture_node *n = &w->nodes[node];
    enum raft_outcome outcome =
        raft_transfer(n->raft, raft_fixture_local(w, n), raft_fixture_member(w, to));
    w->counts.transfers += outcome == RAFT_OK;
    raft_fixture_turn(w, node);
    return outcome;
}

enum raft_outcome raft_fixture_request_read(struct raft_fixture *w, uint32_t node)
{
    struct raft_fixture_node *n = &w->nodes[node];
    struct raft_fixture_read read = {.floor = w->acknowledged, .term = raft_term(n->raft)};
    enum raft_outcome outcome = raft_read(n->raft, raft_fixture_local(w, n), &read.round);
    if (outcome == RAFT_OK) {
        w->reads_done++;
        w->counts.lease_reads++;
        if (n->applied < read.floor)
            raft_fixture_fail(w, "node %u reads by lease as of %llu though %llu was acknowledged",
                              node, (unsigned long long)n->applied, (unsigned long long)read.floor);
    } else if (outcome == RAFT_PENDING && n->read_count < RAFT_FIXTURE_WAITING_MAX) {
        n->reads[n->read_count++] = read;
    }
    raft_fixture_turn(w, node);
    return outcome;
}

void raft_fixture_campaign(struct raft_fixture *w, uint32_t node)
{
    raft_campaign(w->nodes[node].raft, raft_fixture_local(w, &w->nodes[node]));
    raft_fixture_turn(w, node);
}
