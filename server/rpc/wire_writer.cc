#include "server/rpc/wire_writer.h"

namespace vfsd::rpc {

void WireWriter::AddChunk(size_t at_least) {
  CloseChunk();
  const size_t bytes = std::max(at_least, next_chunk_);
  next_chunk_ = std::min(next_chunk_ * 4, kLargestChunk);
  chunk_ = grpc_slice_malloc_large(bytes);
  begin_ = GRPC_SLICE_START_PTR(chunk_);
  cursor_ = begin_;
  limit_ = begin_ + bytes;
}

void WireWriter::CloseChunk() {
  if (begin_ == nullptr) return;
  const auto used = static_cast<size_t>(cursor_ - begin_);
  earlier_bytes_ += used;
  GRPC_SLICE_SET_LENGTH(chunk_, used);
  slices_.emplace_back(chunk_, grpc::Slice::STEAL_REF);
  begin_ = cursor_ = limit_ = nullptr;
}

std::span<char> WireWriter::Prepare(size_t head, size_t bytes) {
  if (head + bytes <= kLargestWaste ||
      head + bytes <= static_cast<size_t>(limit_ - cursor_)) {
    Ensure(head + bytes);
    return {reinterpret_cast<char*>(cursor_) + head, bytes};
  }
  if (aside_bytes_ < bytes) {
    aside_ = std::make_unique_for_overwrite<char[]>(bytes);
    aside_bytes_ = bytes;
  }
  return {aside_.get(), bytes};
}

void WireWriter::Place(size_t head, std::span<const char> filled) {
  if (filled.data() != aside_.get()) return;
  Ensure(head + filled.size());
  if (!filled.empty())
    std::memcpy(cursor_ + head, filled.data(), filled.size());
}

grpc::ByteBuffer WireWriter::Take() {
  CloseChunk();
  // An empty message is still a message: a buffer of one empty slice.
  if (slices_.empty()) slices_.emplace_back();
  grpc::ByteBuffer message(slices_.data(), slices_.size());
  Discard();
  return message;
}

void WireWriter::Discard() {
  CloseChunk();
  slices_.clear();
  earlier_bytes_ = 0;
  next_chunk_ = kSmallestChunk;
}

}  // namespace vfsd::rpc
