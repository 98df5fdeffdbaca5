/* catalog_world.h - a catalog for case files: its commands, and what it says (case_words.h).
 *
 * After each command the partitions of each table adjoin and have heard what all must hear, and the
 * rows that would be on disk give the same tables. tests/unit/engine/catalog_cases_test.c lists the
 * commands. */
#pragma once

#include "base/config.h"
#include "engine/catalog/catalog.h"
#include "tests/support/case_words.h"

struct catalog_world {
    struct catalog *catalog;
    struct config config;
    uint32_t nodes;           /* that commands know */
    uint32_t generation;      /* of node n: n times so much */
    int64_t wall_ms;          /* of the proposing node */
    int64_t behind_ms;        /* the agreed time is so much behind; less than 0: none is agreed */
    char settings[256];       /* of each cluster */
    struct catalog_row *rows; /* owns the bytes */
    size_t row_count;
    uint64_t late;      /* what `late` says was reconciled, */
    uint32_t late_id;   /* and of which table */
    struct buffer text; /* why the last command was refused; or the indexes that changed with it */
};

void catalog_world_begin(struct catalog_world *w, uint32_t nodes);
void catalog_world_end(struct catalog_world *w);
void catalog_world_add_node(struct catalog_world *w, uint32_t node, uint32_t generation);

struct catalog_command catalog_world_command(const struct catalog_world *w, enum catalog_op op);
enum reply_code catalog_world_apply(struct catalog_world *w, struct catalog_command *c);
enum reply_code catalog_world_decide(struct catalog_world *w, enum catalog_op op,
                                     const struct decision *d);

/* Fails if there is none. */
const struct table *catalog_world_table(const struct catalog_world *w, const char *name);
const struct partition_info *catalog_world_at(const struct catalog_world *w, const char *name,
                                              int64_t i);

/* Settings as words `NAME=VALUE`. `only=A,B`: of the controller's parts the others are off. */
void catalog_world_set(struct catalog_world *w, struct case_words *c, int i);
void catalog_world_settings(struct catalog_world *w); /* those of each cluster */
/* Says a refusal: the command, the code and the text. */
void catalog_world_print(struct catalog_world *w, struct case_words *c, enum reply_code code);
void catalog_world_print_table(struct case_words *c, const struct table *t);

/* Commands; `world` begins with a struct catalog_world. */
extern const struct case_verb catalog_table_verbs[], catalog_decision_verbs[];
