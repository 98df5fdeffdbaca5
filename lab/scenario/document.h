/* document.h - a YAML document as a tree of texts, lists and maps, each with its line.
 *
 * libyaml reads the text. Every scalar is a text: what it means is decided by the reader of the
 * tree (reading.h). Anchors, aliases and tags are refused, and so is a map with the same key twice.
 *
 * document_set replaces one value: policies, axes of sweeps and `--set` change a scenario this way.
 * A path has steps with dots between them. A step is the key of a map, or, in a list, the `name` of
 * the element or its place from 1: `cluster.settings.gac`, `workloads.victims.rate`. */
#pragma once

#include "base/arena.h"
#include "base/buffer.h"

enum {
    DOCUMENT_DEPTH_MAX = 16,
    DOCUMENT_NODES_MAX = 100000
};

enum document_kind {
    DOCUMENT_TEXT,
    DOCUMENT_LIST,
    DOCUMENT_MAP
};

struct document_node {
    enum document_kind kind;
    uint32_t line;               /* from 1; 0: set by document_set */
    struct slice set_at;         /* the path of document_set */
    struct slice key;            /* of a map's member; otherwise empty */
    struct slice text;           /* TEXT: with a NUL behind it */
    struct document_node *first; /* LIST, MAP: the members, in their order */
    struct document_node *next;  /* of the same list or map */
};

struct document {
    struct arena arena;
    const char *name; /* borrows; of the file, for errors */
    uint32_t nodes;
    struct document_node *root;
};

/* STATUS_MALFORMED: `error` gets one line with file, line and fault. document_deinit frees, in all
 * cases. The text may go afterwards. */
enum status document_parse(struct document *d, const char *name, struct slice text,
                           struct buffer *error);
void document_deinit(struct document *d);

/* The member of a map. NULL: there is none. */
struct document_node *document_member(const struct document_node *map, const char *key);

/* The node at a path, or the last one on the way there that the document has. */
const struct document_node *document_nearest(const struct document *d, const char *path, ...)
    __attribute__((format(printf, 2, 3)));

/* Appends the members of a list, a text of YAML, to the list under a key of the root, except for
 * those whose `name` a member of the list has already. A missing list is made. STATUS_MALFORMED:
 * `error` tells. */
enum status document_extend(struct document *d, const char *key, struct slice text,
                            struct buffer *error);

/* Appends the text as a text of YAML: document_set and document_parse read the same again, if it is
 * UTF-8. Without a NUL. */
void document_append_text(struct buffer *out, struct slice text);

/* Sets the value at the path to `value`, a text of YAML. Missing members of maps are made.
 * STATUS_MALFORMED: `error` tells which step or what of the value is wrong. */
enum status document_set(struct document *d, struct slice path, struct slice value,
                         struct buffer *error);
