/* libflowc_rt.so: the calls of session_abi.h, answered by flowc/cc/host.py in this process's
 * interpreter.
 *
 * In: calls of C. Out: the same calls of Python functions, which ctypes has made callable: they take
 * the interpreter's lock, and let go of it while native code runs. Invariants: nothing of Python is
 * linked, so that one build serves every version; the interpreter is started once, and never ended,
 * as other threads may still be in it when the process exits: what Python does at its exit is done. */

#define _GNU_SOURCE
#include "flowc/session_abi.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "settings.h" /* FLOWC_LIBPYTHON, FLOWC_PYTHON, FLOWC_PATH: written when this is compiled */

enum { FAILED_PRECONDITION = 9, MESSAGE_SIZE = 8192, SCRIPT_SIZE = 16384 };

/* What host.py fills in; each writes its message into MESSAGE_SIZE bytes. */
typedef struct {
  int (*make)(const flowc_session_options *options, flowc_session **session, char *message);
  int (*create)(flowc_session *session, const flowc_bytes *graph, char *message);
  int (*extend)(flowc_session *session, const flowc_bytes *graph, char *message);
  int (*run)(flowc_session *session, const flowc_run_request *request, flowc_tensor *outputs,
             char *message);
  int (*close)(flowc_session *session, char *message);
  void (*release)(flowc_session *session);
  void (*leave)(void);
} host_calls;

static host_calls host;
static int is_ready;
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local char message[MESSAGE_SIZE];

/* How the interpreter knows threads. */
static struct {
  int (*take_lock)(void);
  void (*leave_lock)(int);
  void *(*this_thread)(void);
  void *(*suspend)(void);
  void (*resume)(void *);
  pthread_key_t ending;
} threads;
static _Thread_local int is_known;

static int fail(const char *what, const char *why) {
  snprintf(message, sizeof message, "%s: %s", what, why);
  return FAILED_PRECONDITION;
}

/* Starts the interpreter that this library was made for, and leaves its lock. */
static int start_interpreter(void *python) {
  void (*set_name)(const wchar_t *) = (void (*)(const wchar_t *))dlsym(python, "Py_SetProgramName");
  void (*start)(int) = (void (*)(int))dlsym(python, "Py_InitializeEx");
  if (!start) return fail(FLOWC_LIBPYTHON, "this is no Python library");
  if (set_name) set_name(L"" FLOWC_PYTHON); /* keeps the pointer */
  start(0);
  threads.suspend();
  return 0;
}

/* When a thread ends that `begin` made known. */
static void forget_thread(void *state) {
  threads.resume(state);
  threads.leave_lock(1); /* PyGILState_UNLOCKED: nobody held the lock before */
}

/* Opens a call. The interpreter keeps what it makes for a thread until the thread ends: it is as much
 * work as a small run. Threads of its own it knows already, and forgets by itself. */
static void begin(void) {
  message[0] = 0;
  if (is_known) return;
  is_known = 1;
  if (threads.this_thread()) return;
  threads.take_lock();
  pthread_setspecific(threads.ending, threads.suspend());
}

static int find_threads(void *python) {
  threads.take_lock = (int (*)(void))dlsym(python, "PyGILState_Ensure");
  threads.leave_lock = (void (*)(int))dlsym(python, "PyGILState_Release");
  threads.this_thread = (void *(*)(void))dlsym(python, "PyGILState_GetThisThreadState");
  threads.suspend = (void *(*)(void))dlsym(python, "PyEval_SaveThread");
  threads.resume = (void (*)(void *))dlsym(python, "PyEval_RestoreThread");
  if (!threads.take_lock || !threads.leave_lock || !threads.this_thread || !threads.suspend ||
      !threads.resume) {
    return fail(FLOWC_LIBPYTHON, "this is no Python library");
  }
  int code = pthread_key_create(&threads.ending, forget_thread);
  return code ? fail("no key for threads", strerror(code)) : 0;
}

/* Has host.py fill in `host`. */
static int find_host(void *python) {
  static const char form[] =
      "exec('''try:\n"
      "    import sys\n"
      "    known = bytes.fromhex('%s').decode().split(chr(0))\n"
      "    sys.path += [p for p in known if p not in sys.path]\n"
      "    from flowc.cc.host import fill\n"
      "    fill(%llu)\n"
      "except BaseException as error:\n"
      "    import ctypes\n"
      "    text = f'{type(error).__name__}: {error}'.encode()[:%d]\n"
      "    ctypes.memmove(%llu, text, len(text))\n"
      "''', {})\n";
  int (*run)(const char *) = (int (*)(const char *))dlsym(python, "PyRun_SimpleString");
  if (!run) return fail(FLOWC_LIBPYTHON, "this is no Python library");
  char script[SCRIPT_SIZE], why[MESSAGE_SIZE / 2] = "";
  int size = snprintf(script, sizeof script, form, FLOWC_PATH, (unsigned long long)(uintptr_t)&host,
                      (int)sizeof why - 1, (unsigned long long)(uintptr_t)why);
  if (size >= (int)sizeof script) return fail("flowc", "its path is too long");
  int state = threads.take_lock();
  int failed = run(script);
  threads.leave_lock(state);
  if (!failed && host.leave) return 0;
  memset(&host, 0, sizeof host);
  return fail("flowc cannot be imported into this process's Python", why);
}

static void leave(void) {
  if (host.leave) host.leave();
}

static int start(void) {
  int (*is_running)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "Py_IsInitialized");
  void *python = RTLD_DEFAULT;
  if (!is_running) {
    /* Global: modules of C look for Python's functions in the whole process. */
    python = dlopen(FLOWC_LIBPYTHON, RTLD_NOW | RTLD_GLOBAL);
    if (!python) return fail("Python cannot be loaded; run `flowc config --libs` again", dlerror());
    is_running = (int (*)(void))dlsym(python, "Py_IsInitialized");
    if (!is_running) return fail(FLOWC_LIBPYTHON, "this is no Python library");
  }
  int is_ours = !is_running();
  int code = find_threads(python);
  if (!code && is_ours) code = start_interpreter(python);
  if (!code) code = find_host(python);
  if (!code && is_ours) atexit(leave);
  return code;
}

static int get_ready(void) {
  if (__atomic_load_n(&is_ready, __ATOMIC_ACQUIRE)) return 0;
  pthread_mutex_lock(&starting);
  int code = is_ready ? 0 : start();
  if (!code) __atomic_store_n(&is_ready, 1, __ATOMIC_RELEASE);
  pthread_mutex_unlock(&starting);
  return code;
}

int flowc_session_new(const flowc_session_options *options, flowc_session **session) {
  *session = NULL;
  int code = get_ready();
  if (code) return code;
  begin();
  return host.make(options, session, message);
}

int flowc_session_create(flowc_session *session, const flowc_bytes *graph) {
  begin();
  return host.create(session, graph, message);
}

int flowc_session_extend(flowc_session *session, const flowc_bytes *graph) {
  begin();
  return host.extend(session, graph, message);
}

int flowc_session_run(flowc_session *session, const flowc_run_request *request,
                      flowc_tensor *outputs) {
  begin();
  size_t count = request->output_count;
  if (count) memset(outputs, 0, count * sizeof *outputs);
  int code = host.run(session, request, outputs, message);
  for (size_t i = 0; code && i < count; i++) flowc_tensor_free(&outputs[i]);
  return code;
}

/* Dims and elements are one block, which begins with the dims. */
void flowc_tensor_free(flowc_tensor *tensor) {
  free((void *)tensor->dims);
  memset(tensor, 0, sizeof *tensor);
}

int flowc_session_close(flowc_session *session) {
  begin();
  return host.close(session, message);
}

void flowc_session_delete(flowc_session *session) {
  if (session) host.release(session);
}

const char *flowc_session_message(void) { return message; }
