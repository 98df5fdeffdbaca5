/* request_id.c - any text: an id that is found lies inside of it, and is found by itself. */
#include "router/core/request_id.h"

#include "base/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct slice text = slice_make(data, size);
    const struct slice id = request_id_find(text);
    struct request_id_parts parts;
    if (id.size == 0)
        return 0;
    must(id.data >= data);
    must(id.data + id.size <= data + size);
    must(request_id_read(id, &parts));
    must(parts.version < 4 && parts.router <= REQUEST_ID_ROUTER_MAX && parts.count < 512);
    must(slice_equal(request_id_find(id), id));
    request_id_number(id);
    return 0;
}
