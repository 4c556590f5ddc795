#include "client/load/request_encoding.h"

#include <fmt/format.h>
#include <grpcpp/support/slice.h>

#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "client/lib/batch.h"
#include "client/lib/batch_operation.h"
#include "client/lib/columns.h"

namespace vfsload {
namespace {

// Stands in for the handle until it is known; unlikely as anything else, and
// the search is checked.
constexpr uint64_t kPlaceholder = 0x9ad6'e3f5'81b7'c24dull;

}  // namespace

grpc::ByteBuffer ToByteBuffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

UnaryRequest::UnaryRequest(const Step& step, uint64_t session)
    : operation_(KindOf(step.operation)) {
  vfs::v1::BatchOperation operation = step.operation;
  if (step.uses_step >= 0) {
    vfsclient::SetFile(vfsclient::Handle{kPlaceholder}, &operation);
  }
  bytes_ = vfsclient::VisitRequest(&operation, [session](auto* request) {
    request->set_session(session);
    return request->SerializeAsString();
  });
  if (step.uses_step >= 0) {
    char wire[sizeof(kPlaceholder)];
    for (size_t i = 0; i < sizeof(wire); ++i) {
      wire[i] = static_cast<char>(kPlaceholder >> (8 * i));
    }
    handle_offset_ = bytes_.find(std::string_view(wire, sizeof(wire)));
  } else {
    constant_ = ToByteBuffer(bytes_);
  }
}

grpc::ByteBuffer UnaryRequest::Bytes(uint64_t handle) const {
  if (!handle_offset_) return constant_;
  std::string bytes = bytes_;
  for (size_t i = 0; i < sizeof(handle); ++i) {
    bytes[*handle_offset_ + i] = static_cast<char>(handle >> (8 * i));
  }
  return ToByteBuffer(bytes);
}

EncodedBatch EncodeBatch(const std::vector<const Unit*>& units,
                         uint64_t session) {
  EncodedBatch encoded;
  vfs::v1::BatchRequest request;
  request.set_session(session);
  for (const Unit* unit : units) {
    const auto base = static_cast<uint32_t>(request.operations_size());
    for (const Step& step : unit->steps) {
      encoded.steps.push_back(&step);
      vfs::v1::BatchOperation* operation = request.add_operations();
      *operation = step.operation;
      if (step.uses_step >= 0) {
        vfsclient::SetFile(
            vfsclient::OperationIndex{base +
                                      static_cast<uint32_t>(step.uses_step)},
            operation);
      }
    }
  }
  encoded.bytes = request.SerializeAsString();
  return encoded;
}

namespace {

// What units of the same kind have in common: everything but their paths.
std::string ShapeOf(const Unit& unit) {
  std::string shape;
  for (const Step& step : unit.steps) {
    vfs::v1::BatchOperation operation = step.operation;
    vfsclient::VisitRequest(&operation, [](auto* request) {
      if constexpr (requires { request->clear_path(); }) {
        if (!request->path().empty()) request->set_path("/");
      }
    });
    shape +=
        fmt::format("{}:{};", step.uses_step, operation.SerializeAsString());
  }
  return shape;
}

// The groups of units of one shape: one for each step.
struct ColumnsOfShape {
  std::vector<vfs::v1::ColumnGroup> groups;
  std::vector<std::vector<const Step*>> steps;
};

}  // namespace

std::expected<EncodedBatch, std::string> EncodeColumns(
    const std::vector<const Unit*>& units, uint64_t session) {
  std::map<std::string, ColumnsOfShape> shapes;
  std::map<std::string, uint32_t> first_group;
  for (const Unit* unit : units) {
    const auto size = static_cast<uint32_t>(unit->steps.size());
    ColumnsOfShape& shape = shapes[ShapeOf(*unit)];
    shape.groups.resize(size);
    shape.steps.resize(size);
  }
  uint32_t groups = 0;
  for (const auto& [name, shape] : shapes) {
    first_group[name] = groups;
    groups += static_cast<uint32_t>(shape.groups.size());
  }
  for (const Unit* unit : units) {
    const std::string name = ShapeOf(*unit);
    ColumnsOfShape& shape = shapes[name];
    for (size_t i = 0; i < unit->steps.size(); ++i) {
      const Step& step = unit->steps[i];
      std::optional<uint32_t> opener;
      if (step.uses_step >= 0)
        opener = first_group[name] + static_cast<uint32_t>(step.uses_step);
      if (!vfsclient::AppendOperation(step.operation, opener,
                                      &shape.groups[i])) {
        return std::unexpected(
            fmt::format("{} has no columnar form as it is used here",
                        OperationName(KindOf(step.operation))));
      }
      shape.steps[i].push_back(&step);
    }
  }
  EncodedBatch encoded;
  vfs::v1::BatchRequest request;
  request.set_session(session);
  for (auto& [name, shape] : shapes) {
    for (size_t i = 0; i < shape.groups.size(); ++i) {
      *request.add_groups() = std::move(shape.groups[i]);
      encoded.steps.insert(encoded.steps.end(), shape.steps[i].begin(),
                           shape.steps[i].end());
    }
  }
  encoded.bytes = request.SerializeAsString();
  return encoded;
}

}  // namespace vfsload
