/* split.c - cuts partitions that are at their limits.
 *
 *   watching -> ADVICE: its leader is asked where to cut -> CUT: the catalog is asked for the
 *   split -> TELL: the event -> watching
 *
 * Reasons for a split:
 *   - Consumption: the load is above split_percent of a partition maximum over split_window_ms. Or
 *     the leader reports demand above the maximum for split_hold_ms without a break, and about the
 *     maximum is served. If the leader advises against a cut, an event gives the reason and a
 *     remedy.
 *   - Size: a partition at partition_max_bytes is cut in the middle of its bytes, which its leader
 *     finds.
 *   - Warm throughput (table.warm): if a table has too few partitions, the partition with the most
 *     hashes is cut evenly.
 *
 * SPLIT-1  Measurements from before a piece's birth are no reason to cut it. Its windows begin with
 * its first report (watch.c), its leader's heat and excess with the split.
 *
 * Source: DynamoDB, USENIX ATC 2022, section 3.2, "split for consumption". */
#include "control/controller_internal.h"
#include "engine/admission/share.h"
#include "engine/item/storage_key.h"

static struct split_job *find_job(struct controller *c, uint32_t partition)
{
    for (int i = 0; i < SPLIT_JOBS_MAX; i++) {
        if (c->splits[i].step != SPLIT_FREE && c->splits[i].partition == partition)
            return &c->splits[i];
    }
    return NULL;
}

/* Ends the job. The partition rests for so long. */
static void control_split_end(struct controller *c, struct split_job *j, int64_t ms)
{
    struct watched *w = control_watched(c, j->partition);
    j->step = SPLIT_FREE;
    if (w != NULL)
        w->split_at = instant_add_ms(c->now, ms);
}

/* ---- when ---- */

/* Whether partitions have limits: otherwise a cut adds nothing. */
static bool is_limited(const struct controller *c)
{
    const struct weir_partition_policy *p =
        admission_policy_named(c->config, slice_of(c->config->partition_policy));
    return p == NULL || !(p->flags & WEIR_PARTITION_UNLIMITED);
}

/* Whether the leader reports demand above the maximum. A partition limited by its allocation gains
 * nothing by a cut. */
static bool is_above_maximum(const struct controller *c, const struct watched *w,
                             enum admit_kind kind)
{
    const struct partition_load *l = w->load;
    int64_t hold_ms = c->config->split_hold_ms;
    struct instant late = instant_add_ms(l->heard_at, 2 * c->config->load_report_ms);
    if (l->excess_ms[kind] < hold_ms || instant_before(late, c->now))
        return false;
    struct rates r = control_rates(c, w, kind, hold_ms);
    return r.refused[ADMIT_REFUSED_KEY_RANGE] > 0 ||
           r.consumed_mcu > partition_max_mcu(c->config, kind) / 100 * c->config->split_percent;
}

static bool consumes_much(const struct controller *c, const struct watched *w, enum admit_kind kind)
{
    int64_t window_ms = c->config->split_window_ms;
    return !instant_before(c->now, instant_add_ms(w->born_at, window_ms)) &&
           control_rates(c, w, kind, window_ms).consumed_mcu >
               partition_max_mcu(c->config, kind) / 100 * c->config->split_percent;
}

/* Writes the reason for a cut into the job. False: no reason. */
static bool needs_split(const struct controller *c, const struct partition_info *p,
                        struct split_job *j)
{
    const struct watched *w = control_watched(c, p->id);
    if (w == NULL || w->epoch != p->epoch || instant_before(c->now, w->split_at))
        return false;
    for (enum admit_kind kind = 0; is_limited(c) && kind < ADMIT_KINDS; kind++) {
        j->refused = is_above_maximum(c, w, kind);
        if (!j->refused && !consumes_much(c, w, kind))
            continue;
        struct rates r = control_rates(
            c, w, kind, j->refused ? c->config->split_hold_ms : c->config->split_window_ms);
        j->kind = kind;
        j->rate_mcu = r.consumed_mcu + (j->refused ? r.refused_mcu : 0);
        return true;
    }
    j->for_size = w->load->bytes >= c->config->partition_max_bytes;
    j->bytes = w->load->bytes;
    return j->for_size;
}

/* Whether the load must last longer. A load that pauses for longer than split_window_ms begins
 * anew. */
static bool is_delayed(const struct controller *c, const struct split_job *j)
{
    struct watched *w = control_watched(c, j->partition);
    if (j->for_size || c->config->split_delay_ms == 0)
        return false;
    if (instant_since(c->now, w->wanted_at).ns > c->config->split_window_ms * NS_PER_MS)
        w->wanted_since = c->now;
    w->wanted_at = c->now;
    return instant_before(c->now, instant_add_ms(w->wanted_since, c->config->split_delay_ms));
}

/* `wanted`: the count of partitions that the table should have; 0: the partition itself needs the
 * cut. */
static void control_split_begin(struct controller *c, const struct table *t,
                                const struct partition_info *p, uint32_t wanted)
{
    struct split_job job = {
        .table_id = t->id, .partition = p->id, .epoch = p->epoch, .wanted = wanted};
    if (find_job(c, p->id) != NULL ||
        (wanted == 0 && (!needs_split(c, p, &job) || is_delayed(c, &job))))
        return;
    for (int i = 0; i < SPLIT_JOBS_MAX; i++) {
        struct split_job *j = &c->splits[i];
        if (j->step != SPLIT_FREE)
            continue;
        job.answer = j->answer; /* keeps the buffers' memory */
        job.what = j->what;
        buffer_clear(&job.what);
        *j = job;
        bool asks = j->for_size || (j->wanted == 0 && c->config->split_judge);
        j->step = asks ? SPLIT_ADVICE : SPLIT_CUT;
        return;
    }
}

/* ---- steps ---- */

static struct request *control_split_ask(struct controller *c, struct split_job *j, uint32_t node,
                                         enum request_op op)
{
    struct request *r = control_ask(c, node, op);
    r->partition = j->partition;
    r->epoch = j->epoch;
    j->id = r->id;
    j->answered = false;
    j->lost_at = instant_add_ms(c->now, c->config->control_answer_ms);
    return r;
}

static void ask_advice(struct controller *c, struct split_job *j)
{
    const struct partition_load *l = loads_of(c->view->loads, j->partition);
    control_split_ask(c, j, raft_member_node(l->member),
                      j->for_size ? REQUEST_PARTITION_MIDDLE : REQUEST_PARTITION_HEAT);
}

static void split_send(struct controller *c, struct split_job *j, struct table_split *split)
{
    struct buffer body = {0};
    split->table_id = j->table_id;
    split->partition = j->partition;
    split->epoch = j->epoch;
    j->cut_count = split->cut_count;
    j->step = SPLIT_CUT;
    table_split_encode(&body, split);
    control_split_ask(c, j, c->view->self, REQUEST_TABLE_SPLIT)->cut.split =
        arena_copy(&c->arena, buffer_slice(&body));
    buffer_deinit(&body);
}

/* Cuts evenly over the hashes. False: the partition has too few hashes. */
static bool cut_evenly(struct controller *c, const struct partition_info *p, struct split_job *j,
                       uint32_t pieces)
{
    uint64_t lo = storage_key_bound_hash(p->lo, 0), hi = storage_key_bound_hash(p->hi, UINT64_MAX);
    uint8_t keys[SPLIT_CUTS_MAX][STORAGE_KEY_BOUND_SIZE];
    struct table_split split = {.cut_count = pieces - 1};
    if (hi - lo < pieces)
        return false;
    for (uint32_t i = 0; i < split.cut_count; i++)
        split.cuts[i] = storage_key_write_bound(keys[i], p->table_id,
                                                storage_key_even_cut(lo, hi, i + 1, pieces));
    table_split_share_equally(&split);
    split_send(c, j, &split);
    return true;
}

/* The pieces per partition if all partitions were cut alike. */
static uint32_t pieces_of(const struct table *t, const struct split_job *j)
{
    uint32_t have = t->partition_count, pieces = (j->wanted + have - 1) / have;
    if (j->wanted <= have)
        return 2;
    if (pieces > j->wanted - have + 1)
        pieces = j->wanted - have + 1;
    return pieces < SPLIT_CUTS_MAX + 1 ? pieces : SPLIT_CUTS_MAX + 1;
}

uint32_t control_partitions_wanted(const struct controller *c, const struct table *t)
{
    return share_partitions_initial(c->config, t->warm[ADMIT_READ], t->warm[ADMIT_WRITE]);
}

/* Cuts as advised, or tells the reason against a cut. If the heat is unknown and the table needs
 * more partitions anyway, cuts evenly. */
static void take_advice(struct controller *c, const struct table *t, struct split_job *j)
{
    struct split_advice advice;
    struct table_split split = {0};
    bool valid =
        j->code == REPLY_OK && split_advice_decode(buffer_slice(&j->answer), &advice) == STATUS_OK;
    if (valid && advice.verdict == SPLIT_REFUSED_FEW_SAMPLES &&
        t->partition_count < control_partitions_wanted(c, t)) {
        j->wanted = control_partitions_wanted(c, t);
        j->step = SPLIT_CUT;
        j->id = 0;
        return;
    }
    if (!valid || advice.verdict == SPLIT_REFUSED_FEW_SAMPLES) {
        control_split_end(c, j, c->config->split_retry_ms);
        return;
    }
    if (advice.verdict != SPLIT_ADVISED) {
        control_split_tell_refusal(c, t, j, &advice);
        control_split_end(c, j, c->config->split_backoff_ms);
        return;
    }
    split.cut_count = advice.cut_count;
    memcpy(split.cuts, advice.cuts, sizeof split.cuts);
    memcpy(split.share_ppm, advice.share_ppm, sizeof split.share_ppm);
    control_split_describe(t, j, &advice, &j->what);
    split_send(c, j, &split);
}

static void take_split(struct controller *c, const struct table *t, struct split_job *j)
{
    struct buffer what = {0};
    buffer_append_format(&what, "split into %u", j->cut_count + 1);
    buffer_append_slice(&what, buffer_slice(&j->what));
    buffer_append_u8(&what, 0);
    if (j->code == REPLY_OK)
        control_split_tell(c, t, j, EVENT_SPLIT, (const char *)what.data);
    else
        control_split_end(c, j, c->config->split_retry_ms);
    buffer_deinit(&what);
    j->step = SPLIT_FREE;
}

static void control_split_advance(struct controller *c, struct split_job *j)
{
    const struct table *t = catalog_find_id(c->view->catalog, j->table_id);
    const struct partition_info *p = t == NULL ? NULL : table_find_partition(t, j->partition);
    if (p == NULL || (j->id != 0 && !j->answered && !instant_before(c->now, j->lost_at))) {
        control_split_end(c, j, c->config->split_retry_ms);
    } else if (j->id == 0 && j->step == SPLIT_ADVICE) {
        ask_advice(c, j);
    } else if (j->id == 0) {
        if (!cut_evenly(c, p, j, pieces_of(t, j))) {
            control_split_tell(c, t, j, EVENT_SPLIT_REFUSED,
                               "not split: all of it lies under one hash");
            control_split_end(c, j, c->config->split_backoff_ms);
        }
    } else if (j->answered && j->step == SPLIT_ADVICE) {
        take_advice(c, t, j);
    } else if (j->answered) {
        take_split(c, t, j);
    }
}

bool control_split_reply(struct controller *c, const struct reply *reply)
{
    for (int i = 0; i < SPLIT_JOBS_MAX; i++) {
        struct split_job *j = &c->splits[i];
        if (j->step == SPLIT_FREE || j->id != reply->id)
            continue;
        j->answered = true;
        j->code = reply->code;
        buffer_clear(&j->answer);
        if (reply->kind == ANSWER_ADVICE)
            buffer_append_slice(&j->answer, reply->advice.bytes);
        c->next_at = c->now; /* the answer is handled at once */
        return true;
    }
    return false;
}

void control_split_forget(struct controller *c)
{
    for (int i = 0; i < SPLIT_JOBS_MAX; i++) {
        buffer_deinit(&c->splits[i].answer);
        buffer_deinit(&c->splits[i].what);
        c->splits[i] = (struct split_job){0};
    }
}

/* ---- partitions for what a table is to serve at once ---- */

/* The partition with the most hashes among those that may be cut. NULL: none. */
static const struct partition_info *control_split_widest(const struct controller *c,
                                                         const struct table *t)
{
    const struct partition_info *best = NULL;
    uint64_t most = 0;
    for (uint32_t i = 0; i < t->partition_count; i++) {
        const struct partition_info *p = &t->partitions[i];
        const struct watched *w = control_watched(c, p->id);
        uint64_t span =
            storage_key_bound_hash(p->hi, UINT64_MAX) - storage_key_bound_hash(p->lo, 0);
        if (w == NULL || instant_before(c->now, w->split_at) || p->leaving != 0 ||
            table_partition_is_changing(t, p) || span <= most)
            continue;
        best = p;
        most = span;
    }
    return best;
}

bool control_split_has_job(const struct controller *c, const struct table *t)
{
    bool found = false;
    for (int i = 0; i < SPLIT_JOBS_MAX; i++)
        found |= c->splits[i].step != SPLIT_FREE && c->splits[i].table_id == t->id;
    return found;
}

static void make_ready(struct controller *c, const struct table *t)
{
    if (t->partition_count >= control_partitions_wanted(c, t) || control_split_has_job(c, t))
        return;
    const struct partition_info *p = control_split_widest(c, t);
    if (p != NULL)
        control_split_begin(c, t, p, control_partitions_wanted(c, t));
}

void control_split(struct controller *c)
{
    for (const struct table *t = NULL; (t = catalog_next(c->view->catalog, t)) != NULL;) {
        for (uint32_t i = 0; t->status == TABLE_ACTIVE && i < t->partition_count; i++) {
            const struct partition_info *p = &t->partitions[i];
            if (p->leaving == 0 && !table_partition_is_changing(t, p))
                control_split_begin(c, t, p, 0);
        }
        if (t->status == TABLE_ACTIVE && is_limited(c))
            make_ready(c, t);
    }
    for (int i = 0; i < SPLIT_JOBS_MAX && control_has_room(c); i++) {
        if (c->splits[i].step != SPLIT_FREE)
            control_split_advance(c, &c->splits[i]);
    }
}
