/* deadlines.h - how long a run waits for what must happen after the faults. */
#pragma once

#include "sim/plan/plan.h"

/* Until indexes have what nodes keep for them. A change costs an index more units than it has KiB.
 * */
int64_t deadline_indexes_ns(const struct plan *p);
/* The time within which every key must answer. Under the periodic policy tokens come once a period
 * and expire with it: a client that writes and reads in turn may wait for a period each time. Where
 * nodes limit, debts are paid first, and a piece of a partition may get a tenth of the
 * throughput. */
int64_t deadline_calm_ns(const struct plan *p);
