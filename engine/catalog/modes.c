/* modes.c - the throughput that a table may ask for, provisioned or on demand.
 *
 * Invariants, for reads and for writes:
 *   MODES-1  warm never falls. It is at least all that was ever provisioned or asked for as warm
 *            throughput, and twice the highest peak (up to the limit of a table). Once the table
 *            was on demand, it is at least what such tables start with.
 *   MODES-2  reserved never falls. For a table on demand it is at least the highest peak, half of
 *            warm at each switch to on demand, half of the warm throughput asked for while on
 *            demand, and on_demand_reserved_percent of warm at the last change.
 *
 * The controller makes enough partitions for warm (control/split.c).
 *
 * Documented of DynamoDB: what a new table starts with; twice the previous peak at once; after a
 * switch half of the most ever provisioned counts as the previous peak; four switches to on demand
 * in 24 hours, any number back; warm throughput only grows; four decreases of a table's throughput
 * in a UTC day, then one an hour. Ours: what counts as a peak, and what is reserved
 * (docs/decisions/0009). */
#include <time.h>

#include "engine/admission/share.h"
#include "engine/catalog/catalog_internal.h"

enum {
    MS_PER_S = 1000,
    MS_PER_DAY = 86400000
};

static const char *const kind_names[] = {[ADMIT_READ] = "read", [ADMIT_WRITE] = "write"};

static void raise_to(int64_t *value, int64_t min)
{
    *value = MAX(*value, min);
}

static bool modes_within(struct catalog *c, const char *kind, const char *what, int64_t requested,
                         int64_t max)
{
    if (requested > max)
        buffer_append_format(&c->text,
                             "The requested %s %s of %lld units is above the limit of %lld for a "
                             "table",
                             kind, what, (long long)requested, (long long)max);
    return requested <= max;
}

static bool check_limits(struct catalog *c, const struct catalog_command *command)
{
    const struct table_spec *spec = &command->spec;
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        const char *name = kind_names[kind];
        int64_t units = kind == ADMIT_READ ? spec->rcu : spec->wcu, max = command->table_max[kind];
        if (!modes_within(c, name, "capacity", units, max) ||
            !modes_within(c, name, "warm throughput", spec->warm[kind], max) ||
            !modes_within(c, name, "maximum", spec->maximum[kind], max))
            return false;
    }
    return true;
}

/* Notes the switch. False: there were too many; `c->text` says so. */
static bool switch_to_on_demand(struct catalog *c, const struct catalog_command *command,
                                struct table *t)
{
    int64_t max = command->on_demand_switches_max, now = command->wall_ms;
    max = MIN(max, ON_DEMAND_SWITCHES_MAX);
    int64_t earlier = max > 0 ? t->on_demand_ms[max - 1] : now;
    if (earlier != 0 && now - earlier < MS_PER_DAY) {
        buffer_append_format(&c->text,
                             "The table was switched to PAY_PER_REQUEST %lld times within 24 "
                             "hours, which is the limit; it can be switched again in %lld s",
                             (long long)max, (long long)((earlier + MS_PER_DAY - now) / 1000 + 1));
        return false;
    }
    for (int i = ON_DEMAND_SWITCHES_MAX - 1; i > 0; i--)
        t->on_demand_ms[i] = t->on_demand_ms[i - 1];
    t->on_demand_ms[0] = now;
    return true;
}

/* As the service writes dates: "Friday, October 9, 2026 at 1:21:34 AM Coordinated Universal
 * Time". */
static void append_date(struct buffer *out, int64_t wall_ms)
{
    static const char *const days[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                       "Thursday", "Friday", "Saturday"};
    static const char *const months[] = {"January",   "February", "March",    "April",
                                         "May",       "June",     "July",     "August",
                                         "September", "October",  "November", "December"};
    time_t s = wall_ms / MS_PER_S;
    struct tm d;
    must(gmtime_r(&s, &d) != NULL);
    buffer_append_format(out, "%s, %s %d, %d at %d:%02d:%02d %s Coordinated Universal Time",
                         days[d.tm_wday], months[d.tm_mon], d.tm_mday, d.tm_year + 1900,
                         d.tm_hour % 12 == 0 ? 12 : d.tm_hour % 12, d.tm_min, d.tm_sec,
                         d.tm_hour < 12 ? "AM" : "PM");
}

/* Whether the table's throughput may be lowered now. False: `c->text` tells when, in the service's
 * words. */
static bool may_decrease(struct catalog *c, const struct catalog_command *command,
                         const struct table *t)
{
    int64_t now = command->wall_ms, day = t->decreased_ms / MS_PER_DAY;
    int64_t next = t->decreased_ms + command->decrease_wait_s * MS_PER_S;
    if (next > (day + 1) * MS_PER_DAY)
        next = (day + 1) * MS_PER_DAY;
    if (now / MS_PER_DAY != day || t->decreases_today < command->decreases_max || now >= next)
        return true;
    buffer_append_format(&c->text,
                         "Subscriber limit exceeded: Provisioned throughput decreases are limited "
                         "within a given UTC day. After the first %lld decreases, each subsequent "
                         "decrease in the same UTC day can be performed at most once every %lld "
                         "seconds. Number of decreases today: %u. Last decrease at ",
                         (long long)command->decreases_max, (long long)command->decrease_wait_s,
                         t->decreases_today);
    append_date(&c->text, t->decreased_ms);
    buffer_append_text(&c->text, ". Next decrease can be made at ");
    append_date(&c->text, next);
    return false;
}

static void change_on_demand(const struct catalog_command *command, struct table *t,
                             enum admit_kind kind, bool begins)
{
    const struct table_spec *spec = &command->spec;
    int64_t percent = command->on_demand_reserved_percent;
    if (begins)
        raise_to(&t->reserved[kind], t->warm[kind] / 2);
    raise_to(&t->warm[kind], command->on_demand[kind]);
    raise_to(&t->warm[kind], spec->warm[kind]);
    raise_to(&t->reserved[kind], spec->warm[kind] / 2);
    raise_to(&t->reserved[kind], (t->warm[kind] * percent + 99) / 100);
    if (spec->maximum[kind] != 0)
        t->maximum[kind] = spec->maximum[kind] == MAXIMUM_NONE ? 0 : spec->maximum[kind];
}

/* False: the decrease is refused. */
static bool note_times(struct catalog *c, const struct catalog_command *command, struct table *t)
{
    const struct table_spec *spec = &command->spec;
    bool decrease = spec->rcu < t->rcu || spec->wcu < t->wcu;
    bool increase = spec->rcu > t->rcu || spec->wcu > t->wcu;
    if (decrease && !may_decrease(c, command, t))
        return false;
    if (increase)
        t->increased_ms = command->wall_ms;
    if (decrease) {
        bool same_day = t->decreased_ms / MS_PER_DAY == command->wall_ms / MS_PER_DAY;
        t->decreases_today = same_day ? t->decreases_today + 1 : 1;
        t->decreased_ms = command->wall_ms;
    }
    return true;
}

bool catalog_change_throughput(struct catalog *c, const struct catalog_command *command,
                               struct table *t)
{
    const struct table_spec *spec = &command->spec;
    bool is_new = t->billing == 0, on_demand = spec->billing == BILLING_ON_DEMAND;
    bool begins = on_demand && t->billing != BILLING_ON_DEMAND;
    if (!check_limits(c, command) || (begins && !is_new && !switch_to_on_demand(c, command, t)))
        return false;
    if (!is_new && !on_demand && !note_times(c, command, t))
        return false;
    if (begins)
        t->on_demand_since_ms = command->wall_ms;
    t->version++;
    t->billing = spec->billing;
    t->rcu = spec->rcu;
    t->wcu = spec->wcu;
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        if (on_demand) {
            change_on_demand(command, t, kind, begins);
            continue;
        }
        raise_to(&t->warm[kind], kind == ADMIT_READ ? t->rcu : t->wcu);
        raise_to(&t->warm[kind], spec->warm[kind]);
        t->maximum[kind] = 0;
    }
    uint32_t needed = catalog_partitions_needed(command, t);
    if (needed > command->table_partitions_max)
        buffer_append_format(&c->text, "The table would need %u partitions, the limit is %lld",
                             needed, (long long)command->table_partitions_max);
    return needed <= command->table_partitions_max;
}

uint32_t catalog_partitions_needed(const struct catalog_command *command, const struct table *t)
{
    return share_partitions_within(command->partition_max_mcu[ADMIT_READ] / MCU_PER_UNIT,
                                   command->partition_max_mcu[ADMIT_WRITE] / MCU_PER_UNIT,
                                   t->warm[ADMIT_READ], t->warm[ADMIT_WRITE]);
}

void catalog_reach_peak(const struct catalog_command *command, struct table *t,
                        const int64_t peak[ADMIT_KINDS])
{
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        int64_t max = command->table_max[kind];
        raise_to(&t->reserved[kind], peak[kind]);
        raise_to(&t->warm[kind], peak[kind] * 2 < max ? peak[kind] * 2 : max);
    }
}
