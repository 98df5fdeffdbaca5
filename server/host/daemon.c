/* daemon.c - the start of daemons, and their messages for people. */
#include "server/host/daemon.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/random.h>

#include "base/settings/http.h"
#include "base/settings/storage.h"
#include "host/address.h"
#include "host/descriptors.h"
#include "host/secret.h"
#include "server/host/http_server.h"
#include "server/host/mac.h"
#include "server/link_rights.h"

uint64_t daemon_seed(void)
{
    uint64_t seed;
    must(getrandom(&seed, sizeof seed, 0) == sizeof seed);
    return seed;
}

enum status daemon_prepare_greeting(const struct config *config, enum peer_kind kind, uint32_t id,
                                    const char *listens, struct buffer *secret,
                                    struct buffer *error, struct greeting_self *out)
{
    const char *path = config->secret_file;
    if (path[0] != '\0') {
        enum status status = secret_read(path, secret, error);
        if (status != STATUS_OK)
            return status;
    } else if (listens != NULL && !address_is_loopback(listens)) {
        return buffer_explain(
            error, STATUS_MALFORMED,
            "listens on %s, which other machines reach, and has no secret_file: every machine "
            "could control it. Give all daemons of the cluster the same secret: head -c 32 "
            "/dev/urandom | base64 >FILE; chmod 600 FILE; "
            "--set secret_file=FILE",
            listens);
    }
    *out = (struct greeting_self){.kind = kind,
                                  .id = id,
                                  .cluster = slice_of(config->cluster_id),
                                  .secret = buffer_slice(secret),
                                  .accepts = link_rights_accepted(kind),
                                  .mac = mac_sha256};
    return STATUS_OK;
}

/* Segments of its log that a node may have open. */
static int64_t segments_of(const struct config *config)
{
    enum {
        AHEAD = 3 /* segments beyond log_max_bytes */
    };
    return config_storage(config)->log_max_bytes / config_storage(config)->log_segment_bytes +
           AHEAD;
}

static int64_t daemon_needed(const struct config *config, uint32_t nodes, uint32_t links,
                             bool serves)
{
    enum {
        OWN = 12,   /* the loop, standard streams, the faults port and its clients */
        OF_NODE = 8 /* its directory, LMDB, a file being made */
    };
    return OWN + links + nodes * (OF_NODE + segments_of(config)) +
           (serves ? http_server_descriptors(config) : 0);
}

enum status daemon_fit_descriptors(struct config *config, uint32_t nodes, uint32_t links,
                                   bool serves, struct buffer *error)
{
    enum {
        CLIENTS_FEW = 64, /* fewer clients are worse than a shorter log */
        CLIENTS_MIN = 4,
        SEGMENTS_MIN = 2
    };
    const int64_t clients = config_http(config)->connections_max,
                  log_bytes = config_storage(config)->log_max_bytes;
    const int64_t limit = descriptors_raise();
    while (serves && daemon_needed(config, nodes, links, true) > limit &&
           config_http(config)->connections_max > CLIENTS_FEW)
        config_edit_http(config)->connections_max--;
    while (nodes > 0 && daemon_needed(config, nodes, links, serves) > limit &&
           config_storage(config)->log_max_bytes >
               SEGMENTS_MIN * config_storage(config)->log_segment_bytes)
        config_edit_storage(config)->log_max_bytes -= config_storage(config)->log_segment_bytes;
    while (serves && daemon_needed(config, nodes, links, true) > limit &&
           config_http(config)->connections_max > CLIENTS_MIN)
        config_edit_http(config)->connections_max--;
    if (daemon_needed(config, nodes, links, serves) > limit)
        return buffer_explain(
            error, STATUS_IO,
            "%lld open files are allowed, but %lld are needed: raise the limit (ulimit -n)",
            (long long)limit, (long long)daemon_needed(config, nodes, links, serves));
    if (config_http(config)->connections_max < clients)
        fprintf(
            stderr,
            "weir: %lld open files are allowed (ulimit -n), which leaves room for %lld clients, "
            "not connections_max = %lld\n",
            (long long)limit, (long long)config_http(config)->connections_max, (long long)clients);
    if (config_storage(config)->log_max_bytes < log_bytes)
        fprintf(
            stderr,
            "weir: %lld open files are allowed (ulimit -n), which leaves room for fewer segments "
            "of the log: log_max_bytes is %lld, not %lld\n",
            (long long)limit, (long long)config_storage(config)->log_max_bytes,
            (long long)log_bytes);
    return STATUS_OK;
}

int daemon_fail(const char *name, const struct buffer *error)
{
    fprintf(stderr, "weir %s: %.*s\n", name, (int)error->size, error->data);
    return 1;
}

enum status daemon_open_loop(struct loop **out, void (*stop)(void *context), void *context,
                             struct buffer *error)
{
    signal(SIGPIPE, SIG_IGN); /* a closed standard error must not end the process */
    signal(SIGXFSZ, SIG_IGN); /* a write beyond ulimit -f fails: the disk is full then */
    if (loop_create(out) == STATUS_OK && loop_on_stop(*out, stop, context) == STATUS_OK)
        return STATUS_OK;
    return loop_explain(error);
}

static bool daemon_addresses_differ(const struct peer_list *list, const char *option,
                                    struct buffer *error)
{
    for (uint32_t i = 0; i < list->count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (list->at[i].port != list->at[k].port ||
                strcmp(list->at[i].address, list->at[k].address) != 0)
                continue;
            buffer_append_format(error, "%s: processes %u and %u have the same address %s:%u",
                                 option, list->at[k].id, list->at[i].id, list->at[i].address,
                                 list->at[i].port);
            return false;
        }
    }
    return true;
}

bool daemon_list_valid(const struct peer_list *list, const char *option, struct buffer *error)
{
    uint64_t seen = 0;
    for (uint32_t i = 0; i < list->count; i++)
        seen |= UINT64_C(1) << (list->at[i].id - 1);
    uint64_t all = list->count == 64 ? UINT64_MAX : (UINT64_C(1) << list->count) - 1;
    if (list->count > 0 && seen == all)
        return daemon_addresses_differ(list, option, error);
    if (list->count == 0)
        buffer_append_format(error, "%s is needed: 1=ADDRESS:PORT,2=ADDRESS:PORT,..; see --help",
                             option);
    else
        buffer_append_format(error, "%s must name each process once, numbered 1 to %u; see --help",
                             option, list->count);
    return false;
}

enum status daemon_open_faults(struct loop *l, struct transport *t, uint16_t port,
                               struct buffer *error, struct faults **out)
{
    enum status status = faults_open(l, t, port, error, out);
    if (status == STATUS_OK)
        printf("faults 127.0.0.1:%u\n", faults_port(*out));
    return status;
}

void daemon_add_peers(struct transport *t, enum peer_kind kind, const struct peer_list *list,
                      uint32_t except)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->at[i].id != except)
            transport_add_peer(t, kind, list->at[i].id, list->at[i].address, list->at[i].port);
    }
}

void daemon_print_stopped(const struct node *n, uint32_t id, bool *printed)
{
    enum {
        EVENTS = 12
    };
    if (*printed || !node_is_stopped(n))
        return;
    *printed = true;
    struct buffer text = {0};
    node_trace_describe(n, EVENTS, &text);
    fprintf(stderr,
            "weir: node %u has stopped writing: its disk failed. Reads go on. Repair the disk, "
            "then restart the node.\nIts last events:\n%.*s",
            id, (int)text.size, text.data);
    buffer_deinit(&text);
}

void daemon_note(UNUSED void *context, const char *text)
{
    fprintf(stderr, "weir: %s\n", text);
}
