/* mutation.h - deliberate defects, one at a time, to show that a test detects them.
 *
 * Builds with tests have them compiled in (WEIR_TESTS in CMakeLists.txt defines WEIR_MUTATIONS),
 * and a test switches one on. Elsewhere MUTATED is false. */
#pragma once

enum mutation {
    MUTATION_NONE = 0,
    MUTATION_ACK_OWN_SUFFIX,        /* a follower acknowledges entries it has not checked */
    MUTATION_COUNT_OLD_TERMS,       /* entries of earlier terms are committed by counting */
    MUTATION_ACK_ONLY_WHOLE,        /* only an acknowledgement of the newest entry counts */
    MUTATION_RESUME_TERM,           /* a restarted leader goes on in the term it led */
    MUTATION_PRE_VOTE_HIDES_TERM,   /* a refused pre-vote does not tell the higher term */
    MUTATION_KEEP_MEMBERS,          /* a truncated change of members stays in force */
    MUTATION_ANY_COMPLETION,        /* a completed write counts for all that was written */
    MUTATION_COUNT_UNPERSISTED,     /* a leader counts entries it has not on disk */
    MUTATION_VOTE_AT_ONCE,          /* a vote leaves before it is durable */
    MUTATION_OLD_TERM_REPLIES,      /* acknowledgements to an earlier leader count */
    MUTATION_RUN_WITHOUT_STATE,     /* a half installed snapshot is taken for a whole one */
    MUTATION_APPLY_AGAIN,           /* the replay starts before what is applied */
    MUTATION_KEEP_TAIL,             /* a log's tail is kept whatever the base is */
    MUTATION_IGNORE_LEASE_GRANT,    /* votes ignore support that was given */
    MUTATION_OWN_SUPPORT,           /* support got is counted for as long as this node gives it */
    MUTATION_ABSORB_AS_IT_IS,       /* a partition takes over another one, frozen or not */
    MUTATION_WHOLE_RECORDS,         /* a range's end erases whole buckets of long keys */
    MUTATION_REFUSE_IN_FLIGHT,      /* a refusal tells about writes that are in flight */
    MUTATION_SHED_IS_DONE,          /* a request that was shed is done all the same */
    MUTATION_KEEP_OLD_ROW,          /* an index row stays where its item has another key */
    MUTATION_SKIP_ROW,              /* an item that changes gets no new index row */
    MUTATION_SNAPSHOT_OMITS_ROWS,   /* a snapshot has no index rows */
    MUTATION_SKIP_CHANGE,           /* a change reaches no global index */
    MUTATION_KEEP_OLD_GLOBAL,       /* the row of an earlier state stays */
    MUTATION_SKIP_FILL,             /* a new index lacks an item that was there before */
    MUTATION_LOSE_INDEX_CHANGES,    /* a new leader does not look for changes that are left */
    MUTATION_ANY_SESSION,           /* rows of closed sessions are taken */
    MUTATION_APPLY_TWICE,           /* a new session leaves earlier ones open: late rows are applied
                                        though they were written again since */
    MUTATION_NO_BACKLOG_BOUND,      /* writes go on however much the indexes lack */
    MUTATION_LOSE_LOCKS,            /* a new leader does not look for locks and records */
    MUTATION_SKIP_LOCK,             /* a lock does not say what its item becomes */
    MUTATION_DECIDE_TWICE,          /* what was aborted is committed, too */
    MUTATION_SKIP_RECORD,           /* the entry that decides says nothing of the other parts */
    MUTATION_DECIDE_EARLY,          /* a decision is told before it is on the disks */
    MUTATION_SPLIT_LOSES_LOCKS,     /* a partition that was split loses its locks and records */
    MUTATION_READ_LOCKED,           /* reads do not wait for what a transaction may have done */
    MUTATION_WRITE_LOCKED,          /* writes change items that a transaction has */
    MUTATION_EXPIRE_UNCHECKED,      /* an item is not checked again before it expires */
    MUTATION_EXPIRE_APPLIED,        /* it is judged without the writes that are in flight */
    MUTATION_SKIP_STREAM,           /* some changes of items make no record of the stream */
    MUTATION_DOUBLE_STREAM,         /* some make two */
    MUTATION_SNAPSHOT_OMITS_STREAM, /* a snapshot has no records */
    MUTATION_OUTLIVE_SHARD,         /* writes do not wait for the end of their shard */
    MUTATION_SKIP_FENCE,            /* who knows fewer sharded keys is served all the same */
    MUTATION_MOVE_COPIES,           /* an item that goes to its home stays where it was, too */
    MUTATION_MOVE_BLIND,            /* an item is said to be at home, and was not moved */
    MUTATION_READ_FEWER_CELLS,      /* a counter's sum lacks a cell */
    MUTATION_ADD_TWICE,             /* a cell does not heed tokens */
    MUTATION_OLDER_SHARDS,        /* a request goes where an older registry of sharded keys says */
    MUTATION_NO_RANKS,            /* shards whose items move are read in any order */
    MUTATION_LIMITER_MINT,        /* a new shard of a rate limiter's bucket begins full */
    MUTATION_LIMITER_SHARED_TIME, /* a limit's time moves on though it got no whole token */
    MUTATION_LIMITER_LOSE_RESERVED, /* a shard that merges forgets what it had set aside */
    MUTATION_LIMITER_RECREATE,      /* a shard is made again in the same epoch */
    MUTATION_LIMITER_OLD_LIMITS,    /* newer limits reach shard 0 only */
    MUTATION_LIMITER_DRY_SHARDS,    /* only shard 0 is refilled */
    MUTATION_LIMITER_DRY_WRITES,    /* the hidden limit is not refilled */
    MUTATION_LIMITER_FAR_REFUND,    /* what a lease gives back goes to another shard */
    MUTATION_LIMITER_LONE_PARENT,   /* a parent's bucket does not grow */
    /* a request that is sent again is looked up at one shard only */
    MUTATION_LIMITER_QUERY_ONE_SHARD,
    MUTATION_LIMITER_IGNORE_CACHE,  /* routers refuse nothing from memory */
    MUTATION_ANY_RECONCILED,        /* a step of an earlier change of a table ends a later one */
    MUTATION_CHECK_UNLOCKED,        /* a check of a transaction takes no lock */
    MUTATION_SCAN_LOCKED,           /* queries and scans do not wait for transactions */
    MUTATION_KEEP_DELETED,          /* a deletion that is decided does nothing */
    MUTATION_ANY_DIGEST,            /* a token does not tell which request it was used for */
    MUTATION_SNAPSHOT_OMITS_TOKENS, /* a snapshot has no tokens */
    MUTATION_LOSE_FENCE,            /* what was refused in advance is forgotten at once */
    MUTATION_REFUSE_DECIDED,        /* a part that is decided is refused for 10 s */
    MUTATION_OWN_CLOCK,             /* data is deleted by one node's clock */
    MUTATION_ONE_ENTRY_MORE,        /* an index is not filled before one entry more is written */
    MUTATION_CLOSE_UNCONFIRMED, /* replicas of a deleted table go before the leader confirms it */
    MUTATION_LOSE_OWN_WRITES,   /* a router does not remember what it has acknowledged */
    MUTATION_OMIT_FREED_PAGES,  /* pages that a store has freed do not count */
    MUTATIONS,
};

#ifdef WEIR_MUTATIONS
extern enum mutation mutation_active;
#define MUTATED(which) (mutation_active == (which))
#else
#define MUTATED(which) false
#endif
