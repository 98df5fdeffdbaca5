/* lab.h - the subcommands of `weir lab`. Each returns the exit code: 0 done, and all that was
 * expected holds; 1 failed, or an expectation does not hold; 2 wrong usage. */
#pragma once

int lab_run_command(int argc, char **argv);
int lab_suite_command(int argc, char **argv);
int lab_sweep_command(int argc, char **argv);
int lab_replay_command(int argc, char **argv);
int lab_job_command(int argc, char **argv);
int lab_result_command(int argc, char **argv);
int lab_compare_command(int argc, char **argv);
int lab_reproduce_command(int argc, char **argv);
int lab_report_command(int argc, char **argv);
int lab_list_command(int argc, char **argv);
int lab_new_command(int argc, char **argv);
