/* split.c - partitions that are at their limits are cut.
 *
 *   watching -> ADVICE: its leader is asked where it divides -> CUT: the catalog is asked for
 *   the split -> TELL: the event -> watching, for a while without cutting again
 *
 * For consumption: above split_percent of a partition maximum over ten seconds, or refused by it
 * for a second. What the leader advises against is not cut; the event says why, and what would
 * help. For size: at partition_max_bytes, in the middle of its bytes, which its leader looks for.
 * For what its table is to serve at once (table.warm): where there are too few partitions for that,
 * the one with the most hashes, evenly. Source: DynamoDB, USENIX ATC 2022, section 3.2, "split for
 * consumption". */
#include <stdio.h>

#include "control/controller_internal.h"
#include "engine/admission/share.h"
#include "engine/catalog/key_text.h"
#include "engine/item/storage_key.h"

enum {
    WINDOW_MS = 10000,
    NOW_MS = 2000,
    CAPPED_MS = 1000, /* earlier the heat does not tell yet what is asked for */
    LOST_MS = 10000,  /* an answer that has not come by then is lost */
    FEW_SAMPLES_MS = 2000,
    AGAIN_MS = 5000, /* after a split: loads of the children are to be seen first */
    HASH_END = STORAGE_KEY_TABLE_SIZE + STORAGE_KEY_HASH_SIZE
};

static struct split_job *find_job(struct controller *c, uint32_t partition)
{
    for (int i = 0; i < SPLIT_JOBS_MAX; i++) {
        if (c->splits[i].step != SPLIT_FREE && c->splits[i].partition == partition)
            return &c->splits[i];
    }
    return NULL;
}

static void rest(struct controller *c, const struct split_job *j, int64_t ms)
{
    struct watched *w = control_watched(c, j->partition);
    if (w != NULL)
        w->split_at = instant_add(c->now, duration_ms(ms));
}

/* ---- when ---- */

static int64_t maximum_mcu(const struct controller *c, enum admit_kind kind)
{
    return (kind == ADMIT_READ ? c->config->partition_max_rcu : c->config->partition_max_wcu) *
           MCU_PER_UNIT;
}

/* Or a cut adds nothing. */
static bool is_limited(const struct controller *c)
{
    return strcmp(c->config->partition_policy, "none") != 0;
}

/* Why it should be cut, into the job; false: it should not. */
static bool needs_split(const struct controller *c, const struct partition_info *p,
                        struct split_job *j)
{
    const struct watched *w = control_watched(c, p->id);
    const struct partition_load *l = loads_of(c->view->loads, p->id);
    if (w == NULL || l == NULL || instant_before(c->now, w->split_at))
        return false;
    for (int kind = 0; is_limited(c) && kind < ADMIT_KINDS; kind++) {
        struct rates over = control_rates(c, w, (enum admit_kind)kind, WINDOW_MS);
        struct rates last = control_rates(c, w, (enum admit_kind)kind, NOW_MS);
        bool refused =
            !instant_before(c->now, instant_add(w->capped_since[kind], duration_ms(CAPPED_MS)));
        int64_t most = maximum_mcu(c, (enum admit_kind)kind);
        if (!refused && over.consumed_mcu <= most / 100 * c->config->split_percent)
            continue;
        j->kind = (enum admit_kind)kind;
        j->refused = refused;
        j->rate_mcu = refused ? last.consumed_mcu + last.refused_mcu : over.consumed_mcu;
        return true;
    }
    j->for_size = l->bytes >= c->config->partition_max_bytes;
    j->bytes = l->bytes;
    return j->for_size;
}

/* `wanted`: it is cut because its table should have so many; 0: if it needs it itself. */
static void begin(struct controller *c, const struct table *t, const struct partition_info *p,
                  uint32_t wanted)
{
    struct split_job job = {
        .table_id = t->id, .partition = p->id, .epoch = p->epoch, .wanted = wanted};
    if (find_job(c, p->id) != NULL || (wanted == 0 && !needs_split(c, p, &job)))
        return;
    for (int i = 0; i < SPLIT_JOBS_MAX; i++) {
        struct split_job *j = &c->splits[i];
        if (j->step != SPLIT_FREE)
            continue;
        job.answer = j->answer; /* its memory */
        *j = job;
        j->step = j->wanted > 0 ? SPLIT_CUT : SPLIT_ADVICE;
        return;
    }
}

/* ---- telling ---- */

static void describe(const struct split_job *j, char text[200])
{
    if (j->wanted > 0)
        snprintf(text, 200, "the table needs %u partitions for what it is to serve at once",
                 j->wanted);
    else if (j->for_size)
        snprintf(text, 200, "the partition holds %lld bytes", (long long)j->bytes);
    else
        snprintf(text, 200,
                 j->refused ? "the partition is at its maximum, asked for %lld %s units a second"
                            : "the partition consumes %lld %s units a second",
                 (long long)(j->rate_mcu / MCU_PER_UNIT), control_kind_name(j->kind));
}

static void tell(struct controller *c, const struct table *t, struct split_job *j,
                 enum event_kind kind, const char *what)
{
    struct decision d = {0};
    char why[200];
    describe(j, why);
    control_tell(c, &d, kind, t, j->partition, "%s; %s", why, what);
    control_figures(&d, "partitions", t->partition_count - (kind == EVENT_SPLIT ? j->cut_count : 0),
                    t->partition_count);
    control_decide(c, CATALOG_EVENT, &d);
}

/* Why a partition stays whole, in parts of a sentence. */
struct refusal {
    const char *reason;
    const char *advice; /* NULL: there is none */
};

static struct refusal explain(bool for_size, enum split_verdict v)
{
    switch (v) {
    case SPLIT_REFUSED_POPULAR_KEY:
        return (struct refusal){"for one item", "Spread it over several keys (add a suffix)"};
    case SPLIT_REFUSED_SEQUENTIAL:
        return (struct refusal){"access that only moves forward",
                                "Put something that varies before the time or number in the key"};
    case SPLIT_REFUSED_COLLECTION:
        return (struct refusal){"in one item collection that must stay whole",
                                for_size ? NULL : "Use more partition keys"};
    default:
        return (struct refusal){for_size ? "in one item" : "where a cut would hardly divide it",
                                NULL};
    }
}

/* "not split: 91 % of the load is for one item, id="a". Spread it over several keys (..)" */
static void tell_refusal(struct controller *c, const struct table *t, struct split_job *j,
                         const struct split_advice *a)
{
    struct refusal r = explain(j->for_size, a->verdict);
    struct buffer what = {0};
    buffer_append_text(&what, "not split: ");
    if (a->key.size > 0)
        buffer_append_format(&what, "%u %% of ", a->key_share_ppm / (SPLIT_WHOLE_PPM / 100));
    buffer_append_format(&what, "%s is %s", j->for_size ? "it" : "the load", r.reason);
    if (a->key.size > 0) {
        buffer_append_text(&what, ", ");
        key_text_append(&what, t, a->key);
    }
    if (r.advice != NULL)
        buffer_append_format(&what, ". %s", r.advice);
    buffer_append_u8(&what, 0);
    tell(c, t, j, EVENT_SPLIT_REFUSED, (const char *)what.data);
    buffer_deinit(&what);
}

/* ---- steps ---- */

static struct request *ask(struct controller *c, struct split_job *j, uint32_t node,
                           enum request_op op, struct slice body)
{
    struct request *r = control_ask(c, node, op, body);
    r->partition = j->partition;
    r->epoch = j->epoch;
    j->id = r->id;
    j->answered = false;
    j->lost_at = instant_add(c->now, duration_ms(LOST_MS));
    return r;
}

static void ask_advice(struct controller *c, struct split_job *j)
{
    const struct partition_load *l = loads_of(c->view->loads, j->partition);
    ask(c, j, raft_member_node(l->member),
        j->for_size ? REQUEST_PARTITION_MIDDLE : REQUEST_PARTITION_HEAT, slice_make(NULL, 0));
}

static void ask_split(struct controller *c, struct split_job *j, struct table_split *split)
{
    struct buffer body = {0};
    split->table_id = j->table_id;
    split->partition = j->partition;
    split->epoch = j->epoch;
    j->cut_count = split->cut_count;
    j->step = SPLIT_CUT;
    table_split_encode(&body, split);
    ask(c, j, c->view->self, REQUEST_TABLE_SPLIT, arena_copy(&c->arena, buffer_slice(&body)));
    buffer_deinit(&body);
}

static uint64_t hash_of(struct slice bound, uint64_t open)
{
    uint64_t hash = 0;
    if (bound.size <= STORAGE_KEY_TABLE_SIZE)
        return open;
    for (size_t i = STORAGE_KEY_TABLE_SIZE; i < HASH_END; i++)
        hash = hash << 8 | (i < bound.size ? bound.data[i] : 0);
    return hash;
}

/* Evenly over its hashes. False: it has too few. */
static bool cut_evenly(struct controller *c, const struct partition_info *p, struct split_job *j,
                       uint32_t pieces)
{
    uint64_t lo = hash_of(p->lo, 0), span = hash_of(p->hi, UINT64_MAX) - lo;
    uint8_t keys[SPLIT_CUTS_MAX][HASH_END];
    struct table_split split = {.cut_count = pieces - 1};
    if (span < pieces)
        return false;
    for (uint32_t i = 0; i < split.cut_count; i++) {
        uint64_t cut =
            __builtin_bswap64(lo + (uint64_t)((unsigned __int128)span * (i + 1) / pieces));
        memcpy(keys[i], p->lo.data, STORAGE_KEY_TABLE_SIZE);
        memcpy(keys[i] + STORAGE_KEY_TABLE_SIZE, &cut, sizeof cut);
        split.cuts[i] = slice_make(keys[i], sizeof keys[i]);
    }
    table_split_share_equally(&split);
    ask_split(c, j, &split);
    return true;
}

/* As many as each partition must become, were all cut alike. */
static uint32_t pieces_of(const struct table *t, const struct split_job *j)
{
    uint32_t have = t->partition_count, pieces = (j->wanted + have - 1) / have;
    if (j->wanted <= have)
        return 2;
    if (pieces > j->wanted - have + 1)
        pieces = j->wanted - have + 1;
    return pieces < SPLIT_CUTS_MAX + 1 ? pieces : SPLIT_CUTS_MAX + 1;
}

/* Partitions it should have. */
static uint32_t wanted_of(const struct controller *c, const struct table *t)
{
    return share_partitions_initial(c->config, t->warm[ADMIT_READ], t->warm[ADMIT_WRITE]);
}

/* Cuts as advised, or tells why not. Where nothing is known of the heat yet, evenly, if the table
 * should have more partitions anyway. */
static void take_advice(struct controller *c, const struct table *t, struct split_job *j)
{
    struct split_advice advice;
    struct table_split split = {0};
    bool valid =
        j->code == REPLY_OK && split_advice_decode(buffer_slice(&j->answer), &advice) == STATUS_OK;
    if (valid && advice.verdict == SPLIT_REFUSED_FEW_SAMPLES &&
        t->partition_count < wanted_of(c, t)) {
        j->wanted = wanted_of(c, t);
        j->step = SPLIT_CUT;
        j->id = 0;
        return;
    }
    if (!valid || advice.verdict == SPLIT_REFUSED_FEW_SAMPLES) {
        rest(c, j, FEW_SAMPLES_MS);
        j->step = SPLIT_FREE;
        return;
    }
    if (advice.verdict != SPLIT_ADVISED) {
        tell_refusal(c, t, j, &advice);
        rest(c, j, c->config->split_backoff_ms);
        j->step = SPLIT_FREE;
        return;
    }
    split.cut_count = advice.cut_count;
    memcpy(split.cuts, advice.cuts, sizeof split.cuts);
    memcpy(split.share_ppm, advice.share_ppm, sizeof split.share_ppm);
    j->ahead =
        !j->for_size && advice.cut_count == 1 && advice.share_ppm[j->kind][1] == SPLIT_WHOLE_PPM;
    ask_split(c, j, &split);
}

static void take_split(struct controller *c, const struct table *t, struct split_job *j)
{
    char what[100];
    snprintf(what, sizeof what, "split into %u%s", j->cut_count + 1,
             j->ahead ? " above the newest key, as access only moves forward" : "");
    if (j->code == REPLY_OK)
        tell(c, t, j, EVENT_SPLIT, what);
    rest(c, j, AGAIN_MS);
    j->step = SPLIT_FREE;
}

static void advance(struct controller *c, struct split_job *j)
{
    const struct table *t = catalog_find_id(c->view->catalog, j->table_id);
    const struct partition_info *p = NULL;
    for (uint32_t i = 0; t != NULL && i < t->partition_count; i++)
        p = t->partitions[i].id == j->partition ? &t->partitions[i] : p;
    if (p == NULL || (j->id != 0 && !j->answered && !instant_before(c->now, j->lost_at))) {
        rest(c, j, AGAIN_MS);
        j->step = SPLIT_FREE;
    } else if (j->id == 0 && j->step == SPLIT_ADVICE) {
        ask_advice(c, j);
    } else if (j->id == 0) {
        if (!cut_evenly(c, p, j, pieces_of(t, j))) {
            tell(c, t, j, EVENT_SPLIT_REFUSED, "not split: all of it lies under one hash");
            rest(c, j, c->config->split_backoff_ms);
            j->step = SPLIT_FREE;
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
        buffer_append_slice(&j->answer, reply->body);
        c->next_at = c->now; /* it is not kept waiting */
        return true;
    }
    return false;
}

void control_split_forget(struct controller *c)
{
    for (int i = 0; i < SPLIT_JOBS_MAX; i++) {
        buffer_deinit(&c->splits[i].answer);
        c->splits[i] = (struct split_job){0};
    }
}

/* ---- partitions for what a table is to serve at once ---- */

/* The one with the most hashes among those that may be cut. NULL: none. */
static const struct partition_info *widest(const struct controller *c, const struct table *t)
{
    const struct partition_info *best = NULL;
    uint64_t most = 0;
    for (uint32_t i = 0; i < t->partition_count; i++) {
        const struct partition_info *p = &t->partitions[i];
        const struct watched *w = control_watched(c, p->id);
        uint64_t span = hash_of(p->hi, UINT64_MAX) - hash_of(p->lo, 0);
        if (w == NULL || instant_before(c->now, w->split_at) || p->leaving != 0 ||
            table_partition_is_splitting(t, p) || span <= most)
            continue;
        best = p;
        most = span;
    }
    return best;
}

static bool has_job(const struct controller *c, const struct table *t)
{
    bool found = false;
    for (int i = 0; i < SPLIT_JOBS_MAX; i++)
        found |= c->splits[i].step != SPLIT_FREE && c->splits[i].table_id == t->id;
    return found;
}

static void make_ready(struct controller *c, const struct table *t)
{
    if (t->partition_count >= wanted_of(c, t) || has_job(c, t))
        return;
    const struct partition_info *p = widest(c, t);
    if (p != NULL)
        begin(c, t, p, wanted_of(c, t));
}

void control_split(struct controller *c)
{
    struct slice name = {NULL, 0};
    for (const struct table *t; (t = catalog_after(c->view->catalog, name)) != NULL;
         name = t->name) {
        for (uint32_t i = 0; t->status == TABLE_ACTIVE && i < t->partition_count; i++) {
            const struct partition_info *p = &t->partitions[i];
            if (p->leaving == 0 && !table_partition_is_splitting(t, p))
                begin(c, t, p, 0);
        }
        if (t->status == TABLE_ACTIVE && is_limited(c))
            make_ready(c, t);
    }
    for (int i = 0; i < SPLIT_JOBS_MAX && control_has_room(c); i++) {
        if (c->splits[i].step != SPLIT_FREE)
            advance(c, &c->splits[i]);
    }
}
