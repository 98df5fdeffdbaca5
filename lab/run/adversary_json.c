/* adversary_json.c - what adversaries break, as JSON. */
#include "lab/run/adversary.h"
#include "lab/run/result_internal.h"
#include "router/json/json_writer.h"

static void write_expectation(const struct lab_result *r, uint32_t expectation, bool breaks,
                              struct buffer *out)
{
    struct buffer text = {0};
    lab_result_print_expectation(r, expectation, &text);
    json_write_open(out, '{');
    json_member_string(out, "expectation", buffer_slice(&text));
    json_member_bool(out, "breaks", breaks);
    json_write_close(out, '}');
    buffer_deinit(&text);
}

static void write_verdict(const struct lab_result *r, const struct adversary_verdict *v,
                          struct buffer *out)
{
    const struct scenario *s = r->scenario;
    json_write_open(out, '{');
    json_member_text(out, "name", s->policies[v->policy].name);
    json_member_integer(out, "expected", v->expected);
    json_member_integer(out, "broken", v->broken);
    json_member_bool(out, "called", v->was_called);
    json_member_open(out, "expectations", '[');
    for (uint32_t i = 0; i < s->expectation_count; i++) {
        const char *of = s->expectations[i].policy;
        if ((of == NULL || strcmp(of, s->policies[0].name) == 0) &&
            lab_result_can_evaluate(r, &s->expectations[i]))
            write_expectation(r, i, v->breaks[i], out);
    }
    json_write_close(out, ']');
    json_write_close(out, '}');
}

void adversary_write_json(const struct lab_result *r, const struct adversary_report *report,
                          struct buffer *out)
{
    bool all = true;
    json_write_open(out, '{');
    json_member_text(out, "scenario", r->scenario->name);
    json_member_text(out, "policy", r->scenario->policies[0].name);
    json_member_text(out, "fidelity", lab_fidelity_names[r->fidelity]);
    json_member_open(out, "adversaries", '[');
    for (uint32_t i = 0; i < ADVERSARIES; i++) {
        const struct adversary_verdict *v = &report->of[i];
        if (v->policy == UINT32_MAX)
            continue;
        write_verdict(r, v, out);
        all &= v->broken > 0 && v->was_called;
    }
    json_write_close(out, ']');
    json_member_bool(out, "all_break", all);
    json_write_close(out, '}');
    buffer_append_text(out, "\n");
}
