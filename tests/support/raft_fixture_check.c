/* raft_fixture_check.c - what must hold in a raft fixture at every moment: one leader a term,
 * leader completeness, log matching, one sequence of applied entries, nothing acknowledged lost,
 * reads that see every write acknowledged before them, one lease holder. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/must.h"
#include "tests/support/raft_fixture.h"

void raft_fixture_fail(struct raft_fixture *w, const char *format, ...)
{
    if (w->violation[0] != '\0')
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(w->violation, sizeof w->violation, format, arguments);
    va_end(arguments);
}

uint64_t raft_fixture_entry_id(const struct raft_entry *e)
{
    uint64_t id = 0;
    if (e->kind == LOG_WRITE)
        memcpy(&id, e->payload.data, sizeof id);
    return id;
}

static uint64_t hash_mix(uint64_t hash, uint64_t value)
{
    struct prng p = prng_seeded(hash ^ (value * UINT64_C(0x9E3779B97F4A7C15)));
    return prng_next(&p);
}

static void entry_remember(struct raft_fixture *w, const struct raft_entry *e, uint64_t seen_term,
                           uint64_t hash)
{
    if (w->committed_count + 1 >= w->committed_capacity) {
        w->committed_capacity = w->committed_capacity == 0 ? 64 : w->committed_capacity * 2;
        w->committed = realloc(w->committed, w->committed_capacity * sizeof *w->committed);
        must(w->committed != NULL);
    }
    w->committed[++w->committed_count] =
        (struct raft_fixture_committed){e->term, raft_fixture_entry_id(e), seen_term, hash};
}

/* A node applies an entry: it must be the next one, and equal to what other nodes applied there. */
void raft_fixture_check_applied(struct raft_fixture *w, struct raft_fixture_node *n,
                                const struct raft_entry *e)
{
    if (e->index != n->applied + 1) {
        raft_fixture_fail(w, "node %u applies %llu after %llu", n->id, (unsigned long long)e->index,
                          (unsigned long long)n->applied);
        return;
    }
    n->applied = e->index;
    n->hash = hash_mix(hash_mix(n->hash, e->term), raft_fixture_entry_id(e));
    if (e->index > w->committed_count) {
        if (e->index != w->committed_count + 1) {
            raft_fixture_fail(w, "node %u applies %llu, which nobody committed after %llu", n->id,
                              (unsigned long long)e->index, (unsigned long long)w->committed_count);
            return;
        }
        entry_remember(w, e, raft_term(n->raft), n->hash);
    }
    const struct raft_fixture_committed *c = &w->committed[e->index];
    if (c->term != e->term || c->id != raft_fixture_entry_id(e) || c->hash != n->hash)
        raft_fixture_fail(
            w, "node %u applies at %llu term %llu id %llu; another did term %llu id %llu", n->id,
            (unsigned long long)e->index, (unsigned long long)e->term,
            (unsigned long long)raft_fixture_entry_id(e), (unsigned long long)c->term,
            (unsigned long long)c->id);
    for (uint32_t i = 0; i < n->proposal_count; i++) {
        const struct raft_fixture_proposal *p = &n->proposals[i];
        if (p->index != e->index || p->term != e->term)
            continue;
        if (p->id != raft_fixture_entry_id(e))
            raft_fixture_fail(w, "node %u proposed another entry at %llu of its own term", n->id,
                              (unsigned long long)e->index);
        if (w->acknowledged < e->index)
            w->acknowledged = e->index;
        w->acknowledged_count++;
        w->counts.acknowledged++;
        n->proposals[i] = n->proposals[--n->proposal_count];
        break;
    }
}

/* Answers confirmed reads from what is applied. */
void raft_fixture_answer(struct raft_fixture *w, struct raft_fixture_node *n)
{
    uint64_t leading = raft_leading(n->raft);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n->read_count; i++) {
        const struct raft_fixture_read *r = &n->reads[i];
        bool leads = raft_role(n->raft) == RAFT_LEADER && raft_term(n->raft) == r->term;
        if (!leads)
            continue; /* refused: the client asks again */
        if (leading != r->term || raft_reads_confirmed(n->raft) < r->round) {
            n->reads[kept++] = *r;
            continue;
        }
        w->reads_done++;
        w->counts.round_reads++;
        if (n->applied < r->floor)
            raft_fixture_fail(w, "node %u reads as of %llu though %llu was acknowledged before",
                              n->id, (unsigned long long)n->applied, (unsigned long long)r->floor);
    }
    n->read_count = kept;
}

void raft_fixture_check_snapshot(struct raft_fixture *w, const struct raft_fixture_row *row)
{
    if (row->base.index > 0 &&
        (row->base.index > w->committed_count || w->committed[row->base.index].hash != row->hash ||
         w->committed[row->base.index].term != row->base.term))
        raft_fixture_fail(w, "a snapshot at %llu is of another history",
                          (unsigned long long)row->base.index);
}

/* ---- leaders ---- */

static void check_completeness(struct raft_fixture *w, const struct raft_fixture_node *n)
{
    const struct raft *r = n->raft;
    for (uint64_t i = 1; i <= w->committed_count; i++) {
        const struct raft_fixture_committed *c = &w->committed[i];
        if (c->seen_term >= raft_term(r) || i < raft_first(r))
            continue;
        if (i > raft_last(r) || raft_term_at(r, i) != c->term)
            raft_fixture_fail(w, "node %u leads term %llu without %llu, committed by term %llu",
                              n->id, (unsigned long long)raft_term(r), (unsigned long long)i,
                              (unsigned long long)c->seen_term);
    }
}

static void check_leader(struct raft_fixture *w, const struct raft_fixture_node *n)
{
    uint64_t term = raft_term(n->raft);
    if (term >= sizeof w->leader_of / sizeof w->leader_of[0])
        return;
    if (w->leader_of[term] != raft_self(n->raft)) {
        if (w->leader_of[term] != 0)
            raft_fixture_fail(w, "members %llx and %llx lead term %llu",
                              (unsigned long long)w->leader_of[term],
                              (unsigned long long)raft_self(n->raft), (unsigned long long)term);
        w->leader_of[term] = raft_self(n->raft);
        w->counts.leaders++;
        check_completeness(w, n);
    }
}

static uint64_t floor_of(const struct raft *r)
{
    return raft_first(r) - 1;
}

/* If two logs have an entry of the same index and term, their entries before it are equal, as far
 * as both logs have them. */
static void check_pair(struct raft_fixture *w, const struct raft *a, const struct raft *b)
{
    uint64_t low = floor_of(a) > floor_of(b) ? floor_of(a) : floor_of(b);
    uint64_t high = raft_last(a) < raft_last(b) ? raft_last(a) : raft_last(b);
    while (high > low && raft_term_at(a, high) != raft_term_at(b, high))
        high--;
    for (uint64_t i = high; i > low; i--) {
        if (raft_term_at(a, i) != raft_term_at(b, i) ||
            raft_fixture_entry_id(raft_entry_at(a, i)) !=
                raft_fixture_entry_id(raft_entry_at(b, i))) {
            raft_fixture_fail(w, "logs of %llx and %llx agree at %llu but not at %llu",
                              (unsigned long long)raft_self(a), (unsigned long long)raft_self(b),
                              (unsigned long long)high, (unsigned long long)i);
            return;
        }
    }
}

void raft_fixture_check_logs(struct raft_fixture *w)
{
    for (uint32_t a = 1; a <= w->options.nodes; a++) {
        for (uint32_t b = a + 1; b <= w->options.nodes; b++) {
            if (w->nodes[a].up && w->nodes[a].raft != NULL && w->nodes[b].up &&
                w->nodes[b].raft != NULL)
                check_pair(w, w->nodes[a].raft, w->nodes[b].raft);
        }
    }
}

void raft_fixture_check(struct raft_fixture *w)
{
    uint32_t holder = 0;
    for (uint32_t i = 1; i <= w->options.nodes; i++) {
        const struct raft_fixture_node *n = &w->nodes[i];
        if (!n->up || n->raft == NULL || raft_role(n->raft) != RAFT_LEADER)
            continue;
        check_leader(w, n);
        if (!raft_has_lease(n->raft, raft_fixture_local(w, n)))
            continue;
        if (holder != 0) /* RAFT-5 */
            raft_fixture_fail(w, "nodes %u and %u both hold a lease", holder, i);
        holder = i;
    }
}

void raft_fixture_dump(const struct raft_fixture *w)
{
    printf("at %lld ms: %s\n", (long long)(w->now / NS_PER_MS), w->violation);
    for (uint32_t i = 1; i <= w->options.nodes; i++) {
        const struct raft_fixture_node *n = &w->nodes[i];
        printf("node %u %s%s generation %u", i, n->up ? "up" : "down", n->paused ? " paused" : "",
               n->row.generation);
        if (n->raft == NULL) {
            printf(", no replica\n");
            continue;
        }
        const struct raft *r = n->raft;
        printf(" role %d term %llu leader %llx first %llu last %llu commit %llu applied %llu%s%s\n",
               (int)raft_role(r), (unsigned long long)raft_term(r),
               (unsigned long long)raft_leader(r), (unsigned long long)raft_first(r),
               (unsigned long long)raft_last(r), (unsigned long long)raft_commit(r),
               (unsigned long long)raft_applied(r), n->row.base.no_state ? " no state" : "",
               n->installing ? " installing" : "");
        const struct raft_members *m = raft_members(r);
        struct instant until;
        printf("   deadline in %lld ms; members",
               raft_deadline(r).ns == INSTANT_NEVER.ns
                   ? -1
                   : (long long)((raft_deadline(r).ns - raft_fixture_local(w, n).ns) / NS_PER_MS));
        for (uint32_t k = 0; k < m->count; k++)
            printf(" %llx%s(match %llu, got %llx)", (unsigned long long)m->all[k].id,
                   m->all[k].voter ? "" : "-", (unsigned long long)raft_match(r, m->all[k].id),
                   (unsigned long long)liveness_got(&n->liveness, raft_fixture_local(w, n),
                                                    raft_member_node(m->all[k].id), &until));
        printf("\n");
    }
}
