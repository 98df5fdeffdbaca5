/* settings.h - every setting, in the order of `--config help`.
 *
 * Each area has a header below base/settings/: who needs an area includes that header alone, and is
 * compiled anew only if the area changes. This header is for code that is about settings as such:
 * to read, list, check or draw them. */
#pragma once

#include "base/limits.h"
#include "base/settings/adaptive.h"
#include "base/settings/admission.h"
#include "base/settings/choices.h"
#include "base/settings/control.h"
#include "base/settings/expiry.h"
#include "base/settings/explain.h"
#include "base/settings/gac.h"
#include "base/settings/heat.h"
#include "base/settings/http.h"
#include "base/settings/indexes.h"
#include "base/settings/key_sharding.h"
#include "base/settings/limiter.h"
#include "base/settings/merge.h"
#include "base/settings/overload.h"
#include "base/settings/replication.h"
#include "base/settings/reports.h"
#include "base/settings/requests.h"
#include "base/settings/split.h"
#include "base/settings/storage.h"
#include "base/settings/streams.h"
#include "base/settings/tables.h"
#include "base/settings/transactions.h"

/* clang-format off */
#define SETTINGS_LIST(X)                                                                           \
    SETTINGS_ADMISSION_BUCKETS(X)                                                                  \
    SETTINGS_OVERLOAD(X)                                                                           \
    SETTINGS_ADMISSION_NODE(X)                                                                     \
    SETTINGS_TABLES_THROUGHPUT(X)                                                                  \
    SETTINGS_EXPIRY(X)                                                                             \
    SETTINGS_TABLES_TTL(X)                                                                         \
    SETTINGS_CONTROL_KEYS(X)                                                                       \
    SETTINGS_KEY_SHARDING(X)                                                                       \
    SETTINGS_TABLES_NUMBER(X)                                                                      \
    SETTINGS_REPLICATION(X)                                                                        \
    SETTINGS_REPORTS(X)                                                                            \
    SETTINGS_CONTROL_POINTS(X)                                                                     \
    SETTINGS_INDEXES(X)                                                                            \
    SETTINGS_TRANSACTIONS(X)                                                                       \
    SETTINGS_STREAMS(X)                                                                            \
    SETTINGS_LIMITER(X)                                                                            \
    SETTINGS_CONTROL_MOVES(X)                                                                      \
    SETTINGS_SPLIT(X)                                                                              \
    SETTINGS_HEAT(X)                                                                               \
    SETTINGS_MERGE(X)                                                                              \
    SETTINGS_ADAPTIVE(X)                                                                           \
    SETTINGS_GAC(X)                                                                                \
    SETTINGS_STORAGE(X)                                                                            \
    SETTINGS_HTTP(X)                                                                               \
    SETTINGS_REQUESTS(X)                                                                           \
    SETTINGS_EXPLAIN(X)
/* clang-format on */

/* The rooms of struct config, with all numbers and choices by name. */
struct settings {
#define X(area, AREA)                        \
    union {                                  \
        struct {                             \
            SETTINGS_##AREA(CONFIG_MEMBER)   \
        };                                   \
        struct settings_room room_of_##area; \
    };
    CONFIG_AREAS(X)
#undef X
};

_Static_assert(sizeof(struct settings) == sizeof(((struct config *)NULL)->rooms), "all rooms");

static inline const struct settings *config_all(const struct config *c)
{
    return (const struct settings *)c->rooms;
}

static inline struct settings *config_edit_all(struct config *c)
{
    return (struct settings *)c->rooms;
}
