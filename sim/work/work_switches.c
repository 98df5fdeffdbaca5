/* work_switches.c - two clients that switch the streams and the time to live of tables on and
 * off. */
#include "sim/work/work_switches.h"

#include <stdlib.h>

#include "base/prng.h"
#include "base/probe.h"
#include "sim/work/work_streams.h"
#include "sim/work/work_ttl.h"
#include "sim/world/dynamo.h"

enum {
    CALL_TIMEOUT_MS = 6000,
    RETRY_MS = 100,
    QUIET_MS = 12000 /* then no abandoned call is on its way any more */
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
    struct work_switches *all; /* borrows */
    struct http_client http;
    struct prng prng;
    uint32_t number;
    enum switch_of which;
    bool changes;   /* the call is a change */
    bool on;        /* to this */
    bool quiet;     /* no change was on its way when the call began */
    uint32_t begun; /* changes, when the call began */
    bool done;
    int last_status;
    struct buffer body;
    struct buffer last_error;
};

struct work_switches {
    struct work_switches_options options;
    struct switched all[SWITCHES];
    struct switch_client clients[WORK_SWITCHES_CLIENTS];
    uint64_t marks;
    bool on;
    bool ending;
};

static void client_next(struct switch_client *c, int64_t ns);

static struct instant work_switches_now(const struct work_switches *s)
{
    return s->options.scheduler->now;
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

uint64_t work_switches_mark(const struct work_switches *s, enum switch_of which, bool *on)
{
    *on = s->all[which].on;
    return s->all[which].mark;
}

/* ---- requests ---- */

static const char *client_write_change(struct switch_client *c)
{
    const char *table = table_of(c->which), *word = c->on ? "true" : "false";
    if (is_ttl(c->which)) {
        buffer_append_format(&c->body,
                             "{\"TableName\":\"%s\",\"TimeToLiveSpecification\":{\"Enabled\":%s,"
                             "\"AttributeName\":\"t\"}}",
                             table, word);
        return "UpdateTimeToLive";
    }
    buffer_append_format(&c->body,
                         "{\"TableName\":\"%s\",\"StreamSpecification\":{\"StreamEnabled\":%s%s}}",
                         table, word, c->on ? ",\"StreamViewType\":\"NEW_AND_OLD_IMAGES\"" : "");
    return "UpdateTable";
}

static const char *client_write_describe(struct switch_client *c)
{
    dynamo_table(&c->body, table_of(c->which));
    return is_ttl(c->which) ? "DescribeTimeToLive" : "DescribeTable";
}

/* ---- answers ---- */

/* What the answer to a look says. False: it is being changed. */
static bool answer_tells(enum switch_of which, struct slice body, bool *on)
{
    if (is_ttl(which)) {
        *on = dynamo_says(body, "\"TimeToLiveStatus\":\"ENABLED\"");
        return *on || dynamo_says(body, "\"TimeToLiveStatus\":\"DISABLED\"");
    }
    *on = dynamo_says(body, "\"StreamEnabled\":true");
    return dynamo_says(body, "\"TableStatus\":\"ACTIVE\"");
}

static void client_end_describe(struct switch_client *c, int status, struct slice body)
{
    struct work_switches *s = c->all;
    struct switched *w = &s->all[c->which];
    bool on;
    if (status != 200 || !c->quiet || w->begun != c->begun || !answer_tells(c->which, body, &on) ||
        (w->mark != 0 && w->on == on))
        return;
    w->mark = ++s->marks;
    w->on = on;
    if (!on && is_ttl(c->which))
        PROBE("time to live is surely off under load");
    if (!on && !is_ttl(c->which))
        PROBE("a stream is surely off under load");
}

static void client_done(void *context, int status, struct slice body)
{
    struct switch_client *c = context;
    struct work_switches *s = c->all;
    struct switched *w = &s->all[c->which];
    c->last_status = status;
    buffer_clear(&c->last_error);
    if (status != 200)
        buffer_append_slice(&c->last_error, body);
    if (c->changes) {
        w->under_way--;
        w->full = dynamo_says(body, "must first be older than the retention");
        if (http_client_is_unknown(status))
            w->quiet_from = instant_add_ms(work_switches_now(s), QUIET_MS);
    } else {
        client_end_describe(c, status, body);
    }
    client_next(c,
                s->ending ? RETRY_MS * NS_PER_MS : prng_between(&c->prng, 0, s->options.pause_ns));
}

/* ---- what to do ---- */

/* The first client switches all on that is not surely on. False: there is nothing to do. */
static bool client_choose_last(struct switch_client *c)
{
    struct work_switches *s = c->all;
    for (uint32_t i = 0; i < SWITCHES && c->number == 0; i++) {
        const struct switched *w = &s->all[i];
        if (!s->options.has[i] || (w->mark != 0 && (w->on || w->full)))
            continue;
        c->which = (enum switch_of)i;
        c->changes = w->mark != 0; /* surely off */
        c->on = true;
        return true;
    }
    c->done = true;
    return false;
}

static bool client_choose(struct switch_client *c)
{
    struct work_switches *s = c->all;
    if (s->ending)
        return client_choose_last(c);
    c->which = (enum switch_of)prng_below(&c->prng, SWITCHES);
    c->changes = prng_below(&c->prng, 2) == 0;
    c->on = prng_below(&c->prng, 2) == 0;
    return s->on && s->options.has[c->which];
}

static void client_run(void *context, uint64_t argument)
{
    struct switch_client *c = context;
    struct work_switches *s = c->all;
    (void)argument;
    const bool chosen = client_choose(c);
    if (c->done)
        return;
    if (!chosen || !s->options.may_switch(s->options.sim, c->which)) {
        client_next(c, RETRY_MS * NS_PER_MS);
        return;
    }
    struct switched *w = &s->all[c->which];
    buffer_clear(&c->body);
    c->quiet = w->under_way == 0 && !instant_before(work_switches_now(s), w->quiet_from);
    const char *operation = c->changes ? client_write_change(c) : client_write_describe(c);
    if (c->changes) {
        w->mark = 0;
        w->begun++;
        w->under_way++;
    }
    c->begun = w->begun;
    http_client_call(&c->http, operation, buffer_slice(&c->body), duration_ms(CALL_TIMEOUT_MS),
                     client_done, c);
}

static void client_next(struct switch_client *c, int64_t ns)
{
    scheduler_in(c->all->options.scheduler, (struct duration){ns}, client_run, c, 0);
}

/* ---- life ---- */

struct work_switches *work_switches_create(const struct work_switches_options *options)
{
    struct work_switches *s = must_calloc(1, sizeof *s);
    s->options = *options;
    for (uint32_t i = 0; i < options->clients; i++) {
        const struct http_client_options http = options->http(options->context, i);
        s->clients[i].all = s;
        s->clients[i].number = i;
        s->clients[i].prng = prng_seeded(options->seed + i);
        http_client_init(&s->clients[i].http, &http);
    }
    return s;
}

void work_switches_destroy(struct work_switches *s)
{
    for (uint32_t i = 0; i < s->options.clients; i++) {
        http_client_deinit(&s->clients[i].http);
        buffer_deinit(&s->clients[i].body);
        buffer_deinit(&s->clients[i].last_error);
    }
    free(s);
}

void work_switches_begin(struct work_switches *s)
{
    s->on = true;
    for (uint32_t i = 0; i < s->options.clients; i++)
        client_next(&s->clients[i], 0);
}

void work_switches_end(struct work_switches *s)
{
    s->ending = true;
}

bool work_switches_are_over(const struct work_switches *s)
{
    bool over = true;
    for (uint32_t i = 0; i < s->options.clients; i++)
        over &= s->clients[i].done;
    return over;
}

void work_switches_describe(const struct work_switches *s, struct buffer *out)
{
    for (uint32_t i = 0; i < s->options.clients; i++) {
        const struct switch_client *c = &s->clients[i];
        if (!c->done)
            buffer_append_format(out,
                                 "client %u that switches: %s of %s, %s; the last answer was %d "
                                 "%.*s\n",
                                 i, is_ttl(c->which) ? "time to live" : "stream",
                                 table_of(c->which), c->changes ? "changes" : "looks",
                                 c->last_status, TEXT_OF(c->last_error));
    }
}
