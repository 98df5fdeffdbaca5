/* request_log.c - one line a request. */
#include "server/host/request_log.h"

#include <stdio.h>
#include <time.h>

#include "base/printable.h"
#include "host/connection.h"

void request_log(void *context, const struct router_answer *a)
{
    struct connection *client = loop_connection(context, a->connection);
    char peer[PEER_TEXT_MAX] = "-";
    if (client != NULL)
        connection_peer(client, peer);
    struct buffer line = {0};
    struct timespec now;
    struct tm utc;
    char when[32] = "";
    clock_gettime(CLOCK_REALTIME, &now);
    if (gmtime_r(&now.tv_sec, &utc) != NULL)
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &utc);
    buffer_append_format(&line, "%s.%03ldZ %s %s %s ", when, now.tv_nsec / 1000000, peer,
                         a->request_id, a->operation);
    if (a->table.size > 0)
        buffer_append_printable(&line, a->table);
    else
        buffer_append_text(&line, "-");
    if (a->partition != 0)
        buffer_append_format(&line, "/%u", a->partition);
    if (a->key.size > 0) {
        buffer_append_text(&line, " (");
        buffer_append_printable(&line, a->key);
        buffer_append_text(&line, ")");
    }
    buffer_append_format(&line, " %d %g units %.2f ms", a->http_status,
                         (double)a->consumed_mcu / MCU_PER_UNIT, (double)a->duration.ns / 1e6);
    if (a->error[0] != '\0') {
        buffer_append_format(&line, " %s ", a->error);
        buffer_append_printable(&line, a->text);
        buffer_append_text(&line, a->more.size > 0 ? " " : "");
        buffer_append_printable(&line, a->more);
    }
    buffer_append_u8(&line, '\n');
    fwrite(line.data, 1, line.size, stderr);
    buffer_deinit(&line);
}
