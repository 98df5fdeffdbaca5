/* link_transport.h - the link port of a transport. */
#ifndef WEIR_SERVER_HOST_LINK_TRANSPORT_H
#define WEIR_SERVER_HOST_LINK_TRANSPORT_H

#include "host/transport.h"
#include "server/ports.h"

/* Borrows the transport. */
struct link_port transport_links(struct transport *t);

#endif
