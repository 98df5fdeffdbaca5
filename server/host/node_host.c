/* node_host.c - the ports of a node over a loop, a directory and threads. */
#include "server/host/node_host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/settings/storage.h"
#include "host/log_append.h"
#include "host/log_dir.h"
#include "host/remove_tree.h"
#include "server/host/data_dir.h"
#include "server/host/disks.h"
#include "server/host/loop_clock.h"

enum {
    READERS = 2,
    LOG_KEEP_PART = 2, /* of a segment: what the log leaves of the disk for each store */
};

/* A batch of log records in flight to the disk. */
struct log_write {
    struct node_host *host; /* NULL: none */
    uint64_t lsn;
};

struct node_host {
    struct loop *loop;     /* borrows */
    const char *directory; /* borrows, during node_host_open */
    int lock_fd;
    bool made;                /* this host has made the directory */
    struct disks *own_disks;  /* owns; NULL: those of the options */
    struct disk_share *share; /* owns */
    struct log_dir *log_dir;  /* owns */
    struct log_append append;
    struct log_write writes[LOG_WRITES_MAX];
    struct node_server *server; /* owns */
    int64_t worked;             /* requests for which a slow processor has taken its time */
    struct worker *flusher;     /* owns */
    struct worker *maker;       /* owns; makes log segments */
    struct log_making making;
    bool is_making;
    struct worker *readers[READERS];
    uint32_t next_reader;
    uint64_t segment_bytes;
};

/* ---- background work ---- */

static void host_submit(void *context, enum work_kind kind, void (*job)(void *argument),
                        void (*done)(void *argument), void *argument)
{
    struct node_host *h = context;
    struct worker *w =
        kind == WORK_CHECKPOINT ? h->flusher : h->readers[h->next_reader++ % READERS];
    worker_submit(w, job, done, argument);
}

/* ---- the log ---- */

static bool host_log_range(void *context, uint64_t *first, uint64_t *last)
{
    struct node_host *h = context;
    return log_dir_range(h->log_dir, first, last) == STATUS_OK;
}

static enum status host_log_read(void *context, uint64_t segment, struct buffer *memory,
                                 struct slice *out)
{
    struct node_host *h = context;
    enum status status = log_dir_read(h->log_dir, segment, memory);
    *out = buffer_slice(memory);
    return status;
}

static enum status host_log_prepare(void *context, uint64_t segment)
{
    struct node_host *h = context;
    return log_dir_prepare(h->log_dir, segment);
}

static enum status host_log_zero(void *context, uint64_t segment, uint64_t offset, uint64_t size)
{
    struct node_host *h = context;
    return log_dir_zero(h->log_dir, segment, offset, size);
}

static bool host_log_has(void *context, uint64_t segment)
{
    struct node_host *h = context;
    return log_dir_file(h->log_dir, segment) >= 0;
}

static void making_job(void *argument)
{
    struct node_host *h = argument;
    log_making_run(&h->making);
}

static void making_done(void *argument)
{
    struct node_host *h = argument;
    h->is_making = false;
    int error = log_dir_add(h->log_dir, &h->making) == STATUS_OK ? 0 : errno;
    node_server_segment_made(h->server, error);
}

static void host_log_make(void *context, uint64_t segment, bool written)
{
    struct node_host *h = context;
    if (loop_faults(h->loop)->disk_full) {
        node_server_segment_made(h->server, ENOSPC);
        return;
    }
    h->is_making = true;
    log_dir_begin(h->log_dir, segment, written, &h->making);
    worker_submit(h->maker, making_job, making_done, h);
}

static void append_done(void *context, int error)
{
    struct log_write *w = context;
    struct node_host *h = w->host;
    w->host = NULL;
    node_server_log_written(h->server, w->lsn, error);
}

static struct log_write *write_take(struct node_host *h)
{
    size_t i = 0;
    while (i < LOG_WRITES_MAX && h->writes[i].host != NULL)
        i++;
    must(i < LOG_WRITES_MAX);
    return &h->writes[i];
}

static void host_log_append(void *context, uint64_t lsn, struct slice bytes)
{
    struct node_host *h = context;
    int fd = log_dir_file(h->log_dir, lsn / h->segment_bytes);
    must(fd >= 0);
    struct log_write *w = write_take(h);
    *w = (struct log_write){h, lsn};
    log_append(&h->append, h->loop, fd, (int64_t)(lsn % h->segment_bytes), bytes, append_done, w);
}

static void host_log_trim(void *context, uint64_t segment)
{
    struct node_host *h = context;
    log_dir_trim(h->log_dir, segment);
}

/* ---- the processor ---- */

/* A slow processor takes longer for each request that the node begins, as in the simulator
 * (sim/world/processor.h). */
static void host_stepped(void *context)
{
    struct node_host *h = context;
    if (h->server == NULL)
        return;
    const struct served_totals *s = node_served(node_server_node(h->server));
    const int64_t begun = s->kinds[SERVED_READ].requests + s->kinds[SERVED_WRITE].requests;
    for (; h->worked < begun; h->worked++)
        loop_work(h->loop);
}

/* ---- life ---- */

static enum status host_fail(const struct node_host *h, struct buffer *error, enum status status,
                             const char *what)
{
    int number = errno;
    return buffer_explain(error, status, "%s %s: %s", what, h->directory,
                          status == STATUS_IO && number != 0 ? strerror(number)
                                                             : status_text(status));
}

/* The largest file that this process may write (ulimit -f). */
static uint64_t file_max_bytes(void)
{
    struct rlimit limit;
    must(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    return limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : (uint64_t)limit.rlim_cur;
}

/* The store must know how large its file may get: its reserve is a part of that. */
static uint64_t host_map_max(const struct node_host_options *options)
{
    const uint64_t max = (uint64_t)config_storage(options->node.config)->map_max_bytes;
    const uint64_t file_max = file_max_bytes() / SPACE_PAGE * SPACE_PAGE;
    char text[256];
    if (file_max >= max)
        return max;
    snprintf(
        text, sizeof text,
        "node %u: map_max_bytes is reduced to %llu: this process may write no larger file (ulimit "
        "-f)",
        options->node.id, (unsigned long long)file_max);
    if (options->note != NULL)
        options->note(options->note_context, text);
    return file_max;
}

static enum status check_file_max(const struct node_host *h, struct buffer *error)
{
    const uint64_t file_max = file_max_bytes();
    if (h->segment_bytes <= file_max)
        return STATUS_OK;
    return buffer_explain(
        error, STATUS_TOO_LARGE,
        "log_segment_bytes = %llu is more than the largest file that this process may "
        "write: %llu (ulimit -f)",
        (unsigned long long)h->segment_bytes, (unsigned long long)file_max);
}

static enum status open_threads(struct node_host *h, struct buffer *error)
{
    enum status status = worker_create(h->loop, "flush", &h->flusher);
    if (status == STATUS_OK)
        status = worker_create(h->loop, "log", &h->maker);
    for (int i = 0; status == STATUS_OK && i < READERS; i++)
        status = worker_create(h->loop, "reader", &h->readers[i]);
    return status == STATUS_OK ? status : host_fail(h, error, status, "cannot start threads for");
}

static enum status open_server(struct node_host *h, const struct node_host_options *options,
                               struct buffer *error)
{
    const struct config *config = options->node.config;
    struct backing_options backing_options = {
        .path = h->directory,
        .map_initial_bytes = (uint64_t)config_storage(config)->map_initial_bytes,
        .map_max_bytes = host_map_max(options),
        .disk = h->share};
    struct backing *backing;
    enum status status = backing_open_lmdb(&backing_options, &backing);
    if (status != STATUS_OK)
        return host_fail(h, error, status, "cannot open LMDB in");
    struct store *store = store_create(
        backing, (uint64_t)config_storage(config)->resident_max_bytes, options->node.seed);
    struct node_server_options server = {
        .node = options->node,
        .place = h->directory,
        .clock = loop_clock(h->loop),
        .log = {.context = h,
                .range = host_log_range,
                .read = host_log_read,
                .prepare = host_log_prepare,
                .zero = host_log_zero,
                .has = host_log_has,
                .make = host_log_make,
                .append = host_log_append,
                .trim = host_log_trim},
        .work = {.context = h, .submit = host_submit},
        .messages = options->messages,
        .stepped = host_stepped,
        .stepped_context = h,
    };
    return node_server_open(&server, store, error, &h->server);
}

/* The share that store and log have of the disk. */
static enum status open_disk(struct node_host *h, const struct node_host_options *options)
{
    if (options->disks == NULL)
        h->own_disks = disks_create();
    struct disk_account *disk =
        disks_find(h->own_disks != NULL ? h->own_disks : options->disks, h->directory);
    if (disk == NULL)
        return STATUS_IO;
    h->share = disk_account_join(disk);
    log_dir_share_disk(h->log_dir, disk, h->segment_bytes / LOG_KEEP_PART);
    return STATUS_OK;
}

static enum status open_all(struct node_host *h, const struct node_host_options *options,
                            struct buffer *error)
{
    enum status status = check_file_max(h, error);
    if (status == STATUS_OK)
        status = data_dir_claim(h->directory, options->note, options->note_context, error,
                                &h->lock_fd, &h->made);
    if (status != STATUS_OK)
        return status;
    status = log_dir_open(h->directory, h->segment_bytes, &h->log_dir);
    if (status == STATUS_IO && errno == EWOULDBLOCK)
        return host_fail(h, error, status, "a killed process still writes the log in");
    if (status != STATUS_OK)
        return host_fail(h, error, status, "cannot open the log in");
    status = open_disk(h, options);
    if (status != STATUS_OK)
        return host_fail(h, error, status, "cannot open the disk of");
    status = open_server(h, options, error);
    if (status == STATUS_OK)
        status = open_threads(h, error);
    if (status == STATUS_OK)
        node_server_start(h->server);
    return status;
}

enum status node_host_open(struct loop *l, const struct node_host_options *options,
                           struct buffer *error, struct node_host **out)
{
    struct node_host *h = must_calloc(1, sizeof *h);
    h->loop = l;
    h->directory = options->directory;
    h->lock_fd = -1;
    log_append_init(&h->append);
    h->segment_bytes = (uint64_t)config_storage(options->node.config)->log_segment_bytes;
    enum status status = open_all(h, options, error);
    if (status != STATUS_OK) {
        node_host_discard(h, options->directory);
        return status;
    }
    *out = h;
    return STATUS_OK;
}

/* Lets go of all but the claim of the directory. */
static void host_stop(struct node_host *h)
{
    worker_destroy(h->flusher);
    worker_destroy(h->maker);
    for (int i = 0; i < READERS; i++)
        worker_destroy(h->readers[i]);
    if (h->is_making && h->making.fd >= 0)
        close(h->making.fd);
    node_server_destroy(h->server);
    if (h->log_dir != NULL)
        log_dir_close(h->log_dir);
    disk_share_leave(h->share);
    disks_destroy(h->own_disks);
}

void node_host_close(struct node_host *h)
{
    host_stop(h);
    if (h->lock_fd >= 0)
        close(h->lock_fd);
    free(h);
}

/* The claim is held until the directory is gone. */
void node_host_discard(struct node_host *h, const char *directory)
{
    host_stop(h);
    if (h->made)
        remove_tree(directory);
    if (h->lock_fd >= 0)
        close(h->lock_fd);
    free(h);
}

struct node_server *node_host_server(struct node_host *h)
{
    return h->server;
}
