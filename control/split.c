/* split.c - splits partitions that are at their limits.
 *
 *   watching -> ADVICE: its leader is asked where to split -> SENT: the catalog is asked for the
 *   split -> TELL: the event -> watching
 *
 * A policy (setting split_policy; weir's own: policy_limits.c) says which partition is split, at
 * which of the points that its leader offers, or into how many equal pieces (split_policy.c). If
 * the leader advises against a split, an event gives the reason and a remedy.
 *
 * Here is one more reason for a split, warm throughput (table.warm): if a table has too few
 * partitions, the partition with the most hashes is split evenly.
 *
 * PIECE-1  Measurements from before a piece's birth are no reason to split it. Its windows begin
 * with its first report (load_history.c), its leader's heat and excess with the split.
 *
 * Source: DynamoDB, USENIX ATC 2022, section 3.2, "split for consumption". */
#include "base/settings/split.h"
#include "base/settings/control.h"
#include "control/controller_internal.h"
#include "engine/admission/policy_choice.h"
#include "engine/admission/share.h"
#include "include/weir/policy_partition.h"

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
    struct partition_history *w = control_history(c, j->partition);
    j->step = SPLIT_FREE;
    if (w != NULL)
        w->split_at = instant_add_ms(c->now, ms);
}

/* ---- when ---- */

bool control_split_is_limited(const struct controller *c)
{
    const struct weir_partition_policy *p =
        admission_policy_named(c->config, slice_of(c->config->partition_policy));
    return p == NULL || !(p->flags & WEIR_PARTITION_UNLIMITED);
}

/* Writes the reason for a split into the job. False: no reason. */
static bool needs_split(struct controller *c, const struct table *t, const struct partition_info *p,
                        struct split_job *j)
{
    const struct partition_history *w = control_history(c, p->id);
    if (w == NULL || w->epoch != p->epoch || instant_before(c->now, w->split_at))
        return false;
    return control_split_trigger(c, t, p, j);
}

/* `required`: the count of partitions that the table should have; 0: the partition itself needs the
 * split. */
static void control_split_begin(struct controller *c, const struct table *t,
                                const struct partition_info *p, uint32_t required)
{
    struct split_job job = {
        .table_id = t->id, .partition = p->id, .epoch = p->epoch, .required = required};
    if (find_job(c, p->id) != NULL || (required == 0 && !needs_split(c, t, p, &job)))
        return;
    for (int i = 0; i < SPLIT_JOBS_MAX; i++) {
        struct split_job *j = &c->splits[i];
        if (j->step != SPLIT_FREE)
            continue;
        must_in_tests(p->leaving == 0 && !table_partition_is_changing(t, p));
        job.answer = j->answer; /* keeps the buffers' memory */
        job.what = j->what;
        buffer_clear(&job.what);
        *j = job;
        j->step = j->required == 0 && !j->evenly ? SPLIT_ADVICE : SPLIT_SENT;
        return;
    }
}

/* ---- steps ---- */

static struct request *control_split_request(struct controller *c, struct split_job *j,
                                             uint32_t node, enum request_op op)
{
    struct request *r = control_add_request(c, node, op);
    r->partition = j->partition;
    r->epoch = j->epoch;
    j->id = r->id;
    j->answered = false;
    j->lost_at = instant_add_ms(c->now, config_control(c->config)->control_answer_ms);
    return r;
}

static void request_advice(struct controller *c, struct split_job *j)
{
    const struct partition_load *l = cluster_loads_of(c->view->loads, j->partition);
    must_in_tests(l != NULL); /* the trigger was decided by it */
    control_split_request(c, j, raft_member_node(l->member),
                          j->for_size ? REQUEST_PARTITION_MIDDLE : REQUEST_PARTITION_HEAT);
}

static void split_send(struct controller *c, struct split_job *j, struct table_split *split)
{
    struct buffer body = {0};
    split->table_id = j->table_id;
    split->partition = j->partition;
    split->epoch = j->epoch;
    must(split->point_count >= 1 && split->point_count <= SPLIT_POINTS_MAX);
    j->point_count = split->point_count;
    j->step = SPLIT_SENT;
    table_split_encode(&body, split);
    control_split_request(c, j, c->view->self, REQUEST_TABLE_SPLIT)->table_split.split =
        arena_take(&c->arena, &body);
}

/* Splits evenly over the hashes. False: the partition has too few hashes. */
static bool send_evenly(struct controller *c, const struct partition_info *p, struct split_job *j,
                        uint32_t pieces)
{
    uint64_t lo = storage_key_bound_hash(p->lo, 0), hi = storage_key_bound_hash(p->hi, UINT64_MAX);
    uint8_t keys[SPLIT_POINTS_MAX][STORAGE_KEY_BOUND_SIZE];
    struct table_split split = {.point_count = pieces - 1};
    must(lo <= hi && pieces >= 2 && split.point_count <= SPLIT_POINTS_MAX);
    if (hi - lo < pieces)
        return false;
    for (uint32_t i = 0; i < split.point_count; i++)
        split.points[i] = storage_key_write_bound(keys[i], p->table_id,
                                                  storage_key_even_split(lo, hi, i + 1, pieces));
    table_split_share_equally(&split);
    split_send(c, j, &split);
    return true;
}

uint32_t control_partitions_required(const struct controller *c, const struct table *t)
{
    return share_partitions_initial(c->config, t->warm[ADMIT_READ], t->warm[ADMIT_WRITE]);
}

/* Without a split: the partition rests. */
static void split_keep(struct controller *c, const struct table *t, struct split_job *j,
                       const struct split_advice *advice)
{
    if (advice->verdict == SPLIT_REFUSED_FEW_SAMPLES) {
        control_split_end(c, j, config_split(c->config)->split_retry_ms);
        return;
    }
    if (advice->verdict == SPLIT_ADVISED)
        control_split_event(c, t, j, EVENT_SPLIT_REFUSED, "not split: split_policy keeps it whole");
    else
        control_split_refusal_event(c, t, j, advice);
    control_split_end(c, j, config_split(c->config)->split_backoff_ms);
}

/* Splits at the offered points or evenly, or tells the reason against a split. */
static void take_advice(struct controller *c, const struct table *t, struct split_job *j)
{
    struct split_advice advice;
    struct table_split split = {0};
    bool valid =
        j->code == REPLY_OK && split_advice_decode(buffer_slice(&j->answer), &advice) == STATUS_OK;
    switch (valid ? control_split_decide(c, t, j, &advice) : SPLIT_DECISION_INVALID) {
    case SPLIT_DECISION_INVALID:
        control_split_end(c, j, config_split(c->config)->split_retry_ms);
        break;
    case SPLIT_DECISION_NONE:
        split_keep(c, t, j, &advice);
        break;
    case SPLIT_DECISION_EVENLY:
        if (t->partition_count < control_partitions_required(c, t))
            j->required = control_partitions_required(c, t);
        j->step = SPLIT_SENT;
        j->id = 0;
        break;
    case SPLIT_DECISION_POINTS:
        split.point_count = advice.point_count;
        memcpy(split.points, advice.points, sizeof split.points);
        memcpy(split.share_ppm, advice.share_ppm, sizeof split.share_ppm);
        control_split_describe(t, j, &advice, &j->what);
        split_send(c, j, &split);
        break;
    }
}

static void take_split(struct controller *c, const struct table *t, struct split_job *j)
{
    struct buffer what = {0};
    must_in_tests(j->step == SPLIT_SENT && j->point_count >= 1);
    buffer_append_format(&what, "split into %u", j->point_count + 1);
    buffer_append_slice(&what, buffer_slice(&j->what));
    buffer_append_u8(&what, 0);
    if (j->code == REPLY_OK && j->refused)
        control_split_hold_note(c, t->id, j->kind);
    if (j->code == REPLY_OK)
        control_split_event(c, t, j, EVENT_SPLIT, (const char *)what.data);
    else
        control_split_end(c, j, config_split(c->config)->split_retry_ms);
    buffer_deinit(&what);
    j->step = SPLIT_FREE;
}

/* Splits into equal parts of the hashes, into as many as the policy says. */
static void split_evenly(struct controller *c, const struct table *t,
                         const struct partition_info *p, struct split_job *j)
{
    const uint32_t pieces = control_split_pieces(c, t, j);
    if (pieces == 0) {
        control_split_end(c, j, config_split(c->config)->split_retry_ms);
    } else if (!send_evenly(c, p, j, pieces)) {
        control_split_event(c, t, j, EVENT_SPLIT_REFUSED, "not split: all its keys have one hash");
        control_split_end(c, j, config_split(c->config)->split_backoff_ms);
    }
}

static void control_split_advance(struct controller *c, struct split_job *j)
{
    const struct table *t = catalog_find_id(c->view->catalog, j->table_id);
    const struct partition_info *p = t == NULL ? NULL : table_find_partition(t, j->partition);
    if (p == NULL || (j->id != 0 && !j->answered && !instant_before(c->now, j->lost_at))) {
        control_split_end(c, j, config_split(c->config)->split_retry_ms);
    } else if (j->id == 0 && j->step == SPLIT_ADVICE) {
        request_advice(c, j);
    } else if (j->id == 0) {
        split_evenly(c, t, p, j);
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
        must_in_tests(j->id != 0);
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

void control_split_reset(struct controller *c)
{
    for (int i = 0; i < SPLIT_JOBS_MAX; i++) {
        buffer_deinit(&c->splits[i].answer);
        buffer_deinit(&c->splits[i].what);
        c->splits[i] = (struct split_job){0};
    }
}

/* ---- partitions for what a table is to serve at once ---- */

/* The partition with the most hashes among those that may be split. NULL: none. */
static const struct partition_info *control_split_widest(const struct controller *c,
                                                         const struct table *t)
{
    const struct partition_info *best = NULL;
    uint64_t max = 0;
    for (uint32_t i = 0; i < t->partition_count; i++) {
        const struct partition_info *p = &t->partitions[i];
        const struct partition_history *w = control_history(c, p->id);
        uint64_t span =
            storage_key_bound_hash(p->hi, UINT64_MAX) - storage_key_bound_hash(p->lo, 0);
        if (w == NULL || instant_before(c->now, w->split_at) || p->leaving != 0 ||
            table_partition_is_changing(t, p) || span <= max)
            continue;
        best = p;
        max = span;
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
    if (t->partition_count >= control_partitions_required(c, t) || control_split_has_job(c, t))
        return;
    const struct partition_info *p = control_split_widest(c, t);
    if (p != NULL)
        control_split_begin(c, t, p, control_partitions_required(c, t));
}

void control_split(struct controller *c)
{
    for (const struct table *t = NULL; (t = catalog_next(c->view->catalog, t)) != NULL;) {
        for (uint32_t i = 0; t->status == TABLE_ACTIVE && i < t->partition_count; i++) {
            const struct partition_info *p = &t->partitions[i];
            if (p->leaving == 0 && !table_partition_is_changing(t, p))
                control_split_begin(c, t, p, 0);
        }
        if (t->status == TABLE_ACTIVE && control_split_is_limited(c))
            make_ready(c, t);
    }
    for (int i = 0; i < SPLIT_JOBS_MAX && control_has_room(c); i++) {
        if (c->splits[i].step != SPLIT_FREE)
            control_split_advance(c, &c->splits[i]);
    }
}
