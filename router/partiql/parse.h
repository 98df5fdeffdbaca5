/* parse.h - what the actions of grammar.y call: they make the trees of a statement. For the files
 * of router/partiql only.
 *
 * Faults: a syntax error ends the parsing. Another fault is noted, the first one stays, and the
 * parsing goes on, because a syntax error after it is told instead. */
#pragma once

#include "router/partiql/lexer.h"
#include "router/partiql/statement.h"

#define NOT_WELL_FORMED "Statement wasn't well formed, can't be processed: "

struct parse {
    struct slice text;
    struct arena *arena; /* borrows */
    const struct attr *parameters;
    uint32_t parameter_count;
    uint32_t parameters_used;
    struct statement *out; /* borrows */
    struct fault *fault;   /* borrows */
    struct projection *columns;
    struct projection_path **columns_end;
    const struct statement_order **order_end;
    struct update_action **update_end;
    struct slice call; /* the name of the last function */
    bool refused;      /* a fault is noted */
    bool ended;        /* a syntax error */
    int previous;      /* the kind of the last token */
};

/* Runs the generated parser over all tokens. */
void parse_run(struct parse *p);

/* A token that the grammar does not have here. */
void parse_syntax_error(struct parse *p, int kind);
void parse_too_deep(struct parse *p);

/* Notes a fault; not the second one. */
#define parse_refuse(p, ...)    \
    ((p)->refused || (p)->ended \
         ? (void)0              \
         : (void)((p)->refused = true, fault_invalid((p)->fault, __VA_ARGS__)))
void parse_refuse_expression(struct parse *p, const struct expression_fault *why);

/* "1:10:3": the line and column of the token, and its size. */
struct place {
    uint32_t line;
    uint32_t column;
    uint32_t size;
};
struct place parse_place(const struct parse *p, struct slice token);

/* The name that an identifier or a quoted one stands for, or the text of a 'text'. */
struct slice parse_name(struct parse *p, struct slice token);

/* ---- paths and tables ---- */

struct path_part *parse_path(struct parse *p, struct slice name);
struct path_part *parse_path_name(struct parse *p, struct path_part *path, struct slice name);
struct path_part *parse_path_index(struct parse *p, struct path_part *path, bool negative,
                                   struct slice number);
void parse_table(struct parse *p, const struct path_part *path);

/* ---- literals (literal.c) ---- */

enum literal_kind {
    LITERAL_STRING = 1,
    LITERAL_NUMBER,
    LITERAL_TRUE,
    LITERAL_FALSE,
    LITERAL_NULL,
    LITERAL_LIST,
    LITERAL_MAP,
    LITERAL_BAG,
    LITERAL_PARAMETER,
};

struct literal {
    enum literal_kind kind;
    struct slice name;  /* of a map's member */
    struct slice token; /* STRING, NUMBER, PARAMETER */
    bool negative;      /* NUMBER */
    struct attr value;  /* PARAMETER */
    struct literal *first;
    struct literal *last;
    struct literal *next;
    uint32_t count;
};

struct literal *parse_literal(struct parse *p, enum literal_kind kind, struct slice token);
struct literal *parse_parameter(struct parse *p, struct slice token);
/* Adds an element or a member. `to` NULL: begins the list. */
struct literal *parse_element(struct parse *p, struct literal *to, enum literal_kind kind,
                              struct literal *element);
/* The value of a literal. Type 0: a fault is noted. */
struct attr literal_value(struct parse *p, const struct literal *l);
/* The item of a map. Its values may be parameters. */
void literal_item(struct parse *p, const struct literal *map, struct slice *out);

/* ---- conditions ---- */

struct condition *parse_value_node(struct parse *p, const struct literal *l);
struct condition *parse_path_node(struct parse *p, struct path_part *path);
struct condition *parse_call(struct parse *p, struct slice name, struct condition *arguments);
/* A list of nodes, in the operands of a node without a kind. `to` NULL: begins it. */
struct condition *parse_list(struct parse *p, struct condition *to, struct condition *node);
struct condition *parse_compare(struct parse *p, enum token_kind op, struct condition *left,
                                struct condition *right);
struct condition *parse_between(struct parse *p, struct condition *of, struct condition *low,
                                struct condition *high);
struct condition *parse_in(struct parse *p, struct condition *of, struct condition *list);
struct condition *parse_chain(struct parse *p, enum condition_kind kind, struct condition *left,
                              struct condition *right);
struct condition *parse_not(struct parse *p, struct condition *of);
struct condition *parse_is_missing(struct parse *p, struct condition *of);
struct condition *parse_is_type(struct parse *p, struct condition *of, struct slice type);

/* ---- updates ---- */

struct update_value *parse_operand(struct parse *p, const struct condition *node);
void parse_set(struct parse *p, struct path_part *path, const struct condition *node);
void parse_set_sum(struct parse *p, struct path_part *path, enum update_value_kind kind,
                   const struct condition *left, const struct condition *right);
void parse_remove(struct parse *p, struct path_part *path);

/* ---- the rest ---- */

void parse_column(struct parse *p, struct path_part *path);
void parse_order(struct parse *p, struct slice name, bool descending);
void parse_returning(struct parse *p, enum statement_returning returning);
