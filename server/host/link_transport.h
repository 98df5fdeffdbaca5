/* link_transport.h - the link port of a transport. */
#pragma once

#include "host/transport.h"
#include "server/ports.h"

/* Borrows the transport. */
struct link_port transport_links(struct transport *t);
