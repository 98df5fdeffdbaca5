/* data_dir_test.c - which directory a failed start may remove. */
#include "server/host/data_dir.h"

#include <fcntl.h>
#include <unistd.h>

#include "tests/check.h"
#include "tests/temporary.h"

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

TEST_WITH(a_claim_tells_whether_the_directory_is_its_own, temporary_setup, temporary_teardown)
{
    char path[TEMPORARY_NAME_MAX];
    snprintf(path, sizeof path, "%s/node-1", (const char *)*state);
    assert_true(claim_made(path));
    assert_false(claim_made(path));
    assert_true(data_dir_remove(path));
    assert_int_equal(access(path, F_OK), -1);
    assert_true(claim_made(path));
}
