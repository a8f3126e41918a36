// gpu_bench MODEL_DIR [PRECISION [MODE]]: how fast one model runs on the first GPU. Token ids in host memory
// in, vectors in host memory out:
//   latency     one text of a length, median and percentiles of many calls
//   host        what interrupts a thread that does nothing else on this machine: part of every percentile
//   throughput  64 texts of 512 tokens, with the rate of the model's linears and attention (2 a
//               multiply-add)
//   mixed       2,048 texts of 16 to 512 tokens, real tokens a second
//   packs       the same in calls of so many tokens, from one thread and from two
//   text        the same from text, tokenizer included
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <random>
#include <thread>

#include "models/cost.h"
#include "models/model_embedder.h"
#include "tests/gpu/bench/host_noise.h"

namespace edge_infer {
namespace {

constexpr int kSkipped = 77;  // there is no CUDA device

using Clock = std::chrono::steady_clock;
using Ids = std::vector<int32_t>;

double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

std::vector<Ids> texts_of(std::span<const int64_t> lengths, int64_t vocabulary) {
  std::mt19937 random(3);
  std::uniform_int_distribution<int32_t> id(5, static_cast<int32_t>(vocabulary) - 1);
  std::vector<Ids> texts;
  for (const int64_t length : lengths) {
    Ids text(static_cast<size_t>(length));
    for (int32_t& x : text) x = id(random);
    texts.push_back(std::move(text));
  }
  return texts;
}

class Bench {
 public:
  explicit Bench(const ModelEmbedder& embedder) : embedder_(embedder) {}

  Status latency(int64_t length) {
    const std::vector<Ids> texts = texts_of(std::span(&length, 1), vocabulary());
    const std::span<const int32_t> view = texts.front();
    std::vector<float> out(static_cast<size_t>(embedder_.dimensions()));
    std::vector<double> times;
    for (int i = 0; i < 2200; ++i) {
      const auto start = Clock::now();
      EDGE_INFER_RETURN_IF_ERROR(embedder_.embed_tokens(std::span(&view, 1), out));
      if (i >= 200) times.push_back(us_since(start));
    }
    std::ranges::sort(times);
    const auto percentile = [&](size_t p) { return times[times.size() * p / 100]; };
    fmt::print(
        "latency    1 x {:>3}  median {:8.1f} us  p10 {:8.1f}  p90 {:8.1f}  p99 {:8.1f}  best {:8.1f}\n",
        length, percentile(50), percentile(10), percentile(90), percentile(99), times.front());
    return {};
  }

  static void host() {
    constexpr std::chrono::microseconds kLeast{2};
    const HostNoise noise = measure_host_noise(std::chrono::milliseconds(500), kLeast);
    fmt::print(
        "host       {:.0f} interruptions a second of more than {} us, median {:.1f} us, p99 {:.1f} us\n",
        noise.per_second, kLeast.count(), noise.median_us, noise.p99_us);
  }

  Status throughput(const char* name, const std::vector<int64_t>& lengths, int rounds, double flops) {
    const std::vector<Ids> texts = texts_of(lengths, vocabulary());
    const std::vector<std::span<const int32_t>> views(texts.begin(), texts.end());
    int64_t tokens = 0;
    for (const int64_t length : lengths) tokens += length;
    std::vector<float> out(views.size() * static_cast<size_t>(embedder_.dimensions()));
    std::vector<double> times;
    for (int i = 0; i < rounds + 2; ++i) {
      const auto start = Clock::now();
      EDGE_INFER_RETURN_IF_ERROR(embedder_.embed_tokens(views, out));
      if (i >= 2) times.push_back(us_since(start));
    }
    std::ranges::sort(times);
    const double median = times[times.size() / 2];
    fmt::print("{:<10} {} texts, {} tokens: median {:.2f} ms, {:.2f} million tokens/s", name, views.size(),
               tokens, median / 1e3, static_cast<double>(tokens) / median);
    if (flops > 0) fmt::print(", {:.0f} TFLOP/s", flops / median / 1e6);
    fmt::print("\n");
    return {};
  }

  // The texts in calls of at most `pack` tokens, from `threads` threads at once.
  Status packs(const std::vector<int64_t>& lengths, int64_t pack, int threads) {
    const std::vector<Ids> texts = texts_of(lengths, vocabulary());
    const std::vector<std::span<const int32_t>> views(texts.begin(), texts.end());
    const auto width = static_cast<size_t>(embedder_.dimensions());
    std::vector<std::pair<size_t, size_t>> calls;
    int64_t tokens = 0, held = pack;
    for (size_t i = 0; i < views.size(); ++i) {
      if (held + lengths[i] > pack) {
        calls.push_back({i, 0});
        held = 0;
      }
      ++calls.back().second;
      held += lengths[i];
      tokens += lengths[i];
    }
    std::vector<float> out(views.size() * width);
    std::vector<double> times;
    for (int round = 0; round < 6; ++round) {
      std::atomic<size_t> next{0};
      std::atomic<bool> failed{false};
      const auto work = [&] {
        for (size_t c = next++; c < calls.size(); c = next++) {
          const auto& [first, count] = calls[c];
          if (!embedder_.embed_tokens(std::span(views).subspan(first, count),
                                      std::span(out).subspan(first * width, count * width)))
            failed = true;
        }
      };
      const auto start = Clock::now();
      {
        std::vector<std::jthread> helpers;
        for (int t = 1; t < threads; ++t) helpers.emplace_back(work);
        work();
      }
      if (round > 0) times.push_back(us_since(start));
      if (failed) return fail(ErrorCode::kInternal, "a call failed");
    }
    std::ranges::sort(times);
    fmt::print("packs      of {:>5} tokens, {} threads: {:.2f} million tokens/s (best {:.2f})\n", pack,
               threads, static_cast<double>(tokens) / times[times.size() / 2],
               static_cast<double>(tokens) / times.front());
    return {};
  }

  Status from_text(int64_t words, int rounds) {
    constexpr const char* kWords[] = {"the",    "river",  "quickly", "system", "under",
                                      "market", "engine", "paper",   "seven",  "light"};
    std::mt19937 random(4);
    std::vector<std::string> texts;
    for (int i = 0; i < 2048; ++i) {
      std::string text;
      for (int64_t w = 0, n = 14 + static_cast<int64_t>(random() % static_cast<uint64_t>(words)); w < n; ++w)
        text += std::string(kWords[random() % 10]) + " ";
      texts.push_back(std::move(text));
    }
    std::vector<double> times;
    int64_t tokens = 0;
    for (int i = 0; i < rounds + 1; ++i) {
      std::vector<Encoding> encodings;
      const auto start = Clock::now();
      EDGE_INFER_ASSIGN(const std::vector<float> vectors, embedder_.embed(texts, "", &encodings));
      if (i >= 1) times.push_back(us_since(start));
      tokens = 0;
      for (const Encoding& e : encodings) tokens += static_cast<int64_t>(e.ids.size());
    }
    std::ranges::sort(times);
    fmt::print("text       2048 texts, {} tokens: median {:.2f} ms, {:.2f} million tokens/s\n", tokens,
               times[times.size() / 2] / 1e3, static_cast<double>(tokens) / times[times.size() / 2]);
    return {};
  }

 private:
  int64_t vocabulary() const { return embedder_.tokenizer().vocabulary_size(); }
  const ModelEmbedder& embedder_;
};

Status run(const std::string& model, const std::string& precision, const std::string& mode) {
  EmbedderOptions options;
  options.device = "cuda";
  options.precision = precision;
  options.mode = mode;
  options.max_length = 512;
  const auto start = Clock::now();
  EDGE_INFER_ASSIGN(const std::unique_ptr<ModelEmbedder> embedder, ModelEmbedder::open(model, options));
  const double opened = us_since(start);
  EDGE_INFER_RETURN_IF_ERROR(embedder->prepare());
  fmt::print("{} on {}: open {:.0f} ms, ready {:.0f} ms\n", model, embedder->device().target().name,
             opened / 1e3, us_since(start) / 1e3);
  Bench bench(*embedder);
  fmt::print("warming up: ");  // until the clocks are those of a busy GPU
  EDGE_INFER_ASSIGN(const Graph graph, embedder->graph());
  const std::vector<int64_t> warm(256, 512);
  EDGE_INFER_RETURN_IF_ERROR(bench.throughput("uniform", warm, 20, 0));
  for (const int64_t length : {16, 128, 512}) EDGE_INFER_RETURN_IF_ERROR(bench.latency(length));
  Bench::host();
  const std::vector<int64_t> uniform(64, 512);
  EDGE_INFER_RETURN_IF_ERROR(bench.throughput("uniform", uniform, 20, graph_flops(graph, uniform)));
  std::vector<int64_t> mixed;
  std::mt19937 random(1);
  for (int i = 0; i < 2048; ++i) mixed.push_back(16 + static_cast<int64_t>(random() % 497));
  EDGE_INFER_RETURN_IF_ERROR(bench.throughput("mixed", mixed, 5, graph_flops(graph, mixed)));
  for (const int64_t pack : {1024, 2048, 4096, 8192, 16384})
    for (const int threads : {1, 2}) EDGE_INFER_RETURN_IF_ERROR(bench.packs(mixed, pack, threads));
  return bench.from_text(480, 3);
}

}  // namespace
}  // namespace edge_infer

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: gpu_bench MODEL_DIR [PRECISION [MODE]]\n", stderr);
    return 2;
  }
  const edge_infer::Status status =
      edge_infer::run(argv[1], argc > 2 ? argv[2] : "", argc > 3 ? argv[3] : "default");
  if (status) return 0;
  std::fprintf(stderr, "gpu_bench: %s\n", status.error().message.c_str());
  return status.error().message.find("no CUDA device") != std::string::npos ? edge_infer::kSkipped : 1;
}
