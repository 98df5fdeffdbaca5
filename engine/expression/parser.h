/* parser.h - functions that the parsers of expressions share: tokens with look-ahead, paths and
 * values, faults. For the files of engine/expression only. */
#pragma once

#include "engine/expression/expression.h"
#include "engine/expression/token.h"

struct condition;

enum parser_grammar {
    PARSER_CONDITION,
    PARSER_PROJECTION,
    PARSER_UPDATE,
};

struct parser {
    enum parser_grammar grammar;
    struct slice text;
    struct expression_names *names; /* borrows */
    struct arena *arena;            /* borrows */
    struct expression_fault *fault; /* borrows; the fault to tell, so far */
    struct token previous;
    struct token token;
    bool failed; /* a fault has ended the parsing */
    uint32_t depth;
    uint32_t operators;            /* operators and functions so far */
    struct projection_path *paths; /* those that parser_add_path got; `last` is the end */
    struct projection_path *last;
    uint32_t path_count;
};

/* False: the text is empty or too long. */
bool parser_init(struct parser *p, enum parser_grammar grammar, struct slice text,
                 struct expression_names *names, struct arena *arena,
                 struct expression_fault *fault);

bool parser_accept(struct parser *p, enum token_kind kind);
bool parser_expect(struct parser *p, enum token_kind kind);
void parser_advance(struct parser *p);
enum token_kind parser_following(const struct parser *p);

/* Ends the parsing with a syntax error at the present token. Always NULL. */
void *parser_syntax_error(struct parser *p);
/* Counts an operator or a function. False: there are too many. */
bool parser_count_operator(struct parser *p);
/* Ends the parsing: there are too many operators. Always NULL. */
void *parser_too_many(struct parser *p);

/* Notes a fault; the parsing goes on. A fault of an earlier rank (enum expression_error) replaces
 * the noted fault. */
void parser_note(struct parser *p, const struct expression_fault *fault);
void parser_note_text(struct parser *p, enum expression_error error, struct slice text);

/* Notes a path with too many steps. */
void parser_check_path(struct parser *p, const struct path_part *path);
/* Reads a path. NULL: a syntax error. */
struct path_part *parser_path(struct parser *p);
/* How two paths relate: EXPRESSION_OK if both can be shown or changed at once. */
enum expression_error parser_relation(const struct path_part *a, const struct path_part *b);
/* Adds a path to those that the expression shows or changes. Notes overlaps and conflicts with
 * earlier paths. */
void parser_add_path(struct parser *p, struct path_part *path);
/* Reads a :value. Type 0: it is not defined. */
struct attr parser_value(struct parser *p);

/* ---- operand.c: the operands of operators and functions ---- */

/* Whether conditions, or updates, have a function of this name. */
bool operand_is_condition_function(struct slice name);
bool operand_is_update_function(struct slice name);

/* Notes a function other than size() inside another operator or function. */
void operand_check_nested(struct parser *p, const struct condition *c);
/* Notes size() where a condition must stand. */
void operand_check_condition(struct parser *p, const struct condition *c);
/* Notes a comparison of a path with itself, and <, <=, > or >= of a value without an order. */
void operand_check_comparison(struct parser *p, const struct condition *c);
/* Notes a path among the operands of IN that is the first operand. */
void operand_check_in(struct parser *p, const struct condition *c);
/* Notes a path compared with itself, values without an order, bounds of different types, and bounds
 * that are not in order. */
void operand_check_between(struct parser *p, const struct condition *c);
/* Sets c->function. Notes an unknown name, and a wrong number or type of operands. */
void operand_check_function(struct parser *p, struct condition *c);
