/* texts.h - the parts of the page, as texts in the program (lab/CMakeLists.txt). */
#pragma once

#include "base/slice.h"

/* In the order of lab/CMakeLists.txt. */
enum report_text {
    REPORT_CSS,
    REPORT_DATA,
    REPORT_CHART,
    REPORT_FIGURES,
    REPORT_PAGE,
    REPORT_D3, /* empty: weir was built without the chart libraries */
    REPORT_PLOT,
    REPORT_LICENCES,
    REPORT_TEXTS
};

extern const struct slice report_texts[REPORT_TEXTS];
