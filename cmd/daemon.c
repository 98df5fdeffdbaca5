#include "cmd/daemon.h"

#include <errno.h>
#include <stdio.h>
#include <sys/random.h>

#include "base/must.h"

enum {
    LENGTH_SIZE = 4
}; /* the transport writes its own */

uint64_t daemon_seed(void)
{
    uint64_t seed;
    must(getrandom(&seed, sizeof seed, 0) == sizeof seed);
    return seed;
}

int daemon_fail(const char *name, const struct buffer *error)
{
    fprintf(stderr, "weir %s: %.*s\n", name, (int)error->size, error->data);
    return 1;
}

static bool send_frame(struct transport *t, uint64_t link, const struct buffer *b)
{
    return transport_send(t, link, slice_make(b->data + LENGTH_SIZE, b->size - LENGTH_SIZE));
}

bool daemon_send_request(struct transport *t, uint64_t link, struct buffer *scratch,
                         const struct request *r)
{
    buffer_clear(scratch);
    request_encode(scratch, r);
    return link != 0 && send_frame(t, link, scratch);
}

bool daemon_send_reply(struct transport *t, uint64_t link, struct buffer *scratch,
                       const struct reply *r)
{
    buffer_clear(scratch);
    reply_encode(scratch, r);
    return send_frame(t, link, scratch);
}

enum status daemon_open_loop(struct loop **out, void (*stop)(void *context), void *context,
                             struct buffer *error)
{
    if (loop_create(out) == STATUS_OK && loop_on_stop(*out, stop, context) == STATUS_OK)
        return STATUS_OK;
    buffer_append_format(error, "cannot set up io_uring: %s (Linux 6.1 or newer is needed)",
                         strerror(errno));
    return STATUS_IO;
}

bool daemon_peers_valid(const struct options *o, struct buffer *error)
{
    uint64_t seen = 0;
    for (uint32_t i = 0; i < o->peer_count; i++)
        seen |= UINT64_C(1) << (o->peers[i].id - 1);
    uint64_t wanted = o->peer_count == 64 ? UINT64_MAX : (UINT64_C(1) << o->peer_count) - 1;
    if (o->peer_count > 0 && seen == wanted)
        return true;
    buffer_append_format(error, "--peers must name every node once, numbered 1 to %u; see --help",
                         o->peer_count);
    return false;
}

enum status daemon_open_faults(struct loop *l, struct transport *t, const struct options *o,
                               struct buffer *error, struct faults **out)
{
    if (!o->faults)
        return STATUS_OK;
    enum status status = faults_open(l, t, o->faults_port, error, out);
    if (status == STATUS_OK)
        printf("faults 127.0.0.1:%u\n", faults_port(*out));
    return status;
}

void daemon_add_peers(struct transport *t, const struct options *o, uint32_t except)
{
    for (uint32_t i = 0; i < o->peer_count; i++) {
        if (o->peers[i].id != except)
            transport_add_peer(t, PEER_NODE, o->peers[i].id, o->peers[i].address, o->peers[i].port);
    }
}

void daemon_tell_stopped(const struct node *n, uint32_t id, bool *told)
{
    enum {
        EVENTS = 12
    };
    if (*told || !node_is_stopped(n))
        return;
    *told = true;
    struct buffer text = {0};
    node_trace_describe(n, EVENTS, &text);
    fprintf(stderr,
            "weir: node %u has stopped writing: its disk failed. Reads go on. Mend the disk, then "
            "restart it.\nIts last events:\n%.*s",
            id, (int)text.size, text.data);
    buffer_deinit(&text);
}

void daemon_note(void *context, const char *text)
{
    (void)context;
    fprintf(stderr, "weir: %s\n", text);
}
