/* shapes.h - the shapes of operations' inputs, and the indexes of their members: GET_ITEM_KEY is
 * the index of Key among the members of GetItemInput.
 *
 * Generated: tools/shapes writes shapes.inc from the service model and tools/shapes.json. */
#pragma once

#include "router/json/shape.h"

#define SHAPE(name, ...) extern const struct shape shape_##name;
#define STRUCTURE(name, java)               \
    extern const struct shape shape_##name; \
    enum {
#define MEMBER(index, text, type, use, turn) index,
#define END(name)           \
    SHAPE_MEMBERS_OF_##name \
    }                       \
    ;
#include "router/json/shapes.inc"
#undef SHAPE
#undef STRUCTURE
#undef MEMBER
#undef END
