/* data_dir.c - the file LOCK of a node's directory. */
#include "server/host/data_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_mode.h"
#include "host/file_lock.h"

enum {
    LINE_MAX_SIZE = 64
};

static enum status data_dir_fail(struct buffer *error, const char *what, const char *path)
{
    return buffer_explain(error, STATUS_IO, "cannot %s %s: %s", what, path, strerror(errno));
}

/* Whether there is any file except LOCK. -1: unknown. */
static int holds_data(const char *path)
{
    DIR *d = opendir(path);
    int found = d == NULL ? -1 : 0;
    for (struct dirent *e; found == 0 && (e = readdir(d)) != NULL;)
        found = strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
                strcmp(e->d_name, "LOCK") != 0;
    if (d != NULL)
        closedir(d);
    return found;
}

static enum status data_dir_begin(const char *path, int fd, const char *line, struct buffer *error)
{
    int parent = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ssize_t size = (ssize_t)strlen(line);
    bool done = parent >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, line, (size_t)size, 0) == size &&
                fsync(fd) == 0 && fsync(parent) == 0;
    if (parent >= 0)
        close(parent);
    return done ? STATUS_OK : data_dir_fail(error, "write LOCK in", path);
}

/* Weir makes a LOCK before there is data, but the claim had to make this one. */
static enum status refuse_foreign(const char *path, const char *name, struct buffer *error)
{
    unlink(name);
    return buffer_explain(error, STATUS_CORRUPT,
                          "%s holds files, but no LOCK of weir: they belong to another program. "
                          "Use an empty directory, or a new name",
                          path);
}

/* `made_lock`: the LOCK that the claim has made; NULL: it was there. */
static enum status check_format(const char *path, const char *made_lock, int fd,
                                struct buffer *error)
{
    char line[LINE_MAX_SIZE], found[LINE_MAX_SIZE] = {0};
    snprintf(line, sizeof line, "weir data, format %d\n", DATA_FORMAT);
    ssize_t size = pread(fd, found, sizeof found - 1, 0);
    int data = holds_data(path);
    if (size < 0 || data < 0)
        return data_dir_fail(error, "read", path);
    if (data == 0)
        return data_dir_begin(path, fd, line, error);
    if (made_lock != NULL && size == 0)
        return refuse_foreign(path, made_lock, error);
    if (strcmp(found, line) == 0)
        return STATUS_OK;
    found[strcspn(found, "\n")] = 0;
    return buffer_explain(error, STATUS_CORRUPT,
                          "%s was written by another version of weir: its LOCK has '%s', this "
                          "version reads '%.*s'. Use that version, or an empty directory",
                          path, found, (int)strcspn(line, "\n"), line);
}

struct waiting {
    const char *path;
    void (*note)(void *context, const char *text);
    void *context;
};

static void note_waiting(void *context, int64_t owner)
{
    const struct waiting *w = context;
    char who[32] = "another process", text[4096 + 128];
    if (owner != 0)
        snprintf(who, sizeof who, "process %lld", (long long)owner);
    snprintf(text, sizeof text, "%s is in use by %s; waiting up to %d ms for its end", w->path, who,
             DATA_DIR_WAIT_MS);
    if (w->note != NULL)
        w->note(w->context, text);
}

enum status data_dir_claim(const char *path, void (*note)(void *context, const char *text),
                           void *context, struct buffer *error, int *fd, bool *made)
{
    char name[4096];
    *fd = -1;
    const bool is_new = mkdir(path, DIRECTORY_MODE_PRIVATE) == 0;
    *made = false;
    if (!is_new && errno != EEXIST)
        return data_dir_fail(error, "create", path);
    snprintf(name, sizeof name, "%s/LOCK", path);
    *fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE_PRIVATE);
    const bool made_lock = *fd >= 0;
    if (!made_lock && errno == EEXIST)
        *fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, FILE_MODE_PRIVATE);
    if (*fd < 0)
        return data_dir_fail(error, "open", name);
    struct waiting waiting = {path, note, context};
    if (file_lock_take(*fd, DATA_DIR_WAIT_MS, note_waiting, &waiting) == STATUS_OK) {
        /* Another process may have had it since. */
        *made = is_new && holds_data(path) == 0;
        return check_format(path, made_lock ? name : NULL, *fd, error);
    }
    if (errno != EWOULDBLOCK)
        return data_dir_fail(error, "lock", name);
    return buffer_explain(error, STATUS_IO,
                          "%s is in use by another process: stop it, or choose another directory",
                          path);
}
