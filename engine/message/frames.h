/* frames.h - requests and replies as frames: u32 length, u8 kind, the fields that all have, then
 * those of their kind (request_traits.h has the table of fields). */
#ifndef WEIR_ENGINE_MESSAGE_FRAMES_H
#define WEIR_ENGINE_MESSAGE_FRAMES_H

#include "engine/message/message.h"

/* Bytes of the frame without its length: at most FRAME_SIZE_MAX may be encoded. */
size_t request_size(const struct request *r);
size_t reply_size(const struct reply *r);

/* Appends a frame. */
void request_encode(struct buffer *out, const struct request *r);
void reply_encode(struct buffer *out, const struct reply *r);

/* A frame without its length word. STATUS_MALFORMED for anything the encoders do not write. */
enum status message_kind_of(struct slice frame, enum message_kind *out);
enum status request_decode(struct slice frame, struct request *out);
enum status reply_decode(struct slice frame, struct reply *out);

#endif
