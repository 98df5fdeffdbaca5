#include "tests/support/frame_world.h"
#include "engine/message/frames.h"
#include "engine/message/request_traits.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/must.h"
#include "engine/catalog/catalog.h"
#include "engine/catalog/split.h"
#include "engine/catalog/table.h"
#include "engine/item/storage_key.h"
#include "engine/node/control_port.h"
#include "server/link_rights.h"
#include "sim/backing_memory.h"

enum {
    SEGMENT = 8 << 20,
    LENGTH_SIZE = 4,
    LINK_OF_NODE = 100, /* + node: where its requests are answered */
    LINK_OF_ROUTER = 200,
    LINK_OF_STRANGER = 300,
    CLASSES_MAX = 64,
    PER_CLASS = 4,
    STEP_MS = 10,
    AVAILABLE_MS = 60000
};

struct process {
    struct memory_medium medium;
    struct node *node;
    struct buffer log;
    bool checkpoint;
    bool cut; /* nothing reaches it, nothing leaves it */
};

struct envelope {
    struct envelope *next;
    uint32_t to;
    uint32_t from; /* node; 0: the router */
    struct buffer frame;
};

struct frame_class {
    uint32_t key;
    uint32_t seen;
    struct buffer frames[PER_CLASS];
};

struct frame_world {
    struct config config;
    struct instant now;
    struct process processes[FRAME_WORLD_NODES + 1];
    struct envelope *first, **last;
    struct frame_class classes[CLASSES_MAX];
    size_t class_count;
    struct buffer scratch;
    uint64_t next_id;
    struct reply answer; /* the router's last; its slices are in `answered` */
    bool has_answer;
    struct buffer answered;
    struct arena arena;
    struct buffer table_bytes;
    struct table table;
    bool recording;
    int64_t step_ms;
};

/* ---- recording ---- */

/* Frames of a kind: requests by operation, envelopes by their first message. */
static uint32_t class_of(struct slice frame)
{
    enum {
        ENVELOPE_HEAD = 70
    };
    uint32_t key = frame.data[0];
    if (key == MESSAGE_REQUEST && frame.size > 9)
        return key << 16 | (uint32_t)frame.data[9];
    if (key == MESSAGE_PEER && frame.size > ENVELOPE_HEAD + 1)
        return key << 16 | (uint32_t)frame.data[ENVELOPE_HEAD] << 8 | frame.data[ENVELOPE_HEAD + 1];
    return key << 16;
}

static void record(struct frame_world *w, struct slice frame)
{
    uint32_t key = class_of(frame);
    size_t i = 0;
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

size_t frame_world_recorded(const struct frame_world *w)
{
    size_t count = 0;
    for (size_t i = 0; i < w->class_count; i++)
        count += w->classes[i].seen < PER_CLASS ? w->classes[i].seen : PER_CLASS;
    return count;
}

struct slice frame_world_frame(const struct frame_world *w, size_t which)
{
    for (size_t i = 0; i < w->class_count; i++) {
        size_t here = w->classes[i].seen < PER_CLASS ? w->classes[i].seen : PER_CLASS;
        if (which < here)
            return buffer_slice(&w->classes[i].frames[which]);
        which -= here;
    }
    return (struct slice){NULL, 0};
}

/* ---- effects ---- */

static void post(struct frame_world *w, uint32_t from, uint32_t to, struct slice frame)
{
    must(to >= 1 && to <= FRAME_WORLD_NODES);
    record(w, frame);
    if (w->processes[to].cut || w->processes[from].cut)
        return;
    struct envelope *e = calloc(1, sizeof *e);
    must(e != NULL);
    *e = (struct envelope){.to = to, .from = from};
    buffer_append_slice(&e->frame, frame);
    *w->last = e;
    w->last = &e->next;
}

static struct slice encoded(const struct buffer *b)
{
    return slice_make(b->data + LENGTH_SIZE, b->size - LENGTH_SIZE);
}

static void take_reply(struct frame_world *w, uint32_t from, uint64_t to, const struct reply *r)
{
    buffer_clear(&w->scratch);
    reply_encode(&w->scratch, r);
    if (to > LINK_OF_NODE && to <= LINK_OF_NODE + FRAME_WORLD_NODES) {
        post(w, from, (uint32_t)(to - LINK_OF_NODE), encoded(&w->scratch));
    } else if (to == LINK_OF_ROUTER && r->id == w->next_id) {
        buffer_clear(&w->answered);
        buffer_append_slice(&w->answered, encoded(&w->scratch));
        w->has_answer = reply_decode(buffer_slice(&w->answered), &w->answer) == STATUS_OK;
        must(w->has_answer);
    }
}

static void take_effects(struct frame_world *w, uint32_t id)
{
    struct process *p = &w->processes[id];
    const struct node_effect *e;
    while ((e = node_next_effect(p->node)) != NULL) {
        switch (e->kind) {
        case NODE_REPLY:
            take_reply(w, id, e->to, &e->reply);
            break;
        case NODE_REQUEST:
            buffer_clear(&w->scratch);
            request_encode(&w->scratch, &e->request);
            post(w, id, (uint32_t)e->to, encoded(&w->scratch));
            break;
        case NODE_SEND:
            post(w, id, (uint32_t)e->to, e->frame);
            break;
        case NODE_CHECKPOINT:
            p->checkpoint = true;
            break;
        case NODE_TOUCH:
            store_touch(node_store(p->node), e->touch.key, e->touch.reverse, e->touch.bytes);
            node_touched(p->node, w->now, e->touch.ticket);
            break;
        case NODE_TRIM_LOG:
            break;
        }
    }
}

/* As the driver of a node does it, with a disk that takes no time. */
static void turn(struct frame_world *w, uint32_t id)
{
    struct process *p = &w->processes[id];
    const struct log_batch *b;
    if (!instant_before(w->now, node_deadline(p->node))) {
        node_tick(p->node, w->now);
        take_effects(w, id);
    }
    node_end_turn(p->node, w->now);
    take_effects(w, id);
    while ((b = node_next_batch(p->node)) != NULL) {
        uint64_t lsn = b->lsn;
        must(lsn == p->log.size + b->gap);
        for (uint32_t i = 0; i < b->gap; i++)
            buffer_append_u8(&p->log, 0);
        buffer_append_slice(&p->log, buffer_slice(&b->bytes));
        node_log_written(p->node, w->now, lsn, 0);
        take_effects(w, id);
    }
    if (p->checkpoint) {
        p->checkpoint = false;
        node_checkpoint_done(p->node, w->now, store_checkpoint_write(node_store(p->node)));
        take_effects(w, id);
    }
}

/* ---- frames that arrive ---- */

/* As server/node_links.c has it. */
static bool take_frame(struct frame_world *w, uint32_t node, const struct link_peer *from,
                       struct slice frame)
{
    struct process *p = &w->processes[node];
    enum message_kind kind;
    struct request request;
    struct reply reply;
    bool taken = false;
    if (message_kind_of(frame, &kind) != STATUS_OK)
        return false;
    if (kind == MESSAGE_REQUEST) {
        taken = request_decode(frame, &request) == STATUS_OK &&
                link_rights_request(from, &request) == NULL;
        if (taken)
            node_request(p->node, w->now, from->link, &request);
    } else if (link_rights_frame(from, kind, frame) != NULL) {
        return false;
    } else if (kind == MESSAGE_PEER) {
        taken = node_receive(p->node, w->now, frame) == STATUS_OK;
    } else {
        taken = reply_decode(frame, &reply) == STATUS_OK;
        if (taken)
            node_reply(p->node, w->now, &reply);
    }
    take_effects(w, node);
    return taken;
}

bool frame_world_inject(struct frame_world *w, enum peer_kind kind, uint32_t id, uint32_t node,
                        struct slice frame)
{
    must(node >= 1 && node <= FRAME_WORLD_NODES);
    struct link_peer from = {LINK_OF_STRANGER, kind, id};
    if (kind == PEER_NODE && id != node && id >= 1 && id <= FRAME_WORLD_NODES)
        from.link = LINK_OF_NODE + id;
    if ((link_rights_accepted(PEER_NODE) & 1U << kind) == 0)
        return false;
    return take_frame(w, node, &from, frame);
}

static void deliver_all(struct frame_world *w)
{
    struct envelope *e = w->first;
    w->first = NULL;
    w->last = &w->first;
    while (e != NULL) {
        struct envelope *next = e->next;
        struct link_peer from = {LINK_OF_NODE + e->from, PEER_NODE, e->from};
        if (e->from == 0)
            from = (struct link_peer){LINK_OF_ROUTER, PEER_ROUTER, 1};
        if (w->processes[e->to].node != NULL)
            take_frame(w, e->to, &from, buffer_slice(&e->frame));
        buffer_deinit(&e->frame);
        free(e);
        e = next;
    }
}

void frame_world_pass(struct frame_world *w, int64_t ms)
{
    const int64_t step_ms = ms < w->step_ms ? ms : w->step_ms;
    for (int64_t passed = 0; passed <= ms; passed += w->step_ms) {
        deliver_all(w);
        for (uint32_t id = 1; id <= FRAME_WORLD_NODES; id++)
            turn(w, id);
        w->now = instant_add(w->now, duration_ms(step_ms));
    }
}

/* ---- a router ---- */

/* Asks this node, within a second. */
static bool ask(struct frame_world *w, uint32_t node, struct request *r)
{
    r->id = ++w->next_id;
    w->has_answer = false;
    struct buffer frame = {0};
    request_encode(&frame, r);
    post(w, 0, node, encoded(&frame));
    buffer_deinit(&frame);
    for (int64_t ms = 0; ms < 1000 && !w->has_answer; ms += STEP_MS)
        frame_world_pass(w, STEP_MS);
    return w->has_answer;
}

/* Asks one node after the other until one takes it, or says that its table's limit is used up. */
static bool ask_any(struct frame_world *w, struct request *r)
{
    struct instant end = instant_add(w->now, duration_ms(AVAILABLE_MS));
    for (uint32_t node = 1; instant_before(w->now, end); node = node % FRAME_WORLD_NODES + 1) {
        if (ask(w, node, r) && (w->answer.code == REPLY_OK || w->answer.code == REPLY_THROTTLED))
            return true;
        frame_world_pass(w, STEP_MS);
    }
    return false;
}

enum reply_code frame_world_ask(struct frame_world *w, struct request *r, struct slice *body)
{
    struct instant end = instant_add(w->now, duration_ms(AVAILABLE_MS));
    for (uint32_t node = 1; instant_before(w->now, end); node = node % FRAME_WORLD_NODES + 1) {
        if (!ask(w, node, r) || w->answer.code == REPLY_NOT_LEADER)
            continue;
        if (body != NULL)
            *body = reply_bytes(&w->answer);
        return w->answer.code;
    }
    return REPLY_NOT_LEADER;
}

static bool fetch_table(struct frame_world *w)
{
    struct request r = {.op = REQUEST_TABLE_GET, .table.name = slice_of("orchard")};
    if (!ask_any(w, &r))
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

/* Whoever leads, and whatever the map is at the moment. */
static bool data_request(struct frame_world *w, enum request_op op, uint32_t name, size_t filler)
{
    struct buffer key = {0}, item = {0};
    struct attr a = {ATTR_BINARY, slice_make(&name, sizeof name)};
    bool done = false;
    append_item(&item, name, filler);
    storage_key_append(&key, w->table.id, &a, &a);
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
        } else {
            r.write.key = buffer_slice(&key);
            r.write.item = op == REQUEST_PUT ? buffer_slice(&item) : slice_make(NULL, 0);
        }
        done = ask_any(w, &r);
        if (!done && !fetch_table(w))
            break;
    }
    done = done && (op != REQUEST_GET || eventual || w->answer.item.found ||
                    w->answer.code == REPLY_THROTTLED);
    buffer_deinit(&key);
    buffer_deinit(&item);
    return done;
}

static void request_table(struct frame_world *w)
{
    struct table_spec spec = {.name = slice_of("orchard"),
                              .partition_key = {slice_of("id"), ATTR_BINARY},
                              .sort_key = {slice_of("n"), ATTR_BINARY},
                              .whole_collections = true,
                              .billing = BILLING_PROVISIONED,
                              .rcu = 7000,
                              .wcu = 2500};
    struct buffer body = {0};
    table_spec_encode(&body, &spec);
    struct request r = {.op = REQUEST_TABLE_CREATE, .table = {spec.name, buffer_slice(&body)}};
    frame_world_ask(w, &r, NULL);
    buffer_deinit(&body);
}

/* A router may have deleted it: then another of its name. */
static bool has_table(struct frame_world *w)
{
    struct request get = {.op = REQUEST_TABLE_GET, .table.name = slice_of("orchard")};
    for (int tries = 0; tries < 100; tries++) {
        enum reply_code code = frame_world_ask(w, &get, NULL);
        if (code == REPLY_TABLE_NOT_FOUND)
            request_table(w);
        else if (code == REPLY_OK && fetch_table(w) && w->table.status == TABLE_ACTIVE)
            return true;
        frame_world_pass(w, 50);
    }
    return false;
}

bool frame_world_is_available(struct frame_world *w)
{
    if (!has_table(w))
        return false;
    for (uint32_t name = 1000; name < 1012; name++) {
        if (!data_request(w, REQUEST_PUT, name, 100))
            return false;
        if (w->answer.code == REPLY_OK && !data_request(w, REQUEST_GET, name, 0))
            return false;
    }
    return true;
}

/* ---- life ---- */

static void replayed(uint32_t id, enum status status, const struct log_record *r)
{
    if (status == STATUS_OK)
        return;
    fprintf(stderr, "node %u, record at %llu: kind %d, group %u, term %llu, index %llu: %s\n", id,
            (unsigned long long)r->lsn, (int)r->kind, r->group, (unsigned long long)r->term,
            (unsigned long long)r->index, status_text(status));
    must(status == STATUS_OK);
}

static void start_node(struct frame_world *w, uint32_t id)
{
    struct process *p = &w->processes[id];
    struct buffer error = {0};
    const struct node_options options = {
        .config = &w->config, .id = id, .node_count = FRAME_WORLD_NODES, .seed = id};
    struct store *store = store_create(backing_open_memory(&p->medium), UINT64_MAX);
    must(node_create(&options, store, &error, &p->node) == STATUS_OK);
    struct log_segment_reader reader = {.bytes = buffer_slice(&p->log)};
    struct log_record r;
    enum status status;
    while ((status = p->log.size == 0 ? STATUS_NOT_FOUND : log_segment_next(&reader, &r)) ==
           STATUS_OK) {
        if (r.lsn >= store_log_lsn(node_store(p->node)))
            replayed(id, node_replay(p->node, &r), &r);
    }
    must(status == STATUS_NOT_FOUND && reader.at == p->log.size);
    /* A tampered entry may name members on nodes that are not there. A host would say so and end.
     */
    must((node_check(p->node, &error) == STATUS_OK) == (error.size == 0));
    buffer_deinit(&error);
    node_start(p->node, w->now, SEGMENT, p->log.size);
    node_log_space(p->node, SEGMENT, false);
    take_effects(w, id);
}

void frame_world_restart(struct frame_world *w)
{
    for (uint32_t id = 1; id <= FRAME_WORLD_NODES; id++) {
        node_destroy(w->processes[id].node);
        w->processes[id].node = NULL;
        w->processes[id].checkpoint = false;
    }
    deliver_all(w);
    for (uint32_t id = 1; id <= FRAME_WORLD_NODES; id++)
        start_node(w, id);
}

static void create_table(struct frame_world *w)
{
    request_table(w);
    must(has_table(w));
}

/* A replica that has missed what the others have compacted. */
static void bring_one_back(struct frame_world *w, uint32_t id)
{
    w->processes[id].cut = true;
    frame_world_pass(w, 1500);
    for (uint32_t name = 100; name < 160; name++)
        must(data_request(w, REQUEST_PUT, name, 4000));
    for (uint32_t other = 1; other <= FRAME_WORLD_NODES; other++)
        node_checkpoint_soon(w->processes[other].node);
    frame_world_pass(w, 500);
    w->processes[id].cut = false;
    frame_world_pass(w, 4000);
}

static void split_table(struct frame_world *w)
{
    const struct partition_info *p = &w->table.partitions[0];
    struct buffer cut = {0}, body = {0};
    storage_key_append_hash(&cut, w->table.id, UINT64_C(1) << 61);
    struct table_split split = {
        .table_id = w->table.id, .partition = p->id, .epoch = p->epoch, .cut_count = 1};
    split.cuts[0] = buffer_slice(&cut);
    table_split_share_equally(&split);
    table_split_encode(&body, &split);
    struct request r = {.op = REQUEST_TABLE_SPLIT, .cut.split = buffer_slice(&body)};
    must(ask_any(w, &r));
    frame_world_pass(w, 2000);
    must(fetch_table(w));
    buffer_deinit(&cut);
    buffer_deinit(&body);
}

/* The two it was cut into. */
static void merge_table(struct frame_world *w)
{
    const struct partition_info *lower = &w->table.partitions[0], *upper = lower + 1;
    const struct decision d = {.table_id = w->table.id,
                               .partition = upper->id,
                               .epoch = upper->epoch,
                               .merge = MERGE_BEGIN,
                               .merge_with = lower->id,
                               .merge_with_epoch = lower->epoch};
    struct buffer body = {0};
    uint32_t before = w->table.partition_count;
    decision_encode(&body, &d);
    struct request r = {.op = REQUEST_DECIDE, .decide = {buffer_slice(&body), CATALOG_MERGE}};
    for (int tries = 0; tries < 20 && w->table.partition_count == before; tries++) {
        for (uint32_t id = 1; id <= FRAME_WORLD_NODES; id++) { /* as its controller */
            node_request(w->processes[id].node, w->now, CONTROL_FROM, &r);
            take_effects(w, id);
        }
        frame_world_pass(w, 1000);
        must(fetch_table(w));
    }
    must(w->table.partition_count == before - 1);
    buffer_deinit(&body);
}

static void ask_the_rest(struct frame_world *w)
{
    struct request events = {.op = REQUEST_EVENTS};
    struct request list = {.op = REQUEST_TABLE_LIST, .list.names_max = 100};
    struct request stats = {.op = REQUEST_STATS};
    must(ask_any(w, &events) && ask_any(w, &list) && ask_any(w, &stats));
    for (uint32_t name = 0; name < 12; name++) {
        must(data_request(w, REQUEST_PUT, name, 200));
        must(data_request(w, REQUEST_GET, name, 0));
        must(data_request(w, REQUEST_RANGE, name, 0));
    }
    must(data_request(w, REQUEST_DELETE, 3, 0));
}

struct frame_world *frame_world_begin(const struct config *config)
{
    struct frame_world *w = calloc(1, sizeof *w);
    must(w != NULL);
    w->now = (struct instant){NS_PER_S};
    w->last = &w->first;
    w->config = *config;
    w->step_ms = config->heartbeat_ms < STEP_MS ? config->heartbeat_ms : STEP_MS;
    for (uint32_t id = 1; id <= FRAME_WORLD_NODES; id++) {
        memory_medium_init(&w->processes[id].medium, 1 << 20, 1 << 30);
        start_node(w, id);
    }
    return w;
}

bool frame_world_answers(struct frame_world *w, int64_t ms)
{
    struct instant end = instant_add(w->now, duration_ms(ms));
    struct request r = {.op = REQUEST_TABLE_LIST, .list.names_max = 1};
    for (uint32_t node = 1; instant_before(w->now, end); node = node % FRAME_WORLD_NODES + 1) {
        if (ask(w, node, &r) && w->answer.code == REPLY_OK)
            return true;
    }
    return false;
}

struct frame_world *frame_world_create(void)
{
    struct config config;
    config_init(&config, PROFILE_AWS);
    config.gac = GAC_OFF;
    config.entries_max_bytes = 64 << 10;
    config.write_check = WRITE_CHECK_LEASE;
    struct frame_world *w = frame_world_begin(&config);
    w->recording = true;
    frame_world_pass(w, 1000);
    create_table(w);
    ask_the_rest(w);
    bring_one_back(w, 3);
    split_table(w);
    merge_table(w);
    split_table(w);
    w->recording = false;
    return w;
}

void frame_world_destroy(struct frame_world *w)
{
    deliver_all(w);
    for (uint32_t id = 1; id <= FRAME_WORLD_NODES; id++) {
        node_destroy(w->processes[id].node);
        w->processes[id].node = NULL;
        memory_medium_deinit(&w->processes[id].medium);
        buffer_deinit(&w->processes[id].log);
    }
    deliver_all(w);
    for (size_t i = 0; i < w->class_count; i++) {
        for (int k = 0; k < PER_CLASS; k++)
            buffer_deinit(&w->classes[i].frames[k]);
    }
    buffer_deinit(&w->scratch);
    buffer_deinit(&w->answered);
    buffer_deinit(&w->table_bytes);
    arena_deinit(&w->arena);
    free(w);
}

/* ---- tampering ---- */

static size_t place(struct prng *p, const struct buffer *b)
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
    size_t at = place(p, b), size = (size_t)1 << prng_below(p, 4);
    if (at + size <= b->size)
        memcpy(b->data + at, &number, size);
}

static void insert(struct buffer *b, size_t at, struct slice bytes)
{
    struct buffer all = {0};
    buffer_append(&all, b->data, at);
    buffer_append_slice(&all, bytes);
    buffer_append(&all, b->data + at, b->size - at);
    buffer_deinit(b);
    *b = all;
}

static void splice(const struct frame_world *w, struct prng *p, struct buffer *b)
{
    struct slice other = frame_world_frame(w, prng_below(p, frame_world_recorded(w)));
    if (other.size == 0 || b->size == 0)
        return;
    size_t from = (size_t)prng_below(p, other.size), at = place(p, b);
    size_t most = other.size - from < b->size - at ? other.size - from : b->size - at;
    memcpy(b->data + at, other.data + from, most < 64 ? most : 64);
}

void frame_world_mutate(const struct frame_world *w, struct prng *p, struct buffer *b)
{
    uint64_t times = prng_below(p, 4);
    for (uint64_t i = 0; i < times && b->size > 0; i++) {
        size_t at = place(p, b);
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
            splice(w, p, b);
            break;
        default:
            insert(b, at, slice_make(b->data + at, b->size - at < 16 ? b->size - at : 16));
        }
    }
}
