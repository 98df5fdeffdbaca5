/* bench_etcd.c - `weir bench etcd`: durable puts into an etcd, as many at a time as asked for.
 *
 * The peer of replicated PutItem. Speaks gRPC (bench_grpc.h) or, to compare, JSON over HTTP/1.1
 * through etcd's gateway; each connection has one put on its way. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/histogram.h"
#include "base/must.h"
#include "base/prng.h"
#include "cmd/bench.h"
#include "cmd/bench_grpc.h"
#include "cmd/load_keys.h"
#include "cmd/load_response.h"
#include "host/address.h"
#include "host/loop.h"
#include "router/base64.h"

enum {
    KEY_SIZE = 14, /* key-0000000000 */
    CONNECTIONS_MAX = 4096,
    ITEM_BYTES_MAX = 8192,
    DRAIN_MS = 5000,
    CONNECT_MS = 5000,
};

struct bench_etcd;

struct etcd_connection {
    struct bench_etcd *bench; /* borrows */
    struct connection *connection;
    struct bench_grpc grpc;
    struct load_response_reader http;
    int64_t sent_ns;
    bool busy;
};

struct bench_etcd {
    bool is_json_output, is_json_protocol;
    const char *url;
    int64_t seconds, connection_count, keys, item_bytes;
    struct buffer host_text; /* of the URL, without its port */
    uint16_t port;
    char authority[128];
    struct loop *loop;
    struct etcd_connection *connections; /* owns */
    struct prng random;
    struct buffer scratch, body;
    char value[ITEM_BYTES_MAX];
    int64_t up, busy, failed;
    bool lost; /* a connection */
    struct instant end;
    struct histogram latency;
};

static const char help_text[] =
    "usage: weir bench etcd --url http://HOST:PORT [--json] [options]\n\n"
    "Puts per second and latencies of an etcd, each answered before the connection's next one.\n\n"
    "  --url URL         a member's client address\n"
    "  --protocol NAME   grpc (default: what etcd's own clients speak) or json (its gateway)\n"
    "  --seconds N       (5)\n"
    "  --connections N   (64)\n"
    "  --keys N          (10000)\n"
    "  --item-bytes N    of key and value together (100)\n"
    "\nexample:\n  weir bench etcd --url http://127.0.0.1:2379 --json\n";

/* ---- requests ---- */

static void write_json_put(struct bench_etcd *b, struct slice key, struct slice value)
{
    buffer_clear(&b->body);
    buffer_append_text(&b->body, "{\"key\":\"");
    base64_append(&b->body, key);
    buffer_append_text(&b->body, "\",\"value\":\"");
    base64_append(&b->body, value);
    buffer_append_text(&b->body, "\"}");
    buffer_append_format(&b->scratch,
                         "POST /v3/kv/put HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json"
                         "\r\nContent-Length: %zu\r\n\r\n",
                         b->authority, b->body.size);
    buffer_append_slice(&b->scratch, buffer_slice(&b->body));
}

static void send_put(struct etcd_connection *c)
{
    struct bench_etcd *b = c->bench;
    static const struct load_keys keys; /* as `weir load` writes them */
    char text[LOAD_KEY_SIZE_MAX];
    uint64_t number = prng_below(&b->random, (uint64_t)b->keys);
    struct slice key = slice_make(text, load_keys_text(&keys, number, text));
    struct slice value = slice_make(b->value, (size_t)b->item_bytes - KEY_SIZE);
    buffer_clear(&b->scratch);
    if (b->is_json_protocol)
        write_json_put(b, key, value);
    else
        bench_grpc_put(&c->grpc, slice_of(b->authority), key, value, &b->scratch);
    connection_send(c->connection, buffer_slice(&b->scratch));
    c->sent_ns = loop_now(b->loop).ns;
    c->busy = true;
    b->busy++;
}

static void take_answer(struct etcd_connection *c, bool well)
{
    struct bench_etcd *b = c->bench;
    int64_t now_ns = loop_now(b->loop).ns;
    c->busy = false;
    b->busy--;
    if (well)
        histogram_record(&b->latency, now_ns - c->sent_ns);
    else
        b->failed++;
    if (now_ns < b->end.ns)
        send_put(c);
}

/* ---- connections ---- */

static void on_answer(void *context, int http_status, struct slice body)
{
    (void)body;
    struct etcd_connection *c = context;
    if (c->busy)
        take_answer(c, http_status == 200);
}

static void on_opened(void *context, struct connection *connection)
{
    (void)context;
    struct etcd_connection *c = connection_user(connection);
    struct bench_etcd *b = c->bench;
    b->up++;
    if (b->is_json_protocol)
        return;
    buffer_clear(&b->scratch);
    bench_grpc_open(&b->scratch);
    connection_send(connection, buffer_slice(&b->scratch));
}

static void on_received(void *context, struct connection *connection, struct slice bytes)
{
    (void)context;
    struct etcd_connection *c = connection_user(connection);
    struct bench_etcd *b = c->bench;
    if (b->is_json_protocol) {
        b->lost |= load_response_feed(&c->http, bytes) != STATUS_OK || c->http.closes;
        return;
    }
    buffer_clear(&b->scratch);
    b->lost |= bench_grpc_feed(&c->grpc, bytes, &b->scratch) != STATUS_OK;
    if (b->scratch.size > 0)
        connection_send(connection, buffer_slice(&b->scratch));
    if (c->busy && c->grpc.finished)
        take_answer(c, c->grpc.got_message);
}

static void on_closed(void *context, struct connection *connection, int error)
{
    (void)context;
    (void)error;
    struct etcd_connection *c = connection_user(connection);
    c->connection = NULL;
    c->bench->lost = true;
}

static const struct connection_handler handler = {
    .opened = on_opened, .received = on_received, .closed = on_closed};

static enum status turn_until(struct bench_etcd *b, struct instant end, const int64_t *counter,
                              int64_t wanted, struct buffer *error)
{
    while (*counter != wanted && !b->lost && instant_before(loop_now(b->loop), end))
        if (loop_turn(b->loop, end) != STATUS_OK)
            return STATUS_IO;
    if (!b->lost)
        return STATUS_OK;
    buffer_append_format(error, "%s: lost a connection", b->url);
    return STATUS_IO;
}

static enum status connect_all(struct bench_etcd *b, struct buffer *error)
{
    for (int64_t i = 0; i < b->connection_count; i++) {
        struct etcd_connection *c = &b->connections[i];
        c->bench = b;
        load_response_init(&c->http, false, on_answer, c);
        if (loop_connect(b->loop, (const char *)b->host_text.data, b->port, &handler, NULL,
                         &c->connection) != STATUS_OK) {
            buffer_append_format(error, "cannot connect to %s: %s", b->url, strerror(errno));
            return STATUS_IO;
        }
        connection_set_user(c->connection, c);
    }
    enum status status = turn_until(b, instant_add(loop_now(b->loop), duration_ms(CONNECT_MS)),
                                    &b->up, b->connection_count, error);
    if (status == STATUS_OK && b->up < b->connection_count) {
        buffer_append_format(error, "%s does not answer", b->url);
        return STATUS_IO;
    }
    return status;
}

static enum status run(struct bench_etcd *b, struct buffer *error)
{
    enum status status = loop_create(&b->loop);
    if (status == STATUS_OK)
        status = connect_all(b, error);
    if (status != STATUS_OK)
        return status;
    b->end = instant_add(loop_now(b->loop), duration_ms(b->seconds * 1000));
    for (int64_t i = 0; i < b->connection_count; i++)
        send_put(&b->connections[i]);
    status = turn_until(b, b->end, &b->busy, 0, error);
    if (status == STATUS_OK)
        status = turn_until(b, instant_add(b->end, duration_ms(DRAIN_MS)), &b->busy, 0, error);
    if (status == STATUS_OK && b->latency.count == 0) {
        buffer_append_format(error, "%s: no put went well", b->url);
        return STATUS_IO;
    }
    return status;
}

/* ---- the command ---- */

static void print_result(const struct bench_etcd *b)
{
    const struct histogram *h = &b->latency;
    double per_s = (double)h->count / (double)b->seconds;
    double us[3];
    static const uint32_t percentiles[] = {50000, 99000, 99900};
    for (int i = 0; i < 3; i++)
        us[i] = (double)histogram_percentile(h, percentiles[i]) / 1e3;
    if (b->is_json_output)
        printf("{\"bench\":\"etcd\",\"protocol\":\"%s\",\"connections\":%lld,\"item_bytes\":%lld,"
               "\"measures\":[{\"name\":\"Put\",\"requests_per_s\":%.1f,\"not_admitted\":%lld,"
               "\"latency_us\":{\"p50\":%.1f,\"p99\":%.1f,\"p99.9\":%.1f,\"max\":%.1f}}]}\n",
               b->is_json_protocol ? "json" : "grpc", (long long)b->connection_count,
               (long long)b->item_bytes, per_s, (long long)(b->failed + b->busy), us[0], us[1],
               us[2], (double)h->max / 1e3);
    else
        printf("Put %10.0f/s   p50 %7.0f us   p99 %7.0f us   p99.9 %7.0f us%s\n", per_s, us[0],
               us[1], us[2], b->failed ? "   (some failed!)" : "");
}

static bool take_url(struct bench_etcd *b)
{
    if (strncmp(b->url, "http://", 7) != 0)
        return false;
    struct slice rest = slice_of(b->url + 7);
    if (rest.size > 0 && rest.data[rest.size - 1] == '/')
        rest.size--;
    if (rest.size >= sizeof b->authority ||
        address_parse(rest, &b->host_text, &b->port) != STATUS_OK)
        return false;
    memcpy(b->authority, rest.data, rest.size);
    return true;
}

static int parse(struct bench_etcd *b, int argc, char **argv)
{
    const char *protocol = "grpc";
    const struct bench_option options[] = {
        {.name = "json", .flag = &b->is_json_output},
        {.name = "url", .text = &b->url},
        {.name = "protocol", .text = &protocol},
        {.name = "seconds", .number = &b->seconds, .least = 1, .most = 86400},
        {.name = "connections",
         .number = &b->connection_count,
         .least = 1,
         .most = CONNECTIONS_MAX},
        {.name = "keys", .number = &b->keys, .least = 1, .most = 1000000000},
        {.name = "item-bytes",
         .number = &b->item_bytes,
         .least = KEY_SIZE + 1,
         .most = ITEM_BYTES_MAX},
    };
    int code = bench_parse(options, sizeof options / sizeof options[0], help_text, argc, argv);
    if (code >= 0)
        return code;
    b->is_json_protocol = strcmp(protocol, "json") == 0;
    if (!b->is_json_protocol && strcmp(protocol, "grpc") != 0) {
        fprintf(stderr, "weir bench etcd: --protocol is grpc or json, not `%s`\n", protocol);
        return 2;
    }
    if (b->url != NULL && take_url(b))
        return -1;
    fprintf(stderr, "weir bench etcd: --url takes http://HOST:PORT, not `%s`\n",
            b->url == NULL ? "" : b->url);
    return 2;
}

int bench_etcd(int argc, char **argv)
{
    struct bench_etcd *b = calloc(1, sizeof *b);
    struct buffer error = {0};
    must(b != NULL);
    b->seconds = 5;
    b->connection_count = 64;
    b->keys = 10000;
    b->item_bytes = 100;
    b->random = prng_seeded(1);
    histogram_init(&b->latency);
    for (int i = 0; i < ITEM_BYTES_MAX; i++)
        b->value[i] = (char)('a' + prng_below(&b->random, 26));
    int code = parse(b, argc, argv);
    if (code < 0) {
        b->connections = calloc((size_t)b->connection_count, sizeof b->connections[0]);
        must(b->connections != NULL);
        code = run(b, &error) == STATUS_OK ? 0 : 1;
        if (code == 0)
            print_result(b);
        else
            fprintf(stderr, "weir bench etcd: %.*s\n", (int)error.size, (char *)error.data);
        loop_destroy(b->loop);
        for (int64_t i = 0; i < b->connection_count; i++) {
            bench_grpc_deinit(&b->connections[i].grpc);
            load_response_deinit(&b->connections[i].http);
        }
    }
    free(b->connections);
    buffer_deinit(&b->scratch);
    buffer_deinit(&b->body);
    buffer_deinit(&b->host_text);
    buffer_deinit(&error);
    free(b);
    return code;
}
