/* What a partition says of the index that holds its writes up. */
#include "tests/check.h"
#include "tests/support/indexed_fixture.h"

static struct index_refusal *refusal_of(struct indexed_fixture *s)
{
    return &partitions_find(&s->w.node->partitions, s->w.table.partitions[0].id)->index_refusal;
}

TEST(an_index_is_named_until_it_has_all_changes)
{
    struct indexed_fixture s;
    indexed_open(&s, 1);
    indexed_table(&s);
    for (uint32_t name = 0; name < 3; name++)
        indexed_put(&s, name, 7);
    indexed_pass(&s, 100);
    while (indexed_backlog(&s) > 0) {
        assert_int_equal(refusal_of(&s)->index, s.index.id);
        assert_int_equal(refusal_of(&s)->reason, ADMIT_REFUSED_ALLOCATION);
        indexed_pass(&s, 100);
    }
    assert_int_equal(refusal_of(&s)->index, 0);
    indexed_close(&s);
}

/* A feed that is always busy never has all changes. */
TEST(an_index_is_named_until_it_takes_rows_again)
{
    struct indexed_fixture s;
    indexed_open(&s, 1000);
    indexed_table(&s);
    for (uint32_t name = 0; name < 20; name++) { /* one write of the log for each put */
        lone_put_sized(&s.w, name, 7, 10);
        if (name == 4)
            *refusal_of(&s) =
                (struct index_refusal){s.index.id, s.index.partitions[0].id, ADMIT_OK};
        if (lone_write_begin(&s.w))
            lone_write_end(&s.w, 0);
        assert_true(name < 4 || indexed_backlog(&s) > 0);
    }
    assert_int_equal(refusal_of(&s)->index, 0);
    indexed_close(&s);
}
