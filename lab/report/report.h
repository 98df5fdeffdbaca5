/* report.h - results of scenarios as one HTML page that needs nothing else: data, style, scripts
 * and chart libraries are in it.
 *
 * The page draws its figures itself when it is opened: figures.js draws each figure, chart.js has
 * what all figures share, page.js puts texts, tables and figures together. Opened with #svg, the
 * page holds each figure as a file instead: see lab_report_next_file.
 *
 * Not here: what a figure shows (figures.js), files and browsers (cmd/lab_report.c). */
#pragma once

#include "base/buffer.h"

/* False: weir was built without the chart libraries. */
bool lab_report_can_draw(void);

struct lab_report {
    struct buffer *out;                 /* borrows */
    uint64_t left_out;                  /* runs of the scenario so far */
    bool another_run, another_scenario; /* a comma comes first */
};

/* Call begin; then for each scenario begin_scenario, any number of runs and end_scenario; then end.
 * All JSON must be valid. */
void lab_report_begin(struct lab_report *r, struct buffer *out, const char *version);
/* `result`: of lab_result_json. */
void lab_report_begin_scenario(struct lab_report *r, struct slice result);
/* `run`: of lab_run, with series. */
void lab_report_run(struct lab_report *r, struct slice run);
/* A run with series that the page does not hold, because the page would be too large. */
void lab_report_leave_out(struct lab_report *r);
void lab_report_end_scenario(struct lab_report *r);
void lab_report_end(struct lab_report *r);

/* Where the files are in a page that a browser has opened with #svg: an empty slice if the page did
 * not draw them. */
struct slice lab_report_files(struct slice page);
/* The next file. `name` lends from the page, `bytes` is set anew. STATUS_NOT_FOUND: there is none
 * left. STATUS_MALFORMED: not a list of files; a name has a-z, 0-9, -, _ and . only. */
enum status lab_report_next_file(struct slice *files, struct slice *name, struct buffer *bytes);
