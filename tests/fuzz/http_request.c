/* http_request.c - bytes from a client into a router with a fake cluster.
 *
 * The first byte says in how large pieces the rest arrives, so that every parser state is entered
 * in the middle, and, by its highest bit, at which listener. The same input is also given whole,
 * where plain requests are read directly and not by llhttp: the answers must be the same bytes. */
#include <stdlib.h>

#include "base/must.h"
#include "base/settings/http.h"
#include "tests/support/fake_cluster.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct buffer run(struct slice bytes, size_t piece, bool admin)
{
    struct fake_cluster f;
    struct buffer received = {0};
    fake_init(&f);
    config_edit_http(&f.config)->http_body_max_bytes = 64 * KIB;
    config_edit_http(&f.config)->http_header_max_bytes = 4 * KIB;
    f.on_loopback = true; /* pages of this machine are let in */
    fake_start(&f);
    fake_table(&f, "users", "id", ATTR_STRING, NULL, 0, 2);
    fake_table(&f, "events", "who", ATTR_STRING, "n", ATTR_NUMBER, 3);
    if (admin)
        fake_open_admin(&f, 1);
    else
        fake_open(&f, 1);
    for (size_t at = 0; at < bytes.size && !f.clients[1].closed; at += piece) {
        size_t left = bytes.size - at;
        fake_send(&f, 1, slice_make(bytes.data + at, left < piece ? left : piece));
    }
    buffer_append_slice(&received, buffer_slice(&f.clients[1].received));
    fake_advance_ms(&f, config_http(&f.config)->http_request_ms);
    fake_deinit(&f);
    return received;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct slice bytes = slice_make(data + 1, size - 1);
    bool admin = data[0] >= 0x80;
    struct buffer whole = run(bytes, bytes.size, admin);
    struct buffer pieces = run(bytes, (size_t)(data[0] & 0x7F) + 1, admin);
    bool same = slice_equal(buffer_slice(&whole), buffer_slice(&pieces));
    /* The status page tells how many bytes the router holds. */
    must(same || memmem(bytes.data, bytes.size, "/weir/", 6) != NULL);
    buffer_deinit(&whole);
    buffer_deinit(&pieces);
    return 0;
}
