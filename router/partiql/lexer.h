/* lexer.h - cuts a PartiQL statement into the tokens of grammar.y.
 *
 * Promises: any bytes become tokens, none of them outside the text. Comments and blanks lie between
 * tokens. */
#pragma once

#include "base/slice.h"

enum {
    LEXER_END = 0,  /* as the generated parser has it */
    LEXER_BAD = -1, /* a character that no statement has, or a text or comment without its end */
};

struct lexer_token {
    int kind;          /* LEXER_END, LEXER_BAD or PARTIQL_* of the generated grammar.h */
    struct slice text; /* lends from the statement; with the quotes; empty at the end */
};

/* The first token from `from` on. The next is looked for from text.data + text.size on. */
struct lexer_token lexer_token_at(struct slice statement, size_t from);

/* Whether the kind is a word of the language, or an operator. */
bool lexer_is_keyword(int kind);
bool lexer_is_operator(int kind);
/* Whether a statement may be complete after a token of this kind. */
bool lexer_may_end(int kind);
