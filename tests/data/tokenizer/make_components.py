#!/usr/bin/env python3
"""Golden ids and byte spans for every normalizer, pre-tokenizer, post-processor and kind of added token.

  make_components.py > components.jsonl      (needs the PyPI package tokenizers; deterministic)

First line: {"vocab": [...]}, the position is the id. Then one line a tokenizer.json (without the vocabulary, which
stands in "model"), with texts: {"name", "tokenizer", "cases": [{"text", "ids", "spans"}]}. ids hold what the
post-processor adds; spans, of the text's own tokens, are bytes.
"""
import json
import random
import sys

from tokenizers import Tokenizer


def vocabulary():
    chars = [chr(c) for c in range(0x21, 0x7F)]
    chars += [chr(c) for a, b in ((0xA1, 0x250), (0x300, 0x315), (0x323, 0x32A), (0x345, 0x346), (0x391, 0x3CA), (0x410, 0x430), (0x430, 0x450), (0x5D0, 0x5EB),
                                  (0x905, 0x950), (0x1100, 0x1113), (0x1161, 0x1176), (0x11A8, 0x11C3), (0x1E00, 0x1EA0), (0x2460, 0x2470),
                                  (0x3041, 0x3060), (0x3099, 0x309B), (0x4E00, 0x4E20), (0xAC00, 0xAC40), (0xFF01, 0xFF20)) for c in range(a, b)]
    words = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "the", "quick", "run", "##ning", "##er", "harbour", "gate", "hello", "world", "it", "'", "##s", "12", "##34", "...", "--", "a1", "cafe", "café", "naive", "\u0130stanbul", "istanbul"]
    out = []
    for token in words + chars + ["##" + c for c in chars]:
        if token not in out:
            out.append(token)
    return out


def token(content, **flags):
    return dict(dict(id=0, content=content, single_word=False, lstrip=False, rstrip=False, normalized=True, special=False), **flags)


BERT = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}
PRE = {"type": "BertPreTokenizer"}
SPACE = {"type": "WhitespaceSplit"}


def seq(*parts):
    return {"type": "Sequence", "normalizers": list(parts)}


def pseq(*parts):
    return {"type": "Sequence", "pretokenizers": list(parts)}


def split(pattern, behavior, invert=False):
    return {"type": "Split", "pattern": {"String": pattern}, "behavior": behavior, "invert": invert}


def template(before, after):
    names = before + after
    return {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": n, "type_id": 0}} for n in before] + [{"Sequence": {"id": "A", "type_id": 0}}] +
            [{"SpecialToken": {"id": n, "type_id": 0}} for n in after],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {n: {"id": n, "ids": [VOCAB.index(n)], "tokens": [n]} for n in names}}


VOCAB = vocabulary()


def configs():
    def make(name, normalizer=None, pre=SPACE, added=(), post=None, **model):
        return name, {"version": "1.0", "truncation": None, "padding": None, "added_tokens": list(added), "normalizer": normalizer, "pre_tokenizer": pre,
                      "post_processor": post, "decoder": None,
                      "model": dict({"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}, **model)}

    yield make("bare", pre=None)
    for clean in (True, False):
        for chinese in (True, False):
            for strip, lower in ((None, True), (None, False), (True, False), (False, True)):
                yield make(f"bert clean={clean} chinese={chinese} strip={strip} lower={lower}",
                           {"type": "BertNormalizer", "clean_text": clean, "handle_chinese_chars": chinese, "strip_accents": strip, "lowercase": lower}, PRE)
    for kind in ("Lowercase", "NFC", "NFD", "NFKC", "NFKD", "StripAccents", "Nmt"):
        yield make(kind, {"type": kind})
    for left, right in ((True, True), (True, False), (False, True)):
        yield make(f"Strip {left} {right}", {"type": "Strip", "strip_left": left, "strip_right": right}, None)
    yield make("Replace", {"type": "Replace", "pattern": {"String": "ab"}, "content": "xyz"})
    yield make("Replace by nothing", {"type": "Replace", "pattern": {"String": "e"}, "content": ""})
    yield make("Prepend", {"type": "Prepend", "prepend": "the"}, None)
    yield make("NFD Lowercase StripAccents", seq({"type": "NFD"}, {"type": "Lowercase"}, {"type": "StripAccents"}), pseq(SPACE, {"type": "Punctuation", "behavior": "Isolated"}))
    yield make("Lowercase NFC", seq({"type": "Lowercase"}, {"type": "NFC"}), PRE)
    yield make("NFKD in a table", {"type": "NFKD"}, PRE)
    yield make("nested sequences", seq(seq({"type": "NFD"}), seq({"type": "StripAccents"}, {"type": "Strip", "strip_left": True, "strip_right": True})), pseq(pseq(SPACE)))
    yield make("Whitespace", None, {"type": "Whitespace"})
    for behavior in ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"):
        yield make(f"Punctuation {behavior}", None, pseq(SPACE, {"type": "Punctuation", "behavior": behavior}))
        for invert in (False, True):
            yield make(f"Split {behavior} {invert}", None, split("a", behavior, invert))
            yield make(f"Split of two {behavior} {invert}", None, pseq(split("--", behavior, invert), SPACE))
    for single in (True, False):
        yield make(f"Digits {single}", None, pseq(SPACE, {"type": "Digits", "individual_digits": single}))
    yield make("CharDelimiterSplit", None, {"type": "CharDelimiterSplit", "delimiter": "-"})
    yield make("TemplateProcessing", BERT, PRE, post=template(["[CLS]", "[CLS]"], ["[SEP]"]))
    yield make("BertProcessing", BERT, PRE, post={"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]})
    yield make("RobertaProcessing", BERT, PRE, post={"type": "RobertaProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1], "trim_offsets": False, "add_prefix_space": False})
    yield make("processors in sequence", BERT, PRE, post={"type": "Sequence", "processors": [{"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]}, template(["[PAD]"], [])]})
    yield make("three characters a word", BERT, PRE, max_input_chars_per_word=3)
    yield make("no characters a word", BERT, PRE, max_input_chars_per_word=0)
    yield make("prefix that is no token's", BERT, PRE, continuing_subword_prefix="%%")
    yield make("no prefix", BERT, PRE, continuing_subword_prefix="")
    special = [token("[CLS]", special=True, normalized=False), token("[SEP]", special=True, normalized=False)]
    yield make("special tokens in the text", BERT, PRE, special)
    yield make("new tokens", BERT, PRE, special + [token("<new>", normalized=False), token("<newer>", normalized=False), token("<n", normalized=False), token("hello", normalized=False)])
    yield make("overlapping tokens", BERT, PRE, [token(t, normalized=False) for t in ("abcd", "bc", "cde", "bcx", "a", "<<", "<<<")])
    yield make("normalized tokens", BERT, PRE, special + [token("Café"), token("HELLO World"), token("<NEW>")])
    for flags in (dict(lstrip=True), dict(rstrip=True), dict(lstrip=True, rstrip=True), dict(single_word=True), dict(single_word=True, lstrip=True, rstrip=True)):
        name = "+".join(flags)
        yield make(f"raw {name}", BERT, PRE, [token("<m>", normalized=False, **flags), token("gate", normalized=False, **flags), token("é", normalized=False, **flags)])
        yield make(f"normalized {name}", BERT, PRE, [token("<M>", **flags), token("Gate", **flags)])
    yield make("token with its own spaces", BERT, PRE, [token(" gate ", normalized=False), token("the", normalized=False, rstrip=True)])
    yield make("token twice", BERT, PRE, [token("gate", normalized=False), token("gate", normalized=True, lstrip=True)])


TEXTS = [
    "", " ", "hello world", "Hello, World! It's 12:34.", "the running runner -- quick... a1", "HARBOUR gate harbour-gate harbourgate", "abab abcab xabcd bcde abcx bcx abcdbc",
    "café cafe\u0301 CAFÉ naïve ÀÉÎÕÜ ÅSA åsa ǆ Ǆ", "İstanbul istanbul I\u0307stanbul ıI", "ΑΣ ΣΑΣ όσο Ὀδυσσεύς", "Привет МИР ёлка Ёж й", "한글 가각 각 ᄀ\u1161\u11a8 \uac00\u11a8",
    "漢字 kanji 一丁 x一y 丁", "か\u3099 が ゝ\u3099 ﾊﾟ", "ｆｕｌｌ ｗｉｄｔｈ ！？ ①② ½ ﬁ ﬀ ŉ ĳ", "a\u0301\u0323 a\u0323\u0301 q\u0307\u0323 ệ e\u0302\u0323 \u0301start o\u0345\u0301",
    "zero\u200bwidth\u200djoin\ufeffbom soft\u00adhyphen", "tab\tnew\nline\r\nnbsp\u00a0em\u2003line\u2028para\u2029nel\u0085vt\u000bff\u000c", "nul\u0000x \u0001\u0002 \u007f\u0080\u009f \ufffd",
    "[CLS] hello [SEP] [cls] [CLS][SEP] [CLS", "<new> <newer> <n <ne <<new> <<<new>>> <new<newer>", "<m>  <m> x<m>y  <m>\t<m>\u2003 z <M> <m>", "gate  gate gates agate gate. _gate gate_ \u0301gate é xéx  é  gate",
    "hello world HELLO WORLD Hello  World hello\tworld", "Café café cafe CAFE\u0301s", " leading and trailing ", "\u3000ideographic\u3000", "a-b--c---d - -- ---", "aaa bab aXa a", "e ee eee bee", "12 1234 12a34 ١٢ ² Ⅷ x1y22",
    "a_b a.b a..b !? (x) [y] {z} ¿que? «w» „v“ …", "x" * 99, "x" * 100, "x" * 101, "é" * 100, "é" * 101, "the" * 60, "\U0001F6A2 \U0001F468\u200d\U0001F469 \U000E0041 \U0001D400 \U0002F800 豈 \uf900", "क्षि नमस्ते ज़ \u095b \u0958 \u0344 \u0f73",
    "≠ ≮ \u1fef \u037e \u2126 \u212a \u212b", "\u302e\u0301 a\u302e\u0323b \U0001D15E \U0001D1BB \U0001D165\U0001D16E", "\u1734 \u0488x \u08d4 \u1df6 a\u08d4\u0323 \u20dd", "ﷺ ﷻ \u33c2 ㍿ ㌀ \u00b8x \u00a8", "\ufb1d \ufb2c שׁ ש\u05c1\u05bc",
]


def random_texts(r):
    pool = [c for t in TEXTS for c in t]
    words = ["hello", "world", "gate", "the", "[CLS]", "<new>", "<m>", "Café", "HELLO World", "--", "abcd", " gate "]
    for _ in range(12):
        yield "".join(r.choice(pool) if r.random() < 0.7 else r.choice([" ", r.choice(words), r.choice("aeiou<>-.")]) for _ in range(r.randint(1, 40)))


def main():
    out = sys.stdout
    print(json.dumps({"vocab": VOCAB}), file=out)
    r = random.Random(7)
    for name, config in configs():
        full = json.loads(json.dumps(config))
        full["model"]["vocab"] = {t: i for i, t in enumerate(VOCAB)}
        tokenizer = Tokenizer.from_str(json.dumps(full))
        cases = []
        for text in TEXTS + list(random_texts(r)):
            starts = [0]
            for c in text:
                starts.append(starts[-1] + len(c.encode("utf-8")))
            plain = tokenizer.encode(text, add_special_tokens=False)
            cases.append({"text": text, "ids": tokenizer.encode(text).ids, "spans": [[starts[a], starts[b]] for a, b in plain.offsets]})
        print(json.dumps({"name": name, "tokenizer": config, "cases": cases}, separators=(",", ":")), file=out)


if __name__ == "__main__":
    main()
