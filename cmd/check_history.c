/* check_history.c - `weir check-history`: is what clients saw possible? */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/instant.h"
#include "base/must.h"
#include "cmd/arguments.h"
#include "cmd/cmd.h"
#include "cmd/history.h"
#include "router/json/json_writer.h"

enum {
    CHUNK_SIZE = 1 << 20,
    SHOWN_BEFORE = 8, /* operations around a culprit */
    SHOWN_AFTER = 4,
    SHOWN_VIOLATIONS = 5,

    EXIT_LINEARIZABLE = 0,
    EXIT_VIOLATION = 1,
    EXIT_BAD_INPUT = 2,
    EXIT_UNDECIDED = 3,
};

static const char help[] =
    "usage: weir check-history [--json] [--quiet] FILE...\n\n"
    "Decides whether the histories that `weir load --history` wrote are linearizable, key by key:\n"
    "whether every operation can have happened at one instant between its request and its answer.\n"
    "A failed write never happened; one of unknown outcome may happen at any time, or never.\n"
    "Reads marked \"consistent\":false may be stale, but only of values that were written.\n"
    "Each FILE is a history of its own. Its table must have been empty at the start, so a preload\n"
    "has to be in it (`weir load --preload --history` sees to that).\n\n"
    "  --json     the verdict as one JSON object a file\n"
    "  --quiet    no progress on standard error\n"
    "  --help     this text\n\n"
    "Exit code 0: linearizable; 1: a violation; 2: the input cannot be read; 3: undecided, the\n"
    "search became too large.\n\n"
    "examples:\n"
    "  weir load --create-table --rate max --read-ratio 0.5 --consistent --keys 10 \\\n"
    "            --history run.jsonl\n"
    "  weir check-history run.jsonl\n"
    "  weir check-history --json run.jsonl\n";

struct violation {
    uint32_t key;
    uint64_t op;
};

struct check_run {
    const char *path;
    bool json, quiet;
    bool torn;
    struct history history;
    int64_t ok, fail, info, unanswered, eventual;
    int64_t violation_count, undecided_count;
    struct violation violations[SHOWN_VIOLATIONS];
    int64_t told_ns; /* when progress was last told */
};

/* ---- reading ---- */

static enum status add_last_line(struct check_run *r, struct slice line, struct buffer *error)
{
    if (line.size == 0)
        return STATUS_OK;
    if (history_add_line(&r->history, line, error) == STATUS_OK)
        return STATUS_OK;
    buffer_clear(error);
    r->torn = true;
    if (!r->quiet)
        fprintf(stderr,
                "weir check-history: %s: the last line (%zu bytes) has no end: it was cut off, and "
                "is left out\n",
                r->path, line.size);
    return STATUS_OK;
}

/* The lines that are whole; what is left moves to the front. */
static enum status add_lines(struct check_run *r, struct buffer *text, struct buffer *error)
{
    size_t at = 0;
    const uint8_t *end;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && (end = memchr(text->data + at, '\n', text->size - at)) != NULL) {
        size_t size = (size_t)(end - text->data) - at;
        if (size > 0)
            status = history_add_line(&r->history, slice_make(text->data + at, size), error);
        else
            r->history.lines++;
        at += size + 1;
    }
    text->size -= at;
    memmove(text->data, text->data + at, text->size);
    if (status == STATUS_OK && text->size > HISTORY_LINE_SIZE_MAX) {
        buffer_append_format(error, "line %lld: longer than %d bytes",
                             (long long)r->history.lines + 1, HISTORY_LINE_SIZE_MAX);
        status = STATUS_MALFORMED;
    }
    return status;
}

static enum status read_file(struct check_run *r, struct buffer *error)
{
    FILE *f = strcmp(r->path, "-") == 0 ? stdin : fopen(r->path, "re");
    if (f == NULL) {
        buffer_append_format(error, "%s", strerror(errno));
        return STATUS_IO;
    }
    struct buffer text = {0};
    enum status status = STATUS_OK;
    size_t n;
    while (status == STATUS_OK &&
           (n = fread(buffer_reserve(&text, CHUNK_SIZE + HISTORY_LINE_PADDING), 1, CHUNK_SIZE, f)) >
               0) {
        text.size += n;
        status = add_lines(r, &text, error);
    }
    if (status == STATUS_OK && ferror(f)) {
        buffer_append_format(error, "%s", strerror(errno));
        status = STATUS_IO;
    }
    if (status == STATUS_OK)
        status = add_last_line(r, buffer_slice(&text), error);
    if (f != stdin)
        fclose(f);
    buffer_deinit(&text);
    if (status == STATUS_OK && r->history.count == 0) {
        buffer_append_text(error, "holds no operations");
        status = STATUS_MALFORMED;
    }
    return status == STATUS_OK ? history_group(&r->history, error) : status;
}

static void count_outcomes(struct check_run *r)
{
    for (size_t i = 0; i < r->history.count; i++) {
        const struct history_entry *e = &r->history.entries[i];
        r->ok += e->op.outcome == HISTORY_OK;
        r->fail += e->op.outcome == HISTORY_FAIL;
        r->info += e->op.outcome == HISTORY_INFO;
        r->unanswered += e->returned_line == 0;
        r->eventual += e->eventual;
    }
}

/* ---- checking ---- */

static void tell_progress(struct check_run *r, uint32_t key)
{
    struct timespec t;
    must(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
    int64_t now_ns = t.tv_sec * NS_PER_S + t.tv_nsec;
    if (r->told_ns == 0)
        r->told_ns = now_ns;
    if (r->quiet || now_ns - r->told_ns < NS_PER_S)
        return;
    r->told_ns = now_ns;
    fprintf(stderr, "weir check-history: %s: key %u of %u, %zu operations\n", r->path, key + 1,
            r->history.key_count, r->history.keys[key].count);
}

static void add_violation(struct check_run *r, uint32_t key, uint64_t op)
{
    if (r->violation_count < SHOWN_VIOLATIONS)
        r->violations[r->violation_count] = (struct violation){key, op};
    r->violation_count++;
}

static void check_key(struct check_run *r, uint32_t key, struct history_op *ops)
{
    struct history_verdict v;
    history_check(ops, history_strong_ops(&r->history, key, ops), &v);
    if (v.exhausted)
        r->undecided_count++;
    else if (!v.linearizable)
        add_violation(r, key, v.culprit);
    const struct history_entry *wrong = history_false_read(&r->history, key);
    if (wrong != NULL)
        add_violation(r, key, wrong->op.id);
}

static void check_all(struct check_run *r)
{
    size_t most = 0;
    for (uint32_t key = 0; key < r->history.key_count; key++)
        most = r->history.keys[key].count > most ? r->history.keys[key].count : most;
    struct history_op *ops = malloc((most + 1) * sizeof *ops);
    must(ops != NULL);
    for (uint32_t key = 0; key < r->history.key_count; key++) {
        tell_progress(r, key);
        check_key(r, key, ops);
    }
    free(ops);
}

/* ---- telling ---- */

static void show_entry(const struct history_entry *e, const char *mark)
{
    struct buffer line = {0};
    history_describe(e, &line);
    printf("  %s %.*s\n", mark, (int)line.size, (const char *)line.data);
    buffer_deinit(&line);
}

static void show_writer(const struct check_run *r, const struct history_key *k,
                        const struct history_entry *culprit)
{
    if (culprit->op.kind != HISTORY_READ || culprit->op.value == 0)
        return;
    for (size_t i = k->first; i < k->first + k->count; i++) {
        const struct history_entry *e = &r->history.entries[i];
        if (e->op.kind == HISTORY_WRITE && e->op.value == culprit->op.value) {
            puts("  what it read was written by");
            show_entry(e, "w");
            return;
        }
    }
    puts("  nobody wrote what it read");
}

static void show_violation(const struct check_run *r, const struct violation *v)
{
    const struct history_key *k = &r->history.keys[v->key];
    size_t end = k->first + k->count, at = k->first;
    while (at < end && r->history.entries[at].op.id != v->op)
        at++;
    must(at < end);
    printf("NOT linearizable: key %s%s%s; no order of its operations explains\n", k->name,
           k->table[0] ? " of table " : "", k->table);
    show_entry(&r->history.entries[at], ">");
    show_writer(r, k, &r->history.entries[at]);
    puts("  around it, by invocation:");
    size_t from = at - k->first > SHOWN_BEFORE ? at - SHOWN_BEFORE : k->first;
    for (size_t i = from; i < end && i <= at + SHOWN_AFTER; i++)
        show_entry(&r->history.entries[i], i == at ? ">" : " ");
}

static const char *verdict_of(const struct check_run *r)
{
    return r->violation_count   ? "NOT linearizable"
           : r->undecided_count ? "undecided"
                                : "linearizable";
}

static void show_text(const struct check_run *r)
{
    for (int64_t i = 0; i < r->violation_count && i < SHOWN_VIOLATIONS; i++)
        show_violation(r, &r->violations[i]);
    printf("%s: %zu operations on %u keys: %lld ok, %lld failed, %lld of unknown outcome", r->path,
           r->history.count, r->history.key_count, (long long)r->ok, (long long)r->fail,
           (long long)r->info);
    if (r->eventual > 0)
        printf(", %lld eventual reads", (long long)r->eventual);
    printf(": %s", verdict_of(r));
    if (r->violation_count > 0)
        printf(" (%lld violations)", (long long)r->violation_count);
    if (r->undecided_count > 0)
        printf(" (%lld keys undecided)", (long long)r->undecided_count);
    puts("");
}

static void show_json(const struct check_run *r)
{
    struct buffer out = {0};
    json_write_open(&out, '{');
    json_member_text(&out, "file", r->path);
    json_write_key(&out, "linearizable");
    json_write_bool(&out, r->violation_count == 0 && r->undecided_count == 0);
    json_member_integer(&out, "operations", (int64_t)r->history.count);
    json_member_integer(&out, "keys", r->history.key_count);
    json_member_integer(&out, "ok", r->ok);
    json_member_integer(&out, "fail", r->fail);
    json_member_integer(&out, "info", r->info);
    json_member_integer(&out, "unanswered", r->unanswered);
    json_member_integer(&out, "eventual_reads", r->eventual);
    json_member_integer(&out, "undecided_keys", r->undecided_count);
    json_member_integer(&out, "violations", r->violation_count);
    json_write_key(&out, "torn");
    json_write_bool(&out, r->torn);
    json_member_open(&out, "culprits", '[');
    for (int64_t i = 0; i < r->violation_count && i < SHOWN_VIOLATIONS; i++) {
        const struct history_key *k = &r->history.keys[r->violations[i].key];
        json_write_open(&out, '{');
        json_member_text(&out, "table", k->table);
        json_member_text(&out, "key", k->name);
        json_member_integer(&out, "op", (int64_t)r->violations[i].op);
        json_write_close(&out, '}');
    }
    json_write_close(&out, ']');
    json_write_close(&out, '}');
    printf("%.*s\n", (int)out.size, (const char *)out.data);
    buffer_deinit(&out);
}

static int check_file(const char *path, bool json, bool quiet)
{
    struct check_run r = {.path = path, .json = json, .quiet = quiet};
    struct buffer error = {0};
    history_init(&r.history);
    int code = EXIT_BAD_INPUT;
    if (read_file(&r, &error) == STATUS_OK) {
        count_outcomes(&r);
        check_all(&r);
        if (json)
            show_json(&r);
        else
            show_text(&r);
        code = r.violation_count   ? EXIT_VIOLATION
               : r.undecided_count ? EXIT_UNDECIDED
                                   : EXIT_LINEARIZABLE;
    } else {
        fprintf(stderr, "weir check-history: %s: %.*s\n", path, (int)error.size,
                (const char *)error.data);
    }
    history_deinit(&r.history);
    buffer_deinit(&error);
    return code;
}

/* The worst of the files decides; a violation is worse than an unreadable file. */
static int worse(int a, int b)
{
    static const int rank[] = {0, 3, 2, 1};
    return rank[a] > rank[b] ? a : b;
}

int cmd_check_history(int argc, char **argv)
{
    enum {
        HELP,
        JSON,
        QUIET
    };
    static const struct argument_spec specs[] = {
        {"help", ARGUMENT_FLAG, HELP},
        {"json", ARGUMENT_FLAG, JSON},
        {"quiet", ARGUMENT_FLAG, QUIET},
    };
    struct arguments a = {specs, sizeof specs / sizeof specs[0], argc, argv, 1};
    struct buffer error = {0};
    bool json = false, quiet = false;
    int files = 0, code = EXIT_LINEARIZABLE, option;
    const char *value;
    while ((option = arguments_next(&a, &value, &error)) != ARGUMENTS_END) {
        if (option == HELP) {
            fputs(help, stdout);
            return 0;
        }
        if (option == ARGUMENTS_WRONG) {
            fprintf(stderr, "weir check-history: %.*s; see `weir check-history --help`\n",
                    (int)error.size, (const char *)error.data);
            buffer_deinit(&error);
            return EXIT_BAD_INPUT;
        }
        json |= option == JSON;
        quiet |= option == QUIET;
        if (option == ARGUMENTS_WORD)
            argv[1 + files++] = argv[a.next - 1];
    }
    if (files == 0) {
        fputs("weir check-history: which FILE? See `weir check-history --help`\n", stderr);
        return EXIT_BAD_INPUT;
    }
    for (int i = 1; i <= files; i++)
        code = worse(code, check_file(argv[i], json, quiet));
    return code;
}
