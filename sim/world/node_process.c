/* node_process.c - the ports of a node's driver (server/node_server.h) in virtual time. */
#include "sim/world/node_process.h"

#include <errno.h>
#include <stdlib.h>

#include "base/probe.h"
#include "base/settings/storage.h"
#include "engine/catalog/table.h"
#include "engine/message/frames.h"
#include "engine/message/request_traits.h"

enum {
    MILLION = 1000000,
    LSN_BITS = 48,
    ZEROS_NS_PER_BYTE = 10,
    /* Handles that no link has. */
    OBSERVER = 1, /* node_process_request */
    VISITOR = 2,  /* node_process_receive */
};

/* A slow disk makes no operation longer than this. */
static const int64_t disk_ns_max = 2 * NS_PER_S;

/* ---- time ---- */

static struct scheduler *node_scheduler(const struct node_process *p)
{
    return p->process.around->scheduler;
}

static struct network *node_network(const struct node_process *p)
{
    return p->process.around->network;
}

static int64_t disk_ns_slowed(const struct node_process *p, int64_t ns)
{
    must(p->slow_times >= 1);
    int64_t slow = ns * p->slow_times;
    return slow < disk_ns_max ? slow : MAX(ns, disk_ns_max);
}

static int64_t disk_ns_some(struct node_process *p, int64_t spread_ns)
{
    return spread_ns > 0 ? (int64_t)prng_below(&p->timing_prng, (uint64_t)spread_ns) : 0;
}

void node_process_arm(struct node_process *p, enum node_point point, scheduler_run *ambush,
                      void *context)
{
    p->armed = point;
    p->ambush = ambush;
    p->ambush_context = context;
}

/* The moment has come, and lasts for `ns`. */
static void node_moment_begin(struct node_process *p, enum node_point point, int64_t ns)
{
    if (p->armed != point)
        return;
    p->armed = NODE_POINT_NONE;
    scheduler_in(node_scheduler(p), (struct duration){disk_ns_some(p, ns + 1)}, p->ambush,
                 p->ambush_context, p->process.number);
}

static void node_process_turn(void *context, uint64_t life);

static void node_turn_schedule(struct node_process *p)
{
    if (p->turn_scheduled)
        return;
    p->turn_scheduled = true;
    const struct duration busy = network_busy(node_network(p), p->process.number);
    scheduler_in(node_scheduler(p), (struct duration){p->options.timings.turn_ns + busy.ns},
                 node_process_turn, p, p->process.life);
}

static void node_woken(struct process *process)
{
    node_turn_schedule((struct node_process *)process);
}

static void node_trace_read(void *context)
{
    struct node_process *p = context;
    const struct process_watch *w = &p->process.around->watch;
    const struct trace *t = node_trace(node_server_node(p->server));
    for (; p->traced < t->count; p->traced++) {
        const struct trace_event *e = trace_last(t, t->count - 1 - p->traced);
        if (e != NULL && w->saw != NULL)
            w->saw(w->context, p->process.number, e);
    }
}

/* ---- processor time ---- */

static bool node_has_costs(const struct node_process *p)
{
    const struct processor_costs *c = &p->options.timings.work;
    int64_t ns = c->unit_ns;
    for (enum served_kind kind = 0; kind < SERVED_KINDS; kind++)
        ns += c->first_ns[kind];
    return ns > 0;
}

/* What the node has done for clients between two readings. */
struct node_done {
    int64_t ns; /* until it is done */
    int64_t write_mcu;
};

static struct node_done node_served_read(struct node_process *p)
{
    const struct processor_costs *c = &p->options.timings.work;
    const struct instant now = node_scheduler(p)->now;
    if (!node_has_costs(p))
        return (struct node_done){0};
    const struct served_totals *s = node_served(node_server_node(p->server));
    const int64_t write_mcu = s->kinds[SERVED_WRITE].mcu - p->served.kinds[SERVED_WRITE].mcu;
    struct node_done done = {.write_mcu = write_mcu};
    for (enum served_kind kind = 0; kind < SERVED_KINDS; kind++) {
        const int64_t ns = processor_serve(&p->processor, now, c, kind, &p->served, s);
        if (kind != SERVED_FOLLOW && ns > done.ns)
            done.ns = ns;
    }
    p->served = *s;
    return done;
}

static void keep_sorted(int64_t *list, uint32_t count, int64_t value)
{
    for (; count > 0 && list[count - 1] > value; count--)
        list[count] = list[count - 1];
    list[count] = value;
}

/* When a majority of the partition's replicas has done its work for a write: the leader first, then
 * each follower, once the work in its queue is done. Network and disks come on top. */
static int64_t node_write_ns(const struct node_process *p, uint32_t partition,
                             const struct node_done *leader)
{
    const struct partition_info *info = node_replica(node_server_node(p->server), partition);
    const int64_t follow_ns =
        processor_cost_ns(&p->options.timings.work, SERVED_FOLLOW, 1, leader->write_mcu);
    int64_t done_ns[REPLICAS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; info != NULL && i < info->member_count; i++) {
        const uint32_t node = partition_node(info, i);
        must(node >= 1 && node <= p->options.node_count);
        const struct node_process *m = p->options.nodes[node];
        const int64_t wait_ns = processor_wait_ns(&m->processor, node_scheduler(p)->now);
        const int64_t begins_ns = MAX(wait_ns, leader->ns);
        if (m->server == NULL)
            continue;
        keep_sorted(done_ns, count++,
                    m == p ? leader->ns : begins_ns + processor_takes_ns(&m->processor, follow_ns));
    }
    const bool has_majority = info != NULL && info->member_count / 2 < count;
    return has_majority ? done_ns[info->member_count / 2] : leader->ns;
}

static uint64_t node_late_key(uint64_t link, uint64_t request)
{
    const uint64_t key = link * UINT64_C(0x9E3779B97F4A7C15) ^ request;
    return key == 0 ? 1 : key;
}

/* The answer to the request must wait so long. A second request with this key would not wait. */
static void node_late_add(struct node_process *p, uint64_t link, uint64_t request, int64_t ns)
{
    const uint64_t key = node_late_key(link, request);
    if (id_map_find(&p->late, key) == NULL)
        id_map_add(&p->late, key, (void *)(uintptr_t)ns);
}

static int64_t node_late_take(struct node_process *p, uint64_t link, uint64_t request)
{
    const uint64_t key = node_late_key(link, request);
    const int64_t ns = (int64_t)(uintptr_t)id_map_find(&p->late, key);
    if (ns > 0)
        id_map_remove(&p->late, key);
    return ns;
}

void node_process_occupy(struct node_process *p, int64_t write_mcu, int64_t ns)
{
    if (p->server == NULL)
        return;
    processor_occupy(&p->processor, node_scheduler(p)->now, ns);
    node_occupy(node_server_node(p->server), process_now(&p->process), ADMIT_WRITE, write_mcu);
}

/* ---- background work ---- */

/* The life, and the index of the work. */
static uint64_t node_work_argument(const struct node_process *p, size_t work)
{
    return (uint64_t)p->process.life << 32 | work;
}

static size_t node_work_take(struct node_process *p)
{
    size_t i = 0;
    while (i < p->work_count && p->works[i].used)
        i++;
    if (i == p->work_count) {
        p->works = must_have(realloc(p->works, ++p->work_count * sizeof p->works[0]));
    }
    return i;
}

static void node_work_done(void *context, uint64_t argument)
{
    struct node_process *p = context;
    if (!process_reached(&p->process, argument >> 32, node_work_done, p, argument))
        return;
    struct node_work w = p->works[argument & UINT32_MAX];
    p->works[argument & UINT32_MAX].used = false;
    if (w.kind == WORK_CHECKPOINT) {
        p->checkpoint_running = false;
        process_note(&p->process, NODE_PROCESS_TRACE_CHECKPOINT, 0);
    } else {
        w.job(w.argument);
    }
    w.done(w.argument);
    node_turn_schedule(p);
}

/* Makes the checkpoint durable. A pause stops the checkpoint's thread too. */
static void node_checkpoint_commit(void *context, uint64_t argument)
{
    struct node_process *p = context;
    if (!process_reached(&p->process, argument >> 32, node_checkpoint_commit, p, argument))
        return;
    const struct node_work *w = &p->works[argument & UINT32_MAX];
    w->job(w->argument);
    int64_t ns = disk_ns_some(p, p->options.timings.checkpoint_spread_ns / 4);
    node_moment_begin(p, NODE_POINT_COMMITTED, ns);
    scheduler_in(node_scheduler(p), (struct duration){ns}, node_work_done, p, argument);
}

static void node_work_submit(void *context, enum work_kind kind, void (*job)(void *argument),
                             void (*done)(void *argument), void *argument)
{
    struct node_process *p = context;
    const struct node_timings *t = &p->options.timings;
    size_t work = node_work_take(p);
    p->works[work] = (struct node_work){true, kind, job, done, argument};
    bool checkpoint = kind == WORK_CHECKPOINT;
    int64_t ns = disk_ns_slowed(
        p, disk_ns_some(p, checkpoint ? t->checkpoint_spread_ns : t->read_spread_ns));
    if (checkpoint) {
        p->checkpoint_running = true;
        node_moment_begin(p, NODE_POINT_CHECKPOINT, ns);
    }
    scheduler_in(node_scheduler(p), (struct duration){ns},
                 checkpoint ? node_checkpoint_commit : node_work_done, p,
                 node_work_argument(p, work));
}

/* ---- the log ---- */

static bool process_log_range(void *context, uint64_t *first, uint64_t *last)
{
    const struct node_process *p = context;
    return log_disk_range(&p->log_disk, first, last);
}

static enum status process_log_read(void *context, uint64_t segment, UNUSED struct buffer *memory,
                                    struct slice *out)
{
    const struct node_process *p = context;
    *out = log_disk_read(&p->log_disk, segment);
    errno = EIO;
    return p->log_disk.unreadable                ? STATUS_IO
           : log_disk_has(&p->log_disk, segment) ? STATUS_OK
                                                 : STATUS_NOT_FOUND;
}

static enum status process_log_prepare(void *context, uint64_t segment)
{
    struct node_process *p = context;
    return log_disk_prepare(&p->log_disk, segment);
}

static enum status process_log_zero(void *context, uint64_t segment, uint64_t offset, uint64_t size)
{
    struct node_process *p = context;
    if (log_disk_zero(&p->log_disk, segment, offset, size))
        PROBE("a torn tail was cut off");
    return STATUS_OK;
}

static bool process_log_has(void *context, uint64_t segment)
{
    const struct node_process *p = context;
    return log_disk_has(&p->log_disk, segment);
}

static void node_segment_made(void *context, uint64_t life)
{
    struct node_process *p = context;
    if (!process_reached(&p->process, life, node_segment_made, p, life))
        return;
    node_server_segment_made(p->server, log_disk_make_end(&p->log_disk));
    node_turn_schedule(p);
}

/* Takes as long as a log write. If a new segment is filled with zeros, that time comes on top. */
static void process_log_make(void *context, uint64_t segment, bool written)
{
    struct node_process *p = context;
    const struct node_timings *t = &p->options.timings;
    int64_t ns = t->write_min_ns + disk_ns_some(p, t->write_spread_ns);
    log_disk_make_begin(&p->log_disk, segment);
    if (written && p->log_disk.making_from.segment.bytes == NULL)
        ns += disk_ns_some(p, (int64_t)p->log_disk.segment_bytes * ZEROS_NS_PER_BYTE);
    scheduler_in(node_scheduler(p), (struct duration){disk_ns_slowed(p, ns)}, node_segment_made, p,
                 p->process.life);
}

static void node_batch_written(void *context, uint64_t argument)
{
    struct node_process *p = context;
    uint64_t lsn = argument & ((UINT64_C(1) << LSN_BITS) - 1);
    if (!process_reached(&p->process, argument >> LSN_BITS, node_batch_written, p, argument))
        return;
    bool failed = p->fail_write;
    p->fail_write = false;
    if (lsn != p->log_disk.in_flight[0].lsn)
        PROBE("a log write overtook another");
    uint64_t end =
        failed ? log_disk_write_fail(&p->log_disk, lsn) : log_disk_write_end(&p->log_disk, lsn);
    process_note(&p->process, failed ? NODE_PROCESS_TRACE_LOG_FAILED : NODE_PROCESS_TRACE_LOG,
                 (int64_t)end);
    node_server_log_written(p->server, lsn, failed ? EIO : 0);
    node_turn_schedule(p);
}

static void process_log_append(void *context, uint64_t lsn, struct slice bytes)
{
    struct node_process *p = context;
    const struct node_timings *t = &p->options.timings;
    int64_t ns = t->write_min_ns + disk_ns_some(p, t->write_spread_ns);
    if (t->write_tail_per_million > 0 &&
        prng_below(&p->timing_prng, MILLION) < t->write_tail_per_million)
        ns += disk_ns_some(p, t->write_tail_ns);
    ns = disk_ns_slowed(p, ns);
    node_moment_begin(p, NODE_POINT_LOG, ns);
    log_disk_write_begin(&p->log_disk, lsn, bytes);
    if (p->log_disk.in_flight_count > 1)
        PROBE("several log writes at once");
    must(lsn >> LSN_BITS == 0);
    scheduler_in(node_scheduler(p), (struct duration){ns}, node_batch_written, p,
                 (uint64_t)p->process.life << LSN_BITS | lsn);
}

static void process_log_trim(void *context, uint64_t segment)
{
    struct node_process *p = context;
    log_disk_trim(&p->log_disk, segment);
}

/* Runs after all events that came at about the same time. */
static void node_process_turn(void *context, uint64_t life)
{
    struct node_process *p = context;
    if (!process_reached(&p->process, life, node_process_turn, p, life))
        return;
    p->turn_scheduled = false;
    node_server_turn(p->server);
    process_alarm_set(&p->process, node_server_deadline(p->server));
}

/* ---- links ---- */

static void node_redial(struct process *process)
{
    struct node_process *p = (struct node_process *)process;
    bool missing = false;
    for (uint32_t node = 1; node <= p->options.node_count; node++) {
        if (node == process->number || p->peers[node] != 0)
            continue;
        p->peers[node] = network_connect(node_network(p), process->number, node);
        missing |= p->peers[node] == 0;
    }
    if (missing)
        process_redial_in(process,
                          duration_ms(prng_between(&p->timing_prng, REDIAL_MS_MIN, REDIAL_MS_MAX)));
}

static void node_link_closed(void *context, uint64_t link, UNUSED bool gone)
{
    struct node_process *p = context;
    for (uint32_t node = 1; node <= p->options.node_count; node++) {
        if (p->peers[node] != link)
            continue;
        p->peers[node] = 0;
        process_redial_in(&p->process, duration_ms(REDIAL_MS_MIN));
    }
}

/* An answer leaves when its work is done. */
static bool node_link_answer(struct node_process *p, uint64_t link, struct slice frame)
{
    struct reply r;
    enum message_kind kind;
    int64_t ns = 0;
    if (node_has_costs(p) && message_kind_of(frame, &kind) == STATUS_OK && kind == MESSAGE_REPLY) {
        must(reply_decode(frame, &r) == STATUS_OK);
        ns = node_served_read(p).ns + node_late_take(p, link, r.id);
    }
    if (ns == 0)
        return network_send(node_network(p), link, frame);
    const struct instant at = instant_add(node_scheduler(p)->now, (struct duration){ns});
    return network_send_at(node_network(p), link, frame, at);
}

static bool node_link_send(void *context, uint64_t link, struct slice frame)
{
    struct node_process *p = context;
    const struct process_watch *w = &p->process.around->watch;
    struct reply r;
    if (link != OBSERVER && link != VISITOR)
        return node_link_answer(p, link, frame);
    must(reply_decode(frame, &r) == STATUS_OK);
    if (link == VISITOR && w->answered != NULL) {
        w->answered(w->context, p->process.number, &r);
    } else if (link == OBSERVER && r.code == REPLY_OK && r.id == p->last_request &&
               p->answer != NULL) {
        buffer_set(p->answer, reply_bytes(&r));
    }
    return true;
}

static uint64_t node_link_find(void *context, enum peer_kind kind, uint32_t id)
{
    const struct node_process *p = context;
    must(kind == PEER_NODE);
    return p->peers[id];
}

static void node_link_envelope(void *context, uint32_t node, struct slice frame)
{
    struct node_process *p = context;
    network_datagram(node_network(p), p->process.number, node, frame);
}

static void node_link_refuse(void *context, uint64_t link, const char *why)
{
    struct node_process *p = context;
    p->refused = true;
    process_refuse(&p->process, link, why);
    node_link_closed(p, link, false);
}

void node_process_request(struct node_process *p, const struct request *r, struct buffer *answer)
{
    must(p->server != NULL);
    if (p->suspended)
        return;
    p->answer = answer;
    struct request copy = *r;
    copy.id = ++p->last_request;
    node_server_request(p->server, OBSERVER, &copy);
    node_turn_schedule(p);
}

static struct link_peer node_peer_of(const struct node_process *p, uint32_t process)
{
    const uint32_t nodes = p->options.node_count;
    return process <= nodes ? (struct link_peer){.kind = PEER_NODE, .id = process}
                            : (struct link_peer){.kind = PEER_ROUTER, .id = process - nodes};
}

/* The frame has been taken. If it was a request without an answer so far, the answer will wait. */
static void node_frame_worked(struct node_process *p, uint64_t link, struct slice frame)
{
    struct request r;
    enum message_kind kind;
    struct node_done done = node_served_read(p);
    if (done.ns == 0 || message_kind_of(frame, &kind) != STATUS_OK || kind != MESSAGE_REQUEST ||
        request_decode(frame, &r) != STATUS_OK)
        return;
    if (request_admit_kind(&r) == ADMIT_WRITE)
        done.ns = node_write_ns(p, r.partition, &done);
    node_late_add(p, link, r.id, done.ns);
}

static void node_frame_take(struct node_process *p, const struct link_peer *from,
                            struct slice frame)
{
    const struct process_watch *w = &p->process.around->watch;
    if (w->received != NULL)
        w->received(w->context, p->process.number, frame);
    node_links_frame(&p->links, p->server, from, frame);
    node_frame_worked(p, from->link, frame);
    node_turn_schedule(p);
}

static void node_link_received(void *context, uint64_t link, struct slice frame)
{
    struct node_process *p = context;
    struct link_peer from = node_peer_of(p, network_peer(node_network(p), link));
    from.link = link;
    node_frame_take(p, &from, frame);
}

static void node_datagram_received(void *context, uint32_t process, struct slice frame)
{
    struct node_process *p = context;
    struct link_peer from = node_peer_of(p, process);
    from.link = p->peers[process];
    node_frame_take(p, &from, frame);
}

bool node_process_receive(struct node_process *p, enum peer_kind kind, uint32_t id,
                          struct slice frame)
{
    struct link_peer from = {VISITOR, kind, id};
    must(p->server != NULL);
    if (kind == PEER_NODE && id <= p->options.node_count && p->peers[id] != 0)
        from.link = p->peers[id];
    p->refused = false;
    node_frame_take(p, &from, frame);
    return !p->refused;
}

/* ---- life ---- */

/* A request waits for the processors, too. Their queue is known. */
static struct waiting node_clock_waited(void *context)
{
    const struct process *process = context;
    const struct node_process *p = (const struct node_process *)(const void *)process;
    struct waiting w = {.all = network_waited(node_network(p), process->number),
                        .ahead = {processor_wait_ns(&p->processor, node_scheduler(p)->now)}};
    w.all.ns += w.ahead.ns;
    return w;
}

static struct clock_port node_clock(struct node_process *p)
{
    struct clock_port clock = process_clock(&p->process);
    clock.waited = node_clock_waited;
    return clock;
}

static enum status node_process_open(struct node_process *p, struct buffer *error)
{
    struct node_server_options options = {.node = {.config = p->options.config,
                                                   .id = p->process.number,
                                                   .node_count = p->options.node_count,
                                                   .seed = prng_next(&p->life_prng)},
                                          .place = "the simulated disk",
                                          .clock = node_clock(p),
                                          .log = {.context = p,
                                                  .range = process_log_range,
                                                  .read = process_log_read,
                                                  .prepare = process_log_prepare,
                                                  .zero = process_log_zero,
                                                  .has = process_log_has,
                                                  .make = process_log_make,
                                                  .append = process_log_append,
                                                  .trim = process_log_trim},
                                          .work = {.context = p, .submit = node_work_submit},
                                          .messages = node_links_messages(&p->links),
                                          .stepped = node_trace_read,
                                          .stepped_context = p};
    struct store *store = store_create(
        store_disk_open(&p->store_disk),
        (uint64_t)config_storage(p->options.config)->resident_max_bytes, options.node.seed);
    log_disk_open(&p->log_disk);
    return node_server_open(&options, store, error, &p->server);
}

enum status node_process_start(struct node_process *p, struct buffer *error)
{
    must(p->server == NULL);
    enum status status = node_process_open(p, error);
    if (status != STATUS_OK)
        return status;
    p->since = node_scheduler(p)->now;
    p->turn_scheduled = p->fail_write = p->checkpoint_running = false;
    p->traced = 0;
    p->served = (struct served_totals){0};
    for (size_t i = 0; i < p->work_count; i++)
        p->works[i].used = false;
    process_begin(&p->process, NODE_PROCESS_TRACE_STARTED,
                  (int64_t)node_server_replayed(p->server));
    node_server_start(p->server);
    node_redial(&p->process);
    node_turn_schedule(p);
    node_moment_begin(p, NODE_POINT_STARTED, 50 * NS_PER_MS);
    return STATUS_OK;
}

uint64_t node_process_hash(const struct node_process *p)
{
    return p->server == NULL ? p->hash
                             : p->hash * 31 + node_trace(node_server_node(p->server))->hash;
}

void node_process_crash(struct node_process *p, bool power)
{
    must(p->server != NULL);
    if (p->checkpoint_running)
        PROBE("crash during a checkpoint");
    if (p->log_disk.in_flight_count > 0)
        PROBE("crash during a log write");
    if (p->log_disk.in_flight_count > 1)
        PROBE("crash during several log writes");
    p->since = node_scheduler(p)->now;
    log_disk_crash(&p->log_disk, power);
    p->hash = node_process_hash(p);
    node_server_destroy(p->server);
    p->server = NULL;
    p->suspended = p->clock_stops = false;
    p->processor.busy_until_ns = 0;
    id_map_deinit(&p->late);
    memset(p->peers, 0, (p->options.node_count + 1) * sizeof p->peers[0]);
    process_end(&p->process, NODE_PROCESS_TRACE_CRASHED, power);
    if (power) /* after a boot the monotonic clock starts at another reading */
        p->process.clock =
            (struct sim_clock){.base = node_scheduler(p)->now,
                               .read = {prng_between(&p->life_prng, 1, 1000 * NS_PER_S)},
                               .drift_ppm = p->process.clock.drift_ppm};
}

void node_process_wipe(struct node_process *p)
{
    must(p->server == NULL);
    process_note(&p->process, NODE_PROCESS_TRACE_WIPED, 0);
    log_disk_wipe(&p->log_disk);
    store_disk_wipe(&p->store_disk);
}

static void node_resumed(struct process *process)
{
    struct node_process *p = (struct node_process *)process; /* its first member */
    p->since = node_scheduler(p)->now;
    if (p->clock_stops)
        p->process.clock =
            (struct sim_clock){node_scheduler(p)->now, p->stopped_at, p->process.clock.drift_ppm};
    bool links_first = p->suspended && prng_below(&p->timing_prng, 2) == 0;
    p->clock_stops = p->suspended = false;
    if (links_first)
        network_resume_links_first(node_network(p), p->process.number);
    else
        network_pause(node_network(p), p->process.number, false);
}

void node_process_suspend(struct node_process *p, struct instant until, bool clock_stops)
{
    if (!process_pause(&p->process, until))
        return;
    p->suspended = true;
    p->clock_stops = clock_stops;
    p->stopped_at = process_now(&p->process);
}

void node_process_set_config(struct node_process *p, const struct config *config)
{
    must(p->server == NULL);
    p->options.config = config;
}

bool node_process_is_up(const struct node_process *p)
{
    return p->server != NULL;
}

struct node *node_process_node(struct node_process *p)
{
    return p->server == NULL ? NULL : node_server_node(p->server);
}

struct node_process *node_process_create(const struct node_process_options *options)
{
    static const struct network_handler handler = {process_link_accept, node_link_received,
                                                   node_link_closed, node_datagram_received};
    struct node_process *p = must_calloc(1, sizeof *p);
    p->options = *options;
    p->slow_times = 1;
    p->processor = processor_make(options->timings.cores > 0 ? options->timings.cores : 1);
    p->timing_prng = prng_seeded(options->seed);
    p->life_prng = prng_seeded(options->seed + 1);
    log_disk_init(&p->log_disk, (uint64_t)config_storage(options->config)->log_segment_bytes,
                  options->seed + 2);
    p->store_disk.map_initial_bytes = (uint64_t)config_storage(options->config)->map_initial_bytes;
    p->store_disk.map_max_bytes = (uint64_t)config_storage(options->config)->map_max_bytes;
    process_init(&p->process, options->around, options->id, &p->life_prng, &handler, p);
    p->process.resumed = node_resumed;
    p->process.woken = node_woken;
    p->process.redial = node_redial;
    p->process.wall_skew_ms = sim_wall_skew_ms(options->seed + 3);
    p->peers = must_calloc(options->node_count + 1, sizeof p->peers[0]);
    p->links.links = (struct link_port){.context = p,
                                        .send = node_link_send,
                                        .find = node_link_find,
                                        .envelope = node_link_envelope,
                                        .refuse = node_link_refuse};
    return p;
}

void node_process_destroy(struct node_process *p)
{
    node_server_destroy(p->server);
    node_links_deinit(&p->links);
    id_map_deinit(&p->late);
    free(p->works);
    log_disk_deinit(&p->log_disk);
    store_disk_wipe(&p->store_disk);
    free(p->peers);
    free(p);
}
