#include "formats/data/text_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include "core/diagnostics/error.h"
#include "core/diagnostics/progress.h"
#include "core/tensors/random_bits.h"
#include "formats/data/token_file.h"
#include "formats/tokenizer/parallel_tokens.h"

namespace mtfc {
namespace {

// Ids of two bytes, or of four if a vocabulary has more.
class IdList {
 public:
  explicit IdList(int32_t vocabulary) : width_(vocabulary <= 1 << 16 ? 2 : 4) {}

  void add(const std::vector<int32_t>& ids) {
    const size_t before = bytes_.size();
    bytes_.resize(before + width_ * ids.size());
    std::byte* to = bytes_.data() + before;
    for (const int32_t id : ids) {
      for (size_t i = 0; i < width_; ++i)
        *to++ = static_cast<std::byte>(static_cast<uint32_t>(id) >> 8 * i & 0xFF);
      below_ = std::max(below_, int64_t{id} + 1);
    }
  }
  StoredArray array(const DataFile& file, uint64_t tokenizer) {
    const auto count = static_cast<int64_t>(bytes_.size() / width_);
    const auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes_));
    StoredArray array{
        file.name,  width_ == 2 ? StoredType::kU16 : StoredType::kU32, false, {count}, owner, owner->data(),
        file.sample};
    array.sample.hash = mixed(array.sample.hash ^ tokenizer);
    array.ids_below = below_;
    return array;
  }

 private:
  size_t width_;
  std::vector<std::byte> bytes_;
  int64_t below_ = 0;
};

StoredArray tokenized(const DataFile& file, const NamedTokenizer& named) {
  const std::string_view text = file.text();
  if (text.empty()) throw RunError(file.name + ": the file is empty");
  check_text_size(file.name, text.size(), named);
  IdList ids(named.tokenizer->size());
  TokenizingSettings settings;
  settings.threads = std::thread::hardware_concurrency();
  size_t done = 0;
  tokenize_texts(*named.tokenizer, {text}, settings, [&](const TokenBlock& block) {
    ids.add(block.ids);
    done += block.bytes;
    tell_progress({"making tokens of " + file.name, static_cast<int64_t>(done >> 20),
                   static_cast<int64_t>(text.size() >> 20), "MiB"});
  });
  StoredArray array = ids.array(file, named.hash);
  if (array.shape[0] == 0) throw RunError(file.name + ": the text has no tokens");
  return array;
}

}  // namespace

const NamedTokenizer* TextTokens::tokenizer(const std::string& named) {
  const std::string& name = named.empty() ? usual_ : named;
  if (name.empty()) return nullptr;
  const auto found = tokenizers_.find(name);
  return found != tokenizers_.end() ? &found->second
                                    : &tokenizers_.emplace(name, read_tokenizer_file(name)).first->second;
}

StoredArray TextTokens::stream(const std::string& file, const std::string& named) {
  const auto [found, is_new] = streams_.try_emplace({file, named});
  if (!is_new) return found->second;
  const NamedTokenizer* tokenizer = this->tokenizer(named);
  return found->second =
             tokenizer ? tokenized(open_data_file(file), *tokenizer) : read_tokens(file, StoredType::kU8);
}

std::optional<double> TextTokens::filled() const {
  size_t places = 0, taken = 0;
  for (const auto& [source, rows] : rows_) {
    places += rows->segments.size();
    taken += rows->segments.size() -
             static_cast<size_t>(std::count(rows->segments.begin(), rows->segments.end(), 0));
  }
  return places > 0 ? std::optional(static_cast<double>(taken) / static_cast<double>(places)) : std::nullopt;
}

std::shared_ptr<const TokenRows> TextTokens::rows(const DocumentSource& source, int64_t length) {
  std::shared_ptr<const TokenRows>& found = rows_[{source, length}];
  if (!found)
    found = std::make_shared<const TokenRows>(make_rows(source, tokenizer(source.tokenizer), length));
  return found;
}

}  // namespace mtfc
