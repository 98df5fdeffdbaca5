/* share.c - divides a table's throughput among its partitions. */
#include "engine/admission/share.h"

#include "base/settings/admission.h"
#include "engine/admission/verdict.h"

int64_t share_equal_mcu(int64_t total_units, uint32_t partitions, uint32_t index)
{
    must(total_units >= 0);
    must(total_units <= INT64_MAX / MCU_PER_UNIT);
    must(index < partitions);
    int64_t total_mcu = total_units * MCU_PER_UNIT;
    return total_mcu / partitions + (index < total_mcu % partitions ? 1 : 0);
}

static int64_t divided_up(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

uint32_t share_partitions_within(int64_t rcu_max, int64_t wcu_max, int64_t rcu, int64_t wcu)
{
    must(rcu >= 0);
    must(wcu >= 0);
    int64_t reads = divided_up(rcu, rcu_max);
    int64_t writes = divided_up(wcu, wcu_max);
    int64_t max = MAX(reads, writes);
    must(max <= UINT32_MAX);
    return max == 0 ? 1 : (uint32_t)max;
}

uint32_t share_partitions_initial(const struct config *config, int64_t rcu, int64_t wcu)
{
    const struct settings_admission *s = config_admission(config);
    return share_partitions_within(s->partition_max_rcu, s->partition_max_wcu, rcu, wcu);
}
