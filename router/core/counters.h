/* counters.h - counters: items of a hot key whose additions are spread over cells.
 *
 * A counter has a cell in each shard of its key: an item with the same key. Its numbers are the
 * sums of the cells' numbers; any other attribute is that of the first cell that has it. An
 * addition goes to one cell, which a token chooses. The token is that of the client's request, so a
 * request that an SDK sends again finds the cell, and counts once. When the key has grown since,
 * the token chooses another cell: then the cells that it chose before are asked first whether they
 * know the token.
 *
 * While a key's items are counters, other writes are refused: they would have to change all cells
 * at once. `weir unshard` makes ordinary items of them: then cells are added to cell 0, one by one.
 * Until all are, a read could miss one, or meet it twice: so reads are refused, and additions go
 * on. */
#pragma once

#include "engine/transaction/transaction.h"
#include "router/core/items.h"

/* What is said of all other writes. */
extern const char counter_takes_only[];

/* Gives the update a token, if a cell can take it, and if the item may be a counter, now or soon.
 * */
void counter_name_update(struct call *c, const struct table *t, const struct item_request *q,
                         struct request *update);

/* The cell that the token chooses of so many. */
uint32_t counter_cell(struct slice token, uint32_t cells);
/* The other cells that it chose of late, by other numbers of cells, each once. Returns how many. */
uint32_t counter_previous_cells(const struct sharded_key *k, struct slice token,
                                uint32_t out[KEY_SHARDS_MAX]);

/* What is said of reads while the key shrinks. */
extern const char counter_shrinks[];

/* Appends the counter that the cells are together: items with the same key. Anything but NUMBER_OK:
 * a sum is no number, and nothing is appended. */
enum number_error counter_sum(struct buffer *out, const struct table *t, const struct slice cells[],
                              uint32_t count);
