// Compiled code in executable memory.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "backends/cpu/code_arena.h"
#include "backends/cpu/device.h"
#include "runtime/executor/bound_program.h"

namespace edge_infer {
namespace {

// Mappings of this process with the permissions (of `r-xp` those with a file are the program's own).
std::vector<std::string> mappings(const std::string& permissions) {
  std::ifstream file("/proc/self/maps");
  std::vector<std::string> found;
  for (std::string line; std::getline(file, line);)
    if (line.find(" " + permissions) != std::string::npos) found.push_back(line);
  return found;
}

// mov [rdi.buffers[0]], value; ret
KernelBlob store_blob(uint8_t value, size_t padding = 0) {
  const std::vector<uint8_t> code = {0x48, 0x8b, 0x07,            // mov rax, [rdi]
                                     0x48, 0x8b, 0x00,            // mov rax, [rax]
                                     0xc7, 0x00, value, 0, 0, 0,  // mov dword [rax], value
                                     0xc3};
  KernelBlob blob;
  blob.image.assign(padding, std::byte{0xcc});
  for (const uint8_t byte : code) blob.image.push_back(static_cast<std::byte>(byte));
  blob.entry = padding;
  blob.scratch_bytes = value;
  return blob;
}

int call(KernelFn function) {
  int32_t stored = -1;
  void* buffers[] = {&stored};
  const KernelArgs args{buffers, nullptr};
  function(&args, 0, 1, 0, 1, nullptr);
  return stored;
}

#if defined(__x86_64__)

TEST(CodeArena, runs_its_blobs_and_gives_memory_back) {
  const size_t before = mappings("r-xp").size();
  {
    const KernelBlob a = store_blob(1), b = store_blob(2, 5000), c = store_blob(3, 64);
    const KernelBlob* blobs[] = {&a, &b, &c};
    const Result<CodeArena> arena = CodeArena::map(blobs);
    ASSERT_TRUE(arena) << arena.error().message;
    EXPECT_EQ(call(arena->function(0)), 1);
    EXPECT_EQ(call(arena->function(1)), 2);
    EXPECT_EQ(call(arena->function(2)), 3);
    EXPECT_EQ(mappings("r-xp").size(), before + 1);
    EXPECT_TRUE(mappings("rwxp").empty());
    EXPECT_TRUE(mappings("-wxp").empty());
    for (size_t i = 0; i < 3; ++i)
      EXPECT_EQ(reinterpret_cast<uintptr_t>(arena->image(i).data()) % KernelBlob::kAlignment, 0u);
  }
  EXPECT_EQ(mappings("r-xp").size(), before);
}

TEST(CodeArena, refuses_an_entry_outside) {
  KernelBlob blob = store_blob(1);
  blob.entry = blob.image.size();
  const KernelBlob* blobs[] = {&blob};
  EXPECT_FALSE(CodeArena::map(blobs));
  EXPECT_TRUE(CodeArena::map({}));
}

TEST(LoadCode, finds_what_was_loaded) {
  const CpuDevice device;
  EXPECT_FALSE(device.load_kernel("kernel:a"));
  const KernelBlob a = store_blob(1), b = store_blob(2);
  const NamedBlob named[] = {{"kernel:a", &a}, {"kernel:b", &b}, {"kernel:a", &a}};
  const size_t before = mappings("r-xp").size();
  const Result<std::vector<LoadedKernel>> loaded = device.load_code(named);
  ASSERT_TRUE(loaded) << loaded.error().message;
  ASSERT_EQ(loaded->size(), 3u);
  EXPECT_EQ(mappings("r-xp").size(), before + 1) << "one arena for all";
  EXPECT_EQ(call((*loaded)[0].function), 1);
  EXPECT_EQ((*loaded)[0].function, (*loaded)[2].function);
  const Result<LoadedKernel> found = device.load_kernel("kernel:b");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(call(found->function), 2);
  EXPECT_EQ(found->scratch_bytes, 2u);
  // Again: nothing new is mapped.
  EXPECT_EQ(device.load_code("kernel:b", b)->function, found->function);
  EXPECT_EQ(mappings("r-xp").size(), before + 1);
}

TEST(LoadCode, refuses_other_code_and_other_names) {
  const CpuDevice device;
  const KernelBlob a = store_blob(1), b = store_blob(2), bad = [] {
    KernelBlob blob = store_blob(3);
    blob.entry = 1000;
    return blob;
  }();
  ASSERT_TRUE(device.load_code("kernel:a", a));
  EXPECT_EQ(device.load_code("kernel:a", b).error().code, ErrorCode::kInvalidArgument);
  const NamedBlob twice[] = {{"kernel:x", &a}, {"kernel:x", &b}};
  EXPECT_EQ(device.load_code(twice).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(device.load_code("aten.linear.f32", a).error().code, ErrorCode::kInvalidArgument);
  // All or none.
  const NamedBlob mixed[] = {{"kernel:good", &b}, {"kernel:bad", &bad}};
  EXPECT_EQ(device.load_code(mixed).error().code, ErrorCode::kCorruption);
  EXPECT_FALSE(device.load_kernel("kernel:good"));
}

TEST(LoadCode, from_many_threads_maps_each_name_once) {
  const CpuDevice device;
  const size_t before = mappings("r-xp").size();
  std::vector<std::thread> threads;
  std::vector<int> failures(8);
  for (size_t t = 0; t < 8; ++t)
    threads.emplace_back([&device, &failures, t] {
      for (uint8_t i = 0; i < 50; ++i) {
        const Result<LoadedKernel> kernel = device.load_code("kernel:" + std::to_string(i), store_blob(i));
        if (!kernel || call(kernel->function) != i) ++failures[t];
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, std::vector<int>(8));
  const size_t mapped = mappings("r-xp").size() - before;
  EXPECT_LE(mapped, 50u);
  EXPECT_GE(mapped, 1u);
}

#endif

class NoCode final : public Device {
 public:
  const Target& target() const override { return target_; }
  Result<std::unique_ptr<Executable>> bind(Program program, ConstantSource& constants) const override {
    return BoundProgram::bind(std::move(program), *this, constants);
  }
  Result<LoadedKernel> load_kernel(std::string_view) const override { return LoadedKernel{}; }
  Result<size_t> packed_bytes(std::string_view, int64_t, int64_t) const override { return 0; }
  Status pack(std::string_view, std::span<const Rows>, int64_t, std::span<std::byte>) const override {
    return {};
  }

 private:
  Target target_{"none"};
};

TEST(LoadCode, is_not_for_every_device) {
  EXPECT_EQ(NoCode().load_code("kernel:a", store_blob(1)).error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace edge_infer
