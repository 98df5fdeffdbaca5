/* case_words.h - commands of case files (case_file.h) as words: `VERB WORD.. NAME=VALUE..`.
 *
 * `;` divides commands on a line, and short lines of what they say. A word that begins with `#`
 * begins a comment. A word that its command did not look at fails the test. `define NAME COMMANDS`:
 * NAME stands for these commands from here to the end of the file. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

enum {
    CASE_WORDS_MAX = 48,
    CASE_COMMAND_SIZE = 2048
};

struct case_words {
    struct buffer *out; /* what the command says */
    int count;          /* with the verb */
    char *words[CASE_WORDS_MAX];
    bool seen[CASE_WORDS_MAX];
    char text[CASE_COMMAND_SIZE];
};

struct case_verb {
    const char *name;
    void (*run)(void *world, struct case_words *w);
    const struct case_verb *more;
};

/* A new file begins: forgets what names stand for. */
void case_words_begin(void);
/* Runs the verb with this name. The last of `verbs` has no name; `more` follow it. */
void case_words_run(const struct case_verb *verbs, void *world, struct slice command,
                    struct buffer *out);
/* Appends to the output. */
__attribute__((format(printf, 2, 3))) void case_print(struct case_words *w, const char *format,
                                                      ...);

/* Word `i`; word 0 is the verb. Fails if there is none. */
const char *case_word(struct case_words *w, int i);
int64_t case_word_number(struct case_words *w, int i);
int64_t case_word_ms(struct case_words *w, int i);
/* Whether one of the words is this one. */
bool case_flag(struct case_words *w, const char *word);
/* What stands behind `NAME=`; NULL: nothing does. */
const char *case_option(struct case_words *w, const char *name);
int64_t case_option_number(struct case_words *w, const char *name, int64_t usual);
/* The next word that has no `=` and was not looked at; NULL: no more. */
const char *case_next(struct case_words *w);

int64_t case_number(const char *text);
/* Times with a unit: ns, ms, s, min, h or d. */
int64_t case_ns(const char *text);
int64_t case_ms(const char *text);
/* The place of the text among the names; fails if it is none of them. */
int case_choice(const char *text, const char *const *names, int count);
