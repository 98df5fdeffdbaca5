/* control_world.h - a catalog, loads that go on, and a controller that evaluates them: what the
 * case files of the controller talk about. tests/unit/control/control_cases_test.c lists the
 * commands. */
#pragma once

#include "control/controller.h"
#include "tests/support/catalog_world.h"

enum {
    CONTROL_NODES = 5,
    CONTROL_DECISIONS_MAX = 16,
    CONTROL_TABLES_MAX = 4,
    CONTROL_PARTITIONS_MAX = 8, /* of a table with a load */
    CONTROL_GROUPS_MAX = 64,
    CONTROL_EVALUATION_MS = 500
};

/* Amounts of a report; of a load: per second. */
struct control_load {
    bool set;
    int64_t consumed, refused; /* units */
    int64_t refusals;          /* by the maximum */
    int64_t bytes, excess_ms;  /* -1: as before */
    int64_t epoch;             /* beside the partition's */
    uint8_t direction;
    struct index_refusal index;
    int64_t index_refusals;
    char heavy[96]; /* KEY#SHARD:UNITS,.. */
};

struct control_table {
    char name[16];
    int64_t units[CONTROL_PARTITIONS_MAX]; /* asked for a second; less than 0: no report */
    int64_t consumed, refused;             /* units in the last evaluation */
    struct control_load loads[CONTROL_PARTITIONS_MAX];
};

struct control_world {
    struct catalog_world c;
    struct controller *controller;
    struct cluster_loads *loads;
    struct control_view view;
    struct instant now;
    struct partition_report reports[CONTROL_GROUPS_MAX]; /* the counts of its leader so far */
    struct buffer keys[CONTROL_GROUPS_MAX][HEAVY_KEYS_MAX];
    struct node_report nodes[CONTROL_NODES + 1];
    struct control_table tables[CONTROL_TABLES_MAX];
    int64_t busy[CONTROL_NODES + 1]; /* units a second of a node beside its partitions */
    bool nodes_report;
    bool refusing;     /* the catalog takes no decision, but says so */
    bool unresponsive; /* it does not even answer */
    bool terse;        /* the texts of events are not shown */
    /* of the last evaluation */
    uint32_t decision_count;
    enum catalog_op ops[CONTROL_DECISIONS_MAX];
    struct decision decisions[CONTROL_DECISIONS_MAX];
    struct buffer bodies[CONTROL_DECISIONS_MAX];
    bool has_request;               /* a new one */
    struct control_request request; /* the last; its body lends until the next evaluation */
};

void control_world_begin(struct control_world *w);
void control_world_end(struct control_world *w);
void control_world_add_node(struct control_world *w, uint32_t node);

struct control_table *control_world_load(struct control_world *w, const char *name);
/* Adds so many milliseconds of the load, or for 0 its amounts, to the partition's report. */
void control_world_note(struct control_world *w, const struct partition_info *p,
                        const struct control_load *l, int64_t ms);
/* Lets time pass, then the controller evaluates. Its decisions are kept, taken and answered. */
void control_world_evaluate(struct control_world *w, int64_t ms);
/* All loads go on for CONTROL_EVALUATION_MS, then the controller evaluates. */
void control_world_step(struct control_world *w);
void control_world_answer(struct control_world *w, enum reply_code code, struct slice advice);

/* Commands about loads and answers; about policies. */
extern const struct case_verb control_load_verbs[], control_policy_verbs[];
