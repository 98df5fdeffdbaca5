/* greeting.h - how two daemons identify each other before any other message.
 *
 *   the side that connected   HELLO ------------------------> the side that accepted
 *                                   <------------------------ HELLO
 *                             PROOF ------------------------>
 *                                   <------------------------ PROOF
 *
 * A hello names protocol version, role, number and cluster, and carries 32 random bytes. A proof is
 * a MAC under the cluster's secret over the direction and both hellos. The proof shows that its
 * sender knows the secret now, and that nobody changed either hello. A side that refuses the other
 * sends the reason in a last frame.
 *
 * Invariants
 *   GREETING-1  GREETING_DONE is reached only after a valid proof of the other side.
 *   GREETING-2  the connecting side sends its proof only after an acceptable hello. The accepting
 *               side sends its proof only after a valid proof.
 * Promises: no I/O, no clock, no allocation except in the caller's buffers. Random bytes and the
 * MAC are arguments. Every input up to GREETING_FRAME_MAX bytes has an answer.
 * Not here: sockets and deadlines (transport.c), what a role may say afterwards
 * (server/link_rights.h). Frames after the greeting are neither encrypted nor signed. */
#pragma once

#include "base/buffer.h"
#include "base/peer.h"

enum {
    TRANSPORT_VERSION = 25, /* of hello and of all frames; both sides must have the same */
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
    uint32_t id;          /* unique among processes of its kind */
    struct slice cluster; /* borrows; at most CLUSTER_ID_SIZE_MAX bytes; empty: no name */
    struct slice secret;  /* borrows; empty: no secret, and peers must have none */
    unsigned accepts;     /* roles that may connect: bit `1 << kind` */
    greeting_mac *mac;    /* NULL only if `secret` is empty */
};

/* The process that a connecting side expects at the other end. */
struct greeting_expected {
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
    struct greeting_expected expected; /* if it connects */
    enum greeting_state state;
    uint8_t nonce[GREETING_NONCE_SIZE];
    /* The other side, once its well-formed hello has come. */
    bool named;
    enum peer_kind kind;
    uint32_t id;
    uint8_t hello[GREETING_FRAME_MAX]; /* of the other side, as received */
    size_t hello_size;
};

/* `expected`: NULL on the side that accepts. */
void greeting_init(struct greeting *g, const struct greeting_self *self,
                   const struct greeting_expected *expected,
                   const uint8_t nonce[GREETING_NONCE_SIZE]);

/* Appends this side's hello: the side that connects sends it first. */
void greeting_hello(const struct greeting *g, struct buffer *out);

/* Takes a frame of the other side. `out` gets the frame to answer with, or nothing.
 * GREETING_REFUSED: close the link once `out` is sent. `error` gets one line: what is wrong with
 * the other side. */
enum greeting_state greeting_take(struct greeting *g, struct slice frame, struct buffer *out,
                                  struct buffer *error);

/* After GREETING_DONE: the frame that tells the other side that a second link is refused. */
void greeting_refuse_duplicate(struct buffer *out);
/* The reason in a refusal frame; NULL for any other frame. */
const char *greeting_refusal(struct slice frame);
