/* data_dir_test.c - which directory a failed start may remove. */
#include "server/host/data_dir.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/check.h"

static bool claim_made(const char *path)
{
    struct buffer error = {0};
    int fd;
    bool made;
    assert_int_equal(data_dir_claim(path, NULL, NULL, &error, &fd, &made), STATUS_OK);
    close(fd);
    buffer_deinit(&error);
    return made;
}

TEST(a_claim_tells_whether_the_directory_is_its_own)
{
    char parent[] = "/tmp/weir-test-XXXXXX", path[64];
    assert_non_null(mkdtemp(parent));
    snprintf(path, sizeof path, "%s/node-1", parent);
    assert_true(claim_made(path));
    assert_false(claim_made(path));
    assert_true(data_dir_remove(path));
    assert_int_equal(access(path, F_OK), -1);
    assert_true(claim_made(path));
    assert_true(data_dir_remove(parent));
    assert_int_equal(access(parent, F_OK), -1);
}
