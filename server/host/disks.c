/* disks.c - accounts by device. */
#include "server/host/disks.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/must.h"

struct disk {
    SLIST_ENTRY(disk) place;
    dev_t device;
    int fd;                       /* owns; of a directory on it */
    struct disk_account *account; /* owns */
};

struct disks {
    SLIST_HEAD(, disk) all;
};

static uint64_t disk_free_bytes(void *context)
{
    const struct disk *d = context;
    struct statvfs info;
    return fstatvfs(d->fd, &info) != 0 ? UINT64_MAX : (uint64_t)info.f_bavail * info.f_frsize;
}

static struct disk *disks_add(struct disks *d, int fd, dev_t device)
{
    struct disk *new = must_calloc(1, sizeof *new);
    new->device = device;
    new->fd = fd;
    new->account = disk_account_create(disk_free_bytes, new);
    SLIST_INSERT_HEAD(&d->all, new, place);
    return new;
}

struct disks *disks_create(void)
{
    struct disks *d = must_calloc(1, sizeof *d);
    SLIST_INIT(&d->all);
    return d;
}

void disks_destroy(struct disks *d)
{
    if (d == NULL)
        return;
    for (struct disk *disk; (disk = SLIST_FIRST(&d->all)) != NULL;) {
        SLIST_REMOVE_HEAD(&d->all, place);
        disk_account_destroy(disk->account);
        close(disk->fd);
        free(disk);
    }
    free(d);
}

struct disk_account *disks_find(struct disks *d, const char *directory)
{
    struct disk *disk;
    struct stat info;
    const int fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) != 0) {
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    SLIST_FOREACH (disk, &d->all, place) {
        if (disk->device == info.st_dev) {
            close(fd);
            return disk->account;
        }
    }
    return disks_add(d, fd, info.st_dev)->account;
}
