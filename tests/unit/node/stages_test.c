/* stages_test.c - the stages of writes and reads are those that docs/architecture.md tells. */
#include "tests/check.h"

#include "engine/node/request/item_writes.h"

enum {
    LINE_MAX_BYTES = 4096
};

/* The first column of a row "| `NAME` | .."; false: the line is no such row. */
static bool row_name(const char *line, char name[64])
{
    return sscanf(line, "| `%63[a-z-]` |", name) == 1;
}

/* Compares the rows of the table whose head begins so. */
static void check_table(const char *head, const char *(*stage_name)(size_t number))
{
    FILE *file = fopen(SOURCE_DIR "/docs/architecture.md", "r");
    assert_non_null(file);
    char line[LINE_MAX_BYTES], name[64];
    size_t stages = 0;
    bool within = false;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, head, strlen(head)) == 0)
            within = true;
        else if (within && row_name(line, name))
            assert_string_equal(name, stage_name(stages++));
        else if (within && line[0] != '|')
            break;
    }
    assert_int_equal(fclose(file), 0);
    assert_true(stages > 0);
    assert_null(stage_name(stages));
}

TEST(the_document_has_the_stages_of_writes_in_their_order)
{
    check_table("| stage |", write_stage_name);
}

TEST(the_document_has_the_stages_of_reads_in_their_order)
{
    check_table("| read stage |", read_stage_name);
}
