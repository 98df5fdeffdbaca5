#include "embed/node_host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/must.h"
#include "control/controller.h"
#include "embed/data_dir.h"
#include "host/log_append.h"
#include "host/log_dir.h"

enum {
    READERS = 2,
    RETRY_SPACE_MS = 500
};

/* On its way to the disk. */
struct log_write {
    struct node_host *host; /* NULL: none */
    uint64_t lsn;
};

struct node_host {
    struct loop *loop; /* borrows */
    struct node_host_options options;
    int lock_fd;
    struct log_dir *log_dir; /* owns */
    struct log_append append;
    struct log_write writes[LOG_WRITES_MAX];
    struct node *node;             /* owns */
    struct controller *controller; /* owns; at work while the node leads the catalog */
    struct worker *flusher;        /* owns */
    struct worker *maker;          /* owns; makes log segments */
    struct log_making making;
    struct worker *readers[READERS];
    uint32_t next_reader;
    uint64_t segment_bytes;
    uint64_t first_segment; /* the one in which this start began */
    uint64_t space_segment; /* the last one prepared */
    bool space_making;      /* the next one is on its way */
    bool space_short;       /* the next one could not be made */
    struct instant space_retry_at;
    uint64_t replayed;
    enum status flush_status; /* the flush thread's, until its `done` */
};

struct touch {
    struct node_host *host;
    uint32_t ticket;
    struct slice key; /* lends until node_touched */
    bool reverse;
    uint64_t bytes;
};

/* ---- effects ---- */

static void take_effects(struct node_host *h);

static void flush_job(void *context)
{
    struct node_host *h = context;
    h->flush_status = store_checkpoint_write(node_store(h->node));
}

static void flush_done(void *context)
{
    struct node_host *h = context;
    node_checkpoint_done(h->node, loop_now(h->loop), h->flush_status);
    take_effects(h);
}

static void touch_job(void *context)
{
    struct touch *t = context;
    store_touch(node_store(t->host->node), t->key, t->reverse, t->bytes);
}

static void touch_done(void *context)
{
    struct touch *t = context;
    struct node_host *h = t->host;
    node_touched(h->node, loop_now(h->loop), t->ticket);
    free(t);
    take_effects(h);
}

static void start_touch(struct node_host *h, const struct node_effect *e)
{
    struct touch *t = malloc(sizeof *t);
    must(t != NULL);
    *t = (struct touch){h, e->touch.ticket, e->touch.key, e->touch.reverse, e->touch.bytes};
    worker_submit(h->readers[h->next_reader++ % READERS], touch_job, touch_done, t);
}

static void take_effects(struct node_host *h)
{
    const struct node_effect *e;
    while ((e = node_next_effect(h->node)) != NULL) {
        switch (e->kind) {
        case NODE_REPLY:
            if (e->to == CONTROL_FROM) {
                controller_reply(h->controller, &e->reply);
                break;
            }
            h->options.reply(h->options.context, h->options.node.id, e->to, &e->reply);
            break;
        case NODE_REQUEST:
            h->options.request(h->options.context, h->options.node.id, (uint32_t)e->to,
                               &e->request);
            break;
        case NODE_SEND:
            h->options.send(h->options.context, h->options.node.id, (uint32_t)e->to, e->frame);
            break;
        case NODE_CHECKPOINT:
            worker_submit(h->flusher, flush_job, flush_done, h);
            break;
        case NODE_TOUCH:
            start_touch(h, e);
            break;
        case NODE_TRIM_LOG:
            log_dir_trim(h->log_dir, e->lsn / h->segment_bytes);
            break;
        }
    }
}

void node_host_request(struct node_host *h, uint64_t from, const struct request *r)
{
    node_request(h->node, loop_now(h->loop), from, r);
    take_effects(h);
}

void node_host_reply(struct node_host *h, const struct reply *r)
{
    if (r->id & CONTROL_ID_BIT) {
        controller_reply(h->controller, r);
        return;
    }
    node_reply(h->node, loop_now(h->loop), r);
    take_effects(h);
}

enum status node_host_receive(struct node_host *h, struct slice frame)
{
    enum status status = node_receive(h->node, loop_now(h->loop), frame);
    take_effects(h);
    return status;
}

/* ---- the log ---- */

static void making_job(void *context)
{
    struct node_host *h = context;
    log_making_run(&h->making);
}

static void prepare_space(struct node_host *h);

/* `error`: errno of making a segment; 0: it was made. */
static void made(struct node_host *h, int error)
{
    h->space_short = error != 0;
    node_log_error(h->node, error);
    if (error != 0)
        h->space_retry_at = instant_add(loop_now(h->loop), duration_ms(RETRY_SPACE_MS));
}

static void making_done(void *context)
{
    struct node_host *h = context;
    h->space_making = false;
    made(h, log_dir_add(h->log_dir, &h->making) == STATUS_OK ? 0 : errno);
    prepare_space(h);
}

static void make_segment(struct node_host *h, uint64_t segment)
{
    if (loop_faults(h->loop)->disk_full) {
        made(h, ENOSPC);
        return;
    }
    h->space_making = true;
    /* A log that is hardly written to, or needs space at once, is not worth the zeros. */
    bool written =
        segment > h->first_segment + 1 && segment > node_log_end(h->node) / h->segment_bytes + 1;
    log_dir_begin(h->log_dir, segment, written, &h->making);
    worker_submit(h->maker, making_job, making_done, h);
}

/* Keeps on disk the segment being written, the next one, and from its middle on the one after. */
static void prepare_space(struct node_host *h)
{
    uint64_t wanted = (node_log_end(h->node) + h->segment_bytes / 2) / h->segment_bytes + 1;
    while (h->space_segment < wanted && log_dir_file(h->log_dir, h->space_segment + 1) >= 0)
        h->space_segment++;
    bool waits = h->space_short && instant_before(loop_now(h->loop), h->space_retry_at);
    if (h->space_segment < wanted && !h->space_making && !waits)
        make_segment(h, h->space_segment + 1);
    node_log_space(h->node, (h->space_segment + 1) * h->segment_bytes, h->space_short);
}

static void batch_written(void *context, int error)
{
    struct log_write *w = context;
    struct node_host *h = w->host;
    w->host = NULL;
    node_log_written(h->node, loop_now(h->loop), w->lsn, error);
    take_effects(h);
}

static struct log_write *free_write(struct node_host *h)
{
    size_t i = 0;
    while (i < LOG_WRITES_MAX && h->writes[i].host != NULL)
        i++;
    must(i < LOG_WRITES_MAX);
    return &h->writes[i];
}

static void write_batches(struct node_host *h)
{
    const struct log_batch *b;
    while ((b = node_next_batch(h->node)) != NULL) {
        int fd = log_dir_file(h->log_dir, b->lsn / h->segment_bytes);
        must(fd >= 0);
        struct log_write *w = free_write(h);
        *w = (struct log_write){h, b->lsn};
        log_append(&h->append, h->loop, fd, (int64_t)(b->lsn % h->segment_bytes),
                   buffer_slice(&b->bytes), batch_written, w);
    }
}

/* The controller looks, and the node does what it decides. */
static void control(struct node_host *h)
{
    struct instant now = loop_now(h->loop);
    if (instant_before(now, controller_deadline(h->controller, node_control_term(h->node),
                                                node_control_urgent(h->node))))
        return;
    struct control_view view;
    node_control_view(h->node, &view);
    controller_look(h->controller, now, loop_wall_ms(h->loop), &view);
    const struct control_request *r;
    while ((r = controller_next_request(h->controller)) != NULL) {
        if (r->node != h->options.node.id) {
            h->options.request(h->options.context, h->options.node.id, r->node, &r->request);
            continue;
        }
        node_request(h->node, now, CONTROL_FROM, &r->request);
        take_effects(h);
    }
}

void node_host_end_turn(struct node_host *h)
{
    if (!instant_before(loop_now(h->loop), node_deadline(h->node))) {
        node_tick(h->node, loop_now(h->loop));
        take_effects(h);
    }
    control(h);
    prepare_space(h);
    node_end_turn(h->node, loop_now(h->loop));
    take_effects(h);
    write_batches(h);
}

struct instant node_host_deadline(const struct node_host *h)
{
    struct instant t = instant_earlier(
        node_deadline(h->node), controller_deadline(h->controller, node_control_term(h->node),
                                                    node_control_urgent(h->node)));
    return h->space_short ? instant_earlier(t, h->space_retry_at) : t;
}

struct node *node_host_node(struct node_host *h)
{
    return h->node;
}

uint64_t node_host_replayed(const struct node_host *h)
{
    return h->replayed;
}

/* ---- opening ---- */

static enum status fail(struct buffer *error, enum status status, const char *what,
                        const char *where)
{
    int number = errno;
    buffer_append_format(error, "%s %s: %s", what, where,
                         status == STATUS_IO && number != 0 ? strerror(number)
                                                            : status_text(status));
    return status;
}

/* Replays one segment; `end` gets the lsn behind its last record. */
static enum status replay_segment(struct node_host *h, uint64_t segment, struct slice bytes,
                                  uint64_t from, bool last, uint64_t *end, struct buffer *error)
{
    struct log_segment_reader reader = {.bytes = bytes, .start = segment * h->segment_bytes};
    struct log_record record;
    enum status status;
    while ((status = log_segment_next(&reader, &record)) == STATUS_OK) {
        uint64_t stated = 0;
        if (record.kind == LOG_SEGMENT && record.payload.size >= sizeof stated)
            memcpy(&stated, record.payload.data, sizeof stated);
        if (record.kind == LOG_SEGMENT && stated != h->segment_bytes) {
            buffer_append_format(error,
                                 "the log in %s was written with log_segment_bytes = %llu: start "
                                 "with that value",
                                 h->options.directory, (unsigned long long)stated);
            return STATUS_CORRUPT;
        }
        if (record.lsn < from)
            continue;
        h->replayed++;
        if (node_replay(h->node, &record) != STATUS_OK)
            break;
    }
    *end = reader.ended ? reader.start + h->segment_bytes : reader.start + reader.at;
    if (status == STATUS_NOT_FOUND && (reader.ended || last))
        return STATUS_OK;
    buffer_append_format(error,
                         "the log in %s is damaged at segment %llx, byte %zu, before records that "
                         "were acknowledged: restore the directory, or this node's data, from a "
                         "replica",
                         h->options.directory, (unsigned long long)segment, reader.at);
    return STATUS_CORRUPT;
}

/* What torn batches left behind the end must never be taken for records later on. */
static enum status clean_tail(struct node_host *h, uint64_t end, struct buffer *error)
{
    uint64_t offset = end % h->segment_bytes;
    uint64_t size = h->segment_bytes - offset;
    const uint64_t torn_max = LOG_WRITES_MAX * (LOG_BATCH_SIZE_MAX + LOG_BLOCK_SIZE);
    if (size > torn_max)
        size = torn_max;
    enum status status = log_dir_prepare(h->log_dir, end / h->segment_bytes);
    if (status == STATUS_OK)
        status = log_dir_zero(h->log_dir, end / h->segment_bytes, offset, size);
    return status == STATUS_OK
               ? status
               : fail(error, status, "cannot write the log in", h->options.directory);
}

/* Whether a record of this segment was acknowledged: a file may be prepared ahead of its use, or
 * its first write be torn. Damage at its start is for replay_segment to report. */
static bool segment_begun(struct node_host *h, uint64_t segment, struct buffer *bytes)
{
    struct log_record record;
    if (log_dir_read(h->log_dir, segment, bytes) != STATUS_OK)
        return false;
    struct log_segment_reader reader = {.bytes = buffer_slice(bytes),
                                        .start = segment * h->segment_bytes};
    return log_segment_next(&reader, &record) != STATUS_NOT_FOUND;
}

static enum status replay(struct node_host *h, uint64_t *next_lsn, struct buffer *error)
{
    uint64_t from = store_log_lsn(node_store(h->node));
    uint64_t first, last;
    *next_lsn = from;
    bool found = log_dir_range(h->log_dir, &first, &last) == STATUS_OK;
    if (found ? first > from / h->segment_bytes : from > 0) {
        buffer_append_format(error,
                             "the log in %s lacks segment %llx, where LMDB's data ends: it was "
                             "removed, or written with another log_segment_bytes",
                             h->options.directory, (unsigned long long)(from / h->segment_bytes));
        return STATUS_CORRUPT;
    }
    if (!found)
        return STATUS_OK;
    struct buffer bytes = {0};
    while (last > first && !segment_begun(h, last, &bytes))
        last--;
    enum status status = STATUS_OK;
    if (first < from / h->segment_bytes)
        first = from / h->segment_bytes;
    for (uint64_t s = first; s <= last && status == STATUS_OK; s++) {
        status = log_dir_read(h->log_dir, s, &bytes);
        if (status != STATUS_OK)
            fail(error, status, "cannot read the log in", h->options.directory);
        else
            status = replay_segment(h, s, buffer_slice(&bytes), from, s == last, next_lsn, error);
    }
    buffer_deinit(&bytes);
    if (status == STATUS_OK && *next_lsn < from) {
        buffer_append_format(error,
                             "the log in %s ends before what LMDB has taken over: it was "
                             "truncated",
                             h->options.directory);
        return STATUS_CORRUPT;
    }
    return status == STATUS_OK && first <= last ? clean_tail(h, *next_lsn, error) : status;
}

static enum status open_store(struct node_host *h, struct buffer *error)
{
    const struct config *config = h->options.node.config;
    struct backing_options options = {h->options.directory, (uint64_t)config->map_initial_bytes,
                                      (uint64_t)config->map_max_bytes};
    struct backing *backing;
    enum status status = backing_open_lmdb(&options, &backing);
    if (status != STATUS_OK)
        return fail(error, status, "cannot open LMDB in", h->options.directory);
    struct store *store = store_create(backing, (uint64_t)config->resident_max_bytes);
    return node_create(&h->options.node, store, error, &h->node);
}

static enum status open_threads(struct node_host *h, struct buffer *error)
{
    enum status status = worker_create(h->loop, "flush", &h->flusher);
    if (status == STATUS_OK)
        status = worker_create(h->loop, "log", &h->maker);
    for (int i = 0; status == STATUS_OK && i < READERS; i++)
        status = worker_create(h->loop, "reader", &h->readers[i]);
    return status == STATUS_OK
               ? status
               : fail(error, status, "cannot start threads for", h->options.directory);
}

static enum status open_all(struct node_host *h, struct buffer *error)
{
    enum status status = data_dir_claim(h->options.directory, h->options.note, h->options.context,
                                        error, &h->lock_fd);
    if (status == STATUS_OK)
        status = open_store(h, error);
    if (status != STATUS_OK)
        return status;
    status = log_dir_open(h->options.directory, h->segment_bytes, &h->log_dir);
    if (status != STATUS_OK)
        return fail(error, status, "cannot open the log in", h->options.directory);
    uint64_t next_lsn;
    status = replay(h, &next_lsn, error);
    if (status == STATUS_OK)
        status = node_check(h->node, error);
    if (status != STATUS_OK)
        return status;
    h->first_segment = h->space_segment = next_lsn / h->segment_bytes;
    status = log_dir_prepare(h->log_dir, h->space_segment);
    if (status != STATUS_OK)
        return fail(error, status, "cannot allocate the log in", h->options.directory);
    status = open_threads(h, error);
    if (status != STATUS_OK)
        return status;
    node_start(h->node, loop_now(h->loop), h->segment_bytes, next_lsn);
    prepare_space(h);
    take_effects(h);
    return STATUS_OK;
}

enum status node_host_open(struct loop *l, const struct node_host_options *options,
                           struct buffer *error, struct node_host **out)
{
    struct node_host *h = calloc(1, sizeof *h);
    must(h != NULL);
    h->loop = l;
    h->options = *options;
    h->lock_fd = -1;
    log_append_init(&h->append);
    h->segment_bytes = (uint64_t)options->node.config->log_segment_bytes;
    h->controller = controller_create(options->node.config);
    enum status status = open_all(h, error);
    if (status != STATUS_OK) {
        node_host_close(h);
        return status;
    }
    *out = h;
    return STATUS_OK;
}

void node_host_close(struct node_host *h)
{
    if (h->flusher != NULL)
        worker_destroy(h->flusher);
    if (h->maker != NULL)
        worker_destroy(h->maker);
    if (h->space_making && h->making.fd >= 0)
        close(h->making.fd);
    for (int i = 0; i < READERS; i++) {
        if (h->readers[i] != NULL)
            worker_destroy(h->readers[i]);
    }
    controller_destroy(h->controller);
    if (h->node != NULL)
        node_destroy(h->node);
    if (h->log_dir != NULL)
        log_dir_close(h->log_dir);
    if (h->lock_fd >= 0)
        close(h->lock_fd);
    free(h);
}
