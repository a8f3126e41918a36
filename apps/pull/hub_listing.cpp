#include "apps/pull/hub_listing.h"

#include "apps/pull/retries.h"

namespace edge_infer {
namespace {

constexpr size_t kMaxAnswerBytes = size_t{32} << 20;

Result<std::string> fetch_text(HttpFetcher& fetcher, const std::string& url, FetchHead& head) {
  std::string text;
  EDGE_INFER_RETURN_IF_ERROR(fetcher.get(
      {url, {}},
      [&](const FetchHead& found) -> Status {
        head = found;
        return {};
      },
      [&](std::string_view bytes) -> Status {
        if (text.size() + bytes.size() > kMaxAnswerBytes)
          return fail(ErrorCode::kResourceExhausted, "the answer of {} has more than {} bytes", url,
                      kMaxAnswerBytes);
        text += bytes;
        return {};
      }));
  return text;
}

}  // namespace

Result<HubModel> list_model(HttpFetcher& fetcher, const std::string& endpoint, const std::string& name,
                            const PullOptions& options, PullProgress& progress) {
  Retries retries(options, progress);
  while (true) {
    FetchHead head;
    const auto text = fetch_text(fetcher, endpoint + "/api/models/" + name + "?blobs=true", head);
    if (!text && !fetcher.is_transfer_cut()) return std::unexpected(text.error());
    if (text && head.status == 200) return parse_hub_model(*text, name);
    if (text && head.status == 404)
      return fail(ErrorCode::kNotFound, "no model \"{}\" at {}", name, endpoint);
    if (text && (head.status == 401 || head.status == 403))
      return fail(ErrorCode::kNotFound,
                  "no model \"{}\" at {}, or it is private or gated: then set $HF_TOKEN", name, endpoint);
    if (text && !is_passing_status(head.status))
      return fail(ErrorCode::kIoError, "{} answers with status {}, expected 200", endpoint, head.status);
    const std::string why =
        text ? fmt::format("{} answers with {}", endpoint, describe_passing(head)) : text.error().message;
    if (!retries.wait(why, head.retry_after_s))
      return fail(ErrorCode::kIoError, "the files of \"{}\" cannot be listed; pull again later ({})", name,
                  why);
  }
}

}  // namespace edge_infer
