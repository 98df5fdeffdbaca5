/* faults.h - the admin port of a daemon started with --faults: its links, disk and clock break on
 * command.
 *
 * On 127.0.0.1, one command a line and one answer a line: "ok", "ok" and a text, or "error: " and
 * the fault. After an error the connection is closed, so that a client of another protocol cannot
 * give a command. Any client can break the process, so the port exists only on request.
 * Bounds: FAULTS_LINE_SIZE_MAX bytes a line, FAULTS_CLIENTS_MAX connections. */
#pragma once

#include "host/transport.h"

enum {
    FAULTS_LINE_SIZE_MAX = 256,
    FAULTS_CLIENTS_MAX = 16,
    FAULTS_DELAY_MS_MAX = 60000,
    FAULTS_WORK_US_MAX = 1000000,
    FAULTS_SKEW_MS_MAX = 3600000,
    FAULTS_DRIFT_PPM_MAX = 500000,
};

enum fault_verb {
    FAULT_CUT,
    FAULT_DELAY,
    FAULT_HEAL,
    FAULT_DISK_SLOW,
    FAULT_PROCESSOR_SLOW,
    FAULT_DISK_FAIL,
    FAULT_DISK_FULL,
    FAULT_DISK_OK,
    FAULT_SKEW,
    FAULT_DRIFT,
    FAULT_STATUS,
    FAULT_HELP,
};

struct fault_command {
    enum fault_verb verb;
    enum peer_kind kind; /* cut, delay */
    uint32_t id;
    unsigned cut;   /* LINK_CUT_IN | LINK_CUT_OUT */
    int64_t number; /* milliseconds, microseconds or ppm */
};

/* STATUS_MALFORMED: `error` says what was expected, without control characters. */
enum status fault_command_parse(struct slice line, struct fault_command *out, struct buffer *error);

/* Executes the command; `answer` gets one line without its end. */
void fault_command_apply(const struct fault_command *c, struct loop *l, struct transport *t,
                         struct buffer *answer);

struct faults;

/* Listens on that port of 127.0.0.1; 0 = any. STATUS_IO: `error` gets the reason. */
enum status faults_open(struct loop *l, struct transport *t, uint16_t port, struct buffer *error,
                        struct faults **out);
uint16_t faults_port(const struct faults *f);
/* Call before the loop is destroyed. NULL: does nothing. */
void faults_close(struct faults *f);
