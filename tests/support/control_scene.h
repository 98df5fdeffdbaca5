/* control_scene.h - a catalog, loads, and a controller that looks at them. Its decisions are
 * kept. */
#pragma once

#include "base/config.h"
#include "control/controller.h"

enum {
    NODES = 5,
    SCENE_DECISIONS_MAX = 16
};

struct scene {
    struct config config;
    struct controller *controller;
    struct catalog *catalog;
    struct cluster_loads *loads;
    struct control_view view;
    struct instant now;
    struct partition_report reports[64]; /* by partition: the counts of its leader so far */
    struct node_report nodes[NODES + 1];
    /* from the last look */
    uint32_t decision_count;
    enum catalog_op ops[SCENE_DECISIONS_MAX];
    struct decision decisions[SCENE_DECISIONS_MAX];
    struct buffer bodies[SCENE_DECISIONS_MAX];
    struct control_request other; /* the last request that was not a decision; its body lends */
};

void scene_init(struct scene *w, uint32_t nodes);
void scene_deinit(struct scene *w);

struct catalog_command scene_command(struct scene *w, enum catalog_op op);
enum reply_code scene_apply(struct scene *w, struct catalog_command *command);
/* The node is heard of from now on. */
void scene_introduce(struct scene *w, uint32_t node);
/* Creates a table, and reconciles it. */
const struct table *scene_create(struct scene *w, const char *name, enum table_billing billing,
                                 int64_t rcu, int64_t wcu);
/* Lets time pass, then looks. Decisions are kept, applied if `apply_all`, and answered. */
void scene_look(struct scene *w, int64_t ms, bool apply_all);

/* Demand on each partition in units per second, and its outcome. */
struct demand {
    int64_t units[8];
    int64_t consumed_mcu;
    int64_t refused_mcu;
};

/* Serves what each partition's allocation lets through, on demand up to the partition maximum. The
 * rest is refused. */
void scene_serve(struct scene *w, const struct table *t, struct demand *d, int64_t ms);
/* Seconds of that demand until the controller sends a request that is no decision; -1: none. */
int scene_seconds_to_question(struct scene *w, const char *name, struct demand *d, int most);
