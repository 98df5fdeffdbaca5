/* result_uncalled.c - policies that no run called: their rows say nothing of them. */
#include "lab/run/result_internal.h"
#include "router/json/json_writer.h"

/* Whether the line is one of the text's. */
static bool text_has_line(struct slice text, struct slice line)
{
    while (text.size > 0) {
        if (slice_equal(slice_cut(&text, '\n'), line))
            return true;
    }
    return false;
}

/* The next policy of the list that no run of the row called; no bytes: there is none. */
static struct slice next_uncalled(const struct lab_result *r, uint32_t policy, uint32_t point,
                                  struct slice *list)
{
    while (list->size > 0) {
        const struct slice line = slice_cut(list, '\n');
        bool called = line.size == 0;
        for (uint32_t i = 0; i < r->run_count && !called; i++) {
            const struct lab_run_values *run = &r->runs[i];
            called =
                run->policy == policy && run->point == point && !text_has_line(run->uncalled, line);
        }
        if (!called)
            return line;
    }
    return slice_make(NULL, 0);
}

/* The list of the row's first run: a policy that is not in it was called. */
static struct slice first_list(const struct lab_result *r, uint32_t policy, uint32_t point)
{
    for (uint32_t i = 0; i < r->run_count; i++) {
        if (r->runs[i].policy == policy && r->runs[i].point == point)
            return r->runs[i].uncalled;
    }
    return slice_make(NULL, 0);
}

struct slice lab_result_uncalled(const struct lab_result *r, uint32_t policy, uint32_t point)
{
    struct slice list = first_list(r, policy, point);
    return next_uncalled(r, policy, point, &list);
}

void lab_result_print_uncalled(const struct lab_result *r, uint32_t policy, struct buffer *out)
{
    for (uint32_t point = 0; point < r->point_count; point++) {
        struct slice list = first_list(r, policy, point), never;
        while ((never = next_uncalled(r, policy, point, &list)).size > 0)
            buffer_append_format(out,
                                 "%.*s of %s was never called in scenario %s%s%.*s: the row "
                                 "shows nothing of it\n",
                                 TEXT_OF(never), r->scenario->policies[policy].name,
                                 r->scenario->name, r->points[point].size > 0 ? " at " : "",
                                 TEXT_OF(r->points[point]));
    }
}

void lab_result_write_uncalled(const struct lab_result *r, struct buffer *out)
{
    json_member_open(out, "uncalled", '[');
    for (uint32_t point = 0; point < r->point_count; point++) {
        for (uint32_t p = 0; p < r->scenario->policy_count; p++) {
            struct slice list = first_list(r, p, point), never;
            while ((never = next_uncalled(r, p, point, &list)).size > 0) {
                json_write_open(out, '{');
                json_member_string(out, "point", r->points[point]);
                json_member_text(out, "policy", r->scenario->policies[p].name);
                json_member_string(out, "never", never);
                json_write_close(out, '}');
            }
        }
    }
    json_write_close(out, ']');
}
