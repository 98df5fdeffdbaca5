/* frame_cluster.c - records what the nodes of a cluster hear, and gives it back tampered with. */
#include "tests/support/frame_cluster.h"

#include <stdlib.h>

#include "base/must.h"
#include "base/settings/choices.h"
#include "base/settings/replication.h"
#include "engine/catalog/catalog.h"
#include "engine/catalog/split.h"
#include "engine/catalog/table.h"
#include "engine/item/storage_key.h"
#include "engine/message/frames.h"
#include "engine/message/move_messages.h"
#include "engine/message/request_traits.h"
#include "server/link_rights.h"
#include "tests/support/cut_off.h"

enum {
    LENGTH_SIZE = 4,
    ROUTER = 1, /* the number of the router that asks */
    CLASSES_MAX = 64,
    PER_CLASS = 4,
    AVAILABLE_MS = 60000
};

struct frame_class {
    uint32_t key;
    uint32_t seen;
    struct buffer frames[PER_CLASS];
};

struct frame_cluster {
    struct world world;
    struct config configs[FRAME_CLUSTER_NODES + 1];
    struct frame_class classes[CLASSES_MAX];
    size_t class_count;
    uint64_t next_id;
    struct reply answer; /* to the router's last request; its slices are in `answered` */
    bool has_answer;
    struct buffer answered;
    struct buffer decided; /* the answer to a decision, which may come later */
    struct arena arena;
    struct buffer table_bytes;
    struct table table;
    void (*watch)(void *context, uint32_t node, struct slice frame); /* or NULL */
    void *watch_context;
    bool recording;
    bool lied; /* a tampered frame came from a node */
};

static struct slice frame_encoded(const struct buffer *b)
{
    return slice_make(b->data + LENGTH_SIZE, b->size - LENGTH_SIZE);
}

/* ---- recording ---- */

/* The class of a frame: of requests by operation, of envelopes by their first message. */
static uint32_t class_of(struct slice frame)
{
    enum {
        ENVELOPE_HEAD = 90
    };
    uint32_t key = frame.data[0];
    if (key == MESSAGE_REQUEST && frame.size > 9)
        return key << 16 | (uint32_t)frame.data[9];
    if (key == MESSAGE_PEER && frame.size > ENVELOPE_HEAD + 1)
        return key << 16 | (uint32_t)frame.data[ENVELOPE_HEAD] << 8 | frame.data[ENVELOPE_HEAD + 1];
    return key << 16;
}

static void frame_received(void *context, uint32_t node, struct slice frame)
{
    struct frame_cluster *w = context;
    uint32_t key = class_of(frame);
    size_t i = 0;
    if (w->watch != NULL)
        w->watch(w->watch_context, node, frame);
    if (!w->recording || frame.size > 1 << 16)
        return;
    while (i < w->class_count && w->classes[i].key != key)
        i++;
    if (i == CLASSES_MAX)
        return;
    if (i == w->class_count)
        w->classes[w->class_count++].key = key;
    struct buffer *b = &w->classes[i].frames[w->classes[i].seen++ % PER_CLASS];
    buffer_clear(b);
    buffer_append_slice(b, frame);
}

size_t frame_cluster_recorded(const struct frame_cluster *w)
{
    size_t count = 0;
    for (size_t i = 0; i < w->class_count; i++)
        count += w->classes[i].seen < PER_CLASS ? w->classes[i].seen : PER_CLASS;
    return count;
}

struct slice frame_cluster_frame(const struct frame_cluster *w, size_t which)
{
    for (size_t i = 0; i < w->class_count; i++) {
        size_t here = w->classes[i].seen < PER_CLASS ? w->classes[i].seen : PER_CLASS;
        if (which < here)
            return buffer_slice(&w->classes[i].frames[which]);
        which -= here;
    }
    return (struct slice){NULL, 0};
}

bool frame_cluster_inject(struct frame_cluster *w, enum peer_kind kind, uint32_t id, uint32_t node,
                          struct slice frame)
{
    must(node >= 1 && node <= FRAME_CLUSTER_NODES);
    w->lied |= kind == PEER_NODE;
    return (link_rights_accepted(PEER_NODE) & 1U << kind) != 0 &&
           node_process_is_up(w->world.nodes[node]) &&
           node_process_receive(w->world.nodes[node], kind, id, frame);
}

void frame_cluster_slow_checkpoints(struct frame_cluster *w, uint32_t node, int64_t ms)
{
    w->world.nodes[node]->options.timings.checkpoint_spread_ns = ms * NS_PER_MS;
}

void frame_cluster_step_wall(struct frame_cluster *w, uint32_t node, int64_t ms)
{
    world_step_wall(&w->world, node, ms);
}

void frame_cluster_pass(struct frame_cluster *w, int64_t ms)
{
    world_pass(&w->world, ms * NS_PER_MS);
}

void frame_cluster_pass_us(struct frame_cluster *w, int64_t us)
{
    world_pass(&w->world, us * NS_PER_US);
}

void frame_cluster_watch(struct frame_cluster *w,
                         void (*received)(void *context, uint32_t node, struct slice frame),
                         void *context)
{
    w->watch = received;
    w->watch_context = context;
}

/* ---- a router ---- */

static void request_answered(void *context, uint32_t node, const struct reply *r)
{
    struct frame_cluster *w = context;
    struct buffer frame = {0};
    (void)node;
    if (r->id != w->next_id)
        return;
    reply_encode(&frame, r);
    buffer_clear(&w->answered);
    buffer_append_slice(&w->answered, frame_encoded(&frame));
    must(reply_decode(buffer_slice(&w->answered), &w->answer) == STATUS_OK);
    w->has_answer = true;
    buffer_deinit(&frame);
}

/* Asks this node. False: there was no answer within a second. */
static bool cluster_send(struct frame_cluster *w, uint32_t node, struct request *r)
{
    struct buffer frame = {0};
    r->id = ++w->next_id;
    w->has_answer = false;
    request_encode(&frame, r);
    must(!node_process_is_up(w->world.nodes[node]) ||
         node_process_receive(w->world.nodes[node], PEER_ROUTER, ROUTER, frame_encoded(&frame)));
    buffer_deinit(&frame);
    int64_t ms = 0;
    do
        frame_cluster_pass(w, 1);
    while (++ms < 1000 && !w->has_answer);
    return w->has_answer;
}

/* Asks one node after the other until a node does the request, or throttles it. */
static bool send_to_any(struct frame_cluster *w, struct request *r)
{
    struct instant end = instant_add(w->world.scheduler.now, duration_ms(AVAILABLE_MS));
    for (uint32_t node = 1; instant_before(w->world.scheduler.now, end);
         node = node % FRAME_CLUSTER_NODES + 1) {
        if (cluster_send(w, node, r) &&
            (w->answer.code == REPLY_OK || w->answer.code == REPLY_THROTTLED))
            return true;
        frame_cluster_pass(w, 1);
    }
    return false;
}

enum reply_code frame_cluster_send(struct frame_cluster *w, struct request *r, struct slice *body)
{
    struct instant end = instant_add(w->world.scheduler.now, duration_ms(AVAILABLE_MS));
    for (uint32_t node = 1; instant_before(w->world.scheduler.now, end);
         node = node % FRAME_CLUSTER_NODES + 1) {
        if (!cluster_send(w, node, r) || w->answer.code == REPLY_NOT_LEADER)
            continue;
        if (body != NULL)
            *body = reply_bytes(&w->answer);
        return w->answer.code;
    }
    return REPLY_NOT_LEADER;
}

enum reply_code frame_cluster_send_to(struct frame_cluster *w, uint32_t node, struct request *r,
                                      struct slice *body)
{
    if (!cluster_send(w, node, r))
        return REPLY_UNKNOWN;
    if (body != NULL)
        *body = reply_bytes(&w->answer);
    return w->answer.code;
}

void frame_cluster_decide(struct frame_cluster *w, enum catalog_op op, const struct decision *d)
{
    struct buffer body = {0};
    decision_encode(&body, d);
    const struct request r = {.op = REQUEST_DECIDE, .decide = {buffer_slice(&body), (uint8_t)op}};
    world_request(&w->world, &r, &w->decided);
    buffer_deinit(&body);
}

static bool fetch_table(struct frame_cluster *w)
{
    struct request r = {.op = REQUEST_TABLE_GET, .table.name = slice_of("orchard")};
    if (!send_to_any(w, &r))
        return false;
    buffer_clear(&w->table_bytes);
    buffer_append_slice(&w->table_bytes, w->answer.table.bytes);
    arena_reset(&w->arena);
    return table_decode(buffer_slice(&w->table_bytes), &w->arena, &w->table) == STATUS_OK;
}

static void append_item(struct buffer *out, uint32_t name, size_t filler)
{
    struct item_writer writer;
    static uint8_t bytes[8192];
    must(filler <= sizeof bytes);
    item_begin(&writer, out);
    item_name(&writer, slice_of("id"));
    item_binary(&writer, slice_make(&name, sizeof name));
    item_name(&writer, slice_of("n"));
    item_binary(&writer, slice_make(&name, sizeof name));
    item_name(&writer, slice_of("f"));
    item_binary(&writer, slice_make(bytes, filler));
    item_end(&writer);
}

/* Sends a data request to one node after the other. Fetches the map again if no node serves it. */
static bool items_request(struct frame_cluster *w, enum request_op op, uint32_t name, size_t filler)
{
    struct buffer key = {0}, item = {0}, end = {0};
    struct attr a = {ATTR_BINARY, slice_make(&name, sizeof name)};
    bool done = false;
    append_item(&item, name, filler);
    storage_key_append(&key, w->table.id, &a, &a);
    buffer_append_slice(&end, buffer_slice(&key));
    buffer_append_u8(&end, 0);
    const bool eventual = op == REQUEST_GET && name % 2 == 1; /* any replica may answer */
    for (int tries = 0; tries < 3 && !done; tries++) {
        const struct partition_info *p = table_partition_of(&w->table, buffer_slice(&key));
        struct request r = {.op = op, .partition = p->id, .epoch = p->epoch};
        if (op == REQUEST_GET) {
            r.get.key = buffer_slice(&key);
            r.get.consistent = !eventual;
        } else if (op == REQUEST_RANGE) {
            r.range.lo = buffer_slice(&key);
            r.range.consistent = true;
            r.range.bytes_max = 1 << 20;
            r.key_sharding_version = name % 2; /* all items, or those of shard 0 */
        } else if (op == REQUEST_KEY_SHARD_MOVE) {
            request_edit_move(&r)->key = buffer_slice(&key);
            request_edit_move(&r)->shards = 64;
            request_edit_move(&r)->hi = name % 2 == 1 ? buffer_slice(&end) : slice_make(NULL, 0);
        } else {
            r.write.key = buffer_slice(&key);
            r.write.item = op == REQUEST_PUT ? buffer_slice(&item) : slice_make(NULL, 0);
        }
        done = send_to_any(w, &r);
        if (!done && !fetch_table(w))
            break;
    }
    done = done && (op != REQUEST_GET || eventual || w->answer.item.found ||
                    w->answer.code == REPLY_THROTTLED);
    buffer_deinit(&key);
    buffer_deinit(&item);
    buffer_deinit(&end);
    return done;
}

static void request_table(struct frame_cluster *w)
{
    struct table_spec spec = {.name = slice_of("orchard"),
                              .partition_key = {slice_of("id"), ATTR_BINARY},
                              .sort_key = {slice_of("n"), ATTR_BINARY},
                              .whole_collections = true,
                              .weight = 3,
                              .billing = BILLING_PROVISIONED,
                              .rcu = 7000,
                              .wcu = 2500};
    struct buffer body = {0};
    table_spec_encode(&body, &spec);
    struct request r = {.op = REQUEST_TABLE_CREATE,
                        .table = {.name = spec.name, .spec = buffer_slice(&body)}};
    frame_cluster_send(w, &r, NULL);
    buffer_deinit(&body);
}

/* A tampered request may have deleted the table: then another one is made. */
static bool has_table(struct frame_cluster *w)
{
    struct request get = {.op = REQUEST_TABLE_GET, .table.name = slice_of("orchard")};
    for (int tries = 0; tries < 100; tries++) {
        enum reply_code code = frame_cluster_send(w, &get, NULL);
        if (code == REPLY_TABLE_NOT_FOUND)
            request_table(w);
        else if (code == REPLY_OK && fetch_table(w) && w->table.status == TABLE_ACTIVE)
            return true;
        frame_cluster_pass(w, 50);
    }
    return false;
}

bool frame_cluster_is_available(struct frame_cluster *w)
{
    if (!has_table(w))
        return false;
    for (uint32_t name = 1000; name < 1012; name++) {
        if (!items_request(w, REQUEST_PUT, name, 100))
            return false;
        if (w->answer.code == REPLY_OK && !items_request(w, REQUEST_GET, name, 0))
            return false;
    }
    return true;
}

void frame_cluster_fetch(struct frame_cluster *w, struct slice name, struct arena *arena,
                         struct buffer *bytes, struct table *out)
{
    struct request r = {.op = REQUEST_TABLE_GET, .table.name = name};
    struct slice body;
    while (frame_cluster_send(w, &r, &body) != REPLY_OK)
        frame_cluster_pass(w, 20);
    arena_reset(arena);
    buffer_set(bytes, body);
    must(table_decode(buffer_slice(bytes), arena, out) == STATUS_OK);
}

void frame_cluster_create_table(struct frame_cluster *w, const struct table_spec *spec,
                                struct arena *arena, struct buffer *bytes, struct table *out)
{
    struct buffer body = {0};
    table_spec_encode(&body, spec);
    struct request r = {.op = REQUEST_TABLE_CREATE,
                        .table = {.name = spec->name, .spec = buffer_slice(&body)}};
    must(frame_cluster_send(w, &r, NULL) == REPLY_OK);
    do {
        frame_cluster_pass(w, 50);
        frame_cluster_fetch(w, spec->name, arena, bytes, out);
    } while (out->status != TABLE_ACTIVE);
    buffer_deinit(&body);
}

/* ---- life ---- */

void frame_cluster_pause(struct frame_cluster *w, uint32_t node, int64_t ms)
{
    world_pause(&w->world, node, instant_add(w->world.scheduler.now, duration_ms(ms)));
}

void frame_cluster_cut_off(struct frame_cluster *w, uint32_t node)
{
    world_cut_off(&w->world, node);
}

void frame_cluster_heal(struct frame_cluster *w, uint32_t node)
{
    world_heal(&w->world, node);
}

struct node *frame_cluster_node(struct frame_cluster *w, uint32_t node)
{
    return node_process_node(w->world.nodes[node]);
}

struct instant frame_cluster_clock(struct frame_cluster *w, uint32_t node)
{
    return sim_clock_read(world_clock(&w->world, node), w->world.scheduler.now);
}

void frame_cluster_restart(struct frame_cluster *w)
{
    struct buffer error = {0};
    for (uint32_t id = 1; id <= FRAME_CLUSTER_NODES; id++) {
        if (node_process_is_up(w->world.nodes[id]))
            node_process_crash(w->world.nodes[id], true);
    }
    /* A tampered entry may name members on nodes that do not exist: the node says so, and ends. */
    for (uint32_t id = 1; id <= FRAME_CLUSTER_NODES; id++)
        must(node_process_start(w->world.nodes[id], &error) == STATUS_OK ||
             (w->lied && error.size > 0));
    buffer_deinit(&error);
}

void frame_cluster_crash(struct frame_cluster *w, uint32_t node, int64_t ms)
{
    struct buffer error = {0};
    node_process_crash(w->world.nodes[node], true);
    frame_cluster_pass(w, ms);
    must(node_process_start(w->world.nodes[node], &error) == STATUS_OK);
    buffer_deinit(&error);
}

static void create_table(struct frame_cluster *w)
{
    request_table(w);
    must(has_table(w));
}

/* Brings a replica back that has missed entries which the others have compacted. */
static void bring_one_back(struct frame_cluster *w, uint32_t id)
{
    frame_cluster_cut_off(w, id);
    frame_cluster_pass(w, 1500);
    for (uint32_t name = 100; name < 160; name++)
        must(items_request(w, REQUEST_PUT, name, 4000));
    for (uint32_t other = 1; other <= FRAME_CLUSTER_NODES; other++)
        node_checkpoint_soon(node_process_node(w->world.nodes[other]));
    frame_cluster_pass(w, 500);
    frame_cluster_heal(w, id);
    frame_cluster_pass(w, 4000);
}

static void split_table(struct frame_cluster *w)
{
    const struct partition_info *p = &w->table.partitions[0];
    struct buffer point = {0}, body = {0};
    storage_key_append_hash(&point, w->table.id, UINT64_C(1) << 61);
    struct table_split split = {
        .table_id = w->table.id, .partition = p->id, .epoch = p->epoch, .point_count = 1};
    split.points[0] = buffer_slice(&point);
    table_split_share_equally(&split);
    table_split_encode(&body, &split);
    struct request r = {.op = REQUEST_TABLE_SPLIT, .table_split.split = buffer_slice(&body)};
    must(send_to_any(w, &r));
    frame_cluster_pass(w, 2000);
    must(fetch_table(w));
    buffer_deinit(&point);
    buffer_deinit(&body);
}

/* Merges the two pieces of the partition that was split. */
static void merge_table(struct frame_cluster *w)
{
    const struct partition_info *lower = &w->table.partitions[0], *upper = lower + 1;
    const struct decision d = {.table_id = w->table.id,
                               .partition = upper->id,
                               .epoch = upper->epoch,
                               .merge = MERGE_BEGIN,
                               .merge_with = lower->id,
                               .merge_with_epoch = lower->epoch};
    struct buffer body = {0}, answer = {0};
    uint32_t before = w->table.partition_count;
    decision_encode(&body, &d);
    struct request r = {.op = REQUEST_DECIDE, .decide = {buffer_slice(&body), CATALOG_MERGE}};
    for (int tries = 0; tries < 20 && w->table.partition_count == before; tries++) {
        world_request(&w->world, &r, &answer); /* as the controller does */
        frame_cluster_pass(w, 1000);
        must(fetch_table(w));
    }
    must(w->table.partition_count == before - 1);
    buffer_deinit(&body);
    buffer_deinit(&answer);
}

static void send_the_rest(struct frame_cluster *w)
{
    struct request events = {.op = REQUEST_EVENTS};
    struct request list = {.op = REQUEST_TABLE_LIST, .list.names_max = 100};
    struct request stats = {.op = REQUEST_STATS};
    must(send_to_any(w, &events) && send_to_any(w, &list) && send_to_any(w, &stats));
    for (uint32_t name = 0; name < 12; name++) {
        must(items_request(w, REQUEST_PUT, name, 200));
        must(items_request(w, REQUEST_GET, name, 0));
        must(items_request(w, REQUEST_RANGE, name, 0));
    }
    must(items_request(w, REQUEST_DELETE, 3, 0));
    for (uint32_t name = 2000; name < 2012; name++) {
        must(items_request(w, REQUEST_PUT, name, 200));
        must(items_request(w, REQUEST_KEY_SHARD_MOVE, name, 0));
    }
}

struct frame_cluster *frame_cluster_begin(const struct config *config)
{
    struct frame_cluster *w = calloc(1, sizeof *w);
    must(w != NULL);
    for (uint32_t id = 1; id <= FRAME_CLUSTER_NODES; id++)
        w->configs[id] = *config;
    world_init(
        &w->world,
        &(struct world_plan){
            .seed = 1,
            .nodes = FRAME_CLUSTER_NODES,
            .configs = w->configs,
            .delays = {.ns_min = 50 * NS_PER_US, .spread_ns = 50 * NS_PER_US},
            .timings = {.turn_ns = 20 * NS_PER_US, .write_min_ns = 200 * NS_PER_US},
            .watch = {.received = frame_received, .answered = request_answered, .context = w}});
    world_start(&w->world);
    return w;
}

bool frame_cluster_answers(struct frame_cluster *w, int64_t ms)
{
    struct instant end = instant_add(w->world.scheduler.now, duration_ms(ms));
    struct request r = {.op = REQUEST_TABLE_LIST, .list.names_max = 1};
    for (uint32_t node = 1; instant_before(w->world.scheduler.now, end);
         node = node % FRAME_CLUSTER_NODES + 1) {
        if (cluster_send(w, node, &r) && w->answer.code == REPLY_OK)
            return true;
    }
    return false;
}

struct frame_cluster *frame_cluster_create(void)
{
    struct config config;
    config_init(&config, PROFILE_AWS);
    config_edit_choices(&config)->gac = GAC_OFF;
    config_edit_replication(&config)->entries_max_bytes = 64 << 10;
    config_edit_choices(&config)->write_check = WRITE_CHECK_LEASE;
    struct frame_cluster *w = frame_cluster_begin(&config);
    w->recording = true;
    frame_cluster_pass(w, 1000);
    create_table(w);
    send_the_rest(w);
    bring_one_back(w, 3);
    split_table(w);
    merge_table(w);
    split_table(w);
    w->recording = false;
    must(w->class_count < CLASSES_MAX); /* there was room for frames of every kind */
    return w;
}

void frame_cluster_destroy(struct frame_cluster *w)
{
    world_deinit(&w->world);
    for (size_t i = 0; i < w->class_count; i++) {
        for (int k = 0; k < PER_CLASS; k++)
            buffer_deinit(&w->classes[i].frames[k]);
    }
    buffer_deinit(&w->answered);
    buffer_deinit(&w->decided);
    buffer_deinit(&w->table_bytes);
    arena_deinit(&w->arena);
    free(w);
}

/* ---- tampering ---- */

static size_t frame_draw_place(struct prng *p, const struct buffer *b)
{
    return b->size == 0 ? 0 : (size_t)prng_below(p, b->size);
}

static void write_number(struct prng *p, struct buffer *b)
{
    static const uint64_t numbers[] = {0,          1,         2,          127,
                                       255,        256,       65535,      0x7fffffff,
                                       UINT32_MAX, INT64_MAX, UINT64_MAX, UINT64_MAX - 1,
                                       1 << 20,    7,         4096};
    uint64_t number = numbers[prng_below(p, sizeof numbers / sizeof numbers[0])];
    size_t at = frame_draw_place(p, b), size = (size_t)1 << prng_below(p, 4);
    if (at + size <= b->size)
        memcpy(b->data + at, &number, size);
}

static void frame_insert(struct buffer *b, size_t at, struct slice bytes)
{
    struct buffer all = {0};
    buffer_append(&all, b->data, at);
    buffer_append_slice(&all, bytes);
    buffer_append(&all, b->data + at, b->size - at);
    buffer_deinit(b);
    *b = all;
}

static void frame_splice(const struct frame_cluster *w, struct prng *p, struct buffer *b)
{
    struct slice other = frame_cluster_frame(w, prng_below(p, frame_cluster_recorded(w)));
    if (other.size == 0 || b->size == 0)
        return;
    size_t from = (size_t)prng_below(p, other.size), at = frame_draw_place(p, b);
    size_t max = other.size - from < b->size - at ? other.size - from : b->size - at;
    memcpy(b->data + at, other.data + from, max < 64 ? max : 64);
}

void frame_cluster_mutate(const struct frame_cluster *w, struct prng *p, struct buffer *b)
{
    uint64_t times = prng_below(p, 4);
    for (uint64_t i = 0; i < times && b->size > 0; i++) {
        size_t at = frame_draw_place(p, b);
        switch (prng_below(p, 8)) {
        case 0:
        case 1:
            b->data[at] ^= (uint8_t)(1U << prng_below(p, 8));
            break;
        case 2:
            b->data[at] = (uint8_t)prng_next(p);
            break;
        case 3:
        case 4:
            write_number(p, b);
            break;
        case 5:
            b->size = at + 1;
            break;
        case 6:
            frame_splice(w, p, b);
            break;
        default:
            frame_insert(b, at, slice_make(b->data + at, b->size - at < 16 ? b->size - at : 16));
        }
    }
}
