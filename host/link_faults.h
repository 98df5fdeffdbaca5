/* link_faults.h - rules by which frames are lost or delayed, as in a broken network.
 *
 * A rule is about the traffic with one peer process. Frames are dropped or delayed, never changed,
 * and keep their order. The connection stays up.
 * Bounds: LINK_RULES_MAX rules; LINK_DELAYED_MAX bytes held back; frames beyond them are lost.
 * Not here: where frames come from and go to (host/transport.c). */
#pragma once

#include "base/instant.h"
#include "base/slice.h"

enum {
    LINK_CUT_IN = 1, /* frames from the peer are lost */
    LINK_CUT_OUT = 2,
    LINK_CUT_BOTH = LINK_CUT_IN | LINK_CUT_OUT,
    LINK_RULES_MAX = 256,
    LINK_DELAYED_MAX = 64 * 1024 * 1024, /* bytes */
};

struct link_rule {
    uint32_t kind; /* enum peer_kind */
    uint32_t id;
    unsigned cut;
    struct duration delay; /* of frames to the peer */
};

struct link_faults;

struct link_faults *link_faults_create(void);
void link_faults_destroy(struct link_faults *f);

/* The rule for that peer, all zero at first; NULL if there are too many. Lends until
 * link_faults_clear. */
struct link_rule *link_faults_rule(struct link_faults *f, uint32_t kind, uint32_t id);
/* NULL if there is no rule for that peer. */
const struct link_rule *link_faults_find(const struct link_faults *f, uint32_t kind, uint32_t id);
size_t link_faults_count(const struct link_faults *f);
const struct link_rule *link_faults_at(const struct link_faults *f, size_t index);

/* Forgets the rules. Frames held back become due at once. */
void link_faults_clear(struct link_faults *f);

/* Keeps a copy of a frame. The frame is due at `due`, but not before earlier frames of that
 * link. */
void link_faults_hold(struct link_faults *f, uint64_t link, struct slice frame, struct instant due);
bool link_faults_holds(const struct link_faults *f, uint64_t link);
struct instant link_faults_deadline(const struct link_faults *f);
/* The next frame that is due; lends until the next call. False: no frame is due. */
bool link_faults_next(struct link_faults *f, struct instant now, uint64_t *link,
                      struct slice *frame);
