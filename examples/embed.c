/* Embeds the texts given after the model's directory and prints how similar each is to the first.
 *   cc embed.c -I apps/library -L build/release/lib -ledge_infer -o embed && ./embed MODEL_DIR TEXT... */
#include <stdio.h>
#include <stdlib.h>

#include "edge_infer.h"

int main(int argc, char** argv) {
  if (argc < 3) return fprintf(stderr, "usage: %s MODEL_DIR TEXT...\n", argv[0]), 2;
  edge_infer_error error;
  edge_infer_model* model = NULL;
  if (edge_infer_open(argv[1], NULL, &model, &error) != EDGE_INFER_OK)
    return fprintf(stderr, "cannot open: %s\n", error.message), 1;

  const char* const* texts = (const char* const*)argv + 2;
  const size_t count = (size_t)argc - 2, width = (size_t)edge_infer_dimensions(model), room = count * width;
  float* vectors = malloc(room * sizeof *vectors);
  if (edge_infer_embed(model, texts, NULL, count, NULL, vectors, room, NULL, &error) != EDGE_INFER_OK)
    return fprintf(stderr, "cannot embed: %s\n", error.message), 1;

  for (size_t i = 0; i < count; ++i) {
    double cosine = 0; /* the dot product: vectors have unit length */
    for (size_t k = 0; k < width; ++k) cosine += (double)vectors[k] * (double)vectors[i * width + k];
    printf("%.6f %s\n", cosine, texts[i]);
  }
  free(vectors);
  edge_infer_free(model);
  return 0;
}
