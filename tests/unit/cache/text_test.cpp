// Programs, guards and entries as text: exact there and back, strict, and safe whatever the text says.
#include <gtest/gtest.h>

#include <random>

#include "runtime/program/buffer_plan.h"
#include "tests/unit/cache/support.h"

namespace edge_infer {
namespace {

using namespace testing_support;

// Every member differs from its default somewhere.
Program rich_program() {
  const SymInt t = SymInt::symbol("T"), u = SymInt::symbol("U0"), b = SymInt::symbol("B");
  Program p;
  p.name = "rich \"name\"\n\x01";
  p.accumulation_class = "f32.k1";
  p.symbols = {{"T", {1, 5000}, 16}, {"B", {0, 64}, 2}, {"U0", {0, 9000}, 3}};
  p.symbol_sources = {{0, 0, -3}, {1, 0, 1}};
  p.constants.push_back({{"a weight", "b.weight"}, "nk.f32.p32", DType::kF32, {64, 8}, {}});
  p.constants.push_back({{}, "raw", DType::kI16, {2, 2}, std::vector<std::byte>(8, std::byte{0xa5})});
  p.constants.push_back({{}, "raw", DType::kF32, {0}, {}});
  p.unit_lists = {{1, 32, "U0"}};
  p.kernels = {{"prebuilt:aten.linear.f32"}, {"kernel:0123456789abcdef0123456789abcdef"}};
  p.buffers = {{.role = BufferRole::kInput, .sizes = {t - 3, 8}, .index = 0},
               {.role = BufferRole::kInput, .dtype = DType::kI32, .sizes = {b + 1}, .index = 1},
               {.role = BufferRole::kConstant, .sizes = {64, 8}, .index = 0},
               {.role = BufferRole::kConstant, .dtype = DType::kI16, .sizes = {4}, .index = 1},
               {.role = BufferRole::kConstant, .sizes = {0}, .index = 2},
               {.role = BufferRole::kIndex, .dtype = DType::kI32, .sizes = {u, 2}, .index = 0},
               {.role = BufferRole::kTemp, .dtype = DType::kBF16, .sizes = {max(t, b), 8}},
               {.role = BufferRole::kTemp, .sizes = {t}},
               {.role = BufferRole::kState, .sizes = {16}, .index = 2},
               {.role = BufferRole::kSaved, .sizes = {t}, .index = 1},
               {.role = BufferRole::kOutput, .sizes = {t, 64}, .index = 0}};
  Phase first;
  first.split = Phase::Split::kRowsColumns;
  first.when = SymInt::symbol("workers") - 1;
  first.row_block = 48;
  Call c{.kernel = 0, .buffers = {6, 0, 2, -1}, .integers = {t, min(t, 4), -7}, .rows = t, .columns = 64};
  c.row_grain = 8;
  c.column_grain = 32;
  c.row_cost = t * 3;
  c.node = 12;
  first.calls = {c};
  Phase second;
  second.split = Phase::Split::kSerial;
  second.row_block = 1;
  second.calls = {{.kernel = 1, .buffers = {5, 3, 6, 8, 9, 10}, .rows = floordiv(t, 4)}};
  Phase third;
  third.split = Phase::Split::kColumns;
  third.when = mod(t, 2);
  third.calls = {{.kernel = 1, .buffers = {7, 4}, .rows = 1}};
  p.phases = {first, second, third};
  plan_buffers(p);
  return p;
}

TEST(ProgramText, gives_every_member_back) {
  const Program p = rich_program();
  ASSERT_TRUE(verify_program(p)) << verify_program(p).error().message;
  const auto again = parse_program(print_program(p));
  ASSERT_TRUE(again) << again.error().message << print_program(p);
  EXPECT_TRUE(*again == p);
  EXPECT_EQ(print_program(*again), print_program(p));
}

TEST(ProgramText, errors_name_line_found_and_expected) {
  std::string text = print_program(rich_program());
  text.replace(text.find("slot s0:"), 8, "slot s5:");
  const auto parsed = parse_program(text);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, ErrorCode::kCorruption);
  EXPECT_NE(parsed.error().message.find("line 19"), std::string::npos) << parsed.error().message << "\n"
                                                                       << text;
  EXPECT_NE(parsed.error().message.find("found \"5:"), std::string::npos) << parsed.error().message;
  EXPECT_NE(parsed.error().message.find("expected \"0\""), std::string::npos) << parsed.error().message;
}

// What parses verifies, and prints to what parses to the same.
void expect_sound(const std::string& text) {
  const auto parsed = parse_program(text);
  if (!parsed) {
    EXPECT_EQ(parsed.error().code, ErrorCode::kCorruption) << parsed.error().message;
    return;
  }
  EXPECT_TRUE(verify_program(*parsed));
  const auto again = parse_program(print_program(*parsed));
  ASSERT_TRUE(again) << again.error().message << "\n" << text;
  EXPECT_TRUE(*again == *parsed);
}

TEST(ProgramText, random_mutations_are_refused_or_sound) {
  const std::string original = print_program(rich_program());
  std::mt19937 random(11);
  const std::string pieces[] = {"0", "9",  "-1", "b", "s", "T",           "*",      "none",
                                " ", "\n", "(",  ")", ",", "99999999999", "workers"};
  int accepted = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text = original;
    const size_t at = random() % text.size();
    switch (random() % 4) {
      case 0:
        text[at] = static_cast<char>(random());
        break;
      case 1:
        text.erase(at, 1 + random() % 8);
        break;
      case 2:
        text.insert(at, pieces[random() % std::size(pieces)]);
        break;
      default:
        text.replace(at, 1, pieces[random() % std::size(pieces)]);
    }
    accepted += parse_program(text).has_value();
    expect_sound(text);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(accepted, 100);     // some mutations are harmless
  EXPECT_LT(accepted, 15'000);  // most are not
}

TEST(ProgramVerifier, refuses_indices_and_plans_that_leave_memory) {
  const auto message = [](auto change) {
    Program p = rich_program();
    change(p);
    const Status status = verify_program(p);
    return status ? std::string("verified") : status.error().message;
  };
  const auto expect = [&](const char* text, auto change) {
    EXPECT_NE(message(change).find(text), std::string::npos) << message(change);
  };
  expect("may not fit", [](Program& p) { p.slots[0] = 64; });
  expect("may not fit", [](Program& p) { p.buffers[7].sizes.push_back(SymInt::symbol("T")); });
  expect("has slot 9", [](Program& p) { p.buffers[6].slot = 9; });
  expect("taken", [](Program& p) { p.buffers[1].index = 0; });
  expect("not numbered", [](Program& p) { p.buffers[10].index = 7; });
  expect("names constant", [](Program& p) { p.buffers[2].index = 3; });
  expect("elements", [](Program& p) { p.buffers[2].sizes = {64, 9}; });
  expect("literal", [](Program& p) { p.constants[1].literal.pop_back(); });
  expect("read only", [](Program& p) { p.phases[0].calls[0].buffers[0] = 2; });
  expect("writes nothing", [](Program& p) { p.phases[2].calls[0].buffers = {4}; });
  expect("before it is written", [](Program& p) { p.phases[0].calls[0].buffers[1] = 7; });
  expect("buffer 11 of 11", [](Program& p) { p.phases[1].calls[0].buffers[1] = 11; });
  expect("undeclared symbol workers",
         [](Program& p) { p.phases[0].calls[0].rows = SymInt::symbol("workers"); });
  expect("expected an identifier", [](Program& p) { p.symbols[0].name = "workers"; });
  expect("is not dim", [](Program& p) { p.symbol_sources[0].minus = 0; });
  expect("comes from input 4", [](Program& p) { p.symbol_sources[0].input = 4; });
  expect("sources", [](Program& p) { p.symbol_sources.pop_back(); });
  expect("expected an input of i32", [](Program& p) { p.unit_lists[0].offsets = 0; });
  expect("blocks of 0", [](Program& p) { p.unit_lists[0].block_rows = 0; });
  expect("must be i32", [](Program& p) { p.buffers[5].sizes = {5, 2}; });
  expect("expected prebuilt", [](Program& p) { p.kernels[1].name = "/lib/libc.so"; });
  expect("expected prebuilt", [](Program& p) { p.kernels[1].name = "kernel:01"; });
  expect("listed twice", [](Program& p) { p.kernels[1] = p.kernels[0]; });
  expect("grain", [](Program& p) { p.phases[0].calls[0].row_grain = 0; });
  expect("no call", [](Program& p) { p.phases[2].calls.clear(); });
  expect("never written", [](Program& p) { p.phases[1].calls[0].buffers.pop_back(); });
  expect("alive together", [](Program& p) {
    p.buffers[6].slot = p.buffers[7].slot = 0;
    p.slots = {SymInt(int64_t{1} << 30)};
    p.phases[2].calls[0].buffers = {7, 6};
    p.phases[1].calls[0].buffers.push_back(7);
    p.symbols[0].range.hi = p.symbols[1].range.hi = 10;
  });
}

TEST(GuardText, gives_every_kind_back) {
  using Kind = Guard::Kind;
  GuardSet set;
  set.add({.kind = Kind::kInputCount, .value = 2}, "graph @a \"b\"\n  // c");
  set.add({.kind = Kind::kPrecision, .value = 2}, "settings");
  set.add({.kind = Kind::kDeterministic, .value = 1}, "settings");
  for (int16_t i = 0; i < 2; ++i) {
    set.add({.kind = Kind::kDType, .input = i, .value = static_cast<int64_t>(DType::kBF16)}, "");
    set.add({.kind = Kind::kRank, .input = i, .value = 3}, "x");
    set.add({.kind = Kind::kAlignment, .input = i, .value = 64}, "x");
  }
  set.add({.kind = Kind::kSizeEqual, .dim = 1, .input = 1, .value = 384}, "x");
  set.add({.kind = Kind::kSizeRange, .dim = 2, .input = 0, .value = -5, .upper = INT64_MAX}, "x");
  set.add({.kind = Kind::kMultipleOf, .dim = 2, .input = 0, .value = 8}, "x");
  set.add({.kind = Kind::kSameSize, .dim = 0, .other_dim = 2, .input = 1, .other_input = 0, .value = -1},
          "x");
  const auto again = GuardSet::parse(set.print());
  ASSERT_TRUE(again) << again.error().message << set.print();
  EXPECT_TRUE(*again == set);
}

TEST(GuardText, refuses_what_would_read_beyond_the_inputs) {
  for (const char* text : {
           "rank(input 0) == 1  // \"no count\"\n",
           "number of inputs == 1  // \"\"\nrank(input 1) == 1  // \"\"\n",
           "number of inputs == 1  // \"\"\nsize(input 0, dim 0) == 1  // \"no rank\"\n",
           "number of inputs == 1  // \"\"\nrank(input 0) == 1  // \"\"\nsize(input 0, dim 1) == 1  // "
           "\"\"\n",
           "number of inputs == 1  // \"\"\nrank(input 0) == 1  // \"\"\nsize(input 0, dim 0) is a multiple "
           "of 0  // \"\"\n",
           "number of inputs == 1  // \"\"\naddress(input 0) is a multiple of 0  // \"\"\n",
           "number of inputs == 1 // \"\"\n",
       }) {
    const auto parsed = GuardSet::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kCorruption);
  }
}

TEST(EntryText, wants_guards_that_establish_the_programs_inputs) {
  const Program p = chain_program({"prebuilt:k"});
  EXPECT_TRUE(parse_entry(print_entry(chain_guards(), p)));
  GuardSet no_rank;
  no_rank.add({.kind = Guard::Kind::kInputCount, .value = 1}, "");
  no_rank.add({.kind = Guard::Kind::kDType, .input = 0, .value = static_cast<int64_t>(DType::kF32)}, "");
  EXPECT_FALSE(parse_entry(print_entry(no_rank, p)));
  EXPECT_FALSE(parse_entry(print_entry(GuardSet(), p)));
  EXPECT_FALSE(parse_entry(""));
  EXPECT_FALSE(parse_entry(print_entry(chain_guards(), p) + "x"));
}

}  // namespace
}  // namespace edge_infer
