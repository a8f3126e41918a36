#include "backends/cpu/cc/helper/clang.h"

#include <clang/Basic/DiagnosticOptions.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/Support/raw_ostream.h>
#include <unistd.h>

#include <cstring>
#include <memory>

#include "backends/cpu/cc/helper/code_generation.h"
#include "backends/cpu/cc/protocol.h"

namespace edge_infer {
namespace {

void end_process(const char* reason, int status) {
  const ssize_t ignored = ::write(2, reason, std::strlen(reason));
  (void)ignored;
  ::_exit(status);
}

void on_fatal_error(void*, const char* reason, bool) {
  end_process(reason, kCcExitFatalError);
}

void on_bad_alloc(void*, const char*, bool) {
  end_process("out of memory", kCcExitOutOfMemory);
}

// C to IR that nothing has optimized.
Result<std::unique_ptr<llvm::Module>> parse(std::string_view source,
                                            const std::vector<std::string>& arguments,
                                            llvm::LLVMContext& context) {
  std::string diagnostics;
  llvm::raw_string_ostream diagnostic_stream(diagnostics);
  const llvm::IntrusiveRefCntPtr<clang::DiagnosticOptions> options(new clang::DiagnosticOptions);
  const auto printer = [&] { return new clang::TextDiagnosticPrinter(diagnostic_stream, options.get()); };

  clang::DiagnosticsEngine argument_diagnostics(new clang::DiagnosticIDs, options, printer());
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  auto invocation = std::make_shared<clang::CompilerInvocation>();
  if (!clang::CompilerInvocation::CreateFromArgs(*invocation, pointers, argument_diagnostics))
    return fail(ErrorCode::kInternal, "clang refuses its arguments: {}", diagnostics);
  const llvm::StringRef text(source.data(), source.size());
  const std::unique_ptr<llvm::MemoryBuffer> buffer = llvm::MemoryBuffer::getMemBufferCopy(text, "kernel.c");
  invocation->getFrontendOpts().Inputs = {
      clang::FrontendInputFile(buffer->getMemBufferRef(), clang::InputKind(clang::Language::C))};

  clang::CompilerInstance compiler;
  compiler.setInvocation(std::move(invocation));
  compiler.createDiagnostics(printer(), true);
  compiler.setVerboseOutputStream(llvm::nulls());
  compiler.createFileManager(llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>());
  clang::EmitLLVMOnlyAction action(&context);
  if (!compiler.ExecuteAction(action) || compiler.getDiagnostics().hasErrorOccurred())
    return fail(ErrorCode::kInvalidArgument, "{}", diagnostics.empty() ? "clang failed" : diagnostics);
  return action.takeModule();
}

}  // namespace

void start_clang() {
  llvm::install_fatal_error_handler(on_fatal_error);
  llvm::install_bad_alloc_error_handler(on_bad_alloc);
  // Without an assembly parser no inline assembly can name a file (.incbin), whatever the source says.
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  llvm::errs();
  llvm::nulls();
}

Result<ObjectCode> compile_source(std::string_view source, const std::vector<std::string>& arguments,
                                  bool assembly) {
  ObjectCode code;
  for (const bool object : {true, false}) {
    if (!object && !assembly) continue;
    llvm::LLVMContext context;
    EDGE_INFER_ASSIGN(const std::unique_ptr<llvm::Module> module, parse(source, arguments, context));
    EDGE_INFER_ASSIGN((object ? code.object : code.assembly), generate_code(*module, object));
  }
  return code;
}

}  // namespace edge_infer
