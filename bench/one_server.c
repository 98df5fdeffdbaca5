/* one_server.c - benches that put loads on one `weir local` in turn. */
#include "bench/one_server.h"

#include "bench/bench.h"
#include "cmd/usage.h"
#include "router/json/json_writer.h"

#define MEMBER(member) FIELD_MEMBER(struct bench_one_server, member)

static const struct field one_server_options[] = {
    {"rounds", FIELD_INTEGER, MEMBER(rounds), "N", .min = 1, .max = BENCH_ROUNDS_MAX,
     .help = "The number of rounds of each measurement. Medians count."},
    {"connections", FIELD_INTEGER, MEMBER(load.connections), "N", .min = 1, .max = 10000,
     .help = "The number of connections."},
    {"data", FIELD_TEXT, MEMBER(data), "DIR",
     .help = "The started server keeps its data in a new directory below DIR."},
    {"json", FIELD_FLAG, MEMBER(json), .help = "Print one JSON object."},
};

/* Of loads as `weir load` puts them. */
static const struct field one_server_load_options[] = {
    {"duration", FIELD_TEXT, MEMBER(load.duration), "TIME",
     .help = "The duration of each measurement."},
    {"item-bytes", FIELD_INTEGER, MEMBER(load.item_bytes), "N", .min = 1, .max = ITEM_SIZE_MAX,
     .help = "The size of an item in bytes, names and values together."},
};

#undef MEMBER

static int one_server_parse(struct bench_one_server *b, int argc, char **argv)
{
    char command[64];
    snprintf(command, sizeof command, "weir-bench %s", b->name);
    const struct option_group load = OPTION_GROUP(NULL, one_server_load_options, b);
    const struct command_line line = {
        .command = command,
        .usage = "[option]...",
        .about = b->about,
        .examples = b->examples,
        .groups = {OPTION_GROUP(NULL, one_server_options, b), b->more.count > 0 ? b->more : load}};
    return usage_parse(&line, argc, argv);
}

static enum status one_server_measure(struct bench_one_server *b, struct buffer *error)
{
    int load_cpu;
    bench_choose_cpus(&b->server_cpu, &load_cpu);
    enum status status = bench_server_start(&b->server, b->data, b->server_cpu, NULL, error);
    bench_pin(load_cpu);
    if (status == STATUS_OK) {
        bench_server_url(&b->server, b->url);
        status = b->run(b, error);
    }
    bench_server_stop(&b->server);
    return status;
}

int bench_on_one_server(struct bench_one_server *b, int argc, char **argv)
{
    b->rounds = 7;
    b->load =
        (struct bench_load){.duration = "1s", .connections = 64, .keys = 10000, .item_bytes = 100};
    b->data = "/tmp";
    const int code = one_server_parse(b, argc, argv);
    if (code != USAGE_GO_ON)
        return code;
    struct buffer error = {0};
    json_write_open(&b->out, '{');
    json_member_text(&b->out, "bench", b->name);
    json_member_integer(&b->out, "rounds", b->rounds);
    json_member_open(&b->out, "scenes", '[');
    const enum status status = one_server_measure(b, &error);
    json_write_closes(&b->out, "]}");
    return bench_end(b->name, b->json, &b->out, &error, status == STATUS_OK && !b->missed);
}
