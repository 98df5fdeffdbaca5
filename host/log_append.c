/* log_append.c - completes an append to whole blocks, and writes them. */
#include "host/log_append.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/must.h"

void log_append_init(struct log_append *a)
{
    *a = (struct log_append){.fd = -1};
}

/* Returns errno. Bytes beyond the end of the file are zero. */
static int read_block(int fd, int64_t offset, uint8_t *block)
{
    memset(block, 0, WRITE_ALIGNMENT);
    return TEMP_FAILURE_RETRY(pread(fd, block, WRITE_ALIGNMENT, offset)) < 0 ? errno : 0;
}

void log_append(struct log_append *a, struct loop *l, int fd, int64_t offset, struct slice bytes,
                void (*done)(void *context, int error), void *context)
{
    must(bytes.size > 0);
    size_t before = (size_t)(offset % WRITE_ALIGNMENT);
    size_t used = before + bytes.size;
    size_t size = (used + WRITE_ALIGNMENT - 1) / WRITE_ALIGNMENT * WRITE_ALIGNMENT;
    uint8_t *memory = loop_write_memory(size);
    if (before > 0 && (fd != a->fd || offset != a->end)) {
        int error = read_block(fd, offset - (int64_t)before, memory);
        if (error != 0) {
            free(memory);
            done(context, error);
            return;
        }
    } else {
        memcpy(memory, a->tail, before);
    }
    memcpy(memory + before, bytes.data, bytes.size);
    memset(memory + used, 0, size - used);
    a->fd = fd;
    a->end = offset + (int64_t)bytes.size;
    if (used % WRITE_ALIGNMENT > 0)
        memcpy(a->tail, memory + size - WRITE_ALIGNMENT, used % WRITE_ALIGNMENT);
    loop_write_sync(l, fd, offset - (int64_t)before, memory, size, done, context);
}
