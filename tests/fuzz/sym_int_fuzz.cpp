// Any bytes as a size expression: what parses prints, parses to an equal expression, lies within its bounds,
// and its flat code agrees with evaluate().
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/symbolic/sym_int.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace edge_infer;
  const auto e = SymInt::parse({reinterpret_cast<const char*>(data), size});
  if (!e) return 0;
  const auto again = SymInt::parse(e->str());
  // The text of an expanded expression may exceed the limits that the shorter one kept.
  if (!again && again.error().code == ErrorCode::kResourceExhausted) return 0;
  if (!again || !(*again == *e) || again->str() != e->str()) std::abort();
  std::vector<Symbol> symbols;
  std::vector<int64_t> values;
  std::map<std::string, int64_t, std::less<>> by_name;
  for (const std::string& name : e->symbols()) {
    const auto seed = static_cast<int64_t>(name.size() * 37 + static_cast<unsigned char>(name[0]));
    symbols.push_back({name, {0, 100 + seed}, 1});
    values.push_back(seed % 97);
    by_name[name] = values.back();
  }
  const auto value = e->evaluate(by_name);
  const auto code = SymCode::compile(*e, symbols);
  if (code && code->evaluate(values) != (value ? *value : INT64_MIN)) std::abort();
  const SymRange range = e->range(symbols);
  if (value && (*value < range.lo || *value > range.hi)) std::abort();
  return 0;
}
