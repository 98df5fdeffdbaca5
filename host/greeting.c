/* greeting.c - see greeting.h.
 *
 * Frames
 *   hello    u32 magic | u32 version | u8 kind | u32 id | u8 has a secret | nonce | u8 size,
 *            cluster
 *   proof    u8 PROOF | MAC
 *   refusal  u8 REFUSAL | u8 reason
 * Later versions may change everything behind the version. */
#include "host/greeting.h"

enum {
    HELLO_MAGIC = 0x52494557, /* "WEIR" */
    HELLO_SIZE_MIN = 4 + 4 + 1 + 4 + 1 + GREETING_NONCE_SIZE + 1,
    PROOF = 'P',
    REFUSAL = 'R',
    PROOF_SIZE = 1 + GREETING_MAC_SIZE,
    REFUSAL_SIZE = 2
};

_Static_assert(HELLO_SIZE_MIN + CLUSTER_ID_SIZE_MAX <= GREETING_FRAME_MAX, "a hello fits");

/* On the wire: never renumber. */
enum refusal {
    REFUSED_CLUSTER = 1,
    REFUSED_NO_SECRET = 2, /* the other side has no secret */
    REFUSED_SECRET = 3,    /* the other side has a secret, this side has none */
    REFUSED_PROOF = 4,
    REFUSED_ROLE = 5,
    REFUSED_DUPLICATE = 6,
    REFUSALS
};

static const char *const refusals[REFUSALS] = {
    [REFUSED_CLUSTER] = "refuses this process: its cluster_id differs",
    [REFUSED_NO_SECRET] = "refuses this process: it requires a secret, and this process has none",
    [REFUSED_SECRET] = "refuses this process: it has no secret, and this process requires one",
    [REFUSED_PROOF] = "refuses this process: its secret differs",
    [REFUSED_ROLE] = "refuses this process: processes of this kind may not connect to it",
    [REFUSED_DUPLICATE] = "refuses this process: another with this kind and id is connected",
};

void greeting_init(struct greeting *g, const struct greeting_self *self,
                   const struct greeting_expected *expected,
                   const uint8_t nonce[GREETING_NONCE_SIZE])
{
    must(self->cluster.size <= CLUSTER_ID_SIZE_MAX);
    must(self->secret.size == 0 || self->mac != NULL);
    *g = (struct greeting){.self = self, .connects = expected != NULL};
    if (expected != NULL)
        g->expected = *expected;
    memcpy(g->nonce, nonce, GREETING_NONCE_SIZE);
}

void greeting_hello(const struct greeting *g, struct buffer *out)
{
    const struct greeting_self *s = g->self;
    buffer_append_u32(out, HELLO_MAGIC);
    buffer_append_u32(out, TRANSPORT_VERSION);
    buffer_append_u8(out, (uint8_t)s->kind);
    buffer_append_u32(out, s->id);
    buffer_append_u8(out, s->secret.size > 0);
    buffer_append(out, g->nonce, sizeof g->nonce);
    buffer_append_u8(out, (uint8_t)s->cluster.size);
    buffer_append_slice(out, s->cluster);
}

/* ---- proofs ---- */

/* The MAC covers the direction, the connecting side's hello, and the accepting side's hello.
 * Without a secret, a proof is zeros and proves nothing. */
static void make_proof(const struct greeting *g, bool by_connecting_side,
                       uint8_t out[GREETING_MAC_SIZE])
{
    struct buffer covered = {0};
    memset(out, 0, GREETING_MAC_SIZE);
    if (g->self->secret.size == 0)
        return;
    buffer_append_text(&covered,
                       by_connecting_side ? "weir link: connected" : "weir link: accepted ");
    struct slice theirs = slice_make(g->hello, g->hello_size);
    if (!g->connects)
        buffer_append_sized(&covered, theirs);
    size_t at = covered.size;
    buffer_append_u32(&covered, 0);
    greeting_hello(g, &covered);
    uint32_t size = (uint32_t)(covered.size - at - sizeof size);
    memcpy(covered.data + at, &size, sizeof size);
    if (g->connects)
        buffer_append_sized(&covered, theirs);
    g->self->mac(g->self->secret, buffer_slice(&covered), out);
    buffer_deinit(&covered);
}

static void append_proof(const struct greeting *g, struct buffer *out)
{
    uint8_t mac[GREETING_MAC_SIZE];
    make_proof(g, g->connects, mac);
    buffer_append_u8(out, PROOF);
    buffer_append(out, mac, sizeof mac);
}

/* The time taken does not depend on where the proofs differ. */
static bool is_valid_proof(const struct greeting *g, struct slice mac)
{
    uint8_t expected[GREETING_MAC_SIZE];
    uint8_t differing = 0;
    make_proof(g, !g->connects, expected);
    for (size_t i = 0; i < sizeof expected; i++)
        differing |= (uint8_t)(expected[i] ^ mac.data[i]);
    return differing == 0;
}

/* ---- taking frames ---- */

static enum greeting_state greeting_refuse(struct greeting *g, enum refusal reason,
                                           struct buffer *out)
{
    if (reason != 0) {
        buffer_append_u8(out, REFUSAL);
        buffer_append_u8(out, (uint8_t)reason);
    }
    return g->state = GREETING_REFUSED;
}

const char *greeting_refusal(struct slice frame)
{
    if (frame.size != REFUSAL_SIZE || frame.data[0] != REFUSAL || frame.data[1] == 0 ||
        frame.data[1] >= REFUSALS)
        return NULL;
    return refusals[frame.data[1]];
}

void greeting_refuse_duplicate(struct buffer *out)
{
    buffer_append_u8(out, REFUSAL);
    buffer_append_u8(out, REFUSED_DUPLICATE);
}

static void append_cluster(struct buffer *out, struct slice name)
{
    if (name.size == 0)
        buffer_append_text(out, "no cluster_id");
    else
        buffer_append_format(out, "cluster_id %.*s", TEXT_OF(name));
}

/* Names go into log lines. */
static bool is_printable(struct slice name)
{
    for (size_t i = 0; i < name.size; i++) {
        if (name.data[i] <= ' ' || name.data[i] > '~')
            return false;
    }
    return true;
}

struct hello {
    uint32_t magic, version;
    uint8_t kind;
    uint32_t id;
    uint8_t secret;
    struct slice cluster;
    bool malformed;
};

static struct hello read_hello(struct slice bytes)
{
    struct reader r = {bytes, false};
    struct hello h = {.magic = reader_u32(&r), .version = reader_u32(&r)};
    h.kind = reader_u8(&r);
    h.id = reader_u32(&r);
    h.secret = reader_u8(&r);
    reader_take(&r, GREETING_NONCE_SIZE);
    h.cluster = reader_take(&r, reader_u8(&r));
    h.malformed = r.failed || r.left.size > 0 || bytes.size > GREETING_FRAME_MAX ||
                  h.kind < PEER_NODE || h.kind > PEER_TOOL || h.secret > 1 ||
                  h.cluster.size > CLUSTER_ID_SIZE_MAX || !is_printable(h.cluster);
    return h;
}

/* False: `error` says what is wrong with the sender, `reason` is what the sender is told. */
static bool is_acceptable(const struct greeting *g, const struct hello *h, enum refusal *reason,
                          struct buffer *error)
{
    const struct greeting_self *s = g->self;
    enum peer_kind kind = (enum peer_kind)h->kind;
    *reason = 0;
    if (!slice_equal(h->cluster, s->cluster)) {
        *reason = REFUSED_CLUSTER;
        buffer_append_text(error, "belongs to another cluster: it has ");
        append_cluster(error, h->cluster);
        buffer_append_text(error, ", this process has ");
        append_cluster(error, s->cluster);
    } else if (h->secret == 0 && s->secret.size > 0) {
        *reason = REFUSED_NO_SECRET;
        buffer_append_text(error, "has no secret, this process requires one: set its secret_file");
    } else if (h->secret == 1 && s->secret.size == 0) {
        *reason = REFUSED_SECRET;
        buffer_append_text(error,
                           "requires a secret, this process has none: set secret_file here, too");
    } else if (g->connects && (g->expected.kind != kind || g->expected.id != h->id)) {
        buffer_append_format(error, "is %s %u, not %s %u: check the list of peers",
                             peer_kind_name(kind), h->id, peer_kind_name(g->expected.kind),
                             g->expected.id);
    } else if (!g->connects && (s->accepts & 1U << kind) == 0) {
        *reason = REFUSED_ROLE;
        buffer_append_format(error, "is %s %u: a %s may not connect to a %s", peer_kind_name(kind),
                             h->id, peer_kind_name(kind), peer_kind_name(s->kind));
    }
    return error->size == 0;
}

static enum greeting_state take_hello(struct greeting *g, struct slice frame, struct buffer *out,
                                      struct buffer *error)
{
    struct hello h = read_hello(frame);
    enum refusal reason;
    if (h.magic != HELLO_MAGIC) {
        buffer_append_text(error, "does not speak weir's protocol");
        return greeting_refuse(g, 0, out);
    }
    if (h.version != TRANSPORT_VERSION) {
        buffer_append_format(error, "speaks protocol version %u, this process speaks version %d",
                             h.version, TRANSPORT_VERSION);
        if (!g->connects)
            greeting_hello(g, out); /* the other side logs the same fault */
        return g->state = GREETING_REFUSED;
    }
    if (h.malformed) {
        buffer_append_text(error, "sent a malformed hello");
        return greeting_refuse(g, 0, out);
    }
    g->named = true;
    g->kind = (enum peer_kind)h.kind;
    g->id = h.id;
    memcpy(g->hello, frame.data, frame.size);
    g->hello_size = frame.size;
    if (!is_acceptable(g, &h, &reason, error))
        return greeting_refuse(g, reason, out);
    if (g->connects)
        append_proof(g, out);
    else
        greeting_hello(g, out);
    return g->state = GREETING_AWAITS_PROOF;
}

static enum greeting_state take_proof(struct greeting *g, struct slice frame, struct buffer *out,
                                      struct buffer *error)
{
    if (frame.size != PROOF_SIZE || frame.data[0] != PROOF) {
        buffer_append_text(error, "sent other data than its proof");
        return greeting_refuse(g, 0, out);
    }
    if (!is_valid_proof(g, slice_make(frame.data + 1, GREETING_MAC_SIZE))) {
        buffer_append_format(error, "says it is %s %u, but has another secret: check secret_file",
                             peer_kind_name(g->kind), g->id);
        return greeting_refuse(g, REFUSED_PROOF, out);
    }
    if (!g->connects)
        append_proof(g, out);
    return g->state = GREETING_DONE;
}

enum greeting_state greeting_take(struct greeting *g, struct slice frame, struct buffer *out,
                                  struct buffer *error)
{
    must(g->state == GREETING_AWAITS_HELLO || g->state == GREETING_AWAITS_PROOF);
    const char *why = g->connects ? greeting_refusal(frame) : NULL;
    if (why != NULL) {
        buffer_append_text(error, why);
        return greeting_refuse(g, 0, out);
    }
    return g->state == GREETING_AWAITS_HELLO ? take_hello(g, frame, out, error)
                                             : take_proof(g, frame, out, error);
}
