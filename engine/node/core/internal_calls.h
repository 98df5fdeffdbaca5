/* internal_calls.h - requests of a node's components to partitions, repeated until there is an
 * answer.
 *
 * A call asks the nodes that may lead a partition, one after the other, or it asks one node that
 * holds a replica. If a refusal names the leader, the call asks that leader. If a node does not
 * answer, or cannot, the call asks the next node.
 *
 * Promises
 *   CALLS-1  A call ends once: by its answer, at its deadline (REPLY_UNKNOWN), or by
 *            internal_calls_end. An answer that comes later is dropped.
 *   CALLS-2  A request may be done twice, unless it is asked `once`.
 *   CALLS-3  A call ends with REPLY_WRONG_PARTITION once each of its candidates has said so: the
 *            caller's map is outdated, and waiting would not help.
 *
 * The answer has the call's kind, subject and token. The kind tells the component. node.c hands the
 * answer to the component.
 *
 * Not here: which partition has a key (index_maps.h). The callers take REPLY_STALE_MAP and
 * REPLY_WRONG_PARTITION for a reason to ask for the map again. */
#pragma once

#include <sys/queue.h>

#include "base/id_map.h"
#include "engine/node/core/env.h"

struct partition_info;
struct request;

enum {
    INTERNAL_CALL_CANDIDATES_MAX = 8
};

enum internal_call_kind {
    INTERNAL_CALL_REPORT,    /* load_reports.c: to the catalog */
    INTERNAL_CALL_RECONCILE, /* reconcile.c: subject = table id, token = partition and slot */
    INTERNAL_CALL_INDEX_MAP, /* index_maps.c: subject = table id of the index */
    /* index_feed_round.c: subject = base partition, token = index partition */
    INTERNAL_CALL_INDEX_SESSION,
    INTERNAL_CALL_INDEX_FILL, /* index_builder.c: subject = table id of the index */
    /* index_feed_round.c: subject = base partition, token = item and index partition */
    INTERNAL_CALL_INDEX_ROW,
    INTERNAL_CALL_TRANSACT_QUERY,  /* transactions_turn.c: subject = partition, token = lock */
    INTERNAL_CALL_TRANSACT_NOTIFY, /* the same: token = record and part */
    INTERNAL_CALL_EXPIRY,          /* expiry.c: subject = partition, token = slot */
    INTERNAL_CALL_KEY_SHARD_MOVER, /* key_shard_mover.c: subject = number of a key that is moved */
    INTERNAL_CALL_KEY_SHARD_MOVE   /* key_shard_moves.c: subject = partition, token = move */
};

struct internal_call_options {
    enum internal_call_kind kind;
    uint32_t subject;
    uint32_t token;
    uint32_t first; /* the node to ask first; 0: the first candidate */
    /* The nodes that may lead the partition. 0 of them: each node of the cluster may. 1: the call
     * is for that node, and each answer of that node ends the call. */
    uint32_t candidate_count;
    uint32_t candidates[INTERNAL_CALL_CANDIDATES_MAX];
    bool once;    /* one candidate is asked once: no answer until the deadline ends the call */
    bool insists; /* REPLY_OVERLOADED does not end the call: it is asked again until the deadline */
    struct duration timeout; /* from now to the deadline */
};

struct internal_call;

struct internal_calls {
    struct node_env *env;
    TAILQ_HEAD(, internal_call) all; /* owns; in the order of their beginning */
    struct id_map by_id;
    uint64_t last_id;
    struct instant at; /* no call is due before this time */
};

struct internal_call_answer {
    enum internal_call_kind kind;
    uint32_t subject;
    uint32_t token;
    uint32_t node; /* the node that was asked last */
    bool moved;    /* more than one node was asked */
    const struct reply *reply;
};

void internal_calls_init(struct internal_calls *calls, struct node_env *env);
void internal_calls_deinit(struct internal_calls *calls);

/* The candidates are the nodes that may lead the partition: its members, and the replica on its way
 * out, which leads until the members have its state. */
void internal_calls_to_leader(struct internal_call_options *options,
                              const struct partition_info *p);
/* Asks. The request is copied, and gets an id. It may not lie in the scratch buffer. */
void internal_calls_begin(struct internal_calls *calls, const struct internal_call_options *options,
                          const struct request *request);
/* Sends a request without waiting for an answer. */
void internal_calls_send(struct internal_calls *calls, uint32_t node,
                         const struct request *request);
/* Ends the calls about the subject without an answer. */
void internal_calls_end(struct internal_calls *calls, enum internal_call_kind kind,
                        uint32_t subject);
void internal_calls_end_all(struct internal_calls *calls, enum internal_call_kind kind);

/* A reply came. True: it ends a call, and `out` is its answer. */
bool internal_calls_take_reply(struct internal_calls *calls, const struct reply *reply,
                               struct internal_call_answer *out);
/* Asks again for each call that is due. True: a call has reached its deadline. Call
 * internal_calls_tick again. */
bool internal_calls_tick(struct internal_calls *calls, struct internal_call_answer *out);
