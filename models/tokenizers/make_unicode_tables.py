#!/usr/bin/env python3
"""Writes unicode_tables.cpp: the character classes that Hugging Face `tokenizers` really uses.

  make_unicode_tables.py > unicode_tables.cpp      (needs the PyPI package tokenizers, and libutf8proc.so.2 to compare)

Its crates carry tables of several Unicode versions (categories of version 8, case mappings of version 17, ...), so that
no library's properties agree with it. Every table here is measured: the library is asked about each code point.
"""
import ctypes
import sys

import tokenizers
from tokenizers import normalizers as N
from tokenizers import pre_tokenizers as P

CODES = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
utf8proc = ctypes.CDLL("libutf8proc.so.2")
utf8proc.utf8proc_decompose_char.restype = ctypes.c_ssize_t


def decompose(code, options):
    buffer, last = (ctypes.c_int32 * 64)(), ctypes.c_int(0)
    n = utf8proc.utf8proc_decompose_char(code, buffer, 64, options, ctypes.byref(last))
    return "".join(map(chr, buffer[:n]))


def ranges(codes):
    out = []
    for c in sorted(codes):
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def table(name, comment, codes):
    print(f"// {comment}")
    print(f"constexpr CodeRange k{name}Ranges[] = {{")
    line = "   "
    for a, b in ranges(codes):
        item = f" {{0x{a:x}, 0x{b:x}}},"
        if len(line) + len(item) > 110:
            print(line)
            line = "   "
        line += item
    print(line)
    print("};")
    print(f"const std::span<const CodeRange> k{name} = k{name}Ranges;\n")


def bert(**on):
    flags = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    return N.BertNormalizer(**dict(flags, **on))


def split(pre_tokenizer, code):
    return [piece for piece, _ in pre_tokenizer.pre_tokenize_str("a" + chr(code) + "b")]


def main():
    clean, strip, lower = bert(clean_text=True), bert(strip_accents=True), bert(lowercase=True)
    chinese, marks, nfd, nfkd = bert(handle_chinese_chars=True), N.StripAccents(), N.NFD(), N.NFKD()
    white, word, punct, digit = P.WhitespaceSplit(), P.Whitespace(), P.Punctuation(), P.Digits(individual_digits=True)
    print(f"// Written by make_unicode_tables.py with tokenizers {tokenizers.__version__}; do not edit.")
    print('#include "models/tokenizers/unicode_tables.h"\n')
    print("namespace edge_infer::unicode {\n")
    table("Control", "What BertNormalizer's clean_text removes.", [c for c in CODES if clean.normalize_str("a" + chr(c) + "b") == "ab"])
    table("Chinese", "What handle_chinese_chars isolates.", [c for c in CODES if chinese.normalize_str(chr(c)) != chr(c)])
    table("WhiteSpace", "char::is_whitespace.", [c for c in CODES if split(white, c) == ["a", "b"]])
    table("Punctuation", "What BertPreTokenizer and Punctuation isolate.", [c for c in CODES if split(punct, c) == ["a", chr(c), "b"]])
    table("Word", "\\w of regular expressions.", [c for c in CODES if split(word, c) == ["a" + chr(c) + "b"]])
    table("Numeric", "char::is_numeric.", [c for c in CODES if split(digit, c) == ["a", chr(c), "b"]])
    decomposed = {c: nfd.normalize_str(chr(c)) for c in CODES}
    compatible = {c: nfkd.normalize_str(chr(c)) for c in CODES}
    table("NonspacingMark", "What strip_accents of BertNormalizer removes.",
          [c for c in CODES if decomposed[c] == chr(c) and strip.normalize_str(chr(c)) == ""])
    table("Mark", "What StripAccents removes.", [c for c in CODES if marks.normalize_str(chr(c)) == ""])
    # U+1D16D (class 226) and U+0334 (class 1) frame the classes: a class over 1 moves behind U+0334.
    table("NonStarter", "Characters with a canonical combining class.",
          [c for c in CODES if decomposed[c] == chr(c) and (nfd.normalize_str("a" + chr(c) + "\u0334") == "a\u0334" + chr(c)
           and c != 0x334 or nfd.normalize_str("a\u0345" + chr(c)) == "a" + chr(c) + "\u0345" and c != 0x345) or c in (0x334, 0x345)])
    for kind, found, options in (("Canonical", decomposed, 16), ("Compatible", compatible, 16 | 4)):
        changed = [c for c in CODES if found[c] != chr(c)]
        for c in changed:
            if found[c] != decompose(c, options):
                sys.exit(f"U+{c:04X}: {found[c]!r}, utf8proc {decompose(c, options)!r}")
        table(f"{kind}Decomposition", f"Characters with a {kind.lower()} decomposition; its value is utf8proc's.", changed)
    print("// Lower case where utf8proc 2.8 (Unicode 15) knows none; U+0130, whose mapping is two characters, is not here.")
    print("constexpr CodePair kLowerCaseExtraPairs[] = {")
    pairs = [(c, lower.normalize_str(chr(c))) for c in CODES]
    pairs = [(c, ord(to)) for c, to in pairs if len(to) == 1 and ord(to) != utf8proc.utf8proc_tolower(c)]
    for i in range(0, len(pairs), 5):
        print("    " + " ".join(f"{{0x{a:x}, 0x{b:x}}}," for a, b in pairs[i : i + 5]))
    print("};\nconst std::span<const CodePair> kLowerCaseExtra = kLowerCaseExtraPairs;\n")
    print("}  // namespace edge_infer::unicode")


if __name__ == "__main__":
    main()
