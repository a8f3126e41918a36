#include "apps/index/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <random>
#include <thread>

#include "apps/index/fusion.h"
#include "apps/index/scan.h"
#include "apps/index/store.h"
#include "apps/index/text_query.h"
#include "apps/index/verify.h"
#include "apps/index/word_runs.h"
#include "tests/unit/index/fakes.h"

namespace edge_infer {
namespace {

namespace fs = std::filesystem;
using testing::FakeEmbedder;
using testing::RecordingObserver;
using testing::TemporaryFolder;
using testing::write_text;

class Search : public ::testing::Test {
 protected:
  void add(const std::string& name, const std::string& text) { write_text(docs_ / name, text); }
  void index() {
    RecordingObserver observer;
    const auto summary = testing::run_index(db_, {docs_}, embedder_, observer);
    ASSERT_TRUE(summary.has_value()) << summary.error().message;
  }
  std::vector<SearchHit> find(const std::string& query, SearchMode mode = SearchMode::kHybrid,
                              int64_t top = 10) {
    const auto searcher = Searcher::open(db_);
    EXPECT_TRUE(searcher.has_value()) << (searcher ? "" : searcher.error().message);
    if (!searcher) return {};
    auto hits = searcher->search(query, embedder_.vector_of(query), {mode, top});
    EXPECT_TRUE(hits.has_value()) << query << ": " << (hits ? "" : hits.error().message);
    return hits.value_or(std::vector<SearchHit>{});
  }
  std::vector<std::string> names(const std::vector<SearchHit>& hits) {
    std::vector<std::string> found;
    for (const SearchHit& hit : hits) found.push_back(fs::path(hit.path).filename().native());
    return found;
  }

  TemporaryFolder folder_;
  const fs::path docs_ = folder_ / "docs", db_ = folder_ / "index.db";
  FakeEmbedder embedder_;
};

TEST_F(Search, every_mode_finds_the_passage_with_its_place) {
  add("a.txt", "# Valves\n\nthe red valve opens at noon\n\nsomething else entirely");
  add("b.txt", "a crane lifts the boat");
  index();
  for (const auto mode : {SearchMode::kHybrid, SearchMode::kVector, SearchMode::kText}) {
    const auto hits = find("red valve", mode);
    ASSERT_FALSE(hits.empty());
    EXPECT_EQ(hits[0].path, (docs_ / "a.txt").native());
    EXPECT_EQ(hits[0].text, "the red valve opens at noon");
    EXPECT_EQ(hits[0].heading, "Valves");
    EXPECT_EQ(hits[0].chunk, 0);
    EXPECT_EQ(hits[0].start, 10);
    EXPECT_EQ(hits[0].end, 37);
  }
}

TEST_F(Search, scores_are_cosine_bm25_and_the_sum_of_reciprocal_ranks) {
  add("a.txt", "red valve");
  add("b.txt", "blue boat");
  index();
  EXPECT_NEAR(find("red valve", SearchMode::kVector)[0].score, 1, 1e-6);
  EXPECT_GT(find("red valve", SearchMode::kText)[0].score, 0);
  EXPECT_DOUBLE_EQ(find("red valve")[0].score, 2.0 / 4);
  EXPECT_EQ(find("red valve")[0].vector_rank, 1);
  EXPECT_EQ(find("red valve")[0].text_rank, 1);
  EXPECT_EQ(find("red valve")[1].text_rank, 0);
}

TEST_F(Search, the_same_passage_of_another_file_comes_after_the_others) {
  for (const char* name : {"a.txt", "b.txt", "c.txt"}) add(name, "the red valve opens at noon");
  add("d.txt", "a valve of another kind, for steam");
  index();
  for (const auto mode : {SearchMode::kHybrid, SearchMode::kVector, SearchMode::kText})
    EXPECT_EQ(names(find("red valve noon", mode)),
              (std::vector<std::string>{"a.txt", "d.txt", "b.txt", "c.txt"}));
}

TEST_F(Search, no_input_is_a_syntax_error) {
  add("a.txt", "some words to find, NEAR the end");
  index();
  const std::string nasty[] = {"",
                               " ",
                               "\"",
                               "\"\"",
                               "'",
                               "*",
                               "^",
                               "a*",
                               "NEAR",
                               "NEAR(",
                               "NEAR(a b, 3)",
                               "a AND",
                               "OR",
                               "NOT",
                               "NOT a",
                               "-a",
                               "heading:a",
                               "text : a",
                               "{heading text}: a",
                               "(",
                               ")",
                               "a OR OR b",
                               "a + b",
                               "a\"b",
                               "\"unclosed",
                               "a;b--c",
                               "'; DROP TABLE chunk; --",
                               "\\",
                               "%",
                               "_",
                               "?",
                               "?1",
                               ":x",
                               "@y",
                               "$z",
                               "#",
                               "—",
                               "…",
                               "·",
                               "¿",
                               "🚢",
                               "\xff\xfe",
                               "caf\xc3",
                               "\xed\xa0\x80",
                               "\xf4\x90\x80\x80",
                               "e\u0301",
                               "\u202e",
                               "今",
                               "今天",
                               "今天天气 GPU加速",
                               "ไทย",
                               "한국어",
                               "ⅷ",
                               "①",
                               "a\tb\nc",
                               "find",
                               "rowid",
                               "chunk_fts",
                               "rank",
                               "bm25(chunk_fts)",
                               "\u0000"};
  for (const std::string& query : nasty) find(query, SearchMode::kText);
  find(std::string("a\0b", 3), SearchMode::kText);
  find(std::string(1'000'000, 'x'), SearchMode::kText);
  std::string page;
  for (int i = 0; i < 100'000; ++i) page += "word" + std::to_string(i) + " ";
  find(page, SearchMode::kText);
  std::mt19937 random(7);
  const std::string alphabet = "ab \"'*()^-+:{}.,NEARORAND\xc3\xa9\xe4\xbb\x8a\xff\x00";
  for (int i = 0; i < 3000; ++i) {
    std::string query;
    for (unsigned n = 0; n < random() % 20; ++n) query += alphabet[random() % alphabet.size()];
    find(query, SearchMode::kText);
  }
}

TEST_F(Search, words_are_stemmed_and_folded) {
  add("a.txt", "Die Brücken wurden gebaut; running engines");
  index();
  EXPECT_EQ(find("brucken", SearchMode::kText).size(), 1u);
  EXPECT_EQ(find("RUN engine", SearchMode::kText).size(), 1u);
}

TEST_F(Search, scripts_without_spaces_are_found_by_part) {
  add("zh.txt", "我们今天使用GPU加速向量检索，非常快。");
  add("ja.txt", "橋は本日閉鎖されています");
  add("th.txt", "วันนี้อากาศดีมาก");
  index();
  EXPECT_EQ(names(find("向量检索", SearchMode::kText)), std::vector<std::string>{"zh.txt"});
  EXPECT_EQ(names(find("gpu", SearchMode::kText)), std::vector<std::string>{"zh.txt"});
  EXPECT_EQ(names(find("加速", SearchMode::kText)), std::vector<std::string>{"zh.txt"});
  EXPECT_EQ(names(find("快", SearchMode::kText)), std::vector<std::string>{"zh.txt"});
  EXPECT_EQ(names(find("閉鎖", SearchMode::kText)), std::vector<std::string>{"ja.txt"});
  EXPECT_EQ(names(find("อากาศ", SearchMode::kText)), std::vector<std::string>{"th.txt"});
  EXPECT_TRUE(find("飛行機", SearchMode::kText).empty());
}

TEST_F(Search, equal_scores_are_ordered_by_path_whatever_the_order_of_indexing) {
  const auto passage = "the very same passage";
  add("m.txt", passage);
  index();
  for (const char* name : {"z.txt", "a.txt", "k.txt"}) {
    add(name, passage);
    index();
  }
  const std::vector<std::string> expected = {"a.txt", "k.txt", "m.txt", "z.txt"};
  for (const auto mode : {SearchMode::kHybrid, SearchMode::kVector, SearchMode::kText})
    EXPECT_EQ(names(find("same passage", mode)), expected);
}

// More equals than a search looks at, and the first of them indexed last.
TEST_F(Search, equals_beyond_the_candidates_are_ordered_by_path_too) {
  const auto case_variant = [](int i) {
    std::string word = "harbourgate";
    for (size_t bit = 0; bit < word.size(); ++bit)
      if ((i >> bit & 1) != 0) word[bit] = static_cast<char>(word[bit] - 'a' + 'A');
    return word;
  };
  for (int i = 600; i > 0; i -= 200) {
    for (int k = i - 200; k < i; ++k) add(fmt::format("{:03}.txt", k), case_variant(k));
    index();
  }
  const auto by_vector = [&] { return names(find("harbourgate", SearchMode::kVector, 5)); };
  const auto by_text = [&] { return names(find("harbourgate", SearchMode::kText, 5)); };
  const auto vectors = by_vector(), words = by_text();
  EXPECT_EQ(vectors[0], "000.txt");
  EXPECT_EQ(words[0], "000.txt");
  fs::remove(db_);
  index();
  EXPECT_EQ(vectors, by_vector());
  EXPECT_EQ(words, by_text());
}

TEST_F(Search, gives_as_many_as_there_are_when_more_are_asked_for) {
  for (int i = 0; i < 300; ++i) add(fmt::format("{:03}.txt", i), fmt::format("valve number{}", i));
  index();
  for (const auto mode : {SearchMode::kHybrid, SearchMode::kVector, SearchMode::kText})
    for (const int64_t top : {int64_t{300}, int64_t{100'000}, std::numeric_limits<int64_t>::max()})
      EXPECT_EQ(find("valve", mode, top).size(), 300u) << top;
  EXPECT_EQ(Searcher::open(db_)
                ->search("valve", embedder_.vector_of("valve"), {SearchMode::kHybrid, 0})
                .error()
                .code,
            ErrorCode::kInvalidArgument);
}

TEST_F(Search, one_file_does_not_fill_the_top) {
  std::string many;
  for (int i = 0; i < 30; ++i) many += "valve valve valve number" + std::to_string(i) + "\n\n";
  add("many.txt", many);
  add("one.txt", "a valve in a long text about boats and cranes and harbours");
  add("two.txt", "another valve in a text about tides and winds and weather");
  index();
  const auto found = names(find("valve", SearchMode::kText, 5));
  ASSERT_EQ(found.size(), 5u);
  EXPECT_NE(std::find(found.begin(), found.end(), "one.txt"), found.end());
  EXPECT_NE(std::find(found.begin(), found.end(), "two.txt"), found.end());
  EXPECT_EQ(std::count(found.begin(), found.end(), "many.txt"), 3) << "held back passages fill the rest";
}

TEST_F(Search, empty_index_finds_nothing) {
  fs::create_directories(docs_);
  index();
  EXPECT_TRUE(find("anything").empty());
}

TEST_F(Search, readers_see_whole_documents_while_a_writer_works) {
  for (int i = 0; i < 30; ++i)
    add(fmt::format("f{}.txt", i), "generation zero left\n\ngeneration zero right");
  index();
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  std::atomic<int> searches{0};
  for (int r = 0; r < 2; ++r) {
    readers.emplace_back([&] {
      const auto searcher = Searcher::open(db_);
      ASSERT_TRUE(searcher.has_value());
      while (!done) {
        const auto hits =
            searcher->search("generation", embedder_.vector_of("generation"), {SearchMode::kHybrid, 100});
        ASSERT_TRUE(hits.has_value()) << hits.error().message;
        EXPECT_EQ(hits->size(), 60u);
        ++searches;
      }
    });
  }
  for (int g = 1; g <= 8; ++g) {
    for (int i = 0; i < 30; ++i)
      add(fmt::format("f{}.txt", i), fmt::format("generation {} left of {}\n\ngeneration {} right", g, i, g));
    index();
  }
  done = true;
  for (std::thread& t : readers) t.join();
  EXPECT_GT(searches, 0);
}

TEST(Scan, agrees_with_brute_force_on_ten_thousand_vectors) {
  TemporaryFolder folder;
  constexpr int64_t kDimensions = 100;  // no multiple of any vector width
  const auto store = IndexStore::open(folder / "index.db", {"m", "f", kDimensions});
  ASSERT_TRUE(store.has_value());
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  const auto draw = [&] {
    std::vector<float> v(kDimensions);
    double squares = 0;
    for (float& x : v) {
      x = normal(random);
      squares += double{x} * double{x};
    }
    for (float& x : v) x = static_cast<float>(x / std::sqrt(squares));
    return v;
  };
  std::vector<std::vector<float>> all;
  for (int f = 0; f < 50; ++f) {
    std::vector<Passage> passages(200);
    for (size_t i = 0; i < passages.size(); ++i) {
      passages[i].text = fmt::format("{} {}", f, i);
      passages[i].hash = hash_bytes(passages[i].text);
      passages[i].vector = draw();
      all.push_back(passages[i].vector);
    }
    ASSERT_TRUE((*store)->begin().has_value());
    FileRecord record;
    record.path = fmt::format("/f{:02}", f);
    ASSERT_TRUE((*store)->put(record, passages).has_value());
    if (f % 5 == 4) {
      // Holes: freed places must be filled again and never be found.
      ASSERT_TRUE((*store)->remove(fmt::format("/f{:02}", f - 2)).value_or(false));
    }
    ASSERT_TRUE((*store)->commit().has_value());
  }
  ASSERT_TRUE(verify_index(folder / "index.db").has_value());
  const auto db = open_index(folder / "index.db", OpenMode::kReadOnly);
  ASSERT_TRUE(db.has_value());
  const auto searcher = Searcher::open(folder / "index.db");
  std::vector<std::unique_ptr<Database>> helpers;
  for (int i = 0; i < 3; ++i)
    helpers.push_back(std::move(*open_index(folder / "index.db", OpenMode::kReadOnly)));
  for (int q = 0; q < 20; ++q) {
    const std::vector<float> query = draw();
    std::vector<std::pair<double, std::string>> expected;
    for (size_t i = 0; i < all.size(); ++i) {
      const size_t file = i / 200;
      if (file % 5 == 2) continue;
      double dot = 0;
      for (size_t d = 0; d < query.size(); ++d) dot += double{query[d]} * double{all[i][d]};
      expected.emplace_back(-dot, fmt::format("{} {}", file, i % 200));
    }
    std::sort(expected.begin(), expected.end());
    const auto slots = scan_vectors(**db, query, 50);
    ASSERT_TRUE(slots.has_value());
    ASSERT_EQ(slots->size(), 50u);
    for (size_t i = 0; i < 50; ++i) EXPECT_NEAR((*slots)[i].score, -expected[i].first, 1e-5);
    const auto hits = searcher->search("", query, {SearchMode::kVector, 1});
    ASSERT_TRUE(hits.has_value());
    EXPECT_EQ((*hits)[0].text, expected[0].second);
    const auto shared = scan_vectors(**db, query, 50, helpers);
    ASSERT_TRUE(shared.has_value());
    for (size_t i = 0; i < 50; ++i) {
      EXPECT_EQ((*shared)[i].slot, (*slots)[i].slot) << "any number of threads finds the same";
      EXPECT_EQ((*shared)[i].score, (*slots)[i].score);
    }
  }
  // A helper that sees a later state than the caller's snapshot takes no part.
  ASSERT_TRUE((*db)->run("BEGIN").has_value());
  ASSERT_EQ((*db)->integer("SELECT count(*) FROM file").value_or(0), 40);
  const std::vector<float> query = draw();
  const auto before = scan_vectors(**db, query, 50);
  ASSERT_TRUE((*store)->begin().has_value());
  ASSERT_TRUE((*store)->remove("/f00").value_or(false));
  ASSERT_TRUE((*store)->commit().has_value());
  const auto after = scan_vectors(**db, query, 50, helpers);
  ASSERT_TRUE(before.has_value() && after.has_value());
  for (size_t i = 0; i < 50; ++i) EXPECT_EQ((*after)[i].slot, (*before)[i].slot);
}

TEST(Scan, dot_rows_is_right_for_every_length_and_alignment) {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (size_t n = 1; n <= 130; ++n) {
    std::vector<float> storage(4 * n + 3), query(n), scores(4);
    for (float& x : storage) x = uniform(random);
    for (float& x : query) x = uniform(random);
    const float* rows = storage.data() + n % 4;
    dot_rows(query, rows, scores);
    for (size_t r = 0; r < 4; ++r) {
      double expected = 0;
      for (size_t i = 0; i < n; ++i) expected += double{query[i]} * double{rows[r * n + i]};
      EXPECT_NEAR(scores[r], expected, 1e-5) << n;
    }
  }
}

TEST(Fusion, reciprocal_ranks_are_summed_and_ties_go_to_the_better_rank_then_the_vectors) {
  const std::vector<Candidate> vectors = {
      {1, "/b", 0, 0.9, 0, 0}, {2, "/a", 1, 0.7, 0, 0}, {4, "/a", 2, 0.5, 0, 0}};
  const std::vector<Candidate> words = {
      {2, "/a", 1, 8.0, 0, 0}, {1, "/b", 0, 4.0, 0, 0}, {3, "/a", 0, 2.0, 0, 0}};
  const auto fused = fuse_rankings(vectors, words);
  ASSERT_EQ(fused.size(), 4u);
  EXPECT_EQ(fused[0].chunk_id, 1) << "same score and same better rank as 2, which is the words'";
  EXPECT_DOUBLE_EQ(fused[0].score, 1.0 / 4 + 1.0 / 5);
  EXPECT_EQ(fused[1].chunk_id, 2);
  EXPECT_DOUBLE_EQ(fused[1].score, fused[0].score);
  EXPECT_EQ(fused[2].chunk_id, 4);
  EXPECT_DOUBLE_EQ(fused[2].score, 1.0 / 6);
  EXPECT_EQ(fused[2].vector_rank, 3);
  EXPECT_EQ(fused[2].text_rank, 0);
  EXPECT_EQ(fused[3].chunk_id, 3);
  EXPECT_EQ(fused[3].vector_rank, 0);
  EXPECT_EQ(fused[3].text_rank, 3);
}

TEST(Fusion, the_best_of_one_ranking_is_before_what_is_far_down_in_both) {
  std::vector<Candidate> vectors, words;
  for (int64_t i = 1; i <= 20; ++i) {
    vectors.push_back({i == 12 ? 0 : i, "/f", i, 1.0 / static_cast<double>(i), 0, 0});
    words.push_back({i == 12 ? 0 : 100 + i, "/f", i, 1.0 / static_cast<double>(i), 0, 0});
  }
  const auto fused = fuse_rankings(vectors, words);
  EXPECT_EQ(fused[0].chunk_id, 1);
  EXPECT_EQ(fused[1].chunk_id, 101);
  EXPECT_LT(fused[2].score, 0.25);
}

TEST(Fusion, order_does_not_depend_on_how_deep_the_rankings_go) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> uniform(0.1, 0.9);
  std::vector<Candidate> vectors, words;
  for (int64_t i = 0; i < 2000; ++i) vectors.push_back({i, "/f", i, uniform(random), 0, 0});
  for (int64_t i = 0; i < 2000; ++i) words.push_back({i, "/f", i, 20 * uniform(random), 0, 0});
  sort_candidates(vectors);
  sort_candidates(words);
  const auto first = [&](size_t depth) {
    std::vector<int64_t> ids;
    for (const Candidate& c : fuse_rankings(std::span(vectors).first(depth), std::span(words).first(depth)))
      if (ids.size() < 150) ids.push_back(c.chunk_id);
    return ids;
  };
  EXPECT_EQ(first(kFusionDepth), first(1000));
  EXPECT_EQ(first(kFusionDepth), first(2000));
  const auto all = fuse_rankings(vectors, words);
  EXPECT_EQ(std::min(all.back().vector_rank, all.back().text_rank) > static_cast<int64_t>(kFusionDepth),
            true);
}

TEST(Fusion, takes_rankings_that_are_empty_or_of_one) {
  const std::vector<Candidate> one = {{1, "/b", 0, 0.9, 0, 0}};
  EXPECT_TRUE(fuse_rankings({}, {}).empty());
  ASSERT_EQ(fuse_rankings(one, {}).size(), 1u);
  EXPECT_DOUBLE_EQ(fuse_rankings(one, {})[0].score, 0.25);
  EXPECT_DOUBLE_EQ(fuse_rankings({}, one)[0].score, 0.25);
  EXPECT_DOUBLE_EQ(fuse_rankings(one, one)[0].score, 0.5);
}

std::vector<int64_t> ids(const std::vector<Candidate>& kept) {
  std::vector<int64_t> list;
  for (const Candidate& c : kept) list.push_back(c.chunk_id);
  return list;
}

TEST(Fusion, thinning_holds_back_and_refills_in_order) {
  std::vector<Candidate> sorted;
  for (int i = 0; i < 6; ++i) sorted.push_back({i, i < 4 ? "/a" : "/b", i, 10.0 - i, 0, 0});
  const TextOf text_of = [](const Candidate& c) { return "text " + std::to_string(c.chunk_id); };
  EXPECT_EQ(ids(thin_out(sorted, 3, 2, text_of).value()), (std::vector<int64_t>{0, 1, 4}));
  EXPECT_EQ(ids(thin_out(sorted, 5, 2, text_of).value()), (std::vector<int64_t>{0, 1, 4, 5, 2}));
  EXPECT_EQ(ids(thin_out(sorted, 100, 1, text_of).value()), (std::vector<int64_t>{0, 4, 1, 2, 3, 5}));
}

TEST(Fusion, thinning_holds_back_what_another_file_said) {
  std::vector<Candidate> sorted;
  for (int i = 0; i < 5; ++i) sorted.push_back({i, i < 2 ? "/a" : "/b", i, 10.0 - i, 0, 0});
  const std::vector<std::string> texts = {"the red valve opens at noon", "the red valve opens at noon",
                                          "The red valve\nopens at noon.", "a crane lifts", "?"};
  size_t loaded = 0;
  const TextOf text_of = [&](const Candidate& c) {
    ++loaded;
    return texts[static_cast<size_t>(c.chunk_id)];
  };
  EXPECT_EQ(ids(thin_out(sorted, 3, 9, text_of).value()), (std::vector<int64_t>{0, 1, 3}))
      << "within a file nothing is held back";
  EXPECT_EQ(loaded, 4u);
  EXPECT_EQ(ids(thin_out(sorted, 9, 9, text_of).value()), (std::vector<int64_t>{0, 1, 3, 4, 2}));
  const TextOf broken = [](const Candidate&) -> Result<std::string> {
    return fail(ErrorCode::kIoError, "no disk");
  };
  EXPECT_EQ(thin_out(sorted, 3, 9, broken).error().code, ErrorCode::kIoError);
}

TEST(WordRuns, are_alike_when_most_runs_are_shared) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "word" + std::to_string(i) + " ";
  EXPECT_TRUE(WordRuns(text).is_like(WordRuns(text + "and more")));
  EXPECT_FALSE(WordRuns(text).is_like(WordRuns(text + text.substr(0, 200) + "a b c d e f g h i j k l m n")));
  EXPECT_FALSE(WordRuns(text).is_like(WordRuns(text.substr(0, text.size() / 2))));
  EXPECT_TRUE(WordRuns("Two words").is_like(WordRuns("two, words!")));
  EXPECT_FALSE(WordRuns("two words").is_like(WordRuns("words two")));
  EXPECT_FALSE(WordRuns("").is_like(WordRuns("")));
  EXPECT_FALSE(WordRuns("\xff\xfe").is_like(WordRuns("\xff\xfe")));
}

TEST(TextQuery, terms_are_quoted_once_each) {
  EXPECT_EQ(parse_text_query("Foo \"bar\" foo's (NOT) x*").any(),
            "\"foo\" OR \"bar\" OR \"s\" OR \"not\" OR \"x\"");
  EXPECT_EQ(parse_text_query("a b").all(), "\"a\" AND \"b\"");
  EXPECT_EQ(parse_text_query(" .,!? — ").any(), "");
  EXPECT_EQ(parse_text_query("今天天气").any(), "\"今天\" OR \"天天\" OR \"天气\"");
  EXPECT_EQ(parse_text_query("今").any(), "\"今\" *");
  EXPECT_EQ(parse_text_query("a b c d", 2).terms.size(), 2u);
}

TEST(TextQuery, bigrams_of_unspaced_runs_only) {
  EXPECT_EQ(unspaced_bigrams("plain words, 123 naïve"), "");
  EXPECT_EQ(unspaced_bigrams("今天 x 天"), "今天 天 天");
  EXPECT_EQ(unspaced_bigrams("GPU加速"), "GPU 加速 速");
}

}  // namespace
}  // namespace edge_infer
