/* check_history.c - `weir check-history`: could clients have seen this history? */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/instant.h"
#include "cmd/cmd.h"
#include "cmd/usage.h"
#include "router/json/json_writer.h"
#include "workload/history_check.h"

enum {
    SHOWN_BEFORE = 8, /* operations around a culprit */
    SHOWN_AFTER = 4,

    EXIT_LINEARIZABLE = 0,
    EXIT_VIOLATION = 1,
    EXIT_BAD_INPUT = 2,
    EXIT_UNDECIDED = 3,
};

static const char about[] =
    "Checks, key by key, that histories of `weir load --history` are linearizable: every operation "
    "can have happened at one instant between its request and its answer. A failed write never "
    "happened. A write of unknown outcome may happen at any time, or never. Reads marked "
    "\"consistent\":false may be stale, but return only written values. A write "
    "with \"after\" must directly follow that value, as a compare-and-set does. A key with \"add\" "
    "is a counter. workload/history.h describes the lines.\n\n"
    "Each FILE is a separate history; - is standard input. Its table must have been empty at the "
    "start, so the history must contain a preload (`weir load --preload --history` writes it).\n\n"
    "Exit code 0: linearizable; 1: a violation; 2: the input cannot be read; 3: undecided, the "
    "search became too large.\n";

struct check_run {
    const char *path;
    bool quiet;
    int64_t printed_ns; /* time of the last progress line */
    struct history_check check;
};

static enum status read_file(struct check_run *r, struct buffer *error)
{
    enum status status = history_check_read(&r->check, r->path, error);
    if (r->check.torn_bytes > 0 && !r->quiet)
        fprintf(stderr,
                "weir check-history: %s: the last line (%zu bytes) has no end: it is incomplete, "
                "and is ignored\n",
                r->path, r->check.torn_bytes);
    return status;
}

static void check_print_progress(void *context, uint32_t key)
{
    struct check_run *r = context;
    const struct history *h = &r->check.history;
    struct timespec t;
    must(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
    int64_t now_ns = t.tv_sec * NS_PER_S + t.tv_nsec;
    if (r->printed_ns == 0)
        r->printed_ns = now_ns;
    if (r->quiet || now_ns - r->printed_ns < NS_PER_S)
        return;
    r->printed_ns = now_ns;
    fprintf(stderr, "weir check-history: %s: key %u of %u, %zu operations\n", r->path, key + 1,
            h->key_count, h->keys[key].count);
}

/* ---- telling ---- */

static void show_entry(const struct history_entry *e, const char *mark)
{
    struct buffer line = {0};
    history_describe(e, &line);
    printf("  %s %.*s\n", mark, TEXT_OF(line));
    buffer_deinit(&line);
}

static void show_writer(const struct check_run *r, const struct history_key *k,
                        const struct history_entry *culprit)
{
    if (culprit->op.kind != HISTORY_READ || culprit->op.value == 0)
        return;
    for (size_t i = k->first; i < k->first + k->count; i++) {
        const struct history_entry *e = &r->check.history.entries[i];
        if (e->op.kind == HISTORY_WRITE && e->op.value == culprit->op.value) {
            puts("  the value that it read was written by");
            show_entry(e, "w");
            return;
        }
    }
    puts("  no write wrote the value that it read");
}

static void show_violation(const struct check_run *r, const struct history_violation *v)
{
    const struct history_key *k = &r->check.history.keys[v->key];
    size_t end = k->first + k->count, at = k->first;
    while (at < end && r->check.history.entries[at].op.id != v->op)
        at++;
    must(at < end);
    printf("NOT linearizable: key %s%s%s; no order of its operations explains\n", k->name,
           k->table[0] ? " of table " : "", k->table);
    show_entry(&r->check.history.entries[at], ">");
    show_writer(r, k, &r->check.history.entries[at]);
    puts("  around it, by invocation:");
    size_t from = at - k->first > SHOWN_BEFORE ? at - SHOWN_BEFORE : k->first;
    for (size_t i = from; i < end && i <= at + SHOWN_AFTER; i++)
        show_entry(&r->check.history.entries[i], i == at ? ">" : " ");
}

static const char *history_verdict_of(const struct check_run *r)
{
    return r->check.violation_count   ? "NOT linearizable"
           : r->check.undecided_count ? "undecided"
                                      : "linearizable";
}

static void check_show_text(const struct check_run *r)
{
    for (int64_t i = 0; i < r->check.violation_count && i < HISTORY_VIOLATIONS_KEPT; i++)
        show_violation(r, &r->check.violations[i]);
    printf("%s: %zu operations on %u keys: %lld ok, %lld failed, %lld of unknown outcome", r->path,
           r->check.history.count, r->check.history.key_count, (long long)r->check.ok,
           (long long)r->check.fail, (long long)r->check.info);
    if (r->check.eventual > 0)
        printf(", %lld eventual reads", (long long)r->check.eventual);
    printf(": %s", history_verdict_of(r));
    if (r->check.violation_count > 0)
        printf(" (%lld violations)", (long long)r->check.violation_count);
    if (r->check.undecided_count > 0)
        printf(" (%lld keys undecided)", (long long)r->check.undecided_count);
    puts("");
}

static void check_show_json(const struct check_run *r)
{
    struct buffer out = {0};
    json_write_open(&out, '{');
    json_member_text(&out, "file", r->path);
    json_member_bool(&out, "linearizable",
                     r->check.violation_count == 0 && r->check.undecided_count == 0);
    json_member_integer(&out, "operations", (int64_t)r->check.history.count);
    json_member_integer(&out, "keys", r->check.history.key_count);
    json_member_integer(&out, "ok", r->check.ok);
    json_member_integer(&out, "fail", r->check.fail);
    json_member_integer(&out, "info", r->check.info);
    json_member_integer(&out, "unanswered", r->check.unanswered);
    json_member_integer(&out, "eventual_reads", r->check.eventual);
    json_member_integer(&out, "undecided_keys", r->check.undecided_count);
    json_member_integer(&out, "violations", r->check.violation_count);
    json_member_bool(&out, "torn", r->check.torn_bytes > 0);
    json_member_open(&out, "culprits", '[');
    for (int64_t i = 0; i < r->check.violation_count && i < HISTORY_VIOLATIONS_KEPT; i++) {
        const struct history_key *k = &r->check.history.keys[r->check.violations[i].key];
        json_write_open(&out, '{');
        json_member_text(&out, "table", k->table);
        json_member_text(&out, "key", k->name);
        json_member_integer(&out, "op", (int64_t)r->check.violations[i].op);
        json_write_close(&out, '}');
    }
    json_write_closes(&out, "]}");
    printf("%.*s\n", TEXT_OF(out));
    buffer_deinit(&out);
}

static int check_file(const char *path, bool json, bool quiet)
{
    struct check_run r = {.path = path, .quiet = quiet};
    struct buffer error = {0};
    history_check_init(&r.check);
    int code = EXIT_BAD_INPUT;
    if (read_file(&r, &error) == STATUS_OK) {
        history_check_evaluate(&r.check, check_print_progress, &r);
        if (json)
            check_show_json(&r);
        else
            check_show_text(&r);
        code = r.check.violation_count   ? EXIT_VIOLATION
               : r.check.undecided_count ? EXIT_UNDECIDED
                                         : EXIT_LINEARIZABLE;
    } else {
        fprintf(stderr, "weir check-history: %.*s\n", TEXT_OF(error));
    }
    history_check_deinit(&r.check);
    buffer_deinit(&error);
    return code;
}

/* The worst file decides the exit code; a violation is worse than an unreadable file. */
static int check_worse(int a, int b)
{
    static const int rank[] = {0, 3, 2, 1};
    return rank[a] > rank[b] ? a : b;
}

struct check_options {
    bool json, quiet;
    const char **files; /* owns; borrows the names */
    int file_count;
};

static const struct field check_history_options[] = {
    {"json", FIELD_FLAG, FIELD_MEMBER(struct check_options, json),
     .help = "Print the verdict as one JSON object per file."},
    {"quiet", FIELD_FLAG, FIELD_MEMBER(struct check_options, quiet),
     .help = "Print no progress on standard error."},
};

int cmd_check_history(int argc, char **argv)
{
    struct check_options o = {.files = must_calloc((size_t)argc, sizeof(const char *))};
    const struct command_line line = {
        .command = "weir check-history",
        .usage = "[--json] [--quiet] FILE...",
        .about = about,
        .examples = "  weir load --create-table --rate max --read-ratio 0.5 --consistent --keys 10 "
                    "\\\n            --history run.jsonl\n"
                    "  weir check-history run.jsonl\n"
                    "  weir check-history --json run.jsonl\n",
        .groups = {OPTION_GROUP(NULL, check_history_options, &o)},
        .words = {o.files, &o.file_count, 1, argc, "at least one FILE"}};
    int code = usage_parse(&line, argc, argv);
    if (code == USAGE_GO_ON) {
        code = EXIT_LINEARIZABLE;
        for (int i = 0; i < o.file_count; i++)
            code = check_worse(code, check_file(o.files[i], o.json, o.quiet));
    }
    free(o.files);
    return code;
}
