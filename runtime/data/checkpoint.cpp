#include "runtime/data/checkpoint.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "core/diagnostics/error.h"
#include "runtime/data/array_file.h"
#include "runtime/data/new_folder.h"
#include "runtime/data/output_file.h"

namespace mtfc {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kRoundBytes = int64_t{256} << 20;

class CheckpointWriting {
 public:
  CheckpointWriting(Comm& comm, const NewCheckpoint& checkpoint)
      : comm_(comm),
        processes_(comm.processes()),
        checkpoint_(checkpoint),
        folder_(checkpoint.folder),
        shown_(fmt::format("the checkpoint '{}'", checkpoint.folder)),
        checksums_(checkpoint.tensors.size()) {}

  void execute() {
    agree(processes_.is_root() ? create() : "");
    write_slices();
    processes_.sum(checksums_);
    agree(processes_.is_root() ? complete() : "");
  }

 private:
  // Either all ranks go on, or all throw the error of one of them and nothing is left of the checkpoint.
  void agree(const std::string& error) {
    try {
      processes_.require_success(error);
    } catch (const RunError&) {
      if (processes_.is_root()) folder_.remove();
      throw;
    }
  }

  std::string failure() const { return fmt::format("cannot write {}: {}", shown_, std::strerror(errno)); }

  std::string create() const {
    if (!folder_.begin()) return failure();
    OutputFile file(folder_.file(checkpoint_.tensors_name), O_WRONLY | O_CREAT | O_EXCL, shown_);
    file.reserve(checkpoint_.bytes);
    return file.error();
  }

  // The ranks have added the checksums up.
  std::string write_header() const {
    OutputFile file(folder_.file(checkpoint_.tensors_name), O_WRONLY, shown_);
    file.write_at(checkpoint_.header({checksums_.begin(), checksums_.end()}), 0);
    file.sync();
    return file.error();
  }

  // Writes in rounds, so that no rank waits for the others longer than a round takes: a slow disk must not
  // look like a hanging rank.
  void write_slices() {
    OutputFile file(folder_.file(checkpoint_.tensors_name), O_WRONLY, shown_);
    const std::vector<Slice> slices = own_slices();
    size_t next = 0;
    for (bool more = true; more;) {
      int64_t written = 0;
      for (; next < slices.size() && written < kRoundBytes && file.error().empty(); ++next) {
        const LocalShard& shard = slices[next].shard;
        write_slice(file, slices[next].start, shard);
        slices[next].checksum += slice_checksum(shard);
        written += shard.elements() * size_of(shard.type.dtype);
      }
      file.sync();
      agree(file.error());
      more = processes_.maximum(next < slices.size()) > 0;
    }
  }

  struct Slice {
    int64_t start;  // offset of its tensor in the file
    LocalShard shard;
    int64_t& checksum;  // of its tensor
  };
  std::vector<Slice> own_slices() {
    std::vector<Slice> slices;
    for (size_t i = 0; i < checkpoint_.tensors.size(); ++i) {
      const SavedTensor& tensor = checkpoint_.tensors[i];
      check_invariant(tensor.sharding.partial.empty(), "a partial value is not saved");
      for (const LocalShard& shard : written_shards(comm_, tensor.sharding, tensor.shards))
        slices.push_back({tensor.offset, shard, checksums_[i]});
    }
    return slices;
  }

  std::string complete() const {
    if (std::string error = write_header(); !error.empty()) return error;
    OutputFile notes(folder_.file(checkpoint_.notes_name), O_WRONLY | O_CREAT | O_EXCL, shown_);
    notes.write_at(checkpoint_.notes, 0);
    notes.sync();
    if (!notes.error().empty()) return notes.error();
    return folder_.complete() ? "" : failure();
  }

  Comm& comm_;
  Processes& processes_;
  const NewCheckpoint& checkpoint_;
  NewFolder folder_;
  std::string shown_;
  std::vector<int64_t> checksums_;  // by tensor, modulo 2^64
};

}  // namespace

void write_checkpoint(Comm& comm, const NewCheckpoint& checkpoint) {
  CheckpointWriting(comm, checkpoint).execute();
}

bool remove_checkpoint(const std::string& folder) {
  const std::string unfinished = folder + kUnfinished;
  if (std::rename(folder.c_str(), unfinished.c_str()) != 0) return false;
  std::error_code error;
  fs::remove_all(unfinished, error);
  if (!error) return true;
  errno = error.value();
  return false;
}

}  // namespace mtfc
