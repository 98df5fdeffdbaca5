/* request_record.c - the file of a recording. */
#include "cmd/request_record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_mode.h"
#include "cmd/request_parts.h"
#include "server/host/request_log.h"
#include "workload/trace_order.h"

enum {
    PATH_SIZE_MAX = 4096,
    NUMBER_MAX = 9999 /* of FILE.1, FILE.2 and so on */
};

struct request_record {
    struct request_record_options options;
    char path[PATH_SIZE_MAX];
    int file;                 /* owns; -1: the recording has ended */
    bool begun;               /* there was a request */
    int64_t begin_ns;         /* of the first request, by the loop's clock */
    struct instant due;       /* NEVER: nothing waits */
    struct trace_order order; /* requests that wait */
    struct request_parts parts;
    struct buffer lines; /* not written yet */
    struct buffer key;   /* scratch */
};

/* ---- the file ---- */

static void record_close(struct request_record *r)
{
    close(r->file);
    r->file = -1;
    r->due = INSTANT_NEVER;
    trace_order_deinit(&r->order);
    request_parts_deinit(&r->parts);
    buffer_deinit(&r->lines);
    buffer_deinit(&r->key);
}

static void record_end(struct request_record *r, int error)
{
    fprintf(stderr, "weir %s: --record %s: %s. The recording ends here; the router goes on.\n",
            r->options.command, r->path, strerror(error));
    record_close(r);
}

static void record_flush(struct request_record *r)
{
    size_t at = 0;
    while (at < r->lines.size) {
        ssize_t size = write(r->file, r->lines.data + at, r->lines.size - at);
        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0) {
            record_end(r, size < 0 ? errno : ENOSPC);
            return;
        }
        at += (size_t)size;
    }
    buffer_clear(&r->lines);
}

/* A new file, or a character device as it is. -1: errno tells; r->path has the path that failed. */
static int record_create(struct request_record *r, const char *path)
{
    struct stat s;
    int size = snprintf(r->path, sizeof r->path, "%s", path);
    for (int i = 1; i <= NUMBER_MAX && size < (int)sizeof r->path; i++) {
        int file = open(r->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE_PRIVATE);
        if (file >= 0 || errno != EEXIST)
            return file;
        if (stat(r->path, &s) == 0 && S_ISCHR(s.st_mode))
            return open(r->path, O_WRONLY | O_CLOEXEC);
        size = snprintf(r->path, sizeof r->path, "%s.%d", path, i);
    }
    errno = size < (int)sizeof r->path ? EEXIST : ENAMETOOLONG;
    return -1;
}

static void record_write_head(struct request_record *r)
{
    char tenant[32];
    trace_order_init(&r->order, r->options.salt);
    request_parts_init(&r->parts);
    snprintf(tenant, sizeof tenant, "router-%u", r->options.router);
    trace_append_head(&r->lines, r->options.salt);
    trace_append_name(&r->lines, "tenant", 0, slice_of(tenant));
    record_flush(r);
}

enum status request_record_begin(struct request_record *r, struct buffer *error)
{
    if (r == NULL)
        return STATUS_OK;
    must(r->file < 0);
    r->file = record_create(r, r->options.path);
    if (r->file < 0)
        return buffer_explain(error, STATUS_IO, "cannot create --record %s: %s", r->path,
                              strerror(errno));
    record_write_head(r);
    return STATUS_OK;
}

void request_record_destroy(struct request_record *r)
{
    if (r != NULL && r->file >= 0) {
        trace_order_write(&r->order, INT64_MAX, &r->lines);
        record_flush(r);
    }
    if (r != NULL && r->file >= 0)
        record_close(r);
    free(r);
}

const char *request_record_path(const struct request_record *r)
{
    return r->path;
}

/* ---- requests ---- */

/* Times count from the first request that is answered. */
static void record_first(struct request_record *r, const struct router_answer *a)
{
    r->begun = true;
    r->begin_ns = loop_now(r->options.loop).ns - a->duration.ns;
    trace_append_clock(&r->lines,
                       loop_wall_ms(r->options.loop) * 1000 - a->duration.ns / NS_PER_US);
}

static void record_answer(struct request_record *r, struct router_answer a)
{
    struct router_part part;
    struct trace_record record;
    struct instant now = loop_now(r->options.loop);
    while (router_answer_next(&a, &part)) {
        if (!r->begun)
            record_first(r, &a);
        request_parts_take(&r->parts, &part, &record, &r->key, &r->lines);
        record.at_ns = now.ns - a.duration.ns - r->begin_ns;
        record.at_ns = MAX(record.at_ns, 0);
        trace_order_add(&r->order, &record, buffer_slice(&r->key), &r->lines);
    }
    if (!r->begun)
        return;
    trace_order_write(&r->order, now.ns - r->begin_ns - RECORD_HOLD_MS * NS_PER_MS, &r->lines);
    if (r->due.ns == INSTANT_NEVER.ns)
        r->due = instant_add_ms(now, RECORD_HOLD_MS);
    if (r->lines.size >= RECORD_PIECE_BYTES)
        record_flush(r);
}

static void record_answered(void *context, const struct router_answer *a)
{
    struct request_record *r = context;
    if (r->options.log_requests)
        request_log(r->options.loop, a);
    if (r->file >= 0)
        record_answer(r, *a);
}

struct request_record *request_record_create(const struct request_record_options *o,
                                             struct router_options *router)
{
    struct request_record *r = NULL;
    router->answered = o->log_requests ? request_log : NULL;
    router->answered_context = o->loop;
    if (o->path != NULL) {
        r = must_calloc(1, sizeof *r);
        *r = (struct request_record){.options = *o, .file = -1, .due = INSTANT_NEVER};
        router->answered = record_answered;
        router->answered_context = r;
    }
    return r;
}

void request_record_turn(struct request_record *r)
{
    if (r == NULL || instant_before(loop_now(r->options.loop), r->due))
        return;
    int64_t until_ns = loop_now(r->options.loop).ns - r->begin_ns - RECORD_HOLD_MS * NS_PER_MS;
    trace_order_write(&r->order, until_ns, &r->lines);
    r->due = r->order.count > 0 ? instant_add_ms(loop_now(r->options.loop), RECORD_HOLD_MS)
                                : INSTANT_NEVER;
    record_flush(r);
}

struct instant request_record_deadline(const struct request_record *r)
{
    return r != NULL ? r->due : INSTANT_NEVER;
}
