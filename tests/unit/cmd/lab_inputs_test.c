/* Whether two plans were made from the same files and by the same build. */
#include "cmd/lab_inputs.h"

#include "cmd/file_hash.h"
#include "tests/check.h"

static const char FIRST[] =
    "{\"build\":\"abc\",\"inputs\":[{\"file\":\"a.so\",\"sha256\":\"11\"}]}";

static struct buffer error;

static bool same(const char *then, const char *now, bool build_too)
{
    struct buffer a = {0}, b = {0};
    buffer_clear(&error);
    buffer_append_text(&a, then);
    buffer_append_text(&b, now);
    const bool is_same = lab_inputs_are_same(&a, &b, build_too, &error);
    buffer_deinit(&a);
    buffer_deinit(&b);
    return is_same;
}

TEST(a_file_that_has_changed_is_named_with_both_hashes)
{
    assert_true(same(FIRST, FIRST, true));
    assert_false(same(
        FIRST, "{\"build\":\"abc\",\"inputs\":[{\"file\":\"a.so\",\"sha256\":\"22\"}]}", true));
    assert_slice_is(buffer_slice(&error), "a.so has changed: its SHA-256 was 11 and is 22");
    assert_false(same("{\"build\":\"abc\"}", FIRST, true));
    assert_slice_is(buffer_slice(&error), "the SHA-256 of a.so is not known there");
}

TEST(another_build_is_named)
{
    static const char other[] =
        "{\"build\":\"def\",\"inputs\":[{\"file\":\"a.so\",\"sha256\":\"11\"}]}";
    assert_false(same(FIRST, other, true));
    assert_slice_is(buffer_slice(&error),
                    "its runs are of the build abc of weir, and this one is def");
    assert_true(same(FIRST, other, false));
    assert_false(same("{}", FIRST, true));
    assert_slice_is(buffer_slice(&error), "its runs are of an unknown build of weir");
}

TEST(texts_that_are_no_plans_have_no_inputs)
{
    assert_true(same("name: x\n", "name: y\n", true));
}

TEST(the_members_of_a_plan_are_copied)
{
    struct buffer plan = {0}, members = {0};
    lab_inputs_copy(&plan, &members);
    assert_int_equal(members.size, 0);
    buffer_append_text(&plan, "{\"format\":\"weir-lab-1\"}"); /* of the version before */
    lab_inputs_copy(&plan, &members);
    assert_int_equal(members.size, 0);
    buffer_clear(&plan);
    buffer_append_text(&plan, FIRST);
    lab_inputs_copy(&plan, &members);
    assert_slice_is(buffer_slice(&members),
                    "\"build\":\"abc\",\"inputs\":[{\"file\":\"a.so\",\"sha256\":\"11\"}]");
    buffer_deinit(&plan);
    buffer_deinit(&members);
}

TEST(a_trace_that_comes_with_weir_has_the_hash_of_its_file)
{
    const char *trace = "weir:cache";
    const struct lab_plan plan = {.traces = (const char **)&trace, .trace_count = 1};
    struct buffer json = {0}, expected = {0};
    char hash[FILE_HASH_TEXT_SIZE];
    buffer_clear(&error);
    assert_true(file_hash(SOURCE_DIR "/workload/traces/cache.trace", hash, &error));
    buffer_append_format(&expected, "{\"file\":\"weir:cache\",\"sha256\":\"%s\"}", hash);
    assert_true(lab_inputs_write(&plan, &json, &error));
    assert_non_null(memmem(json.data, json.size, expected.data, expected.size));
    trace = "weir:none";
    assert_false(lab_inputs_write(&plan, &json, &error));
    assert_slice_is(buffer_slice(&error), "there is no trace `weir:none`: weir has weir:cache");
    buffer_deinit(&json);
    buffer_deinit(&expected);
}
