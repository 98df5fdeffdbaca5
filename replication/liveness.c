/* liveness.c - support between pairs of nodes; liveness.h has the rules LIVENESS-1 to LIVENESS-3.
 *
 * How LIVENESS-2 is kept. The supporter's support runs for `support` on its clock from the receipt
 * of a heartbeat. The supported node counts from the moment it sent the heartbeat, which is
 * earlier. It counts only support * (1 - 2 * drift). `support` is at most the time that the
 * supporter gives. `drift` is the larger of the two nodes' settings. Let both clocks differ from
 * real time by up to the drift d, either way. Then (1 - 2d) / (1 - d) <= 1 / (1 + d). So the
 * supported node's slower clock ends before the supporter's faster clock.
 *
 * When a new incarnation is believed. A heartbeat of an earlier process may arrive after a
 * heartbeat of its successor. Taking it for a restart would end support that is still relied on.
 * So while support lasts, another incarnation must acknowledge a round sent after the present
 * incarnation was first heard. A process that was dead by then cannot do that. Support that has
 * lapsed binds no node. */
#include "replication/liveness.h"

#include <stdlib.h>

#include "base/mutation.h"
#include "base/prng.h"

void liveness_init(struct liveness *l, const struct liveness_options *options, struct instant now)
{
    must(options->node >= 1 && options->node <= options->node_count);
    must(options->incarnation != 0);
    must(options->interval.ns > 0);
    must(options->support.ns > options->interval.ns);
    must(options->drift_ppm >= 0 && options->drift_ppm < LIVENESS_DRIFT_END);
    struct prng p = prng_seeded(options->incarnation);
    *l = (struct liveness){
        .options = *options, .next_epoch = prng_next(&p), .beat_at = now, .ticked_at = now};
    l->peers = must_calloc((size_t)options->node_count + 1, sizeof *l->peers);
}

void liveness_deinit(struct liveness *l)
{
    free(l->peers);
    *l = (struct liveness){0};
}

static bool is_peer(const struct liveness *l, uint32_t node)
{
    return node >= 1 && node <= l->options.node_count && node != l->options.node;
}

/* Whether `until` has come since `before`. */
static bool has_come(struct instant until, struct instant before, struct instant now)
{
    return instant_before(before, until) && !instant_before(now, until);
}

struct liveness_due liveness_tick(struct liveness *l, struct instant now)
{
    struct liveness_due due = {.beat = !instant_before(now, l->beat_at)};
    if (due.beat) {
        l->beat_at = instant_add(now, l->options.interval);
        l->round++;
    }
    for (uint32_t node = 1; node <= l->options.node_count && !due.lapsed; node++) {
        const struct liveness_peer *p = &l->peers[node];
        due.lapsed = has_come(p->given_until, l->ticked_at, now) ||
                     has_come(p->got_until, l->ticked_at, now);
    }
    l->ticked_at = now;
    return due;
}

struct instant liveness_deadline(const struct liveness *l, struct instant now)
{
    struct instant next = l->beat_at;
    for (uint32_t node = 1; node <= l->options.node_count; node++) {
        const struct liveness_peer *p = &l->peers[node];
        if (p->given_epoch != 0 && instant_before(now, p->given_until))
            next = instant_earlier(next, p->given_until);
        if (p->got_epoch != 0 && instant_before(now, p->got_until))
            next = instant_earlier(next, p->got_until);
    }
    return next;
}

struct liveness_beat liveness_beat(struct liveness *l, struct instant now, uint32_t node,
                                   bool heartbeat)
{
    must(is_peer(l, node));
    struct liveness_peer *p = &l->peers[node];
    struct liveness_beat beat = {
        .incarnation = l->options.incarnation,
        .ack_incarnation = p->incarnation,
        .ack_round = p->received_round,
        .ack_epoch = liveness_given(l, now, node),
        .ack_support = l->options.support,
        .ack_drift_ppm = (uint32_t)l->options.drift_ppm,
    };
    if (heartbeat && l->round > 0) {
        beat.round = l->round;
        p->sent_at[l->round % LIVENESS_ROUNDS] = now;
    }
    return beat;
}

/* ---- hearing ---- */

/* False: the beat is of an incarnation that is not believed, or not yet. */
static bool liveness_believe(struct liveness *l, struct instant now, struct liveness_peer *p,
                             const struct liveness_beat *beat, struct liveness_change *change)
{
    if (p->incarnation == beat->incarnation)
        return true;
    bool gives_support = p->given_epoch != 0 && instant_before(now, p->given_until);
    bool newer =
        beat->ack_incarnation == l->options.incarnation && beat->ack_round > p->since_round;
    if (p->incarnation != 0 && gives_support && !newer)
        return false;
    change->restarted = p->incarnation != 0;
    p->incarnation = beat->incarnation;
    p->since_round = l->round;
    p->received_round = 0;
    p->given_epoch = 0;
    return true;
}

static void liveness_give(struct liveness *l, struct instant now, struct liveness_peer *p,
                          const struct liveness_beat *beat, struct liveness_change *change)
{
    if (beat->round <= p->received_round)
        return; /* LIVENESS-3; round 0 is no heartbeat */
    p->received_round = beat->round;
    if (p->given_epoch == 0 || !instant_before(now, p->given_until)) { /* LIVENESS-1 */
        p->given_epoch = l->next_epoch == 0 ? 1 : l->next_epoch;
        l->next_epoch = p->given_epoch + 1;
        change->given = true;
    }
    p->given_until = instant_add(now, l->options.support);
    change->answer = true;
}

static struct instant counted_until(const struct liveness *l, const struct liveness_beat *beat,
                                    struct instant sent_at)
{
    const int64_t million = 1000000;
    int64_t support = l->options.support.ns, drift = l->options.drift_ppm;
    if (beat->ack_support.ns < support && !MUTATED(MUTATION_OWN_SUPPORT))
        support = beat->ack_support.ns;
    drift = 2 * MAX(beat->ack_drift_ppm, drift);
    /* Rounded up; in two steps, so that no product overflows. */
    int64_t less = support / million * drift + (support % million * drift + million - 1) / million;
    return instant_add(sent_at, (struct duration){support - less});
}

static void liveness_get(struct liveness *l, struct instant now, struct liveness_peer *p,
                         const struct liveness_beat *beat, struct liveness_change *change)
{
    if (beat->ack_incarnation != l->options.incarnation || beat->ack_epoch == 0 ||
        beat->ack_round <= p->acked_round || beat->ack_round > l->round ||
        l->round - beat->ack_round >= LIVENESS_ROUNDS)
        return; /* LIVENESS-3 */
    bool had = p->got_epoch != 0 && instant_before(now, p->got_until);
    uint64_t before = had ? p->got_epoch : 0;
    struct instant until = counted_until(l, beat, p->sent_at[beat->ack_round % LIVENESS_ROUNDS]);
    p->acked_round = beat->ack_round;
    p->got_epoch = beat->ack_epoch;
    p->got_until = until;
    change->got = instant_before(now, until) && before != beat->ack_epoch;
}

struct liveness_change liveness_received(struct liveness *l, struct instant now, uint32_t node,
                                         const struct liveness_beat *beat)
{
    struct liveness_change change = {0};
    if (!is_peer(l, node) || beat->incarnation == 0)
        return change;
    struct liveness_peer *p = &l->peers[node];
    if (!liveness_believe(l, now, p, beat, &change))
        return change;
    change.believed = true;
    liveness_give(l, now, p, beat, &change);
    liveness_get(l, now, p, beat, &change);
    return change;
}

/* ---- looking ---- */

uint64_t liveness_given(const struct liveness *l, struct instant now, uint32_t node)
{
    if (node == l->options.node)
        return 1;
    if (!is_peer(l, node) || !instant_before(now, l->peers[node].given_until))
        return 0;
    return l->peers[node].given_epoch;
}

uint64_t liveness_got(const struct liveness *l, struct instant now, uint32_t node,
                      struct instant *until)
{
    *until = INSTANT_NEVER;
    if (node == l->options.node)
        return 1;
    *until = now;
    if (!is_peer(l, node) || l->peers[node].got_epoch == 0 ||
        !instant_before(now, l->peers[node].got_until))
        return 0;
    *until = l->peers[node].got_until;
    return l->peers[node].got_epoch;
}

/* ---- bytes ---- */

void liveness_beat_encode(struct buffer *out, const struct liveness_beat *b)
{
    uint8_t *at = buffer_reserve(out, LIVENESS_BEAT_SIZE);
    at = put_u64(at, b->incarnation);
    at = put_u64(at, b->round);
    at = put_u64(at, b->ack_incarnation);
    at = put_u64(at, b->ack_round);
    at = put_u64(at, b->ack_epoch);
    at = put_u64(at, (uint64_t)b->ack_support.ns);
    buffer_end(out, put_u32(at, b->ack_drift_ppm));
}

enum status liveness_beat_decode(struct reader *r, struct liveness_beat *out)
{
    out->incarnation = reader_u64(r);
    out->round = reader_u64(r);
    out->ack_incarnation = reader_u64(r);
    out->ack_round = reader_u64(r);
    out->ack_epoch = reader_u64(r);
    out->ack_support.ns = (int64_t)reader_u64(r);
    out->ack_drift_ppm = reader_u32(r);
    bool valid = !r->failed && out->incarnation != 0 && out->ack_support.ns >= 0 &&
                 out->ack_drift_ppm < LIVENESS_DRIFT_END;
    return valid ? STATUS_OK : STATUS_MALFORMED;
}
