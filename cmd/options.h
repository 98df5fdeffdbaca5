/* options.h - what the daemons' command lines have in common. */
#ifndef WEIR_CMD_OPTIONS_H
#define WEIR_CMD_OPTIONS_H

#include "base/config.h"

enum {
    NODES_LIMIT = 64
};

/* `--help` lines of the common options. */
extern const char *const options_common_help;

/* NUMBER=ADDRESS:PORT,.. */
struct options_list {
    struct {
        uint32_t id;
        char address[64];
        uint16_t port;
    } at[NODES_LIMIT];
    uint32_t count;
};

struct options {
    struct config config;
    const char *data;
    bool data_given;
    bool in_memory;
    bool log_requests;
    bool verbose;
    bool replicas_given; /* by --replicas */
    const char *address; /* to listen on; may point to `listen` */
    uint16_t port;
    uint32_t nodes;
    uint32_t id;
    char listen[64]; /* what --listen gave `address` to point to */
    bool admin_given;
    char admin[64]; /* what --admin says: where admin requests are taken */
    uint16_t admin_port;
    const char *admin_token; /* file that holds the token; NULL: none */
    struct options_list peers;
    struct options_list gac; /* servers of global admission control */
    bool faults;             /* open the admin port (cmd/faults.h) */
    uint16_t faults_port;
    bool json;
};

/* Which options a subcommand knows besides --config, --profile, --set and --help. */
enum options_known {
    OPTION_DATA = 1,
    OPTION_PORT = 2,   /* --port N */
    OPTION_LISTEN = 4, /* --listen ADDRESS:PORT */
    OPTION_NODES = 8,
    OPTION_ID = 16,
    OPTION_PEERS = 32,  /* --peers 1=ADDRESS:PORT,2=.. */
    OPTION_FAULTS = 64, /* --faults PORT */
    OPTION_JSON = 128,
    OPTION_REPLICAS = 256,
    OPTION_GAC = 512,    /* --gac 1=ADDRESS:PORT,2=.. */
    OPTION_ADMIN = 1024, /* --admin ADDRESS:PORT */
    OPTION_ADMIN_TOKEN = 2048,
    OPTION_IN_MEMORY = 4096,
    OPTION_LOG = 8192, /* --log requests */
    OPTION_VERBOSE = 16384,
    OPTION_HELP = 1 << 16, /* from here on: known to every subcommand */
    OPTION_CONFIG = 1 << 17,
    OPTION_SET = 1 << 18,
    OPTION_PROFILE = 1 << 19,
};

/* 0: go on; otherwise the subcommand returns (exit code + 1): 1 after --help, 3 after a usage
 * error, which has been explained on standard error. `o` holds the defaults. */
int options_parse(struct options *o, unsigned known, const char *help, int argc, char **argv);

/* One line that tells which profile is in force and what that means. */
const char *options_profile_meaning(enum profile profile);

#endif
