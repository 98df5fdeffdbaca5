/* limiter_play.c - senders and their messages. What is checked: limiter_play_check.c. */
#include "tests/support/limiter_play_internal.h"

enum {
    DAY_MS = 24 * 3600 * 1000
};

static bool chance(struct play *y, uint32_t percent)
{
    return prng_below(y->p, 100) < percent;
}

static int64_t up_to(struct play *y, int64_t most)
{
    return prng_between(y->p, 0, most);
}

static void limits_draw(struct play *y)
{
    static const int64_t periods[] = {1000, 60000, 3600000, DAY_MS, 999983, 7};
    struct limiter_limits *l = &y->scene.limits;
    l->count = 1 + (uint32_t)prng_below(y->p, 3);
    for (uint32_t i = 0; i < l->count; i++) {
        static const char *const names[] = {"rpm", "tpm", "rpd"};
        l->at[i] = (struct limiter_limit){
            .name = slice_of(names[i]),
            .capacity = 1000 + up_to(y, chance(y, 50) ? 20000 : 2000000),
            .amount = 1000 + up_to(y, chance(y, 50) ? 20000 : 2000000),
            .period_ms = periods[prng_below(y->p, COUNT_OF(periods))],
            .least = 1 + up_to(y, 999),
        };
    }
    must(limiter_limits_fault(l) == NULL);
    memcpy(y->highest, l->at, sizeof y->highest);
}

void play_init(struct play *y, struct prng *p)
{
    *y = (struct play){.p = p};
    y->now_ms = INT64_C(1755500000000) + up_to(y, DAY_MS);
    limiter_scene_init(&y->scene, y->now_ms);
    y->single = chance(y, 20);
    y->slow = chance(y, 50);
    y->changes = !y->single && chance(y, 30);
    limits_draw(y);
    for (uint32_t i = 0; i < LIMITER_SHARDS_MAX && !y->single; i++)
        y->ahead_ms[i] = up_to(y, PLAY_CLOCKS_MS);
}

void play_deinit(struct play *y)
{
    limiter_scene_deinit(&y->scene);
}

/* ---- senders ---- */

static void sender_learn(struct play *y, struct play_sender *sender)
{
    struct limiter_bucket b;
    sender->known = (struct limiter_shards){0};
    sender->known_ms = y->now_ms;
    if (limiter_scene_find(&y->scene, 0, &b))
        sender->known = b.truth;
}

static struct limiter_command sender_command(struct play *y, const struct play_sender *sender,
                                             enum limiter_verb verb, uint32_t shard)
{
    struct limiter_command m = limiter_scene_command(&y->scene, verb, shard);
    m.known = sender->known;
    m.mwcu = chance(y, 95) ? 1000 : up_to(y, 400000);
    m.attempts = chance(y, 95) ? 0 : up_to(y, 400);
    return m;
}

/* Names in a command must outlive the item that they come from. */
static void names_keep(const struct play *y, struct limiter_limits *limits)
{
    for (uint32_t i = 0; i < limits->count; i++) {
        for (uint32_t k = 0; k < y->scene.limits.count; k++) {
            if (slice_equal(limits->at[i].name, y->scene.limits.at[k].name))
                limits->at[i].name = y->scene.limits.at[k].name;
        }
    }
}

static void message_put(struct play *y, const struct play_message *m)
{
    if (y->message_count < PLAY_MESSAGES)
        y->messages[y->message_count++] = *m;
}

static void sender_send(struct play *y, const struct play_sender *sender,
                        const struct limiter_command *command)
{
    struct play_message m = {.sender = (uint32_t)(sender - y->senders), .command = *command};
    if (chance(y, 5))
        return; /* lost */
    for (bool again = true; again; again = chance(y, 6)) {
        const int64_t most = chance(y, y->slow ? 70 : 90) ? 50
                             : chance(y, 70)              ? 5000
                                                          : LIMITER_KNOWN_MS;
        m.at_ms = y->now_ms + up_to(y, most);
        message_put(y, &m);
    }
}

static void sender_give(struct play *y, const struct play_sender *sender, uint32_t child)
{
    struct limiter_command m = sender_command(y, sender, LIMITER_GIVE, limiter_parent(child));
    m.child = child;
    sender_send(y, sender, &m);
}

static void sender_open(struct play *y, struct play_sender *sender, uint32_t child)
{
    const uint32_t parent = limiter_parent(child);
    struct limiter_bucket b;
    if (!limiter_scene_find(&y->scene, parent, &b) || b.closed)
        return;
    if (parent == 0 || b.epoch > sender->known.epoch)
        sender_learn(y, sender);
    const uint64_t grown = sender->known.grown[limiter_size_of(child)];
    for (uint32_t i = 0; i < b.gift_count && sender->known.count > child; i++) {
        if (b.gifts[i].child != child || b.gifts[i].epoch < grown)
            continue;
        struct limiter_command m = sender_command(y, sender, LIMITER_OPEN, child);
        m.limits = b.limits;
        names_keep(y, &m.limits);
        m.gift = b.gifts[i];
        sender_send(y, sender, &m);
    }
}

static void sender_absorb(struct play *y, const struct play_sender *sender,
                          const struct limiter_command *closing)
{
    struct limiter_bucket b;
    if (!limiter_scene_find(&y->scene, closing->shard, &b) || !b.closed ||
        b.epoch != closing->known.epoch)
        return;
    struct limiter_command m =
        sender_command(y, sender, LIMITER_ABSORB, limiter_parent(closing->shard));
    m.known = closing->known;
    m.opened = b.opened;
    m.gift.child = closing->shard;
    m.gift.epoch = b.epoch;
    if (b.opened) {
        m.limits = b.limits;
        names_keep(y, &m.limits);
        memcpy(m.gift.levels, b.levels, sizeof b.levels);
    }
    sender_send(y, sender, &m);
}

static void sender_hear(struct play *y, struct play_sender *sender, const struct limiter_command *m,
                        enum limiter_refusal refusal)
{
    if (refusal == LIMITER_CLOSED || refusal == LIMITER_ELSEWHERE)
        sender_learn(y, sender);
    if (refusal == LIMITER_ABSENT && m->shard > 0)
        sender_give(y, sender, m->shard);
    if (refusal != LIMITER_DONE && refusal != LIMITER_NO_CHANGE)
        return;
    switch ((enum limiter_verb)m->verb) {
    case LIMITER_GIVE:
        sender_open(y, sender, m->child);
        break;
    case LIMITER_CLOSE:
        sender_absorb(y, sender, m);
        break;
    case LIMITER_ABSORB:
        if (m->known.epoch == sender->merge_epoch)
            sender->absorbed[m->gift.child] = true;
        break;
    case LIMITER_DOUBLE:
    case LIMITER_HALVE:
    case LIMITER_HALVED:
        sender_learn(y, sender);
        break;
    default:
        break;
    }
}

static void sender_take(struct play *y, struct play_sender *sender, enum limiter_verb verb)
{
    const uint32_t count = sender->known.count;
    const uint32_t shard = count > 1 ? (uint32_t)prng_below(y->p, count) : 0;
    struct limiter_command m = sender_command(y, sender, verb, shard);
    for (uint32_t i = 0; i < m.limits.count; i++) {
        const int64_t share = m.limits.at[i].capacity / (count > 0 ? count : 1);
        if (chance(y, 60))
            m.amounts[i] = up_to(y, chance(y, 80) ? share / 8 : share);
        if (verb == LIMITER_ADJUST && chance(y, 70))
            m.amounts[i] = -m.amounts[i];
    }
    m.homed = verb == LIMITER_TAKE && chance(y, 20);
    m.home = m.homed ? prng_next(y->p) << 7 | shard : 0; /* elsewhere if the bucket has merged */
    m.home ^= m.homed && chance(y, 10) ? 1 : 0;
    m.until_ms = chance(y, 20) ? y->now_ms + up_to(y, 5000) : 0;
    sender_send(y, sender, &m);
}

/* One step of merging: what is to be done is read from shard 0. */
static void sender_merge(struct play *y, struct play_sender *sender)
{
    struct limiter_bucket b;
    sender_learn(y, sender);
    if (!limiter_scene_find(&y->scene, 0, &b))
        return;
    if (!b.merging) {
        const struct limiter_command m = sender_command(y, sender, LIMITER_HALVE, 0);
        if (b.truth.count > 1 && chance(y, 40))
            sender_send(y, sender, &m);
        return;
    }
    if (sender->merge_epoch != b.truth.epoch) {
        sender->merge_epoch = b.truth.epoch;
        memset(sender->absorbed, 0, sizeof sender->absorbed);
    }
    bool all = true;
    for (uint32_t shard = b.truth.count; shard < 2 * b.truth.count; shard++) {
        const struct limiter_command m = sender_command(y, sender, LIMITER_CLOSE, shard);
        all &= sender->absorbed[shard];
        if (!sender->absorbed[shard] && chance(y, 60))
            sender_send(y, sender, &m);
    }
    const struct limiter_command m = sender_command(y, sender, LIMITER_HALVED, 0);
    if (all)
        sender_send(y, sender, &m);
}

static void limits_change(struct play *y)
{
    struct limiter_limits *l = &y->scene.limits;
    l->version++;
    for (uint32_t i = 0; i < l->count; i++) {
        l->at[i].capacity = 1000 + up_to(y, 2000000);
        l->at[i].amount = 1000 + up_to(y, 2000000);
        if (l->at[i].capacity > y->highest[i].capacity)
            y->highest[i].capacity = l->at[i].capacity;
        if (l->at[i].amount > y->highest[i].amount)
            y->highest[i].amount = l->at[i].amount;
    }
}

static void sender_act(struct play *y)
{
    struct play_sender *sender = &y->senders[prng_below(y->p, PLAY_SENDERS)];
    const uint32_t what = (uint32_t)prng_below(y->p, 100);
    struct limiter_command m;
    if (y->now_ms - sender->known_ms > LIMITER_KNOWN_MS)
        sender->known = (struct limiter_shards){0};
    if (what < 55)
        sender_take(y, sender, LIMITER_TAKE);
    else if (what < 65)
        sender_take(y, sender, LIMITER_ADJUST);
    else if (what < 72)
        sender_learn(y, sender);
    else if (what < 82 && !y->single && sender->known.epoch > 0) {
        m = sender_command(y, sender, LIMITER_DOUBLE, 0);
        if (sender->known.count < 8 || chance(y, 20))
            sender_send(y, sender, &m);
    } else if (what < 96 && !y->single)
        sender_merge(y, sender);
    else if (y->changes && chance(y, 30))
        limits_change(y);
    else if (y->changes) {
        m = sender_command(y, sender, LIMITER_CONFIGURE,
                           (uint32_t)prng_below(y->p, sender->known.count + 1));
        sender_send(y, sender, &m);
    }
}

/* ---- steps ---- */

static void play_deliver(struct play *y, const struct play_message *m)
{
    const uint32_t shard = m->command.shard;
    if (!y->single && chance(y, 2))
        y->ahead_ms[shard] = up_to(y, PLAY_CLOCKS_MS);
    const enum limiter_refusal refusal = play_run(y, &m->command);
    if (refusal == LIMITER_DONE)
        y->done[m->command.verb]++;
    y->refused[refusal]++;
    if (!chance(y, 3)) /* the answer is lost */
        sender_hear(y, &y->senders[m->sender], &m->command, refusal);
}

/* The message that arrives next, if one does until `until_ms`. */
static bool play_next(struct play *y, int64_t until_ms, struct play_message *out)
{
    uint32_t next = 0;
    for (uint32_t i = 1; i < y->message_count; i++) {
        if (y->messages[i].at_ms < y->messages[next].at_ms)
            next = i;
    }
    if (y->message_count == 0 || y->messages[next].at_ms > until_ms)
        return false;
    *out = y->messages[next];
    y->messages[next] = y->messages[--y->message_count];
    return true;
}

static int64_t time_drawn(struct play *y)
{
    const uint32_t what = (uint32_t)prng_below(y->p, 1000);
    if (what < 600)
        return up_to(y, 20);
    if (what < 950)
        return up_to(y, 2000);
    if (what < 990)
        return up_to(y, 600000);
    return up_to(y, what < 997 ? 2 * LIMITER_KEEP_MS : 3 * DAY_MS);
}

static void play_pass(struct play *y, int64_t until_ms)
{
    struct play_message m;
    while (y->fault == NULL && play_next(y, until_ms, &m)) {
        if (m.at_ms > y->now_ms)
            y->now_ms = m.at_ms;
        play_deliver(y, &m);
    }
    y->now_ms = until_ms;
}

void play_step(struct play *y)
{
    play_pass(y, y->now_ms + time_drawn(y));
    for (uint32_t shard = 0; shard < LIMITER_SHARDS_MAX && y->fault == NULL; shard++) {
        if (y->scene.items[shard].size > 0 && chance(y, 10))
            play_expire(y, shard);
    }
    if (y->fault == NULL)
        sender_act(y);
}

/* ---- the end ---- */

static void settle_run(struct play *y, const struct limiter_command *m)
{
    if (y->fault == NULL)
        play_run(y, m);
}

static void settle_merge(struct play *y, struct play_sender *sender)
{
    struct limiter_bucket b;
    sender_learn(y, sender);
    if (!limiter_scene_find(&y->scene, 0, &b) || !b.merging)
        return;
    for (uint32_t shard = b.truth.count; shard < 2 * b.truth.count; shard++) {
        const struct limiter_command m = sender_command(y, sender, LIMITER_CLOSE, shard);
        settle_run(y, &m);
        y->message_count = 0;
        for (int i = 0; i < 20 && y->message_count == 0; i++) /* some are lost */
            sender_absorb(y, sender, &m);
        play_expect(y, y->message_count > 0, "a shard does not close");
        const struct limiter_command absorb = y->messages[0].command;
        settle_run(y, &absorb);
    }
    y->message_count = 0;
    const struct limiter_command m = sender_command(y, sender, LIMITER_HALVED, 0);
    settle_run(y, &m);
    sender_learn(y, sender);
    play_expect(y, !limiter_scene_find(&y->scene, 0, &b) || !b.merging, "a merging does not end");
}

static void settle_open(struct play *y, struct play_sender *sender, uint32_t shard)
{
    struct limiter_command m = sender_command(y, sender, LIMITER_TAKE, shard);
    m.mwcu = 0;
    if (y->fault != NULL || play_run(y, &m) != LIMITER_ABSENT)
        return;
    settle_open(y, sender, limiter_parent(shard));
    m = sender_command(y, sender, LIMITER_GIVE, limiter_parent(shard));
    m.child = shard;
    settle_run(y, &m);
    y->message_count = 0;
    for (int i = 0; i < 20 && y->message_count == 0; i++)
        sender_open(y, sender, shard);
    play_expect(y, y->message_count > 0, "there is no gift for a shard");
    if (y->fault == NULL)
        settle_run(y, &y->messages[0].command);
    y->message_count = 0;
}

/* Each shard has its share, and nothing more. */
static void settle_drain(struct play *y, const struct play_sender *sender)
{
    for (uint32_t shard = 0; shard < sender->known.count && y->fault == NULL; shard++) {
        struct limiter_command m = sender_command(y, sender, LIMITER_TAKE, shard);
        m.mwcu = 0;
        for (uint32_t i = 0; i < m.limits.count; i++)
            m.amounts[i] = limiter_share(m.limits.at[i].capacity, shard, sender->known.count);
        play_expect(y, play_run(y, &m) == LIMITER_DONE, "a shard left alone is not full");
        memset(m.amounts, 0, sizeof m.amounts);
        m.amounts[0] = 1;
        play_expect(y, play_run(y, &m) == LIMITER_SHORT, "a drained shard has more");
    }
}

void play_settle(struct play *y)
{
    struct play_sender *sender = &y->senders[0];
    y->message_count = 0;
    y->now_ms += 2 * LIMITER_KNOWN_MS;
    memset(y->ahead_ms, 0, sizeof y->ahead_ms);
    sender_learn(y, sender);
    struct limiter_command m = sender_command(y, sender, LIMITER_TAKE, 0);
    m.mwcu = 0;
    settle_run(y, &m);
    settle_merge(y, sender);
    sender_learn(y, sender);
    for (uint32_t shard = 0; shard < sender->known.count; shard++) {
        m = sender_command(y, sender, LIMITER_CONFIGURE, shard);
        settle_run(y, &m);
    }
    y->now_ms += PLAY_CLOCKS_MS + 2000 + play_full_after_ms(y); /* 2 s: the hidden limit */
    play_expect_full(y);
    for (uint32_t shard = 0; shard < LIMITER_SHARDS_MAX; shard++) {
        if (y->fault == NULL && y->scene.items[shard].size > 0 && chance(y, 50))
            play_expire(y, shard);
    }
    settle_open(y, sender, 0);
    sender_learn(y, sender);
    for (uint32_t shard = 1; shard < sender->known.count; shard++)
        settle_open(y, sender, shard);
    settle_drain(y, sender);
}
