/* pages.c - reads the parameters of a page's address. */
#include "router/admin/pages.h"

#include "router/http/query_string.h"

bool page_read_query(struct call *c, const char *const names[], struct slice values[])
{
    const struct http_head *head = &c->client->http.head;
    return query_string_read(http_text(head, head->query), &c->arena, names, values, call_fault(c));
}
