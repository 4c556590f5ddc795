#include "server/rpc/reflection.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "grpc/reflection/v1alpha/reflection.pb.h"

namespace vfsd::rpc {
namespace {

namespace reflection = ::grpc::reflection::v1alpha;
using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;

// The file and those that it imports, each once.
void AddFile(const FileDescriptor& file, std::set<const FileDescriptor*>& seen,
             reflection::FileDescriptorResponse& response) {
  if (!seen.insert(&file).second) return;
  google::protobuf::FileDescriptorProto proto;
  file.CopyTo(&proto);
  response.add_file_descriptor_proto(proto.SerializeAsString());
  for (int i = 0; i < file.dependency_count(); ++i)
    AddFile(*file.dependency(i), seen, response);
}

void SayNotFound(const char* what, const std::string& name,
                 reflection::ServerReflectionResponse& response) {
  reflection::ErrorResponse& error = *response.mutable_error_response();
  error.set_error_code(grpc::StatusCode::NOT_FOUND);
  error.set_error_message(std::string("no such ") + what + ": " + name);
}

void AnswerFile(const FileDescriptor* file, const char* what,
                const std::string& name,
                reflection::ServerReflectionResponse& response) {
  if (file == nullptr) return SayNotFound(what, name, response);
  std::set<const FileDescriptor*> seen;
  AddFile(*file, seen, *response.mutable_file_descriptor_response());
}

void Answer(const ServiceNames& services,
            const reflection::ServerReflectionRequest& request,
            reflection::ServerReflectionResponse& response) {
  using Request = reflection::ServerReflectionRequest;
  const DescriptorPool& pool = *DescriptorPool::generated_pool();
  switch (request.message_request_case()) {
    case Request::kFileByFilename:
      return AnswerFile(pool.FindFileByName(request.file_by_filename()), "file",
                        request.file_by_filename(), response);
    case Request::kFileContainingSymbol:
      return AnswerFile(
          pool.FindFileContainingSymbol(request.file_containing_symbol()),
          "symbol", request.file_containing_symbol(), response);
    case Request::kFileContainingExtension: {
      const reflection::ExtensionRequest& wanted =
          request.file_containing_extension();
      const Descriptor* type =
          pool.FindMessageTypeByName(wanted.containing_type());
      const FieldDescriptor* extension =
          type == nullptr
              ? nullptr
              : pool.FindExtensionByNumber(type, wanted.extension_number());
      return AnswerFile(extension == nullptr ? nullptr : extension->file(),
                        "extension",
                        wanted.containing_type() + " " +
                            std::to_string(wanted.extension_number()),
                        response);
    }
    case Request::kAllExtensionNumbersOfType: {
      const std::string& name = request.all_extension_numbers_of_type();
      const Descriptor* type = pool.FindMessageTypeByName(name);
      if (type == nullptr) return SayNotFound("type", name, response);
      std::vector<const FieldDescriptor*> extensions;
      pool.FindAllExtensions(type, &extensions);
      reflection::ExtensionNumberResponse& numbers =
          *response.mutable_all_extension_numbers_response();
      numbers.set_base_type_name(name);
      for (const FieldDescriptor* extension : extensions)
        numbers.add_extension_number(extension->number());
      return;
    }
    case Request::kListServices:
      for (const std::string& name : services)
        response.mutable_list_services_response()->add_service()->set_name(
            name);
      return;
    case Request::MESSAGE_REQUEST_NOT_SET:
      break;
  }
  reflection::ErrorResponse& error = *response.mutable_error_response();
  error.set_error_code(grpc::StatusCode::UNIMPLEMENTED);
  error.set_error_message("the request asks nothing that is known here");
}

}  // namespace

Outcome<size_t> AnswerReflection(Worker& worker, std::string_view message) {
  reflection::ServerReflectionRequest request;
  if (!request.ParseFromArray(message.data(),
                              static_cast<int>(message.size()))) {
    return std::unexpected(Reason::kMalformedRequest);
  }
  reflection::ServerReflectionResponse response;
  response.set_valid_host(request.host());
  Answer(worker.services, request, response);
  *response.mutable_original_request() = std::move(request);
  const std::string encoded = response.SerializeAsString();
  worker.writer.Ensure(encoded.size());
  worker.writer.PutBytes(encoded);
  return 1;
}

}  // namespace vfsd::rpc
