/* autoscaling.h - decides which throughput a table should be provisioned with, by what its requests
 * consume.
 *
 * Application Auto Scaling for DynamoDB, as a client of the cluster: it looks at the consumption of
 * each period, and asks for another throughput by UpdateTable (lab/scenario/scaling.h sends the
 * requests).
 *
 * Documented by the service (Developer Guide, "Managing throughput capacity automatically"; AWS
 * re:Post, "DynamoDB auto scaling"):
 *   - consumption is measured over minutes, and compared with target * provisioned;
 *   - the throughput is raised once two minutes in a row were above;
 *   - it is lowered once 15 minutes in a row were 20 % of the provisioned units below the target;
 *   - a minute in which nothing was consumed lowers nothing;
 *   - it takes up to minutes until the alarm comes, and minutes until the change is done;
 *   - the target is 20 % to 90 %, reads and writes are scaled apart.
 * Guessed:
 *   - the new throughput is the highest of the periods that led to the decision, by the target;
 *   - `delay` is 3 minutes, all of it before the change; periods that end meanwhile do not count;
 *   - one request changes reads and writes, if both are due.
 * How often a table may be lowered in a day is the cluster's to say (engine/catalog/modes.c).
 *
 * Promises: no clock, no I/O, no allocation; the same calls give the same answers.
 * Units: mcu a second; provisioned units a second. */
#pragma once

#include "lab/scenario/reading.h"

enum {
    AUTOSCALING_KINDS = 2 /* as enum admit_kind */
};

struct autoscaling_kind_options {
    int64_t min, max; /* units; most 0: this kind is not scaled */
    double target;    /* consumed by provisioned */
};

struct autoscaling_options {
    bool on;
    struct autoscaling_kind_options kinds[AUTOSCALING_KINDS];
    int64_t period_ns;
    int64_t out_after_ns; /* so long above the target before the throughput is raised */
    int64_t in_after_ns;  /* so long below it by the margin before the throughput is lowered */
    double in_margin;
    int64_t delay_ns; /* from the decision to the request */
};

/* Periods in a row on one side of the target. */
struct autoscaling_row {
    int64_t periods;
    int64_t highest_mcu;
};

struct autoscaling {
    const struct autoscaling_options *options; /* borrows */
    int64_t units[AUTOSCALING_KINDS];          /* provisioned now */
    int64_t requested[AUTOSCALING_KINDS];      /* 0: no change */
    struct autoscaling_row above[AUTOSCALING_KINDS], below[AUTOSCALING_KINDS];
    bool changing; /* from a decision to its end */
};

/* For the fields of scenario files. */
extern const struct field autoscaling_fields[];
/* Reads a map of them, defaults included. As `read` of struct field. */
bool autoscaling_read(struct reading *r, const struct document_node *n, void *target);
/* NULL: a table of so many units can be scaled. Otherwise the fault, as a text. */
const char *autoscaling_check(const struct autoscaling_options *o, bool on_demand,
                              const int64_t units[AUTOSCALING_KINDS]);

void autoscaling_init(struct autoscaling *a, const struct autoscaling_options *o,
                      const int64_t units[AUTOSCALING_KINDS]);
/* A period has ended. `consumed_mcu`: a second, its mean. True: `requested` has another throughput.
 * Then autoscaling_done must follow, before which no other throughput is wanted. */
bool autoscaling_evaluate(struct autoscaling *a, const int64_t consumed_mcu[AUTOSCALING_KINDS]);
/* The request is over; `units`: what the table has now. */
void autoscaling_done(struct autoscaling *a, const int64_t units[AUTOSCALING_KINDS]);
/* Someone else has changed the table's throughput. */
void autoscaling_changed(struct autoscaling *a, const int64_t units[AUTOSCALING_KINDS]);
