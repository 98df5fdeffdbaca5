/* parser.h - what the parsers of expressions share: a token of look-ahead, paths and values, the
 * gathering of faults. For the files of engine/expression alone. */
#ifndef WEIR_ENGINE_EXPRESSION_PARSER_H
#define WEIR_ENGINE_EXPRESSION_PARSER_H

#include "engine/expression/expression.h"
#include "engine/expression/token.h"

struct condition;

struct parser {
    struct slice text;
    struct expression_names *names; /* borrows */
    struct arena *arena;            /* borrows */
    struct expression_fault *fault; /* borrows; the one to tell, so far */
    struct token previous;
    struct token token;
    bool failed; /* a fault that ends the parsing */
    uint32_t depth;
    uint32_t operators; /* and functions */
};

/* False: the text is empty or too long. */
bool parser_init(struct parser *p, struct slice text, struct expression_names *names,
                 struct arena *arena, struct expression_fault *fault);

bool parser_accept(struct parser *p, enum token_kind kind);
bool parser_expect(struct parser *p, enum token_kind kind);
void parser_advance(struct parser *p);
enum token_kind parser_following(const struct parser *p);

/* Ends the parsing at the present token. Returns NULL, for whatever was due. */
void *parser_syntax_error(struct parser *p);
/* An operator or a function was read; false: it is one too many. */
bool parser_count_operator(struct parser *p);
void *parser_too_many(struct parser *p);

/* The parsing goes on: a fault of a lower rank may follow, and is told instead. */
void parser_note(struct parser *p, const struct expression_fault *fault);

/* NULL: a syntax error. */
struct path_part *parser_path(struct parser *p);
/* A :value; its type is 0 if it is not defined. */
struct attr parser_value(struct parser *p);

/* ---- operand.c: which operands operators and functions take ---- */

/* Only size() may stand inside another operator or function. */
void operand_check_nested(struct parser *p, const struct condition *c);
/* size() is no condition. */
void operand_check_condition(struct parser *p, const struct condition *c);
/* The two sides of a comparison must not be the same path. */
void operand_check_distinct(struct parser *p, const struct condition *c);
/* Bounds of BETWEEN: one type, in order. */
void operand_check_between(struct parser *p, const struct condition *c);
/* Name, number and types of a function's operands; sets c->function. */
void operand_check_function(struct parser *p, struct condition *c);

#endif
