/* metrics_test.c - the registry: names, help texts, and that the pages are described. */
#include "base/metrics.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "router/admin/page_metrics.h"
#include "tests/check.h"

#define FOR_EACH_METRIC(g, m)                                                                  \
    for (const struct metric_group *g = metric_groups; g < metric_groups + METRIC_GROUPS; g++) \
        for (const struct metric *m = g->metrics; m < g->metrics + g->count; m++)

TEST(names_are_unique_in_their_group) /* METRIC-1 */
{
    FOR_EACH_METRIC(g, m)
    {
        for (const char *c = m->name; *c != '\0'; c++)
            assert_true(islower((unsigned char)*c) || isdigit((unsigned char)*c) || *c == '_');
        for (const struct metric *other = g->metrics; other < m; other++)
            assert_string_not_equal(other->name, m->name);
    }
}

TEST(help_texts_are_whole_sentences) /* METRIC-2 */
{
    FOR_EACH_METRIC(g, m)
    {
        size_t size = strlen(m->help);
        assert_true(size > 10 && m->help[size - 1] == '.' && m->help[size - 2] != '.');
        assert_true(isupper((unsigned char)m->help[0]));
    }
}

/* ---- docs/pages.md ---- */

/* Where the table of a group begins. `bare`: all names of its first column are metrics. */
static const struct {
    const char *heading;
    bool bare;
} tables[METRIC_GROUPS] = {
    [METRICS_OF_ROUTER] = {"\n`router`, ", true},
    [METRICS_OF_STORE] = {"\n`stores[]`, ", true},
    [METRICS_OF_PARTITION] = {"\n`partitions[]`:", false},
    [METRICS_OF_PARTITION_BY] = {"\n`partitions[]`:", false},
    [METRICS_OF_INDEXES] = {"\n`partitions[]`:", false},
    [METRICS_OF_EXPIRY] = {"\n`partitions[]`:", false},
    [METRICS_OF_TRANSACTIONS] = {"\n`partitions[]`:", false},
    [METRICS_OF_STREAMS] = {"\n`partitions[]`:", false},
    [METRICS_OF_LIMIT] = {"\n## GET /weir/gac", false},
    [METRICS_OF_LIMITER] = {"\n## GET /weir/limiter", false},
    [METRICS_OF_POLICY] = {"\n`policies[]`: ", false},
};

static char *pages_read(void)
{
    struct buffer text = {0};
    FILE *f = fopen(SOURCE_DIR "/docs/pages.md", "r");
    size_t n;
    assert_non_null(f);
    while ((n = fread(buffer_reserve(&text, 4096), 1, 4096, f)) > 0)
        text.size += n;
    fclose(f);
    buffer_append_u8(&text, '\0');
    return (char *)text.data;
}

/* The first table behind the heading: a copy. */
static char *pages_table(const char *pages, const char *heading)
{
    const char *at = strstr(pages, heading);
    if (at == NULL)
        fail_msg("docs/pages.md has no line %s", heading + 1);
    const char *begin = strstr(at, "\n| ");
    assert_non_null(begin);
    const char *end = strstr(begin, "\n\n");
    return strndup(begin, end != NULL ? (size_t)(end - begin) : strlen(begin));
}

static bool table_describes(const char *table, const struct metric *m)
{
    char bare[64], dotted[64];
    snprintf(bare, sizeof bare, "`%s`", m->name);
    snprintf(dotted, sizeof dotted, "`.%s`", m->name);
    return strstr(table, bare) != NULL || strstr(table, dotted) != NULL;
}

static bool group_has(const struct metric_group *g, const char *name, size_t size)
{
    for (const struct metric *m = g->metrics; m < g->metrics + g->count; m++) {
        if (strlen(m->name) == size && memcmp(m->name, name, size) == 0)
            return true;
    }
    return false;
}

/* Each name of the first column is a metric of the group. */
static void expect_only_metrics(const struct metric_group *g, const char *table)
{
    for (const char *row = strstr(table, "\n| `"); row != NULL; row = strstr(row + 1, "\n| `")) {
        const char *cell_end = strchr(row + 3, '|');
        for (const char *name = row + 4; name < cell_end;) {
            const char *end = strchr(name, '`');
            if (!group_has(g, name, (size_t)(end - name)))
                fail_msg("docs/pages.md describes %.*s, which is no metric of group %s",
                         (int)(end - name), name, g->name);
            const char *next = strchr(end + 1, '`');
            name = next != NULL ? next + 1 : cell_end;
        }
    }
}

TEST(every_metric_is_described_by_the_table_of_its_group)
{
    char *pages = pages_read();
    for (size_t i = 0; i < METRIC_GROUPS; i++) {
        const struct metric_group *g = &metric_groups[i];
        char *table = pages_table(pages, tables[i].heading);
        for (const struct metric *m = g->metrics; m < g->metrics + g->count; m++) {
            if (!table_describes(table, m))
                fail_msg("docs/pages.md does not describe %s of group %s", m->name, g->name);
        }
        if (tables[i].bare)
            expect_only_metrics(g, table);
        free(table);
    }
    free(pages);
}

TEST(a_page_shows_all_metrics_of_a_group_in_their_units)
{
    struct buffer out = {0};
    const struct metrics_limit values = {.rate = 1500,
                                         .tokens = -1,
                                         .demand = 2000,
                                         .grant_requests = 3,
                                         .waiting = 4,
                                         .refused = 5};
    static const char *const labels[] = {NULL, "a", "b"};
    static const int64_t counts[] = {1, 2, 3};
    page_write_metrics(&out, METRICS_OF_LIMIT, &values);
    page_write_labelled(&out, METRIC_THROTTLED, labels, counts, 3);
    page_write_labelled(&out, METRIC_BALANCES, labels, counts, 3);
    assert_slice_is(
        buffer_slice(&out),
        "\"rate\":1.5,\"tokens\":-0.001,\"demand\":2.0,\"grant_requests\":3,\"waiting\":4,"
        "\"refused\":5,\"throttled\":{\"a\":2,\"b\":3},"
        "\"balances\":{\"a\":0.002,\"b\":0.003}");
    buffer_deinit(&out);
}

/* ---- families ---- */

TEST(families_have_names_of_prometheus_and_are_described)
{
    char *pages = pages_read();
    for (size_t i = 0; i < METRIC_FAMILY_COUNT; i++) {
        const struct metric_family *f = &metric_families[i];
        char name[100];
        const size_t size = strlen(f->help);
        snprintf(name, sizeof name, "`%s`", f->name);
        assert_true(strncmp(f->name, "weir_", 5) == 0 && strstr(f->name, "_total") == NULL);
        assert_true(size > 10 && f->help[size - 1] == '.');
        if (strstr(pages, name) == NULL)
            fail_msg("docs/pages.md lacks %s", name);
    }
    free(pages);
}
