/* size_split.h - finds the middle of a partition's bytes: the split point of a partition that is
 * too big. */
#pragma once

#include "engine/heat/split_point.h"
#include "engine/node/core/env.h"
#include "engine/node/core/partition.h"

/* SPLIT_REFUSED_FEW_SAMPLES: the middle is not found yet, ask again. True: the search begins now.
 * The advice lends until the next search begins. */
bool size_split_advise(const struct node_env *env, struct partition *p, struct split_advice *out);

/* A job of background.h. */
bool size_split_is_needed(const struct partition *p);
struct slice size_split_from(const struct partition *p);
void size_split_slice(struct node_env *env, struct partition *p);
