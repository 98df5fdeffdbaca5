#include "sim/node_process.h"

#include <errno.h>
#include <stdlib.h>

#include "base/must.h"
#include "base/probe.h"
#include "control/controller.h"
#include "sim/node_recovery.h"

enum {
    SEGMENTS_AHEAD = 2,
    RETRY_SPACE_MS = 500,
    REDIAL_MS_MIN = 20,
    REDIAL_MS_MAX = 500,
    MILLION = 1000000,
    LENGTH_SIZE = 4,
    LSN_BITS = 48,
    ASKER = 1, /* in the `from` of node_process_ask: no link has this handle */
};

/* However slow a disk is. */
static const int64_t disk_ns_max = 2 * NS_PER_S;

struct node_process {
    struct node_process_options options;
    struct sim_clock clock;
    struct disk disk;
    struct memory_medium medium;
    struct node *node;             /* owns; NULL: down */
    struct controller *controller; /* owns; as long as the node */
    struct prng timing_prng;
    struct prng life_prng;
    uint32_t life; /* events of earlier lives find nobody */
    uint64_t hash;
    uint64_t traced; /* events of the node's trace that were looked at */
    bool turn_scheduled;
    int64_t wake_at_ns;
    bool paused;
    struct instant paused_until;
    bool suspended;   /* not just paused: nobody reads its clock */
    bool clock_stops; /* until it goes on: it then reads what it read */
    struct instant stopped_at;
    int64_t slow_times;
    bool fail_write;
    bool checkpoint_running;
    enum status checkpoint_status;
    uint64_t space_segment; /* the last one prepared */
    bool space_short;
    struct instant space_retry_at;
    struct instant since; /* node_process_since */
    uint64_t *peers;      /* owns; links this node has dialled, by node; 0: down */
    bool redial_scheduled;
    enum node_point armed;
    scheduler_run *ambush;
    void *ambush_context;  /* borrows */
    struct buffer *answer; /* borrows; for node_process_ask */
    struct buffer scratch;
};

/* ---- time ---- */

static struct instant local_now(const struct node_process *p)
{
    return sim_clock_read(&p->clock, p->options.scheduler->now);
}

static void note(struct node_process *p, enum node_process_trace kind, int64_t value)
{
    trace_add(p->options.trace, p->options.scheduler->now, kind, p->options.id, value);
}

static int64_t slowed(const struct node_process *p, int64_t ns)
{
    int64_t slow = ns * p->slow_times;
    return slow < disk_ns_max ? slow : ns < disk_ns_max ? disk_ns_max : ns;
}

static int64_t some(struct node_process *p, int64_t spread_ns)
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

/* The moment is here, and lasts so long. */
static void moment(struct node_process *p, enum node_point point, int64_t ns)
{
    if (p->armed != point)
        return;
    p->armed = NODE_POINT_NONE;
    scheduler_in(p->options.scheduler, (struct duration){some(p, ns + 1)}, p->ambush,
                 p->ambush_context, p->options.id);
}

/* False: the event is for an earlier life, or is put off to the end of a pause. */
static bool reached_with(struct node_process *p, scheduler_run *run, uint64_t life,
                         uint64_t argument)
{
    if (p->node == NULL || life != p->life)
        return false;
    if (p->paused) {
        scheduler_at(p->options.scheduler, p->paused_until, run, p, argument);
        return false;
    }
    return true;
}

static bool reached(struct node_process *p, scheduler_run *run, uint64_t life)
{
    return reached_with(p, run, life, life);
}

static void turn(void *context, uint64_t life);

static void want_turn(struct node_process *p)
{
    if (p->turn_scheduled)
        return;
    p->turn_scheduled = true;
    scheduler_in(p->options.scheduler, (struct duration){p->options.timings.turn_ns}, turn, p,
                 p->life);
}

static void wake(void *context, uint64_t life)
{
    struct node_process *p = context;
    if (!reached(p, wake, life) || p->options.scheduler->now.ns < p->wake_at_ns)
        return;
    p->wake_at_ns = INT64_MAX;
    want_turn(p);
}

static void arm(struct node_process *p)
{
    enum {
        LEAST_NS = 1000 /* a machine that wants to run at once is not run without end */
    };
    struct instant t = instant_earlier(
        node_deadline(p->node), controller_deadline(p->controller, node_control_term(p->node),
                                                    node_control_urgent(p->node)));
    if (p->space_short)
        t = instant_earlier(t, p->space_retry_at);
    int64_t at = sim_clock_when(&p->clock, t).ns;
    if (at < p->options.scheduler->now.ns + LEAST_NS)
        at = p->options.scheduler->now.ns + LEAST_NS;
    if (at >= p->wake_at_ns)
        return;
    p->wake_at_ns = at;
    scheduler_at(p->options.scheduler, (struct instant){at}, wake, p, p->life);
}

/* ---- effects ---- */

static void take_effects(struct node_process *p);

static void checkpoint_done(void *context, uint64_t life)
{
    struct node_process *p = context;
    if (!reached(p, checkpoint_done, life))
        return;
    p->checkpoint_running = false;
    note(p, NODE_PROCESS_TRACE_CHECKPOINT, p->checkpoint_status);
    node_checkpoint_done(p->node, local_now(p), p->checkpoint_status);
    take_effects(p);
    want_turn(p);
}

/* A pause stops the flush thread too. From here on the checkpoint is durable. */
static void checkpoint_commit(void *context, uint64_t life)
{
    struct node_process *p = context;
    if (!reached(p, checkpoint_commit, life))
        return;
    p->checkpoint_status = store_checkpoint_write(node_store(p->node));
    int64_t ns = some(p, p->options.timings.checkpoint_spread_ns / 4);
    moment(p, NODE_POINT_COMMITTED, ns);
    scheduler_in(p->options.scheduler, (struct duration){ns}, checkpoint_done, p, p->life);
}

static void start_checkpoint(struct node_process *p)
{
    int64_t ns = slowed(p, some(p, p->options.timings.checkpoint_spread_ns));
    p->checkpoint_running = true;
    moment(p, NODE_POINT_CHECKPOINT, ns);
    scheduler_in(p->options.scheduler, (struct duration){ns}, checkpoint_commit, p, p->life);
}

/* Which ticket of which life: tickets are below 2^32. */
static void touched(void *context, uint64_t argument)
{
    struct node_process *p = context;
    if (p->node == NULL || argument >> 32 != p->life)
        return;
    if (p->paused) {
        scheduler_at(p->options.scheduler, p->paused_until, touched, p, argument);
        return;
    }
    node_touched(p->node, local_now(p), (uint32_t)argument);
    take_effects(p);
    want_turn(p);
}

static void start_touch(struct node_process *p, const struct node_effect *e)
{
    int64_t ns = slowed(p, some(p, p->options.timings.read_spread_ns));
    store_touch(node_store(p->node), e->touch.key, e->touch.reverse, e->touch.bytes);
    scheduler_in(p->options.scheduler, (struct duration){ns}, touched, p,
                 (uint64_t)p->life << 32 | e->touch.ticket);
}

static struct slice frame_of(const struct buffer *b)
{
    return slice_make(b->data + LENGTH_SIZE, b->size - LENGTH_SIZE);
}

static void take_answer(struct node_process *p, const struct reply *r)
{
    if (r->code != REPLY_OK)
        return;
    buffer_clear(p->answer);
    buffer_append_slice(p->answer, r->body);
}

static void send_request(struct node_process *p, uint32_t node, const struct request *r)
{
    buffer_clear(&p->scratch);
    request_encode(&p->scratch, r);
    network_send(p->options.network, p->peers[node], frame_of(&p->scratch));
}

static void take_effect(struct node_process *p, const struct node_effect *e)
{
    switch (e->kind) {
    case NODE_REPLY:
        if (e->to == ASKER) {
            take_answer(p, &e->reply);
            break;
        }
        if (e->to == CONTROL_FROM) {
            controller_reply(p->controller, &e->reply);
            break;
        }
        buffer_clear(&p->scratch);
        reply_encode(&p->scratch, &e->reply);
        network_send(p->options.network, e->to, frame_of(&p->scratch));
        break;
    case NODE_REQUEST:
        send_request(p, (uint32_t)e->to, &e->request);
        break;
    case NODE_SEND:
        network_datagram(p->options.network, p->options.id, (uint32_t)e->to, e->frame);
        break;
    case NODE_CHECKPOINT:
        start_checkpoint(p);
        break;
    case NODE_TOUCH:
        start_touch(p, e);
        break;
    case NODE_TRIM_LOG:
        disk_trim(&p->disk, e->lsn / p->disk.segment_bytes);
        break;
    }
}

static void look_at_trace(struct node_process *p)
{
    const struct trace *t = node_trace(p->node);
    for (; p->traced < t->count; p->traced++) {
        const struct trace_event *e = trace_last(t, t->count - 1 - p->traced);
        if (e != NULL && p->options.saw != NULL)
            p->options.saw(p->options.context, p->options.id, e);
    }
}

static void take_effects(struct node_process *p)
{
    const struct node_effect *e;
    while ((e = node_next_effect(p->node)) != NULL)
        take_effect(p, e);
    look_at_trace(p);
}

/* ---- the log ---- */

static void prepare_space(struct node_process *p)
{
    uint64_t wanted = node_log_end(p->node) / p->disk.segment_bytes + SEGMENTS_AHEAD;
    if (p->space_segment >= wanted ||
        (p->space_short && instant_before(local_now(p), p->space_retry_at)))
        return;
    p->space_short = false;
    while (p->space_segment < wanted && !p->space_short) {
        if (disk_prepare(&p->disk, p->space_segment + 1) == STATUS_OK) {
            p->space_segment++;
            continue;
        }
        PROBE("the log's disk is full");
        p->space_short = true;
        p->space_retry_at = instant_add(local_now(p), duration_ms(RETRY_SPACE_MS));
    }
    node_log_space(p->node, (p->space_segment + 1) * p->disk.segment_bytes, p->space_short);
}

static void batch_written(void *context, uint64_t argument);

static void write_batch(struct node_process *p, const struct log_batch *batch)
{
    const struct node_timings *t = &p->options.timings;
    int64_t ns = t->write_least_ns + some(p, t->write_spread_ns);
    if (t->write_tail_per_million > 0 &&
        prng_below(&p->timing_prng, MILLION) < t->write_tail_per_million)
        ns += some(p, t->write_tail_ns);
    ns = slowed(p, ns);
    moment(p, NODE_POINT_LOG, ns);
    disk_write_begin(&p->disk, batch->lsn, buffer_slice(&batch->bytes));
    if (p->disk.flying_count > 1)
        PROBE("several log writes at once");
    must(batch->lsn >> LSN_BITS == 0);
    scheduler_in(p->options.scheduler, (struct duration){ns}, batch_written, p,
                 (uint64_t)p->life << LSN_BITS | batch->lsn);
}

static void write_batches(struct node_process *p)
{
    const struct log_batch *batch;
    while ((batch = node_next_batch(p->node)) != NULL)
        write_batch(p, batch);
}

static void batch_written(void *context, uint64_t argument)
{
    struct node_process *p = context;
    uint64_t lsn = argument & ((UINT64_C(1) << LSN_BITS) - 1);
    if (!reached_with(p, batch_written, argument >> LSN_BITS, argument))
        return;
    bool failed = p->fail_write;
    p->fail_write = false;
    if (lsn != p->disk.flying[0].lsn)
        PROBE("a log write overtook another");
    uint64_t end = failed ? disk_write_fail(&p->disk, lsn) : disk_write_end(&p->disk, lsn);
    note(p, failed ? NODE_PROCESS_TRACE_LOG_FAILED : NODE_PROCESS_TRACE_LOG, (int64_t)end);
    node_log_written(p->node, local_now(p), lsn, failed ? EIO : 0);
    take_effects(p);
    want_turn(p);
}

/* The controller looks, and the node does what it decides. */
static void control(struct node_process *p)
{
    if (instant_before(local_now(p), controller_deadline(p->controller, node_control_term(p->node),
                                                         node_control_urgent(p->node))))
        return;
    struct control_view view;
    node_control_view(p->node, &view);
    int64_t wall_ms = SIM_WALL_BASE_MS + p->options.scheduler->now.ns / NS_PER_MS;
    controller_look(p->controller, local_now(p), wall_ms, &view);
    const struct control_request *r;
    while ((r = controller_next_request(p->controller)) != NULL) {
        if (r->node != p->options.id) {
            send_request(p, r->node, &r->request);
            continue;
        }
        node_request(p->node, local_now(p), CONTROL_FROM, &r->request);
        take_effects(p);
    }
}

/* After everything that came at once. */
static void turn(void *context, uint64_t life)
{
    struct node_process *p = context;
    if (!reached(p, turn, life))
        return;
    p->turn_scheduled = false;
    if (!instant_before(local_now(p), node_deadline(p->node))) {
        node_tick(p->node, local_now(p));
        take_effects(p);
    }
    control(p);
    prepare_space(p);
    node_end_turn(p->node, local_now(p));
    take_effects(p);
    write_batches(p);
    arm(p);
}

/* ---- links ---- */

static void redial(void *context, uint64_t life)
{
    struct node_process *p = context;
    if (!reached(p, redial, life))
        return;
    p->redial_scheduled = false;
    bool missing = false;
    for (uint32_t node = 1; node <= p->options.node_count; node++) {
        if (node == p->options.id || p->peers[node] != 0)
            continue;
        p->peers[node] = network_connect(p->options.network, p->options.id, node);
        missing |= p->peers[node] == 0;
    }
    if (!missing)
        return;
    p->redial_scheduled = true;
    scheduler_in(p->options.scheduler,
                 duration_ms(prng_between(&p->timing_prng, REDIAL_MS_MIN, REDIAL_MS_MAX)), redial,
                 p, p->life);
}

static void accepted(void *context, uint64_t link, uint32_t from)
{
    (void)context;
    (void)link;
    (void)from;
}

static void closed(void *context, uint64_t link, bool gone)
{
    struct node_process *p = context;
    (void)gone;
    for (uint32_t node = 1; node <= p->options.node_count; node++) {
        if (p->peers[node] != link)
            continue;
        p->peers[node] = 0;
        if (!p->redial_scheduled) {
            p->redial_scheduled = true;
            scheduler_in(p->options.scheduler, duration_ms(REDIAL_MS_MIN), redial, p, p->life);
        }
    }
}

void node_process_ask(struct node_process *p, const struct request *r, struct buffer *answer)
{
    must(p->node != NULL);
    if (p->suspended)
        return;
    p->answer = answer;
    node_request(p->node, local_now(p), ASKER, r);
    take_effects(p);
    want_turn(p);
}

static void received(void *context, uint64_t link, struct slice frame)
{
    struct node_process *p = context;
    enum message_kind kind;
    struct request request;
    struct reply reply;
    must(message_kind_of(frame, &kind) == STATUS_OK); /* nothing here damages bytes */
    if (kind == MESSAGE_REQUEST) {
        must(request_decode(frame, &request) == STATUS_OK);
        node_request(p->node, local_now(p), link, &request);
    } else {
        must(reply_decode(frame, &reply) == STATUS_OK);
        if (reply.id & CONTROL_ID_BIT)
            controller_reply(p->controller, &reply);
        else
            node_reply(p->node, local_now(p), &reply);
    }
    take_effects(p);
    want_turn(p);
}

static void datagram(void *context, uint32_t from, struct slice frame)
{
    struct node_process *p = context;
    (void)from;
    must(node_receive(p->node, local_now(p), frame) == STATUS_OK);
    take_effects(p);
    want_turn(p);
}

/* ---- life ---- */

enum status node_process_start(struct node_process *p, struct buffer *error)
{
    must(p->node == NULL);
    struct node_options options = {.config = p->options.config,
                                   .id = p->options.id,
                                   .node_count = p->options.node_count,
                                   .seed = prng_next(&p->life_prng)};
    struct store *store = store_create(backing_open_memory(&p->medium),
                                       (uint64_t)p->options.config->resident_max_bytes);
    enum status status = node_create(&options, store, error, &p->node);
    if (status != STATUS_OK) {
        p->node = NULL;
        return status;
    }
    struct node_recovery recovery;
    status = node_recover(p->node, &p->disk, error, &recovery);
    p->space_segment = recovery.next_lsn / p->disk.segment_bytes;
    if (status == STATUS_OK)
        status = disk_prepare(&p->disk, p->space_segment);
    if (status != STATUS_OK) {
        node_destroy(p->node);
        p->node = NULL;
        return status;
    }
    if (recovery.torn)
        PROBE("a torn tail was cut off");
    p->life++;
    p->since = p->options.scheduler->now;
    p->controller = controller_create(p->options.config);
    p->turn_scheduled = p->paused = p->fail_write = p->checkpoint_running = false;
    p->space_short = p->redial_scheduled = false;
    p->wake_at_ns = INT64_MAX;
    p->traced = 0;
    note(p, NODE_PROCESS_TRACE_STARTED, (int64_t)recovery.records);
    network_start(p->options.network, p->options.id);
    node_start(p->node, local_now(p), p->disk.segment_bytes, recovery.next_lsn);
    prepare_space(p);
    take_effects(p);
    redial(p, p->life);
    want_turn(p);
    moment(p, NODE_POINT_STARTED, 50 * NS_PER_MS);
    return STATUS_OK;
}

static uint64_t hash_now(const struct node_process *p)
{
    return p->node == NULL ? p->hash : p->hash * 31 + node_trace(p->node)->hash;
}

void node_process_crash(struct node_process *p, bool power)
{
    must(p->node != NULL);
    if (p->checkpoint_running)
        PROBE("crash during a checkpoint");
    if (p->disk.flying_count > 0)
        PROBE("crash during a log write");
    if (p->disk.flying_count > 1)
        PROBE("crash during several log writes");
    note(p, NODE_PROCESS_TRACE_CRASHED, power);
    p->since = p->options.scheduler->now;
    disk_crash(&p->disk, power);
    p->hash = hash_now(p);
    node_destroy(p->node);
    p->node = NULL;
    controller_destroy(p->controller);
    p->controller = NULL;
    p->paused = p->suspended = p->clock_stops = false;
    memset(p->peers, 0, (p->options.node_count + 1) * sizeof p->peers[0]);
    network_kill(p->options.network, p->options.id);
    if (power) /* another boot, another start of the monotonic clock */
        p->clock = (struct sim_clock){.base = p->options.scheduler->now,
                                      .read = {prng_between(&p->life_prng, 1, 1000 * NS_PER_S)},
                                      .drift_ppm = p->clock.drift_ppm};
}

void node_process_wipe(struct node_process *p)
{
    must(p->node == NULL);
    note(p, NODE_PROCESS_TRACE_WIPED, 0);
    disk_wipe(&p->disk);
    memory_medium_wipe(&p->medium);
}

static void resume(void *context, uint64_t life)
{
    struct node_process *p = context;
    if (p->node == NULL || life != p->life || !p->paused)
        return;
    p->paused = false;
    p->since = p->options.scheduler->now;
    if (p->clock_stops)
        p->clock = (struct sim_clock){p->options.scheduler->now, p->stopped_at, p->clock.drift_ppm};
    bool links_first = p->suspended && prng_below(&p->timing_prng, 2) == 0;
    p->clock_stops = p->suspended = false;
    if (links_first)
        network_resume_links_first(p->options.network, p->options.id);
    else
        network_pause(p->options.network, p->options.id, false);
}

void node_process_pause(struct node_process *p, struct instant until)
{
    must(p->node != NULL);
    if (p->paused)
        return;
    p->paused = true;
    p->paused_until = until;
    network_pause(p->options.network, p->options.id, true);
    scheduler_at(p->options.scheduler, until, resume, p, p->life);
}

void node_process_suspend(struct node_process *p, struct instant until, bool clock_stops)
{
    if (p->paused)
        return;
    node_process_pause(p, until);
    p->suspended = true;
    p->clock_stops = clock_stops;
    p->stopped_at = local_now(p);
}

struct instant node_process_since(const struct node_process *p)
{
    return p->since;
}

const struct config *node_process_config(const struct node_process *p)
{
    return p->options.config;
}

void node_process_set_config(struct node_process *p, const struct config *config)
{
    must(p->node == NULL);
    p->options.config = config;
}

void node_process_fail_write(struct node_process *p)
{
    p->fail_write = true;
}

void node_process_mend_disk(struct node_process *p)
{
    p->fail_write = p->medium.fails = false;
}

void node_process_slow_disk(struct node_process *p, int64_t times)
{
    must(times >= 1);
    p->slow_times = times;
}

bool node_process_is_up(const struct node_process *p)
{
    return p->node != NULL;
}

struct node *node_process_node(struct node_process *p)
{
    return p->node;
}

struct instant node_process_now(const struct node_process *p)
{
    return local_now(p);
}

struct disk *node_process_disk(struct node_process *p)
{
    return &p->disk;
}

struct memory_medium *node_process_medium(struct node_process *p)
{
    return &p->medium;
}

struct sim_clock *node_process_clock(struct node_process *p)
{
    return &p->clock;
}

uint64_t node_process_hash(const struct node_process *p)
{
    return hash_now(p);
}

uint32_t node_process_lives(const struct node_process *p)
{
    return p->life;
}

struct node_process *node_process_create(const struct node_process_options *options)
{
    static const struct network_handler handler = {accepted, received, closed, datagram};
    struct node_process *p = calloc(1, sizeof *p);
    must(p != NULL);
    p->options = *options;
    p->slow_times = 1;
    p->timing_prng = prng_seeded(options->seed);
    p->life_prng = prng_seeded(options->seed + 1);
    disk_init(&p->disk, (uint64_t)options->config->log_segment_bytes, options->seed + 2);
    memory_medium_init(&p->medium, (uint64_t)options->config->map_initial_bytes,
                       (uint64_t)options->config->map_max_bytes);
    p->clock = (struct sim_clock){.base = options->scheduler->now,
                                  .read = {prng_between(&p->life_prng, 1, 1000 * NS_PER_S)}};
    p->peers = calloc(options->node_count + 1, sizeof p->peers[0]);
    must(p->peers != NULL);
    network_attach(options->network, options->id, &handler, p);
    return p;
}

void node_process_destroy(struct node_process *p)
{
    if (p->node != NULL)
        node_destroy(p->node);
    controller_destroy(p->controller);
    disk_deinit(&p->disk);
    memory_medium_deinit(&p->medium);
    buffer_deinit(&p->scratch);
    free(p->peers);
    free(p);
}
