/* client_request.c - see client_request.h. Heads are written without printf: the simulator writes
 * one for each of its requests. */
#include "workload/client_request.h"

#include "host/address.h"

static const char authorization[] =
    "Authorization: AWS4-HMAC-SHA256 Credential=weir/20250101/us-east-1/dynamodb/aws4_request, "
    "SignedHeaders=host;x-amz-date;x-amz-target, "
    "Signature=0000000000000000000000000000000000000000000000000000000000000000\r\n"
    "X-Amz-Date: 20250101T000000Z\r\n";

const char *client_url_parse(void *url, const char *text)
{
    static const char scheme[] = "http://", expected[] = "http://HOST:PORT";
    const size_t scheme_size = sizeof scheme - 1;
    struct client_url *out = url;
    struct buffer host = {0};
    if (strncmp(text, scheme, scheme_size) != 0)
        return expected;
    struct slice rest = slice_of(text + scheme_size);
    if (rest.size > 0 && rest.data[rest.size - 1] == '/')
        rest.size--;
    bool ok = address_parse(rest, &host, &out->port) == STATUS_OK && host.size < sizeof out->host;
    if (ok)
        memcpy(out->host, host.data, host.size + 1);
    buffer_deinit(&host);
    return ok ? NULL : expected;
}

static void write_host(struct buffer *out, const char *host, uint16_t port)
{
    buffer_append_text(out, " HTTP/1.1\r\nHost: ");
    buffer_append_text(out, host);
    if (port != 0) {
        buffer_append_u8(out, ':');
        buffer_append_decimal(out, port);
    }
    buffer_append_text(out, "\r\n");
}

void client_write_head(struct buffer *out, const char *host, uint16_t port, const char *operation,
                       bool is_unsigned)
{
    buffer_append_text(out, "POST /");
    write_host(out, host, port);
    buffer_append_text(out, "Content-Type: application/x-amz-json-1.0\r\n"
                            "X-Amz-Target: ");
    if (strchr(operation, '.') == NULL)
        buffer_append_text(out, "DynamoDB_20120810.");
    buffer_append_text(out, operation);
    buffer_append_text(out, "\r\n");
    if (!is_unsigned)
        buffer_append_text(out, authorization);
    buffer_append_text(out, "Content-Length: ");
}

void client_write_length(struct buffer *out, size_t length)
{
    buffer_append_decimal(out, length);
    buffer_append_text(out, "\r\n\r\n");
}

void client_write_operation(struct buffer *out, const struct client_url *url, const char *operation,
                            struct slice body)
{
    client_write_head(out, url->host, url->port, operation, false);
    client_write_length(out, body.size);
    buffer_append_slice(out, body);
}

void client_write_plain(struct buffer *out, const struct client_url *url,
                        const char *method_and_path, const char *bearer)
{
    buffer_append_text(out, method_and_path);
    write_host(out, url->host, url->port);
    if (strncmp(method_and_path, "POST", 4) == 0)
        buffer_append_text(out, "Content-Type: application/json\r\nContent-Length: 0\r\n");
    if (bearer != NULL && *bearer != '\0')
        buffer_append_format(out, "Authorization: Bearer %s\r\n", bearer);
    buffer_append_text(out, "\r\n");
}

void client_write_json(struct buffer *out, const struct client_url *url,
                       const char *method_and_path, const char *bearer, struct slice body)
{
    buffer_append_text(out, method_and_path);
    write_host(out, url->host, url->port);
    buffer_append_text(out, "Content-Type: application/json\r\n");
    if (bearer != NULL && *bearer != '\0')
        buffer_append_format(out, "Authorization: Bearer %s\r\n", bearer);
    buffer_append_format(out, "Content-Length: %zu\r\n\r\n", body.size);
    buffer_append_slice(out, body);
}

void client_write_percent(struct buffer *out, struct slice text)
{
    static const char hex[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.size; i++) {
        const uint8_t byte = text.data[i];
        const bool plain = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
                           (byte >= 'a' && byte <= 'z') ||
                           (byte != 0 && strchr("-._~", byte) != NULL);
        if (plain) {
            buffer_append_u8(out, byte);
        } else {
            buffer_append_u8(out, '%');
            buffer_append_u8(out, (uint8_t)hex[byte >> 4]);
            buffer_append_u8(out, (uint8_t)hex[byte & 15]);
        }
    }
}
