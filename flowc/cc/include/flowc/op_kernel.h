// Ops and kernels in C++17, in the manner of TensorFlow's REGISTER_OP and REGISTER_KERNEL_BUILDER.
//
//     #include <flowc/op_kernel.h>
//     using namespace flowc;
//
//     REGISTER_OP("ZeroOut").Input("to_zero: int32").Output("zeroed: int32")
//         .SetShapeFn([](InferenceContext *c) { c->set_output(0, c->input(0)); });
//
//     struct ZeroOutOp : OpKernel {
//       using OpKernel::OpKernel;
//       void Compute(OpKernelContext *context) override {
//         auto in = context->input(0).flat<int32_t>();
//         Tensor *zeroed = nullptr;
//         OP_REQUIRES_OK(context, context->allocate_output(0, context->input(0).shape(), &zeroed));
//         auto out = zeroed->flat<int32_t>();
//         for (int64_t i = 0; i < in.size(); i++) out(i) = i == 0 ? in(i) : 0;
//       }
//     };
//     REGISTER_KERNEL_BUILDER(Name("ZeroOut").Device(DEVICE_CPU), ZeroOutOp);
//
// A kernel is made anew for each call: what it keeps between them is in persistent tensors, or in
// resources; what it throws becomes the run's error. It need not be an OpKernel: any class with such a Compute is one. Its class has a
// name outside of anonymous namespaces, by which linkers find it.

#ifndef FLOWC_OP_KERNEL_H
#define FLOWC_OP_KERNEL_H

#include <flowc/op.h>

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace flowc {

struct Status {
  int32_t code = FLOWC_OK;
  std::string message;
  bool ok() const { return code == FLOWC_OK; }
  static Status OK() { return {}; }
};
inline Status OkStatus() { return {}; }

using TensorShape = std::vector<int64_t>;
inline constexpr const char *DEVICE_CPU = "CPU";
inline constexpr const char *DEVICE_GPU = "GPU";  // in C++ they compute nothing: a warning says so

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
  Tensor() : view_{} {}
  explicit Tensor(const flowc_op_tensor &view) : view_(view) {}
  int dims() const { return view_.rank; }
  int64_t dim_size(int axis) const { return view_.dims[axis]; }
  int32_t dtype() const { return view_.dtype; }
  int64_t NumElements() const { return flowc_op_size(&view_); }
  TensorShape shape() const { return {view_.dims, view_.dims + view_.rank}; }
  template <typename T>
  Flat<T> flat() const {
    return {static_cast<T *>(view_.data), NumElements()};
  }

 private:
  flowc_op_tensor view_;
};

// The number of a dtype.
template <typename T>
constexpr int32_t DtypeOf() {
  if constexpr (std::is_same_v<T, float>) return FLOWC_FLOAT;
  if constexpr (std::is_same_v<T, double>) return FLOWC_DOUBLE;
  if constexpr (std::is_same_v<T, bool>) return FLOWC_BOOL;
  if constexpr (std::is_same_v<T, int8_t>) return FLOWC_INT8;
  if constexpr (std::is_same_v<T, int16_t>) return FLOWC_INT16;
  if constexpr (std::is_same_v<T, int32_t>) return FLOWC_INT32;
  if constexpr (std::is_same_v<T, int64_t>) return FLOWC_INT64;
  if constexpr (std::is_same_v<T, uint8_t>) return FLOWC_UINT8;
  if constexpr (std::is_same_v<T, uint16_t>) return FLOWC_UINT16;
  if constexpr (std::is_same_v<T, uint32_t>) return FLOWC_UINT32;
  if constexpr (std::is_same_v<T, uint64_t>) return FLOWC_UINT64;
  return 0;
}

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

// What the constructor of a kernel sees.
class OpKernelConstruction {
 public:
  explicit OpKernelConstruction(flowc_op_call *call) : call_(call) {}
  Attrs attrs() const { return {call_->attrs, call_->attr_count}; }
  Status GetAttr(const char *name, int64_t *value) const { return got(value, attrs().Int(name)); }
  Status GetAttr(const char *name, int32_t *value) const { return got(value, attrs().Int(name)); }
  Status GetAttr(const char *name, bool *value) const { return got(value, attrs().Bool(name)); }
  Status GetAttr(const char *name, float *value) const { return got(value, attrs().Float(name)); }
  Status GetAttr(const char *name, double *value) const { return got(value, attrs().Float(name)); }
  Status GetAttr(const char *name, std::string *value) const {
    return got(value, attrs().String(name));
  }
  Status GetAttr(const char *name, std::vector<int64_t> *value) const {
    return got(value, attrs().Ints(name));
  }
  Status GetAttr(const char *name, std::vector<double> *value) const {
    return got(value, attrs().Floats(name));
  }
  void SetStatus(const Status &status) {
    flowc_op_fail(call_, status.code, "%s", status.message.c_str());
  }

 private:
  template <typename T, typename V>
  static Status got(T *value, V &&found) {
    *value = static_cast<T>(found);
    return {};
  }
  flowc_op_call *call_;
};

class OpKernelContext {
 public:
  explicit OpKernelContext(flowc_op_call *call) : call_(call) {
    made_.reserve(static_cast<size_t>(call->output_count));
  }
  int num_inputs() const { return call_->input_count; }
  int num_outputs() const { return call_->output_count; }
  Tensor input(int i) const { return Tensor(call_->inputs[i]); }
  // The output of an op whose shape function says its sizes.
  Tensor output(int i) const { return Tensor(call_->outputs[i]); }
  Attrs attrs() const { return {call_->attrs, call_->attr_count}; }
  // The object behind a handle.
  template <typename T>
  T *resource(int i) const {
    return static_cast<T *>(call_->inputs[i].data);
  }
  // An output of the sizes that the shape function says, or that it leaves to the kernel.
  Status allocate_output(int i, const TensorShape &dims, Tensor **tensor) {
    const flowc_op_tensor &known = call_->outputs[i];
    if (known.dtype == 0) {
      if (call_->allocate == nullptr ||
          call_->allocate(call_, i, static_cast<int32_t>(dims.size()), dims.data()) == nullptr)
        return errors::InvalidArgument("the output cannot have this shape");
    } else if (output(i).shape() != dims) {
      return errors::InvalidArgument("the output has another shape than its shape function says");
    }
    made_.push_back(output(i));
    *tensor = &made_.back();
    return {};
  }
  // A tensor that the kernel has until it returns.
  template <typename T>
  Status allocate_temp(const TensorShape &dims, Tensor *tensor) {
    return tensor_of<T>(dims, flowc_op_scratch, tensor);
  }
  // A tensor whose elements the node keeps between calls, zeros at first; its op is one with
  // SetIsPersistent(), and no call wants more elements than the first.
  template <typename T>
  Status allocate_persistent(const TensorShape &dims, Tensor *tensor) {
    if (call_->size < sizeof(flowc_op_call) || call_->persistent == nullptr)
      return errors::FailedPrecondition("the op is registered without SetIsPersistent()");
    return tensor_of<T>(dims, flowc_op_persistent, tensor);
  }
  void SetStatus(const Status &status) {
    flowc_op_fail(call_, status.code, "%s", status.message.c_str());
  }
  bool ok() const { return call_->status == FLOWC_OK; }

 private:
  template <typename T>
  Status tensor_of(const TensorShape &dims, void *(*take)(flowc_op_call *, int64_t),
                   Tensor *tensor) {
    const int64_t head = static_cast<int64_t>(dims.size() * sizeof(int64_t));
    int64_t bytes = sizeof(T);
    for (int64_t size : dims)
      if (size < 0 || __builtin_mul_overflow(bytes, size, &bytes))
        return errors::InvalidArgument("no memory has the size of the tensor");
    auto *sizes = static_cast<int64_t *>(flowc_op_scratch(call_, head));
    void *data = take(call_, bytes);
    if (sizes == nullptr || data == nullptr)
      return {FLOWC_RESOURCE_EXHAUSTED, "no memory for the tensor"};
    for (size_t k = 0; k < dims.size(); k++) sizes[k] = dims[k];
    *tensor = Tensor({data, sizes, static_cast<int32_t>(dims.size()), DtypeOf<T>()});
    return {};
  }
  flowc_op_call *call_;
  std::vector<Tensor> made_;
};

class OpKernel {
 public:
  explicit OpKernel(OpKernelConstruction *) {}
  virtual ~OpKernel() = default;
  virtual void Compute(OpKernelContext *context) = 0;
};

#define OP_REQUIRES(context, condition, status) \
  do {                                          \
    if (!(condition)) {                         \
      (context)->SetStatus(status);             \
      return;                                   \
    }                                           \
  } while (0)
#define OP_REQUIRES_OK(context, ...)                    \
  do {                                                  \
    const flowc::Status flowc_found = (__VA_ARGS__);    \
    if (!flowc_found.ok()) {                            \
      (context)->SetStatus(flowc_found);                \
      return;                                           \
    }                                                   \
  } while (0)

// What a shape function sees: it returns a Status, or nothing.
class InferenceContext {
 public:
  explicit InferenceContext(flowc_op_shapes *shapes) : shapes_(shapes) {}
  int Rank(int i) const { return shapes_->inputs[i].rank; }
  int64_t Dim(int i, int axis) const { return shapes_->inputs[i].dims[axis]; }
  TensorShape input(int i) const {
    const flowc_op_shape &found = shapes_->inputs[i];
    return {found.dims, found.dims + found.rank};
  }
  void set_output(int i, const TensorShape &dims) {
    shapes_->outputs[i].rank = static_cast<int32_t>(dims.size());
    for (size_t k = 0; k < dims.size() && k < 64; k++) shapes_->outputs[i].dims[k] = dims[k];
  }
  Attrs attrs() const { return {shapes_->attrs, shapes_->attr_count}; }
  int num_outputs() const { return shapes_->output_count; }
  void SetStatus(const Status &status) {
    flowc_op_fail(shapes_, status.code, "%s", status.message.c_str());
  }

 private:
  flowc_op_shapes *shapes_;
};

struct UnchangedShapeFunction {
  void operator()(InferenceContext *c) const {
    for (int i = 0; i < c->num_outputs(); i++) c->set_output(i, c->input(0));
  }
};
inline constexpr UnchangedShapeFunction UnchangedShape{};

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
    if constexpr (std::is_constructible_v<Kernel, OpKernelConstruction *>) {
      OpKernelConstruction construction(call);
      Kernel kernel(&construction);
      if (context.ok()) kernel.Compute(&context);
    } else {
      Kernel().Compute(&context);
    }
  });
}

template <typename Function>
struct ShapeOf {
  alignas(Function) static inline unsigned char room[sizeof(Function)];
  static void Call(flowc_op_shapes *shapes) {
    Guarded(shapes, [shapes] {
      InferenceContext context(shapes);
      const auto &function = *reinterpret_cast<const Function *>(room);
      if constexpr (std::is_void_v<decltype(function(&context))>) {
        function(&context);
      } else {
        const Status found = function(&context);
        if (!found.ok()) context.SetStatus(found);
      }
    });
  }
};

// Texts that are put together while a library is loaded: without memory of the heap, so that the
// order in which libraries begin and end does not matter.
template <int Size>
class Text {
 public:
  void add(const char *text) {
    while (*text != 0 && used_ + 1 < Size) text_[used_++] = *text++;
  }
  bool is_empty() const { return used_ == 0; }
  const char *c_str() const { return text_; }

 private:
  char text_[Size] = {};
  int used_ = 0;
};

// What follows REGISTER_OP: the texts are those of TensorFlow's registry.
class OpDef : public flowc_op_definition {
 public:
  explicit OpDef(const char *name) : flowc_op_definition{}, name_(name) {
    abi = FLOWC_OP_ABI;
    size = sizeof(flowc_op_definition);
    write();
  }
  OpDef &Input(const char *text) { return join(inputs_, text); }
  OpDef &Output(const char *text) { return join(outputs_, text); }
  OpDef &Attr(const char *text) { return join(attrs_, text); }
  OpDef &Doc(const char *) { return *this; }
  OpDef &SetIsStateful() {
    is_stateful = 1;
    return *this;
  }
  // Nodes keep what their kernels get from allocate_persistent.
  OpDef &SetIsPersistent() {
    is_stateful = 2;
    return *this;
  }
  template <typename Function>
  OpDef &SetShapeFn(const Function &function) {
    static_assert(std::is_class_v<Function>, "SetShapeFn takes a lambda");
    new (ShapeOf<Function>::room) Function(function);
    shape = ShapeOf<Function>::Call;
    return *this;
  }

 private:
  template <int Size>
  OpDef &join(Text<Size> &texts, const char *text) {
    if (!texts.is_empty()) texts.add(", ");
    texts.add(text);
    write();
    return *this;
  }
  void write() {
    whole_ = {};
    for (const char *part : {name_, "(", inputs_.c_str(), attrs_.is_empty() ? "" : "; ",
                             attrs_.c_str(), ")", outputs_.is_empty() ? "" : " -> (",
                             outputs_.c_str(), outputs_.is_empty() ? "" : ")"})
      whole_.add(part);
    signature = whole_.c_str();
  }
  const char *name_;
  Text<1024> inputs_, outputs_, attrs_;
  Text<4096> whole_;
};

template <typename T>
constexpr const char *NameOf() {
  if constexpr (std::is_same_v<T, float>) return "float";
  if constexpr (std::is_same_v<T, double>) return "double";
  if constexpr (std::is_same_v<T, bool>) return "bool";
  if constexpr (std::is_same_v<T, int8_t>) return "int8";
  if constexpr (std::is_same_v<T, int16_t>) return "int16";
  if constexpr (std::is_same_v<T, int32_t>) return "int32";
  if constexpr (std::is_same_v<T, int64_t>) return "int64";
  if constexpr (std::is_same_v<T, uint8_t>) return "uint8";
  if constexpr (std::is_same_v<T, uint16_t>) return "uint16";
  if constexpr (std::is_same_v<T, uint32_t>) return "uint32";
  if constexpr (std::is_same_v<T, uint64_t>) return "uint64";
  return "a type that no tensor has";
}

// Which nodes a kernel is for: Name("ZeroOut").Device(DEVICE_CPU).TypeConstraint<float>("T").
class Name {
 public:
  explicit Name(const char *op) : op_(op) {}
  Name &Device(const char *device) {
    device_ = device;
    return *this;
  }
  template <typename T>
  Name &TypeConstraint(const char *attr) {
    for (const char *part : {types_.is_empty() ? "" : "; ", attr, ": ", NameOf<T>()})
      types_.add(part);
    return *this;
  }
  const char *op() const { return op_; }
  const Text<512> &types() const { return types_; }
  const char *device() const { return device_; }

 private:
  const char *op_;
  const char *device_ = DEVICE_CPU;
  Text<512> types_;
};

class KernelDef : public flowc_kernel_definition {
 public:
  KernelDef(const Name &name, flowc_op_compute function)
      : flowc_kernel_definition{}, types_(name.types()) {
    abi = FLOWC_OP_ABI;
    size = sizeof(flowc_kernel_definition);
    op = name.op();
    types = types_.c_str();
    device = name.device();
    compute = std::string_view(device) == DEVICE_CPU ? function : nullptr;
  }

 private:
  Text<512> types_;
};

// An object made and destroyed by C++: `Resource(const Attrs &)`, and for a Saver
// `std::string Save()` and `void Restore(const std::string &)`.
template <typename Resource>
struct ResourceOf {
  FLOWC_OP_VISIBLE static void *Create(const flowc_op_attr *attrs, int32_t count) {
    try {
      return new Resource(Attrs(attrs, count));
    } catch (...) {
      return nullptr;
    }
  }
  FLOWC_OP_VISIBLE static void Destroy(void *object) { delete static_cast<Resource *>(object); }
  FLOWC_OP_VISIBLE static int64_t Save(void *object, char *bytes, int64_t size) {
    const std::string text = static_cast<Resource *>(object)->Save();
    if (size >= static_cast<int64_t>(text.size())) text.copy(bytes, text.size());
    return static_cast<int64_t>(text.size());
  }
  FLOWC_OP_VISIBLE static void Restore(void *object, const char *bytes, int64_t size) {
    static_cast<Resource *>(object)->Restore(std::string(bytes, static_cast<size_t>(size)));
  }
};

}  // namespace flowc

#define FLOWC_OP_JOIN(a, b) a##b
#define FLOWC_OP_TAG(a, b) FLOWC_OP_JOIN(a, b)

#define REGISTER_OP(name) FLOWC_OP_NUMBERED(__COUNTER__, name)
#define FLOWC_OP_NUMBERED(number, name)                                                        \
  static flowc::OpDef FLOWC_OP_TAG(flowc_op_of_, number)(name);                                \
  static const flowc_op_definition *const FLOWC_OP_TAG(flowc_op_at_, number) FLOWC_OP_LISTED(  \
      "flowc_ops") = &FLOWC_OP_TAG(flowc_op_of_, number);                                      \
  [[maybe_unused]] static const flowc::OpDef &FLOWC_OP_TAG(flowc_op_done_, number) =           \
      FLOWC_OP_TAG(flowc_op_of_, number)

#define REGISTER_KERNEL_BUILDER(name, ...) FLOWC_KERNEL_NUMBERED(__COUNTER__, name, __VA_ARGS__)
#define FLOWC_KERNEL_NUMBERED(number, name, ...)                                                \
  static flowc::KernelDef FLOWC_OP_TAG(flowc_kernel_of_, number)(flowc::name,                   \
                                                                 flowc::ComputeOf<__VA_ARGS__>); \
  static const flowc_kernel_definition *const FLOWC_OP_TAG(flowc_kernel_at_, number)            \
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
