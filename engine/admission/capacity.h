/* capacity.h - what partitions and nodes can serve by the settings, in mcu per second. */
#pragma once

#include "engine/admission/verdict.h"

struct config;

/* The maximum of any partition. */
int64_t partition_max_mcu(const struct config *c, enum admit_kind kind);
/* The maximum of a partition whose table has the maximum `own_mcu`; 0: the table has none. */
int64_t partition_cap_mcu(const struct config *c, enum admit_kind kind, int64_t own_mcu);
/* The capacity of a node with these settings. */
int64_t node_capacity_mcu(const struct config *c, enum admit_kind kind);
