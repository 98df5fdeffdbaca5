/* network.c - links and datagrams between simulated processes, and their faults. */
#include "sim/world/network.h"

#include <stdlib.h>
#include <sys/queue.h>
#include <xxhash.h>

enum message_kind_sim {
    MESSAGE_OPEN,
    MESSAGE_DATA,
    MESSAGE_END,
    MESSAGE_CLOSE,
    MESSAGE_TIMEOUT, /* a close that no cut way and no pause stops */
};

struct message {
    STAILQ_ENTRY(message) entry;
    int64_t at_ns;
    int64_t came_ns; /* when it was there, and waited for a busy process */
    int64_t cost_ns; /* processor time; -1 until the message has arrived */
    enum message_kind_sim kind;
    uint32_t from; /* of a datagram */
    uint32_t to;
    uint64_t link; /* of network_send_at */
    size_t size;
    size_t capacity;
    uint8_t bytes[];
};

STAILQ_HEAD(messages, message);

/* The messages on their way to one end. */
struct direction {
    uint64_t handle;          /* by which this end knows the link; 0: the link is not in use */
    struct way *way;          /* borrows; that the messages take */
    struct messages messages; /* owns */
    int64_t last_at_ns;       /* arrival of the last message; later messages are not earlier */
    size_t bytes;
    bool scheduled;
    bool late; /* what is on its way arrives, whatever becomes of the link */
};

struct link {
    struct network *network; /* borrows */
    uint32_t slot;
    uint32_t generation;
    bool open[2];
    uint32_t process[2];
    struct direction toward[2];
    uint32_t next_free; /* slot + 1 */
};

struct process {
    struct network_handler handler;
    struct network_stream_handler streams;
    void *context;
    bool alive;
    bool paused;
    int64_t read_bytes_ms; /* 0: as fast as the way */
    int64_t busy_until_ns; /* with everything that has arrived */
    int64_t busy_ns;       /* with the message that it is handling */
    int64_t waited_ns;     /* the message that it is handling, for the process */
    int64_t each_ns;       /* what each message from `each_from` and later ones costs */
    uint32_t each_from;
    struct messages held; /* owns; datagrams that came during a pause, oldest first */
};

/* From one process to another. */
struct way {
    uint8_t cuts;
    int64_t late_ns;        /* so much later than usual do bytes of links arrive */
    int64_t datagram_at_ns; /* arrival of the last datagram */
    int64_t free_at_ns;     /* when the way has passed on all that was sent */
};

struct network {
    struct network_options options;
    struct network_faults faults;
    struct prng delay_prng;
    struct prng fault_prng;
    struct prng speed_prng;
    struct process *processes; /* owns; by number */
    struct way *ways;          /* owns; by from * (processes + 1) + to */
    struct link **links;       /* owns */
    uint32_t link_count;
    size_t link_capacity;
    uint32_t link_free;    /* slot + 1 */
    struct messages spare; /* owns */
};

enum {
    SPARE_SIZE = 1024,
    PIECE_SIZE = 16384, /* largest piece of a stream on a slow way */
    MILLION = 1000000,
    SLOT_BITS = 24, /* of a handle, beside the slot's generation and the end */
    SLOT_MAX = (1 << SLOT_BITS) - 1
};

/* ---- messages ---- */

static struct message *message_create(struct network *n, enum message_kind_sim kind,
                                      struct slice bytes)
{
    struct message *m = STAILQ_FIRST(&n->spare);
    if (m != NULL && bytes.size <= SPARE_SIZE) {
        STAILQ_REMOVE_HEAD(&n->spare, entry);
    } else {
        size_t capacity = MAX(bytes.size, SPARE_SIZE);
        m = must_have(malloc(sizeof *m + capacity));
        m->capacity = capacity;
    }
    m->cost_ns = -1;
    m->kind = kind;
    m->size = bytes.size;
    if (bytes.size > 0)
        memcpy(m->bytes, bytes.data, bytes.size);
    return m;
}

static void message_release(struct network *n, struct message *m)
{
    if (m->capacity > SPARE_SIZE) {
        free(m);
        return;
    }
    STAILQ_INSERT_HEAD(&n->spare, m, entry);
}

/* The first message, which leaves the list; NULL: there is none. */
static struct message *messages_take(struct messages *list)
{
    struct message *m = STAILQ_FIRST(list);
    if (m != NULL)
        STAILQ_REMOVE_HEAD(list, entry);
    return m;
}

static void messages_free(struct messages *list)
{
    struct message *m;
    while ((m = messages_take(list)) != NULL)
        free(m);
}

static int64_t network_draw_delay(struct network *n)
{
    const struct network_delays *d = &n->options.delays;
    int64_t ns = d->ns_min;
    if (d->spread_ns > 0)
        ns += (int64_t)prng_below(&n->delay_prng, (uint64_t)d->spread_ns);
    if (d->tail_per_million > 0 && prng_below(&n->delay_prng, MILLION) < d->tail_per_million)
        ns += (int64_t)prng_below(&n->delay_prng, (uint64_t)d->tail_ns + 1);
    return ns;
}

static struct way *way_at(const struct network *n, uint32_t from, uint32_t to)
{
    return &n->ways[from * (n->options.processes + 1) + to];
}

/* 0: no limit. */
static int64_t speed_toward(const struct network *n, uint32_t to)
{
    const int64_t way = n->options.speed.way_bytes_ms, reader = n->processes[to].read_bytes_ms;
    return reader > 0 && (way == 0 || reader < way) ? reader : way;
}

/* When a message that is sent now leaves: after all that was sent before. */
static int64_t sent_at(struct network *n, struct way *way, uint32_t to, size_t size)
{
    const int64_t now = n->options.scheduler->now.ns, speed = speed_toward(n, to);
    if (speed == 0)
        return now;
    const int64_t from_ns = MAX(way->free_at_ns, now);
    way->free_at_ns = from_ns + (int64_t)size * NS_PER_MS / speed;
    return way->free_at_ns;
}

/* A process handles one event after the other. False: the process is busy, and takes the message at
 * m->at_ns. */
static bool process_takes(struct network *n, struct process *p, struct message *m, uint32_t from)
{
    const int64_t now = n->options.scheduler->now.ns;
    const int64_t each_ns = from >= p->each_from ? p->each_ns : 0;
    if ((n->options.speed.event_ns == 0 && each_ns == 0) || m->kind != MESSAGE_DATA ||
        m->cost_ns >= 0)
        return true;
    m->came_ns = m->at_ns + each_ns; /* its own cost is no wait */
    m->cost_ns = n->options.speed.event_ns == 0
                     ? 0
                     : (int64_t)prng_below(&n->speed_prng, (uint64_t)n->options.speed.event_ns + 1);
    m->at_ns = MAX(p->busy_until_ns, now) + each_ns;
    p->busy_until_ns = m->at_ns + m->cost_ns;
    return m->at_ns == now;
}

static void network_note(struct network *n, enum network_trace kind, uint32_t from, uint32_t to,
                         uint64_t value)
{
    trace_add(n->options.trace, n->options.scheduler->now, kind, from << 16 | to, (int64_t)value);
}

static bool link_exists(const struct link *l)
{
    return l->toward[0].handle != 0;
}

/* Nothing arrives at this end now. */
static bool link_blocked(const struct link *l, int end)
{
    return l->network->processes[l->process[end]].paused || l->toward[end].way->cuts > 0;
}

/* ---- links ---- */

/* NULL: the link does not exist any more, or this end is closed. */
static struct link *link_at(struct network *n, uint64_t handle, int *end)
{
    uint64_t slot = handle >> 1 & SLOT_MAX;
    *end = (int)(handle & 1);
    if (handle == 0 || slot >= n->link_count)
        return NULL;
    struct link *l = n->links[slot];
    return l->toward[*end].handle == handle && l->open[*end] ? l : NULL;
}

static struct link *link_take(struct network *n, uint32_t from, uint32_t to)
{
    struct link *l;
    if (n->link_free > 0) {
        l = n->links[n->link_free - 1];
        n->link_free = l->next_free;
    } else {
        n->links = must_grow(n->links, n->link_count, &n->link_capacity, sizeof n->links[0]);
        l = must_calloc(1, sizeof *l);
        l->network = n;
        must(n->link_count <= SLOT_MAX); /* NET-3 */
        l->slot = n->link_count;
        n->links[n->link_count++] = l;
    }
    l->generation++;
    must(l->generation > 0); /* NET-3 */
    l->process[0] = from;
    l->process[1] = to;
    for (unsigned end = 0; end < 2; end++) {
        struct direction *d = &l->toward[end];
        *d = (struct direction){
            .handle = ((uint64_t)l->generation << SLOT_BITS | l->slot) << 1 | end,
            .way = way_at(n, l->process[1 - end], l->process[end]),
        };
        STAILQ_INIT(&d->messages);
    }
    return l;
}

static void drop_messages(struct link *l, int end)
{
    struct direction *d = &l->toward[end];
    struct message *m;
    while ((m = messages_take(&d->messages)) != NULL)
        message_release(l->network, m);
    d->bytes = 0;
    d->way->free_at_ns = 0;
}

/* Frees the link once both ends are closed and no message is on its way. */
static void link_tidy(struct link *l)
{
    if (!link_exists(l) || l->open[0] || l->open[1] || !STAILQ_EMPTY(&l->toward[0].messages) ||
        !STAILQ_EMPTY(&l->toward[1].messages))
        return;
    l->toward[0].handle = l->toward[1].handle = 0;
    l->next_free = l->network->link_free;
    l->network->link_free = l->slot + 1;
}

static void network_pump(void *context, uint64_t argument);

static void schedule_pump(struct link *l, int end, int64_t at_ns)
{
    l->toward[end].scheduled = true;
    scheduler_at(l->network->options.scheduler, (struct instant){at_ns}, network_pump, l,
                 l->toward[end].handle);
}

/* When a message that is sent now arrives. */
static int64_t arrives_at(struct link *l, int end, struct message *m)
{
    struct network *n = l->network;
    struct direction *d = &l->toward[end];
    if (STAILQ_EMPTY(&d->messages))
        d->late = false;
    struct way *way = d->way;
    d->late |= way->late_ns > 0;
    if (m->kind == MESSAGE_TIMEOUT)
        return n->options.scheduler->now.ns;
    return sent_at(n, way, l->process[end], m->size) + network_draw_delay(n) + way->late_ns;
}

static void link_enqueue(struct link *l, int end, struct message *m)
{
    struct direction *d = &l->toward[end];
    const int64_t at_ns = arrives_at(l, end, m);
    d->bytes += m->size;
    d->last_at_ns = MAX(d->last_at_ns, at_ns);
    m->at_ns = d->last_at_ns;
    STAILQ_INSERT_TAIL(&d->messages, m, entry);
    if (!d->scheduled)
        schedule_pump(l, end, m->at_ns);
}

/* The other end is gone, or taken for gone: nothing more arrives, but for what is late. */
static void drop_undelivered(struct link *l, int end)
{
    if (!l->toward[end].late)
        drop_messages(l, end);
}

static void enqueue_kind(struct link *l, int end, enum message_kind_sim kind)
{
    link_enqueue(l, end, message_create(l->network, kind, slice_make(NULL, 0)));
}

static void end_closed(struct link *l, int end, bool gone)
{
    struct network *n = l->network;
    struct process *p = &n->processes[l->process[end]];
    if (!l->open[end])
        return;
    l->open[end] = false;
    drop_undelivered(l, 1 - end); /* the messages of this end */
    if (l->open[1 - end])
        enqueue_kind(l, 1 - end, MESSAGE_TIMEOUT);
    network_note(n, NETWORK_TRACE_LINK_DOWN, l->process[end], l->process[1 - end], 0);
    p->handler.closed(p->context, l->toward[end].handle, gone);
}

static void network_deliver(struct link *l, int end, const struct message *m)
{
    struct network *n = l->network;
    struct process *p = &n->processes[l->process[end]];
    switch (m->kind) {
    case MESSAGE_OPEN:
        if (!p->alive) {
            enqueue_kind(l, 1 - end, MESSAGE_CLOSE);
            break;
        }
        l->open[end] = true;
        p->handler.accepted(p->context, l->toward[end].handle, l->process[1 - end]);
        break;
    case MESSAGE_DATA:
        if (!l->open[end])
            break;
        must(p->alive && !link_blocked(l, end)); /* NET-1 */
        network_note(n, NETWORK_TRACE_LINK, l->process[1 - end], l->process[end],
                     XXH3_64bits(m->bytes, m->size));
        p->busy_ns = MAX(m->cost_ns, 0);
        p->waited_ns = m->cost_ns >= 0 ? n->options.scheduler->now.ns - m->came_ns : 0;
        p->handler.received(p->context, l->toward[end].handle, slice_make(m->bytes, m->size));
        p->busy_ns = p->waited_ns = 0;
        break;
    case MESSAGE_END:
        if (l->open[end] && p->streams.ended != NULL)
            p->streams.ended(p->context, l->toward[end].handle);
        break;
    case MESSAGE_CLOSE:
    case MESSAGE_TIMEOUT:
        end_closed(l, end, m->kind == MESSAGE_CLOSE);
        break;
    }
}

/* Tells the sender of a stream on a slow way how many bytes still wait. */
static void notify_waiting(struct link *l, int end)
{
    const struct process *p = &l->network->processes[l->process[1 - end]];
    if (l->open[1 - end] && p->streams.waiting != NULL &&
        speed_toward(l->network, l->process[end]) > 0)
        p->streams.waiting(p->context, l->toward[1 - end].handle, l->toward[end].bytes);
}

static void network_pump(void *context, uint64_t argument)
{
    struct link *l = context;
    struct network *n = l->network;
    int end = (int)(argument & 1);
    struct direction *d = &l->toward[end];
    if (d->handle != argument)
        return;
    d->scheduled = false;
    struct message *m;
    while ((m = STAILQ_FIRST(&d->messages)) != NULL && !d->scheduled) {
        if (m->kind != MESSAGE_TIMEOUT && link_blocked(l, end))
            return;
        if (m->at_ns > n->options.scheduler->now.ns) {
            schedule_pump(l, end, m->at_ns);
            return;
        }
        if (!process_takes(n, &n->processes[l->process[end]], m, l->process[1 - end])) {
            schedule_pump(l, end, m->at_ns);
            return;
        }
        STAILQ_REMOVE_HEAD(&d->messages, entry);
        d->bytes -= m->size;
        network_deliver(l, end, m);
        const bool data = m->kind == MESSAGE_DATA;
        message_release(n, m);
        if (d->handle != argument)
            return;
        if (data)
            notify_waiting(l, end);
        if (d->handle != argument)
            return;
    }
    link_tidy(l);
}

uint64_t network_connect(struct network *n, uint32_t from, uint32_t to)
{
    if (!n->processes[to].alive || network_is_cut(n, from, to) || network_is_cut(n, to, from))
        return 0;
    struct link *l = link_take(n, from, to);
    l->open[0] = true;
    enqueue_kind(l, 1, MESSAGE_OPEN);
    return l->toward[0].handle;
}

uint32_t network_peer(struct network *n, uint64_t link)
{
    int end;
    const struct link *l = link_at(n, link, &end);
    return l == NULL ? 0 : l->process[1 - end];
}

bool network_send(struct network *n, uint64_t link, struct slice bytes)
{
    int end;
    struct link *l = link_at(n, link, &end);
    if (l == NULL)
        return false;
    link_enqueue(l, 1 - end, message_create(n, MESSAGE_DATA, bytes));
    return true;
}

static void network_leave(void *context, uint64_t argument)
{
    struct network *n = context;
    struct message *m = (struct message *)(uintptr_t)argument;
    int end;
    struct link *l = link_at(n, m->link, &end);
    if (l != NULL)
        link_enqueue(l, 1 - end, m);
    else
        message_release(n, m);
}

bool network_send_at(struct network *n, uint64_t link, struct slice bytes, struct instant at)
{
    int end;
    if (link_at(n, link, &end) == NULL)
        return false;
    struct message *m = message_create(n, MESSAGE_DATA, bytes);
    m->link = link;
    scheduler_at(n->options.scheduler, at, network_leave, n, (uintptr_t)m);
    return true;
}

size_t network_write(struct network *n, uint64_t link, struct slice bytes)
{
    int end;
    struct link *l = link_at(n, link, &end);
    if (l == NULL)
        return 0;
    const bool slow = speed_toward(n, l->process[1 - end]) > 0;
    while (slow && bytes.size > PIECE_SIZE) {
        link_enqueue(l, 1 - end,
                     message_create(n, MESSAGE_DATA, slice_make(bytes.data, PIECE_SIZE)));
        bytes = slice_make(bytes.data + PIECE_SIZE, bytes.size - PIECE_SIZE);
    }
    link_enqueue(l, 1 - end, message_create(n, MESSAGE_DATA, bytes));
    return slow ? l->toward[1 - end].bytes : 0;
}

void network_end(struct network *n, uint64_t link)
{
    int end;
    struct link *l = link_at(n, link, &end);
    if (l != NULL)
        enqueue_kind(l, 1 - end, MESSAGE_END);
}

void network_close(struct network *n, uint64_t link)
{
    int end;
    struct link *l = link_at(n, link, &end);
    if (l == NULL)
        return;
    l->open[end] = false;
    drop_messages(l, end);
    enqueue_kind(l, 1 - end, MESSAGE_CLOSE);
}

void network_reset(struct network *n, uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; i < n->link_count; i++) {
        struct link *l = n->links[i];
        bool between = (l->process[0] == a && l->process[1] == b) ||
                       (l->process[0] == b && l->process[1] == a);
        if (!link_exists(l) || !between)
            continue;
        for (int end = 0; end < 2; end++) {
            drop_undelivered(l, end);
            if (STAILQ_EMPTY(&l->toward[end].messages))
                l->toward[end].scheduled = false; /* a scheduled pump finds the time-out */
            enqueue_kind(l, end, MESSAGE_TIMEOUT);
        }
    }
}

/* Messages that could not go on are on their way again, with a new delay unless `at_once`. */
static void resume_links(struct network *n, bool at_once)
{
    for (uint32_t i = 0; i < n->link_count; i++) {
        struct link *l = n->links[i];
        for (int end = 0; link_exists(l) && end < 2; end++) {
            struct direction *d = &l->toward[end];
            if (!STAILQ_EMPTY(&d->messages) && !d->scheduled)
                schedule_pump(l, end,
                              n->options.scheduler->now.ns + (at_once ? 0 : network_draw_delay(n)));
        }
    }
}

/* ---- datagrams ---- */

static void network_arrive(void *context, uint64_t argument)
{
    struct network *n = context;
    struct message *m = (struct message *)(uintptr_t)argument;
    struct process *p = &n->processes[m->to];
    if (p->alive && p->paused) {
        STAILQ_INSERT_TAIL(&p->held, m, entry);
        return;
    }
    if (p->alive && !network_is_cut(n, m->from, m->to)) {
        if (!process_takes(n, p, m, 0)) {
            scheduler_at(n->options.scheduler, (struct instant){m->at_ns}, network_arrive, n,
                         (uintptr_t)m);
            return;
        }
        network_note(n, NETWORK_TRACE_DATAGRAM, m->from, m->to, XXH3_64bits(m->bytes, m->size));
        p->busy_ns = MAX(m->cost_ns, 0);
        p->handler.datagram(p->context, m->from, slice_make(m->bytes, m->size));
        p->busy_ns = 0;
    } else {
        network_note(n, NETWORK_TRACE_LOST, m->from, m->to, m->size);
    }
    message_release(n, m);
}

static void message_launch(struct network *n, uint32_t from, uint32_t to, struct slice frame)
{
    struct message *m = message_create(n, MESSAGE_DATA, frame);
    struct way *way = way_at(n, from, to);
    m->from = from;
    m->to = to;
    m->at_ns = sent_at(n, way, to, frame.size) + network_draw_delay(n);
    if (!n->faults.reorder && m->at_ns < way->datagram_at_ns)
        m->at_ns = way->datagram_at_ns;
    way->datagram_at_ns = m->at_ns;
    scheduler_at(n->options.scheduler, (struct instant){m->at_ns}, network_arrive, n, (uintptr_t)m);
}

/* Whether so much waits for the way that the sender loses the next datagram. */
static bool way_is_full(const struct network *n, uint32_t from, uint32_t to)
{
    const int64_t left_ns = way_at(n, from, to)->free_at_ns - n->options.scheduler->now.ns;
    return left_ns > 0 && left_ns / NS_PER_MS * speed_toward(n, to) > NETWORK_DATAGRAMS_MAX;
}

void network_datagram(struct network *n, uint32_t from, uint32_t to, struct slice frame)
{
    const struct network_faults *f = &n->faults;
    if (network_is_cut(n, from, to) || way_is_full(n, from, to) ||
        (f->drop_per_million > 0 && prng_below(&n->fault_prng, MILLION) < f->drop_per_million)) {
        network_note(n, NETWORK_TRACE_LOST, from, to, frame.size);
        return;
    }
    message_launch(n, from, to, frame);
    if (f->duplicate_per_million > 0 &&
        prng_below(&n->fault_prng, MILLION) < f->duplicate_per_million)
        message_launch(n, from, to, frame);
}

static void release_held(struct network *n, struct process *p)
{
    struct message *m;
    while ((m = messages_take(&p->held)) != NULL)
        scheduler_at(n->options.scheduler, n->options.scheduler->now, network_arrive, n,
                     (uintptr_t)m);
}

/* ---- processes and ways ---- */

void network_attach(struct network *n, uint32_t process, const struct network_handler *handler,
                    void *context)
{
    must(process >= 1 && process <= n->options.processes);
    n->processes[process].handler = *handler;
    n->processes[process].context = context;
}

void network_start(struct network *n, uint32_t process)
{
    must(!n->processes[process].alive);
    n->processes[process].alive = true;
}

void network_kill(struct network *n, uint32_t process)
{
    struct process *p = &n->processes[process];
    must(p->alive);
    p->alive = false;
    p->busy_until_ns = 0;
    network_pause(n, process, false);
    for (uint32_t i = 0; i < n->link_count; i++) {
        struct link *l = n->links[i];
        for (int end = 0; link_exists(l) && end < 2; end++) {
            const struct message *first = STAILQ_FIRST(&l->toward[end].messages);
            bool connecting = first != NULL && first->kind == MESSAGE_OPEN;
            if (l->process[end] != process || (!l->open[end] && !connecting))
                continue;
            l->open[end] = false;
            drop_messages(l, end);
            enqueue_kind(l, 1 - end, MESSAGE_CLOSE);
        }
    }
}

void network_attach_streams(struct network *n, uint32_t process,
                            const struct network_stream_handler *handler)
{
    n->processes[process].streams = *handler;
}

void network_calm(struct network *n, int64_t tail_ns)
{
    n->options.delays.tail_ns = MIN(n->options.delays.tail_ns, tail_ns);
    n->options.speed = (struct network_speed){0};
    for (uint32_t i = 1; i <= n->options.processes; i++)
        n->processes[i].read_bytes_ms = 0;
}

void network_read_slowly(struct network *n, uint32_t process, int64_t bytes_ms)
{
    n->processes[process].read_bytes_ms = bytes_ms;
}

void network_set_cost(struct network *n, uint32_t process, uint32_t from, int64_t ns)
{
    must(from > 0 && ns >= 0);
    n->processes[process].each_from = from;
    n->processes[process].each_ns = ns;
}

void network_cost_back(struct network *n, uint32_t process, int64_t ns)
{
    must(ns >= 0);
    n->processes[process].busy_until_ns -= ns;
}

struct duration network_busy(const struct network *n, uint32_t process)
{
    return (struct duration){n->processes[process].busy_ns};
}

struct duration network_waited(const struct network *n, uint32_t process)
{
    return (struct duration){n->processes[process].waited_ns};
}

bool network_is_alive(const struct network *n, uint32_t process)
{
    return n->processes[process].alive;
}

void network_pause(struct network *n, uint32_t process, bool paused)
{
    struct process *p = &n->processes[process];
    if (p->paused == paused)
        return;
    p->paused = paused;
    if (paused)
        return;
    release_held(n, p);
    resume_links(n, false);
}

void network_resume_links_first(struct network *n, uint32_t process)
{
    struct process *p = &n->processes[process];
    must(p->paused);
    p->paused = false;
    resume_links(n, true);
    release_held(n, p);
}

void network_cut(struct network *n, uint32_t from, uint32_t to)
{
    must(way_at(n, from, to)->cuts < UINT8_MAX);
    way_at(n, from, to)->cuts++;
}

void network_heal(struct network *n, uint32_t from, uint32_t to)
{
    must(way_at(n, from, to)->cuts > 0);
    if (--way_at(n, from, to)->cuts == 0)
        resume_links(n, false);
}

bool network_is_cut(const struct network *n, uint32_t from, uint32_t to)
{
    return way_at(n, from, to)->cuts > 0;
}

void network_delay(struct network *n, uint32_t from, uint32_t to, int64_t ns)
{
    way_at(n, from, to)->late_ns = ns;
}

void network_set_faults(struct network *n, const struct network_faults *faults)
{
    n->faults = *faults;
}

/* ---- life ---- */

struct network *network_create(const struct network_options *options)
{
    struct network *n = must_calloc(1, sizeof *n);
    n->options = *options;
    n->delay_prng = prng_seeded(options->seed);
    n->fault_prng = prng_seeded(options->seed + 1);
    n->speed_prng = prng_seeded(options->seed + 2);
    size_t side = options->processes + 1;
    n->processes = must_calloc(side, sizeof n->processes[0]);
    n->ways = must_calloc(side * side, sizeof n->ways[0]);
    STAILQ_INIT(&n->spare);
    for (uint32_t p = 0; p < side; p++)
        STAILQ_INIT(&n->processes[p].held);
    return n;
}

/* The scheduler's events hold datagrams on their way, and messages that will be sent later. */
static void free_scheduled(const struct network *n)
{
    const struct scheduler *s = n->options.scheduler;
    for (size_t i = 0; i < s->capacity; i++) {
        const bool is_message =
            s->events[i].run == network_arrive || s->events[i].run == network_leave;
        if (is_message && s->events[i].context == n)
            free((void *)(uintptr_t)s->events[i].argument);
    }
}

void network_destroy(struct network *n)
{
    free_scheduled(n);
    for (uint32_t i = 0; i < n->link_count; i++) {
        for (int end = 0; end < 2; end++)
            messages_free(&n->links[i]->toward[end].messages);
        free(n->links[i]);
    }
    for (uint32_t p = 0; p <= n->options.processes; p++)
        messages_free(&n->processes[p].held);
    free(n->links);
    messages_free(&n->spare);
    free(n->processes);
    free(n->ways);
    free(n);
}
