/* streams.c - tells when partitions trim records of streams for their bytes. Nothing is decided:
 * how much is kept is a setting. */
#include "base/settings/streams.h"
#include "control/controller_internal.h"

enum {
    REPORT_AGAIN_MS = 600000
};

static void streams_check(struct controller *c, struct partition_history *w)
{
    const int64_t trimmed = w->load->trimmed_early;
    const struct table *t = catalog_find_id(c->view->catalog, w->load->table_id);
    const bool more = trimmed > w->trimmed_early;
    const bool quiet =
        w->trimmed_reported &&
        instant_before(c->now, instant_add_ms(w->trimmed_reported_at, REPORT_AGAIN_MS));
    if (!more || quiet || t == NULL || !control_has_room(c)) {
        if (!more || quiet)
            w->trimmed_early = trimmed;
        return;
    }
    struct decision d = {0};
    control_event(c, &d, EVENT_STREAM_TRIMMED, t, w->load->partition,
                  "%lld records were trimmed early: the partition keeps stream_max_bytes = %lld",
                  (long long)(trimmed - w->trimmed_early),
                  (long long)config_streams(c->config)->stream_max_bytes);
    control_decide(c, CATALOG_EVENT, &d);
    w->trimmed_early = trimmed;
    w->trimmed_reported = true;
    w->trimmed_reported_at = c->now;
}

void control_streams(struct controller *c)
{
    size_t at = 0;
    for (struct partition_history *w; (w = id_map_next(&c->histories, &at)) != NULL;) {
        if (w->load != NULL)
            streams_check(c, w);
    }
}
