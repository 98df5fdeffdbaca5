/* history_test.c - what load writes is read back; what is not a history is refused with its line.
 */
#include "tests/check.h"

#include "cmd/cmd.h"
#include "tests/temporary.h"
#include "workload/history.h"
#include "workload/load_history.h"

static enum status add(struct history *h, const char *text, struct buffer *error)
{
    struct buffer line = {0};
    buffer_append_text(&line, text);
    buffer_reserve(&line, HISTORY_LINE_PADDING);
    enum status status = history_add_line(h, buffer_slice(&line), error);
    buffer_deinit(&line);
    return status;
}

static void refuses(const char *before, const char *line, const char *text)
{
    struct history h;
    struct buffer error = {0};
    history_init(&h);
    if (before != NULL)
        assert_int_equal(add(&h, before, &error), STATUS_OK);
    assert_int_equal(add(&h, line, &error), STATUS_MALFORMED);
    assert_slice_is(buffer_slice(&error), text);
    assert_int_equal(h.count, before != NULL);
    buffer_deinit(&error);
    history_deinit(&h);
}

static const char invocation[] =
    "{\"op\":7,\"type\":\"invoke\",\"t\":5,\"f\":\"read\",\"key\":\"k\"}";

FILE_FIXTURE(temporary_setup, temporary_teardown)

TEST(what_is_no_history_is_refused_with_its_line)
{
    refuses(NULL, "hello", "line 1: not a JSON object");
    refuses(NULL, "[1]", "line 1: not a JSON object");
    refuses(NULL, "{\"op\":7,\"type\":\"ok\"}", "line 1: `op`, `t` and `type` are needed");
    refuses(NULL, "{\"op\":0,\"type\":\"ok\",\"t\":1}", "line 1: `op` is a whole number above 0");
    refuses(NULL, "{\"op\":7,\"type\":\"ok\",\"t\":-1}",
            "line 1: `t` is a whole number of nanoseconds");
    refuses(NULL, "{\"op\":7,\"type\":\"ok\",\"t\":1}",
            "line 1: a return of an `op` that is not in flight");
    refuses(NULL, "{\"op\":7,\"type\":\"invoke\",\"t\":5,\"f\":\"cas\",\"key\":\"k\"}",
            "line 1: `f` of an invocation is read, write or add");
    refuses(NULL, "{\"op\":7,\"type\":\"invoke\",\"t\":5,\"f\":\"read\"}",
            "line 1: an invocation needs a `key`");
    refuses(NULL,
            "{\"op\":7,\"type\":\"invoke\",\"t\":5,\"f\":\"write\",\"key\":\"k\",\"value\":\"x\"}",
            "line 1: a value is null or 1 to 16 hexadecimal digits, not all 0");
    refuses(NULL, "{\"op\":7,\"type\":\"invoke\",\"t\":5,\"f\":\"write\",\"key\":\"k\"}",
            "line 1: a value is null or 1 to 16 hexadecimal digits, not all 0");
    refuses(invocation, invocation, "line 2: this `op` was invoked before");
    refuses(invocation, "{\"op\":7,\"type\":\"ok\",\"t\":4,\"value\":null}",
            "line 2: it returns before it was invoked");
    refuses(invocation, "{\"op\":7,\"type\":\"done\",\"t\":6}",
            "line 2: `type` is invoke, ok, fail or info");
    refuses(invocation, "{\"op\":7,\"type\":\"ok\",\"t\":6,\"value\":\"\"}",
            "line 2: a value is null or 1 to 16 hexadecimal digits, not all 0");
}

TEST(two_writes_of_one_value_to_a_key_are_refused)
{
    struct history h;
    struct buffer error = {0};
    history_init(&h);
    for (int op = 1; op <= 3; op++) {
        char line[200];
        snprintf(line, sizeof line,
                 "{\"op\":%d,\"type\":\"invoke\",\"t\":5,\"f\":\"write\",\"key\":\"%s\",\"value\":"
                 "\"a\"}",
                 op, op == 2 ? "other" : "k");
        assert_int_equal(add(&h, line, &error), STATUS_OK);
    }
    assert_int_equal(history_group(&h, &error), STATUS_MALFORMED);
    assert_slice_is(buffer_slice(&error), "lines 1 and 3 write the same value to key k: every "
                                          "write must write another one");
    buffer_deinit(&error);
    history_deinit(&h);
}

/* ---- whole files, through the command ---- */

struct script {
    char path[4096];
    struct load_history history;
    struct load_workload_options options;
};

static void begin(struct script *s, const char *directory)
{
    snprintf(s->path, sizeof s->path, "%s/history.jsonl", directory);
    s->history = (struct load_history){.file = fopen(s->path, "w")};
    s->options = (struct load_workload_options){.table = "t", .traffic = {.keys = {.count = 10}}};
    assert_non_null(s->history.file);
}

static void invoke(struct script *s, uint64_t number, bool is_read, bool consistent)
{
    struct load_request r = {
        .number = number, .kind = is_read ? LOAD_GET : LOAD_PUT, .sent_ns = (int64_t)number};
    s->options.consistent = consistent;
    load_history_invoke(&s->history, &s->options, &r);
}

static void answer(struct script *s, uint64_t number, bool is_read, int status, const char *body)
{
    struct load_request r = {.number = number, .kind = is_read ? LOAD_GET : LOAD_PUT};
    struct load_verdict v;
    struct json_parser *parser = json_parser_create();
    struct json_value root;
    struct buffer text = {0};
    buffer_append_text(&text, body);
    buffer_reserve(&text, JSON_PADDING);
    assert_int_equal(json_parse(parser, buffer_slice(&text), &root), STATUS_OK);
    load_verdict_of(status, &root, &v);
    load_history_return(&s->history, &r, (int64_t)number, &v, &root);
    json_parser_destroy(parser);
    buffer_deinit(&text);
}

static int check(struct script *s)
{
    fclose(s->history.file);
    load_history_deinit(&s->history);
    char *argv[] = {(char[]){"check-history"}, (char[]){"--quiet"}, s->path};
    return cmd_check_history(3, argv);
}

static const char item_of_1[] = "{\"Item\":{\"v\":{\"S\":\"0000000000000001\"}}}";
static const char throttled[] = "{\"__type\":\"x#ProvisionedThroughputExceededException\"}";

TEST(a_refused_write_did_nothing_and_one_that_broke_may_have)
{
    for (int status = 400; status <= 500; status += 100) {
        struct script s;
        begin(&s, *state);
        invoke(&s, 1, false, true);
        answer(&s, 1, false, status, throttled);
        invoke(&s, 2, true, true);
        answer(&s, 2, true, 200, item_of_1);
        assert_int_equal(check(&s), status == 400 ? 1 : 0);
    }
}

TEST(a_failed_read_proves_nothing)
{
    struct script s;
    begin(&s, *state);
    invoke(&s, 1, false, true);
    answer(&s, 1, false, 200, "{}");
    invoke(&s, 2, true, true);
    answer(&s, 2, true, 500, "{}");
    invoke(&s, 3, true, true); /* never answered */
    assert_int_equal(check(&s), 0);
}

TEST(an_eventual_read_may_be_stale_but_not_invented)
{
    static const char item_of_9[] = "{\"Item\":{\"v\":{\"S\":\"0000000000000009\"}}}";
    for (int invented = 0; invented < 2; invented++) {
        struct script s;
        begin(&s, *state);
        for (uint64_t number = 1; number <= 2; number++) {
            invoke(&s, number, false, true);
            answer(&s, number, false, 200, "{}");
        }
        invoke(&s, 3, true, false);
        answer(&s, 3, true, 200, invented ? item_of_9 : item_of_1);
        assert_int_equal(check(&s), invented);
    }
}

TEST(a_torn_last_line_is_left_out_and_a_torn_middle_is_not)
{
    for (int middle = 0; middle < 2; middle++) {
        struct script s;
        begin(&s, *state);
        invoke(&s, 1, false, true);
        fputs("{\"op\":1,\"ty", s.history.file);
        if (middle) {
            fputs("\n", s.history.file);
            invoke(&s, 2, true, true);
        }
        assert_int_equal(check(&s), middle ? 2 : 0);
    }
}

TEST(an_empty_file_is_no_proof)
{
    struct script s;
    begin(&s, *state);
    assert_int_equal(check(&s), 2);
}

/* `lines`, each "OP TYPE and more members". */
static int check_lines(struct script *s, const char *directory, const char *const *lines)
{
    begin(s, directory);
    for (int i = 0; lines[i] != NULL; i++)
        fprintf(s->history.file, "{\"t\":%d,\"key\":\"k\",%s}\n", i, lines[i]);
    return check(s);
}

#define INVOKE(op, more)       "\"op\":" op ",\"type\":\"invoke\"," more
#define RETURN(op, type, more) "\"op\":" op ",\"type\":\"" type "\"" more
#define CREATES(value)         "\"f\":\"write\",\"value\":\"" value "\",\"after\":null"

TEST(of_two_creations_of_one_item_one_is_refused)
{
    static const char *const both[] = {INVOKE("1", CREATES("a")), INVOKE("2", CREATES("b")),
                                       RETURN("1", "ok", ""), RETURN("2", "ok", ""), NULL};
    static const char *const one[] = {INVOKE("1", CREATES("a")), INVOKE("2", CREATES("b")),
                                      RETURN("1", "ok", ""),
                                      RETURN("2", "fail", ",\"value\":\"a\""), NULL};
    struct script s;
    assert_int_equal(check_lines(&s, *state, both), 1);
    assert_int_equal(check_lines(&s, *state, one), 0);
}

/* The refusal is a read of what the write met. */
TEST(a_refusal_that_shows_a_write_that_never_was_is_found)
{
    static const char *const lines[] = {INVOKE("1", CREATES("a")), RETURN("1", "fail", ""),
                                        INVOKE("2", CREATES("b")),
                                        RETURN("2", "fail", ",\"value\":\"a\""), NULL};
    struct script s;
    assert_int_equal(check_lines(&s, *state, lines), 1);
}

TEST(a_counter_gives_no_value_twice)
{
    static const char *const twice[] = {INVOKE("1", "\"f\":\"add\""), INVOKE("2", "\"f\":\"add\""),
                                        RETURN("1", "ok", ",\"value\":\"1\""),
                                        RETURN("2", "ok", ",\"value\":\"1\""), NULL};
    static const char *const lost[] = {
        INVOKE("1", "\"f\":\"add\""), RETURN("1", "ok", ",\"value\":\"1\""),
        INVOKE("2", "\"f\":\"read\""), RETURN("2", "ok", ",\"value\":null"), NULL};
    static const char *const unknown[] = {INVOKE("1", "\"f\":\"add\""), RETURN("1", "info", ""),
                                          INVOKE("2", "\"f\":\"add\""),
                                          RETURN("2", "ok", ",\"value\":\"2\""), NULL};
    static const char *const mixed[] = {INVOKE("1", "\"f\":\"add\""), INVOKE("2", CREATES("a")),
                                        NULL};
    struct script s;
    assert_int_equal(check_lines(&s, *state, twice), 1);
    assert_int_equal(check_lines(&s, *state, lost), 1);
    assert_int_equal(check_lines(&s, *state, unknown), 0);
    assert_int_equal(check_lines(&s, *state, mixed), 2);
}
