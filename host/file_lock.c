/* file_lock.c - flock; the owner of a lock is read from /proc/locks. */
#include "host/file_lock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/instant.h"

enum {
    POLL_MS = 20
};

/* A line of /proc/locks: "1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF". */
static int64_t file_lock_owner(int fd)
{
    struct stat file;
    char line[256];
    int64_t owner = 0;
    FILE *locks = fopen("/proc/locks", "re");
    if (locks == NULL)
        return 0;
    bool known = fstat(fd, &file) == 0;
    while (known && owner == 0 && fgets(line, sizeof line, locks) != NULL) {
        char kind[16];
        long long pid;
        unsigned major_number, minor_number;
        unsigned long inode;
        if (sscanf(line, "%*d: %15s %*s %*s %lld %x:%x:%lu", kind, &pid, &major_number,
                   &minor_number, &inode) == 5 &&
            strcmp(kind, "FLOCK") == 0 && inode == file.st_ino &&
            major_number == major(file.st_dev) && minor_number == minor(file.st_dev))
            owner = pid > 0 ? pid : 0;
    }
    fclose(locks);
    return owner;
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / NS_PER_MS;
}

enum status file_lock_take(int fd, int64_t wait_ms, void (*note)(void *context, int64_t owner),
                           void *context)
{
    const struct timespec pause = {.tv_nsec = POLL_MS * NS_PER_MS};
    int64_t end_ms = now_ms() + wait_ms;
    bool noted = false;
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        int error = errno;
        int64_t owner = error == EWOULDBLOCK ? file_lock_owner(fd) : getpid();
        if (error == EINTR)
            continue;
        if (owner == getpid() || now_ms() >= end_ms) {
            errno = error;
            return STATUS_IO;
        }
        if (!noted && note != NULL)
            note(context, owner);
        noted = true;
        nanosleep(&pause, NULL);
    }
    return STATUS_OK;
}
