// What a client is told when the model fails. The embedder's own messages name files of this machine: they go
// to the log.
#pragma once

#include <string>

#include "apps/server/http_message.h"
#include "runtime/base/error.h"

namespace edge_infer {

// The failure of a model whose vector holds NaN or infinity, as Embedder::embed_tokens reports it.
Error not_finite();

// The answer to a request whose forward failed; `param` is the body's field with the inputs. A failure that
// would repeat is never a 5xx. Logs what the answer leaves out.
ApiError answer_of(const Error& error, const std::string& param);

}  // namespace edge_infer
