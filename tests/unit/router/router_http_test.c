/* router_http_test.c - what cases of HTTP (http_cases_test.c) cannot say. */
#include "tests/check.h"
#include "tests/support/fake_cluster.h"

static struct fake_cluster f;

static int start(void **state)
{
    (void)state;
    fake_init(&f);
    fake_start(&f);
    fake_open(&f, 1);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fake_deinit(&f);
    return 0;
}

FIXTURE(start, stop)

TEST(each_answer_has_an_id_of_its_own)
{
    char first[53] = {0};
    struct slice id = fake_header(fake_call(&f, "ListTables", "{}"), "x-amzn-RequestId");
    assert_int_equal(id.size, 52);
    for (size_t i = 0; i < id.size; i++)
        assert_true((id.data[i] >= '0' && id.data[i] <= '9') ||
                    (id.data[i] >= 'A' && id.data[i] <= 'V'));
    memcpy(first, id.data, 52);
    id = fake_header(fake_call(&f, "ListTables", "{}"), "x-amzn-RequestId");
    assert_false(slice_is(id, first));
}

TEST(head_gets_no_body)
{
    fake_send_text(&f, 1, "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_non_null(memmem(f.clients[1].received.data, f.clients[1].received.size,
                           "Content-Length: 10\r\n", 20));
    assert_memory_equal(f.clients[1].received.data + f.clients[1].received.size - 4, "\r\n\r\n", 4);
}
