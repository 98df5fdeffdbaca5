/* secret.c - reads the secret of a cluster from a file that only its owner may read. */
#include "host/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/greeting.h"

static enum status check_mode(int fd, const char *path, struct buffer *error)
{
    struct stat s;
    if (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode))
        return buffer_explain(error, STATUS_IO, "secret_file %s is not a file", path);
    if ((s.st_mode & 077) == 0)
        return STATUS_OK;
    return buffer_explain(error, STATUS_MALFORMED,
                          "secret_file %s has mode %04o, other users may read it: chmod 600 %s",
                          path, (unsigned)s.st_mode & 07777, path);
}

static enum status read_open(int fd, const char *path, struct buffer *out, struct buffer *error)
{
    enum status status = check_mode(fd, path, error);
    size_t start = out->size;
    while (status == STATUS_OK && out->size - start <= SECRET_SIZE_MAX) {
        ssize_t n = TEMP_FAILURE_RETRY(
            read(fd, buffer_reserve(out, SECRET_SIZE_MAX + 1), SECRET_SIZE_MAX + 1));
        if (n == 0)
            break;
        if (n < 0)
            return buffer_explain(error, STATUS_IO, "cannot read secret_file %s: %s", path,
                                  strerror(errno));
        out->size += (size_t)n;
    }
    while (out->size > start &&
           (out->data[out->size - 1] == '\n' || out->data[out->size - 1] == '\r'))
        out->size--;
    size_t size = out->size - start;
    if (status != STATUS_OK || (size >= SECRET_SIZE_MIN && size <= SECRET_SIZE_MAX))
        return status;
    return buffer_explain(error, STATUS_MALFORMED,
                          "secret_file %s holds %zu bytes: it must be %d to %d", path, size,
                          SECRET_SIZE_MIN, SECRET_SIZE_MAX);
}

enum status secret_read(const char *path, struct buffer *out, struct buffer *error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return buffer_explain(error, STATUS_IO, "cannot open secret_file %s: %s", path,
                              strerror(errno));
    enum status status = read_open(fd, path, out, error);
    close(fd);
    return status;
}
