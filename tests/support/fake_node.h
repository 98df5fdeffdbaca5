/* fake_node.h - the part of the fake cluster that is a node. For fake_cluster.c only. */
#pragma once

#include "tests/support/fake_cluster.h"

/* Answers a request for a table's data. `body` and `costs` have what the reply lends. */
void fake_answer_data(struct fake_cluster *f, const struct request *q, uint32_t node,
                      struct reply *r, struct buffer *body, struct buffer *costs);
