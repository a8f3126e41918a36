#include "runtime/program/program.h"

#include <gtest/gtest.h>

#include <random>

#include "runtime/program/batch_block.h"
#include "runtime/program/buffer_plan.h"

namespace edge_infer {
namespace {

SymInt sym(const char* name) {
  return SymInt::symbol(name);
}

// A chain x -> t0 -> t1 -> ... -> out, one call a phase; `kept` names a temp that the last call reads, too.
Program chain(int temps, int kept) {
  Program p;
  p.name = "chain";
  p.symbols = {{"T", {1, 1000}, 16}};
  p.symbol_sources = {{0, 0, 0}};
  p.kernels = {{"prebuilt:k"}};
  p.buffers.push_back({.role = BufferRole::kInput, .sizes = {sym("T")}, .index = 0});
  for (int t = 0; t < temps; ++t)
    p.buffers.push_back({.role = BufferRole::kTemp, .sizes = {sym("T"), SymInt(1 + t % 3)}});
  p.buffers.push_back({.role = BufferRole::kOutput, .sizes = {sym("T")}, .index = 0});
  for (int t = 0; t <= temps; ++t) {
    Phase phase;
    Call call;
    call.kernel = 0;
    call.buffers = {t + 1, t};
    if (t == temps && kept >= 0) call.buffers.push_back(1 + kept);
    call.rows = sym("T");
    phase.calls.push_back(call);
    p.phases.push_back(phase);
  }
  plan_buffers(p);
  return p;
}

TEST(BufferPlan, reuses_slots_of_dead_temps) {
  const Program p = chain(6, -1);
  EXPECT_TRUE(verify_program(p));
  EXPECT_LE(p.slots.size(), 3u);
  EXPECT_GE(p.slots.size(), 2u);
}

// Temps that live at the same time never share a slot, and each fits its slot, for many values of the symbol.
TEST(BufferPlan, keeps_live_temps_apart_for_every_size) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    const int temps = 1 + static_cast<int>(random() % 9);
    const Program p = chain(temps, static_cast<int>(random() % static_cast<unsigned>(temps)));
    ASSERT_TRUE(verify_program(p));
    std::vector<std::pair<int, int>> life(p.buffers.size(), {-1, -1});
    for (size_t phase = 0; phase < p.phases.size(); ++phase)
      for (const int32_t b : p.phases[phase].calls[0].buffers) {
        auto& [first, last] = life[static_cast<size_t>(b)];
        if (first < 0) first = static_cast<int>(phase);
        last = static_cast<int>(phase);
      }
    for (size_t a = 0; a < p.buffers.size(); ++a) {
      if (p.buffers[a].role != BufferRole::kTemp) continue;
      for (const int64_t t : {int64_t{1}, int64_t{16}, int64_t{1000}}) {
        const std::map<std::string, int64_t, std::less<>> values = {{"T", t}};
        EXPECT_LE(*buffer_bytes(p.buffers[a]).evaluate(values),
                  *p.slots[static_cast<size_t>(p.buffers[a].slot)].evaluate(values));
        EXPECT_EQ(*p.slots[static_cast<size_t>(p.buffers[a].slot)].evaluate(values) % 64, 0);
      }
      for (size_t b = a + 1; b < p.buffers.size(); ++b) {
        if (p.buffers[b].role != BufferRole::kTemp || p.buffers[a].slot != p.buffers[b].slot) continue;
        EXPECT_TRUE(life[a].second < life[b].first || life[b].second < life[a].first);
      }
    }
  }
}

TEST(Program, verifier_names_what_is_wrong) {
  Program reads_early = chain(2, -1);
  std::swap(reads_early.phases[0], reads_early.phases[1]);
  EXPECT_NE(verify_program(reads_early).error().message.find("before it is written"), std::string::npos);
  Program bad_kernel = chain(1, -1);
  bad_kernel.phases[0].calls[0].kernel = 3;
  EXPECT_NE(verify_program(bad_kernel).error().message.find("kernel 3 of 1"), std::string::npos);
  Program bad_symbol = chain(1, -1);
  bad_symbol.phases[0].calls[0].rows = sym("Q");
  EXPECT_NE(verify_program(bad_symbol).error().message.find("undeclared symbol Q"), std::string::npos);
}

TEST(Program, prints_buffers_slots_and_calls) {
  EXPECT_EQ(print_program(chain(1, -1)),
            "program \"chain\" class \"\"\n"
            "  symbol T in 1..1000 hint 16 = input 0 dim 0 minus 0\n"
            "  b0: in f32[T] #0\n"
            "  b1: temp f32[T, 1] s0\n"
            "  b2: out f32[T] #0\n"
            "  slot s0: " +
                chain(1, -1).slots[0].str() +
                " bytes\n"
                "  kernel prebuilt:k\n"
                "  phase 0 rows\n"
                "    prebuilt:k(b1, b0) [] over T by 1 x 1 by 1 cost 1\n"
                "  phase 1 rows\n"
                "    prebuilt:k(b2, b1) [] over T by 1 x 1 by 1 cost 1\n");
}

TEST(BatchBlock, packs_texts_and_units) {
  BatchBlock block({.tokens = 100, .sequences = 4, .units = 10});
  const std::vector<int32_t> a = {7, 8, 9}, b(40, 5);
  const std::vector<std::span<const int32_t>> texts = {a, b};
  ASSERT_TRUE(block.fill(texts, 32));
  EXPECT_EQ(std::vector<int32_t>(block.offsets().begin(), block.offsets().end()),
            (std::vector<int32_t>{0, 3, 43}));
  EXPECT_EQ(block.ids()[2], 9);
  EXPECT_EQ(block.positions()[3], 0);
  EXPECT_EQ(block.sequence_of()[42], 1);
  ASSERT_EQ(block.units().size(), 3u);
  EXPECT_EQ(block.units()[2].sequence, 1);
  EXPECT_EQ(block.units()[2].first_row, 32);
  EXPECT_EQ(block.header().max_length, 40);
  for (const auto address :
       {static_cast<const void*>(block.offsets().data()), static_cast<const void*>(block.ids().data()),
        static_cast<const void*>(block.units().data())})
    EXPECT_EQ(reinterpret_cast<uintptr_t>(address) % 64, 0u);
}

TEST(BatchBlock, refuses_what_does_not_fit_and_stays_as_it_was) {
  BatchBlock block({.tokens = 4, .sequences = 2, .units = 4});
  const std::vector<int32_t> a = {1, 2}, longer(5, 1), empty;
  ASSERT_TRUE(block.fill(std::vector<std::span<const int32_t>>{a}, 32));
  EXPECT_EQ(block.fill(std::vector<std::span<const int32_t>>{longer}, 32).error().code,
            ErrorCode::kResourceExhausted);
  EXPECT_EQ(block.fill(std::vector<std::span<const int32_t>>{a, empty}, 32).error().code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(block.header().tokens, 2);
}

}  // namespace
}  // namespace edge_infer
