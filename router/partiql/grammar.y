/* grammar.y - the grammar of PartiQL statements. The build makes grammar.c and grammar.h of it
 * (lemon). The actions are in parse.c and literal.c.
 *
 * Nesting is bounded by the parser's stack: deeper statements are refused. */
%name grammar
%token_prefix PARTIQL_
%token_type {struct slice}
%extra_argument {struct parse *p}
%stack_size 1024

%include {
#include "router/partiql/parse.h"
}

%syntax_error { (void)TOKEN; parse_syntax_error(p, yymajor); }
%stack_overflow { parse_too_deep(p); }

%fallback ID OLD NEW MODIFIED.

%left OR.
%left AND.
%right NOT.
%nonassoc EQ NE LT LE GT GE IS IN BETWEEN.

input ::= statement.
input ::= statement SEMI.

statement ::= select.                               { p->out->verb = STATEMENT_SELECT; }
statement ::= EXISTS LP select RP.                  { p->out->verb = STATEMENT_EXISTS; }
statement ::= INSERT INTO table VALUE map(M).
    { p->out->verb = STATEMENT_INSERT; literal_item(p, M, &p->out->item); }
statement ::= UPDATE table alias actions where returning.
    { p->out->verb = STATEMENT_UPDATE; }
statement ::= FROM table alias where actions returning. /* the same in another order */
    { p->out->verb = STATEMENT_UPDATE; }
statement ::= DELETE FROM table alias where returning.
    { p->out->verb = STATEMENT_DELETE; }

select ::= SELECT columns FROM table alias where order.

columns ::= STAR.
columns ::= column_list.
column_list ::= path(A).                            { parse_column(p, A); }
column_list ::= column_list COMMA path(A).          { parse_column(p, A); }

table ::= path(A).                                  { parse_table(p, A); }
alias ::= .
alias ::= ID.                                       { parse_refuse(p, "Aliasing is not supported"); }
alias ::= AS ID.                                    { parse_refuse(p, "Aliasing is not supported"); }

where ::= .
where ::= WHERE expr(A).                            { p->out->where = A; }

order ::= .
order ::= ORDER BY order_list.
order_list ::= order_key.
order_list ::= order_list COMMA order_key.
order_key ::= name(A).                              { parse_order(p, A, false); }
order_key ::= name(A) ASC.                          { parse_order(p, A, false); }
order_key ::= name(A) DESC.                         { parse_order(p, A, true); }

returning ::= .
returning ::= RETURNING ALL OLD STAR.               { parse_returning(p, RETURNING_ALL_OLD); }
returning ::= RETURNING MODIFIED OLD STAR.          { parse_returning(p, RETURNING_MODIFIED_OLD); }
returning ::= RETURNING ALL NEW STAR.               { parse_returning(p, RETURNING_ALL_NEW); }
returning ::= RETURNING MODIFIED NEW STAR.          { parse_returning(p, RETURNING_MODIFIED_NEW); }

/* ---- updates ---- */

actions ::= action.
actions ::= actions action.
action ::= SET set_list.
action ::= REMOVE remove_list.
set_list ::= set.
set_list ::= set_list COMMA set.
set ::= path(A) EQ primary(B).                      { parse_set(p, A, B); }
set ::= path(A) EQ primary(B) PLUS primary(C).      { parse_set_sum(p, A, UPDATE_PLUS, B, C); }
set ::= path(A) EQ primary(B) MINUS primary(C).     { parse_set_sum(p, A, UPDATE_MINUS, B, C); }
remove_list ::= path(A).                            { parse_remove(p, A); }
remove_list ::= remove_list COMMA path(A).          { parse_remove(p, A); }

/* ---- names and paths ---- */

%type name {struct slice}
name(A) ::= ID(B).                                  { A = parse_name(p, B); }
name(A) ::= QUOTED(B).                              { A = parse_name(p, B); }

%type path {struct path_part *}
path(A) ::= name(B).                                { A = parse_path(p, B); }
path(A) ::= path(B) DOT name(C).                    { A = parse_path_name(p, B, C); }
path(A) ::= path(B) LB sign(S) NUMBER(C) RB.        { A = parse_path_index(p, B, S, C); }

/* Whether a number is negated. */
%type sign {bool}
sign(A) ::= .                                       { A = false; }
sign(A) ::= sign(B) PLUS.                           { A = B; }
sign(A) ::= sign(B) MINUS.                          { A = !B; }

/* ---- literals ---- */

%type literal {struct literal *}
%type map {struct literal *}
%type number {struct literal *}
%type element {struct literal *}
%type elements {struct literal *}
%type members {struct literal *}
literal(A) ::= STRING(B).                           { A = parse_literal(p, LITERAL_STRING, B); }
literal(A) ::= number(B).                           { A = B; }
literal(A) ::= TRUE(B).                             { A = parse_literal(p, LITERAL_TRUE, B); }
literal(A) ::= FALSE(B).                            { A = parse_literal(p, LITERAL_FALSE, B); }
literal(A) ::= NULL(B).                             { A = parse_literal(p, LITERAL_NULL, B); }
literal(A) ::= LB(B) RB.                            { A = parse_literal(p, LITERAL_LIST, B); }
literal(A) ::= LB elements(B) RB.                   { A = B; A->kind = LITERAL_LIST; }
literal(A) ::= LTLT(B) GTGT.                        { A = parse_literal(p, LITERAL_BAG, B); }
literal(A) ::= LTLT elements(B) GTGT.               { A = B; A->kind = LITERAL_BAG; }
literal(A) ::= map(B).                              { A = B; }
map(A) ::= LBRACE(B) RBRACE.                        { A = parse_literal(p, LITERAL_MAP, B); }
map(A) ::= LBRACE members(B) RBRACE.                { A = B; }
number(A) ::= NUMBER(B).                            { A = parse_literal(p, LITERAL_NUMBER, B); }
number(A) ::= PLUS number(B).                       { A = B; }
number(A) ::= MINUS number(B).                      { A = B; A->negative = !A->negative; }
element(A) ::= literal(B).                          { A = B; }
element(A) ::= PARAMETER(B).                        { A = parse_parameter(p, B); }
elements(A) ::= element(B).                         { A = parse_element(p, NULL, LITERAL_LIST, B); }
elements(A) ::= elements(B) COMMA element(C).       { A = parse_element(p, B, LITERAL_LIST, C); }
members(A) ::= STRING(N) COLON element(B).
    { B->name = parse_name(p, N); A = parse_element(p, NULL, LITERAL_MAP, B); }
members(A) ::= members(C) COMMA STRING(N) COLON element(B).
    { B->name = parse_name(p, N); A = parse_element(p, C, LITERAL_MAP, B); }

/* ---- expressions: the grammar does not tell conditions from operands, the checks do ---- */

%type primary {struct condition *}
primary(A) ::= path(B).                             { A = parse_path_node(p, B); }
primary(A) ::= literal(B).                          { A = parse_value_node(p, B); }
primary(A) ::= PARAMETER(B).                        { A = parse_value_node(p, parse_parameter(p, B)); }
primary(A) ::= ID(B) LP list(C) RP.                 { A = parse_call(p, B, C); }

%type list {struct condition *}
list(A) ::= expr(B).                                { A = parse_list(p, NULL, B); }
list(A) ::= list(B) COMMA expr(C).                  { A = parse_list(p, B, C); }

%type expr {struct condition *}
expr(A) ::= primary(B).                             { A = B; }
expr(A) ::= LP expr(B) RP.                          { A = B; A->parenthesized = true; }
expr(A) ::= expr(B) OR expr(C).                     { A = parse_chain(p, CONDITION_OR, B, C); }
expr(A) ::= expr(B) AND expr(C).                    { A = parse_chain(p, CONDITION_AND, B, C); }
expr(A) ::= NOT expr(B).                            { A = parse_not(p, B); }
expr(A) ::= expr(B) EQ expr(C).                     { A = parse_compare(p, TOKEN_EQ, B, C); }
expr(A) ::= expr(B) NE expr(C).                     { A = parse_compare(p, TOKEN_NE, B, C); }
expr(A) ::= expr(B) LT expr(C).                     { A = parse_compare(p, TOKEN_LT, B, C); }
expr(A) ::= expr(B) LE expr(C).                     { A = parse_compare(p, TOKEN_LE, B, C); }
expr(A) ::= expr(B) GT expr(C).                     { A = parse_compare(p, TOKEN_GT, B, C); }
expr(A) ::= expr(B) GE expr(C).                     { A = parse_compare(p, TOKEN_GE, B, C); }
expr(A) ::= expr(B) BETWEEN primary(C) AND primary(D). [BETWEEN]
    { A = parse_between(p, B, C, D); }
expr(A) ::= expr(B) NOT BETWEEN primary(C) AND primary(D). [BETWEEN]
    { A = parse_not(p, parse_between(p, B, C, D)); }
expr(A) ::= expr(B) IN LB list(C) RB. [IN]          { A = parse_in(p, B, C); }
expr(A) ::= expr(B) IN LP list(C) RP. [IN]          { A = parse_in(p, B, C); }
expr(A) ::= expr(B) NOT IN LB list(C) RB. [IN]      { A = parse_not(p, parse_in(p, B, C)); }
expr(A) ::= expr(B) NOT IN LP list(C) RP. [IN]      { A = parse_not(p, parse_in(p, B, C)); }
expr(A) ::= expr(B) IS MISSING. [IS]                { A = parse_is_missing(p, B); }
expr(A) ::= expr(B) IS NOT MISSING. [IS]            { A = parse_not(p, parse_is_missing(p, B)); }
expr(A) ::= expr(B) IS type(C). [IS]                { A = parse_is_type(p, B, C); }
expr(A) ::= expr(B) IS NOT type(C). [IS]            { A = parse_not(p, parse_is_type(p, B, C)); }
%type type {struct slice}
type(A) ::= NULL(B).                                { A = B; }
type(A) ::= ID(B).                                  { A = B; }

%code {
void parse_run(struct parse *p)
{
    yyParser parser;
    struct lexer_token t = {0};
    size_t at = 0;
    grammarInit(&parser);
    do {
        t = lexer_token_at(p->text, at);
        at = (size_t)(t.text.data - p->text.data) + t.text.size;
        if (t.kind == LEXER_BAD)
            parse_syntax_error(p, t.kind);
        else
            grammar(&parser, t.kind, t.text, p);
        p->previous = t.kind;
    } while (!p->ended && t.kind != LEXER_END);
    grammarFinalize(&parser);
}
}
