/* faults.c - commands that break a daemon's links, disk and clock. */
#include "server/host/faults.h"
#include "host/connection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "host/address.h"

/* ---- commands ---- */

enum {
    WORDS_MAX = 5
};

static const char usage[] =
    "cut KIND ID in|out|both; delay KIND ID MS; heal; disk slow MS | fail | full | ok; "
    "processor slow US; skew MS; drift PPM; status";

static size_t text_split(struct slice line, struct slice words[WORDS_MAX])
{
    size_t count = 0, at = 0;
    while (at < line.size && count < WORDS_MAX) {
        size_t end = at;
        while (end < line.size && line.data[end] != ' ')
            end++;
        if (end > at)
            words[count++] = slice_make(line.data + at, end - at);
        at = end + 1;
    }
    return count;
}

static bool parse_integer(struct slice text, int64_t min, int64_t max, int64_t *out)
{
    bool negative = text.size > 1 && text.data[0] == '-';
    int64_t value = 0;
    size_t digits = text.size - negative;
    if (digits == 0 || digits > 9)
        return false;
    for (size_t i = negative; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        value = value * 10 + (text.data[i] - '0');
    }
    *out = negative ? -value : value;
    return *out >= min && *out <= max;
}

/* Returns the expected form, or NULL. */
static const char *parse_peer(const struct slice *words, struct fault_command *out)
{
    int64_t id;
    if (!peer_kind_parse(words[1], &out->kind))
        return "a KIND: node, router, gac or tool";
    if (!parse_integer(words[2], 0, UINT16_MAX, &id))
        return "an ID: a number up to 65535";
    out->id = (uint32_t)id;
    return NULL;
}

static const char *parse_cut(struct slice way, struct fault_command *out)
{
    static const char *const ways[] = {
        [LINK_CUT_IN] = "in", [LINK_CUT_OUT] = "out", [LINK_CUT_BOTH] = "both"};
    for (unsigned cut = LINK_CUT_IN; cut <= LINK_CUT_BOTH; cut++) {
        if (slice_is(way, ways[cut]))
            out->cut = cut;
    }
    return out->cut == 0 ? "in, out or both" : NULL;
}

static const struct verb {
    const char *words[2]; /* its first words */
    size_t word_count;    /* of the whole command */
    enum fault_verb verb;
    const char *number; /* the expected form of the last word; NULL: it is no number */
    int64_t min, max;
} verbs[] = {
    {{"cut", NULL}, 4, FAULT_CUT, NULL, 0, 0},
    {{"delay", NULL}, 4, FAULT_DELAY, "MS: 0 to 60000", 0, FAULTS_DELAY_MS_MAX},
    {{"heal", NULL}, 1, FAULT_HEAL, NULL, 0, 0},
    {{"disk", "slow"}, 3, FAULT_DISK_SLOW, "MS: 0 to 60000", 0, FAULTS_DELAY_MS_MAX},
    {{"processor", "slow"}, 3, FAULT_PROCESSOR_SLOW, "US: 0 to 1000000", 0, FAULTS_WORK_US_MAX},
    {{"disk", "fail"}, 2, FAULT_DISK_FAIL, NULL, 0, 0},
    {{"disk", "full"}, 2, FAULT_DISK_FULL, NULL, 0, 0},
    {{"disk", "ok"}, 2, FAULT_DISK_OK, NULL, 0, 0},
    {{"skew", NULL},
     2,
     FAULT_SKEW,
     "MS: -3600000 to 3600000",
     -FAULTS_SKEW_MS_MAX,
     FAULTS_SKEW_MS_MAX},
    {{"drift", NULL},
     2,
     FAULT_DRIFT,
     "PPM: -500000 to 500000",
     -FAULTS_DRIFT_PPM_MAX,
     FAULTS_DRIFT_PPM_MAX},
    {{"status", NULL}, 1, FAULT_STATUS, NULL, 0, 0},
    {{"help", NULL}, 1, FAULT_HELP, NULL, 0, 0},
};

/* Returns the expected form, or NULL. */
static const char *parse_arguments(const struct verb *v, const struct slice *words,
                                   struct fault_command *out)
{
    const struct slice last = words[v->word_count - 1];
    const char *wrong = v->word_count == 4 ? parse_peer(words, out) : NULL;
    if (wrong == NULL && v->verb == FAULT_CUT)
        wrong = parse_cut(last, out);
    if (wrong == NULL && v->number != NULL && !parse_integer(last, v->min, v->max, &out->number))
        wrong = v->number;
    return wrong;
}

static const struct verb *find_verb(const struct slice *words, size_t count)
{
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        const struct verb *v = &verbs[i];
        bool second = v->words[1] == NULL || (count > 1 && slice_is(words[1], v->words[1]));
        if (count == v->word_count && slice_is(words[0], v->words[0]) && second)
            return v;
    }
    return NULL;
}

enum status fault_command_parse(struct slice line, struct fault_command *out, struct buffer *error)
{
    struct slice words[WORDS_MAX];
    *out = (struct fault_command){0};
    size_t count = line.size <= FAULTS_LINE_SIZE_MAX ? text_split(line, words) : 0;
    const struct verb *v = count > 0 ? find_verb(words, count) : NULL;
    const char *wrong = v == NULL ? usage : parse_arguments(v, words, out);
    if (wrong != NULL)
        return buffer_explain(error, STATUS_MALFORMED, "expected %s", wrong);
    out->verb = v->verb;
    return STATUS_OK;
}

/* ---- doing it ---- */

static void fault_describe(struct loop *l, struct transport *t, struct buffer *out)
{
    static const char *const cuts[] = {"", " cut in", " cut out", " cut both"};
    const struct loop_faults *f = loop_faults(l);
    const struct link_faults *links = transport_faults(t);
    size_t before = out->size;
    for (size_t i = 0; i < link_faults_count(links); i++) {
        const struct link_rule *r = link_faults_at(links, i);
        if (r->cut == 0 && r->delay.ns == 0)
            continue;
        buffer_append_format(out, " %s %u%s", peer_kind_name((enum peer_kind)r->kind), r->id,
                             cuts[r->cut]);
        if (r->delay.ns > 0)
            buffer_append_format(out, " delay %lld ms", (long long)(r->delay.ns / NS_PER_MS));
        buffer_append_text(out, ";");
    }
    if (f->write_delay_ns > 0)
        buffer_append_format(out, " disk slow %lld ms;",
                             (long long)(f->write_delay_ns / NS_PER_MS));
    if (f->work_delay_ns > 0)
        buffer_append_format(out, " processor slow %lld us;",
                             (long long)(f->work_delay_ns / NS_PER_US));
    if (f->writes_until_failure >= 0)
        buffer_append_text(out, " disk fail;");
    if (f->disk_full)
        buffer_append_text(out, " disk full;");
    if (f->clock_skew_ns != 0)
        buffer_append_format(out, " skew %lld ms;", (long long)(f->clock_skew_ns / NS_PER_MS));
    if (f->clock_drift_ppm != 0)
        buffer_append_format(out, " drift %lld ppm;", (long long)f->clock_drift_ppm);
    if (out->size == before)
        buffer_append_text(out, " no faults");
}

static void heal_disk(struct loop_faults *f)
{
    f->writes_until_failure = -1;
    f->write_delay_ns = 0;
    f->disk_full = false;
}

static void change_link(const struct fault_command *c, struct transport *t, struct buffer *answer)
{
    struct link_rule *r = link_faults_rule(transport_faults(t), c->kind, c->id);
    if (r == NULL) {
        buffer_clear(answer);
        buffer_append_format(answer, "error: %d rules exist already: heal first", LINK_RULES_MAX);
        return;
    }
    if (c->verb == FAULT_CUT)
        r->cut |= c->cut;
    else
        r->delay = duration_ms(c->number);
}

void fault_command_apply(const struct fault_command *c, struct loop *l, struct transport *t,
                         struct buffer *answer)
{
    struct loop_faults *f = loop_faults(l);
    buffer_append_text(answer, "ok");
    switch (c->verb) {
    case FAULT_CUT:
    case FAULT_DELAY:
        change_link(c, t, answer);
        break;
    case FAULT_HEAL:
        transport_heal(t);
        heal_disk(f);
        f->work_delay_ns = 0;
        loop_set_clock_fault(l, duration_ms(0), 0);
        break;
    case FAULT_DISK_SLOW:
        f->write_delay_ns = c->number * NS_PER_MS;
        break;
    case FAULT_PROCESSOR_SLOW:
        f->work_delay_ns = c->number * NS_PER_US;
        break;
    case FAULT_DISK_FAIL:
        f->writes_until_failure = 0;
        f->write_error = EIO;
        f->for_ever = true;
        break;
    case FAULT_DISK_FULL:
        f->disk_full = true;
        break;
    case FAULT_DISK_OK:
        heal_disk(f);
        break;
    case FAULT_SKEW:
        loop_set_clock_fault(l, duration_ms(c->number), f->clock_drift_ppm);
        break;
    case FAULT_DRIFT:
        loop_set_clock_fault(l, (struct duration){f->clock_skew_ns}, c->number);
        break;
    case FAULT_STATUS:
        buffer_append_text(answer, ":");
        fault_describe(l, t, answer);
        break;
    case FAULT_HELP:
        buffer_append_format(answer, ": %s", usage);
        break;
    }
}

/* ---- the port ---- */

struct fault_client {
    TAILQ_ENTRY(fault_client) entry;
    struct faults *faults;         /* borrows */
    struct connection *connection; /* borrows */
    char line[FAULTS_LINE_SIZE_MAX];
    size_t size;
};

TAILQ_HEAD(fault_client_list, fault_client);

struct faults {
    struct loop *loop;           /* borrows */
    struct transport *transport; /* borrows */
    struct listener *listener;
    struct fault_client_list clients; /* owns */
};

static void on_opened(void *context, struct connection *c)
{
    struct faults *f = context;
    struct fault_client *client = must_calloc(1, sizeof *client);
    client->faults = f;
    client->connection = c;
    connection_set_user(c, client);
    TAILQ_INSERT_TAIL(&f->clients, client, entry);
}

/* False: the line was not a command. The rest of another protocol, such as HTTP, is not read: a
 * later line might be a command. */
static bool answer_line(struct fault_client *client)
{
    struct fault_command command;
    struct buffer answer = {0}, error = {0};
    struct slice line = slice_make(client->line, client->size);
    if (line.size > 0 && line.data[line.size - 1] == '\r')
        line.size--;
    bool known = fault_command_parse(line, &command, &error) == STATUS_OK;
    if (known) {
        fprintf(stderr, "weir: fault: %.*s\n", (int)line.size, (const char *)line.data);
        fault_command_apply(&command, client->faults->loop, client->faults->transport, &answer);
    } else {
        buffer_append_format(&answer, "error: %.*s", (int)error.size, (const char *)error.data);
    }
    buffer_append_u8(&answer, '\n');
    connection_send(client->connection, buffer_slice(&answer));
    buffer_deinit(&answer);
    buffer_deinit(&error);
    client->size = 0;
    return known;
}

static void on_received(UNUSED void *context, struct connection *c, struct slice bytes)
{
    struct fault_client *client = connection_user(c);
    for (size_t i = 0; i < bytes.size; i++) {
        if (bytes.data[i] == '\n') {
            if (!answer_line(client)) {
                connection_close(c);
                return;
            }
        } else if (client->size < sizeof client->line) {
            client->line[client->size++] = (char)bytes.data[i];
        } else {
            connection_send(c, slice_of("error: the line is too long\n"));
            connection_close(c);
            return;
        }
    }
}

static void on_closed(UNUSED void *context, struct connection *c, UNUSED int error)
{
    struct fault_client *client = connection_user(c);
    TAILQ_REMOVE(&client->faults->clients, client, entry);
    free(client);
}

static const struct connection_handler handler = {
    .opened = on_opened, .received = on_received, .closed = on_closed};

enum status faults_open(struct loop *l, struct transport *t, uint16_t port, struct buffer *error,
                        struct faults **out)
{
    struct faults *f = must_calloc(1, sizeof *f);
    f->loop = l;
    f->transport = t;
    TAILQ_INIT(&f->clients);
    if (loop_listen(l, "127.0.0.1", port, FAULTS_CLIENTS_MAX, &handler, f, &f->listener) !=
        STATUS_OK) {
        address_explain("listen for --faults on", "127.0.0.1", port, errno, error);
        free(f);
        return STATUS_IO;
    }
    *out = f;
    return STATUS_OK;
}

uint16_t faults_port(const struct faults *f)
{
    return listener_port(f->listener);
}

void faults_close(struct faults *f)
{
    if (f == NULL)
        return;
    listener_close(f->listener);
    while (!TAILQ_EMPTY(&f->clients)) {
        struct fault_client *client = TAILQ_FIRST(&f->clients);
        TAILQ_REMOVE(&f->clients, client, entry);
        connection_abandon(client->connection);
        free(client);
    }
    free(f);
}
