/* work_switches.c - two clients that switch the streams and the time to live of tables on and
 * off. */
#include "sim/work/work_switches.h"

#include "base/probe.h"
#include "sim/work/work_streams.h"
#include "sim/work/work_ttl.h"

enum {
    PAUSE_MS = 300 /* between two requests: 0 .. this */
};

enum switch_step {
    SWITCH_CHANGE = WORK_STEPS,
    SWITCH_DESCRIBE,
};

struct switched {
    uint32_t begun; /* changes */
    uint32_t under_way;
    struct instant quiet_from; /* until then an abandoned change may come */
    uint64_t mark;             /* 0: not sure */
    bool on;
    bool full; /* the table keeps as many former streams as it may */
};

struct switch_client {
    struct work_client client;
    enum switch_of which;
    bool changes;   /* the call is a change */
    bool on;        /* to this */
    bool quiet;     /* no change was on its way when the call began */
    uint32_t begun; /* changes, when the call began */
};

struct work_switches {
    struct work_clients clients;
    struct switched all[SWITCHES];
    uint64_t marks;
};

static struct work_switches *switches_of(const struct switch_client *c)
{
    return (struct work_switches *)c->client.all;
}

static bool is_ttl(enum switch_of which)
{
    return which == SWITCH_TTL || which == SWITCH_TTL_OF_STREAM;
}

static const char *table_of(enum switch_of which)
{
    return which == SWITCH_TTL || which == SWITCH_STREAM_OF_TTL ? work_ttl_table
                                                                : work_streams_table;
}

/* Whether the plan has the table. */
static bool table_is_used(const struct work_switches *s, enum switch_of which)
{
    const struct plan *p = work_clients_plan(&s->clients);
    return table_of(which) == work_ttl_table ? p->work_ttl > 0 : p->work_streams > 0;
}

/* Whether the table is there, and nothing but these clients changes it. */
static bool table_is_ready(const struct work_switches *s, enum switch_of which)
{
    return table_of(which) == work_ttl_table
               ? work_ttl_are_made(work_clients_of_run(&s->clients, WORK_TTL))
               : work_streams_are_made(work_clients_of_run(&s->clients, WORK_STREAMS));
}

/* ---- requests ---- */

static const char *client_write_change(struct switch_client *c)
{
    struct buffer *out = &c->client.body;
    const char *table = table_of(c->which), *word = c->on ? "true" : "false";
    if (is_ttl(c->which)) {
        buffer_append_format(out,
                             "{\"TableName\":\"%s\",\"TimeToLiveSpecification\":{\"Enabled\":%s,"
                             "\"AttributeName\":\"t\"}}",
                             table, word);
        return "UpdateTimeToLive";
    }
    buffer_append_format(out,
                         "{\"TableName\":\"%s\",\"StreamSpecification\":{\"StreamEnabled\":%s%s}}",
                         table, word, c->on ? ",\"StreamViewType\":\"NEW_AND_OLD_IMAGES\"" : "");
    return "UpdateTable";
}

static const char *client_write_describe(struct switch_client *c)
{
    dynamo_table(&c->client.body, table_of(c->which));
    return is_ttl(c->which) ? "DescribeTimeToLive" : "DescribeTable";
}

/* ---- answers ---- */

/* The state in the answer to a description. False: it is being changed. */
static bool answer_has_state(enum switch_of which, struct slice body, bool *on)
{
    if (is_ttl(which)) {
        *on = dynamo_contains(body, "\"TimeToLiveStatus\":\"ENABLED\"");
        return *on || dynamo_contains(body, "\"TimeToLiveStatus\":\"DISABLED\"");
    }
    *on = dynamo_contains(body, "\"StreamEnabled\":true");
    return dynamo_contains(body, "\"TableStatus\":\"ACTIVE\"");
}

static void client_end_describe(struct switch_client *c, int status, struct slice body)
{
    struct work_switches *s = switches_of(c);
    struct switched *w = &s->all[c->which];
    bool on;
    if (status != 200 || !c->quiet || w->begun != c->begun ||
        !answer_has_state(c->which, body, &on) || (w->mark != 0 && w->on == on))
        return;
    w->mark = ++s->marks;
    w->on = on;
    if (!on && is_ttl(c->which))
        PROBE("time to live is surely off under load");
    if (!on && !is_ttl(c->which))
        PROBE("a stream is surely off under load");
}

static void switch_answered(void *client, int status, struct slice body)
{
    struct switch_client *c = client;
    struct work_switches *s = switches_of(c);
    struct switched *w = &s->all[c->which];
    if (c->changes) {
        w->under_way--;
        w->full = dynamo_contains(body, "must first be older than");
        if (http_client_is_unknown(status))
            w->quiet_from = instant_add_ms(work_clients_now(&s->clients), WORK_QUIET_MS);
    } else {
        client_end_describe(c, status, body);
    }
    c->client.step = WORK_STEP_IDLE;
}

static int64_t switch_pause(void *client, UNUSED int status)
{
    struct switch_client *c = client;
    return c->client.all->ending ? WORK_RETRY_MS * NS_PER_MS : work_client_think(&c->client);
}

/* ---- what to do ---- */

/* The first client switches all on that is not surely on. False: there is nothing to do. */
static bool client_choose_last(struct switch_client *c)
{
    struct work_switches *s = switches_of(c);
    for (uint32_t i = 0; i < SWITCHES && c->client.number == 0; i++) {
        const struct switched *w = &s->all[i];
        if (!table_is_used(s, (enum switch_of)i) || (w->mark != 0 && (w->on || w->full)))
            continue;
        c->which = (enum switch_of)i;
        c->changes = w->mark != 0; /* surely off */
        c->on = true;
        return true;
    }
    c->client.step = WORK_STEP_DONE;
    return false;
}

static bool client_choose_load(struct switch_client *c)
{
    c->which = (enum switch_of)prng_below(&c->client.prng, SWITCHES);
    c->changes = prng_below(&c->client.prng, 2) == 0;
    c->on = prng_below(&c->client.prng, 2) == 0;
    return table_is_used(switches_of(c), c->which);
}

static void switch_choose(void *client)
{
    struct switch_client *c = client;
    const struct work_switches *s = switches_of(c);
    const bool chosen = s->clients.ending ? client_choose_last(c) : client_choose_load(c);
    if (chosen && table_is_ready(s, c->which))
        c->client.step = c->changes ? SWITCH_CHANGE : SWITCH_DESCRIBE;
}

static const char *switch_write(void *client)
{
    struct switch_client *c = client;
    struct work_switches *s = switches_of(c);
    struct switched *w = &s->all[c->which];
    buffer_clear(&c->client.body);
    c->quiet = w->under_way == 0 && !instant_before(work_clients_now(&s->clients), w->quiet_from);
    if (c->changes) {
        w->mark = 0;
        w->begun++;
        w->under_way++;
    }
    c->begun = w->begun;
    return c->changes ? client_write_change(c) : client_write_describe(c);
}

static void switch_describe(const void *client, struct buffer *out)
{
    const struct switch_client *c = client;
    buffer_append_format(out, ": %s of %s", is_ttl(c->which) ? "time to live" : "stream",
                         table_of(c->which));
}

/* ---- life ---- */

static const struct work_client_kind switch_kind = {.name = "that switches",
                                                    .size = sizeof(struct work_switches),
                                                    .client_size = sizeof(struct switch_client),
                                                    .idle_ms = WORK_RETRY_MS,
                                                    .choose = switch_choose,
                                                    .write = switch_write,
                                                    .answered = switch_answered,
                                                    .pause = switch_pause,
                                                    .describe = switch_describe};

struct work_clients *work_switches_create(const struct work_clients_options *options)
{
    struct work_switches *s = work_clients_create(&switch_kind, options);
    s->clients.think_ns = PAUSE_MS * NS_PER_MS;
    return &s->clients;
}

uint64_t work_switches_mark(const struct work_clients *of, enum switch_of which, bool *on)
{
    const struct work_clients *all = work_clients_of_run(of, WORK_SWITCHES);
    const struct work_switches *s = (const struct work_switches *)all;
    must(all->kind == &switch_kind);
    *on = s->all[which].on;
    return s->all[which].mark;
}
