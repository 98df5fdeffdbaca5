/* split_verdicts.h - the verdicts about splits, as tests and case files write them. */
#pragma once

#include "base/must.h"
#include "engine/heat/split_point.h"

static inline const char *split_verdict_name(enum split_verdict v)
{
    static const char *const names[SPLIT_VERDICTS] = {
        [SPLIT_ADVISED] = "advised",
        [SPLIT_REFUSED_FEW_SAMPLES] = "few-samples",
        [SPLIT_REFUSED_POPULAR_KEY] = "popular-key",
        [SPLIT_REFUSED_SEQUENTIAL] = "sequential",
        [SPLIT_REFUSED_COLLECTION] = "item-collection",
        [SPLIT_REFUSED_NO_BENEFIT] = "no-benefit",
    };
    must(v < SPLIT_VERDICTS);
    return names[v];
}
