#include <stddef.h>
#include <stdint.h>

#include "base/trace.h"
#include "tests/check.h"

TEST(the_last_events_are_kept_newest_first)
{
    static struct trace t;
    assert_null(trace_last(&t, 0));
    for (int i = 0; i < TRACE_EVENTS + 10; i++)
        trace_add(&t, (struct instant){i}, 1, 2, i);
    assert_int_equal(trace_last(&t, 0)->value, TRACE_EVENTS + 9);
    assert_int_equal(trace_last(&t, TRACE_EVENTS - 1)->value, 10);
    assert_null(trace_last(&t, TRACE_EVENTS));
}

TEST(the_hash_depends_on_time_kind_subject_value_and_order)
{
    static struct trace t[6];
    trace_add(&t[0], (struct instant){1}, 1, 1, 1);
    trace_add(&t[1], (struct instant){2}, 1, 1, 1);
    trace_add(&t[2], (struct instant){1}, 2, 1, 1);
    trace_add(&t[3], (struct instant){1}, 1, 2, 1);
    trace_add(&t[4], (struct instant){1}, 1, 1, 2);
    trace_add(&t[5], (struct instant){1}, 1, 1, 1);
    assert_true(t[0].hash == t[5].hash);
    for (int i = 1; i < 5; i++)
        assert_true(t[i].hash != t[0].hash);
    trace_add(&t[0], (struct instant){2}, 1, 1, 2);
    trace_add(&t[5], (struct instant){2}, 1, 1, 2);
    assert_true(t[0].hash == t[5].hash);
}
