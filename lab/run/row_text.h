/* row_text.h - a file of rows beside the result of a run: CSV, packed by gzip in several members.
 *
 *   # weir-requests-1 {"scenario":"spikes","policy":"burst","point":"","seed":1,..}
 *
 * The first line has the format with its version, and the run.
 * Not here: the file (cmd/lab_rows.h). */
#pragma once

#include "lab/run/run.h"

struct row_text {
    enum lab_row_file file;
    const struct scenario *scenario; /* borrows */
    const struct lab_job *job;       /* borrows; its `rows` gets what is packed */
    struct buffer text, packed;
};

/* Writes the first line. row_text_end writes what is left, and frees. */
void row_text_begin(struct row_text *r, enum lab_row_file file, const struct lab_job *job,
                    const struct scenario *s);
void row_text_end(struct row_text *r);
/* Packs the text if there is enough. Call after each row. */
void row_text_pack(struct row_text *r);
/* Appends the name of the table that the measures give this number. */
void row_text_table(struct row_text *r, uint32_t number);
