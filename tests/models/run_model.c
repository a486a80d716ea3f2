/* Runs any compiled model once, by the C ABI alone: what check_models.py compares with TensorFlow.
 *
 *   run_model MODEL.so DIR
 *
 * DIR/in<i>.bin holds the elements of input i and DIR/in<i>.dims its sizes as text; the outputs are
 * written to DIR/out<i>.bin and DIR/out<i>.dims. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PORTS = 64, MOST_DIMS = 254, PATH_SIZE = 4096 };

static void *library;
static const char *folder;

static void stop(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

static void *symbol(const char *name) {
  void *found = dlsym(library, name);
  if (!found) stop(name, dlerror());
  return found;
}

static FILE *open_port(const char *kind, int i, const char *ending, const char *mode) {
  char path[PATH_SIZE];
  FILE *file;
  snprintf(path, sizeof path, "%s/%s%d.%s", folder, kind, i, ending);
  file = fopen(path, mode);
  if (!file) {
    perror(path);
    exit(1);
  }
  return file;
}

static size_t element_bytes(int32_t dtype) {
  switch (dtype) {
    case 4: case 6: case 10: return 1;
    case 5: case 14: case 17: case 19: return 2;
    case 1: case 3: case 22: return 4;
    case 18: return 16;
    default: return 8;
  }
}

static void *read_input(int i, int32_t rank, int64_t *dims, size_t size) {
  FILE *file = open_port("in", i, "dims", "r");
  long long read;
  void *data;
  for (int32_t d = 0; d < rank; d++) {
    if (fscanf(file, "%lld", &read) != 1) stop("dims", "too few");
    dims[d] = read;
    size *= (size_t)read;
  }
  fclose(file);
  file = open_port("in", i, "bin", "rb");
  data = malloc(size + 1);
  if (!data || fread(data, 1, size, file) != size) stop("input", "too short");
  fclose(file);
  return data;
}

int main(int argc, char **argv) {
  static int64_t in_dims[MOST_PORTS][MOST_DIMS], out_dims[MOST_PORTS][MOST_DIMS];
  const void *inputs[MOST_PORTS];
  const int64_t *input_dims[MOST_PORTS];
  void *outputs[MOST_PORTS];
  int64_t *output_dims[MOST_PORTS];
  if (argc != 3) stop("usage", "run_model MODEL.so DIR");
  folder = argv[2];
  library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) stop("dlopen", dlerror());
  int32_t (*input_count)(void) = (int32_t(*)(void))symbol("flowc_input_count");
  int32_t (*output_count)(void) = (int32_t(*)(void))symbol("flowc_output_count");
  int32_t (*input_rank)(int32_t) = (int32_t(*)(int32_t))symbol("flowc_input_rank");
  int32_t (*output_rank)(int32_t) = (int32_t(*)(int32_t))symbol("flowc_output_rank");
  int32_t (*input_dtype)(int32_t) = (int32_t(*)(int32_t))symbol("flowc_input_dtype");
  int32_t (*output_dtype)(int32_t) = (int32_t(*)(int32_t))symbol("flowc_output_dtype");
  int32_t (*dims_for)(const int64_t *const *, int32_t, int64_t *) =
      (int32_t(*)(const int64_t *const *, int32_t, int64_t *))symbol("flowc_output_dims_for");
  int32_t (*run)(const void *const *, const int64_t *const *, void **, int64_t *const *) =
      (int32_t(*)(const void *const *, const int64_t *const *, void **, int64_t *const *))symbol(
          "flowc_run");
  const char *(*last_error)(void) = (const char *(*)(void))symbol("flowc_last_error");
  int32_t ins = input_count(), outs = output_count();
  if (ins > MOST_PORTS || outs > MOST_PORTS) stop("model", "too many inputs or outputs");
  for (int32_t i = 0; i < ins; i++) {
    inputs[i] = read_input(i, input_rank(i), in_dims[i], element_bytes(input_dtype(i)));
    input_dims[i] = in_dims[i];
  }
  for (int32_t i = 0; i < outs; i++) {
    size_t size = element_bytes(output_dtype(i));
    int unbounded = 0;
    output_dims[i] = out_dims[i];
    if (dims_for(input_dims, i, out_dims[i])) stop("flowc_output_dims_for", last_error());
    for (int32_t d = 0; d < output_rank(i); d++) {
      unbounded |= out_dims[i][d] < 0;
      size *= (size_t)out_dims[i][d];
    }
    outputs[i] = unbounded ? NULL : malloc(size + 1);
  }
  if (run(inputs, input_dims, outputs, output_dims)) stop("flowc_run", last_error());
  for (int32_t i = 0; i < outs; i++) {
    size_t size = element_bytes(output_dtype(i));
    FILE *file = open_port("out", i, "dims", "w");
    for (int32_t d = 0; d < output_rank(i); d++) {
      fprintf(file, "%lld ", (long long)out_dims[i][d]);
      size *= (size_t)out_dims[i][d];
    }
    fclose(file);
    file = open_port("out", i, "bin", "wb");
    if (fwrite(outputs[i], 1, size, file) != size) stop("output", "cannot write");
    fclose(file);
  }
  return 0;
}
