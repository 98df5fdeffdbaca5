/* frames.h - requests and replies as frames.
 *
 * Frame: u32 length | u8 kind | the fields of every message | the fields of the message's kind
 * (request_traits.h has the table of fields). */
#pragma once

#include "engine/message/message.h"

/* Bytes of the frame without its length. A frame to be encoded has at most FRAME_SIZE_MAX. */
size_t request_size(const struct request *r);
size_t reply_size(const struct reply *r);

/* Appends a frame. */
void request_encode(struct buffer *out, const struct request *r);
void reply_encode(struct buffer *out, const struct reply *r);

/* Read a frame without its length. STATUS_MALFORMED: bytes that the encoders do not write. Slices
 * borrow from the frame. */
enum status message_kind_of(struct slice frame, enum message_kind *out);
enum status request_decode(struct slice frame, struct request *out);
enum status reply_decode(struct slice frame, struct reply *out);
