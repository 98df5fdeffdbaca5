/* table.h - tables and their partitions, as the catalog knows them and as bytes. */
#pragma once

#include "base/codec.h"
#include "engine/catalog/streams.h"
#include "engine/catalog/tags.h"
#include "engine/index/index.h"
#include "engine/key_sharding/key_sharding.h"
#include "replication/raft.h"

struct request;

enum table_status {
    TABLE_CREATING = 1,
    TABLE_ACTIVE,
    TABLE_UPDATING,
    TABLE_DELETING
};
enum table_billing {
    BILLING_AS_IT_IS = 0, /* in an update: billing, throughput and warm throughput stay */
    BILLING_PROVISIONED = 1,
    BILLING_ON_DEMAND
};
enum table_class {
    TABLE_CLASS_UNSPECIFIED =
        0, /* in an update: no change; in a table: none was named, so STANDARD */
    TABLE_CLASS_STANDARD,
    TABLE_CLASS_INFREQUENT_ACCESS
};
enum table_encryption {
    ENCRYPTION_UNSPECIFIED =
        0, /* in an update: no change; in a table: none was named, so by default */
    ENCRYPTION_BY_DEFAULT,
    ENCRYPTION_WITH_KEY /* the table names a key; no byte is encrypted with it */
};
enum table_protection {
    PROTECTION_UNSPECIFIED = 0, /* in an update: no change; of a new table: off */
    PROTECTION_OFF,
    PROTECTION_ON /* DeleteTable is refused */
};

enum table_ttl {
    TTL_DISABLED = 0, /* in a spec: no change */
    TTL_ENABLING,     /* in a spec: items shall expire */
    TTL_ENABLED,
    TTL_DISABLING /* in a spec: they shall not any more */
};

enum {
    ON_DEMAND_SWITCHES_MAX = 8,
    MAXIMUM_NONE = -1,
    TABLE_WEIGHT_MAX = 100,
    ENCRYPTION_KEY_SIZE_MAX = 2048,
    TTL_NAME_SIZE_MAX = 255
};
/* The tag that lets weir spread hot keys: key_sharding_mode_parse. Tables of older versions have it
 * under its old name; with both, the new one counts. */
#define KEY_SHARDING_TAG     "weir:key-sharding"
#define KEY_SHARDING_TAG_OLD "weir:salting"
#define TABLE_UNITS_MAX      INT64_C(1000000000000) /* of anything per second */

/* What CreateTable and UpdateTable ask for. Pairs are indexed by enum admit_kind. */
struct table_spec {
    struct slice name;
    struct key_attr partition_key; /* create only */
    struct key_attr sort_key;      /* create only */
    struct slice indexes;          /* create only; index_set_encode */
    /* For each global index, in an update for those that change: u32 size, its throughput as a
     * table_spec with the index's name. */
    struct slice globals;
    struct slice add_index;      /* update only: the set with one new global index; empty: none */
    struct slice add_throughput; /* its throughput, as a table_spec */
    struct slice drop_index; /* update only: the name of a global index that goes; empty: none */
    bool whole_collections;  /* create only; with a local index always */
    uint8_t gac;             /* create only; see base/config.h */
    uint8_t weight;          /* create only; 0: 1 */
    enum table_billing billing;
    int64_t rcu; /* 0 on demand */
    int64_t wcu;
    int64_t warm[2];    /* units per second to serve at once; 0: no change */
    int64_t maximum[2]; /* units per second on demand; 0: no change */
    enum table_protection protection;
    enum table_ttl ttl;         /* update only */
    struct slice ttl_attribute; /* with a change of `ttl`: the name of the attribute */
    uint8_t stream;             /* 0: as it is; 1 + enum stream_view */
    /* only stored and returned */
    enum table_class class;
    enum table_encryption encryption;
    struct slice encryption_key; /* as the client gave it; empty: the service's own key */
    struct slice tags;           /* a change: engine/catalog/tags.h */
};

enum {
    REPLICAS_MAX = 7,
    NODES_MAX = 1024,
    PARTITION_ID_MAX = 1 << 24 /* nodes have arrays indexed by id */
};

/* The step of a merge (merge.c) at which a partition is. */
enum merge_step {
    MERGE_NONE = 0,
    MERGE_FREEZE, /* the upper partition: its replicas must serve nothing and take nothing */
    MERGE_THAW,   /* the upper partition: the merge was given up, its replicas must serve again */
    MERGE_ABSORB  /* the lower partition: its replicas must take over the upper one's items */
};

/* A partition has the storage keys in [lo, hi). Empty hi: to the end of the table. */
struct partition_info {
    uint32_t id; /* replication group number, never reused */
    uint64_t epoch;
    uint32_t table_id;
    struct slice lo;
    struct slice hi;
    struct slice indexes;     /* as in its table */
    uint32_t indexes_version; /* as in its table: a higher version is newer; of the next two, too */
    struct slice ttl;         /* the attribute that says when an item expires; empty: none does */
    uint64_t key_sharding_version; /* the version of its table's registry of sharded keys */
    struct stream_latest stream;   /* as in its table */
    bool whole_collections;        /* as in its table */
    bool of_index;                 /* it holds rows of a global index */
    uint8_t gac;                   /* as in its table */
    uint8_t weight;                /* as in its table */
    bool on_demand;                /* as in its table */
    int64_t rate_mcu[2];           /* allocation per second, by enum admit_kind */
    int64_t maximum_mcu[2]; /* on demand: serves at most this per second; 0: as any partition */
    /* Where its replicas should be; the first one should lead. Only the group itself knows its
     * present members. */
    uint32_t member_count;
    uint64_t members[REPLICAS_MAX]; /* raft_member_id */
    uint32_t joined;                /* bit i: members[i] joined later, and starts from a snapshot */
    uint32_t arrivals;              /* replicas that have joined since the group began */
    uint64_t leaving; /* a replica that was moved away and is not erased yet; 0: none */
    bool let_go;      /* the group does not count on `leaving`, which must not be opened again */
    /* The group from which it is still to be split off, and its share of that load; 0: none. */
    uint32_t parent;
    uint32_t share_ppm[2];
    enum merge_step merge;
    uint32_t merge_with; /* FREEZE, THAW: the lower one; ABSORB: the former upper one */
    /* ABSORB: the log entry that froze the upper partition; nothing has changed there since. */
    uint64_t frozen_index;
    uint64_t frozen_term;
    bool absorbed; /* ABSORB: the group has done so; its last replicas may still follow */
};

_Static_assert(NODES_MAX < 1 << RAFT_NODE_BITS, "a member's id has room for its node");

/* A table, or the rows of a global index. An index's name is TABLE/INDEX, its `indexes` has the
 * index alone, and its `partition_key` stands for the index's partition key, of however many
 * attributes. */
struct table {
    uint32_t id;           /* never reused */
    uint32_t index_of;     /* the id of the table whose index it is; 0: a table */
    bool no_pending_parts; /* DELETING: nothing is committed here that other tables must still do */
    bool filling;          /* an index that does not have the items from before its creation yet */
    struct slice name;
    uint8_t uuid[16];
    enum table_status status;
    struct key_attr partition_key;
    struct key_attr sort_key;
    struct slice indexes; /* index_set_encode; empty: none */
    uint32_t
        /* rises with each change of `indexes`, `ttl`, `key_sharding`, or the stream */
        indexes_version;
    const struct index_set *index_set; /* the same; NULL: none */
    /* No split divides an item collection, and no collection may hold more than
     * collection_max_bytes. The bytes are counted (engine/node/core/collection.h). Only with a sort
     * key. */
    bool whole_collections;
    uint8_t gac;    /* how it takes part in global admission control: base/config.h */
    uint8_t weight; /* by which nodes share what allocations leave; 0: 1 */
    enum table_billing billing;
    uint64_t version; /* of billing and throughput: one more with each change */
    int64_t rcu;
    int64_t wcu;
    /* Units per second, by enum admit_kind; engine/catalog/modes.c has the rules. */
    int64_t warm[2];                              /* to serve at once */
    int64_t reserved[2];                          /* on demand: reserved on its nodes */
    int64_t maximum[2];                           /* on demand; 0: none */
    int64_t on_demand_ms[ON_DEMAND_SWITCHES_MAX]; /* switches to on demand, the latest first */
    int64_t on_demand_since_ms;                   /* the last of them, creation included; 0: none */
    int64_t created_ms;                           /* wall clock */
    int64_t increased_ms;                         /* LastIncreaseDateTime; 0 = never */
    int64_t decreased_ms;
    uint32_t decreases_today;   /* on the UTC day of decreased_ms */
    bool protected;             /* DeleteTable is refused */
    enum table_ttl ttl;         /* whether items expire: engine/catalog/ttl.c */
    struct slice ttl_attribute; /* the name of the attribute with their time; DISABLED: empty */
    int64_t ttl_changed_ms;     /* wall clock; 0: never */
    struct slice key_sharding;  /* key_sharding_encode; empty: no key was ever sharded */
    const struct key_sharding *sharded_keys; /* the same; NULL: none */
    struct slice streams;                    /* table_streams_encode; empty: there never was one */
    const struct table_streams *stream_set;  /* the same; NULL: none */
    /* only stored and returned */
    enum table_class class;
    enum table_encryption encryption;
    struct slice encryption_key;
    struct slice tags;
    int64_t item_count; /* from the nodes' last reports: only shown, not the same on replicas */
    int64_t size_bytes;
    struct tally rows[LOCAL_INDEXES_MAX]; /* of local indexes, by place; only shown, too */
    uint32_t partition_count;
    struct partition_info *partitions; /* in key order; together they cover the table */
};

/* What a table (`of_index`: a global index) that says `gac` says of one kind; `kind`: enum
 * admit_kind. Nodes write the rows of an index, so routers keep no limit of these writes. */
uint8_t table_gac_setting(uint8_t gac, bool of_index, int kind);

/* The node that holds replica `i`. */
static inline uint32_t partition_node(const struct partition_info *p, uint32_t i)
{
    return raft_member_node(p->members[i]);
}

/* The partition's member on the node; 0: none. */
uint64_t partition_member_on(const struct partition_info *p, uint32_t node);

/* The units per second that its partitions share. `kind`: enum admit_kind. */
int64_t table_shared_units(const struct table *t, int kind);

void table_spec_encode(struct buffer *out, const struct table_spec *spec);
/* A record of table_spec.globals. */
void table_spec_append_sized(struct buffer *out, const struct table_spec *spec);
enum status table_spec_decode(struct slice bytes, struct table_spec *out); /* borrows from bytes */

void partition_info_walk(struct codec *c, struct partition_info *p); /* its bytes: base/codec.h */
void partition_info_encode(struct buffer *out, const struct partition_info *p);
enum status partition_info_decode(struct slice bytes, struct partition_info *out);

void table_encode(struct buffer *out, const struct table *t);
/* Slices borrow from `bytes`; the partitions come from the arena. */
enum status table_decode(struct slice bytes, struct arena *arena, struct table *out);

/* Appends TABLE/INDEX: the name of the table of a global index. */
void table_append_index_name(struct buffer *out, const struct table *t, const struct index *x);
/* The tables of the global indexes of `t`, from records of u32 size and table_encode. `*out` has
 * one for each global index of its set, in that order; NULL: it is not among the records. */
enum status table_decode_indexes(struct slice records, struct arena *arena, const struct table *t,
                                 const struct table ***out);

/* A number for what nodes must have done before the table is reconciled: its status, and of each
 * partition the id, the epoch, the version of its indexes and its rates. Each change of these gives
 * another number: what was reconciled before a change does not end the change. */
uint64_t table_reconcile_hash(const struct table *t);
/* Whether a partition of the table is still to be split off from another. */
bool table_is_splitting(const struct table *t);
/* Whether the partition is still to be split off from another, or another from it. */
bool table_partition_is_splitting(const struct table *t, const struct partition_info *p);
/* Whether partitions of the table are being merged. */
bool table_is_merging(const struct table *t);
/* Whether the partition is being merged with its lower or upper neighbour. */
bool table_partition_is_merging(const struct table *t, const struct partition_info *p);
/* Whether a split or a merge is under way. */
static inline bool table_is_changing(const struct table *t)
{
    return table_is_splitting(t) || table_is_merging(t);
}
static inline bool table_partition_is_changing(const struct table *t,
                                               const struct partition_info *p)
{
    return table_partition_is_splitting(t, p) || table_partition_is_merging(t, p);
}

/* The indexes that the table's partitions keep up to date: none if the table is an index itself. */
static inline struct slice table_kept_indexes(const struct table *t)
{
    return t->index_of == 0 ? t->indexes : (struct slice){NULL, 0};
}

/* The attribute by which items of the table's partitions expire. Empty: none. Rows of a global
 * index go with their items. */
static inline struct slice table_kept_ttl(const struct table *t)
{
    const bool on = t->ttl == TTL_ENABLING || t->ttl == TTL_ENABLED;
    return on ? t->ttl_attribute : (struct slice){NULL, 0};
}

/* The version of the table's registry of sharded keys. 0: none was ever sharded. */
static inline uint64_t table_key_sharding_version(const struct table *t)
{
    return t->sharded_keys != NULL ? t->sharded_keys->version : 0;
}

/* Whether items of the table are, or may become, sharded counters. Such a table has no index and no
 * stream: these would show cells. */
bool table_counts(const struct table *t);
/* What the table's tag KEY_SHARDING_TAG asks for. `fixed`: the number of shards. */
enum key_sharding_mode table_key_sharding_mode(const struct table *t, uint32_t *fixed);
/* Whether a tag's key is KEY_SHARDING_TAG or KEY_SHARDING_TAG_OLD. */
bool table_tag_is_key_sharding(struct slice key);

/* The partition with this id. NULL: the table has none. */
struct partition_info *table_find_partition(const struct table *t, uint32_t id);
/* The partition that holds a storage key. */
const struct partition_info *table_partition_of(const struct table *t, struct slice key);
/* For a data request: the partition of its key, or the partition in which its range begins. */
const struct partition_info *table_partition_for(const struct table *t, const struct request *q);
/* What is left of the keys [lo, hi) after a partition of the table was read to its end, in key
 * order or against it. False: nothing is left. The changed bound lends from the table. */
bool table_range_past(const struct table *t, uint32_t partition, bool reverse, struct slice *lo,
                      struct slice *hi);
