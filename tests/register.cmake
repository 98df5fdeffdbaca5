# register.cmake - how a test is told to ctest.
#
#   weir_test(NAME fault.crash LABEL fault [LONG] [ALONE] [RELEASE] [SKIPS] [PART n] [TIMEOUT s]
#             [GUARDS path...] [ENVIRONMENT name=value...] COMMAND program argument...)
#
# LONG     only in `tools/test --long`: label `long`
# ALONE    no other test runs beside it: a reason stands beside the call
# RELEASE  the command uses the release program: label `release`. Its path is ${release}.
# SKIPS    exit code 77 says that something is missing here; the output says what
# PART n   a member of a family of which the short suite runs a third: label `part-<n mod 3>`
# GUARDS   files and folders, from the root: when one of them changes, the test runs whatever its part is.
#          guards.txt in the build folder gets a line `NAME path...`
# TIMEOUT  seconds; default 120
#
# Each command runs under `measure` (tests/measure.c), which notes its wall and processor time.

set(release ${CMAKE_SOURCE_DIR}/build/weir)

function(weir_test)
    cmake_parse_arguments(T "LONG;ALONE;RELEASE;SKIPS" "NAME;LABEL;PART;TIMEOUT" "GUARDS;ENVIRONMENT;COMMAND"
                          ${ARGN})
    if(T_UNPARSED_ARGUMENTS OR NOT T_NAME OR NOT T_LABEL OR NOT T_COMMAND)
        message(FATAL_ERROR "weir_test(${ARGV}): NAME, LABEL and COMMAND are needed; unknown: ${T_UNPARSED_ARGUMENTS}")
    endif()
    list(POP_FRONT T_COMMAND program)
    if(TARGET ${program})
        set(program $<TARGET_FILE:${program}>)
    endif()
    add_test(NAME ${T_NAME} COMMAND measure ${CMAKE_BINARY_DIR}/costs/${T_NAME} ${program} ${T_COMMAND})
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
    if(T_GUARDS)
        list(JOIN T_GUARDS " " guards)
        set_property(GLOBAL APPEND_STRING PROPERTY weir_guards "${T_NAME} ${guards}\n")
    endif()
    if(NOT DEFINED T_TIMEOUT)
        set(T_TIMEOUT 120)
    endif()
    set_tests_properties(${T_NAME} PROPERTIES TIMEOUT ${T_TIMEOUT} LABELS "${labels}")
    if(T_ALONE)
        set_tests_properties(${T_NAME} PROPERTIES RUN_SERIAL ON)
    endif()
    if(T_SKIPS)
        set_tests_properties(${T_NAME} PROPERTIES SKIP_RETURN_CODE 77)
    endif()
    if(T_ENVIRONMENT)
        set_tests_properties(${T_NAME} PROPERTIES ENVIRONMENT "${T_ENVIRONMENT}")
    endif()
endfunction()

# At the end of the root's CMakeLists.txt, when all tests are known.
function(weir_write_guards)
    get_property(guards GLOBAL PROPERTY weir_guards)
    file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/guards.txt CONTENT "${guards}")
endfunction()
cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR} CALL weir_write_guards)
