/* Ops and kernels in C. C++ has flowc/op_kernel.h, which is made of this.
 *
 *     #include <flowc/op.h>
 *
 *     FLOWC_KERNEL(zero_out) {
 *       const int32_t *in = call->inputs[0].data;
 *       int32_t *out = call->outputs[0].data;
 *       for (int64_t i = 0, n = flowc_op_size(&call->inputs[0]); i < n; i++)
 *         out[i] = i == 0 ? in[i] : 0;
 *     }
 *     FLOWC_OP(zero_out, "ZeroOut(to_zero: int32) -> zeroed: int32", NULL)
 *     FLOWC_REGISTER_KERNEL(zero_out, "ZeroOut", "")
 *
 * `cc -shared -fPIC -o zero_out.so zero_out.c -I...` makes what load_op_library loads; an archive of
 * the object is linked into compiled libraries. A kernel is called by any thread, by several at the
 * same time, and must not return otherwise than by its end. Structs only ever grow at their ends:
 * `size` says how much of one its maker knows. */

#ifndef FLOWC_OP_H
#define FLOWC_OP_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FLOWC_OP_ABI 1

/* Of dtypes: TensorFlow's numbers. */
enum {
  FLOWC_FLOAT = 1, FLOWC_DOUBLE = 2, FLOWC_INT32 = 3, FLOWC_UINT8 = 4, FLOWC_INT16 = 5,
  FLOWC_INT8 = 6, FLOWC_COMPLEX64 = 8, FLOWC_INT64 = 9, FLOWC_BOOL = 10, FLOWC_BFLOAT16 = 14,
  FLOWC_UINT16 = 17, FLOWC_COMPLEX128 = 18, FLOWC_HALF = 19, FLOWC_RESOURCE = 20,
  FLOWC_UINT32 = 22, FLOWC_UINT64 = 23
};

/* What a kernel fails with: numbers of TensorFlow's errors. */
enum {
  FLOWC_OK = 0, FLOWC_UNKNOWN = 2, FLOWC_INVALID_ARGUMENT = 3, FLOWC_NOT_FOUND = 5,
  FLOWC_RESOURCE_EXHAUSTED = 8, FLOWC_FAILED_PRECONDITION = 9, FLOWC_OUT_OF_RANGE = 11,
  FLOWC_UNIMPLEMENTED = 12, FLOWC_INTERNAL = 13, FLOWC_DATA_LOSS = 15
};

/* Elements in dense row-major order. Of a resource, `data` is the object. */
typedef struct {
  void *data;
  const int64_t *dims;
  int32_t rank;
  int32_t dtype;
} flowc_op_tensor;

/* kind: 'i' for int, bool and type, 'f', 's', and 'I', 'F' for lists of `count` numbers. */
typedef struct {
  const char *name;
  int32_t kind;
  int32_t count;
  int64_t i;
  double f;
  const char *s;
  const int64_t *ints;
  const double *floats;
} flowc_op_attr;

/* One call of a kernel. `status` and `message` (of `message_size` bytes) are set by
 * flowc_op_fail; `scratch`, what flowc_op_scratch gave, is freed by the caller; `persistent` is what
 * the node keeps. */
typedef struct flowc_op_call flowc_op_call;
struct flowc_op_call {
  uint32_t size;
  int32_t input_count, output_count, attr_count;
  const flowc_op_tensor *inputs;
  flowc_op_tensor *outputs;
  const flowc_op_attr *attrs;
  char *message;
  int32_t message_size;
  int32_t status;
  void *host;
  void *(*allocate)(flowc_op_call *call, int32_t output, int32_t rank, const int64_t *dims);
  void *scratch;
  void *persistent;
};

/* The shape function of an op: ranks and dims of outputs from those of inputs. A size below -1 is
 * one that only the run knows: it may be copied, and nothing else. An output that the kernel
 * allocates has sizes of FLOWC_BY_KERNEL; no library can hold such a kernel. `dims` of an output
 * have room for 64. */
#define FLOWC_BY_KERNEL (-1)
typedef struct {
  int32_t rank;
  int64_t *dims;
} flowc_op_shape;
typedef struct {
  uint32_t size;
  int32_t input_count, output_count, attr_count;
  const flowc_op_shape *inputs;
  flowc_op_shape *outputs;
  const flowc_op_attr *attrs;
  char *message;
  int32_t message_size;
  int32_t status;
} flowc_op_shapes;

typedef void (*flowc_op_shape_function)(flowc_op_shapes *shapes);
typedef void (*flowc_op_compute)(flowc_op_call *call);

/* An object of a Session, for the kernels of ops that take its handle. `save` and `restore` are
 * those of a Saver: it is given room for `size` bytes (none, to be asked how many), and gives the
 * number that it needs. */
typedef struct {
  uint32_t abi, size;
  const char *name;
  const char *attrs;
  void *(*create)(const flowc_op_attr *attrs, int32_t count);
  void (*destroy)(void *object);
  int64_t (*save)(void *object, char *bytes, int64_t size);
  void (*restore)(void *object, const char *bytes, int64_t size);
} flowc_resource_definition;

typedef struct {
  uint32_t abi, size;
  const char *signature;
  flowc_op_shape_function shape; /* NULL: outputs have the shape of input 0 */
  int32_t is_stateful; /* 1: it has effects; 2: its nodes keep memory, too */
} flowc_op_definition;

typedef struct {
  uint32_t abi, size;
  const char *op;
  const char *types; /* "T: float, int32; U: int64", or "" */
  flowc_op_compute compute; /* NULL: the kernel is for another device */
  const char *device; /* "CPU": code in C runs there only. A kernel of another device computes nothing,
                         as who loads the library is warned; errors name it. */
} flowc_kernel_definition;

typedef struct {
  uint32_t abi, size;
  const flowc_op_definition *const *ops, *const *ops_end;
  const flowc_kernel_definition *const *kernels, *const *kernels_end;
  const flowc_resource_definition *const *resources, *const *resources_end;
} flowc_op_library;

/* -- for kernels */

/* How many elements a tensor has. */
static inline int64_t flowc_op_size(const flowc_op_tensor *tensor) {
  int64_t count = 1;
  for (int32_t i = 0; i < tensor->rank; i++) count *= tensor->dims[i];
  return count;
}

/* The attr with a name; NULL where there is none. */
static inline const flowc_op_attr *flowc_op_find_attr(const flowc_op_attr *attrs, int32_t count,
                                                      const char *name) {
  for (int32_t i = 0; i < count; i++) {
    const char *one = attrs[i].name, *other = name;
    while (*one && *one == *other) one++, other++;
    if (*one == *other) return &attrs[i];
  }
  return NULL;
}

/* Memory that the kernel has until it returns, at a multiple of 64 bytes; NULL where there is
 * none. */
static inline void *flowc_op_scratch(flowc_op_call *call, int64_t bytes) {
  if (bytes < 0 || bytes > INT64_MAX - 128) return NULL;
  void **block = (void **)malloc((size_t)bytes + 128); /* the block before it, then the memory */
  if (block == NULL) return NULL;
  *block = call->scratch;
  call->scratch = block;
  return (void *)(((uintptr_t)block + 127) & ~(uintptr_t)63);
}

/* Memory that the node has in all calls of one Session, or of one instance of a library: zeros at
 * first, at a multiple of 64 bytes. The first call says how many bytes there are. NULL where a later
 * one wants more, where there is no memory, and where the op is no FLOWC_PERSISTENT_OP. Calls of
 * several threads have it at the same time. */
static inline void *flowc_op_persistent(flowc_op_call *call, int64_t bytes) {
  if (call->size < sizeof(flowc_op_call) || call->persistent == NULL) return NULL;
  if (bytes < 0 || bytes > INT64_MAX - 128) return NULL;
  int64_t **place = (int64_t **)call->persistent;
  int64_t *block = __atomic_load_n(place, __ATOMIC_ACQUIRE); /* its size, then the memory */
  if (block == NULL) {
    int64_t *made = (int64_t *)calloc(1, (size_t)bytes + 128);
    if (made == NULL) return NULL;
    *made = bytes;
    if (__atomic_compare_exchange_n(place, &block, made, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      block = made;
    else
      free(made); /* another thread was first, and `block` is its */
  }
  if (bytes > *block) return NULL;
  return (void *)(((uintptr_t)block + 127) & ~(uintptr_t)63);
}

/* The run fails: with a number of above and a text, as printf has it. */
#define flowc_op_fail(call, code, ...)                                     \
  do {                                                                     \
    (call)->status = (code);                                               \
    snprintf((call)->message, (size_t)(call)->message_size, __VA_ARGS__);  \
  } while (0)

/* -- for registration: each in a section of its own, whose ends the linker knows */

#define FLOWC_OP_VISIBLE __attribute__((visibility("default")))
#define FLOWC_OP_LISTED(section_name) __attribute__((section(section_name), used))

#define FLOWC_KERNEL(name) FLOWC_OP_VISIBLE void name(flowc_op_call *call)

#define FLOWC_OP(tag, signature, shape) FLOWC_OP_FULL(tag, signature, shape, 0)
#define FLOWC_STATEFUL_OP(tag, signature, shape) FLOWC_OP_FULL(tag, signature, shape, 1)
#define FLOWC_PERSISTENT_OP(tag, signature, shape) FLOWC_OP_FULL(tag, signature, shape, 2)
#define FLOWC_OP_FULL(tag, signature, shape, is_stateful)                                       \
  static const flowc_op_definition flowc_op_of_##tag = {                                        \
      FLOWC_OP_ABI, sizeof(flowc_op_definition), signature, shape, is_stateful};                \
  static const flowc_op_definition *const flowc_op_at_##tag FLOWC_OP_LISTED("flowc_ops") =      \
      &flowc_op_of_##tag;

#define FLOWC_REGISTER_KERNEL(compute, op, types)                                              \
  static const flowc_kernel_definition flowc_kernel_of_##compute = {                           \
      FLOWC_OP_ABI, sizeof(flowc_kernel_definition), op, types, compute, "CPU"};                      \
  static const flowc_kernel_definition *const flowc_kernel_at_##compute FLOWC_OP_LISTED(       \
      "flowc_kernels") = &flowc_kernel_of_##compute;

#define FLOWC_RESOURCE(tag, name, attrs, create, destroy, save, restore)                        \
  static const flowc_resource_definition flowc_resource_of_##tag = {                            \
      FLOWC_OP_ABI, sizeof(flowc_resource_definition), name, attrs, create, destroy, save,      \
      restore};                                                                                 \
  static const flowc_resource_definition *const flowc_resource_at_##tag FLOWC_OP_LISTED(        \
      "flowc_resources") = &flowc_resource_of_##tag;

#define FLOWC_OP_ENDS(type, section_name)                                                     \
  extern const type *const __start_##section_name[] __attribute__((weak, visibility("hidden"))); \
  extern const type *const __stop_##section_name[] __attribute__((weak, visibility("hidden")));
FLOWC_OP_ENDS(flowc_op_definition, flowc_ops)
FLOWC_OP_ENDS(flowc_kernel_definition, flowc_kernels)
FLOWC_OP_ENDS(flowc_resource_definition, flowc_resources)

/* What a library registers; every object has one, and the linker keeps one. */
FLOWC_OP_VISIBLE __attribute__((weak)) void flowc_op_library_of(flowc_op_library *found) {
  found->abi = FLOWC_OP_ABI;
  found->size = sizeof(flowc_op_library);
  found->ops = __start_flowc_ops;
  found->ops_end = __stop_flowc_ops;
  found->kernels = __start_flowc_kernels;
  found->kernels_end = __stop_flowc_kernels;
  found->resources = __start_flowc_resources;
  found->resources_end = __stop_flowc_resources;
}

/* What makes and ends the memory of a node: the address of its block, once there is one. */
FLOWC_OP_VISIBLE __attribute__((weak)) void *flowc_op_memory_create(const flowc_op_attr *attrs,
                                                                    int32_t count) {
  (void)attrs, (void)count;
  return calloc(1, sizeof(void *));
}
FLOWC_OP_VISIBLE __attribute__((weak)) void flowc_op_memory_destroy(void *memory) {
  free(*(void **)memory);
  free(memory);
}

#ifdef __cplusplus
}
#endif

#endif
