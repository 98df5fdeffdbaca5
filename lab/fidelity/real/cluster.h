/* cluster.h - a scenario's cluster as processes of this program on 127.0.0.1.
 *
 * Nodes, routers and GAC servers run `weir node`, `weir router` and `weir gac`. Each loads the
 * files of policies that the lab has loaded. Their configurations, logs and data are in a
 * temporary directory, which is removed at the end. Ports are free ones. Every process ends with
 * this one, also if this one is killed. */
#pragma once

#include <sys/types.h>

#include "lab/scenario/scenario.h"
#include "workload/client_request.h"

enum lab_daemon_kind {
    LAB_NODE,
    LAB_ROUTER,
    LAB_GAC
};

struct lab_daemon {
    enum lab_daemon_kind kind;
    uint32_t number; /* from 1 */
    uint16_t port, faults_port, admin_port;
    pid_t pid; /* 0: it does not run */
};

struct lab_cluster {
    const struct scenario *scenario; /* borrows */
    char directory[256];
    char program[4096];
    uint32_t count;
    struct lab_daemon *daemons; /* owns; nodes, then routers, then GAC servers */
};

/* Starts all processes and waits until they are ready. `stopped`: when true, gives up. False:
 * `error` gets one line; lab_cluster_end is to be called in all cases. */
bool lab_cluster_start(struct lab_cluster *c, const struct scenario *s,
                       bool (*stopped)(void *context), void *context, struct buffer *error);
/* Kills all processes and removes the directory. */
void lab_cluster_end(struct lab_cluster *c);

/* `number` counts from 1. */
struct lab_daemon *lab_cluster_daemon(const struct lab_cluster *c, enum lab_daemon_kind kind,
                                      uint32_t number);
/* SIGKILL; ignored if it does not run. */
void lab_daemon_kill(struct lab_daemon *d);
/* Starts it again with its data; ignored if it runs. Does not wait. False: `error` tells. */
bool lab_daemon_start(const struct lab_cluster *c, struct lab_daemon *d, struct buffer *error);
/* A command to its faults port (server/host/faults.h). False: it was not taken. */
bool lab_daemon_fault(const struct lab_daemon *d, const char *command);
/* Whether all processes run that were not killed here. False: `error` names one that ended. */
bool lab_cluster_check(struct lab_cluster *c, struct buffer *error);
