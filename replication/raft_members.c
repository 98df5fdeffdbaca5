/* raft_members.c - the members of the group: as bytes, as a history along the log, as peers. */
#include <stdlib.h>

#include "base/codec.h"
#include "replication/raft_internal.h"

/* ---- bytes: u8 count, then u64 id and u8 voter each ---- */

const struct raft_member *raft_members_find(const struct raft_members *m, uint64_t id)
{
    for (uint32_t i = 0; i < m->count; i++) {
        if (m->all[i].id == id)
            return &m->all[i];
    }
    return NULL;
}

static void raft_members_walk(struct codec *c, struct raft_members *m)
{
    uint32_t voters = 0;
    must(m->count <= RAFT_MEMBERS_MAX);
    codec_count(c, &m->count, 0, RAFT_MEMBERS_MAX);
    for (uint32_t i = 0; i < m->count && !codec_failed(c); i++) {
        struct raft_member *member = &m->all[i];
        codec_u64(c, &member->id);
        codec_bool(c, &member->voter);
        codec_check(c, member->id != 0 && raft_members_find(m, member->id) == member);
        voters += member->voter;
    }
    codec_check(c, voters > 0);
}

CODEC_ENCODE(raft_members)
CODEC_DECODE(raft_members)

/* ---- history ---- */

const struct raft_members *raft_members_as_of(const struct raft *r, uint64_t index)
{
    uint32_t i = r->history_count - 1;
    while (i > 0 && r->history[i].index > index)
        i--;
    return &r->history[i].members;
}

void raft_history_push(struct raft *r, uint64_t index, const struct raft_members *m)
{
    must(r->history_count == 0 || r->history[r->history_count - 1].index < index);
    if (r->history_count == r->history_capacity) {
        r->history_capacity = r->history_capacity == 0 ? 1 : r->history_capacity * 2;
        r->history = must_have(realloc(r->history, r->history_capacity * sizeof *r->history));
    }
    r->history[r->history_count++] = (struct raft_members_at){index, *m};
    raft_peers_sync(r);
}

void raft_history_truncate(struct raft *r, uint64_t index)
{
    uint32_t count = r->history_count;
    while (count > 1 && r->history[count - 1].index >= index)
        count--;
    if (count == r->history_count)
        return;
    if (MUTATED(MUTATION_KEEP_MEMBERS) && count == 1)
        r->history[0].members = r->history[r->history_count - 1].members;
    r->history_count = count;
    raft_peers_sync(r);
}

void raft_history_compact(struct raft *r, uint64_t index)
{
    uint32_t first = r->history_count - 1;
    while (first > 0 && r->history[first].index > index)
        first--;
    if (first == 0)
        return;
    r->history_count -= first;
    memmove(r->history, r->history + first, r->history_count * sizeof *r->history);
    if (r->history_count == 1) {
        struct raft_members_at *less = must_have(realloc(r->history, sizeof *less));
        r->history = less;
        r->history_capacity = 1;
    }
}

/* ---- peers ---- */

struct raft_peer *raft_peer_find(const struct raft *r, uint64_t id)
{
    for (uint32_t i = 0; i < r->peer_count; i++) {
        if (r->peers[i].id == id)
            return &r->peers[i];
    }
    return NULL;
}

void raft_peers_sync(struct raft *r)
{
    const struct raft_members *m = raft_members(r);
    uint32_t others = 0;
    for (uint32_t i = 0; i < m->count; i++)
        others += m->all[i].id != r->self;
    struct raft_peer *peers = calloc(others, sizeof *peers);
    must(peers != NULL || others == 0);
    uint32_t count = 0;
    r->voter = false;
    for (uint32_t i = 0; i < m->count; i++) {
        if (m->all[i].id == r->self) {
            r->voter = m->all[i].voter;
            continue;
        }
        struct raft_peer *p = &peers[count++];
        const struct raft_peer *known = raft_peer_find(r, m->all[i].id);
        if (known != NULL)
            *p = *known;
        else
            *p = (struct raft_peer){.id = m->all[i].id,
                                    .next = raft_last(r) + 1,
                                    .probe = raft_last(r) + 1,
                                    .append_due = true};
        p->voter = m->all[i].voter;
    }
    free(r->peers);
    r->peers = peers;
    r->peer_count = count;
}

uint32_t raft_voters(const struct raft *r)
{
    uint32_t voters = r->voter;
    for (uint32_t i = 0; i < r->peer_count; i++)
        voters += r->peers[i].voter;
    return voters;
}

uint64_t raft_quorum(const struct raft *r, uint64_t own,
                     uint64_t (*value)(const struct raft_peer *p))
{
    uint64_t sorted[RAFT_MEMBERS_MAX]; /* descending */
    uint32_t count = 0;
    for (uint32_t i = 0; i <= r->peer_count; i++) {
        bool self = i == r->peer_count;
        if (self ? !r->voter : !r->peers[i].voter)
            continue;
        uint64_t v = self ? own : value(&r->peers[i]);
        uint32_t at = count++;
        for (; at > 0 && sorted[at - 1] < v; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = v;
    }
    must(count > 0);
    return sorted[count / 2];
}
