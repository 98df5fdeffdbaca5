/* capacity.c - what partitions and nodes can serve by the settings. */
#include "engine/admission/capacity.h"

#include "base/settings/admission.h"

int64_t partition_max_mcu(const struct config *c, enum admit_kind kind)
{
    const struct settings_admission *s = config_admission(c);
    return (kind == ADMIT_READ ? s->partition_max_rcu : s->partition_max_wcu) * MCU_PER_UNIT;
}

int64_t partition_cap_mcu(const struct config *c, enum admit_kind kind, int64_t own_mcu)
{
    int64_t max = partition_max_mcu(c, kind);
    return own_mcu > 0 && own_mcu < max ? own_mcu : max;
}

int64_t node_capacity_mcu(const struct config *c, enum admit_kind kind)
{
    const struct settings_admission *s = config_admission(c);
    return (kind == ADMIT_READ ? s->node_rcu : s->node_wcu) * MCU_PER_UNIT;
}
