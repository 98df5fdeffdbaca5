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

/* The events of a node's trace: code, text, whether a number follows the text (the partition,
 * unless the text names something else), and the meaning of the value. */
#define NODE_TRACE_LIST(X)                                                                   \
    X(NODE_TRACE_STARTED, "started", false, "log lsn")                                       \
    X(NODE_TRACE_THROTTLED, "throttled a request of partition", true, "cost in mcu")         \
    X(NODE_TRACE_NO_HEADROOM, "refused a write for want of headroom at node", true, "mcu")   \
    X(NODE_TRACE_REFUSED, "refused a request with code", true, "its number")                 \
    X(NODE_TRACE_LOG_WRITTEN, "log written", false, "lsn")                                   \
    X(NODE_TRACE_PARTITION_OPENED, "opened partition", true, "log index")                    \
    X(NODE_TRACE_PARTITION_CLOSED, "closed partition", true, "log index")                    \
    X(NODE_TRACE_SPLIT_PROPOSED, "proposed a split of partition", true, "epoch")             \
    X(NODE_TRACE_SPLIT, "split partition", true, "log index")                                \
    X(NODE_TRACE_MERGE_PROPOSED, "proposed a merge's step of partition", true, "step")       \
    X(NODE_TRACE_FROZEN, "froze partition", true, "log index")                               \
    X(NODE_TRACE_THAWED, "thawed partition", true, "epoch")                                  \
    X(NODE_TRACE_ABSORBED, "merged into partition", true, "partition")                       \
    X(NODE_TRACE_CATALOG, "applied a catalog command with outcome", true, "log index")       \
    X(NODE_TRACE_LEADS, "leads partition", true, "term")                                     \
    X(NODE_TRACE_FOLLOWS, "no longer leads partition", true, "term")                         \
    X(NODE_TRACE_SNAPSHOT_BEGUN, "sends a snapshot of partition", true, "log index")         \
    X(NODE_TRACE_SNAPSHOT_ENDED, "has sent a snapshot of partition", true, "log index")      \
    X(NODE_TRACE_SNAPSHOT_INSTALLED, "installed a snapshot of partition", true, "log index") \
    X(NODE_TRACE_CHECKPOINT_BEGUN, "checkpoint begun", false, "lsn")                         \
    X(NODE_TRACE_CHECKPOINT_ENDED, "checkpoint ended with status", true, "lsn")              \
    X(NODE_TRACE_STOPPED, "stopped writing", false, "errno")

enum node_trace {
#define X(code, text, numbered, value) code,
    NODE_TRACE_LIST(X)
#undef X
};
