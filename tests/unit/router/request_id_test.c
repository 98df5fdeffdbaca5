/* request_id_test.c - ids look random, and tell which router answered and when. */
#include "router/core/request_id.h"

#include "tests/check.h"

static const struct request_id_parts PARTS = {
    .router = 4095, .wall_ms = INT64_C(1796000000123), .count = 511};

TEST(what_is_written_is_read)
{
    struct prng prng = prng_seeded(1);
    for (int i = 0; i < 1000; i++) {
        char id[HTTP_REQUEST_ID_SIZE];
        struct request_id_parts read;
        const uint64_t number = request_id_write(&prng, &PARTS, id);
        const struct slice text = slice_make(id, sizeof id);
        assert_true(request_id_read(text, &read));
        assert_int_equal(read.version, REQUEST_ID_VERSION);
        assert_int_equal(read.router, PARTS.router);
        assert_int_equal(read.wall_ms, PARTS.wall_ms);
        assert_int_equal(read.count, PARTS.count);
        assert_true(request_id_number(text) == number);
        assert_memory_equal(id + 26, "VV4KQNSO5AEMVJF66Q9ASUAAJG", 26);
    }
}

/* The parts of two ids are nearly equal, but of 13 digits about one in 32 is. */
TEST(the_half_with_the_parts_is_as_random)
{
    struct prng prng = prng_seeded(2);
    int equal = 0;
    char ids[2][HTTP_REQUEST_ID_SIZE];
    request_id_write(&prng, &PARTS, ids[0]);
    for (int i = 1; i <= 1000; i++) {
        request_id_write(&prng, &PARTS, ids[i % 2]);
        for (int k = 13; k < 26; k++)
            equal += ids[0][k] == ids[1][k];
    }
    assert_in_range(equal, 13 * 1000 / 32 / 2, 13 * 1000 / 32 * 2);
}

TEST(an_id_is_found_in_any_text)
{
    struct prng prng = prng_seeded(3);
    char id[HTTP_REQUEST_ID_SIZE], text[200];
    request_id_write(&prng, &PARTS, id);
    const int size =
        snprintf(text, sizeof text, "Rate exceeded (RequestId: %.52s; AAAA), http://h/x", id);
    const struct slice found = request_id_find(slice_make(text, (size_t)size));
    assert_int_equal(found.size, HTTP_REQUEST_ID_SIZE);
    assert_memory_equal(found.data, id, sizeof id);
    assert_int_equal(request_id_find(slice_of("no id in here")).size, 0);
    /* a part of a longer run is none */
    snprintf(text, sizeof text, "X%.52s", id);
    text[0] = 'A';
    assert_int_equal(request_id_find(slice_of(text)).size, 0);
}

TEST(what_is_no_id_is_refused)
{
    struct request_id_parts read;
    assert_false(request_id_read(slice_of(""), &read));
    assert_false(request_id_read(slice_of("VV4KQNSO5AEMVJF66Q9ASUAAJG"), &read));
    assert_false(
        request_id_read(slice_of("WA7TTFE2BIFUHAH175T0GTEU6VVV4KQNSO5AEMVJF66Q9ASUAAJG"), &read));
    assert_true(
        request_id_read(slice_of("TA7TTFE2BIFUHAH175T0GTEU6VVV4KQNSO5AEMVJF66Q9ASUAAJG"), &read));
}
