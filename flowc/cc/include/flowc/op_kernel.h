// Ops and kernels in C++17, in the manner of TensorFlow's REGISTER_OP and REGISTER_KERNEL_BUILDER.
//
//     #include <flowc/op_kernel.h>
//
//     REGISTER_OP("ZeroOut(to_zero: int32) -> zeroed: int32", flowc::UnchangedShape);
//
//     struct ZeroOut {
//       void Compute(flowc::OpKernelContext *context) {
//         auto in = context->input(0).flat<int32_t>();
//         auto out = context->output(0).flat<int32_t>();
//         OP_REQUIRES(context, in.size() > 0, flowc::errors::InvalidArgument("nothing to keep"));
//         for (int64_t i = 0; i < in.size(); i++) out[i] = i == 0 ? in[i] : 0;
//       }
//     };
//     REGISTER_KERNEL("ZeroOut", "", ZeroOut);
//
// A kernel is made anew for each call, so that it keeps nothing; what it throws becomes the run's
// error. Its class has a name outside of anonymous namespaces, by which linkers find it.

#ifndef FLOWC_OP_KERNEL_H
#define FLOWC_OP_KERNEL_H

#include <flowc/op.h>

#include <exception>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

namespace flowc {

struct Status {
  int32_t code = FLOWC_OK;
  std::string message;
  bool ok() const { return code == FLOWC_OK; }
};

namespace errors {
inline Status InvalidArgument(std::string text) { return {FLOWC_INVALID_ARGUMENT, std::move(text)}; }
inline Status NotFound(std::string text) { return {FLOWC_NOT_FOUND, std::move(text)}; }
inline Status OutOfRange(std::string text) { return {FLOWC_OUT_OF_RANGE, std::move(text)}; }
inline Status Unimplemented(std::string text) { return {FLOWC_UNIMPLEMENTED, std::move(text)}; }
inline Status Internal(std::string text) { return {FLOWC_INTERNAL, std::move(text)}; }
inline Status FailedPrecondition(std::string text) {
  return {FLOWC_FAILED_PRECONDITION, std::move(text)};
}
}  // namespace errors

// Elements one after another.
template <typename T>
class Flat {
 public:
  Flat(T *data, int64_t size) : data_(data), size_(size) {}
  int64_t size() const { return size_; }
  T *data() const { return data_; }
  T &operator[](int64_t i) const { return data_[i]; }
  T &operator()(int64_t i) const { return data_[i]; }
  T *begin() const { return data_; }
  T *end() const { return data_ + size_; }

 private:
  T *data_;
  int64_t size_;
};

class Tensor {
 public:
  explicit Tensor(const flowc_op_tensor &view) : view_(view) {}
  int dims() const { return view_.rank; }
  int64_t dim_size(int axis) const { return view_.dims[axis]; }
  int32_t dtype() const { return view_.dtype; }
  int64_t NumElements() const { return flowc_op_size(&view_); }
  std::vector<int64_t> shape() const { return {view_.dims, view_.dims + view_.rank}; }
  template <typename T>
  Flat<T> flat() const {
    return {static_cast<T *>(view_.data), NumElements()};
  }

 private:
  flowc_op_tensor view_;
};

// The attrs of a node.
class Attrs {
 public:
  Attrs(const flowc_op_attr *attrs, int32_t count) : attrs_(attrs), count_(count) {}
  int64_t Int(const char *name) const { return found(name).i; }
  bool Bool(const char *name) const { return found(name).i != 0; }
  double Float(const char *name) const { return found(name).f; }
  std::string String(const char *name) const { return found(name).s; }
  std::vector<int64_t> Ints(const char *name) const {
    return {found(name).ints, found(name).ints + found(name).count};
  }
  std::vector<double> Floats(const char *name) const {
    return {found(name).floats, found(name).floats + found(name).count};
  }

 private:
  const flowc_op_attr &found(const char *name) const {
    const flowc_op_attr *attr = flowc_op_find_attr(attrs_, count_, name);
    if (attr == nullptr) throw std::invalid_argument(std::string("no attr is named ") + name);
    return *attr;
  }
  const flowc_op_attr *attrs_;
  int32_t count_;
};

class OpKernelContext {
 public:
  explicit OpKernelContext(flowc_op_call *call) : call_(call) {}
  int num_inputs() const { return call_->input_count; }
  int num_outputs() const { return call_->output_count; }
  Tensor input(int i) const { return Tensor(call_->inputs[i]); }
  Tensor output(int i) const { return Tensor(call_->outputs[i]); }
  Attrs attrs() const { return {call_->attrs, call_->attr_count}; }
  // The object behind a handle.
  template <typename T>
  T *resource(int i) const {
    return static_cast<T *>(call_->inputs[i].data);
  }
  // The output of an op whose shape function leaves its sizes to the kernel.
  Tensor allocate_output(int i, std::initializer_list<int64_t> dims) {
    return allocate_output(i, std::vector<int64_t>(dims));
  }
  Tensor allocate_output(int i, const std::vector<int64_t> &dims) {
    if (call_->allocate == nullptr) throw std::logic_error("a library cannot allocate outputs");
    if (call_->allocate(call_, i, static_cast<int32_t>(dims.size()), dims.data()) == nullptr)
      throw std::invalid_argument("the output cannot have this shape");
    return output(i);
  }
  void SetStatus(const Status &status) {
    flowc_op_fail(call_, status.code, "%s", status.message.c_str());
  }
  bool ok() const { return call_->status == FLOWC_OK; }

 private:
  flowc_op_call *call_;
};

#define OP_REQUIRES(context, condition, status) \
  do {                                          \
    if (!(condition)) {                         \
      (context)->SetStatus(status);             \
      return;                                   \
    }                                           \
  } while (0)

// What a shape function sees.
class InferenceContext {
 public:
  explicit InferenceContext(flowc_op_shapes *shapes) : shapes_(shapes) {}
  int Rank(int i) const { return shapes_->inputs[i].rank; }
  int64_t Dim(int i, int axis) const { return shapes_->inputs[i].dims[axis]; }
  std::vector<int64_t> input(int i) const {
    const flowc_op_shape &found = shapes_->inputs[i];
    return {found.dims, found.dims + found.rank};
  }
  void set_output(int i, const std::vector<int64_t> &dims) {
    shapes_->outputs[i].rank = static_cast<int32_t>(dims.size());
    for (size_t k = 0; k < dims.size() && k < 64; k++) shapes_->outputs[i].dims[k] = dims[k];
  }
  Attrs attrs() const { return {shapes_->attrs, shapes_->attr_count}; }
  int num_outputs() const { return shapes_->output_count; }
  void fail(const std::string &text) {
    flowc_op_fail(shapes_, FLOWC_INVALID_ARGUMENT, "%s", text.c_str());
  }

 private:
  flowc_op_shapes *shapes_;
};

inline void UnchangedShape(InferenceContext *c) {
  for (int i = 0; i < c->num_outputs(); i++) c->set_output(i, c->input(0));
}

template <typename Call, typename Work>
void Guarded(Call *call, Work work) {
  try {
    work();
  } catch (const std::exception &error) {
    flowc_op_fail(call, FLOWC_INTERNAL, "%s", error.what());
  } catch (...) {
    flowc_op_fail(call, FLOWC_INTERNAL, "an exception that is no std::exception");
  }
}

template <typename Kernel>
FLOWC_OP_VISIBLE void ComputeOf(flowc_op_call *call) {
  Guarded(call, [call] {
    OpKernelContext context(call);
    Kernel().Compute(&context);
  });
}

template <void (*Shape)(InferenceContext *)>
void ShapeOf(flowc_op_shapes *shapes) {
  Guarded(shapes, [shapes] {
    InferenceContext context(shapes);
    Shape(&context);
  });
}

// An object made and destroyed by C++: `Resource(const Attrs &)`, and for a Saver
// `std::string Save()` and `void Restore(const std::string &)`.
template <typename Resource>
struct ResourceOf {
  static void *Create(const flowc_op_attr *attrs, int32_t count) {
    try {
      return new Resource(Attrs(attrs, count));
    } catch (...) {
      return nullptr;
    }
  }
  static void Destroy(void *object) { delete static_cast<Resource *>(object); }
  static int64_t Save(void *object, char *bytes, int64_t size) {
    const std::string text = static_cast<Resource *>(object)->Save();
    if (size >= static_cast<int64_t>(text.size())) text.copy(bytes, text.size());
    return static_cast<int64_t>(text.size());
  }
  static void Restore(void *object, const char *bytes, int64_t size) {
    static_cast<Resource *>(object)->Restore(std::string(bytes, static_cast<size_t>(size)));
  }
};

}  // namespace flowc

#define FLOWC_OP_JOIN(a, b) a##b
#define FLOWC_OP_TAG(a, b) FLOWC_OP_JOIN(a, b)

#define REGISTER_OP(signature, shape) \
  FLOWC_OP_NUMBERED(__COUNTER__, signature, flowc::ShapeOf<shape>, 0)
#define REGISTER_STATEFUL_OP(signature, shape) \
  FLOWC_OP_NUMBERED(__COUNTER__, signature, flowc::ShapeOf<shape>, 1)
#define FLOWC_OP_NUMBERED(number, signature, shape, is_stateful) \
  FLOWC_OP_FULL(number, signature, (shape), is_stateful)         \
  static_assert(true, "")

#define REGISTER_KERNEL(op, types, ...) FLOWC_KERNEL_NUMBERED(__COUNTER__, op, types, __VA_ARGS__)
#define FLOWC_KERNEL_NUMBERED(number, op, types, ...)                                             \
  static const flowc_kernel_definition FLOWC_OP_TAG(flowc_kernel_of_, number) = {                 \
      FLOWC_OP_ABI, sizeof(flowc_kernel_definition), op, types, flowc::ComputeOf<__VA_ARGS__>};   \
  static const flowc_kernel_definition *const FLOWC_OP_TAG(flowc_kernel_at_, number)              \
      FLOWC_OP_LISTED("flowc_kernels") = &FLOWC_OP_TAG(flowc_kernel_of_, number)

#define REGISTER_RESOURCE(name, attrs, type) FLOWC_RESOURCE_NUMBERED(__COUNTER__, name, attrs, type)
#define FLOWC_RESOURCE_NUMBERED(number, name, attrs, type)                                      \
  static const flowc_resource_definition FLOWC_OP_TAG(flowc_resource_of_, number) = {           \
      FLOWC_OP_ABI, sizeof(flowc_resource_definition), name, attrs,                             \
      flowc::ResourceOf<type>::Create, flowc::ResourceOf<type>::Destroy,                        \
      flowc::ResourceOf<type>::Save, flowc::ResourceOf<type>::Restore};                         \
  static const flowc_resource_definition *const FLOWC_OP_TAG(flowc_resource_at_, number)        \
      FLOWC_OP_LISTED("flowc_resources") = &FLOWC_OP_TAG(flowc_resource_of_, number)

#endif
