/* node_internal.h - what the files of the node share. Not for anybody else.
 *
 *   node.c             life, events, effects
 *   node/data.c        reads and writes: route, admit, evaluate, propose, settle
 *   node/open.c        replicas opened and closed as the catalog wants them
 *   node/heat.c        what partitions are asked for, and where to cut them
 *   node/middle.c      where a partition's bytes divide
 *   node/buckets.c     buckets: begun, told to other replicas, kept over a restart
 *   node/proposals.c    proposals and records on their way, and what they will have changed
 *   node/groups.c       replication: every replica's raft, its records, its messages, its deadlines
 *   node/peers.c        envelopes between nodes: liveness, messages, how a cluster begins
 *   node/snapshots.c    ranges streamed to replicas that lack the log
 *   node/apply.c       what a committed entry or a local record does
 *   node/split.c       a partition cut into several
 *   node/merge.c       two partitions that adjoin become one
 *   node/rows.c        what the node keeps of itself in the store
 *   node/checkpoints.c  from the memtable to the backing
 *   node/catalog_leader.c     leading group 0: table requests
 *   node/settling.c    leading group 0: getting partitions where they belong
 *   node/verify.c      reading everything back */
#ifndef WEIR_ENGINE_NODE_NODE_INTERNAL_H
#define WEIR_ENGINE_NODE_NODE_INTERNAL_H

#include "base/prng.h"
#include "engine/catalog/catalog.h"
#include "engine/node/collection.h"
#include "engine/node/loads.h"
#include "engine/node/node.h"
#include "engine/node/partition.h"

/* Rows of the node itself live in the storage-key space of this table id. */
#define NODE_TABLE_ID UINT32_C(0xFFFFFFFF)

enum {
    FROM_SELF = 0,
    NO_ENTRY = -1
};

/* Ids of the node's own requests, but for those of settling (node/settling.c). Bit 63 is the
 * controller's. A request of OWN_UNANSWERED is made again for as long as it is wanted. */
#define OWN_REPORT     UINT64_C(0)
#define OWN_UNANSWERED (UINT64_MAX >> 1)

/* What a page was read for already. */
enum touched {
    TOUCHED_ITEMS = 1,
    TOUCHED_COLLECTION = 2 /* the row of the item's collection */
};

/* A request on its way: in hand, waiting for a page, a round of heartbeats, or the disks. */
struct operation {
    uint64_t from;
    struct request request;
    struct admit_verdict verdict;
    bool admitted;
    unsigned touched;   /* enum touched, of them */
    uint64_t confirmed; /* the term in which this node was found to lead after the read came */
};

/* LOG_WRITE: the newest one of a key shadows memtable and backing for later writes, and the newest
 * one of an item collection its row. */
enum shadow_kind {
    SHADOW_ITEM,
    SHADOW_COLLECTION,
    SHADOWS
};
struct shadow {
    uint64_t hash;
    int32_t older; /* in the same hash bucket */
    uint32_t size; /* of the key, or what of it is the collection's; 0: it shadows none */
};

/* A proposal of this node that is not applied yet, or a record of its own that is not durable yet.
 */
struct inflight {
    struct inflight *next; /* of its group, or of the node's own records; or free */
    enum log_kind kind;
    uint32_t group;
    uint64_t index;       /* proposals */
    uint64_t term;        /* proposals */
    uint64_t lsn;         /* own records: the end of the record */
    struct slice payload; /* proposals: lends until it is applied; own records: owns */
    uint64_t from;
    uint64_t request_id;
    bool answer;
    bool want_old;
    struct admit_verdict verdict;
    int64_t consumed_mcu;
    int64_t collection_bytes; /* as in write_head */
    struct shadow shadows[SHADOWS];
};

/* Payload of a LOG_WRITE entry: this head, the key, the item (none: deleted). */
struct write_head {
    int64_t old_size;         /* item_size of what was there; -1: nothing */
    int64_t cost_mcu;         /* what the leader charged */
    int64_t collection_bytes; /* in the item's collection after it; or COLLECTION_NOT_COUNTED */
    uint32_t key_size;
    uint32_t burst; /* 1: from the burst bucket; 2: with tokens the members had set aside */
};
_Static_assert(sizeof(struct write_head) == 32, "the head is written as it is");

/* What goes on once pages have been read. */
enum resume {
    RESUME_REQUEST,
    RESUME_COUNT,        /* node/split.c */
    RESUME_MIDDLE,       /* node/middle.c */
    RESUME_SNAPSHOT_OUT, /* node/snapshots.c; `subject` is the snapshot's id */
    RESUME_SNAPSHOT_IN,
};

/* Background work that reads the store on the loop, a slice at a time. Where data is not resident
 * a reader thread touches the slice's pages first. */
struct scan {
    enum {
        SCAN_IDLE,
        SCAN_WAITING, /* for its pages */
        SCAN_READY    /* they have been read */
    } state;
    uint64_t subject; /* for which they were asked for */
};
enum {
    SCAN_BYTES = 256 * 1024, /* of items: a slice ends there */
    SCAN_ITEMS = 256,
    SCAN_MS = 1 /* between two slices */
};

/* A request that waits for store_touch, or for leadership to be confirmed; or a scan that waits. */
struct deferred {
    struct operation operation;
    enum resume resume;
    uint64_t subject;    /* of a scan */
    struct buffer bytes; /* what the operation's slices point to */
    bool used;
    int32_t next; /* of its partition's reads; they wait for `round`, in `term` */
    uint64_t round;
    uint64_t term;
};

/* Another node, as this one sees it. */
struct peer {
    uint32_t generation; /* 0: never heard */
    bool fresh;          /* it holds nothing and waits for a cluster to begin */
    bool beat_due;
    struct instant settled_at; /* it was not there before; from then on it may lead */
    struct instant report_at;  /* the next report of this node's headroom to it */
    struct buffer envelope; /* what this turn has for it: the head, then messages; empty: nothing */
    uint32_t messages;
    bool sent; /* the envelope is lent out */
};

/* A table whose partitions are on their way to where the catalog wants them. */
struct settling;
struct snapshot_out;
struct snapshot_in;

struct node {
    struct node_options options;
    const struct config *config;
    struct store *store; /* owns */
    struct log_writer log;
    uint64_t log_space_end;
    bool log_disk_full;
    uint64_t local_lsn;    /* own records before it are in the store: where the log was durable to
                              at the last checkpoint */
    uint64_t relogged_lsn; /* no checkpoint before the log is durable up to here */
    uint64_t start_lsn;    /* where the log went on at the start */
    uint64_t replay_lsn;   /* before it: of the record being replayed */
    uint32_t counted_last; /* whose items were counted last */
    struct scan count_scan;
    int log_error; /* why there is no room in the log, where it is not for lack of space */
    struct instant count_at; /* when to count more; INSTANT_NEVER: all is counted */
    uint32_t middle_last;    /* whose middle was looked for last */
    struct scan middle_scan;
    struct instant middle_at; /* when to look on for the middle of a partition; or INSTANT_NEVER */
    struct node_admission admission;
    struct table_share **table_shares; /* owns; of tables whose replicas here share */
    uint32_t table_shares_count;
    struct partition *mirrors;     /* whose buckets are to be told */
    struct instant mirror_at;      /* the first of them; or INSTANT_NEVER */
    struct instant save_at;        /* buckets that have changed; or INSTANT_NEVER */
    struct members members;        /* the other nodes' headroom */
    struct admit_group group;      /* of the request in hand */
    struct partition **partitions; /* owns; by id, NULL where not here */
    uint32_t partitions_size;
    struct prng prng;
    bool started;
    int stop_error; /* errno; 0 = not stopped */
    bool map_full;

    /* proposals and records in flight, and a hash of the keys they write */
    struct inflight *inflight; /* owns; `inflight_size` (a power of two) of them */
    uint32_t inflight_size;
    uint32_t inflight_count;
    struct inflight *inflight_free;
    struct inflight *own_first; /* own records, in the order of the log */
    struct inflight *own_last;
    int32_t *shadow[SHADOWS]; /* owns; hash bucket -> newest entry */

    struct deferred *deferred;    /* owns; `deferred_size` slots */
    struct buffer deferred_spare; /* for the bytes of the next one */
    uint32_t deferred_size;
    uint32_t deferred_count;

    /* replication */
    uint32_t generation; /* 0: not durable yet */
    struct duration
        support_kept;           /* the node's own durable record: it gives support for this long */
    struct instant quiet_until; /* what an earlier life may have promised holds until then */
    bool support_changing;      /* another record is on its way */
    bool founded;               /* group 0 is about to be opened here */
    /* Replicas were closed because of what the catalog's log says up to here: what it said before
     * opens none any more. A request may be on its way for long, and a leader of the catalog that
     * was deposed goes on asking. */
    uint64_t closed_as_of;
    bool left_catalog; /* a replica of it was here, and was moved away */
    struct liveness liveness;
    struct instant liveness_at; /* its deadline, as of the last turn */
    struct raft_outbox outbox;
    struct raft_shared raft_shared;
    struct partition *dirty;   /* replicas stepped in this turn */
    struct partition *writing; /* replicas with records that are not durable */
    struct instant raft_at;    /* the earliest deadline of all replicas */
    struct peer *peers;        /* owns; by node */
    struct arena received;
    struct snapshot_out *snapshots_out; /* owns */
    struct snapshot_in *snapshots_in;   /* owns */
    struct token_bucket snapshot_rate;
    int64_t snapshot_served_mcu; /* consumed in all, at the last chunk */

    /* catalog, where a replica of group 0 is */
    struct catalog *catalog;
    struct settling *settling; /* owns; while group 0 is led here */
    struct instant catalog_led_since;
    uint32_t settle_round;
    struct instant nodes_at;
    uint32_t catalog_leader;           /* a guess: where reports go */
    bool report_waiting;               /* for the answer to the last one */
    bool report_all;                   /* the last one may be lost */
    struct loads *loads;               /* owns; while group 0 is led here: what was reported */
    int64_t consumed_mcu[ADMIT_KINDS]; /* total, of what is led here and what is followed */
    struct instant hand_back_at;

    /* checkpoints */
    bool checkpoint_running;
    struct instant checkpoint_at; /* the next one by time; INSTANT_NEVER if nothing to write */
    struct instant retry_at;      /* after one that found no space */
    struct instant erase_at;      /* the next one that may erase */
    int64_t installed_bytes;      /* of snapshots, since the last one began */
    struct instant report_at;
    struct instant urgent_at; /* node_control_urgent */
    struct instant
        heat_at;        /* partitions without heat give its memory back; INSTANT_NEVER: none has */
    struct instant now; /* of the last event */
    struct trace trace;

    /* effects not taken yet, and what they lend */
    struct node_effect *effects; /* owns */
    size_t effect_count;
    size_t effect_next;
    size_t effect_capacity;
    struct arena lent;
    struct buffer range_out;
    struct buffer scratch;
    struct buffer outgoing; /* a snapshot's message while it is put together */
};

/* ---- node.c ---- */
static inline void node_note(struct node *n, enum node_trace kind, uint32_t subject, int64_t value)
{
    trace_add(&n->trace, n->now, kind, subject, value);
}

struct node_effect *node_push(struct node *n, enum node_effect_kind kind);
/* Replies to `from`; FROM_SELF comes back as an event of this node's own. */
struct reply *node_push_reply(struct node *n, uint64_t from, uint64_t request_id,
                              enum reply_code code);
/* The same with a text, formatted into memory that lends until the next event. */
void node_refuse(struct node *n, uint64_t from, uint64_t request_id, enum reply_code code,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));
struct partition *node_partition(const struct node *n, uint32_t id);
void node_add_partition(struct node *n, struct partition *p);
void node_remove_partition(struct node *n, uint32_t id);
/* What is in flight has an unknown outcome; nothing more goes to the disk. */
void node_stop(struct node *n, int error);

/* ---- node/proposals.c ---- */
/* Whether a record of this payload size can be taken now; if not, the request was refused. */
bool node_can_write(struct node *n, const struct operation *o, size_t payload);
/* Whether the group takes a proposal of this payload size now; if not, the request was refused. */
bool node_may_propose(struct node *n, const struct partition *p, const struct operation *o,
                      size_t payload);
/* Room in the log for what replication must write. */
bool node_has_log_space(const struct node *n, size_t bytes);
/* Proposes an entry of a group that is led here. NULL: it was refused. */
struct inflight *node_propose(struct node *n, struct partition *p, const struct operation *o,
                              enum log_kind kind, struct slice head, struct slice tail);
/* Appends a record of the node's own. */
struct inflight *node_append_own(struct node *n, enum log_kind kind, uint32_t group, uint64_t index,
                                 struct slice payload);
/* Takes the oldest proposal of the group if it is this entry; NULL: nobody here asked for it. The
 * caller frees it. */
struct inflight *node_take_proposal(struct node *n, struct partition *p,
                                    const struct raft_entry *e);
void node_free_inflight(struct node *n, struct inflight *e);
/* Proposed writes of keys that are not the partition's any more are told so: they will come to
 * nothing. */
void node_void_proposals(struct node *n, struct partition *p);
/* Every proposal of the group is answered: its outcome is not known. */
void node_drop_proposals(struct node *n, struct partition *p, const char *why);
/* The newest write in flight of an item, or in a collection: `key` is the row's. */
struct inflight *node_shadow(const struct node *n, enum shadow_kind kind, struct slice key,
                             uint64_t hash);
void node_shadow_add(struct node *n, struct inflight *e, enum shadow_kind kind, struct slice key,
                     uint64_t hash);
struct slice inflight_key(const struct inflight *e);
struct slice inflight_item(const struct inflight *e); /* NULL data: a deletion */

/* ---- node/data.c ---- */
void node_run(struct node *n, struct operation *o);
/* Whether a strong read may be answered from what is applied here, now. If not, it was refused, or
 * will run again. */
bool node_leads_read(struct node *n, struct partition *p, struct operation *o);
/* The reads that waited for leadership to be confirmed, or have lost it. */
void node_run_reads(struct node *n, struct partition *p);
/* The reads that still wait are refused. */
void node_drop_reads(struct node *n, struct partition *p, enum reply_code code, const char *why);

/* Whether a scan may read its next slice, from `key` on, now. False: its pages are being read, and
 * node_resume follows; or, with the scan still idle, too much waits: ask again in SCAN_MS. */
bool node_scan_may_read(struct node *n, struct scan *s, enum resume resume, uint64_t subject,
                        struct slice key);
/* When to go on with a scan that may not read. */
static inline struct instant node_scan_retry_at(const struct node *n, const struct scan *s)
{
    return s->state == SCAN_WAITING ? INSTANT_NEVER : instant_add(n->now, duration_ms(SCAN_MS));
}
/* The pages of a request or a scan have been read. */
void node_resume(struct node *n, uint32_t ticket);

/* ---- node/open.c ---- */
/* REQUEST_PARTITION_OPEN, REQUEST_PARTITION_CLOSE. */
void node_run_open(struct node *n, const struct operation *o);
void node_run_close(struct node *n, const struct operation *o);
/* Nobody counts on the replica any more, as the catalog's log up to `as_of` says: it is closed, if
 * there is room for the record now. */
void node_close_orphan(struct node *n, struct partition *p, uint64_t as_of);
/* After every step of a replica: it may be closed now, if it is to be. */
void node_close_ended(struct node *n, struct partition *p);

/* ---- node/heat.c ---- */
/* A request for `key` reached admission: it counts, admitted or not. */
void node_heat_add(struct node *n, struct partition *p, enum admit_kind kind, struct slice key,
                   int64_t cost_mcu);
void node_heat_tick(struct node *n);
/* REQUEST_PARTITION_HEAT, REQUEST_PARTITION_MIDDLE. */
void node_run_advice(struct node *n, const struct operation *o);

/* ---- node/middle.c ---- */
struct split_advice;
/* What is known now of a partition led here. Slices lend until the next search of it. */
void node_middle_advise(struct node *n, struct partition *p, struct split_advice *out);
void node_middle_tick(struct node *n);

/* ---- node/groups.c ---- */
void node_groups_init(struct node *n);
/* The replica's raft, from its base. */
void node_group_create(struct node *n, struct partition *p, const struct raft_base *base);
void node_group_start(struct node *n, struct partition *p, struct instant quiet_until);
/* After every call of raft: its records go to the log, its messages to the peers. */
void node_group_stepped(struct node *n, struct partition *p);
void node_groups_persisted(struct node *n);
void node_groups_tick(struct node *n, bool all);
void node_groups_heard(struct node *n, uint32_t node);
/* What is committed takes effect; whoever asked for it is answered. */
void node_group_apply(struct node *n, struct partition *p);
/* Everything stepped in this turn: appends, applying, who leads. */
void node_groups_end_turn(struct node *n);
/* Where the log must be kept from for entries that are not applied. */
uint64_t node_groups_pinned_lsn(const struct node *n);
/* Writes entries again that have held up the log since before `lsn`. */
void node_groups_relog(struct node *n, uint64_t lsn);
void node_groups_compact(struct node *n);
void node_groups_hand_back(struct node *n);
/* Why a group takes no writes, or no reads: into a refusal with a hint of the leader. */
void node_refuse_not_leader(struct node *n, const struct operation *o, const struct partition *p);

/* ---- node/peers.c ---- */
void node_peers_start(struct node *n);
void node_peers_deinit(struct node *n);
enum peer_message {
    PEER_RAFT = 1,
    PEER_SNAPSHOT,
    PEER_FOUNDERS,    /* of group 0 */
    PEER_LEASE_ASK,   /* for tokens of the node: u64 number, u64 mcu */
    PEER_LEASE_GRANT, /* u64 number, u64 mcu */
    PEER_LEVELS,      /* node/buckets.c has these two */
    PEER_READS,
};
/* Whether it may be heard by others. What it says of itself, and how long its promises last, must
 * be durable first: its next life has to know. */
static inline bool node_may_speak(const struct node *n)
{
    return n->generation != 0 && n->support_kept.ns >= n->config->support_ms * NS_PER_MS;
}
/* Where to append a message of this kind to the node's envelope. */
struct buffer *node_peer_message(struct node *n, uint32_t node, enum peer_message kind);
enum status node_peers_receive(struct node *n, struct slice frame);
/* Opens group 0 here once all its founders have met. */
void node_begin_cluster(struct node *n);
void node_peers_tick(struct node *n);
void node_peers_end_turn(struct node *n);
/* The next event begins: envelopes lent out are given back. */
void node_peers_reclaim(struct node *n);
bool node_is_reachable(const struct node *n, uint32_t node);

/* ---- node/buckets.c ---- */
/* The buckets of a replica, when it is opened here or the node starts; whose info has changed; that
 * is left of a split, or came from one; that is closed. */
void node_buckets_begin(struct node *n, struct partition *p);
void node_buckets_changed(struct node *n, struct partition *p);
void node_buckets_divided(struct node *n, struct partition *p);
void node_buckets_end(struct node *n, struct partition *p);
void node_buckets_deinit(struct node *n);
struct admission_rates node_rates_of(const struct partition_info *info);
/* A request was admitted and debited here, or settled. */
void node_buckets_spent(struct node *n, struct partition *p, enum admit_kind kind, int64_t cost_mcu,
                        bool eventual);
/* A write that another node leads is about to be logged here. */
void node_buckets_follow(struct node *n, struct partition *p, const struct raft_entry *e);
/* The replica leads from now on; or its group has changed. */
void node_buckets_led(struct node *n, struct partition *p);
/* The node was away, or is new: it is told everything. */
void node_buckets_heard(struct node *n, uint32_t node);
/* What must be told now, and what must be saved. */
void node_buckets_tick(struct node *n);
/* False: malformed. `life`: of the node that sent it. */
bool node_buckets_receive_reads(struct node *n, struct reader *r, uint32_t from, uint64_t life);
bool node_buckets_receive_levels(struct node *n, struct reader *r);
void node_buckets_encode(const struct node *n, const struct partition *p, struct buffer *out);
void node_buckets_decode(struct reader *r, struct admission_balances out[ADMIT_KINDS]);
/* The node is about to end: the next checkpoint has what its next life must know. */
void node_buckets_finish(struct node *n);
/* Of an earlier life, for node_buckets_begin. */
void node_buckets_keep(struct partition *p, const struct kept_buckets *kept);
enum status node_buckets_replay(struct node *n, struct slice payload);

/* ---- node/snapshots.c ---- */
/* The term in which the group is led here, also before an entry of it is committed; 0: it is not.
 * Snapshots cannot wait for p->led: a majority may need one before anything can be committed. */
static inline uint64_t node_led_term(const struct partition *p)
{
    return raft_role(p->raft) == RAFT_LEADER ? raft_term(p->raft) : 0;
}

/* Starts a snapshot if a member of the group that is led here needs one. */
void node_snapshot_offer(struct node *n, struct partition *p);
void node_snapshots_start(struct node *n);
void node_snapshots_end_turn(struct node *n);
struct instant node_snapshots_deadline(const struct node *n);
/* A checkpoint has been frozen; is in the backing. */
void node_snapshots_frozen(struct node *n);
void node_snapshots_stored(struct node *n);
bool node_snapshot_receive(struct node *n, uint32_t from, struct reader *r);
/* Those on their way out. */
void node_snapshots_close(struct node *n);
void node_snapshots_deinit(struct node *n);
void node_snapshots_forget(struct node *n, uint32_t group);
/* RESUME_SNAPSHOT_OUT, RESUME_SNAPSHOT_IN. */
void node_snapshot_touched(struct node *n, enum resume resume, uint64_t id);

/* ---- node/apply.c ---- */
struct applied {
    enum reply_code code;
    bool found;
    struct slice body;
    struct slice text;
};
/* The effect of a committed entry. `want_old`: the item a write replaces goes into applied.body. */
/* Whether an entry that another node sent can be applied. */
bool node_entry_is_sound(uint32_t group, enum log_kind kind, struct slice payload);
void node_apply(struct node *n, struct partition *p, const struct raft_entry *e, bool want_old,
                struct applied *out);
/* The effect of a durable record of the node's own. */
/* Before the start: entries up to `index`, which were committed and durable in an earlier life, are
 * applied. STATUS_CORRUPT: they are not there. */
enum status node_replay_to(struct node *n, struct partition *p, uint64_t index);
enum status node_apply_own(struct node *n, enum log_kind kind, uint32_t group, uint64_t index,
                           uint64_t lsn, struct slice payload);

/* ---- node/split.c ---- */
/* REQUEST_PARTITION_SPLIT. */
void node_run_split(struct node *n, const struct operation *o);
void node_apply_split(struct node *n, struct partition *p, const struct raft_entry *e);
/* At the end of a turn in which the partition was stepped: what its children have to know. */
void node_split_stepped(struct node *n, struct partition *p);
/* The replica is about to be closed: its promise ends, and so does a promise that a child has taken
 * over from it. */
void node_split_orphan(struct node *n, const struct partition *p);
/* A replica that a snapshot overtakes first applies what it has in its log of the splits the
 * snapshot contains: whoever has acknowledged a split must come to hold the children. */
void node_split_catch_up(struct node *n, struct partition *p, const struct split_history *splits);
/* Takes over the range of a snapshot, and erases what is the replica's no more. False: it would
 * come to hold what another one here holds, or had less already. */
bool node_split_take_range(struct node *n, struct partition *p, const struct partition_info *info);
/* Whether a replica here holds a key of the range. */
bool node_holds_range(const struct node *n, struct slice lo, struct slice hi);
/* Whether a replica that is being opened, but for that of one partition, will hold one. */
bool node_opens_range(const struct node *n, uint32_t but, struct slice lo, struct slice hi);
/* The catalog is asked about each of them: its group may have let go of it while it was away, and
 * go on without a word to it. */
void node_doubt_holders(struct node *n, struct slice lo, struct slice hi);
void node_count_tick(struct node *n);

/* ---- node/merge.c ---- */
/* REQUEST_PARTITION_MERGE. */
void node_run_merge(struct node *n, const struct operation *o);
bool node_merge_is_sound(uint32_t group, struct slice payload);
void node_apply_merge(struct node *n, struct partition *p, const struct raft_entry *e,
                      struct applied *out);
/* A snapshot for `to` brings the keys [lo, hi), which it has taken over: the replica that holds them
 * here goes, the items stay. False: they are not what one replica holds. */
bool node_merge_give_way(struct node *n, const struct partition *to, struct slice lo,
                         struct slice hi);

/* ---- node/rows.c ---- */
enum status node_load(struct node *n, struct buffer *error);
enum status node_load_catalog(struct node *n);
struct slice node_partition_row_key(struct node *n, uint32_t id);
struct partition_row {
    uint64_t since_lsn;
    struct raft_base base;
    uint64_t term;
    uint64_t vote;
    int64_t item_count;
    int64_t item_bytes;
    bool counting;
    struct slice counted_to;
    struct split_history splits;
    struct frozen frozen;
    bool has_buckets;
    struct admission_balances buckets[ADMIT_KINDS];
    struct slice info; /* partition_info_encode */
};
enum status partition_row_decode(struct slice value, struct partition_row *out);
void node_store_partition(struct node *n, struct partition *p);
void node_store_generation(struct node *n);
void node_store_local_lsn(struct node *n, uint64_t lsn);
void node_store_closed(struct node *n);
void node_store_left_catalog(struct node *n);
void node_erase(struct node *n, struct slice lo, struct slice hi);
void node_erased(struct node *n, struct slice lo);

/* ---- node/checkpoints.c ---- */
void node_checkpoint_tick(struct node *n);
void node_checkpoint_ended(struct node *n, enum status status);
struct instant node_checkpoint_deadline(const struct node *n);

/* ---- node/catalog_leader.c ---- */
void node_catalog_request(struct node *n, struct operation *o);
/* FROM_SELF or a request's: proposes to group 0. */
void node_catalog_propose(struct node *n, const struct operation *o,
                          struct catalog_command *command);
bool node_leads_catalog(const struct node *n);
/* Whether as many nodes have been heard of as a table has replicas. */
bool node_knows_enough_nodes(const struct node *n);
/* Tells the catalog what the partitions led here hold and consume, where that changed, and asks
 * about those without a leader. */
void node_report(struct node *n);
/* Something is not to wait for the next report. */
void node_report_soon(struct node *n);
void node_reported(struct node *n, const struct reply *reply);

/* ---- node/settling.c ---- */
void node_settling_changed(struct node *n, const struct table *t);
/* Whether all of the table's replicas are known to be open, as the catalog wants them. */
bool node_settling_rests(struct node *n, uint32_t table_id);
/* Group 0 is led here from now on, or not any more. */
void node_settling_start(struct node *n);
void node_settling_end(struct node *n);
/* While group 0 is led here: up to where its log is known. */
uint64_t node_catalog_as_of(const struct node *n);
void node_settling_reply(struct node *n, const struct reply *reply);
void node_settling_tick(struct node *n);
struct instant node_settling_deadline(const struct node *n);
/* One step of the group's members towards those of `info`. */
void node_run_members(struct node *n, const struct operation *o);

#endif
