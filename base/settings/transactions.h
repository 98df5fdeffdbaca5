/* transactions.h - settings: transactions that nobody decides (engine/node/transactions.h).
 *
 * A row: name, default, least, most, and a help text of full sentences. The unit is the end of
 * the name. base/settings.h puts the lists in order. */
#pragma once

#include "base/config.h"

/* clang-format off */
#define SETTINGS_TRANSACTIONS(X)                                                                   \
    X(transaction_decide_ms, 5000, 10, 60000,                                                      \
      "A transaction that nobody has decided after this time is aborted, so that its items are "   \
      "free again.")
/* clang-format on */

CONFIG_AREA(transactions, TRANSACTIONS)
