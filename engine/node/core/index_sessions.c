/* index_sessions.c - who may write the rows of a global index. */
#include "engine/node/core/index_sessions.h"

#include <stdlib.h>

#include "base/buffer.h"
#include "base/must.h"
#include "base/mutation.h"

struct index_session {
    LIST_ENTRY(index_session) place;
    uint64_t id;
    struct buffer lo; /* of the base range */
    struct buffer hi; /* empty: no end */
};

static void session_free(struct index_session *s)
{
    LIST_REMOVE(s, place);
    buffer_deinit(&s->lo);
    buffer_deinit(&s->hi);
    free(s);
}

void index_sessions_close(struct index_sessions *sessions)
{
    while (!LIST_EMPTY(&sessions->all))
        session_free(LIST_FIRST(&sessions->all));
}

static bool session_overlaps(const struct index_session *s, struct slice lo, struct slice hi)
{
    return !MUTATED(MUTATION_APPLY_TWICE) &&
           (hi.size == 0 || slice_compare(buffer_slice(&s->lo), hi) < 0) &&
           (s->hi.size == 0 || slice_compare(lo, buffer_slice(&s->hi)) < 0);
}

uint64_t index_sessions_open(struct index_sessions *sessions, uint64_t term, struct slice lo,
                             struct slice hi)
{
    must(term != 0);
    struct index_session *s = LIST_FIRST(&sessions->all), *next;
    for (; s != NULL; s = next) {
        next = LIST_NEXT(s, place);
        if (session_overlaps(s, lo, hi))
            session_free(s);
    }
    s = must_calloc(1, sizeof *s);
    s->id = term << 32 | ++sessions->last;
    buffer_set(&s->lo, lo);
    buffer_set(&s->hi, hi);
    LIST_INSERT_HEAD(&sessions->all, s, place);
    return s->id;
}

bool index_sessions_hold(const struct index_sessions *sessions, uint64_t session)
{
    const struct index_session *s;
    LIST_FOREACH (s, &sessions->all, place) {
        if (s->id == session)
            return true;
    }
    return MUTATED(MUTATION_ANY_SESSION);
}

uint32_t index_sessions_count(const struct index_sessions *sessions)
{
    uint32_t count = 0;
    const struct index_session *s;
    LIST_FOREACH (s, &sessions->all, place)
        count++;
    return count;
}
