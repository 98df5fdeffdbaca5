/* metrics_test.c - the registry: names, help texts, and that the pages are described. */
#include "base/metrics.h"

#include <ctype.h>

#include "base/buffer.h"
#include "router/admin/page_metrics.h"
#include "tests/check.h"

#define FOR_EACH_METRIC(g, m)                                                                  \
    for (const struct metric_group *g = metric_groups; g < metric_groups + METRIC_GROUPS; g++) \
        for (const struct metric *m = g->metrics; m < g->metrics + g->count; m++)

TEST(names_are_unique_in_their_group)
{
    FOR_EACH_METRIC(g, m)
    {
        for (const char *c = m->name; *c != '\0'; c++)
            assert_true(islower((unsigned char)*c) || isdigit((unsigned char)*c) || *c == '_');
        for (const struct metric *other = g->metrics; other < m; other++)
            assert_string_not_equal(other->name, m->name);
    }
}

TEST(help_texts_are_whole_sentences)
{
    FOR_EACH_METRIC(g, m)
    {
        size_t size = strlen(m->help);
        assert_true(size > 10 && m->help[size - 1] == '.' && m->help[size - 2] != '.');
        assert_true(isupper((unsigned char)m->help[0]));
    }
}

/* docs/pages.md has each name in backticks. */
TEST(every_metric_of_a_page_is_described)
{
    struct buffer text = {0};
    FILE *f = fopen(SOURCE_DIR "/docs/pages.md", "r");
    size_t n;
    assert_non_null(f);
    while ((n = fread(buffer_reserve(&text, 4096), 1, 4096, f)) > 0)
        text.size += n;
    fclose(f);
    FOR_EACH_METRIC(g, m)
    {
        struct buffer bare = {0}, dotted = {0};
        buffer_append_format(&bare, "`%s`", m->name);
        buffer_append_format(&dotted, "`.%s`", m->name);
        if (memmem(text.data, text.size, bare.data, bare.size) == NULL &&
            memmem(text.data, text.size, dotted.data, dotted.size) == NULL)
            fail_msg("docs/pages.md does not describe %s", m->name);
        buffer_deinit(&bare);
        buffer_deinit(&dotted);
    }
    buffer_deinit(&text);
}

TEST(a_page_shows_all_metrics_of_a_group_in_their_units)
{
    struct buffer out = {0};
    const struct metrics_limit values = {
        .rate = 1500, .tokens = -1, .demand = 2000, .asks = 3, .waiting = 4, .refused = 5};
    static const char *const labels[] = {NULL, "a", "b"};
    static const int64_t counts[] = {1, 2, 3};
    page_write_metrics(&out, METRICS_OF_LIMIT, &values);
    page_write_labelled(&out, METRIC_THROTTLED, labels, counts, 3);
    page_write_labelled(&out, METRIC_LEVELS, labels, counts, 3);
    assert_slice_is(buffer_slice(&out),
                    "\"rate\":1.5,\"tokens\":-0.001,\"demand\":2.0,\"asks\":3,\"waiting\":4,"
                    "\"refused\":5,\"throttled\":{\"a\":2,\"b\":3},"
                    "\"levels\":{\"a\":0.002,\"b\":0.003}");
    buffer_deinit(&out);
}
