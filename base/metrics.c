/* metrics.c - the tables that follow from the lists. */
#include "base/metrics.h"

#define AT(type, name, kind, unit, help) \
    {#name, METRIC_##kind, METRIC_##unit, help, offsetof(struct type, name)},

static const struct metric router_metrics[] = {
#define X(...) AT(metrics_router, __VA_ARGS__)
    METRICS_ROUTER(X)
#undef X
};

static const struct metric store_metrics[] = {
#define X(...) AT(metrics_store, __VA_ARGS__)
    METRICS_STORE(X)
#undef X
};

static const struct metric partition_metrics[] = {
#define X(...) AT(metrics_partition, __VA_ARGS__)
    METRICS_PARTITION(X)
#undef X
};

static const struct metric partition_by_metrics[] = {
#define X(name, kind, unit, help) {#name, METRIC_##kind, METRIC_##unit, help, 0},
    METRICS_PARTITION_BY(X)
#undef X
};

static const struct metric indexes_metrics[] = {
#define X(...) AT(metrics_indexes, __VA_ARGS__)
    METRICS_INDEXES(X)
#undef X
};

static const struct metric expiry_metrics[] = {
#define X(...) AT(metrics_expiry, __VA_ARGS__)
    METRICS_EXPIRY(X)
#undef X
};

static const struct metric transactions_metrics[] = {
#define X(...) AT(metrics_transactions, __VA_ARGS__)
    METRICS_TRANSACTIONS(X)
#undef X
};

static const struct metric streams_metrics[] = {
#define X(...) AT(metrics_streams, __VA_ARGS__)
    METRICS_STREAMS(X)
#undef X
};

static const struct metric limit_metrics[] = {
#define X(...) AT(metrics_limit, __VA_ARGS__)
    METRICS_LIMIT(X)
#undef X
};

static const struct metric limiter_metrics[] = {
#define X(...) AT(metrics_limiter, __VA_ARGS__)
    METRICS_LIMITER(X)
#undef X
};

static const struct metric policy_metrics[] = {
#define X(...) AT(metrics_policy, __VA_ARGS__)
    METRICS_POLICY(X)
#undef X
};

#define GROUP(name, metrics)                                \
    {                                                       \
        name, metrics, sizeof(metrics) / sizeof(metrics)[0] \
    }

const struct metric_group metric_groups[METRIC_GROUPS] = {
    [METRICS_OF_ROUTER] = GROUP("router", router_metrics),
    [METRICS_OF_STORE] = GROUP("store", store_metrics),
    [METRICS_OF_PARTITION] = GROUP("partition", partition_metrics),
    [METRICS_OF_PARTITION_BY] = GROUP("partition", partition_by_metrics),
    [METRICS_OF_INDEXES] = GROUP("indexes", indexes_metrics),
    [METRICS_OF_EXPIRY] = GROUP("expiry", expiry_metrics),
    [METRICS_OF_TRANSACTIONS] = GROUP("transactions", transactions_metrics),
    [METRICS_OF_STREAMS] = GROUP("streams", streams_metrics),
    [METRICS_OF_LIMIT] = GROUP("limit", limit_metrics),
    [METRICS_OF_LIMITER] = GROUP("limiter", limiter_metrics),
    [METRICS_OF_POLICY] = GROUP("policy", policy_metrics),
};
