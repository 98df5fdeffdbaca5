/* describe_limits.c - DescribeLimits and DescribeEndpoints: answered without requests to nodes. */
#include "base/settings/admission.h"
#include "base/settings/tables.h"
#include "router/json/json_writer.h"
#include "router/json/shapes.h"
#include "router/operations/operations.h"

static bool describe_limits(struct call *c, UNUSED const struct json_value m[])
{
    const struct config *config = c->router->config;
    int64_t nodes = c->router->options.node_count;
    json_write_open(&c->body, '{');
    json_member_integer(&c->body, "AccountMaxReadCapacityUnits",
                        nodes * config_admission(config)->node_rcu);
    json_member_integer(&c->body, "AccountMaxWriteCapacityUnits",
                        nodes * config_admission(config)->node_wcu);
    json_member_integer(&c->body, "TableMaxReadCapacityUnits",
                        config_tables(config)->table_max_rcu);
    json_member_integer(&c->body, "TableMaxWriteCapacityUnits",
                        config_tables(config)->table_max_wcu);
    json_write_close(&c->body, '}');
    return true;
}

static bool describe_endpoints(struct call *c, UNUSED const struct json_value m[])
{
    enum {
        CACHE_MINUTES = 1440
    };
    json_write_open_with(&c->body, "Endpoints", '[');
    json_write_open(&c->body, '{');
    json_write_key(&c->body, "Address");
    struct slice host = http_find(&c->client->http.head, "host");
    json_write_string(&c->body, slice_is_utf8(host) ? host : slice_of(""));
    json_member_integer(&c->body, "CachePeriodInMinutes", CACHE_MINUTES);
    json_write_closes(&c->body, "}]}");
    return true;
}

OPERATION(describe_limits, "DescribeLimits", .begin = describe_limits);
const struct operation operation_describe_endpoints = {.name = "DescribeEndpoints",
                                                       .input = &shape_describe_endpoints_request,
                                                       .begin = describe_endpoints};
