// The texts of the topics. They say in short what README.md and the documents in formats/ say in full.

#include "cmd/manual/topics.h"

namespace mtfc {
namespace {

constexpr const char* kModel =
    R"(A model is a JSON file: a graph of operations over tensors whose dimensions have names.
It says nothing about devices. Commands take its path, or - for standard input.

| {
|   "mtfc": 1,
|   "dims": {"batch": 32, "io": 64, "hidden": 256},
|   "inputs": {"x": {"dims": ["batch", "io"]}},
|   "variables": {
|     "w": {"dims": ["io", "hidden"],
|           "init": {"normal": 0.1}},
|     "v": {"dims": ["hidden", "io"],
|           "init": {"normal": 0.1}}
|   },
|   "ops": [
|     {"out": "h", "op": "relu", "in":
|       {"op": "einsum", "in": ["x", "w"], "over": "io"}},
|     {"out": "y", "op": "einsum", "in": ["h", "v"],
|      "over": "hidden"},
|     {"out": "loss", "op": "reduce_mean", "in":
|       {"op": "square", "in":
|         {"op": "sub", "in": ["y", "x"]}}}
|   ],
|   "train": {"loss": "loss",
|             "optimizer": {"kind": "sgd", "lr": 0.1}},
|   "outputs": ["loss"],
|   "data": {"x": "random:normal"}
| }

* mtfc :: the version of the format: 1
* dims, params :: the sizes of the dimensions, and numbers; both may be expressions such as "4 * width", and --set NAME=VALUE
  changes them
* inputs :: the tensors that get new data at each step; "data" names their sources (mtfc help data)
* variables :: the tensors that keep their values between steps, and their initial values
* blocks, include :: parts that are used several times, such as a layer, and files that such parts come from
* ops :: the operations, in order; mtfc ops lists them, and mtfc ops NAME describes one
* train :: the loss and the optimizer; without it, a run only evaluates
* outputs :: the tensors that a run reports
* decode :: how to generate a token, for mtfc generate
* precision :: "bf16" for mixed precision

The bundled models are in the folder share/mtfc/models of the installation. Each is described in the README.md of this folder.

$ mtfc check model.json
$ mtfc run model.json --steps 100
$ mtfc schema model -o model.schema.json  # for editors
)";

constexpr const char* kLayout =
    R"(A layout says how the tensors of a model are split over devices. A mesh has axes with names
and sizes, and the product of the sizes is the number of devices. A rule splits every tensor that has a dimension over an axis
of the mesh. Results do not depend on the layout; time, memory and communication do.

$ mtfc check model.json --mesh rows:2,cols:4 --layout batch:rows,hidden:cols

The first rule splits the batch over the 2 rows of devices, the second the hidden units over the 4 columns. Sizes need not
divide evenly. Several axes are joined by +, as in batch:rows+cols. A tensor can't be split twice over the same axis.

Among the rules, zero:1, zero:2 or zero:3 is a stage of ZeRO over the axes that split the batch or the length of texts, or
over those behind it, as in zero:3:rows, and propagate stands for --propagate, as in batch:rows,zero:3 or
batch:rows,propagate. With heads:cols, between:length:cols splits the length over the same axis where nothing else uses it:
sequence parallelism.

Without --mesh and --layout there is one device. A device is a process, and mtfc run starts them: 8 for this mesh.

The same as a file, for --layout FILE.json:

| {"mesh": [["rows", 2], ["cols", 4]],
|  "rules": [["batch", "rows"], ["hidden", "cols"]]}

* mesh :: the axes and their sizes, the major axis first; --mesh takes its place
* rules :: the dimensions and the axes that split them; a third element {"in": PATTERN} limits a rule to tensors whose
  names match
* shardings :: annotations: how single tensors are split, by name or pattern, as in {"logits": {}, "**/wi": {"d_ff": "cols"}}
* propagate :: true: mtfc chooses the shardings that neither rules nor annotations fix, like --propagate
* shard_state_over, shard_gradients, shard_variables, regather :: spread optimizer state and variables over the devices that would otherwise
  hold copies of them (ZeRO)
* ring :: the products that run in turns, so that no device holds a whole operand
* device_order :: the rank at each position of the mesh
* found_for :: the model and the sizes that mtfc search has found the layout for; a note says where they differ

To find a layout, compare some, or search:

$ mtfc cost-report model.json --mesh all:4 --layout batch:all --layout hidden:all
$ mtfc search model.json --devices 8 -o best.json
$ mtfc explain model.json --layout best.json
$ mtfc verify model.json --layout best.json
)";

constexpr const char* kData =
    R"(--input NAME=SPEC feeds an input of the model, and --valid NAME=SPEC gives held-out data for it.
A model may name sources itself, under the key "data". SPEC is one of these:

* FILE.npy :: an array: all of it at each step if it has the input's shape, otherwise a batch of its rows
* FILE.npz,array=NAME :: the same, from an archive of arrays
* idx:FILE :: the same, from a file in IDX, the format of MNIST
* csv:FILE,column=NAME :: a column of numbers; NAME+NAME is several, and pixel* all with such a name
* jsonl:FILE,key=NAME :: the number, or the list of numbers, that the object on each line has for a key
* images:FOLDER :: the PNG and JPEG files in it, as large as the input; scale=1/255 gives numbers up to 1
* labels:FOLDER :: for each of these images, the number of its folder, in the order of the names of folders
* text:FILE :: the tokens of a text by ,tokenizer=FOLDER, by --tokenizer or by the folder of a published model, otherwise
  its bytes as tokens 0 to 255, in windows as long as a row of the input
* lines:FILE :: a row of tokens for each line of a text
* csv:FILE,text=NAME, jsonl:FILE,text=NAME :: a row of tokens for each text in a column or of a key; ,answer=NAME names
  the texts that follow them and that alone count in part=mask
* of:INPUT,part=PART,shift=N :: of the rows that another input gets, the tokens, the mask, the segments or the positions, N tokens
  further; of:tokens,shift=1 gives the targets of a language model
* tokens:FILE :: token ids, little-endian integers of 2 bytes, or 4 with ,width=4 or in FILE.u32, in windows; mtfc tokenize makes them
* random:normal, random:uniform, random:int,hi=N :: random numbers, new at each step
* present :: 1 or true for the rows of a batch that come from the data, 0 or false for those that fill up the last batch
  of an evaluation

These may follow:

* ,rows=A:B :: only the rows from A up to but not including B; of a text, the tokens
* ,split=train|valid :: for tokens and texts: the first nine tenths, or the rest
* ,pack=yes, ,end=TOKEN, ,pad=TOKEN, ,special=yes, ,long=cut|split :: for rows of texts: several texts in a row, a token behind
  each, the token that fills rows up, the tokens that the tokenizer puts around texts, and texts that are longer than a row
* ,shift=N :: for text and tokens: a window N tokens further; shift=1 gives the targets of a language model
* ,scale=X :: values times X, as in scale=1/255; for all sources but present

Training takes rows and windows in a random order that depends on --seed, and not on the layout. Evaluation takes them in the
order of the file. Inputs from the same text share the positions at which their windows begin. Files may be larger than memory,
or compressed by gzip. 'data/part-*.npy' names several files, which follow each other in the order of their names.

$ mtfc run mnist.json --steps 900 --input images=idx:images.gz,rows=0:9000,scale=1/255 --input labels=idx:labels.gz,rows=0:9000
$ mtfc run char_lm.json --steps 500 --input tokens=text:book.txt,split=train --input targets=text:book.txt,shift=1,split=train
$ mtfc run mnist.json --evaluate --load ck --input images=test.npy --input labels=test_labels.npy
$ mtfc predict mnist.json --load ck --input images=test.npy --output-tensor logits -o logits.csv
)";

constexpr const char* kRows =
    R"(mtfc cost-report predicts what a step of a layout costs. "Per device" means the device for which a figure is largest.
formats/reports.md explains each row in full, under "The rows of a report".

Time:

* predicted step time :: of one step, in which kernels run while collectives move data, if the links allow that
* compute, communication :: of all kernels, and of all collectives, those that kernels hide included
* roofline :: of a step in which everything overlaps, at the best rates: no schedule is faster
* efficiency (MFU) :: the useful products at the peak rate of all devices, over the step time
* tokens per step, per second :: the elements of the largest input of whole numbers: places of sequences, or labels
* steps, time, device hours, price :: what training on the tokens after --tokens takes, at the --price of a device hour

Arithmetic:

* parameters :: the elements of all trained variables, and the bytes of them that a device holds
* einsum, per device, all devices :: the operations of products: two for each multiplication with addition
* einsum, useful :: the same of the model on one device
* duplication :: the products of all devices over the useful ones: above 1, devices repeat the work of others
* imbalance :: the products of the busiest device over the mean of all: above 1, others wait for it
* other :: the operations that are not products

Communication:

* collectives, elements :: how many collectives a step has, and how many elements take part
* bytes sent :: by a device to others, then by kind of collective, and by the axes of the mesh over which it runs

Memory:

* memory at the peak :: of a device when it is fullest, and whether that fits; the rows below it add up to this
* variables, optimizer state, caches :: what is kept from step to step
* copies of variables :: their elements in bf16, or gathered from other devices
* inputs, activations, gradients :: the batch, what operations have made, and the complete gradients of variables
* workspace, alignment and gaps :: what kernels need while they run, and what is lost between tensors
)";

constexpr const char* kHardware =
    R"(--hardware NAME predicts times for a bundled profile, and --hardware FILE.json for one of your own.
A profile says what a device and its links can do: the rates of arithmetic by dtype, the memory and its bandwidth, and the
latency and bandwidth of collectives. The bundled profiles are:

* local :: an invented core with 4 GB, near one of a present-day PC or server, in round figures: the default of cost-report,
  search and diff
* xeon-amx :: a core of an Intel Xeon Platinum 8480+, with bf16 through AMX, in nodes of 112 cores on InfiniBand
* epyc-infiniband :: a core of an AMD EPYC 7763 in nodes of 128 cores on InfiniBand
* ethernet-cluster :: a core in nodes of 16, which share 10 Gbit/s of Ethernet, in round figures
* a100-80g :: an NVIDIA A100 SXM of 80 GB in nodes of eight on InfiniBand, with rates that are measured
* h100 :: an NVIDIA H100 SXM of 80 GB in nodes of eight on InfiniBand, with rates that are measured
* a100-hdr4 :: an NVIDIA A100 SXM of 80 GB in nodes of eight on four links of InfiniBand (HDR), with rates that are measured, and the software of 2022
* selene :: the same on eight links a node, as in Selene
* a100-4x100g :: the same on four links of 100 Gbit/s, such as Omni-Path
* a100-40g :: an NVIDIA A100 SXM of 40 GB in nodes of eight on RoCE, with the software of 2023
* h100-efa :: an NVIDIA H100 SXM of 80 GB in nodes of eight on EFA, with rates that are measured, and the software of 2025
* b200 :: an NVIDIA B200 SXM of 180 GB in nodes of eight on InfiniBand, with rates that are measured
* gh200 :: an NVIDIA GH200 of 96 GB in nodes of four on Slingshot, with rates of products as of the H100
* fugaku :: a node of Fugaku: 48 cores of a Fujitsu A64FX with 32 GiB, on Tofu-D, with PyTorch of 2023
* fugaku-tcmalloc :: the same with tcmalloc, which makes memory twice as fast
* hb96-hdr :: a node of 96 cores of an AMD EPYC with 448 GB, on InfiniBand (HDR), as Azure's HBv3
* hpc6a-efa :: a node of 96 cores of an AMD EPYC with 384 GB, on EFA, as AWS' hpc6a
* tpu-v2 :: a core of a TPU v2 chip, with 8 GB, in a torus
* tpu-v3 :: a core of a TPU v3 chip, with 16 GB, in a torus

For GPUs and TPUs, mtfc predicts and does not run. A device of local, xeon-amx, epyc-infiniband and ethernet-cluster is one core, as if each rank had one thread; one of fugaku, fugaku-tcmalloc, hb96-hdr and hpc6a-efa is a node. The files are in
the folder hardware of the bundled models. A profile with its values, their units, and the source of each:

$ mtfc help hardware h100

To predict times for your machine, measure it with as many ranks as a run has; with --hosts or under mpiexec, a cluster is
measured. Without --mesh, one rank is measured, and no links between ranks:

$ mtfc calibrate --mesh all:4 -o here.json
$ mtfc calibrate --hosts a:4,b:4 --mesh rows:2,cols:4 -o cluster.json
$ mtfc cost-report model.json --mesh all:4 --layout batch:all --hardware here.json

compile, explain and show need no hardware. If they are given one, they choose the plan of an annotated or propagated layout
for it. mtfc run takes --hardware to compare predicted with measured times (--report).

$ mtfc schema hardware -o hardware.schema.json  # for editors
)";

constexpr const char* kEnvironment = R"(mtfc reads these variables, apart from those of MPI and of launchers:

* OMP_NUM_THREADS :: the threads of each rank, if --threads does not say it
* OMP_WAIT_POLICY, GOMP_SPINCOUNT :: how threads wait for each other; if neither is set, they sleep after a short while
* MALLOC_CONF :: options of jemalloc, which manages memory; if it is not set, ranks have no huge pages but those of tensors
* HYDRA_LAUNCHER, HYDRA_LAUNCHER_EXEC :: how MPICH's launcher reaches the hosts of --hosts, if not by ssh
* HYDRA_LAUNCHER_EXTRA_ARGS :: further options for ssh
* HYDRA_HOST_FILE :: a file with hosts, for runs without --hosts
* UCX_TCP_TX_SEG_SIZE, UCX_TCP_RX_SEG_SIZE :: the segments in which messages travel over TCP; 256k if they are not set
* NO_COLOR :: no colours on a terminal, like --no-color
* MTFC_PROGRESS :: 0: no lines of progress where standard error is a file or a pipe
* COLUMNS :: the width of help, tables and lists where there is no terminal; if it is not set, 80, and lines of explain stay whole

Under srun, mpiexec or another launcher, mtfc run is one of the ranks that this launcher has started.

$ OMP_NUM_THREADS=4 mtfc run model.json --mesh all:2 --layout batch:all
$ srun --mpi=pmi2 mtfc run model.json --mesh all:16 --layout batch:all
$ mpiexec -n 4 mtfc run model.json --mesh all:4 --layout batch:all
)";

constexpr const char* kExitCodes = R"(Every command ends with one of these codes:

* 0 :: success
* 1 :: the run failed: data, files, numbers or ranks; mtfc verify has found a difference
* 2 :: the model, the layout or the command line is wrong
* 3 :: a bug in mtfc
* 130, 143, 129 :: ended by SIGINT (Ctrl-C), SIGTERM or SIGHUP: 128 + the number of the signal

An error is one line on standard error, with the place of the mistake and, in parentheses, what to do about it. mtfc check
ends with 2 if it finds mistakes, and with --deny warnings also if it finds something to warn of.

$ mtfc check model.json --layout layout.json --deny warnings -q || exit
)";

}  // namespace

const std::vector<Topic>& topics() {
  static const std::vector<Topic> kTopics = {
      {"model", "model files: the computation, on whole tensors", kModel},
      {"layout", "meshes, rules and layout files: how tensors are split over devices", kLayout},
      {"data", "the sources of inputs, for --input and --valid", kData},
      {"hardware", "hardware profiles: for which machine times are predicted", kHardware},
      {"rows", "the rows of a cost report, one by one", kRows},
      {"environment", "environment variables, and launchers", kEnvironment},
      {"exit-codes", "the exit codes of all commands", kExitCodes},
  };
  return kTopics;
}

}  // namespace mtfc
