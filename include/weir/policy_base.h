/* weir/policy_base.h - what policies of all decision points share. Part of weir/policy.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR_POLICY_ABI UINT32_C(1)

/* The most bytes of each state that the host keeps for a policy. States are aligned to 8 bytes. */
#define WEIR_POLICY_STATE_MAX 64
/* The same for the state of a node or router for overload, and of a client that tries again. */
#define WEIR_OVERLOAD_STATE_MAX 2048
#define WEIR_RETRY_STATE_MAX    512
/* The most bytes of a name, with the final zero: a-z, 0-9, _ and -. */
#define WEIR_POLICY_NAME_MAX 32
/* The most parts of a partition that is divided. */
#define WEIR_POLICY_PIECES_MAX 16
/* As a time to wait: never. */
#define WEIR_POLICY_NEVER INT64_MAX

#define WEIR_POLICY_API    __attribute__((visibility("default")))
#define WEIR_POLICY_EXPORT __attribute__((visibility("default")))

enum weir_policy_kind {
    WEIR_POLICY_READ,
    WEIR_POLICY_WRITE
};

/* The integer square root; 0 of what is below zero. */
WEIR_POLICY_API int64_t weir_policy_root(int64_t value);

#ifdef __cplusplus
}
#endif
