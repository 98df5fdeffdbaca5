/* cors.c - compares an origin with the setting cors_origins, and a host with host_names. */
#include "router/core/cors.h"

#include "router/core/router_internal.h"
#include "router/http/host.h"

static bool cors_is_loopback(const char *origin)
{
    char host[HTTP_HOST_MAX];
    const char *at = strstr(origin, "://");
    if (at == NULL || (strncmp(origin, "http://", 7) != 0 && strncmp(origin, "https://", 8) != 0))
        return false;
    switch (host_read(slice_of(at + 3), host)) {
    case HOST_NAME:
        return strcmp(host, "localhost") == 0;
    case HOST_IPV4:
        return strncmp(host, "127.", 4) == 0;
    case HOST_IPV6:
        return strcmp(host, "::1") == 0;
    case HOST_MALFORMED:
        break;
    }
    return false;
}

static bool cors_is_listed(const char *list, const char *origin)
{
    const size_t size = strlen(origin);
    while (*list != '\0') {
        size_t length = strcspn(list, ", ");
        if (length == size && memcmp(list, origin, size) == 0)
            return true;
        list += length;
        list += strspn(list, ", ");
    }
    return false;
}

struct slice cors_allowed(const struct router *r, const struct client *c)
{
    const struct slice origin = http_find(&c->http.head, "origin");
    const char *setting = r->config->cors_origins;
    char text[HTTP_ORIGIN_MAX] = "";
    if (origin.size == 0 || origin.size >= sizeof text || c->admin)
        return slice_make(NULL, 0);
    memcpy(text, origin.data, origin.size);
    if (strcmp(setting, "*") == 0)
        return slice_of("*");
    bool allowed = false;
    if (strcmp(setting, "loopback") == 0)
        allowed = r->options.on_loopback && cors_is_loopback(text);
    else if (strcmp(setting, "none") != 0)
        allowed = cors_is_listed(setting, text);
    return allowed ? origin : slice_make(NULL, 0);
}

/* ---- refusals ---- */

/* Most requests have the same host as the one before. */
static bool cors_knows_host(struct router *r, struct slice host)
{
    if (host.size > 0 && host.size == r->known_host_size &&
        memcmp(host.data, r->known_host, host.size) == 0)
        return true;
    if (host.size == 0 || host.size > sizeof r->known_host || !host_passes(host, ""))
        return false;
    memcpy(r->known_host, host.data, host.size);
    r->known_host_size = host.size;
    return true;
}

static bool cors_refuse_host(struct router *r, struct slice host)
{
    char name[HTTP_HOST_MAX];
    if (cors_knows_host(r, host) || host_passes(host, r->config->host_names))
        return false;
    if (host_read(host, name) == HOST_MALFORMED)
        fault_set(&r->fault, FAULT_FORBIDDEN, "The host %.*s is neither an address nor a name",
                  TEXT_OF(host));
    else
        fault_set(&r->fault, FAULT_FORBIDDEN,
                  "A web page may have chosen the name %s for this server. If the name is yours, "
                  "start weir with --set host_names=%s (a list; * stands for any text)",
                  name, name);
    return true;
}

/* Names the origin, if its bytes can be shown. */
static void cors_refuse_origin(struct router *r, struct slice origin)
{
    bool shown = origin.size > 0 && origin.size < HTTP_ORIGIN_MAX;
    for (size_t i = 0; i < origin.size && shown; i++)
        shown = origin.data[i] > ' ' && origin.data[i] < 0x7F;
    if (shown)
        fault_set(
            &r->fault, FAULT_FORBIDDEN,
            "Pages of the origin %.*s may not use this server. To allow them, start weir with "
            "--set cors_origins=%.*s (a list; loopback: pages of this machine)",
            TEXT_OF(origin), TEXT_OF(origin));
    else
        fault_set(&r->fault, FAULT_FORBIDDEN,
                  "Pages of this origin may not use this server (cors_origins)");
}

bool cors_refuse(struct router *r, const struct client *c)
{
    const struct http_head *head = &c->http.head;
    if (c->admin && r->options.admin_token != NULL)
        return false;
    if (cors_refuse_host(r, http_text(head, head->host)) ||
        cors_refuse_host(r, http_text(head, head->authority)))
        return true;
    const bool origin = (head->once & HTTP_ONCE_ORIGIN) != 0;
    const bool any = strcmp(r->config->cors_origins, "*") == 0 && !c->admin;
    if (any || (origin ? cors_allowed(r, c).size > 0 : !head->cross_site))
        return false;
    if (origin)
        cors_refuse_origin(r, http_find(head, "origin"));
    else
        fault_set(&r->fault, FAULT_FORBIDDEN,
                  "Pages of other sites may not use this server (Sec-Fetch-Site; cors_origins=* "
                  "allows it)");
    return true;
}
