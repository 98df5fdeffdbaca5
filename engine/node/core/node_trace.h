/* node_trace.h - the kinds of a node's effects (node_effect.h), and the events of its trace. */
#pragma once

#include "base/trace.h"

enum node_effect_kind {
    NODE_REPLY,      /* to the sender of a request */
    NODE_REQUEST,    /* to another node */
    NODE_SEND,       /* an envelope to another node; may be lost, doubled or late */
    NODE_CHECKPOINT, /* run store_checkpoint_write on the flush thread, then node_checkpoint_done */
    NODE_TOUCH,      /* run store_touch on a reader thread, then node_touched */
    NODE_TRIM_LOG,   /* the log before `lsn` is not needed any more */
};

/* The events of a node's trace: code, text, what follows the text (a NUMBER: the partition,
 * unless the text names something else; the name of a REPLY or STATUS), the value's meaning. */
#define NODE_TRACE_LIST(X)                                                                     \
    X(NODE_TRACE_STARTED, "started", NONE, "log lsn")                                          \
    X(NODE_TRACE_THROTTLED, "throttled a request of partition", NUMBER, "cost in mcu")         \
    X(NODE_TRACE_NO_HEADROOM, "refused a write for lack of headroom at node", NUMBER, "mcu")   \
    X(NODE_TRACE_REFUSED, "refused a request:", REPLY, "its number")                           \
    X(NODE_TRACE_LOG_WRITTEN, "log written", NONE, "lsn")                                      \
    X(NODE_TRACE_PARTITION_OPENED, "opened partition", NUMBER, "log index")                    \
    X(NODE_TRACE_PARTITION_CLOSED, "closed partition", NUMBER, "log index")                    \
    X(NODE_TRACE_SPLIT_PROPOSED, "proposed a split of partition", NUMBER, "epoch")             \
    X(NODE_TRACE_SPLIT, "split partition", NUMBER, "log index")                                \
    X(NODE_TRACE_MERGE_PROPOSED, "proposed a merge's step of partition", NUMBER, "step")       \
    X(NODE_TRACE_FROZEN, "froze partition", NUMBER, "log index")                               \
    X(NODE_TRACE_THAWED, "thawed partition", NUMBER, "epoch")                                  \
    X(NODE_TRACE_ABSORBED, "merged into partition", NUMBER, "partition")                       \
    X(NODE_TRACE_CATALOG, "applied a catalog command:", REPLY, "log index")                    \
    X(NODE_TRACE_LEADS, "leads partition", NUMBER, "term")                                     \
    X(NODE_TRACE_FOLLOWS, "no longer leads partition", NUMBER, "term")                         \
    X(NODE_TRACE_SNAPSHOT_BEGUN, "sends a snapshot of partition", NUMBER, "log index")         \
    X(NODE_TRACE_SNAPSHOT_ENDED, "has sent a snapshot of partition", NUMBER, "log index")      \
    X(NODE_TRACE_SNAPSHOT_INSTALLED, "installed a snapshot of partition", NUMBER, "log index") \
    X(NODE_TRACE_CHECKPOINT_BEGUN, "checkpoint begun", NONE, "lsn")                            \
    X(NODE_TRACE_CHECKPOINT_ENDED, "checkpoint ended:", STATUS, "lsn")                         \
    X(NODE_TRACE_STOPPED, "stopped writing", NONE, "errno")

enum node_trace {
#define X(code, text, subject, value) code,
    NODE_TRACE_LIST(X)
#undef X
};
