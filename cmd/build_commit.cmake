# Writes OUT, a header with the commit of the checkout SOURCE; no commit where SOURCE is none. The
# file changes only with the commit, so nothing else is compiled again.
set(commit "")
set(modified 0)
execute_process(COMMAND git -C ${SOURCE} rev-parse --show-toplevel
    OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(NOT failed AND top STREQUAL SOURCE)
    execute_process(COMMAND git -C ${SOURCE} rev-parse --short=12 HEAD
        OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    execute_process(COMMAND git -C ${SOURCE} diff --quiet HEAD RESULT_VARIABLE differs ERROR_QUIET)
    if(differs)
        set(modified 1)
    endif()
endif()
set(text "#define WEIR_COMMIT \"${commit}\"\n#define WEIR_MODIFIED ${modified}\n")
set(before "")
if(EXISTS ${OUT})
    file(READ ${OUT} before)
endif()
if(NOT text STREQUAL before)
    file(WRITE ${OUT} "${text}")
endif()
