/* gac.c - GET /weir/gac: the tokens that this router holds of tables' limits, as JSON. The page
 * shows why a request waited for tokens or was refused by its table's limit. Tokens are in capacity
 * units. */
#include "base/gac_policy.h"
#include "router/admin/page_metrics.h"
#include "router/admin/pages.h"
#include "router/core/limit.h"
#include "router/json/json_writer.h"

static void gac_write_limit(struct call *c, const struct table *t, enum admit_kind kind)
{
    struct buffer *out = &c->body;
    struct router *r = c->router;
    struct gac_limit limit;
    struct gac_holding h = {0};
    if (!limit_find(r, t, kind, &limit))
        return;
    gac_client_holding(r->gac, r->now, limit.key, &h);
    const struct metrics_limit m = {.rate = limit.rate,
                                    .tokens = h.tokens,
                                    .demand = h.demand,
                                    .grant_requests = (int64_t)h.grant_requests,
                                    .waiting = limit_waiting(r, limit.key),
                                    .refused = (int64_t)h.refused};
    json_write_open(out, '{');
    json_member_string(out, "table", t->name);
    json_member_text(out, "kind", kind == ADMIT_READ ? "read" : "write");
    json_member_text(out, "policy", gac_policy_name(limit.policy));
    json_member_integer(out, "server", h.owner); /* 0: the router uses its even part of the rate */
    page_write_metrics(out, METRICS_OF_LIMIT, &m);
    json_write_close(out, '}');
}

static void gac_write_table(void *context, const struct table *t)
{
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++)
        gac_write_limit(context, t, kind);
}

static bool gac_begin(struct call *c, UNUSED const struct json_value m[])
{
    static const char *const NAMES[] = {NULL};
    struct buffer *out = &c->body;
    const struct router *r = c->router;
    if (!page_read_query(c, NAMES, NULL))
        return false;
    json_write_open(out, '{');
    json_member_text(out, "gac", gac_policy_name(gac_policy_of(r->config, GAC_AS_CONFIGURED)));
    json_member_integer(out, "servers", r->options.gac_servers);
    json_member_integer(out, "limit_delayed", r->counters.limit_delayed);
    json_member_integer(out, "limit_refused", r->counters.limit_refused);
    json_member_open(out, "limits", '[');
    route_each(r, c, gac_write_table);
    json_write_closes(out, "]}");
    return true;
}

const struct operation operation_gac = {.name = "gac", .begin = gac_begin};
