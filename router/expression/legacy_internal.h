/* legacy_internal.h - functions that the readers of the older parameters share. */
#pragma once

#include "engine/expression/expression.h"

struct path_part *legacy_path(struct arena *arena, struct slice name);
