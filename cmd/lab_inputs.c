#include "cmd/lab_inputs.h"

#include "cmd/file_hash.h"
#include "cmd/version.h"
#include "router/json/json.h"
#include "router/json/json_writer.h"
#include "workload/trace_shipped.h"

/* A trace that comes with weir has no file. */
static bool input_hash(const char *path, char hash[FILE_HASH_TEXT_SIZE], struct buffer *error)
{
    if (!trace_is_shipped(path))
        return file_hash(path, hash, error);
    const struct trace_shipped *shipped = trace_shipped_find(path, error);
    if (shipped != NULL)
        text_hash(shipped->text, hash);
    return shipped != NULL;
}

static bool input_write(const char *path, struct buffer *json, struct buffer *error)
{
    char hash[FILE_HASH_TEXT_SIZE];
    if (!input_hash(path, hash, error))
        return false;
    json_write_open(json, '{');
    json_member_text(json, "file", path);
    json_member_text(json, "sha256", hash);
    json_write_close(json, '}');
    return true;
}

bool lab_inputs_write(const struct lab_plan *p, struct buffer *json, struct buffer *error)
{
    bool good = true;
    json_member_text(json, "build", version_build());
    json_member_open(json, "inputs", '[');
    for (uint32_t i = 0; i < p->options.policy_file_count && good; i++)
        good = input_write(p->options.policy_files[i], json, error);
    for (uint32_t i = 0; i < p->trace_count && good; i++)
        good = input_write(p->traces[i], json, error);
    json_write_close(json, ']');
    return good;
}

/* The root of a plan's JSON; absent: it is none. */
static struct json_value plan_root(struct json_parser *parser, const struct buffer *json,
                                   struct buffer *padded)
{
    struct json_value root = {0};
    buffer_append_slice(padded, buffer_slice(json));
    buffer_reserve(padded, JSON_PADDING);
    if (json_parse(parser, buffer_slice(padded), &root) != STATUS_OK)
        root = (struct json_value){0};
    return root;
}

static void inputs_copy(const struct json_value *inputs, struct buffer *out)
{
    struct json_value input;
    struct json_cursor c = json_elements(inputs);
    while (json_next_element(&c, &input)) {
        const struct json_value file = json_find(&input, "file"),
                                hash = json_find(&input, "sha256");
        json_write_open(out, '{');
        json_member_string(out, "file", json_text(&file));
        json_member_string(out, "sha256", json_text(&hash));
        json_write_close(out, '}');
    }
}

void lab_inputs_copy(const struct buffer *plan, struct buffer *members)
{
    struct json_parser *parser = json_parser_create();
    struct buffer padded = {0}, object = {0};
    const struct json_value root = plan_root(parser, plan, &padded),
                            build = json_find(&root, "build"), inputs = json_find(&root, "inputs");
    if (build.type == JSON_STRING && inputs.type == JSON_LIST) {
        json_write_open(&object, '{');
        json_member_string(&object, "build", json_text(&build));
        json_member_open(&object, "inputs", '[');
        inputs_copy(&inputs, &object);
        json_write_close(&object, ']');
        buffer_append(members, object.data + 1, object.size - 1);
    }
    json_parser_destroy(parser);
    buffer_deinit(&padded);
    buffer_deinit(&object);
}

/* ---- differences ---- */

/* The SHA-256 of a file among the inputs; no bytes: it is not among them. */
static struct slice inputs_hash(const struct json_value *inputs, struct slice file)
{
    struct json_value input;
    if (inputs->type != JSON_LIST)
        return slice_make(NULL, 0);
    struct json_cursor c = json_elements(inputs);
    while (json_next_element(&c, &input)) {
        struct json_value name = json_find(&input, "file"), hash = json_find(&input, "sha256");
        if (slice_equal(json_text(&name), file))
            return json_text(&hash);
    }
    return slice_make(NULL, 0);
}

static bool inputs_compare(const struct json_value *then, const struct json_value *now,
                           struct buffer *error)
{
    struct json_value input;
    if (now->type != JSON_LIST)
        return true;
    struct json_cursor c = json_elements(now);
    while (json_next_element(&c, &input)) {
        struct json_value name = json_find(&input, "file"), hash = json_find(&input, "sha256");
        const struct slice before = inputs_hash(then, json_text(&name));
        if (slice_equal(before, json_text(&hash)))
            continue;
        if (before.size == 0)
            buffer_append_format(error, "the SHA-256 of %.*s is not known there",
                                 TEXT_OF(json_text(&name)));
        else
            buffer_append_format(error, "%.*s has changed: its SHA-256 was %.*s and is %.*s",
                                 TEXT_OF(json_text(&name)), TEXT_OF(before),
                                 TEXT_OF(json_text(&hash)));
        return false;
    }
    return true;
}

static bool build_compare(const struct json_value *then, const struct json_value *now,
                          struct buffer *error)
{
    const struct json_value before = json_find(then, "build"), after = json_find(now, "build");
    const struct slice old = json_text(&before), new = json_text(&after);
    const bool same = slice_equal(old, new);
    if (!same && old.size == 0)
        buffer_append_text(error, "its runs are of an unknown build of weir");
    else if (!same)
        buffer_append_format(error, "its runs are of the build %.*s of weir, and this one is %.*s",
                             TEXT_OF(old), TEXT_OF(new));
    return same;
}

bool lab_inputs_are_same(const struct buffer *then, const struct buffer *now, bool build_too,
                         struct buffer *error)
{
    struct json_parser *parsers[2] = {json_parser_create(), json_parser_create()};
    struct buffer padded[2] = {{0}, {0}};
    const struct json_value before = plan_root(parsers[0], then, &padded[0]),
                            after = plan_root(parsers[1], now, &padded[1]);
    const struct json_value had = json_find(&before, "inputs"), has = json_find(&after, "inputs");
    const bool same =
        (!build_too || build_compare(&before, &after, error)) && inputs_compare(&had, &has, error);
    for (int i = 0; i < 2; i++) {
        json_parser_destroy(parsers[i]);
        buffer_deinit(&padded[i]);
    }
    return same;
}
