# register.cmake - how a test is told to ctest.
#
#   weir_test(NAME fault.crash LABEL fault [LONG] [ALONE] [RELEASE] [SKIPS] [PART n] [LIMIT s]
#             [GUARDS path...] [ENVIRONMENT name=value...] COMMAND program argument...)
#
# LONG     only in `tools/test --long`: label `long`
# ALONE    no other test runs beside it: a reason stands beside the call
# RELEASE  the command uses the release program: label `release`. Its path is ${release}.
# SKIPS    exit code 77 says that something is missing here; the output says what
# PART n   a member of a family of which the short suite runs a third: label `part-<n mod 3>`
# GUARDS   files and folders: when one of them has changed, the short suite runs the test, whatever its part
# LIMIT    seconds of processor time that each process of the command may take; default 120. By the clock a test
#          may take as long as only one that hangs does: a busy machine fails no test.
#
# Each command runs under `measure` (tests/measure.c), which notes its wall and processor time, and removes what it leaves
# in TMPDIR. An argument has no semicolon: CMake would make two of it.
# weir_tests_end() writes build/PRESET/guards.txt: a line `NAME path...` for each test with GUARDS.

set(release ${CMAKE_SOURCE_DIR}/build/weir)
set(hangs_s 1800)
# What is freed stays poisoned until so much more is freed. The usual 256 MiB are memory that a test touches anew again
# and again: where pages are expensive (a virtual machine), a third of the suite's time.
if(WEIR_SANITIZE MATCHES address)
    set(sanitizer ASAN_OPTIONS=quarantine_size_mb=4:malloc_context_size=8)
endif()
# Tests begin in the order of their duration, so that none is left alone at the end: what the record says.
file(READ ${CMAKE_SOURCE_DIR}/docs/data/suite.json record)
string(JSON recorded_tests GET "${record}" tests)

function(weir_test)
    cmake_parse_arguments(T "LONG;ALONE;RELEASE;SKIPS" "NAME;LABEL;PART;LIMIT" "GUARDS;ENVIRONMENT;COMMAND" ${ARGN})
    if(T_UNPARSED_ARGUMENTS OR NOT T_NAME OR NOT T_LABEL OR NOT T_COMMAND)
        message(FATAL_ERROR "weir_test(${ARGV}): NAME, LABEL and COMMAND are needed; unknown: ${T_UNPARSED_ARGUMENTS}")
    endif()
    list(POP_FRONT T_COMMAND program)
    if(TARGET ${program})
        set(program $<TARGET_FILE:${program}>)
    endif()
    set(needs)
    if(T_RELEASE)
        set(T_SKIPS ON)
        set(needs --needs ${release})
    endif()
    if(NOT DEFINED T_LIMIT)
        set(T_LIMIT 120)
    endif()
    set(memory)
    if(T_LABEL STREQUAL unit) # nothing that a disk does is tested, and a busy disk makes a sync take seconds
        set(memory --memory)
    endif()
    add_test(NAME ${T_NAME} COMMAND measure ${memory} ${needs} ${T_LIMIT} ${CMAKE_BINARY_DIR}/costs/${T_NAME} ${program} ${T_COMMAND})
    set(labels ${T_LABEL})
    if(T_LONG)
        list(APPEND labels long)
    endif()
    if(T_RELEASE)
        list(APPEND labels release)
    endif()
    if(DEFINED T_PART)
        math(EXPR part "${T_PART} % 3")
        list(APPEND labels part-${part})
    endif()
    set_tests_properties(${T_NAME} PROPERTIES TIMEOUT ${hangs_s} LABELS "${labels}")
    string(JSON seconds ERROR_VARIABLE unknown GET "${recorded_tests}" ${T_NAME} wall_s)
    if(NOT unknown)
        set_tests_properties(${T_NAME} PROPERTIES COST ${seconds})
    endif()
    if(T_ALONE)
        set_tests_properties(${T_NAME} PROPERTIES RUN_SERIAL ON)
    endif()
    if(T_SKIPS)
        set_tests_properties(${T_NAME} PROPERTIES SKIP_RETURN_CODE 77)
    endif()
    if(T_GUARDS)
        list(JOIN T_GUARDS " " paths)
        set_property(GLOBAL APPEND PROPERTY weir_guards "${T_NAME} ${paths}")
    endif()
    list(PREPEND T_ENVIRONMENT ${sanitizer})
    if(T_ENVIRONMENT)
        set_tests_properties(${T_NAME} PROPERTIES ENVIRONMENT "${T_ENVIRONMENT}")
    endif()
endfunction()

function(weir_tests_end)
    get_property(guards GLOBAL PROPERTY weir_guards)
    list(JOIN guards "\n" lines)
    file(WRITE ${CMAKE_BINARY_DIR}/guards.txt "${lines}\n")
endfunction()
