/* expressions.c - `weir-bench expressions`: what conditions, updates and filters cost.
 *
 * One `weir local` of its own. Each scene runs plain requests and requests with an expression in
 * turn. Its ratio is that of the server's processor time for a request: plain over expression. */
#include <stdio.h>

#include "bench/bench.h"
#include "bench/one_server.h"
#include "router/json/json_writer.h"

/* A page of 1 MB is 1,100 items of 1 KB, which are one page and a little more. */
#define PAGE                                                                                      \
    "table=pages,sort-key=sk,distribution=collection:page,keys=1100,item-bytes=1000,connections=" \
    "4,"

struct scene {
    const char *name;
    const char *plain, *expression; /* settings */
    double budget;
};

/* Conditions look at items that are there. */
static const struct scene scenes[] = {
    {"PutItem, attribute_not_exists", "read-ratio=0",
     "read-ratio=0,condition=attribute_not_exists(gone)", 0.9},
    {"UpdateItem ADD, beside PutItem", "table=puts,read-ratio=0", "table=counters,increments", 0.8},
    {"Query of 1 MB, a filter drops all", PAGE "read-ratio=1,queries",
     PAGE "read-ratio=1,queries,filter=attribute_exists(gone)", 0.8},
};

static void expressions_print(struct bench_one_server *b, const struct scene *s,
                              struct bench_side *plain, struct bench_side *with)
{
    size_t rounds = (size_t)b->rounds;
    double plain_us = bench_median(plain->cpu_us, rounds), us = bench_median(with->cpu_us, rounds);
    double plain_per_s = bench_median(plain->per_s, rounds);
    double per_s = bench_median(with->per_s, rounds), ratio = plain_us / us;
    if (b->json) {
        json_write_open(&b->out, '{');
        json_member_text(&b->out, "name", s->name);
        json_member_real(&b->out, "plain_cpu_us", plain_us);
        json_member_real(&b->out, "cpu_us", us);
        json_member_real(&b->out, "plain_per_s", plain_per_s);
        json_member_real(&b->out, "per_s", per_s);
        json_member_real(&b->out, "ratio", ratio);
        json_member_real(&b->out, "budget", s->budget);
        json_write_close(&b->out, '}');
    } else
        printf("%-34s %8.1f us plain, %8.1f us with: %.2f (budget %.2f); %.0f/s, %.0f/s: %.2f\n",
               s->name, plain_us, us, ratio, s->budget, plain_per_s, per_s, per_s / plain_per_s);
    b->missed |= ratio < s->budget;
}

static enum status expressions_run(struct bench_one_server *b, struct buffer *error)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < COUNT_OF(scenes) && status == STATUS_OK; i++) {
        const struct scene *s = &scenes[i];
        struct bench_side plain = {.server = &b->server, .settings = s->plain};
        struct bench_side with = {.server = &b->server, .settings = s->expression};
        status = bench_load_preload(&b->load, b->url, s->plain, error);
        if (status == STATUS_OK)
            status = bench_load_preload(&b->load, b->url, s->expression, error);
        if (status == STATUS_OK)
            status = bench_load_compare(&b->load, &plain, &with, (int)b->rounds, error);
        if (status == STATUS_OK)
            expressions_print(b, s, &plain, &with);
    }
    return status;
}

int bench_expressions(int argc, char **argv)
{
    struct bench_one_server b = {
        .name = "expressions",
        .about =
            "The server's cost of a condition, an update and a filter: processor time of plain "
            "requests over that of requests with an expression, in turn. Queries have 4 "
            "connections and items of 1,000 bytes. Exit code 1: below a budget.\n",
        .examples = "  weir-bench expressions\n"
                    "  weir-bench expressions --rounds 15 --item-bytes 4000 --json\n",
        .run = expressions_run};
    return bench_on_one_server(&b, argc, argv);
}
