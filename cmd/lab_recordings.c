/* lab_recordings.c - see lab_recordings.h. */
#include "cmd/lab_recordings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/instant.h"
#include "lab/scenario/document.h"

void recordings_deinit(struct recordings *r)
{
    for (uint32_t i = 0; i < r->count; i++)
        free((char *)(uintptr_t)r->paths[i]);
    buffer_deinit(&r->list);
}

/* Whether the file begins as a recording of weir does. */
static bool is_recording(const char *path)
{
    char head[sizeof TRACE_HEAD] = "";
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return false;
    size_t size = fread(head, 1, sizeof head - 1, f);
    fclose(f);
    return size == sizeof head - 1 && strcmp(head, TRACE_HEAD) == 0;
}

static bool recordings_add(struct recordings *r, const char *word)
{
    const char *path = realpath(word, NULL);
    if (path == NULL) {
        fprintf(stderr, "weir lab: cannot read %s: %s\n", word, strerror(errno));
        return false;
    }
    r->paths[r->count++] = path;
    for (uint32_t i = 0; i + 1 < r->count; i++) {
        if (strcmp(r->paths[i], path) == 0) {
            fprintf(stderr, "weir lab: %s is named twice\n", word);
            return false;
        }
    }
    buffer_append_u8(&r->list, r->count == 1 ? '[' : ',');
    document_append_text(&r->list, slice_of(path));
    return true;
}

bool recordings_take(struct recordings *r, const char *const *words, int count,
                     const char **scenario)
{
    int last = count - 1;
    bool named = last > 0 && !is_recording(words[last]);
    *scenario = named ? words[last] : NULL;
    if (!named && count > TRACE_MERGE_MAX) {
        fprintf(stderr, "weir lab: %d recordings, at most %d are merged\n", count, TRACE_MERGE_MAX);
        return false;
    }
    for (int i = 0; i < count - named; i++) {
        if (!recordings_add(r, words[i]))
            return false;
    }
    buffer_append_u8(&r->list, ']');
    return true;
}

bool recordings_scan(const struct recordings *all, struct recorded *out)
{
    struct trace_merge m;
    struct trace_record r;
    struct buffer error = {0};
    *out = (struct recorded){0};
    bool good = trace_merge_open(&m, all->paths, all->count, NULL, &error) == STATUS_OK;
    while (good && trace_merge_next(&m, &r)) {
        out->end_ns = r.at_ns;
        out->outcomes[r.outcome]++;
        out->requests++;
    }
    if (good && trace_merge_error(&m, &error) == STATUS_OK && out->requests == 0)
        buffer_append_format(&error, "%s has no requests", all->paths[0]);
    trace_merge_close(&m);
    const bool known = error.size == 0;
    if (!known)
        fprintf(stderr, "weir lab: %.*s\n", TEXT_OF(error));
    buffer_deinit(&error);
    return known;
}

void recorded_print(const struct recordings *all, const struct recorded *r)
{
    printf("recorded: %lld requests in %.1f s, of which %.4f were throttled",
           (long long)r->requests, (double)r->end_ns / 1e9,
           (double)r->outcomes[TRACE_THROTTLED] / (double)r->requests);
    if (all->count > 1)
        printf(", in %u recordings", all->count);
    putchar('\n');
    fflush(stdout);
}
