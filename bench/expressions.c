/* expressions.c - `weir-bench expressions`: what conditions, updates and filters cost.
 *
 * One `weir local` of its own. Each scene runs plain requests and requests with an expression in
 * turn. Its ratio is that of the server's processor time for a request: plain over expression. */
#include <stdio.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/http_load.h"
#include "cmd/usage.h"
#include "router/json/json_writer.h"

struct bench_expressions {
    bool json;
    int64_t rounds;
    struct bench_load load;
    const char *data;
    int server_cpu, load_cpu;
    struct buffer out; /* the JSON so far */
};

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

static bool print_scene(struct bench_expressions *b, const struct scene *s,
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
    return ratio >= s->budget;
}

/* STATUS_IO without an error text: below the budget. */
static enum status run_scenes(struct bench_expressions *b, const struct bench_server *server,
                              struct buffer *error)
{
    char url[64];
    bool kept = true;
    enum status status = STATUS_OK;
    snprintf(url, sizeof url, "http://127.0.0.1:%u", server->port);
    for (size_t i = 0; i < COUNT_OF(scenes) && status == STATUS_OK; i++) {
        const struct scene *s = &scenes[i];
        struct bench_side plain = {.server = server, .settings = s->plain};
        struct bench_side with = {.server = server, .settings = s->expression};
        status = bench_load_preload(&b->load, url, s->plain, error);
        if (status == STATUS_OK)
            status = bench_load_preload(&b->load, url, s->expression, error);
        if (status == STATUS_OK)
            status = bench_load_compare(&b->load, &plain, &with, (int)b->rounds, error);
        if (status == STATUS_OK)
            kept &= print_scene(b, s, &plain, &with);
    }
    return status == STATUS_OK && !kept ? STATUS_IO : status;
}

#define MEMBER(member) OPTION_MEMBER(struct bench_expressions, member)

static const struct option expressions_options[] = {
    {"rounds", "N", OPTION_INTEGER, MEMBER(rounds), .least = 1, .most = BENCH_ROUNDS_MAX,
     .help = "How often each measurement is made. Medians count."},
    {"duration", "TIME", OPTION_TEXT, MEMBER(load.duration),
     .help = "How long each measurement takes."},
    {"connections", "N", OPTION_INTEGER, MEMBER(load.connections), .least = 1, .most = 10000,
     .help = "How many connections there are, but for Queries."},
    {"item-bytes", "N", OPTION_INTEGER, MEMBER(load.item_bytes), .least = 1, .most = ITEM_SIZE_MAX,
     .help = "The size of an item in bytes, but for Queries."},
    {"data", "DIR", OPTION_TEXT, MEMBER(data),
     .help = "The started server keeps its data in a new directory below DIR."},
    {"json", NULL, OPTION_FLAG, MEMBER(json), .help = "Print one JSON object."},
};

#undef MEMBER

int bench_expressions(int argc, char **argv)
{
    struct bench_expressions b = {
        .rounds = 7,
        .load = {.duration = "1s", .connections = 64, .keys = 10000, .item_bytes = 100},
        .data = "/tmp"};
    bench_choose_cpus(&b.server_cpu, &b.load_cpu);
    const struct command_line line = {
        .command = "weir-bench expressions",
        .usage = "[option]...",
        .about =
            "What a condition, an update and a filter cost the server: processor time of plain "
            "requests over that of requests with an expression, in turn. Exit code 1: below "
            "a budget.\n",
        .examples = "  weir-bench expressions\n"
                    "  weir-bench expressions --rounds 15 --item-bytes 4000 --json\n",
        .groups = {OPTION_GROUP(NULL, expressions_options, &b)}};
    int code = usage_parse(&line, argc, argv);
    if (code != USAGE_GO_ON)
        return code;
    struct buffer error = {0};
    struct bench_server server = {0};
    json_write_open(&b.out, '{');
    json_member_text(&b.out, "bench", "expressions");
    json_member_integer(&b.out, "rounds", b.rounds);
    json_member_open(&b.out, "scenes", '[');
    enum status status = bench_server_start(&server, b.data, b.server_cpu, NULL, &error);
    bench_pin(b.load_cpu);
    if (status == STATUS_OK)
        status = run_scenes(&b, &server, &error);
    bench_server_stop(&server);
    json_write_close(&b.out, ']');
    json_write_close(&b.out, '}');
    if (b.json)
        bench_print(&b.out);
    else
        buffer_deinit(&b.out);
    if (error.size > 0)
        fprintf(stderr, "weir-bench expressions: %.*s\n", (int)error.size, (char *)error.data);
    buffer_deinit(&error);
    return status == STATUS_OK ? 0 : 1;
}
