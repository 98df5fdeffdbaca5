/* transport.c - links and their greetings.
 *
 *   a peer:  WAITING --retry_at--> its link --closed--> WAITING
 *   a link:  CONNECTING --opened--> GREETING --done--> UP --closed--> freed
 *
 * Invariants:
 *   TRANSPORT-1  a peer has at most one link; a link to a peer is UP only if the greeting named
 *                that peer.
 *   TRANSPORT-2  `up` and `down` alternate, and frames come between them.
 *   TRANSPORT-3  a link that is not UP yet has a deadline, until it is closing. */
#include "host/transport.h"
#include "host/connection.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/random.h>

#include "base/prng.h"
#include "host/address.h"
#include "host/frame.h"

enum link_state {
    LINK_CONNECTING,
    LINK_GREETING,
    LINK_UP,
    LINK_CLOSING
};

struct peer {
    LIST_ENTRY(peer) entry;
    enum peer_kind kind;
    uint32_t id;
    char *address; /* owns */
    uint16_t port;
    struct link *link;       /* borrows; NULL while waiting */
    struct instant retry_at; /* while waiting */
    int64_t pause_ms;        /* the next pause, before jitter; 0 after a link was up */
    bool failure_noted;
};

struct link {
    TAILQ_ENTRY(link) entry;
    struct transport *transport; /* borrows */
    struct connection *connection;
    uint64_t id; /* the connection's */
    enum link_state state;
    bool was_up;
    bool ignores_frames; /* its greeting was lost: its later frames are ignored */
    struct peer *peer;   /* borrows; NULL for an accepted link */
    enum peer_kind kind;
    uint32_t peer_id;
    struct greeting greeting;
    struct instant received_at; /* the last bytes */
    struct instant deadline;    /* of the connect or the greeting */
    struct frame_reader reader;
};

TAILQ_HEAD(link_list, link);
LIST_HEAD(peer_list, peer);

struct transport {
    struct transport_options options;
    struct transport_handler handler;
    struct listener *listener;
    struct link_list links; /* owns */
    struct peer_list peers; /* owns */
    struct prng random;
    struct link_faults *faults; /* owns; NULL until transport_faults */
    uint64_t corrupt_frames;
};

/* The rule for frames to and from that process, or NULL. */
static const struct link_rule *rule_for(const struct transport *t, enum peer_kind kind, uint32_t id)
{
    return t->faults != NULL ? link_faults_find(t->faults, kind, id) : NULL;
}

static bool is_cut(const struct transport *t, enum peer_kind kind, uint32_t id, unsigned direction)
{
    const struct link_rule *rule = rule_for(t, kind, id);
    return rule != NULL && (rule->cut & direction) != 0;
}

static void transport_note(struct transport *t, struct buffer *text)
{
    buffer_append_u8(text, 0);
    if (t->handler.note != NULL)
        t->handler.note(t->options.context, (const char *)text->data);
    buffer_deinit(text);
}

static void describe_link(const struct link *link, struct buffer *out)
{
    if (link->peer != NULL)
        buffer_append_format(out, "%s %u at %s:%u", peer_kind_name(link->peer->kind),
                             link->peer->id, link->peer->address, link->peer->port);
    else if (link->was_up)
        buffer_append_format(out, "%s %u", peer_kind_name(link->kind), link->peer_id);
    else
        buffer_append_text(out, "an incoming connection");
}

static void close_link(struct link *link)
{
    link->state = LINK_CLOSING;
    connection_close(link->connection);
}

static void transport_refuse_link(struct link *link, const char *why)
{
    bool again = link->peer != NULL && link->peer->failure_noted;
    if (link->peer != NULL)
        link->peer->failure_noted = true;
    close_link(link);
    if (again)
        return;
    struct buffer text = {0};
    describe_link(link, &text);
    buffer_append_format(&text, ": %s", why);
    transport_note(link->transport, &text);
}

/* ---- greeting ---- */

static void send_framed(struct link *link, struct slice content)
{
    uint8_t header[FRAME_HEADER_SIZE];
    frame_header(content, header);
    connection_send(link->connection, slice_make(header, sizeof header));
    connection_send(link->connection, content);
}

static void send_buffer(struct link *link, struct buffer *frame)
{
    if (frame->size > 0)
        send_framed(link, buffer_slice(frame));
    buffer_deinit(frame);
}

static void transport_greet(struct link *link)
{
    struct buffer hello = {0};
    greeting_hello(&link->greeting, &hello);
    send_buffer(link, &hello);
}

/* Another accepted link of the same process, or NULL. Tools share their numbers. */
static struct link *find_twin(const struct link *link)
{
    struct link *other;
    if (link->peer != NULL || link->kind == PEER_TOOL)
        return NULL;
    TAILQ_FOREACH (other, &link->transport->links, entry)
        if (other != link && other->peer == NULL && other->state == LINK_UP &&
            other->kind == link->kind && other->peer_id == link->peer_id)
            return other;
    return NULL;
}

/* True: the older link has carried bytes lately, so the new link is of another process. */
static bool is_duplicate(struct link *link)
{
    struct link *other = find_twin(link);
    if (other == NULL)
        return false;
    struct instant until = instant_add(other->received_at, duration_ms(LINK_RECENT_MS));
    if (instant_before(loop_now(link->transport->options.loop), until))
        return true;
    transport_refuse_link(other, "sent nothing, and has connected again");
    return false;
}

static void come_up(struct link *link)
{
    struct transport *t = link->transport;
    const struct peer *peer = link->peer;
    must(!link->was_up);                      /* TRANSPORT-2 */
    must(peer == NULL || peer->link == link); /* TRANSPORT-1 */
    must(peer == NULL || (link->kind == peer->kind && link->peer_id == peer->id));
    link->state = LINK_UP;
    link->was_up = true;
    link->deadline = INSTANT_NEVER;
    link->reader.size_max = FRAME_SIZE_MAX;
    if (link->peer != NULL) {
        link->peer->pause_ms = 0;
        link->peer->failure_noted = false;
    }
    if (t->handler.up != NULL)
        t->handler.up(t->options.context, link->id, link->kind, link->peer_id);
}

static void take_greeting(struct link *link, struct slice bytes)
{
    struct buffer error = {0}, answer = {0};
    enum greeting_state state = greeting_take(&link->greeting, bytes, &answer, &error);
    link->kind = link->greeting.kind;
    link->peer_id = link->greeting.id;
    bool known = link->greeting.named;
    if (known && is_cut(link->transport, link->kind, link->peer_id, LINK_CUT_BOTH)) {
        link->ignores_frames = true;
        buffer_deinit(&answer);
    } else if (state == GREETING_DONE && is_duplicate(link)) {
        buffer_clear(&answer);
        greeting_refuse_duplicate(&answer);
        send_buffer(link, &answer);
        buffer_append_format(&error, "says it is %s %u, which is connected already",
                             peer_kind_name(link->kind), link->peer_id);
        state = GREETING_REFUSED;
    }
    send_buffer(link, &answer);
    if (state == GREETING_REFUSED && !link->ignores_frames) {
        buffer_append_u8(&error, 0);
        transport_refuse_link(link, (const char *)error.data);
    } else if (state == GREETING_DONE && !link->ignores_frames) {
        come_up(link);
    }
    buffer_deinit(&error);
}

/* ---- the connection's events ---- */

static struct link *add_link(struct transport *t, struct peer *peer, int64_t wait_ms)
{
    struct link *link = must_calloc(1, sizeof *link);
    link->transport = t;
    link->peer = peer;
    link->deadline = instant_add(loop_now(t->options.loop), duration_ms(wait_ms));
    TAILQ_INSERT_TAIL(&t->links, link, entry);
    return link;
}

static void free_link(struct link *link)
{
    TAILQ_REMOVE(&link->transport->links, link, entry);
    frame_reader_deinit(&link->reader);
    free(link);
}

static void begin_greeting(struct link *link)
{
    link->state = LINK_GREETING;
    link->deadline =
        instant_add(loop_now(link->transport->options.loop), duration_ms(GREETING_WAIT_MS));
    const struct peer *peer = link->peer;
    struct greeting_expected expected = {0};
    uint8_t nonce[GREETING_NONCE_SIZE];
    must(getrandom(nonce, sizeof nonce, 0) == sizeof nonce);
    if (peer != NULL)
        expected = (struct greeting_expected){peer->kind, peer->id};
    greeting_init(&link->greeting, &link->transport->options.self, peer != NULL ? &expected : NULL,
                  nonce);
    link->reader.size_max = GREETING_FRAME_MAX;
    /* The accepting side answers a hello: before the hello it does not know which rule applies. */
    if (peer != NULL && !is_cut(link->transport, peer->kind, peer->id, LINK_CUT_BOTH))
        transport_greet(link);
}

static void on_accepted(void *context, struct connection *c)
{
    struct link *link = add_link(context, NULL, GREETING_WAIT_MS);
    link->connection = c;
    link->id = connection_id(c);
    connection_set_user(c, link);
    begin_greeting(link);
}

static void on_connected(UNUSED void *context, struct connection *c)
{
    begin_greeting(connection_user(c));
}

static void transport_take_frame(struct link *link, struct slice bytes)
{
    struct transport *t = link->transport;
    const struct link_peer from = {link->id, link->kind, link->peer_id};
    must(link->was_up); /* TRANSPORT-2 */
    if (!is_cut(t, link->kind, link->peer_id, LINK_CUT_IN))
        t->handler.frame(t->options.context, &from, bytes);
}

static bool transport_on_frame(void *context, struct slice bytes)
{
    struct link *link = context;
    if (link->ignores_frames)
        return true;
    if (link->state == LINK_GREETING)
        take_greeting(link, bytes);
    else
        transport_take_frame(link, bytes);
    return link->state == LINK_UP || link->ignores_frames;
}

/* Before the greeting is done, a process of another protocol is far more likely than damage. */
static void refuse_corrupt(struct link *link)
{
    struct transport *t = link->transport;
    struct buffer why = {0};
    if (!link->was_up) {
        transport_refuse_link(link, "does not speak weir's protocol");
        return;
    }
    t->corrupt_frames++;
    buffer_append_format(&why, "sent a frame whose checksum does not match (%llu such since start)",
                         (unsigned long long)t->corrupt_frames);
    buffer_append_u8(&why, 0);
    transport_refuse_link(link, (const char *)why.data);
    buffer_deinit(&why);
}

static void transport_on_received(UNUSED void *context, struct connection *c, struct slice bytes)
{
    struct link *link = connection_user(c);
    link->received_at = loop_now(link->transport->options.loop);
    enum status status = frame_reader_feed(&link->reader, bytes, transport_on_frame, link);
    if (status == STATUS_CORRUPT)
        refuse_corrupt(link);
    else if (status != STATUS_OK)
        transport_refuse_link(link, link->was_up ? "sent a malformed frame"
                                                 : "does not speak weir's protocol");
}

static void schedule_retry(struct transport *t, struct peer *peer)
{
    int64_t pause_ms = peer->pause_ms;
    peer->pause_ms = pause_ms == 0 ? RECONNECT_MS_MIN : pause_ms * 2;
    peer->pause_ms = MIN(peer->pause_ms, RECONNECT_MS_MAX);
    int64_t half_ns = pause_ms * NS_PER_MS / 2;
    struct duration pause = {half_ns + (int64_t)prng_below(&t->random, (uint64_t)half_ns + 1)};
    peer->link = NULL;
    peer->retry_at = instant_add(loop_now(t->options.loop), pause);
}

static void note_loss(struct link *link, int error)
{
    struct peer *peer = link->peer;
    if (link->state == LINK_CLOSING || (peer != NULL && peer->failure_noted))
        return; /* already noted */
    if (peer == NULL && !link->was_up)
        return;
    struct buffer text = {0};
    if (peer != NULL)
        peer->failure_noted = true;
    if (link->state == LINK_CONNECTING) {
        buffer_append_format(&text, "%s %u: ", peer_kind_name(peer->kind), peer->id);
        address_explain("connect to", peer->address, peer->port, error, &text);
    } else {
        describe_link(link, &text);
        buffer_append_format(&text, ": connection lost (%s)",
                             error ? strerror(error) : "closed by the other side");
    }
    transport_note(link->transport, &text);
}

/* FIN or RST: the other end's kernel sends them once no process has the connection open. */
static bool ended_by_peer(const struct link *link, int error)
{
    return link->state != LINK_CLOSING && (error == 0 || error == ECONNRESET || error == EPIPE);
}

static void transport_on_closed(UNUSED void *context, struct connection *c, int error)
{
    struct link *link = connection_user(c);
    struct transport *t = link->transport;
    bool was_up = link->was_up, by_peer = ended_by_peer(link, error);
    note_loss(link, error);
    if (link->peer != NULL)
        schedule_retry(t, link->peer);
    uint64_t id = link->id;
    enum peer_kind kind = link->kind;
    uint32_t peer_id = link->peer_id;
    free_link(link);
    if (was_up && t->handler.down != NULL)
        t->handler.down(t->options.context, id, kind, peer_id, by_peer);
}

static const struct connection_handler accepted_handler = {
    .opened = on_accepted, .received = transport_on_received, .closed = transport_on_closed};
static const struct connection_handler connected_handler = {
    .opened = on_connected, .received = transport_on_received, .closed = transport_on_closed};

/* ---- peers ---- */

static void connect_peer(struct transport *t, struct peer *peer)
{
    struct connection *c;
    must(peer->link == NULL); /* TRANSPORT-1 */
    if (loop_connect(t->options.loop, peer->address, peer->port, &connected_handler, t, &c) !=
        STATUS_OK) {
        schedule_retry(t, peer);
        return;
    }
    struct link *link = add_link(t, peer, CONNECT_WAIT_MS);
    link->connection = c;
    link->id = connection_id(c);
    connection_set_user(c, link);
    peer->link = link;
}

void transport_add_peer(struct transport *t, enum peer_kind kind, uint32_t id, const char *address,
                        uint16_t port)
{
    struct peer *peer = must_calloc(1, sizeof *peer);
    *peer = (struct peer){.kind = kind, .id = id, .address = strdup(address), .port = port};
    must(peer->address != NULL);
    LIST_INSERT_HEAD(&t->peers, peer, entry);
    connect_peer(t, peer);
}

uint64_t transport_link(const struct transport *t, enum peer_kind kind, uint32_t id)
{
    const struct peer *peer;
    LIST_FOREACH (peer, &t->peers, entry)
        if (peer->kind == kind && peer->id == id)
            return peer->link != NULL && peer->link->state == LINK_UP ? peer->link->id : 0;
    return 0;
}

struct instant transport_deadline(const struct transport *t)
{
    struct instant earliest = INSTANT_NEVER;
    const struct peer *peer;
    const struct link *link;
    LIST_FOREACH (peer, &t->peers, entry)
        if (peer->link == NULL)
            earliest = instant_earlier(earliest, peer->retry_at);
    TAILQ_FOREACH (link, &t->links, entry)
        if (link->state != LINK_CLOSING)
            earliest = instant_earlier(earliest, link->deadline);
    if (t->faults != NULL)
        earliest = instant_earlier(earliest, link_faults_deadline(t->faults));
    return earliest;
}

/* ---- links ---- */

static struct link *find_link(struct transport *t, uint64_t id)
{
    struct connection *c = loop_connection(t->options.loop, id);
    struct link *link = c != NULL ? connection_user(c) : NULL;
    return link != NULL && link->state == LINK_UP ? link : NULL;
}

static bool send_now(struct link *link, struct slice frame)
{
    if (connection_unsent(link->connection) + frame.size > LINK_UNSENT_MAX) {
        transport_refuse_link(link, "does not read the data sent to it");
        connection_abort(link->connection);
        return false;
    }
    send_framed(link, frame);
    return true;
}

bool transport_send(struct transport *t, uint64_t id, struct slice frame)
{
    must(frame.size > 0);
    must(frame.size <= FRAME_SIZE_MAX);
    struct link *link = find_link(t, id);
    if (link == NULL)
        return false;
    const struct link_rule *rule = rule_for(t, link->kind, link->peer_id);
    if (rule != NULL && rule->cut & LINK_CUT_OUT)
        return true;
    bool slow = rule != NULL && rule->delay.ns > 0;
    if (!slow && (t->faults == NULL || !link_faults_holds(t->faults, id)))
        return send_now(link, frame);
    struct instant due = loop_now(t->options.loop);
    link_faults_hold(t->faults, id, frame, slow ? instant_add(due, rule->delay) : due);
    return true;
}

size_t transport_unsent(struct transport *t, uint64_t id)
{
    struct link *link = find_link(t, id);
    return link != NULL ? connection_unsent(link->connection) : 0;
}

void transport_close(struct transport *t, uint64_t id)
{
    struct link *link = find_link(t, id);
    if (link != NULL)
        close_link(link);
}

void transport_refuse(struct transport *t, uint64_t id, const char *why)
{
    struct link *link = find_link(t, id);
    if (link != NULL)
        transport_refuse_link(link, why);
}

/* ---- faults ---- */

static void send_held(struct transport *t)
{
    uint64_t id;
    struct slice frame;
    while (link_faults_next(t->faults, loop_now(t->options.loop), &id, &frame)) {
        struct link *link = find_link(t, id);
        if (link != NULL && !is_cut(t, link->kind, link->peer_id, LINK_CUT_OUT))
            send_now(link, frame);
    }
}

void transport_tick(struct transport *t)
{
    struct instant now = loop_now(t->options.loop);
    struct peer *peer;
    struct link *link;
    if (t->faults != NULL)
        send_held(t);
    LIST_FOREACH (peer, &t->peers, entry)
        if (peer->link == NULL && !instant_before(now, peer->retry_at))
            connect_peer(t, peer);
    TAILQ_FOREACH (link, &t->links, entry) {
        must(link->was_up || link->state == LINK_CLOSING ||
             link->deadline.ns != INSTANT_NEVER.ns); /* TRANSPORT-3 */
        if (link->state != LINK_CLOSING && !instant_before(now, link->deadline))
            transport_refuse_link(link, link->state == LINK_CONNECTING ? "does not answer"
                                                                       : "did not greet in time");
    }
}

struct link_faults *transport_faults(struct transport *t)
{
    if (t->faults == NULL)
        t->faults = link_faults_create();
    return t->faults;
}

void transport_heal(struct transport *t)
{
    struct peer *peer;
    struct link *link;
    if (t->faults == NULL)
        return;
    link_faults_clear(t->faults);
    TAILQ_FOREACH (link, &t->links, entry)
        if (link->state == LINK_GREETING)
            close_link(link);
    LIST_FOREACH (peer, &t->peers, entry)
        if (peer->link == NULL) {
            peer->pause_ms = 0;
            peer->retry_at = loop_now(t->options.loop);
        }
}

/* ---- life ---- */

struct transport *transport_create(const struct transport_options *options)
{
    must(options->handler->frame != NULL);
    struct transport *t = must_calloc(1, sizeof *t);
    t->options = *options;
    t->handler = *options->handler;
    t->random = prng_seeded(options->seed);
    TAILQ_INIT(&t->links);
    LIST_INIT(&t->peers);
    return t;
}

enum status transport_listen(struct transport *t, const char *address, uint16_t port)
{
    must(t->listener == NULL);
    return loop_listen(t->options.loop, address, port, LINKS_MAX, &accepted_handler, t,
                       &t->listener);
}

uint16_t transport_port(const struct transport *t)
{
    return listener_port(t->listener);
}

void transport_destroy(struct transport *t)
{
    if (t == NULL)
        return;
    if (t->listener != NULL)
        listener_close(t->listener);
    for (struct link *link; (link = TAILQ_FIRST(&t->links)) != NULL;) {
        connection_abandon(link->connection);
        free_link(link);
    }
    for (struct peer *peer; (peer = LIST_FIRST(&t->peers)) != NULL;) {
        LIST_REMOVE(peer, entry);
        free(peer->address);
        free(peer);
    }
    link_faults_destroy(t->faults);
    free(t);
}
