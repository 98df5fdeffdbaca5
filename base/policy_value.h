/* policy_value.h - the functions by which a policy reads what its decision is about.
 *
 * Most of them return one value of the struct that the policy gets (include/weir/policy_POINT.h).
 * A file lists these as rows:
 *
 *     POLICY_VALUE(int64_t, weir_ledger_rate, struct weir_ledger *l, l->ledger->rate)
 */
#pragma once

/* Defines the function `name`, which returns `value` of `of`, a pointer that it does not write
 * through. */
#define POLICY_VALUE(type, name, of, value) \
    type name(const of)                     \
    {                                       \
        return value;                       \
    }
