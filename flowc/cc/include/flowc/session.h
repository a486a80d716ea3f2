/* A Session of graphs in C++, of the shape of tensorflow::Session; header-only, C++11.
 *
 *     flowc::GraphDef graph;
 *     flowc::Status status = flowc::ReadBinaryProto(flowc::Env::Default(), "model.pb", &graph);
 *     std::unique_ptr<flowc::Session> session(flowc::NewSession(flowc::SessionOptions()));
 *     if (status.ok()) status = session->Create(graph);
 *     flowc::Tensor x(flowc::DT_FLOAT, flowc::TensorShape({1, 3}));
 *     x.flat<float>()(0) = 1;
 *     std::vector<flowc::Tensor> outputs;
 *     if (status.ok()) status = session->Run({{"x", x}}, {"y:0"}, {"update_state"}, &outputs);
 *     session->Close();
 *
 * Compile and link with what `flowc config --cflags --libs` prints. A program of TensorFlow's has
 * `namespace tensorflow = flowc;` in place of its includes. */

#ifndef FLOWC_SESSION_H
#define FLOWC_SESSION_H

#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "flowc/session_abi.h"

namespace flowc {

typedef std::string tstring;

namespace error {
/* TensorFlow's numbers. */
enum Code {
  OK = 0,
  CANCELLED = 1,
  UNKNOWN = 2,
  INVALID_ARGUMENT = 3,
  DEADLINE_EXCEEDED = 4,
  NOT_FOUND = 5,
  ALREADY_EXISTS = 6,
  PERMISSION_DENIED = 7,
  RESOURCE_EXHAUSTED = 8,
  FAILED_PRECONDITION = 9,
  ABORTED = 10,
  OUT_OF_RANGE = 11,
  UNIMPLEMENTED = 12,
  INTERNAL = 13,
  UNAVAILABLE = 14,
  DATA_LOSS = 15,
  UNAUTHENTICATED = 16
};
}  // namespace error

/* What a call came to: OK, or a code and a message. */
class Status {
 public:
  Status() : code_(error::OK) {}
  Status(error::Code code, const std::string &message) : code_(code), message_(message) {}

  static Status OK() { return Status(); }

  bool ok() const { return code_ == error::OK; }
  error::Code code() const { return code_; }
  const std::string &message() const { return message_; }
  const std::string &error_message() const { return message_; }

  std::string ToString() const {
    static const char *const names[] = {
        "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",  "DEADLINE_EXCEEDED",
        "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
        "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",          "UNAVAILABLE",
        "DATA_LOSS", "UNAUTHENTICATED"};
    return ok() ? names[0] : names[code_] + (": " + message_);
  }

 private:
  error::Code code_;
  std::string message_;
};

/* TensorFlow's numbers of element types. */
enum DataType {
  DT_INVALID = 0,
  DT_FLOAT = 1,
  DT_DOUBLE = 2,
  DT_INT32 = 3,
  DT_UINT8 = 4,
  DT_INT16 = 5,
  DT_INT8 = 6,
  DT_STRING = 7,
  DT_COMPLEX64 = 8,
  DT_INT64 = 9,
  DT_BOOL = 10,
  DT_QINT8 = 11,
  DT_QUINT8 = 12,
  DT_QINT32 = 13,
  DT_BFLOAT16 = 14,
  DT_QINT16 = 15,
  DT_QUINT16 = 16,
  DT_UINT16 = 17,
  DT_COMPLEX128 = 18,
  DT_HALF = 19,
  DT_RESOURCE = 20,
  DT_VARIANT = 21,
  DT_UINT32 = 22,
  DT_UINT64 = 23
};

/* Bytes of an element; 0 where elements have no fixed size. */
inline size_t DataTypeSize(DataType dtype) {
  static const unsigned char sizes[] = {0, 4, 8, 4, 1, 2, 1, 0, 8, 8, 1, 1,
                                        1, 4, 2, 2, 2, 2, 16, 2, 0, 0, 4, 8};
  return sizes[dtype];
}

template <typename T>
struct DataTypeToEnum;
template <> struct DataTypeToEnum<float> { static constexpr DataType value = DT_FLOAT; };
template <> struct DataTypeToEnum<double> { static constexpr DataType value = DT_DOUBLE; };
template <> struct DataTypeToEnum<int32_t> { static constexpr DataType value = DT_INT32; };
template <> struct DataTypeToEnum<uint8_t> { static constexpr DataType value = DT_UINT8; };
template <> struct DataTypeToEnum<int16_t> { static constexpr DataType value = DT_INT16; };
template <> struct DataTypeToEnum<int8_t> { static constexpr DataType value = DT_INT8; };
template <> struct DataTypeToEnum<tstring> { static constexpr DataType value = DT_STRING; };
template <> struct DataTypeToEnum<int64_t> { static constexpr DataType value = DT_INT64; };
template <> struct DataTypeToEnum<bool> { static constexpr DataType value = DT_BOOL; };
template <> struct DataTypeToEnum<uint16_t> { static constexpr DataType value = DT_UINT16; };
template <> struct DataTypeToEnum<uint32_t> { static constexpr DataType value = DT_UINT32; };
template <> struct DataTypeToEnum<uint64_t> { static constexpr DataType value = DT_UINT64; };
template <> struct DataTypeToEnum<std::complex<float>> {
  static constexpr DataType value = DT_COMPLEX64;
};
template <> struct DataTypeToEnum<std::complex<double>> {
  static constexpr DataType value = DT_COMPLEX128;
};

/* The sizes of a tensor. */
class TensorShape {
 public:
  TensorShape() {}
  TensorShape(std::initializer_list<int64_t> sizes) : sizes_(sizes) {}
  explicit TensorShape(const std::vector<int64_t> &sizes) : sizes_(sizes) {}

  int dims() const { return static_cast<int>(sizes_.size()); }
  int64_t dim_size(int axis) const { return sizes_.at(static_cast<size_t>(axis)); }
  const std::vector<int64_t> &dim_sizes() const { return sizes_; }
  void AddDim(int64_t size) { sizes_.push_back(size); }

  int64_t num_elements() const {
    int64_t count = 1;
    for (int64_t size : sizes_) count *= size;
    return count;
  }

  bool operator==(const TensorShape &other) const { return sizes_ == other.sizes_; }
  bool operator!=(const TensorShape &other) const { return sizes_ != other.sizes_; }

  std::string DebugString() const {
    std::string text = "[";
    for (size_t i = 0; i < sizes_.size(); i++) text += (i ? "," : "") + std::to_string(sizes_[i]);
    return text + "]";
  }

 private:
  std::vector<int64_t> sizes_;
};

/* Elements of a tensor by N indices. */
template <typename T, size_t N>
class TensorMap {
 public:
  TensorMap(T *data, const std::vector<int64_t> &sizes) : data_(data), sizes_(sizes) {}

  T *data() const { return data_; }
  T *begin() const { return data_; }
  T *end() const { return data_ + size(); }
  int64_t dimension(size_t axis) const { return sizes_.at(axis); }
  int64_t size() const {
    int64_t count = 1;
    for (int64_t size : sizes_) count *= size;
    return count;
  }

  template <typename... Indices>
  T &operator()(Indices... indices) const {
    static_assert(sizeof...(Indices) == N, "as many indices as axes");
    const int64_t found[] = {static_cast<int64_t>(indices)..., 0};
    int64_t at = 0;
    for (size_t axis = 0; axis < N; axis++) at = at * sizes_[axis] + found[axis];
    return data_[at];
  }

 private:
  T *data_;
  std::vector<int64_t> sizes_;
};

/* Elements of one type in dense row-major order. Copies share them. */
class Tensor {
 public:
  Tensor() : dtype_(DT_FLOAT), shape_({0}) {}

  /* Elements are 0, false or empty. */
  Tensor(DataType dtype, const TensorShape &shape) : dtype_(dtype), shape_(shape) {
    const size_t count = static_cast<size_t>(shape.num_elements());
    if (dtype == DT_STRING) {
      strings_ = std::make_shared<std::vector<tstring>>(count);
    } else {
      void *data = nullptr;
      const size_t size = count * DataTypeSize(dtype);
      if (posix_memalign(&data, kAlignment, size ? size : 1)) throw std::bad_alloc();
      std::memset(data, 0, size);
      data_ = std::shared_ptr<void>(data, std::free);
    }
  }

  /* A scalar. */
  template <typename T, DataType dtype = DataTypeToEnum<T>::value>
  explicit Tensor(const T &value) : Tensor(dtype, TensorShape()) {
    scalar<T>()() = value;
  }
  explicit Tensor(const char *value) : Tensor(tstring(value)) {}

  DataType dtype() const { return dtype_; }
  const TensorShape &shape() const { return shape_; }
  int dims() const { return shape_.dims(); }
  int64_t dim_size(int axis) const { return shape_.dim_size(axis); }
  int64_t NumElements() const { return shape_.num_elements(); }
  size_t TotalBytes() const { return static_cast<size_t>(NumElements()) * DataTypeSize(dtype_); }

  /* Of types without a type in C++ (DT_HALF, DT_BFLOAT16, quantized ones): the bytes. */
  void *data() const { return data_.get(); }

  template <typename T>
  TensorMap<T, 1> flat() {
    return TensorMap<T, 1>(elements<T>(), {NumElements()});
  }
  template <typename T>
  TensorMap<const T, 1> flat() const {
    return TensorMap<const T, 1>(elements<T>(), {NumElements()});
  }
  template <typename T, size_t N>
  TensorMap<T, N> tensor() {
    check(shape_.dims() == static_cast<int>(N), "another rank than asked for");
    return TensorMap<T, N>(elements<T>(), shape_.dim_sizes());
  }
  template <typename T, size_t N>
  TensorMap<const T, N> tensor() const {
    check(shape_.dims() == static_cast<int>(N), "another rank than asked for");
    return TensorMap<const T, N>(elements<T>(), shape_.dim_sizes());
  }
  template <typename T>
  TensorMap<T, 0> scalar() {
    return tensor<T, 0>();
  }
  template <typename T>
  TensorMap<const T, 0> scalar() const {
    return tensor<T, 0>();
  }
  template <typename T>
  TensorMap<T, 1> vec() {
    return tensor<T, 1>();
  }
  template <typename T>
  TensorMap<const T, 1> vec() const {
    return tensor<T, 1>();
  }
  template <typename T>
  TensorMap<T, 2> matrix() {
    return tensor<T, 2>();
  }
  template <typename T>
  TensorMap<const T, 2> matrix() const {
    return tensor<T, 2>();
  }

 private:
  friend class Session;
  static constexpr size_t kAlignment = 64;

  /* Takes over what a run gave. */
  explicit Tensor(flowc_tensor *given)
      : dtype_(static_cast<DataType>(given->dtype)),
        shape_(std::vector<int64_t>(given->dims, given->dims + given->rank)) {
    if (dtype_ == DT_STRING) {
      const flowc_bytes *texts = static_cast<const flowc_bytes *>(given->data);
      strings_ = std::make_shared<std::vector<tstring>>();
      for (int64_t i = 0; i < NumElements(); i++) {
        strings_->emplace_back(static_cast<const char *>(texts[i].data), texts[i].size);
      }
      flowc_tensor_free(given);
    } else {
      flowc_tensor held = *given;
      data_ = std::shared_ptr<void>(const_cast<void *>(given->data), [held](void *) {
        flowc_tensor copy = held;
        flowc_tensor_free(&copy);
      });
    }
  }

  /* What a run takes; `texts` holds the places of strings. */
  flowc_tensor as_given(std::vector<flowc_bytes> *texts) const {
    flowc_tensor given = {dtype_, dims(), shape_.dim_sizes().data(), data_.get(), TotalBytes()};
    if (dtype_ == DT_STRING) {
      if (strings_) {
        for (const tstring &text : *strings_) texts->push_back({text.data(), text.size()});
      }
      given.data = texts->data();
      given.size = texts->size() * sizeof(flowc_bytes);
    }
    return given;
  }

  template <typename T>
  T *elements() const {
    check(DataTypeToEnum<T>::value == dtype_, "another type than asked for");
    return static_cast<T *>(dtype_ == DT_STRING ? static_cast<void *>(strings_ ? strings_->data() : nullptr) : data_.get());
  }

  /* A fault of the program, as in TensorFlow. */
  void check(bool holds, const char *fault) const {
    if (holds) return;
    std::fprintf(stderr, "flowc::Tensor of type %d and shape %s: %s\n", dtype_,
                 shape_.DebugString().c_str(), fault);
    std::abort();
  }

  DataType dtype_;
  TensorShape shape_;
  std::shared_ptr<void> data_;
  std::shared_ptr<std::vector<tstring>> strings_;
};

/* A graph as its bytes: a GraphDef, binary, text or JSON, or a MetaGraphDef (.meta), whose graph is
 * taken. What is wrong with it is told by Session::Create. */
class GraphDef {
 public:
  bool ParseFromString(const std::string &bytes) {
    bytes_ = bytes;
    return true;
  }
  bool ParseFromArray(const void *data, int size) {
    bytes_.assign(static_cast<const char *>(data), static_cast<size_t>(size));
    return true;
  }
  const std::string &SerializeAsString() const { return bytes_; }

 private:
  std::string bytes_;
};

/* Where files are: the machine's file system. */
class Env {
 public:
  static Env *Default() {
    static Env machine;
    return &machine;
  }
};

inline Status ReadBinaryProto(Env *, const std::string &path, GraphDef *graph) {
  std::ifstream file(path.c_str(), std::ios::binary);
  if (!file) return Status(error::NOT_FOUND, path + "; No such file or directory");
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad()) return Status(error::DATA_LOSS, path + ": the file cannot be read");
  graph->ParseFromString(bytes);
  return Status();
}
inline Status ReadTextProto(Env *env, const std::string &path, GraphDef *graph) {
  return ReadBinaryProto(env, path, graph);
}

class ConfigProto {
 public:
  /* Threads of one run; 0: one a core. */
  void set_intra_op_parallelism_threads(int count) { threads_ = count; }
  int intra_op_parallelism_threads() const { return threads_; }

 private:
  int threads_ = 0;
};

struct SessionOptions {
  std::string target; /* "": this process */
  ConfigProto config;
  /* What nodes may do beyond computing: "files", "network", "python", "print". Not in TensorFlow. */
  std::vector<std::string> allow;
};

class RunOptions {
 public:
  /* The longest that a run may take; 0: any time. */
  void set_timeout_in_ms(int64_t time) { timeout_ms_ = time; }
  int64_t timeout_in_ms() const { return timeout_ms_; }

 private:
  int64_t timeout_ms_ = 0;
};

/* Runs parts of a graph. Any number of threads may call Run at once; Create, Extend and Close wait
 * for one another, and Close is for one thread after all runs have returned. */
class Session {
 public:
  typedef std::vector<std::pair<std::string, Tensor>> Feeds;
  typedef std::vector<std::string> Names;

  ~Session() { flowc_session_delete(session_); }
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  /* Gives the session its graph. An error for one that has a graph, until it is closed. */
  Status Create(const GraphDef &graph) { return with_bytes(flowc_session_create, graph); }

  /* Adds nodes, which may take what the graph has. An error for names that it has. */
  Status Extend(const GraphDef &graph) { return with_bytes(flowc_session_extend, graph); }

  /* Computes tensors (`a:0`, `a`), in the order of their names, and runs target operations, which
   * give nothing. After an error `outputs` are undefined. */
  Status Run(const Feeds &inputs, const Names &output_tensor_names,
             const Names &target_node_names, std::vector<Tensor> *outputs) {
    return Run(RunOptions(), inputs, output_tensor_names, target_node_names, outputs);
  }

  Status Run(const RunOptions &run_options, const Feeds &inputs, const Names &output_tensor_names,
             const Names &target_node_names, std::vector<Tensor> *outputs) {
    if (!outputs && !output_tensor_names.empty()) {
      return Status(error::INVALID_ARGUMENT, "outputs is null, and tensors are asked for");
    }
    std::vector<const char *> input_names;
    std::vector<flowc_tensor> given;
    std::vector<std::vector<flowc_bytes>> texts(inputs.size());
    for (size_t i = 0; i < inputs.size(); i++) {
      input_names.push_back(inputs[i].first.c_str());
      given.push_back(inputs[i].second.as_given(&texts[i]));
    }
    const std::vector<const char *> asked = texts_of(output_tensor_names);
    const std::vector<const char *> targets = texts_of(target_node_names);
    const flowc_run_request request = {
        given.size(),   input_names.data(), given.data(),    asked.size(),
        asked.data(),   targets.size(),     targets.data(),  run_options.timeout_in_ms()};
    std::vector<flowc_tensor> found(asked.size());
    const int code = flowc_session_run(session_, &request, found.data());
    if (code) return status_of(code);
    if (outputs) outputs->clear();
    for (flowc_tensor &tensor : found) outputs->push_back(Tensor(&tensor));
    return Status();
  }

  /* Frees the graph, its programs and its variables. */
  Status Close() { return status_of(flowc_session_close(session_)); }

 private:
  friend Status NewSession(const SessionOptions &, Session **);
  explicit Session(flowc_session *session) : session_(session) {}

  static Status status_of(int code) {
    if (!code) return Status();
    return Status(static_cast<error::Code>(code), flowc_session_message());
  }

  Status with_bytes(int (*call)(flowc_session *, const flowc_bytes *), const GraphDef &graph) {
    const std::string &held = graph.SerializeAsString();
    const flowc_bytes bytes = {held.data(), held.size()};
    return status_of(call(session_, &bytes));
  }

  static std::vector<const char *> texts_of(const Names &names) {
    std::vector<const char *> found;
    for (const std::string &name : names) found.push_back(name.c_str());
    return found;
  }

  flowc_session *session_;
};

/* Makes a session, which the caller deletes. */
inline Status NewSession(const SessionOptions &options, Session **session) {
  std::string allow;
  for (const std::string &name : options.allow) allow += name + ",";
  const int threads = options.config.intra_op_parallelism_threads();
  const flowc_session_options given = {options.target.c_str(), allow.c_str(), threads};
  flowc_session *made = nullptr;
  const int code = flowc_session_new(&given, &made);
  *session = code ? nullptr : new Session(made);
  return Session::status_of(code);
}

/* The same; nullptr where it cannot be made, which is told on stderr. */
inline Session *NewSession(const SessionOptions &options) {
  Session *session = nullptr;
  const Status status = NewSession(options, &session);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return session;
}

}  // namespace flowc

#endif
