/* cmd.h - the subcommands of the `weir` executable, one file each. */
#pragma once

/* The function's name, the subcommand as typed and its help. argv[0] is the subcommand. Each
 * returns the exit code: 0 done, 1 failed, 2 wrong usage. */
#define COMMAND_LIST(X)                                                                           \
    X(local, "local", "the whole cluster in one process: DynamoDB on http://127.0.0.1:8000")      \
    X(node, "node", "a storage node")                                                             \
    X(router, "router", "a request router: the DynamoDB endpoint of a cluster")                   \
    X(gac, "gac", "a server of global admission control: what tables may use, shared by routers") \
    X(verify, "verify", "check every item a stopped node holds: checksums, places, counts")       \
    X(events, "events", "what the cluster's controller has decided, and why")                     \
    X(drain, "drain", "have a node's replicas moved to other nodes")                              \
    X(unshard, "unshard", "give a hot key fewer shards, or make it an ordinary key again")        \
    X(limiter, "limiter", "limits of the rate limiter: set them, look at buckets, fill them")     \
    X(load, "load", "an open-loop load generator that reports latencies and throttles by reason") \
    X(check_history, "check-history",                                                             \
      "decide whether what `weir load --history` saw is linearizable")                            \
    X(sim, "sim", "whole clusters in virtual time, with faults, from seeds")                      \
    X(lab, "lab", "scenarios that compare policies of admission control")

/* Old names of subcommands, which are taken for one version: the old name, the name. */
#define COMMAND_RENAMED_LIST(X) X("unsalt", "unshard")

#define X(name, typed, help) int cmd_##name(int argc, char **argv);
COMMAND_LIST(X)
#undef X
