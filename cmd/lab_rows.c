/* lab_rows.c - see lab_rows.h. */
#include "cmd/lab_rows.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

void lab_rows_name(const struct lab_planned *run, enum lab_row_file file,
                   char out[LAB_PATH_SIZE_MAX])
{
    static const char ending[] = ".json";
    static const char *const names[] = {
        [LAB_ROWS_REQUESTS] = "requests", [LAB_ROWS_WINDOWS] = "windows"};
    const size_t size = strlen(run->path) - (sizeof ending - 1);
    must(strcmp(run->path + size, ending) == 0);
    const int used =
        snprintf(out, LAB_PATH_SIZE_MAX, "%.*s.%s.csv.gz", (int)size, run->path, names[file]);
    must(used < LAB_PATH_SIZE_MAX); /* the names of policies and points are cut off long before */
}

static bool file_fail(const struct lab_rows_file *f, int cause, struct buffer *error)
{
    buffer_append_format(error, "cannot write %s: %s", f->path, strerror(cause));
    return false;
}

static bool file_begin(struct lab_rows_file *f, const char *directory, const char *name,
                       struct buffer *error)
{
    snprintf(f->path, sizeof f->path, "%s/%s", directory, name);
    snprintf(f->fresh, sizeof f->fresh, "%s.%d", f->path, (int)getpid());
    if (!lab_file_make_directories(f->path, error))
        return false;
    f->file = fopen(f->fresh, "wbe");
    return f->file != NULL || file_fail(f, errno, error);
}

static void file_close(struct lab_rows_file *f)
{
    if (f->file != NULL && fclose(f->file) != 0 && f->error == 0)
        f->error = errno;
    f->file = NULL;
}

bool lab_rows_begin(struct lab_rows *r, const char *directory, const struct lab_planned *run,
                    struct buffer *error)
{
    *r = (struct lab_rows){0};
    for (enum lab_row_file i = 0; i < LAB_ROW_FILES; i++) {
        char name[LAB_PATH_SIZE_MAX];
        lab_rows_name(run, i, name);
        if (file_begin(&r->files[i], directory, name, error))
            continue;
        while (i-- > 0) {
            file_close(&r->files[i]);
            unlink(r->files[i].fresh);
        }
        return false;
    }
    return true;
}

void lab_rows_add(void *context, enum lab_row_file file, struct slice packed)
{
    struct lab_rows *r = context;
    struct lab_rows_file *f = &r->files[file];
    if (fwrite(packed.data, 1, packed.size, f->file) != packed.size && f->error == 0)
        f->error = errno;
}

/* All files appear, or none. */
bool lab_rows_end(struct lab_rows *r, bool keep, struct buffer *error)
{
    const struct lab_rows_file *failed = NULL;
    for (int i = 0; i < LAB_ROW_FILES; i++) {
        file_close(&r->files[i]);
        if (r->files[i].error != 0 && failed == NULL)
            failed = &r->files[i];
    }
    for (int i = 0; i < LAB_ROW_FILES; i++) {
        struct lab_rows_file *f = &r->files[i];
        if (failed == NULL && keep && rename(f->fresh, f->path) != 0) {
            f->error = errno;
            failed = f;
        }
        if (failed != NULL || !keep)
            unlink(f->fresh);
    }
    return failed == NULL || file_fail(failed, failed->error, error);
}
