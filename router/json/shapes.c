/* shapes.c - the shapes of operations' inputs as data. */
#include "router/json/shapes.h"

/* clang-format off */
#define SHAPE(name, ...)        const struct shape shape_##name = {__VA_ARGS__};
#define STRUCTURE(name, java)   static const char java_##name[] = java; \
                                static const struct shape_member members_##name[] = {
#define MEMBER(index, text, type, use, turn) [index] = {text, &shape_##type, use, turn},
#define END(name)               [SHAPE_MEMBERS_OF_##name] = {0}};       \
                                const struct shape shape_##name = {     \
                                    .kind = SHAPE_STRUCTURE, .java = java_##name, \
                                    .members = members_##name};
#include "router/json/shapes.inc"
