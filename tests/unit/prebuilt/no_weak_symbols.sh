#!/usr/bin/env bash
# Usage: no_weak_symbols.sh LIBRARY. Fails when an object of a *_isa.cpp defines a symbol that the linker may merge with
# another set's (weak or unique, without the set's namespace in its name): wider instructions could take its place.
set -euo pipefail
library=$1
checked=0 bad=0
for object in $(ar t "$library" | grep '_isa\.cpp\.o$' | sort -u); do checked=$((checked + 1)); done
[ "$checked" -gt 0 ] || { echo "no *_isa.cpp objects in $library"; exit 1; }
# nm prints "member:" lines before each member's symbols.
while IFS= read -r line; do
  case "$line" in
    *.o:) member=$line ;;
    *) case "$member" in *_isa.cpp.o:) echo "$member $line"; bad=1 ;; esac ;;
  esac
done < <(nm -C --defined-only "$library" 2>/dev/null | grep -E '\.o:$|^[0-9a-f]+ [WVu] ' |
  grep -vE 'edge_infer::(portable|avx2|avx512)::')
exit "$bad"
