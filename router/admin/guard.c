/* guard.c - the checks of the admin listener: Origin, token, Content-Type. */
#include "router/admin/guard.h"

#include "router/router_internal.h"

/* Takes constant time: the time must not tell how many bytes are right. */
static bool admin_same_token(const char *expected, struct slice given)
{
    size_t size = strlen(expected);
    unsigned difference = given.size != size;
    for (size_t i = 0; i < size; i++)
        difference |= (uint8_t)expected[i] ^ (i < given.size ? given.data[i] : 0U);
    return difference == 0;
}

const char *admin_refusal(const struct router *r, const struct client *c)
{
    const struct http_head *head = &c->http.head;
    const char *token = r->options.admin_token;
    if (head->once & HTTP_ONCE_ORIGIN)
        return "The admin listener takes no requests of web pages (Origin)";
    if (token != NULL && !admin_same_token(token, http_bearer(head)))
        return "The admin listener needs Authorization: Bearer and the token of --admin-token";
    if (head->method != HTTP_GET && head->method != HTTP_HEAD && head->type != HTTP_TYPE_JSON)
        return "The admin listener takes Content-Type: application/json only";
    return NULL;
}
