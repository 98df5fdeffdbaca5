/* raft_mutation.h - deliberate mistakes, one at a time, to show that a test detects them.
 *
 * Builds with tests have them compiled in (WEIR_TESTS in CMakeLists.txt defines WEIR_MUTATIONS), and a test
 * switches one on. Elsewhere MUTATED is false. */
#pragma once

enum raft_mutation {
    RAFT_MUTATION_NONE = 0,
    RAFT_MUTATION_ACK_OWN_SUFFIX,    /* a follower acknowledges entries it has not checked */
    RAFT_MUTATION_COUNT_OLD_TERMS,   /* entries of earlier terms are committed by counting */
    RAFT_MUTATION_ACK_ONLY_WHOLE,    /* only an acknowledgement of the newest entry counts */
    RAFT_MUTATION_RESUME_TERM,       /* a restarted leader goes on in the term it led */
    RAFT_MUTATION_SILENT_PRE_VOTE,   /* a refused pre-vote does not tell the higher term */
    RAFT_MUTATION_KEEP_MEMBERS,      /* a truncated change of members stays in force */
    RAFT_MUTATION_ANY_COMPLETION,    /* a completed write counts for all that was written */
    RAFT_MUTATION_COUNT_UNPERSISTED, /* a leader counts entries it has not on disk */
    RAFT_MUTATION_VOTE_AT_ONCE,      /* a vote leaves before it is durable */
    RAFT_MUTATION_OLD_TERM_REPLIES,  /* acknowledgements to an earlier leader count */
    RAFT_MUTATION_RUN_WITHOUT_STATE, /* a half installed snapshot is taken for a whole one */
    RAFT_MUTATION_APPLY_AGAIN,       /* the replay starts before what is applied */
    RAFT_MUTATION_KEEP_TAIL,         /* a log's tail is kept whatever the base is */
    RAFT_MUTATION_FORGET_PROMISE,    /* votes do not heed support that was given */
    RAFT_MUTATION_OWN_SUPPORT,       /* support got is counted for as long as this node gives it */
    RAFT_MUTATION_ABSORB_AS_IT_IS,   /* a partition takes over another one, frozen or not */
    RAFT_MUTATION_WHOLE_RECORDS,     /* a range's end erases whole buckets of long keys */
    RAFT_MUTATION_REFUSE_IN_FLIGHT,  /* a refusal tells about writes that are in flight */
    RAFT_MUTATION_SHED_IN_VAIN,      /* a request that was shed is done all the same */
    RAFT_MUTATION_KEEP_OLD_ROW,      /* an index row stays where its item has another key */
    RAFT_MUTATION_SKIP_ROW,          /* an item that changes gets no new index row */
    RAFT_MUTATION_FORGET_ROWS,       /* a snapshot has no index rows */
    RAFT_MUTATION_SKIP_CHANGE,       /* a change reaches no global index */
    RAFT_MUTATION_KEEP_OLD_GLOBAL,   /* the row of an earlier state stays */
    RAFT_MUTATION_SKIP_FILL,         /* a new index lacks an item that was there before */
    RAFT_MUTATION_FORGET_FEED,       /* a new leader does not look for changes that are left */
    RAFT_MUTATION_ANY_SESSION,       /* rows of closed sessions are taken */
    RAFT_MUTATION_APPLY_TWICE,      /* a new session leaves earlier ones open: late rows are applied
                                        though they were written again since */
    RAFT_MUTATION_NO_BACKLOG_BOUND, /* writes go on however much the indexes lack */
    RAFT_MUTATION_FORGET_LOCKS,     /* a new leader does not look for locks and records */
    RAFT_MUTATION_SKIP_LOCK,        /* a lock does not say what its item becomes */
    RAFT_MUTATION_DECIDE_TWICE,     /* what was aborted is committed, too */
    RAFT_MUTATION_SKIP_RECORD,      /* the entry that decides says nothing of the other parts */
    RAFT_MUTATION_DECIDE_EARLY,     /* a decision is told before it is on the disks */
    RAFT_MUTATION_SPLIT_FORGETS,    /* a partition that was cut forgets its locks and records */
    RAFT_MUTATION_READ_LOCKED,      /* reads do not wait for what a transaction may have done */
    RAFT_MUTATION_WRITE_LOCKED,     /* writes change items that a transaction has */
    RAFT_MUTATION_EXPIRE_UNJUDGED,  /* an item is not judged again before it expires */
    RAFT_MUTATION_EXPIRE_APPLIED,   /* it is judged without the writes that are in flight */
    RAFT_MUTATION_SKIP_STREAM,      /* some changes of items make no record of the stream */
    RAFT_MUTATION_DOUBLE_STREAM,    /* some make two */
    RAFT_MUTATION_FORGET_STREAM,    /* a snapshot has no records */
    RAFT_MUTATION_OUTLIVE_SHARD,    /* writes do not wait for the end of their shard */
    RAFT_MUTATION_SKIP_FENCE,       /* who knows fewer sharded keys is served all the same */
    RAFT_MUTATION_MOVE_COPIES,      /* an item that goes to its home stays where it was, too */
    RAFT_MUTATION_MOVE_BLIND,       /* an item is said to be at home, and was not moved */
    RAFT_MUTATION_READ_FEWER_CELLS, /* a counter's sum lacks a cell */
    RAFT_MUTATION_ADD_TWICE,        /* a cell does not heed tokens */
    RAFT_MUTATION_OLDER_SHARDS, /* a request goes where an older registry of sharded keys says */
    RAFT_MUTATION_NO_RANKS,     /* shards whose items move are read in any order */
    RAFT_MUTATION_LIMITER_MINT, /* a new shard of a rate limiter's bucket begins full */
    RAFT_MUTATION_LIMITER_SHARED_TIME, /* a limit's time moves on though it got no whole token */
    RAFT_MUTATION_LIMITER_LOSE_GIFT,   /* a shard that merges forgets what it had set aside */
    RAFT_MUTATION_LIMITER_REOPEN,      /* a shard is made again in the same epoch */
    RAFT_MUTATION_LIMITER_OLD_LIMITS,  /* newer limits reach shard 0 only */
    RAFT_MUTATION_LIMITER_DRY_SHARDS,  /* only shard 0 is refilled */
    RAFT_MUTATION_LIMITER_DRY_WRITES,  /* the hidden limit is not refilled */
    RAFT_MUTATION_LIMITER_FAR_REFUND,  /* what a lease gives back goes to another shard */
    RAFT_MUTATION_LIMITER_LONE_PARENT, /* a parent's bucket does not grow */
    RAFT_MUTATION_LIMITER_FORGET_HOME, /* a request that is sent again is asked for at one shard only */
    RAFT_MUTATION_LIMITER_ASK_IN_VAIN, /* routers refuse nothing from memory */
    RAFT_MUTATION_ANY_RECONCILED,      /* a step of an earlier change of a table ends a later one */
    RAFT_MUTATION_CHECK_UNLOCKED,      /* a check of a transaction takes no lock */
    RAFT_MUTATION_SCAN_LOCKED,         /* queries and scans do not wait for transactions */
    RAFT_MUTATION_KEEP_DELETED,        /* a deletion that is decided does nothing */
    RAFT_MUTATION_ANY_DIGEST,          /* a token does not tell which request it was used for */
    RAFT_MUTATION_FORGET_TOKENS,       /* a snapshot has no tokens */
    RAFT_MUTATION_FORGET_FENCE,        /* what was refused in advance is forgotten at once */
    RAFT_MUTATION_REFUSE_DECIDED,      /* a part that is decided is refused for 10 s */
    RAFT_MUTATION_OWN_CLOCK,           /* data is deleted by one node's clock */
    RAFT_MUTATION_ONE_ENTRY_MORE,      /* an index is not filled before one entry more is written */
    RAFT_MUTATION_CLOSE_UNASKED, /* replicas of a deleted table go before the leader is asked */
    RAFT_MUTATION_FORGET_OWN,    /* a router does not remember what it has acknowledged */
    RAFT_MUTATION_FORGET_FREED,  /* pages that a store has freed do not count */
    RAFT_MUTATIONS,
};

#ifdef WEIR_MUTATIONS
extern enum raft_mutation raft_mutation;
#define MUTATED(which) (raft_mutation == (which))
#else
#define MUTATED(which) false
#endif
