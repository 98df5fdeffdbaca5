#include "sim/check.h"

#include <stdlib.h>
#include <xxhash.h>

#include "base/must.h"
#include "engine/catalog/table.h"

static bool check_node(struct node_process *p, uint32_t id, struct buffer *why)
{
    struct node *n = node_process_node(p);
    struct node_verification v;
    if (n == NULL || node_is_stopped(n)) {
        buffer_append_format(why, "node %u is %s though all is calm\n", id,
                             n == NULL ? "down" : "stopped");
        return false;
    }
    if (node_verify(n, &v) != STATUS_OK) {
        buffer_append_format(why, "node %u cannot be verified\n", id);
        return false;
    }
    if (v.damaged == 0 && v.miscounted == 0)
        return true;
    buffer_append_format(why,
                         "node %u holds %lld damaged items, and %u partitions are miscounted\n", id,
                         (long long)v.damaged, v.miscounted);
    return false;
}

bool check_nodes(struct node_process *const *nodes, uint32_t count, struct buffer *why)
{
    for (uint32_t id = 1; id <= count; id++) {
        if (!check_node(nodes[id], id, why))
            return false;
    }
    return true;
}

/* ---- replicas ---- */

/* The first key of no table with this or a lower number. */
static void bound_of(uint32_t table_id, uint8_t out[4])
{
    uint32_t be = __builtin_bswap32(table_id);
    memcpy(out, &be, sizeof be);
}

static bool check_ranges(const struct table *t, struct buffer *why)
{
    uint8_t lo[4], hi[4];
    bound_of(t->id, lo);
    bound_of(t->id + 1, hi);
    must(t->partition_count > 0);
    const struct partition_info *last = &t->partitions[t->partition_count - 1];
    bool whole = slice_compare(t->partitions[0].lo, slice_make(lo, sizeof lo)) <= 0 ||
                 slice_equal(t->partitions[0].lo, slice_make(lo, sizeof lo));
    whole &= last->hi.size == 0 || slice_compare(last->hi, slice_make(hi, sizeof hi)) >= 0;
    for (uint32_t i = 1; i < t->partition_count; i++)
        whole &= slice_equal(t->partitions[i - 1].hi, t->partitions[i].lo);
    if (!whole)
        buffer_append_text(why, "the partitions of the table are not the whole key space\n");
    return whole;
}

struct contents {
    uint64_t hash;
    uint64_t items;
};

static bool read_range(struct node *n, const struct partition_info *p, struct contents *out)
{
    struct store_cursor c;
    struct slice key, value;
    uint8_t next_table[4];
    bound_of(p->table_id + 1, next_table);
    struct slice hi = p->hi.size > 0 ? p->hi : slice_make(next_table, sizeof next_table);
    enum status status;
    *out = (struct contents){0};
    store_seek(node_store(n), p->lo, hi, false, &c);
    while ((status = store_next(&c, &key, &value)) == STATUS_OK) {
        out->items++;
        out->hash = XXH3_64bits_withSeed(key.data, key.size, out->hash);
        out->hash = XXH3_64bits_withSeed(value.data, value.size, out->hash);
    }
    return status == STATUS_NOT_FOUND;
}

#include "engine/node_internal.h"
#include <stdio.h>
void debug_dump(struct node *n);
struct settling {
    struct settling *next;
    uint32_t table_id;
    enum table_status status;
    uint32_t count;
    uint32_t round;
    uint32_t attempt;
    uint32_t missing; /* slots not done */
    bool proposed;    /* CATALOG_SETTLE is in the log */
    struct instant send_at;
    uint8_t done[]; /* by partition: a bit per slot */
};

struct snapshot_out {
    struct snapshot_out *next;
    uint32_t group;
    uint64_t to;
    uint64_t id;
    uint64_t term; /* led in, when it began */
    uint64_t index;
    struct backing_snapshot *source; /* owns */
    struct buffer row;
    struct buffer key;  /* the last one acknowledged */
    struct buffer sent; /* the last one of the chunk on its way */
    uint64_t sequence;  /* 0: BEGIN is to be acknowledged first */
    bool on_its_way;
    bool sent_last;
    uint32_t tries;
    struct instant again_at;
};

struct snapshot_in {
    struct snapshot_in *next;
    uint32_t group;
    uint64_t from;
    uint64_t id;
    struct raft_base base;
    uint64_t sequence;
    int64_t item_count;
    int64_t item_bytes;
    struct buffer key; /* everything up to it is in place */
    bool whole;        /* all of it, on its way to the backing */
    bool frozen;       /* in the checkpoint that is being written */
    bool installed;
};

void debug_dump(struct node *n)
{
    if (n == NULL) {
        printf("down\n");
        return;
    }
    printf("== node %u gen %x stop %d now %ld full %d inflight %u deferred %u founded %d space %lu "
           "log %lu active %zu frozen %d ckpt_at %ld store_lsn %lu\n",
           n->options.id, n->generation, n->stop_error, n->now.ns, n->map_full, n->inflight_count,
           n->deferred_count, n->founded, n->log_space_end, n->log.next_lsn,
           store_active_bytes(n->store), store_is_frozen(n->store), n->checkpoint_at.ns,
           store_log_lsn(n->store));
    for (uint32_t k = 1; k <= n->options.node_count; k++)
        printf("  peer %u gen %x fresh %d reach %d\n", k, n->peers[k].generation, n->peers[k].fresh,
               node_is_reachable(n, k));
    if (n->catalog) {
        for (uint32_t k = 1; k <= n->options.node_count; k++)
            printf("  CATGEN %u %x\n", k, catalog_generation(n->catalog, k));
        struct slice name = {NULL, 0};
        for (const struct table *t; (t = catalog_after(n->catalog, name)) != NULL; name = t->name) {
            printf("  TABLE %u status %d needs %d\n", t->id, t->status,
                   catalog_needs_replacing(n->catalog, t));
            for (uint32_t i = 0; i < t->partition_count; i++)
                for (uint32_t k = 0; k < t->partitions[i].member_count; k++)
                    printf("    P %u %lx %d epoch %lu\n", t->partitions[i].id,
                           t->partitions[i].members[k], t->partitions[i].joined >> k & 1,
                           t->partitions[i].epoch);
        }
        for (struct settling *s = n->settling; s; s = s->next) {
            printf("  SETTLING table %u status %d count %u round %u attempt %u missing %u proposed "
                   "%d send_at %ld done",
                   s->table_id, s->status, s->count, s->round, s->attempt, s->missing, s->proposed,
                   s->send_at.ns);
            for (uint32_t k = 0; k < s->count; k++)
                printf(" %x", s->done[k]);
            printf("\n");
        }
        printf("  nodes_at %ld\n", n->nodes_at.ns);
    }
    for (struct snapshot_out *s = n->snapshots_out; s; s = s->next)
        printf("  OUT group %u to %lx id %lx term %lu index %lu seq %lu onway %d last %d tries %u "
               "again %ld\n",
               s->group, s->to, s->id, s->term, s->index, s->sequence, s->on_its_way, s->sent_last,
               s->tries, s->again_at.ns);
    for (struct snapshot_in *s = n->snapshots_in; s; s = s->next)
        printf("  IN group %u from %lx id %lx seq %lu whole %d frozen %d installed %d index %lu\n",
               s->group, s->from, s->id, s->sequence, s->whole, s->frozen, s->installed,
               s->base.index);
    for (uint32_t id = 0; id < n->partitions_size; id++) {
        struct partition *p = n->partitions[id];
        if (p == NULL)
            continue;
        struct raft *r = p->raft;
        printf("  part %u self %lx role %d term %lu leader %lx first %lu last %lu commit %lu "
               "applied %lu nostate %d installing %d hold %lu led %lu next_snapshot %lx deadline "
               "%ld closing %d\n",
               id, raft_self(r), raft_role(r), raft_term(r), raft_leader(r), raft_first(r),
               raft_last(r), raft_commit(r), raft_applied(r), p->no_state, p->installing != NULL,
               p->hold, p->led, raft_next_snapshot(r), raft_deadline(r).ns, p->closing);
        const struct raft_members *m = raft_members(r);
        for (uint32_t i = 0; i < m->count; i++)
            printf("     member %lx voter %d match %lu\n", m->all[i].id, m->all[i].voter,
                   raft_match(r, m->all[i].id));
        for (uint32_t i = 0; i < p->info.member_count; i++)
            printf("     wanted %lx%s\n", p->info.members[i],
                   p->info.joined >> i & 1 ? " joined" : "");
    }
}

static bool check_partition(struct node_process *const *nodes, const struct partition_info *p,
                            uint32_t replicas, struct buffer *why)
{
    struct contents first, other;
    if (p->member_count != replicas) {
        buffer_append_format(why, "partition %u has %u replicas and should have %u\n", p->id,
                             p->member_count, replicas);
        return false;
    }
    for (uint32_t i = 0; i < p->member_count; i++) {
        uint32_t node = partition_node(p, i);
        struct contents *c = i == 0 ? &first : &other;
        if (!read_range(node_process_node(nodes[node]), p, c)) {
            buffer_append_format(why, "node %u cannot read partition %u\n", node, p->id);
            return false;
        }
        if (i == 0 || (first.hash == other.hash && first.items == other.items))
            continue;
        for (uint32_t q = 1; q <= 9; q++)
            if (nodes[q])
                debug_dump(node_process_node(nodes[q]));
        buffer_append_format(why,
                             "the replicas of partition %u differ: %llu items on node %u, %llu on "
                             "node %u\n",
                             p->id, (unsigned long long)first.items, partition_node(p, 0),
                             (unsigned long long)other.items, node);
        return false;
    }
    return true;
}

bool check_replicas(struct node_process *const *nodes, struct slice table, uint32_t replicas,
                    struct buffer *why)
{
    struct arena arena = {0};
    struct table t;
    bool good = table.size > 0 && table_decode(table, &arena, &t) == STATUS_OK;
    if (!good)
        buffer_append_text(why, "no node answers for the table\n");
    good = good && check_ranges(&t, why);
    for (uint32_t i = 0; good && i < t.partition_count; i++)
        good = check_partition(nodes, &t.partitions[i], replicas, why);
    arena_deinit(&arena);
    return good;
}

/* ---- leaders ---- */

void leaders_deinit(struct leaders *l)
{
    free(l->all);
}

uint32_t leaders_add(struct leaders *l, uint32_t group, uint64_t term, uint32_t node)
{
    for (size_t i = l->count; i > 0; i--) {
        if (l->all[i - 1].group == group && l->all[i - 1].term == term)
            return l->all[i - 1].node;
    }
    if (l->count == l->capacity) {
        l->capacity = l->capacity == 0 ? 64 : l->capacity * 2;
        l->all = realloc(l->all, l->capacity * sizeof l->all[0]);
        must(l->all != NULL);
    }
    l->all[l->count++] = (struct leader){group, node, term};
    return node;
}
