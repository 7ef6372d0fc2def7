#include "formats/hardware/rates_reader.h"

#include <doctest/doctest.h>

#include "core/diagnostics/error.h"

namespace mtfc::rates_reader_test {

namespace {

MeasuredRates rates_of(const std::string& text, const RatesOptions& options = {},
                       const std::string& file = "t.txt") {
  MeasuredRates rates;
  read_rates(text, file, options, rates);
  return rates;
}

std::string complaint(const std::string& text, const RatesOptions& options = {}) {
  try {
    rates_of(text, options);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

constexpr const char* kNccl = R"(# nThread 1 nGpus 4 minBytes 8 maxBytes 134217728 step: 2(factor)
#
# Using devices
#  Rank  0 Group  0 Pid   1 on  n0 device  0 [0x07] GPU
#  Rank  1 Group  0 Pid   1 on  n0 device  1 [0x0f] GPU
#  Rank  2 Group  0 Pid   1 on  n0 device  2 [0x47] GPU
#  Rank  3 Group  0 Pid   1 on  n0 device  3 [0x4e] GPU
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
        1024           256     float     sum      -1    14.50    0.07    0.11      0    14.20    0.07    0.11      0
     1048576        262144     float     sum      -1    40.00   26.21   39.32      0    39.90   26.28   39.42      0
# Out of bounds values : 0 OK
)";

}  // namespace

TEST_CASE("the text of nccl-tests says how many ranks there are, and its file which collective") {
  const MeasuredRates rates = rates_of(kNccl, {}, "runs/all_reduce.txt");
  REQUIRE(rates.collectives.size() == 2);
  CHECK(rates.collectives[1].kind == CollectiveKind::kAllReduce);
  CHECK(rates.collectives[1].devices == 4);
  CHECK(rates.collectives[1].bytes == 2 * 1048576 * 0.75);
  CHECK(rates.collectives[1].seconds == doctest::Approx(40e-6));
  CHECK(rates_of(kNccl, {}, "alltoall.txt").collectives[0].bytes == 1024 * 0.75);
  CHECK(rates_of("# Collective test starting: reduce_scatter_perf\n" + std::string(kNccl))
            .collectives[0]
            .kind == CollectiveKind::kReduceScatter);
  CHECK(complaint(kNccl) ==
        "t.txt:12:1: error: the text does not say which collective it is of (name the file as in "
        "all_reduce.txt)");
}

TEST_CASE("texts of OSU benchmarks") {
  const std::string allgather =
      "\n# OSU MPI Allgather Latency Test v7.1\n# Size       Avg Latency(us)\n1024   20.5\n";
  RatesOptions options;
  options.devices = 8;
  const MeasuredRates rates = rates_of(allgather, options);
  REQUIRE(rates.collectives.size() == 1);
  CHECK(rates.collectives[0].kind == CollectiveKind::kAllGather);
  CHECK(rates.collectives[0].bytes == 7 * 1024);
  CHECK(rates.sources.at("") == "OSU MPI Allgather Latency Test v7.1");
  CHECK(complaint(allgather) ==
        "t.txt:2:1: error: an OSU text does not say how many ranks there were (give them as --devices N)");
  const MeasuredRates pair =
      rates_of("# OSU MPI-CUDA Bandwidth Test v5.8\n# Size  Bandwidth (MB/s)\n4096 1000\n");
  CHECK(pair.collectives[0].kind == CollectiveKind::kPermute);
  CHECK(pair.collectives[0].devices == 2);
  CHECK(pair.collectives[0].seconds == doctest::Approx(4.096e-6));
  CHECK(rates_of("# OSU MPI Latency Test v5.8\n8 2.5\n").collectives[0].seconds == doctest::Approx(2.5e-6));
  CHECK(
      complaint("# OSU MPI Barrier Latency Test v7.1\n") ==
      "t.txt:1:1: error: this OSU benchmark is of nothing that a profile has (latency, bandwidth, allreduce, "
      "allgather, reduce_scatter and alltoall are)");
}

TEST_CASE("CSV of products, attention and collectives") {
  const MeasuredRates products = rates_of(
      "# a benchmark; its "
      "licence\nm,n,k,us_a,us_b,out_dtype\n8,16,32,4,3,bf16\n8,16,32,,,bf16\n8,16,32,5,,fp32\n");
  REQUIRE(products.kernels.at("einsum").size() == 1);
  CHECK(products.kernels.at("einsum")[0].seconds == doctest::Approx(3e-6));
  CHECK(products.kernels.at("einsum")[0].flops == 2 * 8 * 16 * 32);
  CHECK(products.kernels.at("einsum")[0].bytes == 2 * (8 * 32 + 32 * 16 + 8 * 16));
  CHECK(products.kernels.at("widened_einsum").size() == 1);
  CHECK(products.sources.at("einsum") == "a benchmark");
  CHECK(rates_of("b,m,k,n,share\n1,2,3,4,0.5\n").kernels.at("einsum")[0].share == 0.5);
  const MeasuredRates attention = rates_of("batch,seq,heads,kv_heads,ms\n2,100,8,4,0.5\n");
  const MeasuredKernel& row = attention.kernels.at("attention")[0];
  CHECK(row.place == std::vector<double>{100, 16, 2});
  CHECK(row.flops == 4.0 * 128 * 16 * 100 * 101 / 2);
  CHECK(row.seconds == doctest::Approx(5e-4));
  const std::string collectives =
      "gpu,collective,gpus,bytes,us\na,alltoall,4,4000,10\nb,all_gather,2,4000,10\n";
  RatesOptions options;
  options.only["gpu"] = "a";
  REQUIRE(rates_of(collectives, options).collectives.size() == 1);
  CHECK(rates_of(collectives, options).collectives[0].bytes == 3000);
  CHECK(complaint(collectives) ==
        "t.txt:1:1: error: the rows are of several machines, by the column 'gpu': a, b (--rows gpu=a keeps "
        "those of "
        "one)");
  options.only["gpu"] = "c";
  CHECK(complaint(collectives, options) ==
        "error: t.txt: no row is of any use (--rows may keep none of them)");
}

TEST_CASE("mistakes in tables of rates") {
  CHECK(complaint("") == "error: t.txt: the file is empty");
  CHECK(complaint("a,b\n1,2\n")
            .starts_with("t.txt:1:1: error: the file is no table of rates that mtfc knows (it knows"));
  CHECK(complaint("m,n,k,us\n1,2,3\n") == "t.txt:2:1: error: the row has 3 fields, but there are 4 columns");
  CHECK(complaint("m,n,k,us\n1,2,3,4\n1,x,3,4\n") ==
        "t.txt:3:1: error: the column 'n' is 'x', which is no number above 0");
  CHECK(complaint("collective,gpus,bytes,us\nbroadcast,2,8,1\n") ==
        "t.txt:2:1: error: 'broadcast' is no collective of a profile");
}

}  // namespace mtfc::rates_reader_test
