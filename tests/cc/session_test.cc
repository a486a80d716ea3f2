// What a program sees of a Session in C++: the calls, the errors, 16 threads.
//
//     g++ -std=c++17 tests/cc/session_test.cc $(flowc config --cflags --libs) && ./a.out tests/cc
//
// With -DWITH_TENSORFLOW it is a program of TensorFlow's, whose output is recorded.

#ifdef WITH_TENSORFLOW
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/platform/env.h"
#include "tensorflow/core/public/session.h"
namespace tf = tensorflow;
using Status = absl::Status;
#else
#include "flowc/session.h"
namespace tf = flowc;
using Status = flowc::Status;
#endif

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using Feeds = std::vector<std::pair<std::string, tf::Tensor>>;
using Names = std::vector<std::string>;

static const int kThreads = 16, kRuns = 25;

static void say(const char *what, const Status &status) {
  std::printf("%s: %d\n", what, static_cast<int>(status.code()));
  if (std::getenv("WORDS")) std::printf("    %s\n", status.ToString().c_str());
}

static tf::SessionOptions options() {
  tf::SessionOptions options;
#ifdef WITH_TENSORFLOW  // its graphs do not grow otherwise
  options.config.mutable_experimental()->set_disable_optimize_for_static_graph(true);
#endif
  return options;
}

static tf::GraphDef read(const std::string &path) {
  tf::GraphDef graph;
  say(path.substr(path.rfind('/') + 1).c_str(),
      tf::ReadTextProto(tf::Env::Default(), path, &graph));
  return graph;
}

static tf::Tensor row(float first) {
  tf::Tensor x(tf::DT_FLOAT, tf::TensorShape({1, 3}));
  for (int i = 0; i < 3; i++) x.matrix<float>()(0, i) = first + i;
  return x;
}

static void show(const char *what, const std::vector<tf::Tensor> &tensors) {
  for (const tf::Tensor &t : tensors) {
    std::printf("%s: type %d, rank %d,", what, static_cast<int>(t.dtype()), t.dims());
    for (int64_t i = 0; i < t.NumElements(); i++) {
      if (t.dtype() == tf::DT_FLOAT) std::printf(" %g", t.flat<float>()(i));
      if (t.dtype() == tf::DT_INT64) std::printf(" %d", static_cast<int>(t.flat<int64_t>()(i)));
      if (t.dtype() == tf::DT_STRING) {
        const std::string text(t.flat<tf::tstring>()(i));
        std::printf(" '%s' of %d", text.c_str(), static_cast<int>(text.size()));
      }
    }
    std::printf("\n");
  }
}

struct Case {
  const char *what;
  Feeds feeds;
  Names outputs, targets;
};

static std::vector<Case> errors() {
  const tf::Tensor x = row(0);
  const tf::Tensor wide(tf::DT_FLOAT, tf::TensorShape({1, 4}));
  const tf::Tensor whole(tf::DT_INT32, tf::TensorShape({1, 3}));
  tf::Tensor outside(tf::DT_INT32, tf::TensorShape({1}));
  outside.flat<int32_t>()(0) = 7;
  return {
      {"nothing asked", {}, {}, {}},
      {"unfed placeholder", {}, {"y"}, {}},
      {"unknown output", {{"x", x}}, {"nothing:0"}, {}},
      {"output that the node has not", {{"x", x}}, {"y:5"}, {}},
      {"unknown target", {}, {}, {"nothing"}},
      {"target with a number", {}, {}, {"init:0"}},
      {"unknown input", {{"nothing", x}}, {"w"}, {}},
      {"fed twice", {{"x", x}, {"x:0", x}}, {"y"}, {}},
      {"another type", {{"x", whole}}, {"y"}, {}},
      {"another size", {{"x", wide}}, {"y"}, {}},
      {"index out of range", {{"ids", outside}}, {"rows"}, {}},
  };
}

static void run_errors(tf::Session *session) {
  for (const Case &c : errors()) {
    std::vector<tf::Tensor> outputs;
    say(c.what, session->Run(c.feeds, c.outputs, c.targets, &outputs));
  }
}

static void run_plainly(tf::Session *session) {
  std::vector<tf::Tensor> outputs;
  say("two outputs", session->Run({{"x", row(1)}}, {"y:0", "w", "y"}, {"bump"}, &outputs));
  show("in their order", outputs);
  tf::Tensor names(tf::DT_STRING, tf::TensorShape({2}));
  names.flat<tf::tstring>()(0) = "you";
  names.flat<tf::tstring>()(1) = std::string("a\0b", 3);
  say("strings", session->Run({{"name", names}}, {"greeting"}, {}, &outputs));
  show("strings", outputs);
  tf::Tensor w(tf::DT_FLOAT, tf::TensorShape({3, 2}));
  for (int i = 0; i < 6; i++) w.flat<float>()(i) = i % 2;
  say("an inner tensor is fed", session->Run({{"w", w}, {"x", row(1)}}, {"y"}, {}, &outputs));
  show("fed", outputs);
  say("no rows", session->Run({{"x", tf::Tensor(tf::DT_FLOAT, tf::TensorShape({0, 3}))}}, {"y"}, {},
                              &outputs));
  std::printf("%d rows of %d\n", static_cast<int>(outputs[0].dim_size(0)),
              static_cast<int>(outputs[0].dim_size(1)));
}

static void run_threads(tf::Session *session) {
  std::atomic<int> wrong(0);
  std::vector<std::thread> threads;
  for (int n = 0; n < kThreads; n++) {
    threads.emplace_back([&wrong, session, n] {
      for (int i = 0; i < kRuns; i++) {
        const float first = static_cast<float>(n * kRuns + i);
        std::vector<tf::Tensor> outputs;
        const Status status = session->Run({{"x", row(first)}}, {"y"}, {"bump"}, &outputs);
        const float wanted = first + 3 * (first + 1) + 5 * (first + 2);
        if (!status.ok() || outputs.at(0).matrix<float>()(0, 0) != wanted) wrong++;
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  std::vector<tf::Tensor> outputs;
  session->Run({}, {"count"}, {}, &outputs);
  std::printf("%d wrong; counted to %d\n", wrong.load(),
              static_cast<int>(outputs.at(0).scalar<int64_t>()()));
}

int main(int argc, char **argv) {
  const std::string folder = argc > 1 ? argv[1] : "tests/cc";
  tf::GraphDef missing;
  say("missing file", tf::ReadTextProto(tf::Env::Default(), folder + "/nothing.pbtxt", &missing));
  tf::SessionOptions elsewhere;
  elsewhere.target = "nowhere";
  tf::Session *none = nullptr;
  say("a target", tf::NewSession(elsewhere, &none));

  const tf::GraphDef graph = read(folder + "/session_graph.pbtxt");
  const tf::GraphDef more = read(folder + "/session_more.pbtxt");
  std::unique_ptr<tf::Session> session(tf::NewSession(options()));
  std::vector<tf::Tensor> outputs;
  say("run without a graph", session->Run({}, {"x"}, {}, &outputs));
  say("create", session->Create(graph));
  say("create again", session->Create(graph));
  say("before init", session->Run({{"x", row(0)}}, {"y"}, {}, &outputs));
  say("init", session->Run({}, {}, {"init"}, nullptr));
  run_errors(session.get());
  run_plainly(session.get());
  say("extend", session->Extend(more));
  say("extend again", session->Extend(more));
  say("twice", session->Run({{"x", row(1)}}, {"twice"}, {"both"}, &outputs));
  show("twice", outputs);
  say("init", session->Run({}, {}, {"init"}, nullptr));
  run_threads(session.get());
  say("close", session->Close());
  say("run when closed", session->Run({}, {"count"}, {}, &outputs));
  say("extend when closed", session->Extend(more));
  say("close again", session->Close());
  return 0;
}
