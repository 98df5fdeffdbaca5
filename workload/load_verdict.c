/* load_verdict.c - errors of the service by their types, refusals with their reasons. */
#include "workload/load_verdict.h"

#include <ctype.h>
#include <stdio.h>

#include "base/printable.h"

static void copy_label(struct slice from, char out[LOAD_LABEL_SIZE_MAX])
{
    size_t size = 0;
    for (size_t i = 0; i < from.size && size < LOAD_LABEL_SIZE_MAX - 1; i++) {
        char c = (char)from.data[i];
        bool plain = isalnum(from.data[i]) || c == '.' || c == '-' || c == '_' || c == '#';
        out[size++] = plain ? c : '_';
    }
    out[size] = 0;
}

/* What the service says of the failure, as far as it has room. */
static void copy_message(const struct json_value *answer, char out[LOAD_MESSAGE_SIZE_MAX])
{
    struct json_value member = json_find(answer, "message");
    struct buffer text = {0};
    if (member.type == JSON_ABSENT)
        member = json_find(answer, "Message");
    buffer_append_printable(&text, json_text(&member));
    snprintf(out, LOAD_MESSAGE_SIZE_MAX, "%.*s", (int)text.size, (const char *)text.data);
    buffer_deinit(&text);
}

static bool is_throttling(const char *type)
{
    return strcmp(type, "ProvisionedThroughputExceededException") == 0 ||
           strcmp(type, "ThrottlingException") == 0 || strcmp(type, "RequestLimitExceeded") == 0;
}

static void collect_reasons(const struct json_value *answer, struct load_verdict *out)
{
    struct json_value reasons = json_find(answer, "ThrottlingReasons"), one;
    if (reasons.type == JSON_ABSENT)
        reasons = json_find(answer, "throttlingReasons");
    if (reasons.type != JSON_LIST)
        return;
    struct json_cursor c = json_elements(&reasons);
    while (out->reason_count < LOAD_REASONS_MAX && json_next_element(&c, &one)) {
        struct json_value reason = json_find(&one, "reason");
        if (reason.type == JSON_STRING)
            copy_label(json_string(&reason), out->reasons[out->reason_count++]);
    }
}

void load_verdict_of(int http_status, const struct json_value *answer, struct load_verdict *out)
{
    out->outcome = LOAD_ADMITTED;
    out->applied_unknown = false;
    out->error[0] = 0;
    out->reason_count = 0;
    out->message[0] = 0;
    if (http_status == 200)
        return;
    struct json_value member = json_find(answer, "__type");
    struct slice type = json_text(&member);
    struct slice behind = type;
    if (slice_cut(&behind, '#').size < type.size)
        type = behind;
    if (type.size > 0)
        copy_label(type, out->error);
    else
        snprintf(out->error, sizeof out->error, "http-%d", http_status);
    out->outcome = is_throttling(out->error) ? LOAD_REFUSED : LOAD_FAILED;
    out->applied_unknown = http_status >= 500;
    if (out->outcome == LOAD_REFUSED)
        collect_reasons(answer, out);
    else
        copy_message(answer, out->message);
}
