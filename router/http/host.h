/* host.h - reads the host of a request or of an origin, and tells whether a public web page could
 * have chosen it.
 *
 *   Host: 127.0.0.1:8000     HOST_IPV4 "127.0.0.1"       passes
 *   Host: [::1]:8000         HOST_IPV6 "::1"             passes
 *   Host: weir:8000          HOST_NAME "weir"            passes
 *   Host: pages.example      HOST_NAME "pages.example"   passes only if host_names has it
 *
 * Why: the owner of a public name can point it at 127.0.0.1 at any time (DNS rebinding). For the
 * browser, a page of that name is then a page of this server: it reads and changes everything. The
 * owner cannot do that with an address, nor with a name that public name servers do not answer. */
#pragma once

#include "base/slice.h"
#include "router/http/http.h"

enum host_kind {
    HOST_MALFORMED,
    HOST_NAME,
    HOST_IPV4,
    HOST_IPV6,
};

/* Reads HOST or HOST:PORT. `out` gets the host in lower case, without port, brackets, zone and
 * the dot at its end. HOST_MALFORMED: `out` is empty. */
enum host_kind host_read(struct slice text, char out[HTTP_HOST_MAX]);

/* `names`: the setting host_names. An empty host passes: browsers send none. */
bool host_passes(struct slice text, const char *names);
