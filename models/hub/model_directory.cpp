#include "models/hub/model_directory.h"

#include <cstdlib>

namespace edge_infer {
namespace fs = std::filesystem;
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool is_name_part(std::string_view part) {
  if (part.empty() || part.size() > 96 || part.front() == '.') return false;
  for (const char c : part) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter && !(c >= '0' && c <= '9') && c != '-' && c != '_' && c != '.') return false;
  }
  return true;
}

}  // namespace

fs::path models_dir() {
  if (const auto dir = variable("EDGE_INFER_MODELS"); !dir.empty()) return dir;
  if (const auto dir = variable("XDG_DATA_HOME"); !dir.empty())
    return fs::path(dir) / "edge-infer" / "models";
  if (const auto dir = variable("HOME"); !dir.empty())
    return fs::path(dir) / ".local/share/edge-infer/models";
  return {};
}

bool is_model_name(std::string_view name) {
  const size_t slash = name.find('/');
  if (slash == std::string_view::npos) return is_name_part(name);
  return is_name_part(name.substr(0, slash)) && is_name_part(name.substr(slash + 1));
}

fs::path pulled_model_dir(std::string_view name) {
  std::string folder(name);
  if (const size_t slash = folder.find('/'); slash != std::string::npos) folder.replace(slash, 1, "--");
  return models_dir() / folder;
}

Result<fs::path> resolve_model(const std::string& model) {
  std::error_code error;
  const fs::file_status status = fs::status(model, error);
  if (fs::is_directory(status)) return fs::path(model);
  if (fs::exists(status))
    return fail(ErrorCode::kInvalidArgument, "model \"{}\" is a file, expected a directory", model);
  if (is_model_name(model)) {
    const fs::path pulled = pulled_model_dir(model);
    if (fs::is_directory(pulled, error)) return pulled;
    return fail(ErrorCode::kNotFound,
                "no model directory \"{}\", and no pulled model of that name in \"{}\"; fetch it with: "
                "edge-infer pull {}",
                model, models_dir().native(), model);
  }
  return fail(ErrorCode::kNotFound, "no model directory \"{}\"", model);
}

}  // namespace edge_infer
