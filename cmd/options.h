/* options.h - options shared by the daemons' command lines. */
#pragma once

#include "base/command_line.h"
#include "server/host/admin.h"
#include "server/host/daemon.h"
#include "server/host/policy_file.h"

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
    bool reads_own_writes; /* the default of the setting read_your_writes, under every profile */
    bool replicas_given;   /* by --replicas */
    const char *address;   /* to listen on; may point to `listen` */
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

#define OPTIONS_MEMBER(member) OPTION_MEMBER(struct options, member)

#define OPTIONS_DATA   "data", "DIR", OPTION_TEXT, OPTIONS_MEMBER(data)
#define OPTIONS_ID     "id", "N", OPTION_INTEGER, OPTIONS_MEMBER(id), .min = 1, .max = NODES_LIMIT
#define OPTIONS_PORT   "port", "N", OPTION_INTEGER, OPTIONS_MEMBER(port), .max = UINT16_MAX
#define OPTIONS_LISTEN "listen", "A:P", OPTION_CUSTOM, .take = options_take_listen
#define OPTIONS_PEERS  "peers", "LIST", OPTION_CUSTOM, .take = options_take_peers
#define OPTIONS_GAC    "gac", "LIST", OPTION_CUSTOM, .take = options_take_gac
#define OPTIONS_FAULTS                                                                            \
    "faults", "PORT", OPTION_CUSTOM, .take = options_take_faults,                                 \
                                     .help = "For tests: accept commands on 127.0.0.1:PORT that " \
                                             "break links, disk and clock. 0: any free port."
#define OPTIONS_LOG                                                                           \
    "log", "requests", OPTION_CUSTOM,                                                         \
        .take = options_take_log,                                                             \
        .help = "Print a line on standard error for each request: time, client, request id, " \
                "operation, table/partition, key, status, units, milliseconds, error and reasons."
#define OPTIONS_RECORD                                                                          \
    "record", "FILE", OPTION_TEXT, OPTIONS_MEMBER(record),                                      \
        .initial = "none",                                                                      \
        .help =                                                                                 \
            "Record requests: time, table, kind, key, size and outcome, a line for each item. " \
            "`weir lab replay FILE` replays the recording. An existing file is kept: the "      \
            "recording goes to FILE.1, FILE.2 and so on. On a full disk the recording ends."
#define OPTIONS_RECORD_SALT                                                                     \
    "record-salt", "TEXT", OPTION_TEXT, OPTIONS_MEMBER(record_salt),                            \
        .initial = "none",                                                                      \
        .help =                                                                                 \
            "Record hashes instead of keys. Equal keys have equal hashes under the same TEXT, " \
            "so all routers need the same TEXT. Names of tables are not hashed."
#define OPTIONS_REGION                                                                           \
    "region", "NAME", OPTION_CUSTOM,                                                             \
        .take = options_take_region,                                                             \
        .initial = "the region that the request is signed for, or us-east-1",                    \
        .help = "The region in ARNs and in the records of streams. Requests of all regions are " \
                "served."
#define OPTIONS_ACCOUNT                                          \
    "account", "N", OPTION_CUSTOM,                               \
        .take = options_take_account, .initial = "000000000000", \
        .help = "The account in ARNs, 12 digits. Requests of all accounts are served."
#define OPTIONS_VERBOSE                                                                        \
    "verbose", NULL, OPTION_FLAG, OPTIONS_MEMBER(verbose),                                     \
        .help = "Print the actions of nodes on standard error, one per line: leaders, "        \
                "partitions, splits, snapshots, checkpoints, commands of the catalog. Once a " \
                "second, print the number of refused requests."
#define OPTIONS_ADMIN                                                                             \
    "admin", "A:P", OPTION_CUSTOM,                                                                \
        .take = options_take_admin, .initial = "127.0.0.1 and the port 600 above the endpoint's", \
        .help = "The address of the admin listener, for requests that change the cluster: POST "  \
                "/weir/drain, /weir/split, /weir/unshard."
#define OPTIONS_ADMIN_TOKEN                                                                  \
    "admin-token", "FILE", OPTION_TEXT, OPTIONS_MEMBER(admin_token),                         \
        .help = "The first line of FILE is the bearer token that admin requests must have. " \
                "Needed if --admin is not a loopback address."

const char *options_take_listen(void *target, const char *value, struct buffer *error);
const char *options_take_peers(void *target, const char *value, struct buffer *error);
const char *options_take_gac(void *target, const char *value, struct buffer *error);
const char *options_take_faults(void *target, const char *value, struct buffer *error);
const char *options_take_region(void *target, const char *value, struct buffer *error);
const char *options_take_account(void *target, const char *value, struct buffer *error);
const char *options_take_log(void *target, const char *value, struct buffer *error);
const char *options_take_admin(void *target, const char *value, struct buffer *error);
const char *options_take_replicas(void *target, const char *value, struct buffer *error);

/* Reads `l`, whose target is `o`, and the options of all daemons: --profile, --config and --set.
 * `o` holds the defaults. Returns as usage_parse does; 0 also after `--config help`. */
int options_parse(struct options *o, const struct command_line *l, int argc, char **argv);

/* For daemon_open_loop: sets a bool. */
void options_stop(void *stopping);

/* The address and token of the admin listener. STATUS_MALFORMED: `error` gets the reason. */
enum status options_admin(const struct options *o, struct admin *out, struct buffer *error);

/* One line with the profile in force and its meaning. */
const char *options_profile_meaning(enum profile profile);
