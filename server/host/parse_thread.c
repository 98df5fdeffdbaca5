/* parse_thread.c - jobs of a router, one after the other. */
#include "server/host/parse_thread.h"

#include <errno.h>

static void work_submit(void *context, UNUSED enum work_kind kind, void (*job)(void *argument),
                        void (*done)(void *argument), void *argument)
{
    worker_submit(context, job, done, argument);
}

enum status parse_thread_open(struct loop *l, struct work_port *out, struct buffer *error)
{
    struct worker *w;
    const enum status status = worker_create(l, "parse", &w);
    if (status != STATUS_OK)
        return buffer_explain(error, status, "cannot start the thread that parses large bodies: %s",
                              strerror(errno));
    *out = (struct work_port){.context = w, .submit = work_submit};
    return STATUS_OK;
}
