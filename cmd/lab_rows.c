/* lab_rows.c - see lab_rows.h. */
#include "cmd/lab_rows.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

void lab_rows_name(const struct lab_planned *run, char out[LAB_PATH_SIZE_MAX])
{
    static const char ending[] = ".json";
    const size_t size = strlen(run->path) - (sizeof ending - 1);
    must(strcmp(run->path + size, ending) == 0);
    const int used = snprintf(out, LAB_PATH_SIZE_MAX, "%.*s.requests.csv.gz", (int)size, run->path);
    must(used < LAB_PATH_SIZE_MAX); /* the names of policies and points are cut off long before */
}

static bool rows_fail(const struct lab_rows *r, int cause, struct buffer *error)
{
    buffer_append_format(error, "cannot write %s: %s", r->path, strerror(cause));
    return false;
}

bool lab_rows_begin(struct lab_rows *r, const char *directory, const struct lab_planned *run,
                    struct buffer *error)
{
    char name[LAB_PATH_SIZE_MAX];
    *r = (struct lab_rows){0};
    lab_rows_name(run, name);
    snprintf(r->path, sizeof r->path, "%s/%s", directory, name);
    snprintf(r->fresh, sizeof r->fresh, "%s.%d", r->path, (int)getpid());
    if (!lab_file_make_directories(r->path, error))
        return false;
    r->file = fopen(r->fresh, "wbe");
    return r->file != NULL || rows_fail(r, errno, error);
}

void lab_rows_add(void *context, struct slice packed)
{
    struct lab_rows *r = context;
    if (fwrite(packed.data, 1, packed.size, r->file) != packed.size && r->error == 0)
        r->error = errno;
}

bool lab_rows_end(struct lab_rows *r, bool keep, struct buffer *error)
{
    if (fclose(r->file) != 0 && r->error == 0)
        r->error = errno;
    if (r->error == 0 && keep && rename(r->fresh, r->path) != 0)
        r->error = errno;
    if (r->error != 0 || !keep)
        unlink(r->fresh);
    return r->error == 0 || rows_fail(r, r->error, error);
}
