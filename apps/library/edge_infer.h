/* edge_infer: texts in, embedding vectors out. The C interface of libedge_infer.so; stable within an ABI
 * version.
 *
 * Every function that can fail returns a code (EDGE_INFER_OK = 0) and fills the caller's edge_infer_error
 * when given one. Nothing throws, prints, exits or installs signal handlers. A model may be used from any
 * number of threads at once; it is freed once, after the last call on it has returned. A child forked while
 * no call runs and nothing is compiled (after edge_infer_prepare, or with EDGE_INFER_EAGER) may go on using a
 * model that its parent opened. Strings are UTF-8; what is not becomes U+FFFD.
 */
#ifndef EDGE_INFER_H
#define EDGE_INFER_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define EDGE_INFER_API __attribute__((visibility("default")))
#else
#define EDGE_INFER_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define EDGE_INFER_ABI_VERSION 1
/* Of one text; a greater length is an invalid argument. */
#define EDGE_INFER_MAX_TEXT_BYTES ((size_t)1 << 30)

enum {
  EDGE_INFER_OK = 0,
  EDGE_INFER_INVALID_ARGUMENT = 1,   /* the caller's value is wrong */
  EDGE_INFER_NOT_FOUND = 2,          /* a named file, model or prompt does not exist */
  EDGE_INFER_CORRUPTION = 3,         /* a file's content contradicts its format */
  EDGE_INFER_UNSUPPORTED = 4,        /* well-formed, but outside of what this build can do */
  EDGE_INFER_RESOURCE_EXHAUSTED = 5, /* memory, disk or a stated limit */
  EDGE_INFER_IO_ERROR = 6,           /* the system refused a read or a write */
  EDGE_INFER_CANCELLED = 7,
  EDGE_INFER_INTERNAL = 8,   /* a defect of this library */
  EDGE_INFER_DEVICE_LOST = 9 /* an accelerator has failed and runs nothing any more */
};

/* Owned by the caller; a success leaves it untouched. */
typedef struct edge_infer_error {
  int32_t code;
  char message[508]; /* what was found and what was expected; cut at a character, always ends with 0 */
} edge_infer_error;

/* Begins with its size, so that it can grow: edge_infer_options options = EDGE_INFER_OPTIONS_INIT; */
typedef struct edge_infer_options {
  size_t size;           /* sizeof(edge_infer_options) */
  const char* precision; /* "fp32", "fp16" (GPUs), "bf16", "auto"; NULL: "fp32" on a processor, else "auto" */
  const char* device;    /* "auto", "cpu", "cuda", "cuda:1"; NULL: "auto" */
  const char*
      cache_dir; /* for kernels, packed weights, the tokenizer's image; NULL: the user's cache directory */
  int64_t max_length; /* tokens of a text, special ones included; 0: the model's own */
  int32_t threads;    /* upper bound of worker threads of a call; 0: what the process may use */
  uint32_t flags;     /* EDGE_INFER_EAGER, or 0; unknown flags are an error */
  /* "default"; "reduce-overhead": a GPU's graphs are made before the first call (on a processor the same as
   * "default"); "max-autotune": the schedules of kernels are measured as well, once a machine, which takes
   * edge_infer_prepare longer; NULL: "default" */
  const char* mode;
} edge_infer_options;
/* Run the prebuilt kernels only: compile nothing, start no process. */
#define EDGE_INFER_EAGER 1u
#define EDGE_INFER_OPTIONS_INIT {sizeof(edge_infer_options), NULL, NULL, NULL, 0, 0, 0, NULL}

/* What became of one text. */
typedef struct edge_infer_text_info {
  int64_t tokens;       /* that were embedded, special ones included */
  int64_t tokens_total; /* of the whole text; more than `tokens` when it was cut */
} edge_infer_text_info;

typedef struct edge_infer_model edge_infer_model;

/* "0.1.0" and EDGE_INFER_ABI_VERSION of the loaded library. */
EDGE_INFER_API const char* edge_infer_version(void);
EDGE_INFER_API int32_t edge_infer_abi_version(void);
/* "not found", ...; never NULL. */
EDGE_INFER_API const char* edge_infer_code_name(int32_t code);

/* Opens a sentence-transformers model directory, or a model by the name that `edge-infer pull` stored it
 * under. `options` may be NULL. On success *model is to be freed with edge_infer_free; on failure it is NULL.
 */
EDGE_INFER_API int32_t edge_infer_open(const char* model_path, const edge_infer_options* options,
                                       edge_infer_model** model, edge_infer_error* error);
/* The first time that a machine meets a model, edge_infer_open returns with prebuilt kernels, while the
 * program edge-infer-cc, found beside this library or in ../bin of it, compiles faster ones behind. They
 * round differently, so bits change once. This waits until they serve; an error says why they do not, and the
 * prebuilt ones go on serving. */
EDGE_INFER_API int32_t edge_infer_prepare(const edge_infer_model* model, edge_infer_error* error);
/* NULL is allowed. */
EDGE_INFER_API void edge_infer_free(edge_infer_model* model);

/* Floats of a vector, and tokens of the longest text that is not cut; 0 for NULL. */
EDGE_INFER_API int64_t edge_infer_dimensions(const edge_infer_model* model);
EDGE_INFER_API int64_t edge_infer_max_length(const edge_infer_model* model);

/* Embeds `count` texts: texts[i] has lengths[i] bytes, or ends with 0 where `lengths` is NULL. `prompt_name`
 * selects a prompt of the model to stand in front of each text; NULL or "": its default, often none.
 * `vectors` receives count x dimensions floats, row i for texts[i]; `capacity` is its size in floats.
 * `infos`, unless NULL, receives `count` entries. A text's vector does not depend on the texts beside it. On
 * failure `vectors` is unspecified. */
EDGE_INFER_API int32_t edge_infer_embed(const edge_infer_model* model, const char* const* texts,
                                        const size_t* lengths, size_t count, const char* prompt_name,
                                        float* vectors, size_t capacity, edge_infer_text_info* infos,
                                        edge_infer_error* error);

/* As edge_infer_embed for one text that is searched with, not stored: `text` has `length` bytes, `vector`
 * receives `dimensions` floats. With device "auto" the processor may answer where edge_infer_prepare measured
 * that it is faster than the GPU; the vector then differs from edge_infer_embed's in its last bits. */
EDGE_INFER_API int32_t edge_infer_embed_query(const edge_infer_model* model, const char* text, size_t length,
                                              const char* prompt_name, float* vector, size_t capacity,
                                              edge_infer_error* error);

#ifdef __cplusplus
}
#endif
#endif
