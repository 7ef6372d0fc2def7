#pragma once
// Decoders make a text of tokens: each step changes the list of tokens, and what is left is put together.
//
//   ByteLevel   Hello, Ġworld  ->  "Hello world"

#include <memory>
#include <string>
#include <vector>

namespace mtfc {

class Cursor;

class TokenDecoder {
 public:
  virtual ~TokenDecoder() = default;
  virtual void apply(std::vector<std::string>& tokens) const = 0;
};

/// Reads the object `decoder` of a tokenizer.json. Records mistakes in the cursor's sink, and returns nullptr then.
std::unique_ptr<TokenDecoder> read_token_decoder(const Cursor& json);

}  // namespace mtfc
