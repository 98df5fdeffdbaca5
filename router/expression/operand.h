/* operand.h - what operands operators and functions take. Errors are gathered: the service tells
 * only the first of the kind it ranks highest (enum condition_error). */
#ifndef WEIR_ROUTER_EXPRESSION_OPERAND_H
#define WEIR_ROUTER_EXPRESSION_OPERAND_H

#include "router/expression/condition.h"

struct operand_errors {
    enum condition_error first;
    struct buffer text; /* owns */
};

void operand_error(struct operand_errors *e, enum condition_error error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Only size() may stand inside another operator or function. */
void operand_check_nested(struct operand_errors *e, const struct condition *c);
/* size() is no condition. */
void operand_check_condition(struct operand_errors *e, const struct condition *c);
/* The two sides of a comparison must not be the same path. */
void operand_check_distinct(struct operand_errors *e, const struct condition *c);
/* Bounds of BETWEEN: one type, in order. */
void operand_check_between(struct operand_errors *e, const struct condition *c);
/* Name, number and types of a function's operands. */
void operand_check_function(struct operand_errors *e, const struct condition *c);

/* Order of two values of one type S, N or B. */
int operand_compare(const struct attr *a, const struct attr *b);

#endif
