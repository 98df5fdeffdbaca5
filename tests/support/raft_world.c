/* raft_world.c - messages, clocks and disks of a group on paper. */
#include "tests/support/raft_world.h"

#include <stdlib.h>

#include "base/must.h"

struct paper_options paper_options_default(uint32_t nodes, uint32_t voters)
{
    return (struct paper_options){
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

struct instant paper_local(const struct paper *w, const struct paper_node *n)
{
    int64_t million = 1000000;
    return (struct instant){n->clock_offset + w->now + w->now / million * n->clock_ppm +
                            w->now % million * n->clock_ppm / million};
}

uint64_t paper_member(const struct paper *w, uint32_t node)
{
    return raft_member_id(node, w->nodes[node].row.generation, 0);
}

/* ---- messages ---- */

static struct paper_message *post(struct paper *w, enum paper_message_kind kind, uint32_t from,
                                  uint32_t to)
{
    if (w->bag_count == w->bag_capacity) {
        w->bag_capacity = w->bag_capacity == 0 ? 64 : w->bag_capacity * 2;
        w->bag = realloc(w->bag, w->bag_capacity * sizeof *w->bag);
        must(w->bag != NULL);
    }
    struct paper_message *m = &w->bag[w->bag_count++];
    *m = (struct paper_message){.kind = kind, .from = from, .to = to, .sequence = ++w->sequence};
    if (w->options.automatic) {
        int64_t slow = !w->calm && prng_below(&w->prng, 50) == 0 ? 100 : 1;
        m->at = w->now + slow * prng_between(&w->prng, 1, w->options.delay_ns_max);
    }
    return m;
}

/* The sender of a snapshot learns how the snapshot ended. */
static void end_snapshot(struct paper *w, const struct paper_node *n, uint32_t to, uint64_t member,
                         uint64_t index)
{
    struct paper_message *m = post(w, PAPER_SNAPSHOT_END, n->id, to);
    m->to_member = member;
    m->index = index;
}

/* ---- life ---- */

static void open_raft(struct paper *w, struct paper_node *n)
{
    const struct raft_options options = {
        .group = PAPER_GROUP,
        .self = paper_member(w, n->id),
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

static void replay(struct paper *w, struct paper_node *n)
{
    raft_replay_hard_state(n->raft, n->row.term, n->row.vote);
    for (size_t i = 0; i < n->record_count; i++) {
        const struct paper_record *r = &n->records[i];
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
            paper_fail(w, "node %u cannot replay its log", n->id);
    }
}

static void start(struct paper *w, uint32_t node, bool fresh)
{
    struct paper_node *n = &w->nodes[node];
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
    struct instant now = paper_local(w, n);
    liveness_init(&n->liveness, &options, now);
    n->live_at = now;
    if (!n->row.hosted)
        return;
    open_raft(w, n);
    replay(w, n);
    raft_start(n->raft, now, fresh ? now : instant_add(now, w->options.support), true);
    paper_turn(w, node);
}

void paper_start(struct paper *w, uint32_t node)
{
    start(w, node, false);
}

static void shut(struct paper_node *n)
{
    raft_destroy(n->raft);
    n->raft = NULL;
    liveness_deinit(&n->liveness);
    n->outbox.count = 0;
    n->up = false;
}

void paper_crash(struct paper *w, uint32_t node, uint32_t kept)
{
    struct paper_node *n = &w->nodes[node];
    must(n->up);
    w->counts.crashes++;
    if (n->installing)
        end_snapshot(w, n, n->incoming_from, paper_member(w, node), 0);
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
    shut(n);
    trace_add(&w->trace, (struct instant){w->now}, 1, node, (int64_t)durable);
}

struct paper *paper_create(const struct paper_options *options)
{
    must(options->nodes >= 1 && options->nodes <= PAPER_NODES_MAX);
    struct paper *w = calloc(1, sizeof *w);
    must(w != NULL);
    w->options = *options;
    w->prng = prng_seeded(options->seed);
    for (uint32_t i = 1; i <= options->voters; i++)
        w->first.all[w->first.count++] = (struct raft_member){raft_member_id(i, 1, 0), true};
    for (uint32_t i = 1; i <= options->nodes; i++) {
        struct paper_node *n = &w->nodes[i];
        n->id = i;
        n->row.base.members = w->first;
        n->row.hosted = i <= options->voters;
        n->row.generation = n->row.hosted;
        start(w, i, true);
    }
    return w;
}

void paper_destroy(struct paper *w)
{
    for (uint32_t i = 1; i <= w->options.nodes; i++) {
        struct paper_node *n = &w->nodes[i];
        if (n->up)
            shut(n);
        raft_outbox_deinit(&n->outbox);
        free(n->records);
    }
    while (w->bag_count > 0)
        paper_drop(w, 0);
    free(w->bag);
    free(w->committed);
    arena_deinit(&w->arena);
    free(w);
}

void paper_host(struct paper *w, uint32_t node)
{
    struct paper_node *n = &w->nodes[node];
    must(n->up && n->raft == NULL);
    n->row = (struct paper_row){.base = {.members = w->first},
                                .since_lsn = n->next_lsn,
                                .generation = n->row.generation + 1,
                                .hosted = true};
    open_raft(w, n);
    raft_start(n->raft, paper_local(w, n), paper_local(w, n), true);
    paper_turn(w, node);
}

void paper_unhost(struct paper *w, uint32_t node)
{
    struct paper_node *n = &w->nodes[node];
    must(n->up && n->raft != NULL);
    if (n->installing)
        end_snapshot(w, n, n->incoming_from, paper_member(w, node), 0);
    raft_destroy(n->raft);
    n->raft = NULL;
    n->row.hosted = false;
    n->installing = false;
}

/* ---- the disk ---- */

static void append_record(struct paper_node *n, const struct paper_record *r)
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

static void append_entry(struct paper_node *n, uint64_t index)
{
    const struct raft_entry *e = raft_entry_at(n->raft, index);
    must(e != NULL && e->payload.size <= PAPER_PAYLOAD_MAX);
    struct paper_record r = {
        .kind = e->kind, .term = e->term, .index = index, .size = (uint32_t)e->payload.size};
    if (r.size > 0)
        memcpy(r.payload, e->payload.data, r.size);
    append_record(n, &r);
    raft_entry_logged(n->raft, index, n->next_lsn);
}

static void take_writes(struct paper_node *n)
{
    struct raft_writes writes;
    if (!raft_take_writes(n->raft, &writes))
        return;
    if (writes.hard_state) {
        append_record(n, &(struct paper_record){
                             .kind = LOG_HARD_STATE, .term = writes.term, .index = writes.vote});
        raft_hard_state_logged(n->raft, n->next_lsn);
    }
    for (uint64_t i = writes.first; i <= writes.last; i++)
        append_entry(n, i);
}

static void submit(struct paper *w, struct paper_node *n)
{
    if (!w->options.automatic || n->submitted_lsn != 0 || n->next_lsn == n->durable_lsn)
        return;
    n->submitted_lsn = n->next_lsn;
    int64_t slow = n->slow_disk > 1 ? n->slow_disk : 1;
    n->sync_at = w->now + slow * prng_between(&w->prng, 1, w->options.sync_ns_max);
}

void paper_sync_to(struct paper *w, uint32_t node, uint64_t lsn)
{
    struct paper_node *n = &w->nodes[node];
    must(lsn <= n->next_lsn);
    n->durable_lsn = lsn;
    if (n->submitted_lsn <= lsn)
        n->submitted_lsn = 0;
    if (n->raft == NULL)
        return;
    raft_persisted(n->raft, paper_local(w, n), lsn);
    paper_turn(w, node);
}

void paper_sync(struct paper *w, uint32_t node)
{
    paper_sync_to(w, node, w->nodes[node].next_lsn);
}

static void trim(struct paper_node *n, uint64_t lsn)
{
    size_t kept = 0;
    for (size_t i = 0; i < n->record_count; i++) {
        if (n->records[i].lsn >= lsn)
            n->records[kept++] = n->records[i];
    }
    n->record_count = kept;
}

void paper_checkpoint(struct paper *w, uint32_t node, bool compact)
{
    struct paper_node *n = &w->nodes[node];
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
    trim(n, pinned < n->durable_lsn ? pinned : n->durable_lsn);
    if (compact)
        raft_compact(n->raft, applied);
    w->counts.compactions += compact;
}

void paper_rewrite(struct paper *w, uint32_t node)
{
    struct paper_node *n = &w->nodes[node];
    if (n->raft == NULL)
        return;
    for (uint64_t i = raft_applied(n->raft) + 1; i <= raft_last(n->raft); i++)
        append_entry(n, i);
    paper_turn(w, node);
}

/* ---- the network ---- */

static bool is_lost(struct paper *w, uint32_t from, uint32_t to)
{
    return w->cut[from][to] || (w->drop_percent > 0 && prng_below(&w->prng, 100) < w->drop_percent);
}

static void copy_message(struct paper *w, const struct paper_message *m, struct paper_message *out)
{
    struct buffer bytes = {0};
    buffer_append_slice(&bytes, buffer_slice(&m->bytes));
    *out = *m;
    out->bytes = bytes;
    (void)w;
}

static void post_raft(struct paper *w, struct paper_node *n, const struct raft_message *message)
{
    uint32_t to = raft_member_node(message->to);
    w->raft_messages++;
    if (to == 0 || to > w->options.nodes || to == n->id ||
        (w->options.automatic && is_lost(w, n->id, to)))
        return;
    struct paper_message *m = post(w, PAPER_RAFT, n->id, to);
    raft_message_encode(&m->bytes, message);
    m->shape = *message;
    m->shape.entries = NULL;
    if (w->duplicate_percent > 0 && prng_below(&w->prng, 100) < w->duplicate_percent) {
        struct paper_message copy;
        copy_message(w, m, &copy);
        struct paper_message *again = post(w, PAPER_RAFT, n->id, to);
        copy.at = again->at;
        copy.sequence = again->sequence;
        *again = copy;
    }
}

void paper_post_beat(struct paper *w, struct paper_node *n, uint32_t to, bool heartbeat)
{
    struct liveness_beat beat = liveness_beat(&n->liveness, paper_local(w, n), to, heartbeat);
    if (is_lost(w, n->id, to))
        return;
    struct paper_message *m = post(w, PAPER_BEAT, n->id, to);
    liveness_beat_encode(&m->bytes, &beat);
    if (!w->options.automatic)
        paper_deliver(w, w->bag_count - 1);
}

void paper_drop(struct paper *w, size_t at)
{
    must(at < w->bag_count);
    buffer_deinit(&w->bag[at].bytes);
    w->bag_count--;
    memmove(&w->bag[at], &w->bag[at + 1], (w->bag_count - at) * sizeof *w->bag);
}

static void hear(struct paper *w, struct paper_node *n, const struct paper_message *m)
{
    struct reader r = {buffer_slice(&m->bytes), false};
    struct liveness_beat beat;
    must(liveness_beat_decode(&r, &beat) == STATUS_OK);
    struct instant now = paper_local(w, n);
    struct liveness_change change = liveness_heard(&n->liveness, now, m->from, &beat);
    if (change.answer)
        paper_post_beat(w, n, m->from, false);
    n->live_at = liveness_deadline(&n->liveness, now);
    if (n->raft == NULL)
        return;
    if (change.given || change.restarted)
        raft_tick(n->raft, now);
    if (change.got)
        raft_node_heard(n->raft, now, m->from);
    paper_turn(w, n->id);
}

static void begin_install(struct paper *w, struct paper_node *n, const struct paper_message *m)
{
    bool wanted = n->up && n->raft != NULL && raft_self(n->raft) == m->to_member &&
                  !n->installing && raft_role(n->raft) != RAFT_LEADER &&
                  (n->row.base.no_state || m->row.base.index > raft_commit(n->raft));
    if (!wanted) {
        end_snapshot(w, n, m->from, m->to_member, 0);
        return;
    }
    raft_install_begin(n->raft);
    paper_turn(w, n->id);
    n->row.base.no_state = true; /* durable before the first row changes */
    n->row.hash = ~n->row.hash;  /* then the state is neither the old one nor the new */
    n->installing = true;
    n->incoming = m->row;
    n->incoming_from = m->from;
    n->install_at = w->now + prng_between(&w->prng, 1, 5 * w->options.delay_ns_max);
}

/* The state and the base become durable together. Then raft learns of them. */
void paper_install(struct paper *w, uint32_t node)
{
    struct paper_node *n = &w->nodes[node];
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
    if (raft_install(n->raft, paper_local(w, n), &n->row.base)) {
        n->applied = index;
        n->hash = n->incoming.hash;
        w->counts.snapshots++;
    } else {
        paper_fail(w, "node %u refuses a snapshot it began to install", node);
    }
    end_snapshot(w, n, n->incoming_from, raft_self(n->raft), index);
    paper_turn(w, node);
}

static void deliver(struct paper *w, const struct paper_message *m)
{
    struct paper_node *n = &w->nodes[m->to];
    if (m->kind == PAPER_SNAPSHOT) {
        begin_install(w, n, m);
        return;
    }
    if (!n->up)
        return;
    if (m->kind == PAPER_BEAT) {
        hear(w, n, m);
        return;
    }
    struct instant now = paper_local(w, n);
    if (m->kind == PAPER_SNAPSHOT_END) {
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
    paper_turn(w, n->id);
}

void paper_deliver(struct paper *w, size_t at)
{
    must(at < w->bag_count);
    struct paper_message m = w->bag[at];
    w->bag_count--;
    memmove(&w->bag[at], &w->bag[at + 1], (w->bag_count - at) * sizeof *w->bag);
    deliver(w, &m);
    buffer_deinit(&m.bytes);
}

void paper_deliver_copy(struct paper *w, size_t at)
{
    must(at < w->bag_count);
    struct paper_message m;
    copy_message(w, &w->bag[at], &m);
    deliver(w, &m);
    buffer_deinit(&m.bytes);
}

/* ---- the end of an event ---- */

static void send(struct paper *w, struct paper_node *n)
{
    for (size_t i = 0; i < n->outbox.count; i++)
        post_raft(w, n, &n->outbox.messages[i]);
    n->outbox.count = 0;
}

static void stream_snapshots(struct paper *w, struct paper_node *n)
{
    uint64_t member;
    while ((member = raft_next_snapshot(n->raft)) != 0) {
        raft_snapshot_started(n->raft, member);
        uint32_t to = raft_member_node(member);
        if (is_lost(w, n->id, to)) {
            end_snapshot(w, n, n->id, member, 0); /* the sender notices later */
            continue;
        }
        struct paper_message *m = post(w, PAPER_SNAPSHOT, n->id, to);
        m->to_member = member;
        m->row.hash = n->hash;
        m->row.base = (struct raft_base){n->applied, raft_term_at(n->raft, n->applied),
                                         *raft_members_applied(n->raft), false};
        paper_check_snapshot(w, &m->row);
    }
}

void paper_turn(struct paper *w, uint32_t node)
{
    struct paper_node *n = &w->nodes[node];
    struct instant now = paper_local(w, n);
    take_writes(n);
    send(w, n);
    raft_flush(n->raft, now);
    take_writes(n);
    send(w, n);
    const struct raft_entry *e;
    while ((e = raft_next_committed(n->raft)) != NULL) {
        paper_check_applied(w, n, e);
        trace_add(&w->trace, (struct instant){w->now}, 3, node, (int64_t)e->index);
    }
    if (raft_role(n->raft) != RAFT_LEADER)
        n->proposal_count = 0;
    paper_answer(w, n);
    stream_snapshots(w, n);
    submit(w, n);
    paper_check(w);
}

/* ---- events ---- */

uint64_t paper_propose(struct paper *w, uint32_t node, uint32_t size)
{
    struct paper_node *n = &w->nodes[node];
    uint8_t bytes[PAPER_PAYLOAD_MAX] = {0};
    uint64_t id = w->next_id + 1, index;
    must(size >= sizeof id && size <= sizeof bytes);
    memcpy(bytes, &id, sizeof id);
    if (n->proposal_count == PAPER_WAITING_MAX ||
        raft_propose(n->raft, paper_local(w, n), LOG_WRITE, slice_make(bytes, 4),
                     slice_make(bytes + 4, size - 4), false, &index) != RAFT_OK)
        return 0;
    w->next_id = id;
    n->proposals[n->proposal_count++] = (struct paper_proposal){id, index, raft_term(n->raft)};
    paper_turn(w, node);
    return id;
}

enum raft_outcome paper_change(struct paper *w, uint32_t node, enum raft_change change,
                               uint64_t member)
{
    struct paper_node *n = &w->nodes[node];
    enum raft_outcome outcome = raft_change_members(n->raft, paper_local(w, n), change, member);
    w->counts.changes += outcome == RAFT_OK;
    paper_turn(w, node);
    return outcome;
}

enum raft_outcome paper_transfer(struct paper *w, uint32_t node, uint32_t to)
{
    struct paper_node *n = &w->nodes[node];
    enum raft_outcome outcome = raft_transfer(n->raft, paper_local(w, n), paper_member(w, to));
    w->counts.transfers += outcome == RAFT_OK;
    paper_turn(w, node);
    return outcome;
}

enum raft_outcome paper_ask(struct paper *w, uint32_t node)
{
    struct paper_node *n = &w->nodes[node];
    struct paper_read read = {.floor = w->acknowledged, .term = raft_term(n->raft)};
    enum raft_outcome outcome = raft_read(n->raft, paper_local(w, n), &read.round);
    if (outcome == RAFT_OK) {
        w->reads_done++;
        w->counts.lease_reads++;
        if (n->applied < read.floor)
            paper_fail(w, "node %u reads by lease as of %llu though %llu was acknowledged", node,
                       (unsigned long long)n->applied, (unsigned long long)read.floor);
    } else if (outcome == RAFT_PENDING && n->read_count < PAPER_WAITING_MAX) {
        n->reads[n->read_count++] = read;
    }
    paper_turn(w, node);
    return outcome;
}

void paper_campaign(struct paper *w, uint32_t node)
{
    raft_campaign(w->nodes[node].raft, paper_local(w, &w->nodes[node]));
    paper_turn(w, node);
}
