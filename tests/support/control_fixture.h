/* control_fixture.h - a catalog, loads, and a controller that evaluates them. Its decisions are
 * kept. */
#pragma once

#include "base/config.h"
#include "control/controller.h"

enum {
    NODES = 5,
    CONTROL_FIXTURE_DECISIONS_MAX = 16
};

struct control_fixture {
    struct config config;
    struct controller *controller;
    struct catalog *catalog;
    struct cluster_loads *loads;
    struct control_view view;
    struct instant now;
    struct partition_report reports[64]; /* by partition: the counts of its leader so far */
    struct node_report nodes[NODES + 1];
    /* from the last evaluation */
    uint32_t decision_count;
    enum catalog_op ops[CONTROL_FIXTURE_DECISIONS_MAX];
    struct decision decisions[CONTROL_FIXTURE_DECISIONS_MAX];
    struct buffer bodies[CONTROL_FIXTURE_DECISIONS_MAX];
    struct control_request other; /* the last request that was not a decision; its body lends */
};

void control_fixture_init(struct control_fixture *w, uint32_t nodes);
void control_fixture_deinit(struct control_fixture *w);

struct catalog_command control_fixture_command(struct control_fixture *w, enum catalog_op op);
enum reply_code control_fixture_apply(struct control_fixture *w, struct catalog_command *command);
/* The node is heard of from now on. */
void control_fixture_introduce(struct control_fixture *w, uint32_t node);
/* Creates a table, and reconciles it. */
const struct table *control_fixture_create(struct control_fixture *w, const char *name,
                                           enum table_billing billing, int64_t rcu, int64_t wcu);
/* Lets time pass, then evaluates. Decisions are kept, applied if `apply_all`, and answered. */
void control_fixture_evaluate(struct control_fixture *w, int64_t ms, bool apply_all);

/* Demand on each partition in units per second, and its outcome. */
struct demand {
    int64_t units[8];
    int64_t consumed_mcu;
    int64_t refused_mcu;
};

/* Serves what each partition's allocation lets through, on demand up to the partition maximum. The
 * rest is refused. */
void control_fixture_serve(struct control_fixture *w, const struct table *t, struct demand *d,
                           int64_t ms);
/* Seconds of that demand until the controller sends a request that is no decision; -1: none. */
int control_fixture_seconds_to_question(struct control_fixture *w, const char *name,
                                        struct demand *d, int max);
