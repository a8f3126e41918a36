#!/usr/bin/env bash
# fuzz.sh [NAME|all] [SECONDS]: builds the libFuzzer programs and runs them from their committed corpus.
set -euo pipefail
cd "$(dirname "$0")/.."
name=${1:-all} seconds=${2:-60}
names=$(sed -n 's/^edge_fuzzer(\([a-z_]*\).*/\1/p' tests/fuzz/CMakeLists.txt)
[ "$name" = all ] || names=$name
scripts/build.sh asan --target $names
ASAN_SYMBOLIZER_PATH=$(command -v llvm-symbolizer-19)
export ASAN_SYMBOLIZER_PATH
run() {  # run NAME: a corpus of its own grows below build/, the committed one is only read
  local corpus=build/asan/corpus/$1
  mkdir -p "$corpus" "tests/fuzz/corpus/$1"
  build/asan/bin/"$1" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -print_final_stats=0 -verbosity=0 \
    -artifact_prefix="build/asan/$1-" "$corpus" "tests/fuzz/corpus/$1" > "build/asan/$1.log" 2>&1 \
    || { tail -40 "build/asan/$1.log"; echo "fuzz: $1 failed"; return 1; }
  echo "fuzz: $1 clean for ${seconds}s"
}
export -f run
export seconds
echo "$names" | tr ' ' '\n' | xargs -P 4 -I{} bash -c 'run {}'
