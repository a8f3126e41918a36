// edge_infer for C++17 and later: edge_infer.h with ownership and exceptions. Header only.
#ifndef EDGE_INFER_HPP
#define EDGE_INFER_HPP

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "edge_infer.h"

namespace edge_infer {

// code() is one of EDGE_INFER_INVALID_ARGUMENT, ....
class Exception : public std::runtime_error {
 public:
  explicit Exception(const edge_infer_error& error) : std::runtime_error(error.message), code_(error.code) {}
  int32_t code() const noexcept { return code_; }

 private:
  int32_t code_;
};

// A model, movable; const members may be called from any number of threads at once.
class Model {
 public:
  explicit Model(const std::string& path, const edge_infer_options* options = nullptr) {
    edge_infer_model* opened = nullptr;
    edge_infer_error error{};
    if (edge_infer_open(path.c_str(), options, &opened, &error) != EDGE_INFER_OK) throw Exception(error);
    model_.reset(opened);
  }

  // Waits until compiled kernels serve (edge_infer_prepare).
  void prepare() const {
    edge_infer_error error{};
    if (edge_infer_prepare(model_.get(), &error) != EDGE_INFER_OK) throw Exception(error);
  }

  std::size_t dimensions() const noexcept {
    return static_cast<std::size_t>(edge_infer_dimensions(model_.get()));
  }
  std::size_t max_length() const noexcept {
    return static_cast<std::size_t>(edge_infer_max_length(model_.get()));
  }

  // Row-major [texts.size(), dimensions()]; `infos`, when given, gets one entry a text.
  std::vector<float> embed(const std::vector<std::string_view>& texts, const char* prompt_name = nullptr,
                           std::vector<edge_infer_text_info>* infos = nullptr) const {
    std::vector<const char*> pointers;
    std::vector<std::size_t> lengths;
    for (const std::string_view text : texts) {
      pointers.push_back(text.data());
      lengths.push_back(text.size());
    }
    std::vector<float> vectors(texts.size() * dimensions());
    if (infos != nullptr) infos->resize(texts.size());
    edge_infer_error error{};
    if (edge_infer_embed(model_.get(), pointers.data(), lengths.data(), texts.size(), prompt_name,
                         vectors.data(), vectors.size(), infos == nullptr ? nullptr : infos->data(),
                         &error) != EDGE_INFER_OK)
      throw Exception(error);
    return vectors;
  }
  std::vector<float> embed(std::string_view text, const char* prompt_name = nullptr) const {
    return embed(std::vector<std::string_view>{text}, prompt_name);
  }

  // One text that is searched with, not stored.
  std::vector<float> embed_query(std::string_view text, const char* prompt_name = nullptr) const {
    std::vector<float> vector(dimensions());
    edge_infer_error error{};
    if (edge_infer_embed_query(model_.get(), text.data(), text.size(), prompt_name, vector.data(),
                               vector.size(), &error) != EDGE_INFER_OK)
      throw Exception(error);
    return vector;
  }

  const edge_infer_model* get() const noexcept { return model_.get(); }

 private:
  struct Free {
    void operator()(edge_infer_model* model) const noexcept { edge_infer_free(model); }
  };
  std::unique_ptr<edge_infer_model, Free> model_;
};

}  // namespace edge_infer

#endif
