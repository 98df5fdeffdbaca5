/* host.c - hosts: addresses and names with an optional port (RFC 3986 3.2.2). */
#include "router/http/host.h"

#include <arpa/inet.h>

/* Names that public name servers do not answer, and those of the service, whose owner is known.
 * Sources: RFC 6761 (localhost), RFC 6762 (local), ICANN resolution 2024.07.29.06 (internal),
 * Kubernetes' DNS specification (svc; svc.cluster.local ends in local). */
static const char *const HOST_PATTERNS[] = {
    "*.localhost",
    "*.local",
    "*.internal",
    "*.svc",
    "dynamodb.*.amazonaws.com",
    "streams.dynamodb.*.amazonaws.com",
};

/* Whether nothing or :PORT follows. RFC 9110 allows an empty port. */
static bool host_port_follows(const char *at)
{
    return *at == '\0' || (*at == ':' && at[1 + strspn(at + 1, "0123456789")] == '\0');
}

static enum host_kind host_read_bracketed(char *out)
{
    struct in6_addr address;
    char *end = strchr(out, ']');
    if (end == NULL || !host_port_follows(end + 1))
        return HOST_MALFORMED;
    *end = '\0';
    memmove(out, out + 1, (size_t)(end - out));
    out[strcspn(out, "%")] = '\0'; /* the zone */
    return inet_pton(AF_INET6, out, &address) == 1 ? HOST_IPV6 : HOST_MALFORMED;
}

static enum host_kind host_read_plain(char *out)
{
    struct in_addr address;
    const size_t size = strcspn(out, ":[]");
    if (!host_port_follows(out + size))
        return HOST_MALFORMED;
    out[size] = '\0';
    if (size > 0 && out[size - 1] == '.')
        out[size - 1] = '\0';
    if (out[0] == '\0')
        return HOST_MALFORMED;
    return inet_pton(AF_INET, out, &address) == 1 ? HOST_IPV4 : HOST_NAME;
}

enum host_kind host_read(struct slice text, char out[HTTP_HOST_MAX])
{
    enum host_kind kind = HOST_MALFORMED;
    if (text.size < HTTP_HOST_MAX && (text.size == 0 || memchr(text.data, 0, text.size) == NULL)) {
        for (size_t i = 0; i < text.size; i++)
            out[i] = (char)(text.data[i] >= 'A' && text.data[i] <= 'Z' ? text.data[i] | 0x20
                                                                       : text.data[i]);
        out[text.size] = '\0';
        kind = out[0] == '[' ? host_read_bracketed(out) : host_read_plain(out);
    }
    if (kind == HOST_MALFORMED)
        out[0] = '\0';
    return kind;
}

/* The first `*` of a pattern stands for any text that is not empty. */
static bool host_fits(struct slice name, struct slice pattern)
{
    struct slice end = pattern, start = slice_cut(&end, '*');
    if (start.size == pattern.size)
        return name.size == pattern.size &&
               strncasecmp((const char *)name.data, (const char *)pattern.data, name.size) == 0;
    if (name.size <= start.size + end.size)
        return false;
    const char *tail = (const char *)name.data + name.size - end.size;
    return strncasecmp((const char *)name.data, (const char *)start.data, start.size) == 0 &&
           strncasecmp(tail, (const char *)end.data, end.size) == 0;
}

static bool host_is_listed(struct slice name, struct slice list)
{
    while (list.size > 0) {
        const struct slice pattern = slice_trimmed(slice_cut(&list, ','));
        if (pattern.size > 0 && host_fits(name, pattern))
            return true;
    }
    return false;
}

bool host_passes(struct slice text, const char *names)
{
    char out[HTTP_HOST_MAX];
    const enum host_kind kind = host_read(text, out);
    const struct slice name = slice_of(out);
    if (text.size == 0 || kind == HOST_IPV4 || kind == HOST_IPV6)
        return true;
    if (kind == HOST_MALFORMED)
        return false;
    if (memchr(name.data, '.', name.size) == NULL)
        return true;
    for (size_t i = 0; i < COUNT_OF(HOST_PATTERNS); i++) {
        if (host_fits(name, slice_of(HOST_PATTERNS[i])))
            return true;
    }
    return host_is_listed(name, slice_of(names));
}
