/* transactions.h - settings: transactions that nobody decides, and what is remembered of them
 * (engine/node/transaction/transactions.h).
 *
 * A row: name, default, least, most, and a help text of full sentences. The unit is the end of
 * the name. base/settings.h puts the lists in order.
 *
 * Not here: how often a leader asks again. These times are no settings, but constants
 * (engine/node/transaction/transactions_turn.c). */
#pragma once

#include "base/config.h"

/* clang-format off */
#define SETTINGS_TRANSACTIONS(X)                                                                   \
    X(transaction_decide_ms, 5000, 10, 60000,                                                      \
      "A transaction that is undecided after this time is aborted, so that its items are "         \
      "unlocked.")                                                                                 \
    X(transaction_token_ms, 600000, 1000, 86400000,                                                \
      "For this time a repeated request with a token, such as a ClientRequestToken, is "           \
      "recognized.")                                                                               \
    X(transaction_fence_ms, 600000, 1000, 86400000,                                                \
      "A partition refuses a transaction for this time after the transaction was given up.")       \
    X(transaction_sweep_ms, 60000, 100, 3600000,                                                   \
      "Each partition scans for obsolete tokens at this interval.")
/* clang-format on */

CONFIG_AREA(transactions, TRANSACTIONS)
