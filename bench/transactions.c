/* transactions.c - `weir-bench transactions`: transactions of two items, beside two plain puts.
 *
 * One `weir local` of its own without limits. A table of one partition and one of many are written
 * in turn, by plain puts and by transactions of two puts. The ratio is the median over the rounds
 * of the items that transactions put, over those of plain puts to the same table. */
#include <stdio.h>

#include "base/must.h"
#include "bench/bench.h"
#include "bench/one_server.h"
#include "router/json/json_writer.h"

enum {
    ITEMS = 2, /* of a transaction */
    PARTITIONS = 20,
    UNITS = 1000 /* of a partition */
};

struct transaction_scene {
    const char *name;
    const char *table;
    bool transacts;
    double budget; /* 0: none; later scenes of the table are compared with it */
};

static const struct transaction_scene scenes[] = {
    {"one partition, puts", "one", false, 0},
    {"one partition, transactions", "one", true, 0.8},
    {"many partitions, puts", "many", false, 0},
    {"many partitions, transactions", "many", true, 0.3},
};

enum {
    SCENES = COUNT_OF(scenes)
};

static enum status transactions_create(const char *url, const char *table, int partitions,
                                       struct buffer *error)
{
    struct client_url to;
    struct buffer body = {0}, request = {0};
    must(client_url_parse(&to, url) == NULL);
    buffer_append_format(
        &body,
        "{\"TableName\":\"%s\",\"ProvisionedThroughput\":{\"ReadCapacityUnits\":1,"
        "\"WriteCapacityUnits\":%d},\"KeySchema\":[{\"AttributeName\":\"pk\",\"KeyType\":\"HASH\"}]"
        ","
        "\"AttributeDefinitions\":[{\"AttributeName\":\"pk\",\"AttributeType\":\"S\"}]}",
        table, partitions * UNITS);
    client_write_operation(&request, &to, "CreateTable", buffer_slice(&body));
    const enum status status = bench_request(&to, table, buffer_slice(&request), error);
    buffer_deinit(&body);
    buffer_deinit(&request);
    return status;
}

static void transactions_write(struct bench_one_server *b, const struct transaction_scene *s,
                               struct bench_side *side, double ratio, double cpu_ratio)
{
    const double per_s = bench_median(side->per_s, (size_t)b->rounds);
    const double cpu_us = bench_median(side->cpu_us, (size_t)b->rounds);
    if (!b->json) {
        printf("%-32s %8.0f/s %6.1f us", s->name, per_s, cpu_us);
        if (s->transacts)
            printf(": %.2f of the puts' items, processor %.2f (budget %.2f)", ratio, cpu_ratio,
                   s->budget);
        printf("\n");
        return;
    }
    json_write_open(&b->out, '{');
    json_member_text(&b->out, "name", s->name);
    json_member_real(&b->out, "per_s", per_s);
    json_member_real(&b->out, "cpu_us", cpu_us);
    if (s->transacts) {
        json_member_real(&b->out, "ratio", ratio);
        json_member_real(&b->out, "cpu_ratio", cpu_ratio);
        json_member_real(&b->out, "budget", s->budget);
    }
    json_write_close(&b->out, '}');
}

/* Ratios come first: medians sort the rounds. */
static void transactions_compare(struct bench_one_server *b, struct bench_side *sides)
{
    double ratio[SCENES], cpu_ratio[SCENES];
    int plain = 0;
    for (int i = 0; i < SCENES; i++) {
        plain = scenes[i].transacts ? plain : i;
        ratio[i] =
            ITEMS * bench_median_ratio(sides[i].per_s, sides[plain].per_s, (size_t)b->rounds);
        cpu_ratio[i] =
            ITEMS * bench_median_ratio(sides[plain].cpu_us, sides[i].cpu_us, (size_t)b->rounds);
        b->missed |= scenes[i].transacts && ratio[i] < scenes[i].budget;
    }
    for (int i = 0; i < SCENES; i++)
        transactions_write(b, &scenes[i], &sides[i], ratio[i], cpu_ratio[i]);
}

static enum status transactions_run(struct bench_one_server *b, struct buffer *error)
{
    char settings[SCENES][128];
    struct bench_side sides[SCENES] = {0};
    enum status status = transactions_create(b->url, "one", 1, error);
    if (status == STATUS_OK)
        status = transactions_create(b->url, "many", PARTITIONS, error);
    for (int i = 0; i < SCENES && status == STATUS_OK; i++) {
        /* Keys are so many that two transactions hardly ever meet. */
        snprintf(settings[i], sizeof settings[i], "table=%s,mix=update:1,keys=%lld%s",
                 scenes[i].table, (long long)b->load.keys,
                 scenes[i].transacts ? ",transact=2,distribution=sequential"
                                     : ",distribution=sequential");
        sides[i] = (struct bench_side){.server = &b->server, .settings = settings[i]};
    }
    for (int i = 0; i < SCENES * (int)b->rounds && status == STATUS_OK; i++) {
        const int round = i / SCENES, number = (i + round) % SCENES;
        status = bench_load_round(&b->load, &sides[number], round, error);
    }
    if (status == STATUS_OK)
        transactions_compare(b, sides);
    return status;
}

int bench_transactions(int argc, char **argv)
{
    struct bench_one_server b = {
        .name = "transactions",
        .about =
            "Transactions of two puts over HTTP, beside plain puts, to a table of one partition "
            "and to one of 20. Exit code 1: below a budget.\n",
        .examples = "  weir-bench transactions\n"
                    "  weir-bench transactions --rounds 15 --connections 256 --json\n",
        .run = transactions_run};
    return bench_on_one_server(&b, argc, argv);
}
