/* limiter_model.c - senders and their messages. What is checked: limiter_model_check.c. */
#include "tests/support/limiter_model_internal.h"

enum {
    DAY_MS = 24 * 3600 * 1000
};

static bool model_chance(struct limiter_model *model, uint32_t percent)
{
    return prng_below(model->p, 100) < percent;
}

static int64_t model_up_to(struct limiter_model *model, int64_t max)
{
    return prng_between(model->p, 0, max);
}

static void limits_draw(struct limiter_model *model)
{
    static const int64_t periods[] = {1000, 60000, 3600000, DAY_MS, 999983, 7};
    struct limiter_limits *l = &model->fixture.limits;
    l->count = 1 + (uint32_t)prng_below(model->p, 3);
    for (uint32_t i = 0; i < l->count; i++) {
        static const char *const names[] = {"rpm", "tpm", "rpd"};
        l->at[i] = (struct limiter_limit){
            .name = slice_of(names[i]),
            .capacity = 1000 + model_up_to(model, model_chance(model, 50) ? 20000 : 2000000),
            .amount = 1000 + model_up_to(model, model_chance(model, 50) ? 20000 : 2000000),
            .period_ms = periods[prng_below(model->p, COUNT_OF(periods))],
            .request_min = 1 + model_up_to(model, 999),
        };
    }
    must(limiter_limits_fault(l) == NULL);
    memcpy(model->highest, l->at, sizeof model->highest);
}

void limiter_model_init(struct limiter_model *model, struct prng *p)
{
    *model = (struct limiter_model){.p = p};
    model->now_ms = INT64_C(1755500000000) + model_up_to(model, DAY_MS);
    limiter_fixture_init(&model->fixture, model->now_ms);
    model->single = model_chance(model, 20);
    model->slow = model_chance(model, 50);
    model->changes = !model->single && model_chance(model, 30);
    limits_draw(model);
    for (uint32_t i = 0; i < LIMITER_SHARDS_MAX && !model->single; i++)
        model->ahead_ms[i] = model_up_to(model, MODEL_CLOCKS_MS);
}

void limiter_model_deinit(struct limiter_model *model)
{
    limiter_fixture_deinit(&model->fixture);
}

/* ---- senders ---- */

static void sender_read_map(struct limiter_model *model, struct model_sender *sender)
{
    struct limiter_bucket b;
    sender->shard_map = (struct limiter_shard_map){0};
    sender->read_ms = model->now_ms;
    if (limiter_fixture_find(&model->fixture, 0, &b))
        sender->shard_map = b.shard_map;
}

static struct limiter_command sender_command(struct limiter_model *model,
                                             const struct model_sender *sender,
                                             enum limiter_verb verb, uint32_t shard)
{
    struct limiter_command m = limiter_fixture_command(&model->fixture, verb, shard);
    m.sender_map = sender->shard_map;
    m.mwcu = model_chance(model, 95) ? 1000 : model_up_to(model, 400000);
    m.unreported_refusals = model_chance(model, 95) ? 0 : model_up_to(model, 400);
    return m;
}

/* Names in a command must outlive the item that they come from. */
static void names_copy(const struct limiter_model *model, struct limiter_limits *limits)
{
    for (uint32_t i = 0; i < limits->count; i++) {
        for (uint32_t k = 0; k < model->fixture.limits.count; k++) {
            if (slice_equal(limits->at[i].name, model->fixture.limits.at[k].name))
                limits->at[i].name = model->fixture.limits.at[k].name;
        }
    }
}

static void message_put(struct limiter_model *model, const struct model_message *m)
{
    if (model->message_count < MODEL_MESSAGES)
        model->messages[model->message_count++] = *m;
}

static void sender_send(struct limiter_model *model, const struct model_sender *sender,
                        const struct limiter_command *command)
{
    struct model_message m = {.sender = (uint32_t)(sender - model->senders), .command = *command};
    if (model_chance(model, 5))
        return; /* lost */
    for (bool again = true; again; again = model_chance(model, 6)) {
        const int64_t max = model_chance(model, model->slow ? 70 : 90) ? 50
                            : model_chance(model, 70)                  ? 5000
                                                                       : LIMITER_SHARD_MAP_TTL_MS;
        m.at_ms = model->now_ms + model_up_to(model, max);
        message_put(model, &m);
    }
}

static void sender_reserve_child(struct limiter_model *model, const struct model_sender *sender,
                                 uint32_t child)
{
    struct limiter_command m =
        sender_command(model, sender, LIMITER_RESERVE_CHILD, limiter_parent_shard(child));
    m.child = child;
    sender_send(model, sender, &m);
}

static void sender_create_child(struct limiter_model *model, struct model_sender *sender,
                                uint32_t child)
{
    const uint32_t parent = limiter_parent_shard(child);
    struct limiter_bucket b;
    if (!limiter_fixture_find(&model->fixture, parent, &b) || b.sealed)
        return;
    if (parent == 0 || b.epoch > sender->shard_map.epoch)
        sender_read_map(model, sender);
    const uint64_t grown = sender->shard_map.grown[limiter_size_of(child)];
    for (uint32_t i = 0; i < b.reserved_count && sender->shard_map.count > child; i++) {
        if (b.reserved[i].child != child || b.reserved[i].epoch < grown)
            continue;
        struct limiter_command m = sender_command(model, sender, LIMITER_CREATE_CHILD, child);
        m.limits = b.limits;
        names_copy(model, &m.limits);
        m.reserved_share = b.reserved[i];
        sender_send(model, sender, &m);
    }
}

static void sender_merge_in(struct limiter_model *model, const struct model_sender *sender,
                            const struct limiter_command *closing)
{
    struct limiter_bucket b;
    if (!limiter_fixture_find(&model->fixture, closing->shard, &b) || !b.sealed ||
        b.epoch != closing->sender_map.epoch)
        return;
    struct limiter_command m =
        sender_command(model, sender, LIMITER_MERGE_IN, limiter_parent_shard(closing->shard));
    m.sender_map = closing->sender_map;
    m.created = b.created;
    m.reserved_share.child = closing->shard;
    m.reserved_share.epoch = b.epoch;
    if (b.created) {
        m.limits = b.limits;
        names_copy(model, &m.limits);
        memcpy(m.reserved_share.balances, b.balances, sizeof b.balances);
    }
    sender_send(model, sender, &m);
}

static void sender_take_answer(struct limiter_model *model, struct model_sender *sender,
                               const struct limiter_command *m, enum limiter_refusal refusal)
{
    if (refusal == LIMITER_SEALED || refusal == LIMITER_NOT_OWNER)
        sender_read_map(model, sender);
    if (refusal == LIMITER_ABSENT && m->shard > 0)
        sender_reserve_child(model, sender, m->shard);
    if (refusal != LIMITER_DONE && refusal != LIMITER_NO_CHANGE)
        return;
    switch ((enum limiter_verb)m->verb) {
    case LIMITER_RESERVE_CHILD:
        sender_create_child(model, sender, m->child);
        break;
    case LIMITER_SEAL:
        sender_merge_in(model, sender, m);
        break;
    case LIMITER_MERGE_IN:
        if (m->sender_map.epoch == sender->merge_epoch)
            sender->merged_in[m->reserved_share.child] = true;
        break;
    case LIMITER_GROW:
    case LIMITER_MERGE_BEGIN:
    case LIMITER_MERGE_COMMIT:
        sender_read_map(model, sender);
        break;
    default:
        break;
    }
}

static void sender_take(struct limiter_model *model, struct model_sender *sender,
                        enum limiter_verb verb)
{
    const uint32_t count = sender->shard_map.count;
    const uint32_t shard = count > 1 ? (uint32_t)prng_below(model->p, count) : 0;
    struct limiter_command m = sender_command(model, sender, verb, shard);
    for (uint32_t i = 0; i < m.limits.count; i++) {
        const int64_t share = m.limits.at[i].capacity / (count > 0 ? count : 1);
        if (model_chance(model, 60))
            m.amounts[i] = model_up_to(model, model_chance(model, 80) ? share / 8 : share);
        if (verb == LIMITER_ADJUST && model_chance(model, 70))
            m.amounts[i] = -m.amounts[i];
    }
    m.token_has_owner = verb == LIMITER_TAKE && model_chance(model, 20);
    m.owner_key = m.token_has_owner ? prng_next(model->p) << 7 | shard
                                    : 0; /* elsewhere if the bucket has merged */
    m.owner_key ^= m.token_has_owner && model_chance(model, 10) ? 1 : 0;
    m.expires_ms = model_chance(model, 20) ? model->now_ms + model_up_to(model, 5000) : 0;
    sender_send(model, sender, &m);
}

/* One step of merging: what is to be done is read from shard 0. */
static void sender_merge(struct limiter_model *model, struct model_sender *sender)
{
    struct limiter_bucket b;
    sender_read_map(model, sender);
    if (!limiter_fixture_find(&model->fixture, 0, &b))
        return;
    if (!b.merging) {
        const struct limiter_command m = sender_command(model, sender, LIMITER_MERGE_BEGIN, 0);
        if (b.shard_map.count > 1 && model_chance(model, 40))
            sender_send(model, sender, &m);
        return;
    }
    if (sender->merge_epoch != b.shard_map.epoch) {
        sender->merge_epoch = b.shard_map.epoch;
        memset(sender->merged_in, 0, sizeof sender->merged_in);
    }
    bool all = true;
    for (uint32_t shard = b.shard_map.count; shard < 2 * b.shard_map.count; shard++) {
        const struct limiter_command m = sender_command(model, sender, LIMITER_SEAL, shard);
        all &= sender->merged_in[shard];
        if (!sender->merged_in[shard] && model_chance(model, 60))
            sender_send(model, sender, &m);
    }
    const struct limiter_command m = sender_command(model, sender, LIMITER_MERGE_COMMIT, 0);
    if (all)
        sender_send(model, sender, &m);
}

static void limits_change(struct limiter_model *model)
{
    struct limiter_limits *l = &model->fixture.limits;
    l->version++;
    for (uint32_t i = 0; i < l->count; i++) {
        l->at[i].capacity = 1000 + model_up_to(model, 2000000);
        l->at[i].amount = 1000 + model_up_to(model, 2000000);
        if (l->at[i].capacity > model->highest[i].capacity)
            model->highest[i].capacity = l->at[i].capacity;
        if (l->at[i].amount > model->highest[i].amount)
            model->highest[i].amount = l->at[i].amount;
    }
}

static void sender_act(struct limiter_model *model)
{
    struct model_sender *sender = &model->senders[prng_below(model->p, MODEL_SENDERS)];
    const uint32_t what = (uint32_t)prng_below(model->p, 100);
    struct limiter_command m;
    if (model->now_ms - sender->read_ms > LIMITER_SHARD_MAP_TTL_MS)
        sender->shard_map = (struct limiter_shard_map){0};
    if (what < 55)
        sender_take(model, sender, LIMITER_TAKE);
    else if (what < 65)
        sender_take(model, sender, LIMITER_ADJUST);
    else if (what < 72)
        sender_read_map(model, sender);
    else if (what < 82 && !model->single && sender->shard_map.epoch > 0) {
        m = sender_command(model, sender, LIMITER_GROW, 0);
        if (sender->shard_map.count < 8 || model_chance(model, 20))
            sender_send(model, sender, &m);
    } else if (what < 96 && !model->single)
        sender_merge(model, sender);
    else if (model->changes && model_chance(model, 30))
        limits_change(model);
    else if (model->changes) {
        m = sender_command(model, sender, LIMITER_CONFIGURE,
                           (uint32_t)prng_below(model->p, sender->shard_map.count + 1));
        sender_send(model, sender, &m);
    }
}

/* ---- steps ---- */

static void model_deliver(struct limiter_model *model, const struct model_message *m)
{
    const uint32_t shard = m->command.shard;
    if (!model->single && model_chance(model, 2))
        model->ahead_ms[shard] = model_up_to(model, MODEL_CLOCKS_MS);
    const enum limiter_refusal refusal = limiter_model_run(model, &m->command);
    if (refusal == LIMITER_DONE)
        model->done[m->command.verb]++;
    model->refused[refusal]++;
    if (!model_chance(model, 3)) /* the answer is lost */
        sender_take_answer(model, &model->senders[m->sender], &m->command, refusal);
}

/* The message that arrives next, if one does until `until_ms`. */
static bool model_next_message(struct limiter_model *model, int64_t until_ms,
                               struct model_message *out)
{
    uint32_t next = 0;
    for (uint32_t i = 1; i < model->message_count; i++) {
        if (model->messages[i].at_ms < model->messages[next].at_ms)
            next = i;
    }
    if (model->message_count == 0 || model->messages[next].at_ms > until_ms)
        return false;
    *out = model->messages[next];
    model->messages[next] = model->messages[--model->message_count];
    return true;
}

static int64_t time_draw(struct limiter_model *model)
{
    const uint32_t what = (uint32_t)prng_below(model->p, 1000);
    if (what < 600)
        return model_up_to(model, 20);
    if (what < 950)
        return model_up_to(model, 2000);
    if (what < 990)
        return model_up_to(model, 600000);
    return model_up_to(model, what < 997 ? 2 * LIMITER_KEEP_MS : 3 * DAY_MS);
}

static void model_pass_time(struct limiter_model *model, int64_t until_ms)
{
    struct model_message m;
    while (model->fault == NULL && model_next_message(model, until_ms, &m)) {
        if (m.at_ms > model->now_ms)
            model->now_ms = m.at_ms;
        model_deliver(model, &m);
    }
    model->now_ms = until_ms;
}

void limiter_model_step(struct limiter_model *model)
{
    model_pass_time(model, model->now_ms + time_draw(model));
    for (uint32_t shard = 0; shard < LIMITER_SHARDS_MAX && model->fault == NULL; shard++) {
        if (model->fixture.items[shard].size > 0 && model_chance(model, 10))
            limiter_model_expire(model, shard);
    }
    if (model->fault == NULL)
        sender_act(model);
}

/* ---- the end ---- */

static void settle_run(struct limiter_model *model, const struct limiter_command *m)
{
    if (model->fault == NULL)
        limiter_model_run(model, m);
}

static void settle_merge(struct limiter_model *model, struct model_sender *sender)
{
    struct limiter_bucket b;
    sender_read_map(model, sender);
    if (!limiter_fixture_find(&model->fixture, 0, &b) || !b.merging)
        return;
    for (uint32_t shard = b.shard_map.count; shard < 2 * b.shard_map.count; shard++) {
        const struct limiter_command m = sender_command(model, sender, LIMITER_SEAL, shard);
        settle_run(model, &m);
        model->message_count = 0;
        for (int i = 0; i < 20 && model->message_count == 0; i++) /* some are lost */
            sender_merge_in(model, sender, &m);
        limiter_model_expect(model, model->message_count > 0, "a shard does not close");
        const struct limiter_command merge_in = model->messages[0].command;
        settle_run(model, &merge_in);
    }
    model->message_count = 0;
    const struct limiter_command m = sender_command(model, sender, LIMITER_MERGE_COMMIT, 0);
    settle_run(model, &m);
    sender_read_map(model, sender);
    limiter_model_expect(model, !limiter_fixture_find(&model->fixture, 0, &b) || !b.merging,
                         "a merging does not end");
}

static void settle_create_shard(struct limiter_model *model, struct model_sender *sender,
                                uint32_t shard)
{
    struct limiter_command m = sender_command(model, sender, LIMITER_TAKE, shard);
    m.mwcu = 0;
    if (model->fault != NULL || limiter_model_run(model, &m) != LIMITER_ABSENT)
        return;
    settle_create_shard(model, sender, limiter_parent_shard(shard));
    m = sender_command(model, sender, LIMITER_RESERVE_CHILD, limiter_parent_shard(shard));
    m.child = shard;
    settle_run(model, &m);
    model->message_count = 0;
    for (int i = 0; i < 20 && model->message_count == 0; i++)
        sender_create_child(model, sender, shard);
    limiter_model_expect(model, model->message_count > 0, "there is no reserved share for a shard");
    if (model->fault == NULL)
        settle_run(model, &model->messages[0].command);
    model->message_count = 0;
}

/* Each shard has its share, and nothing more. */
static void settle_drain(struct limiter_model *model, const struct model_sender *sender)
{
    for (uint32_t shard = 0; shard < sender->shard_map.count && model->fault == NULL; shard++) {
        struct limiter_command m = sender_command(model, sender, LIMITER_TAKE, shard);
        m.mwcu = 0;
        for (uint32_t i = 0; i < m.limits.count; i++)
            m.amounts[i] = limiter_share(m.limits.at[i].capacity, shard, sender->shard_map.count);
        limiter_model_expect(model, limiter_model_run(model, &m) == LIMITER_DONE,
                             "a shard left alone is not full");
        memset(m.amounts, 0, sizeof m.amounts);
        m.amounts[0] = 1;
        limiter_model_expect(model, limiter_model_run(model, &m) == LIMITER_TOO_FEW_TOKENS,
                             "a drained shard has more");
    }
}

void limiter_model_settle(struct limiter_model *model)
{
    struct model_sender *sender = &model->senders[0];
    model->message_count = 0;
    model->now_ms += 2 * LIMITER_SHARD_MAP_TTL_MS;
    memset(model->ahead_ms, 0, sizeof model->ahead_ms);
    sender_read_map(model, sender);
    struct limiter_command m = sender_command(model, sender, LIMITER_TAKE, 0);
    m.mwcu = 0;
    settle_run(model, &m);
    settle_merge(model, sender);
    sender_read_map(model, sender);
    for (uint32_t shard = 0; shard < sender->shard_map.count; shard++) {
        m = sender_command(model, sender, LIMITER_CONFIGURE, shard);
        settle_run(model, &m);
    }
    model->now_ms +=
        MODEL_CLOCKS_MS + 2000 + limiter_model_full_after_ms(model); /* 2 s: the hidden limit */
    limiter_model_expect_full(model);
    for (uint32_t shard = 0; shard < LIMITER_SHARDS_MAX; shard++) {
        if (model->fault == NULL && model->fixture.items[shard].size > 0 && model_chance(model, 50))
            limiter_model_expire(model, shard);
    }
    settle_create_shard(model, sender, 0);
    sender_read_map(model, sender);
    for (uint32_t shard = 1; shard < sender->shard_map.count; shard++)
        settle_create_shard(model, sender, shard);
    settle_drain(model, sender);
}
