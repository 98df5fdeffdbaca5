/* Trees of YAML documents: what is read, what is refused, what is set. */
#include "lab/scenario/document.h"
#include "tests/check.h"

static struct document d;
static struct buffer error;

static bool error_contains(const char *text)
{
    return memmem(error.data, error.size, text, strlen(text)) != NULL;
}

static void parse(const char *text)
{
    document_deinit(&d);
    buffer_clear(&error);
    assert_int_equal(document_parse(&d, "a.yaml", slice_of(text), &error), STATUS_OK);
}

static void expect_fault(const char *text, const char *fault)
{
    document_deinit(&d);
    buffer_clear(&error);
    assert_int_equal(document_parse(&d, "a.yaml", slice_of(text), &error), STATUS_MALFORMED);
    buffer_append_u8(&error, 0);
    assert_string_equal((const char *)error.data, fault);
}

static const char *text_at(const char *map, const char *key)
{
    const struct document_node *n = document_member(d.root, map);
    n = key == NULL ? n : document_member(n, key);
    return n == NULL ? "(none)" : (const char *)n->text.data;
}

static int count_of(const struct document_node *list)
{
    int count = 0;
    for (const struct document_node *n = list->first; n != NULL; n = n->next)
        count++;
    return count;
}

TEST(maps_lists_and_texts_keep_their_lines)
{
    parse("one: 1\ntwo:\n  three: [a, b]\n");
    const struct document_node *two = document_member(d.root, "two");
    assert_int_equal(two->kind, DOCUMENT_MAP);
    assert_int_equal(two->line, 3);
    assert_int_equal(count_of(document_member(two, "three")), 2);
    assert_string_equal(text_at("one", NULL), "1");
}

TEST(what_a_scenario_has_no_use_for_is_refused_with_its_line)
{
    expect_fault("a: 1\nb: &x 2\n", "a.yaml:2: anchors and tags are not allowed");
    expect_fault("a: *x\n", "a.yaml:1: aliases are not allowed");
    expect_fault("a: 1\na: 2\n", "a.yaml:2: the map has this key twice");
    expect_fault("? [a]\n: 1\n", "a.yaml:1: the key of a map must be a text");
    expect_fault("", "a.yaml:1: the document is empty");
    expect_fault("--- 1\n--- 2\n", "a.yaml:2: the file has more than one document");
    expect_fault("[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]",
                 "a.yaml:1: lists and maps are nested more than 16 deep");
    expect_fault("a: \"\\0\"", "a.yaml:1: a text may not contain a NUL");
}

TEST(a_byte_order_mark_is_not_a_part_of_the_text)
{
    parse("\xef\xbb\xbfone: 1\ntwo: 2\n");
    assert_string_equal(text_at("one", NULL), "1");
    assert_int_equal(document_member(d.root, "two")->line, 2);
}

static void set(const char *path, const char *value)
{
    buffer_clear(&error);
    assert_int_equal(document_set(&d, slice_of(path), slice_of(value), &error), STATUS_OK);
}

TEST(a_value_is_set_by_keys_names_and_places)
{
    parse("list: [{name: x, v: 1}, {name: y, v: 2}]\nmap: {k: 3}\n");
    set("map.k", "4");
    assert_string_equal(text_at("map", "k"), "4");
    set("map.more.deep", "5");
    assert_string_equal((const char *)document_member(
                            document_member(document_member(d.root, "map"), "more"), "deep")
                            ->text.data,
                        "5");
    set("list.y.v", "6");
    const struct document_node *list = document_member(d.root, "list");
    assert_string_equal((const char *)document_member(list->first->next, "v")->text.data, "6");
    set("list.1.v", "7");
    assert_string_equal((const char *)document_member(list->first, "v")->text.data, "7");
    set("list", "[]");
    assert_int_equal(count_of(document_member(d.root, "list")), 0);
}

TEST(a_path_that_leads_nowhere_is_named)
{
    parse("list: [{name: x}]\ntext: 1\n");
    assert_int_equal(document_set(&d, slice_of("list.z.v"), slice_of("1"), &error),
                     STATUS_MALFORMED);
    assert_true(error_contains("`z` does not exist"));
    buffer_clear(&error);
    assert_int_equal(document_set(&d, slice_of("text.v"), slice_of("1"), &error), STATUS_MALFORMED);
    buffer_clear(&error);
    assert_int_equal(document_set(&d, slice_of("list"), slice_of("[1"), &error), STATUS_MALFORMED);
    assert_true(error_contains("cannot set `list` to `[1`"));
}

static int finish(void **state)
{
    (void)state;
    document_deinit(&d);
    buffer_deinit(&error);
    return 0;
}

FILE_FIXTURE(NULL, finish)

TEST(what_is_added_to_a_list_does_not_replace_its_elements)
{
    parse("policies:\n  - {name: one, about: first}\n");
    buffer_clear(&error);
    assert_int_equal(document_extend(&d, "policies",
                                     slice_of("- {name: one, about: second}\n- {name: two}\n"),
                                     &error),
                     STATUS_OK);
    const struct document_node *list = document_member(d.root, "policies");
    assert_int_equal(count_of(list), 2);
    assert_string_equal((const char *)document_member(list->first, "about")->text.data, "first");
    assert_string_equal((const char *)document_member(list->first->next, "name")->text.data, "two");
    assert_int_equal(document_extend(&d, "more", slice_of("- {name: one}\n- 3\n"), &error),
                     STATUS_OK);
    assert_int_equal(count_of(document_member(d.root, "more")), 2);
}
