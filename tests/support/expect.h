/* expect.h - for tests of operations: this request must get that answer. Include after check.h. */
#pragma once

#include "base/buffer.h"
#include "tests/support/fake_cluster.h"

static inline void expect_answer(struct fake_answer a, int status, const char *body)
{
    char *got = strndup((const char *)a.body.data, a.body.size);
    assert_string_equal(got, body);
    assert_int_equal(a.status, status);
    free(got);
}

static inline void expect_call(struct fake_cluster *f, const char *operation, const char *request,
                               int status, const char *body)
{
    expect_answer(fake_call(f, operation, request), status, body);
}

/* A 400 with the type, its package left out, and the message. */
static inline void expect_fault(struct fake_cluster *f, const char *operation, const char *request,
                                const char *type, const char *message)
{
    static const struct {
        const char *type;
        const char *package;
    } PACKAGES[] = {
        {"ValidationException", "com.amazon.coral.validate#"},
        {"SerializationException", "com.amazon.coral.service#"},
        {"UnknownOperationException", "com.amazon.coral.service#"},
        {"", "com.amazonaws.dynamodb.v20120810#"},
    };
    size_t i = 0;
    while (PACKAGES[i].type[0] != '\0' && strcmp(PACKAGES[i].type, type) != 0)
        i++;
    struct buffer b = {0};
    buffer_append_format(&b, "{\"__type\":\"%s%s\",\"%s\":\"%s\"}", PACKAGES[i].package, type,
                         i == 1 ? "Message" : "message", message);
    buffer_append_u8(&b, 0);
    expect_call(f, operation, request, 400, (const char *)b.data);
    buffer_deinit(&b);
}

static inline void expect_invalid(struct fake_cluster *f, const char *operation,
                                  const char *request, const char *message)
{
    expect_fault(f, operation, request, "ValidationException", message);
}
