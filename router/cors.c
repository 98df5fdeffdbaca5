/* cors.c - compares an origin with the setting cors_origins. */
#include "router/cors.h"

#include "router/router_internal.h"

/* Whether only an optional port follows scheme and host. */
static bool cors_ends(const char *rest)
{
    if (*rest == '\0')
        return true;
    if (*rest != ':' || rest[1] == '\0')
        return false;
    return rest[1 + strspn(rest + 1, "0123456789")] == '\0';
}

/* Skips an address of 127.0.0.0/8, written as four numbers. NULL: there is none. */
static const char *cors_skip_ipv4(const char *host)
{
    const char *at = host;
    if (strncmp(host, "127.", 4) != 0)
        return NULL;
    for (int part = 0; part < 4; part++) {
        size_t digits = strspn(at, "0123456789");
        if (digits == 0 || digits > 3)
            return NULL;
        at += digits;
        if (part < 3 && *at++ != '.')
            return NULL;
    }
    return at;
}

static bool cors_is_loopback(const char *origin)
{
    static const char *const NAMES[] = {"localhost", "[::1]"};
    const char *host = strstr(origin, "://");
    if (host == NULL || (strncmp(origin, "http://", 7) != 0 && strncmp(origin, "https://", 8) != 0))
        return false;
    host += 3;
    for (size_t i = 0; i < COUNT_OF(NAMES); i++) {
        if (strncmp(host, NAMES[i], strlen(NAMES[i])) == 0 && cors_ends(host + strlen(NAMES[i])))
            return true;
    }
    const char *rest = cors_skip_ipv4(host);
    return rest != NULL && cors_ends(rest);
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
    bool allowed = strcmp(setting, "*") == 0;
    if (strcmp(setting, "loopback") == 0)
        allowed = r->options.on_loopback && cors_is_loopback(text);
    else if (!allowed && strcmp(setting, "none") != 0)
        allowed = cors_is_listed(setting, text);
    return allowed ? origin : slice_make(NULL, 0);
}
