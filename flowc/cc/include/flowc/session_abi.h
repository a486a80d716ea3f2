/* The C interface of libflowc_rt.so: Sessions of graphs. C++ programs use flowc/session.h, which is
 * made of these calls alone.
 *
 * The library runs flowc in the Python interpreter of this process: in the one that is there, or in
 * the one that `flowc config` was run with, which the first call of flowc_session_new starts. Every
 * function may be called by any thread, and no call returns otherwise than by its result. Functions
 * that return an int give 0 or the number of TensorFlow's error code; what was wrong is told by
 * flowc_session_message. */

#ifndef FLOWC_SESSION_ABI_H
#define FLOWC_SESSION_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct flowc_session flowc_session;

typedef struct {
  const void *data;
  uint64_t size;
} flowc_bytes;

/* dtype: TensorFlow's number. data: elements in dense row-major order, aligned as their type wants;
 * of strings one flowc_bytes an element. size: the bytes of data. */
typedef struct {
  int32_t dtype;
  int32_t rank;
  const int64_t *dims;
  const void *data;
  uint64_t size;
} flowc_tensor;

/* target: "" or NULL. allow: what nodes may do beyond computing, such as "files,print", or NULL.
 * threads: of one run, 0 for one a core. */
typedef struct {
  const char *target;
  const char *allow;
  int32_t threads;
} flowc_session_options;

/* Outputs are tensors (`a:0`, `a`), targets operations. timeout_ms: the longest that the run may
 * take, 0 for any. */
typedef struct {
  size_t input_count;
  const char *const *input_names;
  const flowc_tensor *inputs;
  size_t output_count;
  const char *const *output_names;
  size_t target_count;
  const char *const *target_names;
  int64_t timeout_ms;
} flowc_run_request;

int flowc_session_new(const flowc_session_options *options, flowc_session **session);

/* graph: a GraphDef, binary, text or JSON, or a MetaGraphDef, whose graph it is then. `create` is an
 * error for a session that has a graph, until `close`; `extend` adds nodes of new names. */
int flowc_session_create(flowc_session *session, const flowc_bytes *graph);
int flowc_session_extend(flowc_session *session, const flowc_bytes *graph);

/* outputs: room for output_count tensors, each to be given to flowc_tensor_free; after an error
 * there are none. */
int flowc_session_run(flowc_session *session, const flowc_run_request *request,
                      flowc_tensor *outputs);
void flowc_tensor_free(flowc_tensor *tensor);

/* By one thread, after all runs have returned. `delete` closes too, and frees the session. */
int flowc_session_close(flowc_session *session);
void flowc_session_delete(flowc_session *session);

/* What the last call of this thread that failed says: valid until its next call. */
const char *flowc_session_message(void);

#ifdef __cplusplus
}
#endif

#endif
