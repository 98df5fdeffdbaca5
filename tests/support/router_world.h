/* router_world.h - requests of case files to a router, and their answers as texts.
 * tests/unit/router/answers_test.c lists the commands. */
#pragma once

#include "tests/support/case_words.h"
#include "tests/support/fake_cluster.h"

enum {
    ROUTER_LETS_MAX = 32,
    ROUTER_SHOWN_MAX = 6000 /* of longer bodies only the beginning is shown */
};

struct router_world {
    struct fake_cluster f;
    struct fake_answer answer; /* the last; lends until the next request */
    char splitting[32];        /* the table that is split anew between pages; empty: none */
    int let_count;
    struct {
        char name[32], text[2048];
    } lets[ROUTER_LETS_MAX];
    char idempotency_key[32]; /* of the next request to a path; empty: none */
};

/* Runs a command that has or is a request. False: it is another command. */
bool router_world_request(struct router_world *w, const char *command, struct buffer *out);
/* The same for the commands of router_parts.c. */
bool router_world_part(struct router_world *w, const char *command, struct buffer *out);
/* From now on the name stands for the text. */
void router_world_let(struct router_world *w, const char *name, struct slice text);
/* `OPERATION [BODY]`, expanded; `answer`: takes what has come. */
void router_world_send(struct router_world *w, const char *text);
void router_world_show(const struct router_world *w, struct buffer *out);
struct table *router_world_table(struct router_world *w, const char *name);
void router_world_headers(void *world, struct case_words *c);
