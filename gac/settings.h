/* settings.h - the numbers of global admission control, with their defaults. */
#ifndef WEIR_GAC_SETTINGS_H
#define WEIR_GAC_SETTINGS_H

#include <stdint.h>

struct gac_settings {
    int64_t bank_ms;     /* of its rate, what a table may save up */
    int64_t lifetime_ms; /* of tokens a router holds; longer silence is an outage */
    int64_t period_ms;   /* policy periodic: between two asks of a router */
    int64_t grant_ms;    /* policy lease: of a router's even part of the rate, a grant */
    int64_t forget_ms;   /* a router that is silent for longer has no part of a rate */
    int64_t timeout_ms;  /* an ask without an answer is asked anew */
    int64_t ledgers_max; /* of a server; the one unused longest goes */
    int64_t routers_max; /* that a server knows */
};

#define GAC_SETTINGS_DEFAULT                      \
    ((struct gac_settings){.bank_ms = 300000,     \
                           .lifetime_ms = 1000,   \
                           .period_ms = 1000,     \
                           .grant_ms = 100,       \
                           .forget_ms = 60000,    \
                           .timeout_ms = 50,      \
                           .ledgers_max = 100000, \
                           .routers_max = 1000})

#endif
