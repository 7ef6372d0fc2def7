#pragma once
// Columns of CSV files (RFC 4180): a line with the names of the columns, and then a line for each row. Fields may be
// quoted, lines may end in CR and LF, and empty lines are passed over.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensors/data.h"
#include "formats/data/data_file.h"

namespace mtfc {

/// A field of a column that is read.
struct CsvField {
  std::string_view text;  // without quotes
  const std::string& column;
  int64_t line = 0;
};

/// The rows of a file, and how many of its columns are read.
struct CsvSize {
  int64_t rows = 0;
  size_t columns = 0;
};

/// Lines that begin with # may be comments.
enum class CsvComments { kNone, kAllowed };

/// Passes the fields of `columns` to `visit`, row by row and in the order of `columns`; a name with * stands for all
/// columns that have such a name, in the order of the file. Throws RunError with file and line for a file that is no
/// CSV, a row of another length, or a column that is missing or not unique.
CsvSize read_csv_fields(const DataFile& file, const std::vector<std::string>& columns,
                        const std::function<void(const CsvField&)>& visit,
                        CsvComments comments = CsvComments::kNone);

/// Columns of numbers: [rows] for one, and [rows, columns] for several. Throws RunError with file, line and column for
/// what is no number.
StoredArray read_csv(const std::string& path, const std::vector<std::string>& columns);

}  // namespace mtfc
