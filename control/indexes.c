/* indexes.c - tells when global indexes begin to hold up writes of their table, and when that is
 * over. Nothing is decided: the throughput of an index is its owner's. */
#include "control/controller_internal.h"

enum {
    CAUGHT_UP_S = 10 /* without a refusal */
};

/* False: the next report names the index. */
static bool indexes_report_behind(struct controller *c, const struct table *t,
                                  struct partition_history *w)
{
    struct decision d = {0};
    const struct index_refusal *r = &w->load->index_refusal;
    const struct index *x = index_set_find_table(t->index_set, r->index);
    if (x == NULL)
        return false;
    control_event(c, &d, EVENT_INDEX_BEHIND, t, w->load->partition,
                  "writes are refused: index %.*s lags, because its partition %u %s%s",
                  TEXT_OF(x->name), r->partition,
                  r->reason == ADMIT_OK ? "does not answer" : "refuses for ",
                  r->reason == ADMIT_OK ? "" : admit_reason_name((enum admit_reason)r->reason));
    control_decide(c, CATALOG_EVENT, &d);
    w->index_reported = true;
    return true;
}

static void indexes_report_caught_up(struct controller *c, const struct table *t,
                                     struct partition_history *w)
{
    struct decision d = {0};
    control_event(c, &d, EVENT_INDEX_CAUGHT_UP, t, w->load->partition,
                  "indexes take rows again: for %d seconds no write was refused for an index",
                  CAUGHT_UP_S);
    control_decide(c, CATALOG_EVENT, &d);
    w->index_reported = false;
}

static void indexes_check(struct controller *c, struct partition_history *w)
{
    const int64_t refused = cluster_loads_totals(w->load)[ADMIT_WRITE].refused[ADMIT_REFUSED_INDEX];
    const struct table *t = catalog_find_id(c->view->catalog, w->load->table_id);
    if (refused > w->index_refused)
        w->index_refused_at = c->now;
    if (t == NULL || !control_has_room(c))
        return;
    if (refused > w->index_refused && !w->index_reported && !indexes_report_behind(c, t, w))
        return;
    if (w->index_reported && w->load->index_refusal.index == 0 &&
        !instant_before(c->now, instant_add_ms(w->index_refused_at, CAUGHT_UP_S * 1000)))
        indexes_report_caught_up(c, t, w);
    w->index_refused = refused;
}

void control_indexes(struct controller *c)
{
    size_t at = 0;
    for (struct partition_history *w; (w = id_map_next(&c->histories, &at)) != NULL;) {
        if (w->load != NULL)
            indexes_check(c, w);
    }
}
