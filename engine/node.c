#include "engine/node.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/must.h"
#include "engine/node_internal.h"

enum {
    RETRY_MS = 1000,
    REPORT_MS = 2000
};

static struct duration checkpoint_interval(const struct node *n)
{
    return duration_ms(n->config->checkpoint_ms);
}

/* ---- partitions ---- */

struct partition *node_partition(const struct node *n, uint32_t id)
{
    return id < n->partitions_size ? n->partitions[id] : NULL;
}

void node_add_partition(struct node *n, struct partition *p)
{
    uint32_t id = p->info.id;
    if (id >= n->partitions_size) {
        uint32_t size = n->partitions_size * 2 > id + 1 ? n->partitions_size * 2 : id + 64;
        n->partitions = realloc(n->partitions, size * sizeof n->partitions[0]);
        must(n->partitions != NULL);
        memset(n->partitions + n->partitions_size, 0,
               (size - n->partitions_size) * sizeof n->partitions[0]);
        n->partitions_size = size;
    }
    must(n->partitions[id] == NULL);
    n->partitions[id] = p;
}

void node_remove_partition(struct node *n, uint32_t id)
{
    partition_destroy(n->partitions[id]);
    n->partitions[id] = NULL;
}

/* ---- life ---- */

static uint32_t power_of_two_above(int64_t value)
{
    uint32_t size = 16;
    while (size < value)
        size *= 2;
    return size;
}

enum status node_create(const struct node_options *options, struct store *store,
                        struct buffer *error, struct node **out)
{
    must(options->id >= 1 && options->id <= options->node_count);
    struct node *n = calloc(1, sizeof *n);
    must(n != NULL);
    n->options = *options;
    n->config = options->config;
    n->policy = admission_policy_find(slice_of(options->config->partition_policy));
    must(n->policy != NULL);
    n->store = store;
    n->prng = prng_seeded(options->seed);
    n->ring_size = power_of_two_above(n->config->node_queue_max);
    n->ring = calloc(n->ring_size, sizeof n->ring[0]);
    n->shadow = malloc(n->ring_size * sizeof n->shadow[0]);
    must(n->ring != NULL && n->shadow != NULL);
    for (uint32_t i = 0; i < n->ring_size; i++)
        n->shadow[i] = NO_ENTRY;
    n->deferred_size = (uint32_t)n->config->node_queue_max;
    n->deferred = calloc(n->deferred_size, sizeof n->deferred[0]);
    must(n->deferred != NULL);
    n->checkpoint_at = n->retry_at = n->report_at = INSTANT_NEVER;
    if (options->id == options->catalog_node)
        n->catalog = catalog_create();
    enum status status = node_load(n, error);
    if (status != STATUS_OK) {
        node_destroy(n);
        return status;
    }
    *out = n;
    return STATUS_OK;
}

void node_destroy(struct node *n)
{
    for (uint32_t i = 0; i < n->partitions_size; i++)
        partition_destroy(n->partitions[i]);
    free(n->partitions);
    for (uint32_t i = 0; i < n->deferred_size; i++)
        buffer_deinit(&n->deferred[i].bytes);
    free(n->deferred);
    node_catalog_deinit(n);
    if (n->catalog != NULL)
        catalog_destroy(n->catalog);
    log_writer_deinit(&n->log);
    free(n->ring);
    free(n->shadow);
    free(n->effects);
    arena_deinit(&n->lent);
    buffer_deinit(&n->range_out);
    buffer_deinit(&n->scratch);
    buffer_deinit(&n->text);
    store_destroy(n->store);
    free(n);
}

void node_start(struct node *n, struct instant now, uint64_t segment_bytes, uint64_t next_lsn)
{
    must(!n->started);
    n->now = now;
    n->started = true;
    node_note(n, NODE_TRACE_STARTED, 0, (int64_t)next_lsn);
    log_writer_init(&n->log, n->options.id, segment_bytes, next_lsn);
    node_admission_init(&n->admission, n->config, now);
    for (uint32_t i = 0; i < n->partitions_size; i++) {
        struct partition *p = n->partitions[i];
        if (p == NULL)
            continue;
        struct admission_rates rates;
        memcpy(rates.rate_mcu, p->info.rate_mcu, sizeof rates.rate_mcu);
        admission_init(&p->admission, n->policy, n->config, &rates, now);
    }
    if (store_active_bytes(n->store) > 0 || store_erase_pending(n->store))
        n->checkpoint_at = instant_add(now, checkpoint_interval(n));
    n->report_at = now;
    if (n->catalog != NULL)
        node_catalog_resume(n);
}

/* ---- effects ---- */

struct node_effect *node_push(struct node *n, enum node_effect_kind kind)
{
    if (n->effect_count == n->effect_capacity) {
        n->effect_capacity = n->effect_capacity == 0 ? 64 : n->effect_capacity * 2;
        n->effects = realloc(n->effects, n->effect_capacity * sizeof n->effects[0]);
        must(n->effects != NULL);
    }
    struct node_effect *e = &n->effects[n->effect_count++];
    memset(e, 0, sizeof *e);
    e->kind = kind;
    return e;
}

struct reply *node_push_reply(struct node *n, uint64_t from, uint64_t request_id,
                              enum reply_code code)
{
    struct node_effect *e = node_push(n, NODE_REPLY);
    e->to = from;
    e->reply.id = request_id;
    e->reply.code = code;
    return &e->reply;
}

void node_refuse(struct node *n, uint64_t from, uint64_t request_id, enum reply_code code,
                 const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    struct slice copy = arena_copy(&n->lent, slice_of(text));
    node_push_reply(n, from, request_id, code)->text = copy;
    node_note(n, NODE_TRACE_REFUSED, code, (int64_t)request_id);
}

/* Every event starts here: what the last one lent is given back. */
static void event(struct node *n, struct instant now)
{
    must(n->started);
    must(!instant_before(now, n->now));
    must(n->effect_next == n->effect_count); /* all effects were taken */
    n->now = now;
    n->effect_count = n->effect_next = 0;
    arena_reset(&n->lent);
    buffer_clear(&n->range_out);
}

const struct node_effect *node_next_effect(struct node *n)
{
    while (n->effect_next < n->effect_count) {
        const struct node_effect *e = &n->effects[n->effect_next++];
        if (e->kind == NODE_REPLY && e->to == FROM_SELF) {
            struct reply reply = e->reply; /* what it brings about may move the effects */
            node_catalog_reply(n, &reply);
        } else if (e->kind == NODE_REQUEST && e->to == n->options.id) {
            struct operation o = {.from = FROM_SELF, .request = e->request};
            node_run(n, &o);
        } else {
            return e;
        }
    }
    return NULL;
}

/* ---- records in flight ---- */

static struct inflight *ring_at(const struct node *n, uint32_t position)
{
    return &n->ring[position & (n->ring_size - 1)];
}

struct slice inflight_key(const struct inflight *e)
{
    struct slice payload = log_place_slice(e->place);
    return slice_make(payload.data + sizeof(struct write_head), e->key_size);
}

struct slice inflight_item(const struct inflight *e)
{
    struct slice payload = log_place_slice(e->place);
    size_t at = sizeof(struct write_head) + e->key_size;
    if (payload.size == at)
        return slice_make(NULL, 0);
    return slice_make(payload.data + at, payload.size - at);
}

struct inflight *node_shadow(const struct node *n, struct slice key, uint64_t hash)
{
    int32_t i = n->shadow[hash & (n->ring_size - 1)];
    while (i != NO_ENTRY) {
        struct inflight *e = &n->ring[i];
        if (e->hash == hash && slice_equal(inflight_key(e), key))
            return e;
        i = e->older;
    }
    return NULL;
}

void node_shadow_add(struct node *n, struct inflight *e, uint64_t hash, size_t key_size)
{
    int32_t *bucket = &n->shadow[hash & (n->ring_size - 1)];
    e->hash = hash;
    e->key_size = (uint32_t)key_size;
    e->older = *bucket;
    *bucket = (int32_t)(e - n->ring);
}

/* The oldest entry leaves: it is the last of its bucket's chain. */
static void shadow_drop(struct node *n, struct inflight *e)
{
    int32_t *link = &n->shadow[e->hash & (n->ring_size - 1)];
    while (*link != e - n->ring)
        link = &n->ring[*link].older;
    *link = e->older;
}

static struct inflight *ring_take(struct node *n)
{
    must(n->ring_count > 0);
    struct inflight *e = ring_at(n, n->ring_head);
    if (e->kind == LOG_WRITE)
        shadow_drop(n, e);
    n->ring_head++;
    n->ring_count--;
    return e;
}

bool node_can_write(struct node *n, const struct operation *o, size_t payload)
{
    uint64_t id = o->request.id;
    if (n->stop_error != 0) {
        node_refuse(n, o->from, id, REPLY_STOPPED,
                    "node %u refuses writes since its disk failed (%s): mend the disk, then "
                    "restart the node",
                    n->options.id, strerror(n->stop_error));
        return false;
    }
    uint64_t end = n->log.next_lsn + log_record_size(payload) + 4 * LOG_HEADER_SIZE;
    bool log_short = end > n->log_space_end;
    if (n->map_full || (log_short && n->log_disk_full)) {
        node_refuse(n, o->from, id, REPLY_FULL,
                    "node %u has no space left for writes (%s); reads are served", n->options.id,
                    n->map_full ? "the LMDB map or its disk is full" : "the log's disk is full");
        return false;
    }
    bool busy = log_short || n->ring_count == n->ring_size ||
                n->log.unwritten_bytes > (size_t)n->config->inflight_max_bytes ||
                n->log.next_lsn - store_log_lsn(n->store) > (uint64_t)n->config->log_max_bytes ||
                store_active_bytes(n->store) > 2 * (size_t)n->config->memtable_max_bytes;
    if (busy)
        node_refuse(n, o->from, id, REPLY_OVERLOADED,
                    "node %u has more writes in flight than it may hold", n->options.id);
    return !busy;
}

struct inflight *node_propose(struct node *n, enum log_kind kind, uint32_t group, uint64_t index,
                              struct slice head, struct slice tail)
{
    must(n->ring_count < n->ring_size);
    struct inflight *e = ring_at(n, n->ring_head + n->ring_count++);
    *e = (struct inflight){.kind = kind, .group = group, .index = index};
    e->place = log_writer_append(&n->log, kind, group, 1, index, head, tail);
    return e;
}

/* ---- the log ---- */

const struct log_batch *node_next_batch(struct node *n)
{
    return n->stop_error != 0 ? NULL : log_writer_next(&n->log);
}

void node_log_space(struct node *n, uint64_t end_lsn, bool disk_full)
{
    n->log_space_end = end_lsn;
    n->log_disk_full = disk_full;
}

static void tick(struct node *n);

static void complete(struct node *n, const struct inflight *e)
{
    struct applied applied;
    enum status status = node_apply(n, e->kind, e->group, e->index, log_place_slice(e->place),
                                    e->want_old, &applied);
    must(status == STATUS_OK); /* we wrote it ourselves */
    if (!e->answer)
        return;
    struct reply *r = node_push_reply(n, e->from, e->request_id, applied.code);
    r->verdict = e->verdict;
    r->consumed_mcu = e->consumed_mcu;
    r->found = applied.found;
    r->body = applied.body;
    r->text = applied.text;
}

/* N4: what is in flight has an unknown outcome; nothing more goes to the disk. */
static void stop(struct node *n, int error)
{
    n->stop_error = error;
    node_note(n, NODE_TRACE_STOPPED, 0, error);
    while (n->ring_count > 0) {
        struct inflight *e = ring_take(n);
        if (e->answer)
            node_refuse(n, e->from, e->request_id, REPLY_UNKNOWN,
                        "node %u could not write its log (%s); the write may or may not be "
                        "found after a restart",
                        n->options.id, strerror(error));
    }
}

void node_log_written(struct node *n, struct instant now, int error)
{
    event(n, now);
    if (error != 0) {
        stop(n, error);
        return;
    }
    const struct log_batch *batch = log_writer_written(&n->log);
    while (n->ring_count > 0 && ring_at(n, n->ring_head)->place.batch == batch)
        complete(n, ring_take(n));
    node_note(n, NODE_TRACE_LOG_WRITTEN, 0, (int64_t)n->log.written_lsn);
    log_writer_release(&n->log);
    if (n->checkpoint_at.ns == INSTANT_NEVER.ns && store_active_bytes(n->store) > 0)
        n->checkpoint_at = instant_add(now, checkpoint_interval(n));
    tick(n);
}

/* ---- checkpoints ---- */

static void start_checkpoint(struct node *n)
{
    for (uint32_t i = 0; i < n->partitions_size; i++) {
        if (n->partitions[i] != NULL)
            node_store_partition(n, n->partitions[i]);
    }
    if (n->catalog != NULL)
        node_store_catalog_index(n);
    store_freeze(n->store, n->log.written_lsn);
    node_note(n, NODE_TRACE_CHECKPOINT_BEGUN, 0, (int64_t)n->log.written_lsn);
    n->checkpoint_running = true;
    n->checkpoint_at = INSTANT_NEVER;
    node_push(n, NODE_CHECKPOINT);
}

static bool checkpoint_due(const struct node *n)
{
    if (store_is_frozen(n->store) || n->stop_error != 0)
        return false;
    size_t bytes = store_active_bytes(n->store);
    return !instant_before(n->now, n->checkpoint_at) || store_erase_pending(n->store) ||
           bytes >= (size_t)n->config->memtable_max_bytes ||
           (bytes > 0 &&
            n->log.next_lsn - store_log_lsn(n->store) > (uint64_t)n->config->log_max_bytes / 2);
}

void node_checkpoint_done(struct node *n, struct instant now, enum status status)
{
    event(n, now);
    must(n->checkpoint_running);
    node_note(n, NODE_TRACE_CHECKPOINT_ENDED, status, (int64_t)store_log_lsn(n->store));
    n->checkpoint_running = false;
    if (status == STATUS_FULL && store_grow(n->store) == STATUS_OK) {
        n->checkpoint_running = true;
        node_push(n, NODE_CHECKPOINT);
        return;
    }
    n->map_full = status == STATUS_FULL;
    if (n->map_full) {
        n->retry_at = instant_add(now, duration_ms(RETRY_MS));
        return;
    }
    if (status != STATUS_OK) {
        stop(n, EIO);
        return;
    }
    struct slice erased;
    if (store_checkpoint_done(n->store, status, &erased))
        node_erased(n, erased);
    node_push(n, NODE_TRIM_LOG)->lsn = store_log_lsn(n->store);
    if (store_active_bytes(n->store) > 0)
        n->checkpoint_at = instant_add(now, checkpoint_interval(n));
}

void node_checkpoint_soon(struct node *n)
{
    if (store_active_bytes(n->store) > 0)
        n->checkpoint_at = n->now;
}

/* ---- requests ---- */

void node_request(struct node *n, struct instant now, uint64_t from, const struct request *r)
{
    event(n, now);
    must(from != FROM_SELF);
    struct operation o = {.from = from, .request = *r};
    node_run(n, &o);
}

void node_reply(struct node *n, struct instant now, const struct reply *reply)
{
    event(n, now);
    node_catalog_reply(n, reply);
}

void node_touched(struct node *n, struct instant now, uint32_t ticket)
{
    event(n, now);
    must(ticket < n->deferred_size && n->deferred[ticket].used);
    struct deferred *d = &n->deferred[ticket];
    d->operation.touched = true;
    struct operation o = d->operation;
    node_run(n, &o);
    d->used = false;
    n->deferred_count--;
}

enum status node_receive(struct node *n, struct instant now, struct slice frame)
{
    event(n, now);
    (void)frame;
    return STATUS_MALFORMED; /* no node sends envelopes yet */
}

/* ---- time ---- */

/* Tells the catalog how many items the partitions hold, where that changed. */
static void report(struct node *n)
{
    struct buffer *b = &n->scratch;
    buffer_clear(b);
    for (uint32_t i = 0; i < n->partitions_size; i++) {
        struct partition *p = n->partitions[i];
        if (p == NULL || (p->item_count == p->reported_count && p->item_bytes == p->reported_bytes))
            continue;
        buffer_append_u32(b, p->info.table_id);
        buffer_append_u32(b, p->info.id);
        buffer_append_u64(b, (uint64_t)p->item_count);
        buffer_append_u64(b, (uint64_t)p->item_bytes);
        p->reported_count = p->item_count;
        p->reported_bytes = p->item_bytes;
    }
    n->report_at = instant_add(n->now, duration_ms(REPORT_MS));
    if (b->size == 0)
        return;
    struct node_effect *e = node_push(n, NODE_REQUEST);
    e->to = n->options.catalog_node;
    e->request =
        (struct request){.op = REQUEST_TABLE_REPORT, .body = arena_copy(&n->lent, buffer_slice(b))};
}

struct instant node_deadline(const struct node *n)
{
    struct instant t = instant_earlier(n->report_at, node_catalog_deadline(n));
    if (n->stop_error != 0)
        return t; /* N4: no checkpoint is due any more */
    if (n->stop_error != 0)
        return t; /* no checkpoint will come of it */
    if (store_is_frozen(n->store))
        return n->checkpoint_running ? t : instant_earlier(t, n->retry_at);
    if (store_erase_pending(n->store))
        return n->now;
    return instant_earlier(t, n->checkpoint_at);
}

/* What is due by the clock, or by what has just been applied. */
static void tick(struct node *n)
{
    struct instant now = n->now;
    if (!instant_before(now, n->report_at))
        report(n);
    if (n->catalog != NULL)
        node_catalog_tick(n);
    bool retry = store_is_frozen(n->store) && !n->checkpoint_running && n->stop_error == 0 &&
                 !instant_before(now, n->retry_at);
    if (retry) {
        n->retry_at = INSTANT_NEVER;
        n->checkpoint_running = true;
        node_push(n, NODE_CHECKPOINT);
    } else if (checkpoint_due(n)) {
        start_checkpoint(n);
    }
}

void node_tick(struct node *n, struct instant now)
{
    event(n, now);
    tick(n);
}

/* ---- looking ---- */

uint64_t node_log_end(const struct node *n)
{
    return n->log.next_lsn;
}

bool node_is_stopped(const struct node *n)
{
    return n->stop_error != 0;
}

bool node_is_full(const struct node *n)
{
    return n->map_full;
}

bool node_is_idle(const struct node *n)
{
    return n->ring_count == 0 && !n->checkpoint_running && n->deferred_count == 0;
}

const struct trace *node_trace(const struct node *n)
{
    return &n->trace;
}

void node_trace_describe(const struct node *n, uint64_t most, struct buffer *out)
{
    static const struct {
        const char *text;
        const char *value;
    } kinds[] = {
#define X(code, text, value) [code] = {text, value},
        NODE_TRACE_LIST(X)
#undef X
    };
    for (uint64_t back = most; back-- > 0;) {
        const struct trace_event *e = trace_last(&n->trace, back);
        if (e == NULL)
            continue;
        buffer_append_format(out, "%9.3f s ago  %s", (double)(n->now.ns - e->at.ns) / 1e9,
                             kinds[e->kind].text);
        if (e->subject != 0)
            buffer_append_format(out, " %u", e->subject);
        buffer_append_format(out, ", %s %lld\n", kinds[e->kind].value, (long long)e->value);
    }
}

struct store *node_store(struct node *n)
{
    return n->store;
}
