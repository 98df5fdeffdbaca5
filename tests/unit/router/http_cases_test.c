/* http_cases_test.c - what a router answers to bytes: tests/cases/http (tests/support/case_file.h,
 * fake_cluster.h). In TEXT `|` is the end of a line, \r, \n, \t and \xNN are bytes, <N*TEXT> is so
 * many times TEXT, and names stand for lines:
 *
 *   $line   POST / HTTP/1.1
 *   $host   Host: h
 *   $list   the type of the body, and the target ListTables
 *   $plain  all three
 *   $canary a request to delete the table, which a server that finds another end of the request
 *           before it would run
 *   $get    a request to read the item a
 *
 * Commands; each of the first ones shows what clients have got by then, by connection:
 *
 *   send N TEXT           on connection N, which is opened if it is not open; `new`: another one
 *   bytes N TEXT          the same byte by byte, until the connection is closed
 *   ask N OPERATION [TEXT]     a request with these lines and this body; no TEXT: with the body {}
 *   packed N METHOD CODING = TEXT   ListTables with this Content-Encoding; METHOD: plain; zlib;
 *                         gzip, whose members are divided by &; torn: gzip without the last bytes;
 *                         spoilt: gzip with a wrong checksum
 *   call OPERATION BODY   a whole request on connection 1
 *   open N, close N       a client comes or goes; admin N: one comes to the admin listener;
 *                         end N: it has sent all
 *   unread N              the client reads nothing from now on
 *   read N LEFT           it reads all but so many bytes; LEFT 0: it reads on
 *   after MS              lets time pass
 *   answer [I]            the held request at I is answered; all are
 *   parse                 the host has parsed the large text that waits
 *
 *   fresh [defaults] [on-loopback] [token=TEXT] [NAME=VALUE]..   a router with these settings, and
 *                         connection 1. Without defaults: heads of 1 KiB, bodies of 4 KiB
 *   set NAME=VALUE        from now on
 *   wire NAME = TEXT      the status that this gets, whether the connection stays, and whether the
 *                         canary ran; whole and in pieces of 1, 2 and 7 bytes, always the same
 *   hold                  requests to nodes are held; held: how many; asked: how many were sent
 *   hold-parse            large texts wait; text: whether the host has one
 *   memory                what is held of clients, since the first time, in steps of 10 KB
 *   show NAME..           header lines that are shown with each answer that has them
 *   repeat N COMMAND      equal outputs that follow each other are shown once
 *   part TEXT             a piece of the last answer's body that begins so, up to a comma. A long
 *                         body is shown as its size or, of a page, not at all
 *   host TEXT             what a host is, and whether it passes; hosts LIST: the setting
 *                         host_names for this */
#include <zlib.h>

#include "router/http/host.h"
#include "tests/check.h"
#include "tests/support/case_file.h"
#include "tests/support/fake_cluster.h"

enum {
    SHOWN_MAX = 300,
    PART_MAX = 60
};

#define LINE "POST / HTTP/1.1\r\n"
#define HOST "Host: h\r\n"
#define TYPE "Content-Type: application/x-amz-json-1.0\r\n"
#define LIST TYPE "X-Amz-Target: DynamoDB_20120810.ListTables\r\n"

struct scene {
    struct fake_cluster f;
    char settings[256];
    uint64_t next;   /* connection */
    char shown[128]; /* names of header lines */
    char hosts[128];
    int64_t memory; /* at first; 0: not known yet */
    struct {
        const char *end; /* NULL: the connection is open */
        size_t unsent;
    } reported[FAKE_CLIENTS_MAX + 1];
    struct fake_answer last; /* lends until the next */
    struct buffer unpacked;
};

/* ---- texts ---- */

static void text_append(struct buffer *out, const char *text)
{
    static const char *const NAMES[][2] = {
        {"$line", LINE},
        {"$host", HOST},
        {"$list", LIST},
        {"$plain", LINE HOST LIST},
        {"$canary", LINE HOST TYPE "X-Amz-Target: DynamoDB_20120810.DeleteTable\r\n"
                                   "Content-Length: 21\r\n\r\n{\"TableName\":\"users\"}"},
        {"$get", LINE HOST TYPE "X-Amz-Target: DynamoDB_20120810.GetItem\r\n"
                                "Content-Length: 44\r\n\r\n"
                                "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\"}}}"}};
    struct buffer b = {0};
    while (*text != '\0') {
        size_t i = 0;
        while (i < COUNT_OF(NAMES) && strncmp(text, NAMES[i][0], strlen(NAMES[i][0])) != 0)
            i++;
        if (i < COUNT_OF(NAMES)) {
            buffer_append_text(&b, NAMES[i][1]);
            text += strlen(NAMES[i][0]);
        } else {
            buffer_append_text(&b, *text == '|' ? "\r\n" : (char[]){*text, '\0'});
            text++;
        }
    }
    buffer_append_u8(&b, 0);
    case_append_expanded(out, (const char *)b.data);
    buffer_deinit(&b);
}

/* ---- bodies that are packed ---- */

static void gzip_append(struct buffer *out, const char *text, size_t size)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)text, .avail_in = (uInt)size};
    deflateInit2(&z, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY);
    z.next_out = buffer_reserve(out, MIB);
    z.avail_out = MIB;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    out->size += MIB - z.avail_out;
    deflateEnd(&z);
}

static void pack(struct buffer *out, const char *method, const struct buffer *plain)
{
    const char *text = (const char *)plain->data, *behind = text + plain->size;
    if (strcmp(method, "zlib") == 0) {
        uLongf size = MIB;
        assert_int_equal(compress(buffer_reserve(out, MIB), &size, plain->data, (uLong)plain->size),
                         Z_OK);
        out->size += size;
        return;
    }
    if (strcmp(method, "plain") == 0) {
        buffer_append_slice(out, buffer_slice(plain));
        return;
    }
    while (text < behind) {
        const char *end = memchr(text, '&', (size_t)(behind - text));
        end = end == NULL ? behind : end;
        gzip_append(out, text, (size_t)(end - text));
        text = end + 1;
    }
    if (strcmp(method, "torn") == 0)
        out->size -= 3;
    else if (strcmp(method, "spoilt") == 0)
        out->data[out->size - 8] ^= 1;
}

static struct slice unpack(struct scene *s, struct slice body)
{
    buffer_clear(&s->unpacked);
    z_stream z = {.next_in = (Bytef *)(uintptr_t)body.data, .avail_in = (uInt)body.size};
    z.next_out = buffer_reserve(&s->unpacked, MIB);
    z.avail_out = MIB;
    inflateInit2(&z, 47); /* gzip or zlib */
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    s->unpacked.size = MIB - z.avail_out;
    inflateEnd(&z);
    return buffer_slice(&s->unpacked);
}

/* ---- what clients get ---- */

static void print_answer(struct scene *s, uint64_t connection, struct buffer *out)
{
    const struct slice coding = fake_header(s->last, "Content-Encoding"),
                       type = fake_header(s->last, "Content-Type");
    buffer_append_format(out, "%u: %d", (unsigned)connection, s->last.status);
    if (coding.size > 0) {
        buffer_append_format(out, " %.*s", TEXT_OF(coding));
        s->last.body = unpack(s, s->last.body);
    }
    char names[sizeof s->shown], *rest = names;
    memcpy(names, s->shown, sizeof names);
    for (char *name; (name = strtok_r(rest, " ", &rest)) != NULL;) {
        const struct slice value = fake_header(s->last, name);
        if (value.size > 0)
            buffer_append_format(out, " %s: %.*s;", name, TEXT_OF(value));
    }
    if (s->last.body.size > SHOWN_MAX && slice_is(type, "application/x-amz-json-1.0"))
        buffer_append_format(out, " %zu bytes", s->last.body.size);
    else if (s->last.body.size > SHOWN_MAX)
        buffer_append_text(out, " a page");
    else if (s->last.body.size > 0)
        buffer_append_u8(out, ' ');
    for (size_t i = 0; i < s->last.body.size && s->last.body.size <= SHOWN_MAX; i++) {
        if (s->last.body.data[i] == '\n')
            buffer_append_text(out, "\\n");
        else
            buffer_append_u8(out, s->last.body.data[i]);
    }
    buffer_append_u8(out, '\n');
}

/* Equal answers that follow each other are shown once. */
static void print_answers(struct scene *s, uint64_t connection, struct buffer *out)
{
    struct buffer before = {0}, line = {0};
    int times = 0;
    for (struct fake_answer a; (a = fake_take_answer(&s->f, connection)).status != 0; times++) {
        s->last = a;
        buffer_clear(&line);
        print_answer(s, connection, &line);
        if (slice_equal(buffer_slice(&line), buffer_slice(&before)))
            continue;
        if (times > 1)
            buffer_append_format(out, "  %d times\n", times);
        times = 0;
        buffer_append_slice(out, buffer_slice(&line));
        buffer_set(&before, buffer_slice(&line));
    }
    if (times > 1)
        buffer_append_format(out, "  %d times\n", times);
    buffer_deinit(&before);
    buffer_deinit(&line);
}

static void print_received(struct scene *s, struct buffer *out)
{
    const size_t before = out->size;
    for (uint64_t i = 1; i <= FAKE_CLIENTS_MAX; i++) {
        const struct fake_client *c = &s->f.clients[i];
        if (!c->unread)
            print_answers(s, i, out);
        assert_true(c->unread || c->received.size == 0);
        if (c->unsent != s->reported[i].unsent)
            buffer_append_format(out, "%u: %zu bytes unsent\n", (unsigned)i, c->unsent);
        s->reported[i].unsent = c->unsent;
        const char *end = c->aborted ? "aborted" : c->closed ? "closed" : NULL;
        if (end != NULL && end != s->reported[i].end)
            buffer_append_format(out, "%u: %s\n", (unsigned)i, end);
        s->reported[i].end = end;
    }
    if (out->size == before)
        buffer_append_text(out, "nothing\n");
}

/* ---- the router ---- */

static void scene_set(struct scene *s, char *setting)
{
    struct buffer error = {0};
    char *value = strchr(setting, '=');
    assert_non_null(value);
    *value = '\0';
    if (config_set(&s->f.config, slice_of(setting), slice_of(value + 1), &error) != STATUS_OK)
        fail_msg("%.*s", TEXT_OF(error));
    buffer_deinit(&error);
}

static void scene_start(struct scene *s)
{
    static const char SMALL[] = "http_header_max_bytes=1024 http_body_max_bytes=4096";
    static char token[32];
    const bool defaults = strncmp(s->settings, "defaults", strlen("defaults")) == 0;
    char settings[sizeof s->settings + sizeof SMALL], *rest = settings;
    fake_init(&s->f);
    snprintf(settings, sizeof settings, "%s %s", defaults ? "" : SMALL,
             s->settings + (defaults ? strlen("defaults") : 0));
    for (char *word; (word = strtok_r(rest, " ", &rest)) != NULL;) {
        if (strcmp(word, "on-loopback") == 0) {
            s->f.on_loopback = true;
        } else if (strncmp(word, "token=", 6) == 0) {
            snprintf(token, sizeof token, "%s", word + 6);
            s->f.admin_token = token;
        } else {
            scene_set(s, word);
        }
    }
    fake_start(&s->f);
    fake_table(&s->f, "users", "id", ATTR_STRING, NULL, 0, 1);
    fake_open(&s->f, 1);
    memset(s->reported, 0, sizeof s->reported);
    s->next = 1;
    s->memory = 0;
}

static void scene_open(struct scene *s, uint64_t connection)
{
    assert_in_range(connection, 1, FAKE_CLIENTS_MAX);
    if (!s->f.clients[connection].open)
        fake_open(&s->f, connection);
    s->next = connection > s->next ? connection : s->next;
}

static void scene_send(struct scene *s, uint64_t connection, struct slice bytes, size_t piece)
{
    for (size_t at = 0; at < bytes.size && !s->f.clients[connection].closed; at += piece) {
        const size_t left = bytes.size - at;
        fake_send(&s->f, connection, slice_make(bytes.data + at, left < piece ? left : piece));
    }
}

/* ---- commands ---- */

static void run_wire(struct scene *s, const char *text, struct buffer *out)
{
    static const size_t PIECES[] = {SIZE_MAX / 2, 1, 2, 7};
    const char *bytes = strstr(text, " = ");
    struct buffer b = {0}, first = {0};
    assert_non_null(bytes);
    text_append(&b, bytes + 3);
    for (size_t i = 0; i < COUNT_OF(PIECES); i++) {
        fake_deinit(&s->f);
        scene_start(s);
        scene_send(s, 1, buffer_slice(&b), PIECES[i]);
        struct buffer *got = &s->f.clients[1].received;
        if (i == 0)
            buffer_append_slice(&first, buffer_slice(got));
        else if (!slice_equal(buffer_slice(&first), buffer_slice(got)))
            fail_msg("%s: another answer in pieces of %zu:\n%.*s\n%.*s", text, PIECES[i],
                     TEXT_OF(first), TEXT_OF(*got));
        const int status = fake_take_answer(&s->f, 1).status;
        struct buffer line = {0};
        buffer_append_format(&line, "%.*s: %d, %s%s\n", (int)(bytes - text), text, status,
                             s->f.clients[1].closed ? "closed" : "open",
                             s->f.requests[REQUEST_TABLE_DELETE] > 0 ? ", the canary ran" : "");
        if (i == 0)
            buffer_append_slice(out, buffer_slice(&line));
        else
            assert_memory_equal(line.data, out->data + out->size - line.size, line.size);
        buffer_deinit(&line);
    }
    fake_deinit(&s->f);
    scene_start(s);
    buffer_deinit(&b);
    buffer_deinit(&first);
}

/* The rest of a request behind its target. */
static void request_append(struct buffer *b, const char *text)
{
    char operation[32];
    int at = 0;
    assert_int_equal(sscanf(text, "%31s %n", operation, &at), 1);
    buffer_append_format(b, LINE HOST TYPE "X-Amz-Target: DynamoDB_20120810.%s\r\n", operation);
    text_append(b, text[at] == '\0' ? "Content-Length: 2||{}" : text + at);
}

static void packed_append(struct buffer *b, const char *text)
{
    struct buffer plain = {0}, packed = {0};
    char method[8];
    int at = 0;
    assert_int_equal(sscanf(text, "%7s %n", method, &at), 1);
    const char *coding = text + at, *end = strstr(coding, " = ");
    assert_non_null(end);
    text_append(&plain, end + 3);
    pack(&packed, method, &plain);
    buffer_append_format(b, LINE HOST LIST "Content-Encoding: %.*s\r\nContent-Length: %zu\r\n\r\n",
                         (int)(end - coding), coding, packed.size);
    buffer_append_slice(b, buffer_slice(&packed));
    buffer_deinit(&plain);
    buffer_deinit(&packed);
}

/* Commands on a connection. False: it is another command. */
static bool run_on_connection(struct scene *s, const char *verb, const char *text)
{
    struct buffer b = {0};
    char number[8];
    int at = 0;
    if (sscanf(text, "%7s %n", number, &at) != 1)
        return false;
    const uint64_t n = strcmp(number, "new") == 0 ? s->next + 1 : strtoull(number, NULL, 10);
    if (strcmp(verb, "send") == 0 || strcmp(verb, "bytes") == 0)
        text_append(&b, text + at);
    else if (strcmp(verb, "ask") == 0)
        request_append(&b, text + at);
    else if (strcmp(verb, "packed") == 0)
        packed_append(&b, text + at);
    else if (strcmp(verb, "close") == 0)
        router_close(s->f.router, s->f.now, n);
    else if (strcmp(verb, "end") == 0)
        router_end(s->f.router, s->f.now, n);
    else if (strcmp(verb, "admin") == 0)
        fake_open_admin(&s->f, n);
    else if (strcmp(verb, "read") != 0 && strcmp(verb, "unread") != 0 && strcmp(verb, "open") != 0)
        return false;
    if (strcmp(verb, "close") == 0)
        s->f.clients[n].open = false;
    else
        scene_open(s, n);
    if (strcmp(verb, "unread") == 0)
        s->f.clients[n].unread = true;
    if (strcmp(verb, "read") == 0) {
        s->f.clients[n].unread = strcmp(text + at, "0") != 0;
        fake_read(&s->f, n, strtoul(text + at, NULL, 10));
    }
    scene_send(s, n, buffer_slice(&b), strcmp(verb, "bytes") == 0 ? 1 : SIZE_MAX / 2);
    fake_pump(&s->f);
    buffer_deinit(&b);
    return true;
}

static bool run_on_cluster(struct scene *s, const char *verb, const char *text)
{
    char operation[32];
    int at = 0;
    if (strcmp(verb, "after") == 0) {
        fake_advance_ms(&s->f, strtol(text, NULL, 10));
    } else if (strcmp(verb, "answer") == 0 && text[0] == '\0') {
        fake_answer_all(&s->f);
    } else if (strcmp(verb, "answer") == 0) {
        fake_answer(&s->f, strtoul(text, NULL, 10));
    } else if (strcmp(verb, "parse") == 0) {
        if (s->f.parse.parse != NULL)
            fake_parse(&s->f);
        fake_pump(&s->f);
    } else if (strcmp(verb, "call") == 0) {
        struct buffer body = {0};
        assert_int_equal(sscanf(text, "%31s %n", operation, &at), 1);
        text_append(&body, text + at);
        buffer_append_u8(&body, 0);
        fake_send_call(&s->f, 1, operation, (const char *)body.data);
        buffer_deinit(&body);
    } else {
        return false;
    }
    return true;
}

static void run_part(struct scene *s, const char *text, struct buffer *out)
{
    const struct slice body = s->last.body;
    const uint8_t *at = memmem(body.data, body.size, text, strlen(text));
    if (at == NULL)
        fail_msg("no %s in %.*s", text, TEXT_OF(body));
    const size_t left = body.size - (size_t)(at - body.data);
    const uint8_t *end = memchr(at, ',', left < PART_MAX ? left : PART_MAX);
    buffer_append(out, at, end != NULL ? (size_t)(end - at) : left < PART_MAX ? left : PART_MAX);
    buffer_append_u8(out, '\n');
}

static void run_memory(struct scene *s, struct buffer *out)
{
    scene_open(s, s->next + 1);
    fake_send_text(&s->f, s->next, "GET /weir/partitions HTTP/1.1\r\nHost: h\r\n\r\n");
    const struct slice body = fake_take_answer(&s->f, s->next).body;
    const char *at = memmem(body.data, body.size, "\"held_bytes\":", 13);
    assert_non_null(at);
    const int64_t held = strtoll(at + 13, NULL, 10);
    s->memory = s->memory == 0 ? held : s->memory;
    buffer_append_format(out, "%+lld KB\n", (long long)((held - s->memory) / 10000 * 10));
}

static void run_requests(const struct scene *s, struct buffer *out)
{
    int64_t all = 0;
    for (int op = 0; op < REQUEST_OPS; op++)
        all += s->f.requests[op];
    buffer_append_format(out, "%lld requests to nodes\n", (long long)all);
}

static void run_host(const struct scene *s, const char *text, struct buffer *out)
{
    static const char *const KINDS[] = {[HOST_MALFORMED] = "malformed",
                                        [HOST_NAME] = "name",
                                        [HOST_IPV4] = "IPv4",
                                        [HOST_IPV6] = "IPv6"};
    char name[HTTP_HOST_MAX];
    struct buffer host = {0};
    text_append(&host, text);
    const enum host_kind kind = host_read(buffer_slice(&host), name);
    buffer_append_format(out, "%s %.40s%s%s\n", KINDS[kind], name, name[0] == '\0' ? "" : " ",
                         host_passes(buffer_slice(&host), s->hosts) ? "passes" : "is refused");
    buffer_deinit(&host);
}

/* Commands that show something else than what clients get. */
static bool run_other(struct scene *s, const char *verb, char *text, struct buffer *out)
{
    if (strcmp(verb, "fresh") == 0) {
        fake_deinit(&s->f);
        snprintf(s->settings, sizeof s->settings, "%s", text);
        scene_start(s);
    } else if (strcmp(verb, "set") == 0) {
        scene_set(s, text);
    } else if (strcmp(verb, "show") == 0) {
        snprintf(s->shown, sizeof s->shown, "%s", text);
    } else if (strcmp(verb, "hosts") == 0) {
        snprintf(s->hosts, sizeof s->hosts, "%s", text);
    } else if (strcmp(verb, "host") == 0) {
        run_host(s, text, out);
    } else if (strcmp(verb, "hold") == 0) {
        s->f.hold = true;
    } else if (strcmp(verb, "hold-parse") == 0) {
        s->f.hold_parse = true;
    } else if (strcmp(verb, "text") == 0) {
        buffer_append_text(out, s->f.parse.parse != NULL ? "the host has a text\n" : "no text\n");
    } else if (strcmp(verb, "held") == 0) {
        buffer_append_format(out, "%zu held\n", s->f.held_count);
    } else if (strcmp(verb, "asked") == 0) {
        run_requests(s, out);
    } else if (strcmp(verb, "memory") == 0) {
        run_memory(s, out);
    } else if (strcmp(verb, "wire") == 0) {
        run_wire(s, text, out);
    } else if (strcmp(verb, "part") == 0) {
        run_part(s, text, out);
    } else {
        return false;
    }
    return true;
}

static void run(void *world, struct slice command, struct buffer *out);

/* `repeat N COMMAND` */
static void run_repeated(void *world, const char *text, struct buffer *out)
{
    struct buffer before = {0}, came = {0}, command = {0};
    char *at;
    for (long times = strtol(text, &at, 10); times > 0; times--) {
        buffer_clear(&command);
        buffer_clear(&came);
        buffer_append_text(&command, at + 1);
        buffer_append_u8(&command, 0);
        command.size--;
        run(world, buffer_slice(&command), &came);
        if (!slice_equal(buffer_slice(&came), buffer_slice(&before)))
            buffer_append_slice(out, buffer_slice(&came));
        buffer_set(&before, buffer_slice(&came));
    }
    buffer_deinit(&before);
    buffer_deinit(&came);
    buffer_deinit(&command);
}

static void run(void *world, struct slice command, struct buffer *out)
{
    struct scene *s = world;
    char verb[16];
    int at = 0;
    assert_int_equal(sscanf((const char *)command.data, "%15s %n", verb, &at), 1);
    char *text = (char *)(uintptr_t)command.data + at;
    if (strcmp(verb, "repeat") == 0) {
        run_repeated(world, text, out);
        return;
    }
    if (run_other(s, verb, text, out))
        return;
    if (!run_on_cluster(s, verb, text) && !run_on_connection(s, verb, text))
        fail_msg("no command '%s'", verb);
    print_received(s, out);
}

static void *begin(void)
{
    static struct scene s;
    s.settings[0] = s.shown[0] = s.hosts[0] = '\0';
    scene_start(&s);
    return &s;
}

static void end(void *world)
{
    struct scene *s = world;
    fake_deinit(&s->f);
    buffer_deinit(&s->unpacked);
}

TEST(bytes_are_answered_as_in_the_files)
{
    static const struct case_format FORMAT = {begin, end, run};
    case_files_run("http/*.case", &FORMAT);
}
