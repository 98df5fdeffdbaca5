/* bench_grpc.h - just enough HTTP/2 and gRPC to put keys into etcd: one call at a time.
 *
 * Fair to etcd: its JSON gateway costs it extra, this is what its own clients speak. Header lists
 * of answers are not decoded: a call went well if a message came back with it, since gRPC sends
 * none with an error. Source: RFC 9113 (HTTP/2), RFC 7541 (HPACK), the gRPC protocol over HTTP/2.
 */
#ifndef WEIR_CMD_BENCH_GRPC_H
#define WEIR_CMD_BENCH_GRPC_H

#include "base/buffer.h"

/* One connection. Zeroed = new. */
struct bench_grpc {
    struct buffer partial; /* owns: the bytes of a frame that has not come whole */
    uint32_t stream;       /* of the call that runs, or ran last */
    bool got_message;
    bool finished;       /* the call has; `got_message` says whether well */
    uint32_t unreturned; /* bytes received that the server's window does not know of */
};

void bench_grpc_deinit(struct bench_grpc *g);

/* What a connection begins with. */
void bench_grpc_open(struct buffer *out);

/* A call of etcdserverpb.KV/Put. */
void bench_grpc_put(struct bench_grpc *g, struct slice authority, struct slice key,
                    struct slice value, struct buffer *out);

/* Takes received bytes; what has to be answered goes to `out`. STATUS_MALFORMED: the server gives
 * this connection up. */
enum status bench_grpc_feed(struct bench_grpc *g, struct slice bytes, struct buffer *out);

#endif
