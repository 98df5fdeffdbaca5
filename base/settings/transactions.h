/* transactions.h - settings: transactions that nobody decides, and what is remembered of them
 * (engine/node/transaction/transactions.h).
 *
 * A row: name, default, least, most, and a help text of full sentences. The unit is the end of
 * the name. base/settings.h puts the lists in order. */
#pragma once

#include "base/config.h"

/* clang-format off */
#define SETTINGS_TRANSACTIONS(X)                                                                   \
    X(transaction_decide_ms, 5000, 10, 60000,                                                      \
      "A transaction that nobody has decided after this time is aborted, so that its items are "   \
      "free again.")                                                                               \
    X(transaction_token_ms, 600000, 1000, 86400000,                                                \
      "For this time a request with a token, such as a ClientRequestToken, is recognized when it " \
      "is sent again.")                                                                            \
    X(transaction_fence_ms, 600000, 1000, 86400000,                                                \
      "For this time a transaction that was given up before it came to a partition is refused "    \
      "there.")                                                                                    \
    X(transaction_sweep_ms, 60000, 100, 3600000,                                                   \
      "Each partition scans this often for tokens that nobody needs any more.")
/* clang-format on */

CONFIG_AREA(transactions, TRANSACTIONS)
