/* real.c - runs a scenario's clients on a loop, against a cluster of processes. */
#include "lab/fidelity/real/real.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "host/connection.h"
#include "host/loop.h"
#include "lab/clients/clients.h"
#include "lab/clients/known_costs.h"
#include "lab/clients/preload.h"
#include "lab/clients/tables.h"
#include "lab/fidelity/real/cluster.h"
#include "lab/scenario/fault_schedule.h"
#include "workload/client_exchange.h"

enum {
    TURN_US = 200, /* the longest time between two looks at what is due */
    SETUP_S = 60,
    TABLES_MAX = 200,
    PROCESSES_MAX = 64,
    CONNECTIONS_MAX = 128, /* of a workload to a router */
    PPM = 1000000
};

struct real {
    const struct scenario *scenario; /* borrows */
    struct measure *measure;         /* borrows */
    struct loop *loop;               /* owns */
    struct lab_cluster cluster;
    struct clients *clients; /* owns */
    struct scheduler scheduler;
    int64_t begin_ns;
    int64_t checked_ns; /* when the processes were looked at last */
    bool stopped;
    struct buffer error; /* of a fault that could not be made */
    struct scaling scaling;
    struct fault_schedule faults;
};

/* ---- the clients' connections ---- */

/* What is due until now happens. Nothing happens after the end of the run. */
static void real_advance(struct real *r)
{
    const struct instant end = {r->begin_ns + r->scenario->duration_ns};
    while (scheduler_step(&r->scheduler, instant_earlier(loop_now(r->loop), end)))
        continue;
}

static void real_opened(void *context, struct connection *c)
{
    (void)context;
    (void)c;
}

static void real_received(void *context, struct connection *c, struct slice bytes)
{
    struct real *r = context;
    real_advance(r);
    clients_received(r->clients, connection_id(c), bytes);
}

static void real_closed(void *context, struct connection *c, int error)
{
    struct real *r = context;
    (void)error;
    real_advance(r);
    clients_closed(r->clients, connection_id(c));
}

static uint64_t real_connect(void *context, uint32_t router)
{
    static const struct connection_handler handler = {
        .opened = real_opened, .received = real_received, .closed = real_closed};
    struct real *r = context;
    const struct lab_daemon *d = lab_cluster_daemon(&r->cluster, LAB_ROUTER, router + 1);
    struct connection *c;
    if (loop_connect(r->loop, "127.0.0.1", d->port, &handler, r, &c) != STATUS_OK)
        return 0;
    return connection_id(c);
}

static bool real_send(void *context, uint64_t connection, struct slice bytes)
{
    struct real *r = context;
    struct connection *c = loop_connection(r->loop, connection);
    if (c == NULL)
        return false;
    connection_send(c, bytes);
    return true;
}

static void real_close(void *context, uint64_t connection)
{
    struct real *r = context;
    struct connection *c = loop_connection(r->loop, connection);
    if (c != NULL)
        connection_abort(c);
}

/* ---- tables ---- */

static bool table_call(const struct real *r, uint32_t router, const char *operation,
                       struct slice body, int *status, struct buffer *answer)
{
    struct client_url url = {.host = "127.0.0.1"};
    struct buffer unused = {0};
    url.port = lab_cluster_daemon(&r->cluster, LAB_ROUTER, router + 1)->port;
    buffer_clear(answer);
    bool good = client_call(&url, operation, body, status, answer, &unused) == STATUS_OK;
    buffer_deinit(&unused);
    return good;
}

static bool poll_pause(struct real *r)
{
    loop_turn(r->loop, instant_add(loop_now(r->loop), duration_ms(20)));
    return !r->stopped;
}

/* Until the router says that the table is there. */
static bool table_wait(struct real *r, uint32_t router, struct slice name, int64_t until_ns)
{
    struct buffer answer = {0};
    bool active = false;
    int status = 0;
    do {
        active = table_call(r, router, "DescribeTable", name, &status, &answer) && status == 200 &&
                 tables_is_active(buffer_slice(&answer));
    } while (!active && poll_pause(r) && loop_now(r->loop).ns < until_ns);
    buffer_deinit(&answer);
    return active;
}

static bool table_create(struct real *r, uint32_t place, uint32_t copy, struct buffer *error)
{
    struct buffer create = {0}, name = {0}, answer = {0};
    const int64_t until_ns = loop_now(r->loop).ns + SETUP_S * NS_PER_S;
    bool created = false, refused = false;
    int status = 0;
    tables_write_create(&create, r->scenario, place, copy);
    tables_write_name(&name, r->scenario, place, copy);
    while (!created && !refused && loop_now(r->loop).ns < until_ns && poll_pause(r)) {
        bool replied = table_call(r, 0, "CreateTable", buffer_slice(&create), &status, &answer);
        bool exists = memmem(answer.data, answer.size, "ResourceInUse", 13) != NULL;
        created = replied && (status == 200 || exists);
        refused = replied && status == 400 && !exists;
    }
    for (uint32_t i = 0; i < r->scenario->cluster.routers && created; i++)
        created = table_wait(r, i, buffer_slice(&name), until_ns);
    if (!created)
        buffer_append_format(error, "the cluster refuses table %s: %d %.*s",
                             r->scenario->tables[place].name, status, (int)answer.size,
                             (const char *)answer.data);
    buffer_deinit(&create);
    buffer_deinit(&name);
    buffer_deinit(&answer);
    return created;
}

static bool table_put(struct real *r, uint32_t place, uint32_t copy, int64_t number,
                      struct buffer *error)
{
    struct buffer put = {0}, answer = {0};
    const int64_t until_ns = loop_now(r->loop).ns + SETUP_S * NS_PER_S;
    bool again = true;
    int status = 0;
    preload_write_put(&put, r->scenario, place, copy, number);
    while (again) {
        if (!table_call(r, 0, "PutItem", buffer_slice(&put), &status, &answer))
            status = 0;
        again = preload_may_try_again(status, buffer_slice(&answer)) && poll_pause(r) &&
                loop_now(r->loop).ns < until_ns;
    }
    if (status != 200)
        buffer_append_format(error, "the cluster refuses an item of table %s: %d %.*s",
                             r->scenario->tables[place].name, status, (int)answer.size,
                             (const char *)answer.data);
    buffer_deinit(&put);
    buffer_deinit(&answer);
    return status == 200;
}

static bool table_fill(struct real *r, uint32_t place, uint32_t copy, struct buffer *error)
{
    const struct preload preload = preload_of(&r->scenario->tables[place]);
    struct instant due = loop_now(r->loop);
    for (int64_t number = 0; number < preload.items; number++) {
        if (!table_put(r, place, copy, number, error))
            return false;
        due = instant_add(due, (struct duration){preload.pause_ns});
        loop_read_clock(r->loop);
        while (!r->stopped && instant_before(loop_now(r->loop), due))
            loop_turn(r->loop, due);
        if (r->stopped) {
            buffer_append_text(error, "stopped");
            return false;
        }
    }
    return true;
}

typedef bool table_step(struct real *r, uint32_t place, uint32_t copy, struct buffer *error);

static bool each_table(struct real *r, table_step *step, struct buffer *error)
{
    for (uint32_t place = 0; place < r->scenario->table_count; place++) {
        for (uint32_t copy = 0; copy < r->scenario->tables[place].copies; copy++) {
            if (!step(r, place, copy, error))
                return false;
        }
    }
    return true;
}

/* ---- faults ---- */

static void fault_daemon(struct real *r, enum lab_daemon_kind kind, uint32_t which, bool on)
{
    struct lab_daemon *d = lab_cluster_daemon(&r->cluster, kind, which);
    if (on)
        lab_daemon_kill(d);
    else
        lab_daemon_start(&r->cluster, d, &r->error);
}

static void fault_command(struct real *r, const struct lab_daemon *d, const char *command)
{
    if (!lab_daemon_fault(d, command) && r->error.size == 0)
        buffer_append_format(&r->error, "a process did not take the fault `%s`", command);
}

static void fault_clock(struct real *r, const struct scenario_fault *f, uint32_t which, bool on)
{
    const struct lab_daemon *d = lab_cluster_daemon(&r->cluster, LAB_ROUTER, which);
    char command[64];
    if (on) {
        snprintf(command, sizeof command, "skew %lld", (long long)(f->offset_ns / NS_PER_MS));
        fault_command(r, d, command);
    }
    snprintf(command, sizeof command, "drift %lld", on ? (long long)(f->drift * PPM) : 0LL);
    fault_command(r, d, command);
}

static void fault_cut(struct real *r, uint32_t which, bool on)
{
    const struct lab_daemon *d = lab_cluster_daemon(&r->cluster, LAB_GAC, which);
    if (!on)
        fault_command(r, d, "heal");
    for (uint32_t i = 1; on && i <= r->scenario->cluster.routers; i++) {
        char command[64];
        snprintf(command, sizeof command, "cut router %u both", i);
        fault_command(r, d, command);
    }
}

static void fault_process(void *context, const struct scenario_fault *f, uint32_t which, bool on)
{
    struct real *r = context;
    switch (f->kind) {
    case FAULT_NODE_DOWN:
        fault_daemon(r, LAB_NODE, which, on);
        break;
    case FAULT_ROUTER_DOWN:
        fault_daemon(r, LAB_ROUTER, which, on);
        break;
    case FAULT_GAC_DOWN:
        fault_daemon(r, LAB_GAC, which, on);
        break;
    case FAULT_ROUTER_CLOCK:
        fault_clock(r, f, which, on);
        break;
    default:
        fault_cut(r, which, on);
        break;
    }
}

static void table_update(void *context, const struct scaling_update *u)
{
    struct real *r = context;
    struct buffer body = {0}, answer = {0};
    int status = 0;
    tables_write_update(&body, r->scenario, u);
    bool done =
        table_call(r, 0, "UpdateTable", buffer_slice(&body), &status, &answer) && status == 200;
    scaling_updated(&r->scaling, u, done);
    if (done)
        clients_set_limit(r->clients, u);
    buffer_deinit(&body);
    buffer_deinit(&answer);
}

static void table_consumed(void *context, const struct scaling_update *table,
                           int64_t mcu[ADMIT_KINDS])
{
    const struct real *r = context;
    clients_consumed(r->clients, table->place, table->copy, mcu);
}

static void fault_table(void *context, const struct scenario_fault *f,
                        const struct scaling_update *u)
{
    must(f->kind == FAULT_UPDATE); /* by real_can */
    table_update(context, u);
}

static bool real_has_faults(struct reading *r, const struct scenario *s)
{
    for (uint32_t i = 0; i < s->fault_count; i++) {
        const enum scenario_fault_kind kind = (enum scenario_fault_kind)s->faults[i].kind;
        if (kind == FAULT_NODE_SLOW || kind == FAULT_NODE_BUSY || kind == FAULT_SPLIT)
            return reading_fail(r, document_nearest(r->document, "faults.%u.kind", i + 1),
                                "the fidelity real cannot run the fault %s",
                                scenario_fault_name(kind));
    }
    return true;
}

static bool real_has_tables(struct reading *r, const struct scenario *s)
{
    int64_t tables = 0;
    for (uint32_t i = 0; i < s->table_count; i++) {
        tables += s->tables[i].copies;
        if (s->tables[i].indexes.count > 0)
            return reading_fail(r, document_nearest(r->document, "tables.%u.indexes", i + 1),
                                "the fidelity real does not report the lag of global indexes: "
                                "`indexes` of table %s must be empty. The fidelity full does",
                                s->tables[i].name);
        if (s->tables[i].expire_at_ns > 0)
            return reading_fail(r, document_nearest(r->document, "tables.%u.expire_at", i + 1),
                                "the fidelity real has no time to live, but table %s has "
                                "`expire_at`. The fidelity full has it",
                                s->tables[i].name);
    }
    return tables <= TABLES_MAX ||
           reading_fail(r, document_nearest(r->document, "tables"),
                        "the fidelity real has at most %d tables", TABLES_MAX);
}

static bool real_can_run(struct reading *r, const struct scenario *s)
{
    const int64_t processes = s->cluster.nodes + s->cluster.routers + s->cluster.gac;
    if (s->limit_count > 0)
        return reading_fail(r, document_nearest(r->document, "limits"),
                            "the fidelity real does not read buckets of the rate limiter: "
                            "`limits` must be empty. The fidelity full does");
    if (s->cluster.memory_items > 0)
        return reading_fail(r, document_nearest(r->document, "cluster.memory_items"),
                            "the fidelity real has this machine's memory: memory_items must be 0. "
                            "The fidelity admission knows it");
    if (processes > PROCESSES_MAX)
        return reading_fail(r, document_nearest(r->document, "cluster.nodes"),
                            "the fidelity real has at most %d nodes, routers and servers of "
                            "global admission control together, not %lld",
                            PROCESSES_MAX, (long long)processes);
    return real_has_faults(r, s) && real_has_tables(r, s) && preload_check(r, s, "real") &&
           known_costs_check(r, s, "real");
}

/* ---- life ---- */

static void real_stop(void *context)
{
    struct real *r = context;
    r->stopped = true;
}

static bool real_is_stopped(void *context)
{
    struct real *r = context;
    loop_turn(r->loop, loop_now(r->loop));
    return r->stopped;
}

static void real_window(void *context, uint64_t argument)
{
    struct real *r = context;
    (void)argument;
    measure_advance(r->measure, clients_now_ns(r->clients));
    scheduler_in(&r->scheduler, (struct duration){r->scenario->window_ns}, real_window, r, 0);
}

static void real_begin(struct real *r, uint64_t seed)
{
    const struct clients_options clients = {
        .scenario = r->scenario,
        .seed = seed,
        .measure = r->measure,
        .scheduler = &r->scheduler,
        .port = {r, real_connect, real_send, real_close},
        .connections_max = CONNECTIONS_MAX,
    };
    const struct scaling_port scaling = {r, table_consumed, table_update};
    const struct fault_port faults = {r, fault_process, fault_table};
    loop_read_clock(r->loop);
    r->scheduler.now = loop_now(r->loop);
    r->begin_ns = r->checked_ns = r->scheduler.now.ns;
    r->clients = clients_create(&clients);
    clients_begin(r->clients);
    scaling_begin(&r->scaling, r->scenario, &r->scheduler, r->measure, &scaling);
    fault_schedule_begin(&r->faults, r->scenario, &r->scheduler, r->measure, &faults);
    scheduler_in(&r->scheduler, (struct duration){r->scenario->window_ns}, real_window, r, 0);
}

static void real_destroy(void *runner)
{
    struct real *r = runner;
    lab_cluster_end(&r->cluster);
    loop_destroy(r->loop);
    if (r->clients != NULL)
        clients_destroy(r->clients);
    scheduler_deinit(&r->scheduler);
    scaling_deinit(&r->scaling);
    buffer_deinit(&r->error);
    free(r);
}

static void *real_create(const struct scenario *s, uint64_t seed, struct measure *measure,
                         struct buffer *error)
{
    struct real *r = must_calloc(1, sizeof *r);
    r->scenario = s;
    r->measure = measure;
    if (loop_create(&r->loop) != STATUS_OK || loop_on_stop(r->loop, real_stop, r) != STATUS_OK) {
        loop_explain(error);
        free(r);
        return NULL;
    }
    if (!lab_cluster_start(&r->cluster, s, real_is_stopped, r, error) ||
        !each_table(r, table_create, error) || !each_table(r, table_fill, error)) {
        real_destroy(r);
        return NULL;
    }
    real_begin(r, seed);
    return r;
}

static bool real_run(void *runner, int64_t until_ns, struct buffer *error)
{
    struct real *r = runner;
    while (loop_now(r->loop).ns < r->begin_ns + until_ns) {
        struct instant poll =
            instant_add(loop_now(r->loop), (struct duration){TURN_US * NS_PER_US});
        if (loop_turn(r->loop, poll) != STATUS_OK) {
            buffer_append_format(error, "the loop: %s", strerror(errno));
            return false;
        }
        real_advance(r);
        if (r->stopped || r->error.size > 0) {
            buffer_append_slice(error, r->stopped ? slice_of("stopped") : buffer_slice(&r->error));
            return false;
        }
        if (loop_now(r->loop).ns - r->checked_ns < NS_PER_S)
            continue;
        r->checked_ns = loop_now(r->loop).ns;
        if (!lab_cluster_check(&r->cluster, error))
            return false;
    }
    return true;
}

static uint64_t real_hash(const void *runner)
{
    (void)runner;
    return 0;
}

static struct lab_counts real_counts(const void *runner)
{
    const struct real *r = runner;
    return (struct lab_counts){.requests = clients_requests(r->clients)};
}

static void real_events(const void *runner, struct buffer *out)
{
    (void)runner;
    (void)out;
}

const struct lab_runner lab_real_runner = {.can_run = real_can_run,
                                           .create = real_create,
                                           .destroy = real_destroy,
                                           .run = real_run,
                                           .hash = real_hash,
                                           .counts = real_counts,
                                           .events = real_events};
