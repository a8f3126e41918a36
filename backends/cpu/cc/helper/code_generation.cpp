#include "backends/cpu/cc/helper/code_generation.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>

namespace edge_infer {
namespace {

// Kernels are written in vectors and tiles already. What is left to do: bring slots and variables into
// registers, move invariant loads out of loops, unroll the loops that ask for it, join the single stores of a
// row's last columns. LLVM's -O2 runs several times as many passes, most of which find nothing here.
constexpr const char* kPasses =
    "always-inline,globaldce,"
    "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,"
    "loop-mssa(loop-rotate,licm),loop(indvars,loop-deletion,loop-unroll-full),"
    "sroa,early-cse<memssa>,bdce,slp-vectorizer,vector-combine,instcombine<no-verify-fixpoint>,simplifycfg,"
    "loop-mssa(licm),dse),"
    "globaldce";

// What LLVM finds wrong behind clang's back.
class Problems final : public llvm::DiagnosticHandler {
 public:
  explicit Problems(std::string& errors) : errors_(errors) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() == llvm::DS_Error) {
      llvm::raw_string_ostream stream(errors_);
      llvm::DiagnosticPrinterRawOStream printer(stream);
      info.print(printer);
    }
    return true;
  }

 private:
  std::string& errors_;
};

Result<std::unique_ptr<llvm::TargetMachine>> open_target(const llvm::Module& module) {
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(module.getTargetTriple(), error);
  if (target == nullptr) return fail(ErrorCode::kInternal, "{}", error);
  // Each function names its processor and features itself.
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(module.getTargetTriple(), "x86-64", "", llvm::TargetOptions(),
                                  llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default));
  if (machine == nullptr) return fail(ErrorCode::kInternal, "no code generator for x86-64");
  return machine;
}

Status optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  if (llvm::Error error = builder.parsePassPipeline(passes, kPasses))
    return fail(ErrorCode::kInternal, "{}", llvm::toString(std::move(error)));
  passes.run(module, modules);
  return {};
}

}  // namespace

Result<std::string> generate_code(llvm::Module& module, bool object) {
  std::string errors;
  module.getContext().setDiagnosticHandler(std::make_unique<Problems>(errors));
  EDGE_INFER_ASSIGN(const std::unique_ptr<llvm::TargetMachine> machine, open_target(module));
  EDGE_INFER_RETURN_IF_ERROR(optimize(module, *machine));
  llvm::SmallString<0> output;
  llvm::raw_svector_ostream stream(output);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(
          passes, stream, nullptr,
          object ? llvm::CodeGenFileType::ObjectFile : llvm::CodeGenFileType::AssemblyFile, true))
    return fail(ErrorCode::kInternal, "no file of this type for x86-64");
  passes.run(module);
  if (!errors.empty()) return fail(ErrorCode::kInvalidArgument, "{}", errors);
  return std::string(output.data(), output.size());
}

}  // namespace edge_infer
