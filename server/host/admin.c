/* admin.c - the address of the admin listener, and its token. */
#include "server/host/admin.h"

#include <errno.h>
#include <stdio.h>

enum {
    TOKEN_MIN = 16
};

uint16_t admin_port_of(uint16_t public_port)
{
    if (public_port == 0 || public_port > UINT16_MAX - ADMIN_PORT_OFFSET)
        return 0;
    return (uint16_t)(public_port + ADMIN_PORT_OFFSET);
}

void admin_print_port(const char *program, uint16_t public_port, uint16_t admin_port)
{
    if (public_port > UINT16_MAX - ADMIN_PORT_OFFSET && admin_port_of(public_port) != admin_port)
        fprintf(stderr,
                "weir %s: port %d, %d above %u, does not exist: the admin listener has port %u. "
                "Choose a port with --admin ADDRESS:PORT\n",
                program, public_port + ADMIN_PORT_OFFSET, ADMIN_PORT_OFFSET, public_port,
                admin_port);
}

static bool token_valid(const char *token)
{
    size_t size = strlen(token);
    for (size_t i = 0; i < size; i++) {
        if (token[i] <= ' ' || token[i] > '~')
            return false;
    }
    return size >= TOKEN_MIN;
}

const char *admin_take_token(void *token, const char *path, struct buffer *error)
{
    char line[HTTP_BEARER_MAX + 2] = "";
    FILE *f = fopen(path, "r");
    if (f == NULL) {
        buffer_append_format(error, "cannot open --admin-token %s: %s", path, strerror(errno));
        return "";
    }
    bool read = fgets(line, sizeof line, f) != NULL;
    fclose(f);
    line[strcspn(line, "\r\n")] = '\0';
    if (!read || strlen(line) >= HTTP_BEARER_MAX || !token_valid(line)) {
        buffer_append_format(error,
                             "--admin-token %s: the first line must be a token of %d to %d "
                             "printable characters without blanks",
                             path, TOKEN_MIN, HTTP_BEARER_MAX - 1);
        return "";
    }
    memcpy(token, line, strlen(line) + 1);
    return NULL;
}

enum status admin_of(const struct admin_options *w, struct admin *out, struct buffer *error)
{
    *out = (struct admin){
        .at = {.address = "127.0.0.1", .port = admin_port_of(w->public_port), .option = "--admin"}};
    if (w->address[0] != '\0') {
        out->at.address = w->address;
        out->at.port = w->port;
    }
    if (w->token_file != NULL)
        return admin_take_token(out->token, w->token_file, error) == NULL ? STATUS_OK
                                                                          : STATUS_MALFORMED;
    if (address_is_loopback(out->at.address))
        return STATUS_OK;
    return buffer_explain(error, STATUS_MALFORMED,
                          "--admin %s is not a loopback address: other machines could change the "
                          "cluster. Name a file with a token: --admin-token FILE",
                          out->at.address);
}
