/* retry_internal.h - what the models share. */
#pragma once

#include "workload/retry.h"

extern const struct retry_model retry_legacy, retry_standard, retry_adaptive, retry_standard_2026,
    retry_adaptive_2026, retry_sre_throttle;

static inline struct retry_verdict retry_over(enum retry_stop stop)
{
    return (struct retry_verdict){.stop = stop};
}

static inline struct retry_verdict retry_at(int64_t at_ns)
{
    return (struct retry_verdict){.again = true, .at_ns = at_ns};
}

static inline bool retry_is_over(enum retry_result result)
{
    return result == RETRY_DONE || result == RETRY_FINAL;
}
