/* statement.h - a PartiQL statement as data: what it does, to which table, with which trees.
 *
 * The trees are those of expressions (engine/expression). What depends on the table's keys comes
 * later (where.h).
 * Order of the checks: the text, then what its parts mean, both without the table.
 * Sources: DynamoDB developer guide, "PartiQL - a SQL-compatible query language"; texts of errors
 * and behaviour as the test suites dynamodb-conformance and floci have measured them. */
#pragma once

#include "engine/expression/condition.h"
#include "engine/expression/projection.h"
#include "engine/expression/update.h"
#include "router/json/api_error.h"

enum statement_verb {
    STATEMENT_SELECT = 1,
    STATEMENT_EXISTS, /* EXISTS(SELECT ...): a condition of a transaction */
    STATEMENT_INSERT,
    STATEMENT_UPDATE,
    STATEMENT_DELETE,
};

enum statement_returning {
    RETURNING_NOTHING,
    RETURNING_ALL_OLD,
    RETURNING_MODIFIED_OLD,
    RETURNING_ALL_NEW,
    RETURNING_MODIFIED_NEW,
};

struct statement_order {
    struct slice name;
    bool descending;
    struct statement_order *next;
};

/* All lends from the arena. */
struct statement {
    enum statement_verb verb;
    struct slice table;
    struct slice index;                  /* empty: none */
    const struct projection *columns;    /* SELECT; NULL: all attributes. Paths may overlap */
    struct condition *where;             /* NULL: none */
    const struct statement_order *order; /* NULL: none */
    struct update update;
    struct slice item; /* INSERT: an encoded item */
    enum statement_returning returning;
};

/* Parses the text. `parameters` stand for its question marks. False: the fault says why. */
bool statement_parse(struct slice text, const struct attr *parameters, uint32_t count,
                     struct arena *arena, struct statement *out, struct fault *fault);

/* Whether the statement may stand among writes: all but a SELECT may. */
static inline bool statement_writes(const struct statement *s)
{
    return s->verb != STATEMENT_SELECT;
}

/* Appends what a column is called: the last name of its path, and the indexes after that name. */
void statement_column_name(struct buffer *out, const struct path_part *path);
/* Writes the columns of an item as JSON, {"name":{"S":...}}. `columns` NULL: all attributes. */
void statement_write_row(struct buffer *out, const struct projection *columns, struct slice item);
