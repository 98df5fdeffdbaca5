/* greeting.h - how two daemons learn who the other one is, before anything else is said.
 *
 *   the side that connected   HELLO ------------------------> the side that accepted
 *                                   <------------------------ HELLO
 *                             PROOF ------------------------>
 *                                   <------------------------ PROOF
 *
 * A hello names protocol version, role, number and cluster, and carries 32 random bytes. A proof is
 * a MAC under the cluster's secret over the direction and both hellos: it shows that its sender
 * knows the secret, now, and that nobody changed either hello. A side that does not go on says why
 * in a last frame.
 *
 * Invariants
 *   GREETING-1  GREETING_DONE is reached only after a valid proof of the other side.
 *   GREETING-2  a proof is never sent to a side that accepts links before that side's hello fits,
 *               and never to a side that connected before its own proof is valid.
 * Promises: no I/O, no clock, no allocation but in the caller's buffers; random bytes and the MAC
 * are arguments. Every input up to GREETING_FRAME_MAX bytes has an answer.
 * Not here: sockets and deadlines (transport.c), what a role may say afterwards
 * (server/link_rights.h). What is said after the greeting is neither encrypted nor signed. */
#ifndef WEIR_HOST_GREETING_H
#define WEIR_HOST_GREETING_H

#include "base/buffer.h"
#include "base/peer.h"

enum {
    TRANSPORT_VERSION = 9, /* of hello and of all frames; both sides must have the same */
    GREETING_NONCE_SIZE = 32,
    GREETING_MAC_SIZE = 32,
    CLUSTER_ID_SIZE_MAX = 63,
    GREETING_FRAME_MAX = 128, /* bytes of a hello or a proof */
    SECRET_SIZE_MIN = 16,
    SECRET_SIZE_MAX = 4096
};

/* HMAC-SHA256 of `bytes` under `secret`. */
typedef void greeting_mac(struct slice secret, struct slice bytes, uint8_t out[GREETING_MAC_SIZE]);

/* This process. */
struct greeting_self {
    enum peer_kind kind;
    uint32_t id;          /* among its kind */
    struct slice cluster; /* borrows; at most CLUSTER_ID_SIZE_MAX bytes; empty: has no name */
    struct slice secret;  /* borrows; empty: there is none, and no other process may have one */
    unsigned accepts;     /* roles that may connect: bit `1 << kind` */
    greeting_mac *mac;    /* NULL: only where there is no secret */
};

/* The process that is meant to be at the other end, where this one connects. */
struct greeting_wanted {
    enum peer_kind kind;
    uint32_t id;
};

enum greeting_state {
    GREETING_AWAITS_HELLO,
    GREETING_AWAITS_PROOF,
    GREETING_DONE,
    GREETING_REFUSED
};

struct greeting {
    const struct greeting_self *self; /* borrows */
    bool connects;
    struct greeting_wanted wanted; /* if it connects */
    enum greeting_state state;
    uint8_t nonce[GREETING_NONCE_SIZE];
    /* Of the other side, once its hello is there and well-formed. */
    bool named;
    enum peer_kind kind;
    uint32_t id;
    uint8_t hello[GREETING_FRAME_MAX]; /* the other side's, as it came */
    size_t hello_size;
};

/* `wanted`: NULL on the side that accepts. */
void greeting_init(struct greeting *g, const struct greeting_self *self,
                   const struct greeting_wanted *wanted, const uint8_t nonce[GREETING_NONCE_SIZE]);

/* Appends this side's hello: the side that connects sends it first. */
void greeting_hello(const struct greeting *g, struct buffer *out);

/* Takes a frame of the other side. `out` gets the frame to answer with, or nothing. REFUSED: close
 * the link once `out` is sent; `error` says in a line what is wrong with the other side. */
enum greeting_state greeting_take(struct greeting *g, struct slice frame, struct buffer *out,
                                  struct buffer *error);

/* After GREETING_DONE: the frame that tells the other side that a second link is refused. */
void greeting_refuse_duplicate(struct buffer *out);
/* NULL: the frame is none that refuses. */
const char *greeting_refusal(struct slice frame);

#endif
