/* Envelopes of other nodes into a node that holds nothing: their head, every kind of message in
 * them, how a cluster begins. What replicas make of messages that are well-formed is for the random
 * schedules (tests/property/raft_property.c). Seeds: tests/fuzz/seeds/envelope. */
#include "base/config.h"
#include "base/must.h"
#include "engine/node/node.h"
#include "sim/world/store_disk.h"

enum {
    SEGMENT = 8 << 20,
    LIFE = 4096 /* inputs; then a new node */
};

static struct config config;
static struct store_disk disk = {.map_initial_bytes = 1 << 20, .map_max_bytes = 1 << 30};
static struct node *node;
static struct instant now;
static int age;

static void open_node(void)
{
    struct buffer error = {0};
    config_init(&config, PROFILE_AWS);
    const struct node_options options = {.config = &config, .id = 2, .node_count = 3, .seed = 1};
    must(node_create(&options, store_create(store_disk_open(&disk), UINT64_MAX, 1), &error,
                     &node) == STATUS_OK);
    node_start(node, now, SEGMENT, 0);
    node_log_space(node, SEGMENT * UINT64_C(1000), 0);
}

static void take_effects(void)
{
    while (node_next_effect(node) != NULL)
        ;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (node == NULL)
        open_node();
    now.ns += NS_PER_MS;
    node_receive(node, now, slice_make(data, size));
    take_effects();
    node_end_turn(node, now);
    take_effects();
    const struct log_batch *batch = node_next_batch(node);
    if (batch != NULL) {
        node_log_written(node, now, batch->lsn, 0);
        take_effects();
    }
    if (++age == LIFE) {
        node_destroy(node);
        store_disk_wipe(&disk);
        node = NULL;
        age = 0;
    }
    return 0;
}
