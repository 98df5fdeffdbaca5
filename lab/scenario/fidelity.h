/* fidelity.h - how much of a cluster a run has (docs/fidelity.md). */
#pragma once

enum lab_fidelity {
    LAB_ADMISSION, /* storage and replication reduced to their costs:
    lab/fidelity/admission/model.h */
    LAB_FULL, /* real nodes, routers and GAC servers in virtual time: lab/fidelity/full/full.h */
    LAB_REAL, /* processes on this machine: the job's own runner */
    LAB_FIDELITIES
};

extern const char *const lab_fidelity_names[LAB_FIDELITIES + 1]; /* ends with NULL */
