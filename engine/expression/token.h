/* token.h - the tokens of DynamoDB expressions. */
#pragma once

#include "base/slice.h"

enum token_kind {
    TOKEN_END,
    TOKEN_BAD,       /* a character that no expression has */
    TOKEN_NAME,      /* attribute or function */
    TOKEN_NAME_REF,  /* #name */
    TOKEN_VALUE_REF, /* :value */
    TOKEN_NUMBER,    /* digits: an index */
    TOKEN_EQ,
    TOKEN_NE,
    TOKEN_LT,
    TOKEN_LE,
    TOKEN_GT,
    TOKEN_GE,
    TOKEN_PLUS,
    TOKEN_MINUS,
    TOKEN_COMMA,
    TOKEN_DOT,
    TOKEN_OPEN,
    TOKEN_CLOSE,
    TOKEN_OPEN_INDEX,
    TOKEN_CLOSE_INDEX,
    TOKEN_AND, /* words, in any case */
    TOKEN_OR,
    TOKEN_NOT,
    TOKEN_IN,
    TOKEN_BETWEEN,
};

struct token {
    enum token_kind kind;
    struct slice text; /* borrows from the expression; empty at the end */
};

/* The first token from `from` on. The next token is looked for from text.data + text.size on. */
struct token token_at(struct slice expression, size_t from);

/* Whether the word begins a section of an update: SET, REMOVE, ADD or DELETE, in any case. */
bool token_is_section(struct slice word);

/* Whether the text is a placeholder: the sign # or :, then letters, digits and _, at least one. */
bool token_is_placeholder(struct slice text, char sign);

/* Whether the word is reserved and therefore no attribute name, in upper or lower case. */
bool token_is_reserved(struct slice name);
