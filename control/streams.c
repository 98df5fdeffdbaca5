/* streams.c - tells when partitions trim records of streams for their bytes. Nothing is decided: how much
 * is kept is a setting. */
#include "base/settings/streams.h"
#include "control/controller_internal.h"

enum {
    TELL_AGAIN_MS = 600000
};

static void streams_look_at(struct controller *c, struct watched *w)
{
    const int64_t trimmed = w->load->trimmed_early;
    const struct table *t = catalog_find_id(c->view->catalog, w->load->table_id);
    const bool more = trimmed > w->trimmed_early;
    const bool quiet = w->trimmed_told &&
                       instant_before(c->now, instant_add_ms(w->trimmed_told_at, TELL_AGAIN_MS));
    if (!more || quiet || t == NULL || !control_has_room(c)) {
        if (!more || quiet)
            w->trimmed_early = trimmed;
        return;
    }
    struct decision d = {0};
    control_tell(c, &d, EVENT_STREAM_TRIMMED, t, w->load->partition,
                 "%lld records were trimmed early: the partition keeps stream_max_bytes = %lld",
                 (long long)(trimmed - w->trimmed_early),
                 (long long)config_streams(c->config)->stream_max_bytes);
    control_decide(c, CATALOG_EVENT, &d);
    w->trimmed_early = trimmed;
    w->trimmed_told = true;
    w->trimmed_told_at = c->now;
}

void control_streams(struct controller *c)
{
    size_t at = 0;
    for (struct watched *w; (w = id_map_next(&c->watched, &at)) != NULL;) {
        if (w->load != NULL)
            streams_look_at(c, w);
    }
}
