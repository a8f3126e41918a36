#!/usr/bin/env bash
# The main job: index the sample documents with the real model, then search them.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build.sh release
model=$(scripts/model.sh)
export EDGE_INFER_PDFIUM=${EDGE_INFER_PDFIUM:-$PWD/.cache/pypdfium2_raw/libpdfium.so}
bin=build/release/bin/edge-infer
db=build/demo.db
rm -f "$db" "$db"-*
echo "== index samples/documents"
"$bin" index --db "$db" --model "$model" samples/documents
while read -r query; do
  echo
  echo "== search: $query"
  "$bin" search --db "$db" --top 3 "$query"
done < samples/queries.txt
