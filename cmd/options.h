/* options.h - options shared by the daemons' command lines. */
#pragma once

#include "base/command_line.h"
#include "router/http/region.h"
#include "server/host/admin.h"
#include "server/host/daemon.h"
#include "server/host/policy_file.h"
#include "workload/client_request.h"

struct options {
    struct config config;
    const char *data; /* NULL: not given */
    bool in_memory;
    bool log_requests;
    const char *record;      /* file to record requests in; NULL: none */
    const char *record_salt; /* keys are hashed with it; NULL: keys as they are */
    const char *region;      /* of the endpoint; NULL: that of each request */
    const char *account;     /* of the endpoint; NULL: 000000000000 */
    bool verbose;
    bool is_local;       /* read_your_writes and show_keys have the defaults of weir local */
    bool replicas_given; /* by --replicas */
    const char *address; /* to listen on; may point to `listen` */
    uint16_t port;
    uint32_t nodes;
    uint32_t id;
    char listen[64]; /* value of --listen, to which `address` points */
    bool describe;   /* --config help */
    char admin[64];  /* address of the admin listener, from --admin; empty: not given */
    uint16_t admin_port;
    const char *admin_token; /* file with the token; NULL: none */
    struct peer_list peers;  /* NUMBER=ADDRESS:PORT,.. */
    struct peer_list gac;    /* servers of global admission control */
    bool faults;             /* open the admin port (server/host/faults.h) */
    uint16_t faults_port;
    bool json;
    struct policies policies; /* of --policy; `config` points here */
};

/* ---- rows of the daemons' tables, without braces; the first ones without a help text ---- */

#define OPTIONS_MEMBER(member) FIELD_MEMBER(struct options, member)

#define OPTIONS_DATA   "data", FIELD_TEXT, OPTIONS_MEMBER(data), "DIR"
#define OPTIONS_ID     "id", FIELD_INTEGER, OPTIONS_MEMBER(id), "N", .min = 1, .max = NODES_LIMIT
#define OPTIONS_PORT   "port", FIELD_INTEGER, OPTIONS_MEMBER(port), "N", .max = UINT16_MAX
#define OPTIONS_LISTEN "listen", FIELD_PARSED, .form = "A:P", .parse = options_parse_listen
#define OPTIONS_PEERS \
    "peers", FIELD_PARSED, OPTIONS_MEMBER(peers), "LIST", .parse = options_parse_peers
#define OPTIONS_GAC "gac", FIELD_PARSED, OPTIONS_MEMBER(gac), "LIST", .parse = options_parse_peers
#define OPTIONS_FAULTS                                                                   \
    "faults", FIELD_PARSED, .form = "PORT", .parse = options_parse_faults,               \
                            .help = "For tests: accept commands on 127.0.0.1:PORT that " \
                                    "break links, disk and clock. 0: any free port."
#define OPTIONS_LOG                                                                           \
    "log", FIELD_PARSED,                                                                      \
        .form = "requests", .parse = options_parse_log,                                       \
        .help = "Print a line on standard error for each request: time, client, request id, " \
                "operation, table/partition, key, status, units, milliseconds, error and reasons."
#define OPTIONS_RECORD                                                                          \
    "record", FIELD_TEXT, OPTIONS_MEMBER(record), "FILE",                                       \
        .initial = "none",                                                                      \
        .help =                                                                                 \
            "Record requests: time, table, kind, key, size and outcome, a line for each item. " \
            "`weir lab replay FILE` replays the recording. An existing file is kept: the "      \
            "recording goes to FILE.1, FILE.2 and so on. On a full disk the recording ends."
#define OPTIONS_RECORD_SALT                                                                     \
    "record-salt", FIELD_TEXT, OPTIONS_MEMBER(record_salt), "TEXT",                             \
        .initial = "none",                                                                      \
        .help =                                                                                 \
            "Record hashes instead of keys. Equal keys have equal hashes under the same TEXT, " \
            "so all routers need the same TEXT. Names of tables are not hashed."
#define OPTIONS_REGION                                                                           \
    "region", FIELD_TEXT, OPTIONS_MEMBER(region), "NAME",                                        \
        .valid = region_is_valid, .expected = "1 to 32 characters of a-z, 0-9 and -",            \
        .initial = "the region that the request is signed for, or us-east-1",                    \
        .help = "The region in ARNs and in the records of streams. Requests of all regions are " \
                "served."
#define OPTIONS_ACCOUNT                                                                        \
    "account", FIELD_TEXT, OPTIONS_MEMBER(account), "N",                                       \
        .valid = options_account_is_valid, .expected = "12 digits", .initial = "000000000000", \
        .help = "The account in ARNs, 12 digits. Requests of all accounts are served."
#define OPTIONS_VERBOSE                                                                        \
    "verbose", FIELD_FLAG, OPTIONS_MEMBER(verbose),                                            \
        .help = "Print the actions of nodes on standard error, one per line: leaders, "        \
                "partitions, splits, snapshots, checkpoints, commands of the catalog. Once a " \
                "second, print the number of refused requests."
#define OPTIONS_ADMIN                                                                            \
    "admin", FIELD_PARSED,                                                                       \
        .form = "A:P", .parse = options_parse_admin,                                             \
        .initial = "127.0.0.1 and the port 600 above the endpoint's",                            \
        .help = "The address of the admin listener, for requests that change the cluster: POST " \
                "/weir/drain, /weir/split, /weir/unshard."
#define OPTIONS_ADMIN_TOKEN                                                                  \
    "admin-token", FIELD_TEXT, OPTIONS_MEMBER(admin_token), "FILE",                          \
        .help = "The first line of FILE is the bearer token that admin requests must have. " \
                "Needed if --admin is not a loopback address."

const char *options_parse_listen(void *target, const char *value);
bool options_account_is_valid(struct slice account);
const char *options_parse_peers(void *list, const char *text); /* struct peer_list */
const char *options_parse_faults(void *target, const char *value);
const char *options_parse_log(void *target, const char *value);
const char *options_parse_admin(void *target, const char *value);
const char *options_take_replicas(void *target, const char *value, struct buffer *error);

/* Rows of commands that call an admin listener: members `url` and `token` of the command. */
/* clang-format off */
#define OPTIONS_ADMIN_CLIENT(type)                                                                 \
    {"url", FIELD_PARSED, FIELD_MEMBER(type, url), "URL", .parse = options_parse_admin_url,        \
     .initial = "http://127.0.0.1:8000",                                                           \
     .help = "A router of the cluster. Its admin listener is expected 600 ports above."},          \
    {"admin", FIELD_PARSED, FIELD_MEMBER(type, url), "URL", .parse = client_url_parse,             \
     .help = "The admin listener, if it is not 600 ports above --url."},                           \
    {"admin-token", FIELD_CUSTOM, FIELD_MEMBER(type, token), "FILE", .take = admin_take_token,     \
     .help = "The file with the token of the admin listener, if it needs one."}
/* clang-format on */

/* Finds the process --id in the list of `option`. Its address there is the default of --listen:
 * `address` is NULL before. STATUS_MALFORMED: `error` gets the fault of --id or of the list. */
enum status options_place(struct options *o, const struct peer_list *list, const char *option,
                          struct buffer *error);

/* client_url_parse for a router; the URL is that of its admin listener. */
const char *options_parse_admin_url(void *url, const char *text);

/* Reads `l`, whose target is `o`, and the options of all daemons: --profile, --config and --set.
 * `o` holds the defaults. Returns as usage_parse does; 0 also after `--config help`. */
int options_parse(struct options *o, const struct command_line *l, int argc, char **argv);

/* For daemon_open_loop: sets a bool. */
void options_stop(void *stopping);

/* The address and token of the admin listener. STATUS_MALFORMED: `error` gets the reason. */
enum status options_admin(const struct options *o, struct admin *out, struct buffer *error);

/* One line with the profile in force and its meaning. */
const char *options_profile_meaning(enum profile profile);
