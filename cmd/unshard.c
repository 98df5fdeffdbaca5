/* unshard.c - `weir unshard`: gives a sharded key fewer shards. */
#include <stdio.h>
#include <time.h>

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/server_call.h"
#include "cmd/usage.h"
#include "router/json/json_writer.h"

enum {
    WAIT_NS = 500 * 1000 * 1000,
    REPORT_EVERY = 10 /* answers */
};

static const char about[] =
    "Gives a hot key fewer shards: 1, or the number of --shards. With 1 shard the key is an "
    "ordinary key again. Its items move back one by one; requests are served meanwhile. GET "
    "/weir/partitions shows the key under `key_sharding` until it has one shard and all items are "
    "in it. If the key is still hot, it gets shards again, unless the table's tag "
    "weir:key-sharding is off.\n\n"
    "KEY is the partition key as in GetItem. "
    "Exit code 0: started (with --wait: done); 1: not possible, or the cluster refused; 2: wrong "
    "usage. POST /weir/unshard of the admin listener returns the same texts.\n";

struct unshard {
    struct client_url url; /* of the admin listener */
    char token[HTTP_BEARER_MAX];
    const char *table; /* NULL: not given */
    const char *key;
    int64_t shards;
    bool wait;
    struct json_parser *parser;
};

/* Whether the key's items are still on their way for an earlier order. */
static bool unshard_is_early(const struct unshard *u, int http_status, const struct buffer *answer)
{
    struct json_value root = {0};
    if (json_parse(u->parser, buffer_slice(answer), &root) != STATUS_OK)
        return false;
    const struct json_value member = json_find(&root, "__type");
    const struct slice type = json_text(&member);
    return http_status == 400 && type.size > 0 &&
           memmem(type.data, type.size, "#ResourceInUse", 14) != NULL;
}

/* Says at the first time, and at some later ones, what is waited for. */
static void unshard_rest(uint32_t polls)
{
    if (polls % REPORT_EVERY == 0) {
        printf("items are still moving\n");
        fflush(stdout);
    }
    nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
}

/* False: the fault has been printed. */
static bool unshard_exchange(const struct unshard *u, const struct buffer *request,
                             struct buffer *answer)
{
    struct buffer error = {0};
    int http_status = 0;
    enum status status;
    for (uint32_t polls = 0;; polls++) {
        buffer_clear(answer);
        status = client_exchange(&u->url, buffer_slice(request), &http_status, answer, &error);
        if (!u->wait || status != STATUS_OK || !unshard_is_early(u, http_status, answer))
            break;
        unshard_rest(polls);
    }
    if (status != STATUS_OK)
        fprintf(stderr, "weir unshard: %.*s\n", TEXT_OF(error));
    else if (http_status != 200)
        server_call_refused("weir unshard", http_status, answer);
    buffer_deinit(&error);
    return status == STATUS_OK && http_status == 200;
}

static bool unshard_request(const struct unshard *u, struct buffer *answer)
{
    struct buffer request = {0}, body = {0};
    json_write_open(&body, '{');
    json_member_text(&body, "TableName", u->table);
    json_write_key(&body, "Key");
    buffer_append_text(&body, u->key);
    json_member_integer(&body, "Shards", u->shards);
    json_write_close(&body, '}');
    client_write_json(&request, &u->url, "POST /weir/unshard", u->token, buffer_slice(&body));
    const bool done = unshard_exchange(u, &request, answer);
    buffer_deinit(&request);
    buffer_deinit(&body);
    return done;
}

/* ---- waiting ---- */

static bool unshard_find_in(const struct json_value *keys, struct slice hash,
                            struct json_value *out)
{
    if (keys->type != JSON_LIST)
        return false;
    struct json_cursor key = json_elements(keys);
    while (json_next_element(&key, out)) {
        const struct json_value found = json_find(out, "hash");
        if (slice_equal(json_text(&found), hash))
            return true;
    }
    return false;
}

/* The key with this hash in the answer of /weir/partitions. False: it is not there. */
static bool unshard_find(const struct unshard *u, const struct buffer *answer, struct slice hash,
                         struct json_value *out)
{
    struct json_value root = {0}, table;
    if (json_parse(u->parser, buffer_slice(answer), &root) != STATUS_OK)
        return false;
    const struct json_value tables = json_find(&root, "tables");
    if (tables.type != JSON_LIST)
        return false;
    JSON_FOREACH (table, &tables) {
        const struct json_value key_sharding = json_find(&table, "key_sharding");
        const struct json_value keys = json_find(&key_sharding, "keys");
        if (unshard_find_in(&keys, hash, out))
            return true;
    }
    return false;
}

/* Asks until the key does not move any more. */
static bool unshard_wait(const struct unshard *u, struct slice hash)
{
    struct buffer request = {0}, answer = {0}, path = {0};
    bool done = true, moves = true;
    uint32_t polls = 0;
    buffer_append_format(&path, "GET /weir/partitions?table=%s", u->table);
    buffer_append_u8(&path, 0);
    while (done && moves) {
        struct json_value key;
        buffer_clear(&request);
        buffer_clear(&answer);
        client_write_plain(&request, &u->url, (const char *)path.data, u->token);
        done = unshard_exchange(u, &request, &answer);
        moves = done && unshard_find(u, &answer, hash, &key);
        if (moves) {
            const struct json_value moving = json_find(&key, "moving");
            moves = moving.type == JSON_BOOL && json_bool(&moving);
        }
        if (moves)
            unshard_rest(polls++);
    }
    buffer_deinit(&request);
    buffer_deinit(&answer);
    buffer_deinit(&path);
    return done;
}

static int unshard_run(struct unshard *u)
{
    struct buffer answer = {0}, kept = {0};
    u->parser = json_parser_create();
    bool done = unshard_request(u, &answer);
    struct json_value root = {0};
    if (done && json_parse(u->parser, buffer_slice(&answer), &root) == STATUS_OK) {
        const struct json_value hash = json_find(&root, "hash");
        buffer_append_slice(&kept, json_text(&hash));
    }
    if (done)
        printf("the key gets %lld shard%s; its items move\n", (long long)u->shards,
               u->shards == 1 ? "" : "s");
    if (done && u->wait && kept.size > 0) {
        fflush(stdout);
        done = unshard_wait(u, buffer_slice(&kept));
        if (done)
            printf("all items are in their owner shards\n");
    }
    buffer_deinit(&answer);
    buffer_deinit(&kept);
    json_parser_destroy(u->parser);
    return done ? 0 : 1;
}

/* ---- the command line ---- */

static const struct field unshard_options[] = {
    OPTIONS_ADMIN_CLIENT(struct unshard),
    {"shards", FIELD_INTEGER, FIELD_MEMBER(struct unshard, shards), "N", .min = 1, .max = 127,
     .help = "The number of shards afterwards."},
    {"wait", FIELD_FLAG, FIELD_MEMBER(struct unshard, wait),
     .help = "Wait for an earlier change of the key, and return when all items are in their owner "
             "shards."},
};

/* Attribute values by name, as in GetItem. The server checks the values by the table's key. */
static bool unshard_is_key(const char *text)
{
    struct buffer padded = {0};
    struct json_parser *parser = json_parser_create();
    struct json_value root = {0}, value;
    struct slice name;
    buffer_append_text(&padded, text);
    buffer_reserve(&padded, JSON_PADDING);
    bool good = json_parse(parser, buffer_slice(&padded), &root) == STATUS_OK &&
                root.type == JSON_OBJECT && json_count(&root) > 0;
    if (good) {
        JSON_FOREACH_MEMBER (name, value, &root)
            good = good && value.type == JSON_OBJECT && json_count(&value) == 1;
    }
    json_parser_destroy(parser);
    buffer_deinit(&padded);
    return good;
}

int cmd_unshard(int argc, char **argv)
{
    const char *words[2];
    int count = 0;
    struct unshard u = {.url = {.host = "127.0.0.1", .port = 8000 + ADMIN_PORT_OFFSET},
                        .shards = 1};
    const struct command_line line = {
        .command = "weir unshard",
        .usage = "[option]... TABLE KEY",
        .about = about,
        .examples = "  weir unshard events '{\"day\":{\"S\":\"2026-11-26\"}}'\n"
                    "  weir unshard --shards 4 --wait events '{\"day\":{\"S\":\"2026-11-26\"}}'\n",
        .groups = {OPTION_GROUP(NULL, unshard_options, &u)},
        .words = {words, &count, 2, 2, "one TABLE and one KEY"}};
    const int code = usage_parse(&line, argc, argv);
    if (code != USAGE_GO_ON)
        return code;
    u.table = words[0];
    u.key = words[1];
    if (!unshard_is_key(u.key))
        return usage_wrong(line.command,
                           "KEY must be the partition key as in GetItem, such as "
                           "'{\"day\":{\"S\":\"2026-11-26\"}}', not `%s`",
                           u.key);
    return unshard_run(&u);
}
