// Copies between strided and dense, index_select and gather: exact, in every layout.
#include <algorithm>
#include <array>
#include <cstring>

#include "tests/unit/prebuilt_generic/harness.h"

namespace edge_infer::test {
namespace {

constexpr DType kOfBytes[] = {DType::kU8, DType::kI16, DType::kI32, DType::kI64};

TEST(PrebuiltCopy, ReadsStridesAndOffset) {
  Random random(1);
  std::vector<Sizes> all = shapes();
  all.insert(all.end(), {{37, 50}, {16, 16}, {3, 40, 33}, {2, 19, 5, 21}});
  for (const Isa isa : isas())
    for (const DType type : kOfBytes)
      for (const Sizes& sizes : all)
        for (const Layout layout : kLayouts) {
          const int64_t bytes = dtype_size(type), n = product(sizes);
          const std::string name = "edge.copy.b" + std::to_string(bytes);
          SCOPED_TRACE(describe(isa, name, sizes));
          const Operand in = make_operand(type, sizes, layout, random);
          // The operand begins two elements into its buffer.
          constexpr int64_t kOffset = 2;
          Guarded shifted(in.buffer.size() + static_cast<size_t>(kOffset * bytes));
          std::memcpy(shifted.data() + kOffset * bytes, in.buffer.data(), in.buffer.size());
          std::vector<int64_t> integers = {static_cast<int64_t>(sizes.size())};
          integers.insert(integers.end(), sizes.begin(), sizes.end());
          integers.insert(integers.end(), in.strides.begin(), in.strides.end());
          integers.push_back(kOffset);
          const Guarded out =
              run_kernel(isa, name, static_cast<size_t>(n * bytes), {shifted.data()}, integers, n, random);
          for (int64_t i = 0; i < n; ++i)
            ASSERT_EQ(std::memcmp(out.data() + i * bytes,
                                  in.buffer.data() + offset_of(i, sizes, in.strides) * bytes,
                                  static_cast<size_t>(bytes)),
                      0)
                << i;
        }
}

TEST(PrebuiltCopy, NegativeStridesAndRowsAcrossRanges) {
  // flip([5, 40]) along both dimensions.
  for (const Isa isa : isas()) {
    std::vector<int32_t> in(200), out(200);
    for (int32_t i = 0; i < 200; ++i) in[static_cast<size_t>(i)] = i;
    void* buffers[] = {out.data(), in.data()};
    const std::vector<int64_t> integers = {2, 5, 40, -40, -1, 199};
    const KernelArgs args{buffers, integers.data()};
    const PrebuiltKernel* kernel = find_prebuilt(isa, "edge.copy.b4");
    kernel->function(&args, 77, 200, 0, 1, nullptr);
    kernel->function(&args, 0, 77, 0, 1, nullptr);
    for (int32_t i = 0; i < 200; ++i) ASSERT_EQ(out[static_cast<size_t>(i)], 199 - i);
  }
}

TEST(PrebuiltCopyInto, WritesOnlyThePlacesOfItsRange) {
  Random random(3);
  for (const Isa isa : isas())
    for (const DType type : kOfBytes)
      for (const Sizes& sizes : shapes())
        for (const Layout layout : {Layout::kDense, Layout::kReversed, Layout::kGapped}) {
          const int64_t bytes = dtype_size(type), n = product(sizes);
          const PrebuiltKernel* kernel = find_prebuilt(isa, "edge.copy_into.b" + std::to_string(bytes));
          SCOPED_TRACE(describe(isa, std::string(kernel->name), sizes));
          const Operand in = make_operand(type, sizes, Layout::kDense, random);
          const Operand to = make_operand(type, sizes, layout, random);
          const auto places = static_cast<int64_t>(to.buffer.size()) / bytes;
          Guarded out(to.buffer.size()), want(to.buffer.size());
          std::vector<int64_t> integers = {static_cast<int64_t>(sizes.size())};
          integers.insert(integers.end(), sizes.begin(), sizes.end());
          integers.insert(integers.end(), to.strides.begin(), to.strides.end());
          integers.push_back(0);
          void* buffers[] = {out.data(), in.buffer.data()};
          const KernelArgs args{buffers, integers.data()};
          // The middle first, then the ends; only the middle is compared before.
          const int64_t a = n / 3, b = n - n / 4;
          kernel->function(&args, a, b, 0, 1, nullptr);
          for (int64_t i = a; i < b; ++i)
            std::memcpy(want.data() + offset_of(i, sizes, to.strides) * bytes, in.buffer.data() + i * bytes,
                        static_cast<size_t>(bytes));
          ASSERT_TRUE(places == 0 || std::memcmp(out.data(), want.data(), out.size()) == 0);
          kernel->function(&args, 0, a, 0, 1, nullptr);
          kernel->function(&args, b, n, 0, 1, nullptr);
          for (int64_t i = 0; i < n; ++i)
            std::memcpy(want.data() + offset_of(i, sizes, to.strides) * bytes, in.buffer.data() + i * bytes,
                        static_cast<size_t>(bytes));
          ASSERT_TRUE(places == 0 || std::memcmp(out.data(), want.data(), out.size()) == 0);
          ASSERT_TRUE(out.zone_in_front_is_intact());
        }
}

// An index tensor of i32 or i64 with `count` entries in [0, length).
Guarded make_index(bool wide, int64_t count, int64_t length, Random& random) {
  Guarded index(static_cast<size_t>(count * (wide ? 8 : 4)));
  for (int64_t i = 0; i < count; ++i)
    set_integer(wide ? DType::kI64 : DType::kI32, index.data(), i,
                static_cast<int64_t>(random() % static_cast<uint64_t>(length)));
  return index;
}

TEST(PrebuiltIndexSelect, CopiesTheChosenRows) {
  Random random(4);
  for (const Isa isa : isas())
    for (const DType type : kOfBytes)
      for (const bool wide : {false, true})
        for (const auto& [outer, length, out_length, inner] : std::vector<std::array<int64_t, 4>>{
                 {1, 7, 5, 1}, {3, 4, 9, 33}, {2, 1, 3, 64}, {5, 3, 0, 4}, {0, 3, 2, 4}}) {
          const int64_t bytes = dtype_size(type);
          const std::string name = "aten.index_select.b" + std::to_string(bytes);
          const Operand in = make_operand(type, {outer * length * inner}, Layout::kDense, random);
          const Guarded index = make_index(wide, out_length, length, random);
          const Guarded out =
              run_kernel(isa, name, static_cast<size_t>(outer * out_length * inner * bytes),
                         {in.buffer.data(), index.data()}, {outer, length, out_length, inner, wide},
                         outer * out_length, random);
          for (int64_t o = 0; o < outer; ++o)
            for (int64_t j = 0; j < out_length; ++j) {
              const int64_t row = get_integer(wide ? DType::kI64 : DType::kI32, index.data(), j);
              ASSERT_EQ(std::memcmp(out.data() + (o * out_length + j) * inner * bytes,
                                    in.buffer.data() + (o * length + row) * inner * bytes,
                                    static_cast<size_t>(inner * bytes)),
                        0);
            }
        }
}

TEST(PrebuiltGather, TakesOneElementAnIndex) {
  Random random(5);
  for (const Isa isa : isas())
    for (const DType type : kOfBytes)
      for (const bool wide : {false, true})
        for (const Sizes& sizes : shapes())
          for (size_t dim = 0; dim < std::max<size_t>(sizes.size(), 1); ++dim) {
            const int64_t bytes = dtype_size(type), n = product(sizes);
            const int64_t length = 4;
            Sizes in_sizes = sizes;
            if (!sizes.empty()) in_sizes[dim] = length;
            const Operand in = make_operand(type, in_sizes, Layout::kDense, random);
            const Guarded index = make_index(wide, n, sizes.empty() ? 1 : length, random);
            std::vector<int64_t> integers = {static_cast<int64_t>(sizes.size())};
            integers.insert(integers.end(), sizes.begin(), sizes.end());
            integers.insert(integers.end(), in.strides.begin(), in.strides.end());
            integers.insert(integers.end(), {static_cast<int64_t>(dim), sizes.empty() ? 1 : length, wide});
            const std::string name = "aten.gather.b" + std::to_string(bytes);
            SCOPED_TRACE(describe(isa, name, sizes));
            const Guarded out = run_kernel(isa, name, static_cast<size_t>(n * bytes),
                                           {in.buffer.data(), index.data()}, integers, n, random);
            for (int64_t i = 0; i < n; ++i) {
              Sizes strides = in.strides;
              int64_t at = 0;
              if (!sizes.empty()) {
                strides[dim] = 0;
                at = get_integer(wide ? DType::kI64 : DType::kI32, index.data(), i) * in.strides[dim];
              }
              at += offset_of(i, sizes, strides);
              ASSERT_EQ(std::memcmp(out.data() + i * bytes, in.buffer.data() + at * bytes,
                                    static_cast<size_t>(bytes)),
                        0);
            }
          }
}

TEST(PrebuiltGather, IndicesOutOfRangeStayInsideTheOperand) {
  Random random(6);
  for (const Isa isa : isas()) {
    Guarded in(4 * 4), index(3 * 8);
    for (int64_t i = 0; i < 4; ++i) set_integer(DType::kI32, in.data(), i, 10 + i);
    set_integer(DType::kI64, index.data(), 0, -1);
    set_integer(DType::kI64, index.data(), 1, INT64_MAX);
    set_integer(DType::kI64, index.data(), 2, 2);
    for (const std::string name : {"aten.gather.b4", "aten.index_select.b4"}) {
      const std::vector<int64_t> integers = name == "aten.gather.b4" ? std::vector<int64_t>{1, 3, 1, 0, 4, 1}
                                                                     : std::vector<int64_t>{1, 4, 3, 1, 1};
      const Guarded out = run_kernel(isa, name, 3 * 4, {in.data(), index.data()}, integers, 3, random);
      EXPECT_EQ(get_integer(DType::kI32, out.data(), 0), 10);
      EXPECT_EQ(get_integer(DType::kI32, out.data(), 1), 13);
      EXPECT_EQ(get_integer(DType::kI32, out.data(), 2), 12);
    }
    // An empty dimension has nothing to read.
    const Guarded out = run_kernel(isa, "aten.index_select.b4", 3 * 4, {in.data() + 16, index.data()},
                                   {1, 0, 3, 1, 1}, 3, random);
    for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(get_integer(DType::kI32, out.data(), i), 0);
  }
}

}  // namespace
}  // namespace edge_infer::test
