/* data_dir_test.c - which directory is weir's, and which a failed start may remove. */
#include "server/host/data_dir.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_mode.h"
#include "host/remove_tree.h"
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

TEST_WITH(a_claim_returns_whether_the_directory_is_its_own, temporary_setup, temporary_teardown)
{
    char path[TEMPORARY_NAME_MAX];
    snprintf(path, sizeof path, "%s/node-1", (const char *)*state);
    assert_true(claim_made(path));
    assert_false(claim_made(path));
    assert_true(remove_tree(path));
    assert_int_equal(access(path, F_OK), -1);
    assert_true(claim_made(path));
}

TEST_WITH(a_directory_of_another_program_is_refused_and_left_as_it_was, temporary_setup,
          temporary_teardown)
{
    char path[TEMPORARY_NAME_MAX], name[TEMPORARY_NAME_MAX];
    struct buffer error = {0};
    int fd;
    bool made;
    snprintf(path, sizeof path, "%s/theirs", (const char *)*state);
    snprintf(name, sizeof name, "%s/theirs/data.mdb", (const char *)*state);
    assert_int_equal(mkdir(path, DIRECTORY_MODE_PRIVATE), 0);
    close(open(name, O_WRONLY | O_CREAT | O_CLOEXEC, FILE_MODE_PRIVATE));
    assert_int_equal(data_dir_claim(path, NULL, NULL, &error, &fd, &made), STATUS_CORRUPT);
    close(fd);
    buffer_append_u8(&error, 0);
    assert_non_null(strstr((const char *)error.data, "holds files, but no LOCK of weir"));
    assert_int_equal(access(name, F_OK), 0);
    snprintf(name, sizeof name, "%s/theirs/LOCK", (const char *)*state);
    assert_int_equal(access(name, F_OK), -1);
    buffer_deinit(&error);
}
