/* cmd.h - the subcommands of the `weir` executable, one file each. */
#pragma once

/* The function's name, the subcommand as typed and its help. argv[0] is the subcommand. Each
 * returns the exit code: 0 done, 1 failed, 2 wrong usage. */
#define COMMAND_LIST(X)                                                                    \
    X(local, "local", "a whole cluster in one process: http://127.0.0.1:8000")             \
    X(node, "node", "a storage node")                                                      \
    X(router, "router", "a request router: the DynamoDB endpoint of a cluster")            \
    X(gac, "gac", "a server of global admission control: limits of tables")                \
    X(verify, "verify", "check every item of a stopped node: checksums, places, counts")   \
    X(events, "events", "the decisions of the cluster's controller, with reasons")         \
    X(explain, "explain", "why a request was refused or slow, from its id")                \
    X(drain, "drain", "move a node's replicas to other nodes")                             \
    X(unshard, "unshard", "give a hot key fewer shards, or make it an ordinary key again") \
    X(limiter, "limiter", "the rate limiter: set limits, show buckets, fill buckets")      \
    X(load, "load", "an open-loop load generator: latencies, throttling by reason")        \
    X(check_history, "check-history",                                                      \
      "check that a history of `weir load --history` is linearizable")                     \
    X(sim, "sim", "whole clusters in virtual time, with faults, from seeds")               \
    X(lab, "lab", "scenarios that compare policies of admission control")

/* Old names of subcommands, which are taken for one version: the old name, the name. */
#define COMMAND_RENAMED_LIST(X) X("unsalt", "unshard")

#define X(name, typed, help) int cmd_##name(int argc, char **argv);
COMMAND_LIST(X)
#undef X
