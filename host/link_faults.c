/* link_faults.c - rules by peer, and the frames held back by them. */
#include "host/link_faults.h"

#include <stdlib.h>
#include <sys/queue.h>

#include "base/buffer.h"

struct held {
    TAILQ_ENTRY(held) entry;
    uint64_t link;
    struct instant due;
    struct buffer frame; /* owns */
};

TAILQ_HEAD(held_list, held);

struct link_faults {
    struct link_rule rules[LINK_RULES_MAX];
    size_t count;
    struct held_list held; /* owns; in the order of link_faults_hold */
    size_t held_bytes;
    struct buffer lent; /* the last frame of link_faults_next */
};

struct link_faults *link_faults_create(void)
{
    struct link_faults *f = must_calloc(1, sizeof *f);
    TAILQ_INIT(&f->held);
    return f;
}

static void link_faults_release(struct link_faults *f, struct held *h)
{
    TAILQ_REMOVE(&f->held, h, entry);
    f->held_bytes -= h->frame.size;
    buffer_deinit(&h->frame);
    free(h);
}

void link_faults_destroy(struct link_faults *f)
{
    if (f == NULL)
        return;
    while (!TAILQ_EMPTY(&f->held))
        link_faults_release(f, TAILQ_FIRST(&f->held));
    buffer_deinit(&f->lent);
    free(f);
}

const struct link_rule *link_faults_find(const struct link_faults *f, uint32_t kind, uint32_t id)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->rules[i].kind == kind && f->rules[i].id == id)
            return &f->rules[i];
    return NULL;
}

struct link_rule *link_faults_rule(struct link_faults *f, uint32_t kind, uint32_t id)
{
    const struct link_rule *found = link_faults_find(f, kind, id);
    if (found != NULL)
        return &f->rules[found - f->rules];
    if (f->count == LINK_RULES_MAX)
        return NULL;
    f->rules[f->count] = (struct link_rule){.kind = kind, .id = id};
    return &f->rules[f->count++];
}

size_t link_faults_count(const struct link_faults *f)
{
    return f->count;
}

const struct link_rule *link_faults_at(const struct link_faults *f, size_t index)
{
    must(index < f->count);
    return &f->rules[index];
}

void link_faults_clear(struct link_faults *f)
{
    struct held *h;
    f->count = 0;
    TAILQ_FOREACH (h, &f->held, entry)
        h->due.ns = 0;
}

bool link_faults_holds(const struct link_faults *f, uint64_t link)
{
    const struct held *h;
    TAILQ_FOREACH (h, &f->held, entry)
        if (h->link == link)
            return true;
    return false;
}

void link_faults_hold(struct link_faults *f, uint64_t link, struct slice frame, struct instant due)
{
    if (f->held_bytes + frame.size > LINK_DELAYED_MAX)
        return;
    struct held *h = must_calloc(1, sizeof *h), *before;
    h->link = link;
    h->due = due;
    TAILQ_FOREACH_REVERSE(before, &f->held, held_list, entry)
    if (before->link == link) {
        if (instant_before(due, before->due))
            h->due = before->due;
        break;
    }
    buffer_append_slice(&h->frame, frame);
    f->held_bytes += frame.size;
    TAILQ_INSERT_TAIL(&f->held, h, entry);
}

struct instant link_faults_deadline(const struct link_faults *f)
{
    struct instant earliest = INSTANT_NEVER;
    const struct held *h;
    TAILQ_FOREACH (h, &f->held, entry)
        earliest = instant_earlier(earliest, h->due);
    return earliest;
}

bool link_faults_next(struct link_faults *f, struct instant now, uint64_t *link,
                      struct slice *frame)
{
    struct held *h;
    TAILQ_FOREACH (h, &f->held, entry) {
        if (instant_before(now, h->due))
            continue;
        buffer_set(&f->lent, buffer_slice(&h->frame));
        *link = h->link;
        *frame = buffer_slice(&f->lent);
        link_faults_release(f, h);
        return true;
    }
    return false;
}
