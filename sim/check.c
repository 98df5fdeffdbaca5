#include "sim/check.h"

static bool check_node(struct node_process *p, uint32_t id, struct buffer *why)
{
    struct node *n = node_process_node(p);
    struct node_verification v;
    if (n == NULL || node_is_stopped(n)) {
        buffer_append_format(why, "node %u is %s though all is calm\n", id,
                             n == NULL ? "down" : "stopped");
        return false;
    }
    if (node_verify(n, &v) != STATUS_OK) {
        buffer_append_format(why, "node %u cannot be verified\n", id);
        return false;
    }
    if (v.damaged == 0 && v.miscounted == 0)
        return true;
    buffer_append_format(why,
                         "node %u holds %lld damaged items, and %u partitions are miscounted\n", id,
                         (long long)v.damaged, v.miscounted);
    return false;
}

bool check_nodes(struct node_process *const *nodes, uint32_t count, struct buffer *why)
{
    for (uint32_t id = 1; id <= count; id++) {
        if (!check_node(nodes[id], id, why))
            return false;
    }
    return true;
}
