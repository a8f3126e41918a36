#!/usr/bin/env bash
# Builds and runs the tests. --all: also retrieval on real documents, format, AddressSanitizer with UBSan,
# ThreadSanitizer, and 60 s of each fuzzer.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build.sh release
EDGE_INFER_TEST_MODEL=${EDGE_INFER_TEST_MODEL:-$(scripts/model.sh)}
EDGE_INFER_PDFIUM=${EDGE_INFER_PDFIUM:-$PWD/.cache/pypdfium2_raw/libpdfium.so}
export EDGE_INFER_TEST_MODEL EDGE_INFER_PDFIUM
scripts/layers.sh
ctest --test-dir build/release --output-on-failure -j 2 -LE retrieval
[ "${1:-}" = --all ] || exit 0
ctest --test-dir build/release --output-on-failure -L retrieval
scripts/fmt.sh --check
# Sanitizers where parsing, ownership and threads are; kernels are checked by their own fenced-memory tests.
asan=(test_base test_symbolic test_runtime test_graph test_models_files test_tokenizers test_documents test_index
  test_server test_pull test_kernel_compiler)
scripts/build.sh asan --target "${asan[@]}"
ctest --test-dir build/asan --output-on-failure -j 2 -R "^($(IFS='|'; echo "${asan[*]}"))$"
tsan=(test_runtime test_index test_server)
scripts/build.sh tsan --target "${tsan[@]}"
ctest --test-dir build/tsan --output-on-failure -j 2 -R "^($(IFS='|'; echo "${tsan[*]}"))$"
scripts/fuzz.sh all 60
