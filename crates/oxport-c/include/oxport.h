// oxport for C and C++: load a program of torch.export, describe it, run it. docs/embedding-c.md is the introduction.
//
// Made by cbindgen of the Rust source; do not edit.
//
// Pointers. A pointer to a struct, an array or a text is valid during the call and does not change meanwhile; nothing
// is kept after it, unless a comment says so. NULL where a handle, a text or an array is needed gives
// OXPORT_STATUS_USAGE (or 0, or NULL, of a function that returns no status); an array of no elements may be NULL.
// What a function returns or shows belongs to the library, and lives as long as the handle that it was asked of.
//
// Handles. What a `**` receives is freed by the function of its name, once; freeing NULL does nothing. A `**` receives
// NULL if the call fails; what it was before does not matter, and is not freed. Handles keep what they need, so that
// they are freed in any order.
//
// Errors. `error` may be NULL, for a caller who needs the status only. If not, `*error` is NULL after a call that
// succeeded, else an error for oxport_error_free. Errors belong to the caller, not to a thread.
//
// Threads. An OxportProgram, OxportModule, OxportResults or OxportError may be used by any number of threads at once,
// and be freed by another thread than made it, after all others have ended. Calls of one module wait for one another.
// OxportOptions belong to one thread at a time while they are set.
//
// Panics, which are defects of the library, end at its border as OXPORT_STATUS_PANIC; their message also goes to
// standard error. Nothing else is printed.


#ifndef OXPORT_H
#define OXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The version of this interface, which grows when a program that was compiled before would no longer work.
#define OXPORT_ABI_VERSION 1

/// How a call ended. The numbers up to 6 are the exit codes of the command line.
typedef enum {
    /// Done.
    OXPORT_STATUS_OK = 0,
    /// The call is wrong: NULL, a setting, a value or a buffer that is not what it should be.
    OXPORT_STATUS_USAGE = 2,
    /// The file is not a valid program: see `oxport_error_diagnostics`.
    OXPORT_STATUS_INVALID = 3,
    /// The program is valid, but needs what this library does not have.
    OXPORT_STATUS_UNSUPPORTED = 4,
    /// The call failed while running: inputs that the program does not take, an assertion of the program, no memory.
    OXPORT_STATUS_FAILED = 5,
    /// The file cannot be read.
    OXPORT_STATUS_FILE = 6,
    /// A limit was exceeded; the message names it.
    OXPORT_STATUS_LIMIT = 7,
    /// A defect of oxport; please report the message. Handles can still be used and freed.
    OXPORT_STATUS_PANIC = 8,
} OxportStatus;

/// The type of elements, with the numbers of the file format of torch.export.
typedef enum {
    /// torch.uint8
    OXPORT_DTYPE_UINT8 = 1,
    /// torch.int8
    OXPORT_DTYPE_INT8 = 2,
    /// torch.int16
    OXPORT_DTYPE_INT16 = 3,
    /// torch.int32
    OXPORT_DTYPE_INT32 = 4,
    /// torch.int64
    OXPORT_DTYPE_INT64 = 5,
    /// torch.float16
    OXPORT_DTYPE_FLOAT16 = 6,
    /// torch.float32
    OXPORT_DTYPE_FLOAT32 = 7,
    /// torch.float64
    OXPORT_DTYPE_FLOAT64 = 8,
    /// torch.complex32
    OXPORT_DTYPE_COMPLEX32 = 9,
    /// torch.complex64
    OXPORT_DTYPE_COMPLEX64 = 10,
    /// torch.complex128
    OXPORT_DTYPE_COMPLEX128 = 11,
    /// torch.bool: bytes that are 0 or 1
    OXPORT_DTYPE_BOOL = 12,
    /// torch.bfloat16
    OXPORT_DTYPE_BFLOAT16 = 13,
    /// torch.uint16
    OXPORT_DTYPE_UINT16 = 28,
    /// torch.float8_e4m3fn
    OXPORT_DTYPE_FLOAT8_E4M3FN = 29,
    /// torch.float8_e5m2
    OXPORT_DTYPE_FLOAT8_E5M2 = 30,
    /// torch.float8_e4m3fnuz
    OXPORT_DTYPE_FLOAT8_E4M3FNUZ = 31,
    /// torch.float8_e5m2fnuz
    OXPORT_DTYPE_FLOAT8_E5M2FNUZ = 32,
    /// torch.float8_e8m0fnu
    OXPORT_DTYPE_FLOAT8_E8M0FNU = 33,
    /// torch.uint32
    OXPORT_DTYPE_UINT32 = 34,
    /// torch.uint64
    OXPORT_DTYPE_UINT64 = 35,
} OxportDtype;

/// What a value is.
typedef enum {
    /// Python's None.
    OXPORT_KIND_NONE = 0,
    /// A tensor, in `tensor`.
    OXPORT_KIND_TENSOR = 1,
    /// An int, in `integer`.
    OXPORT_KIND_INT = 2,
    /// A float, in `real`.
    OXPORT_KIND_FLOAT = 3,
    /// A bool, in `integer`: 0 or 1.
    OXPORT_KIND_BOOL = 4,
    /// A str, in `text`.
    OXPORT_KIND_STR = 5,
    /// A complex number, in `real` and `imaginary`.
    OXPORT_KIND_COMPLEX = 6,
    /// Of inputs and outputs as described: something that this interface does not pass.
    OXPORT_KIND_OTHER = 7,
} OxportKind;

/// What an input, output or buffer is for.
typedef enum {
    /// An input of a call.
    OXPORT_ROLE_INPUT = 0,
    /// An output of a call.
    OXPORT_ROLE_OUTPUT = 1,
    /// A buffer; as a result, its new value.
    OXPORT_ROLE_BUFFER = 2,
    /// The new value of an input that the program writes to, as PyTorch does in place.
    OXPORT_ROLE_MUTATED_INPUT = 3,
    /// A buffer that no call changes.
    OXPORT_ROLE_CONSTANT_BUFFER = 4,
} OxportRole;

/// Why a call failed. Immutable; freed by `oxport_error_free`.
typedef struct OxportError OxportError;

/// A program with buffers of its own. Calls from several threads wait for one another; a clone per thread does not.
typedef struct OxportModule OxportModule;

/// How a program is loaded. Not thread safe while it is being set; loading only reads it.
typedef struct OxportOptions OxportOptions;

/// A program that is ready to run. Immutable, so that any number of threads may call it at once; modules share it.
typedef struct OxportProgram OxportProgram;

/// The results of a call: outputs, then new values of buffers and inputs, as `oxport_program_output` describes them.
/// Immutable, so that any number of threads may read them.
typedef struct OxportResults OxportResults;

/// Elements in memory. As an input: memory of the caller, which the library reads in place during the call, and only
/// then. Of a result: memory of the library, which lives as long as the OxportResults.
///
/// The element at index (i, j, …) is at `data + size of an element * (offset + i * strides[0] + j * strides[1] + …)`.
typedef struct {
    /// The start of the memory. An input that is not aligned for its dtype (at most 8 bytes) is copied.
    const void *data;
    /// The bytes from `data` on that may be read. What sizes and strides reach must be within.
    size_t bytes;
    /// The first element, in elements from `data` on: not 0 only with negative strides, or in a larger array.
    size_t offset;
    /// An OxportDtype.
    int32_t dtype;
    /// The number of dimensions, at most 64.
    size_t rank;
    /// `rank` sizes; may be NULL if `rank` is 0.
    const int64_t *sizes;
    /// `rank` strides in elements, of any sign. Of an input NULL stands for row-major order.
    const int64_t *strides;
} OxportTensor;

/// A value: an input or a result of a program. Make inputs with `oxport_tensor`, `oxport_int` and their like.
typedef struct {
    /// An OxportKind, which says which of the other members counts.
    int32_t kind;
    /// A tensor.
    OxportTensor tensor;
    /// An int or bool.
    int64_t integer;
    /// A float, or the real part of a complex number.
    double real;
    /// The imaginary part of a complex number.
    double imaginary;
    /// A text in UTF-8 that ends with a NUL byte.
    const char *text;
} OxportValue;

/// An input, an output or a buffer of a program. It lives as long as the OxportProgram that it was asked of.
typedef struct {
    /// `in.0`, `out.0`, `mut.NAME` of a buffer, `inmut.0` of the new value of input 0.
    const char *key;
    /// The place in the caller's Python code: `x`, `batch['ids']`, `[0]`; the name of a buffer. May be empty.
    const char *path;
    /// An OxportRole.
    int32_t role;
    /// An OxportKind.
    int32_t kind;
    /// The OxportDtype of a tensor, else 0.
    int32_t dtype;
    /// The number of dimensions of a tensor, else 0.
    size_t rank;
    /// `rank` sizes of a tensor: -1 for one that may differ from call to call.
    const int64_t *sizes;
    /// `rank` sizes as text: `3`, `s77`, `2*s77`.
    const char *const *size_texts;
    /// The device of a tensor at export; it is computed on the CPU wherever it was. NULL for others.
    const char *device;
    /// The value of an input that must be this constant, as text; NULL for others.
    const char *constant;
} OxportPort;

/// Memory of the caller that a result is written to, in row-major order. Its dtype and sizes must be those of the
/// result; an int, float or bool is written as a tensor without dimensions of int64, float64 or bool.
typedef struct {
    /// The start of the memory; NULL if the result is not wanted, and then nothing else is read.
    void *data;
    /// The bytes from `data` on that may be written.
    size_t bytes;
    /// An OxportDtype.
    int32_t dtype;
    /// The number of dimensions.
    size_t rank;
    /// `rank` sizes; may be NULL if `rank` is 0.
    const int64_t *sizes;
} OxportBuffer;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/// The version of the library, as text: "0.1.0".
const char *oxport_version(void);

/// The OXPORT_ABI_VERSION that the library was built with. A program whose header says another one must not go on.
uint32_t oxport_abi_version(void);

/// What a status means, in a few words; "unknown" for a number that is none.
const char *oxport_status_text(int32_t status);

/// The status of an error; OXPORT_STATUS_OK for NULL.
OxportStatus oxport_error_status(const OxportError *error);

/// The sentences that say what is wrong, in UTF-8 and without control characters but line ends; "" for NULL. It lives
/// as long as the error.
const char *oxport_error_message(const OxportError *error);

/// All diagnostics of a program that is not valid, as JSON: a list of {code, severity, at, message, notes}, as `oxport
/// verify --json` prints it; "[]" for other errors and NULL. It lives as long as the error.
const char *oxport_error_diagnostics(const OxportError *error);

/// Frees an error. NULL does nothing.
void oxport_error_free(OxportError *error);

/// A tensor input in row-major order: `bytes` bytes from `data` on, an OxportDtype, and `rank` sizes. Nothing is copied
/// or checked before the value is used. Set `tensor.strides` and `tensor.offset` for other orders.
OxportValue oxport_tensor(const void *data, size_t bytes, int32_t dtype, size_t rank, const int64_t *sizes);

/// An int input.
OxportValue oxport_int(int64_t value);

/// A float input.
OxportValue oxport_float(double value);

/// A bool input: false for 0, else true.
OxportValue oxport_bool(int32_t value);

/// A str input, in UTF-8 with a NUL byte at its end. The text is not copied before the call.
OxportValue oxport_str(const char *value);

/// Python's None.
OxportValue oxport_none(void);

/// PyTorch's name of an OxportDtype: "float32"; NULL for a number that is none.
const char *oxport_dtype_name(int32_t dtype);

/// The bytes of an element of an OxportDtype; 0 for a number that is none.
size_t oxport_dtype_size(int32_t dtype);

/// Whether a value is a tensor in row-major order, so that its elements lie one after another from `tensor.data` on.
bool oxport_is_contiguous(const OxportValue *value);

/// New options, with the defaults. Never NULL.
OxportOptions *oxport_options_new(void);

/// Sets an option, by its name:
///
/// - "opt": "none", "exact" (the default: results equal to the bit) or "fast" (rules that may round differently, too;
///   the library needs the feature `rewrite`)
/// - "threads": a number; "0" (the default) stands for all cores
/// - "seed": the seed of random operators, "0" by default
/// - "checks": "torch" (the default: inputs are checked as PyTorch does) or "strict" (dtypes, ranges and guards, too)
/// - "model": the model to read from an archive with several
/// - "verify_weights": "true" checks the checksums of weights, which reads all of them; "false" by default
/// - "limit": "NAME=N", as "buffer=4G": a limit of reading or running; may be set repeatedly
///
/// Both texts end with a NUL byte and are copied.
OxportStatus oxport_options_set(OxportOptions *options, const char *name, const char *value, OxportError **error);

/// Frees options. NULL does nothing. Programs that were loaded with them stay as they are.
void oxport_options_free(OxportOptions *options);

/// Loads a program from a file: a .pt2 archive, a .json program with a .safetensors file next to it, or a text (.py,
/// .fx). It is verified, optimized and planned: this takes from milliseconds to seconds. The weights of an archive are
/// mapped, not read, so that the file must not be changed while the program, or anything that comes from it, lives.
///
/// `options` may be NULL for the defaults.
OxportStatus oxport_program_load(const char *file,
                                 const OxportOptions *options,
                                 OxportProgram **program,
                                 OxportError **error);

/// Loads a program from the bytes of a .pt2 archive. They are copied, so that they may be freed at once.
OxportStatus oxport_program_from_bytes(const uint8_t *bytes,
                                       size_t count,
                                       const OxportOptions *options,
                                       OxportProgram **program,
                                       OxportError **error);

/// Frees a program. NULL does nothing. Modules and results that came from it stay as they are.
void oxport_program_free(OxportProgram *program);

/// The number of inputs that a call takes, flat: the leaves of Python's arguments, in order; 0 for NULL.
size_t oxport_program_input_count(const OxportProgram *program);

/// The description of an input; NULL if there is none. It lives as long as the program.
const OxportPort *oxport_program_input(const OxportProgram *program, size_t index);

/// The number of results of a call: the outputs of the model, then new values of buffers and inputs; 0 for NULL.
size_t oxport_program_output_count(const OxportProgram *program);

/// How many of the results, from the first on, the model returns; 0 for NULL.
size_t oxport_program_returned_count(const OxportProgram *program);

/// The description of a result; NULL if there is none. It lives as long as the program.
const OxportPort *oxport_program_output(const OxportProgram *program, size_t index);

/// The number of buffers: first those that calls change, then the others; 0 for NULL.
size_t oxport_program_buffer_count(const OxportProgram *program);

/// The description of a buffer; NULL if there is none. It lives as long as the program.
const OxportPort *oxport_program_buffer(const OxportProgram *program, size_t index);

/// The whole description as JSON: {inputs, outputs, buffers, symbols, weights_bytes, threads}, with the ports as
/// `oxport info --json` prints them; "{}" for NULL. It lives as long as the program.
const char *oxport_program_json(const OxportProgram *program);

/// Calls the program on `input_count` inputs; trailing ones with a default may be left out. Buffers of the program have
/// the values of the file: their new values are results only. Any number of threads may call one program at once.
///
/// Tensors are read in place, and not after the call.
OxportStatus oxport_program_run(const OxportProgram *program,
                                const OxportValue *inputs,
                                size_t input_count,
                                OxportResults **results,
                                OxportError **error);

/// As `oxport_program_run`, with the first `output_count` results written to buffers of the caller, in row-major order.
/// If the call fails, or one result does not fit its buffer, nothing is written. A buffer may be memory of an input.
OxportStatus oxport_program_run_into(const OxportProgram *program,
                                     const OxportValue *inputs,
                                     size_t input_count,
                                     const OxportBuffer *outputs,
                                     size_t output_count,
                                     OxportError **error);

/// A new module: the program with buffers of its own, which have the values of the file. It shares the plan and the
/// weights, so that many modules of one program are cheap, and the program may be freed before it.
OxportStatus oxport_module_new(const OxportProgram *program, OxportModule **module, OxportError **error);

/// Another module with the current buffers of this one. From then on they are independent.
OxportStatus oxport_module_clone(const OxportModule *module, OxportModule **clone, OxportError **error);

/// Frees a module. NULL does nothing. Results that came from it stay as they are.
void oxport_module_free(OxportModule *module);

/// As `oxport_program_run`, with the buffers of the module, which the call changes. If it fails they stay as they were.
OxportStatus oxport_module_run(const OxportModule *module,
                               const OxportValue *inputs,
                               size_t input_count,
                               OxportResults **results,
                               OxportError **error);

/// As `oxport_program_run_into`, with the buffers of the module, which the call changes. If it fails, or one result
/// does not fit, they stay as they were.
OxportStatus oxport_module_run_into(const OxportModule *module,
                                    const OxportValue *inputs,
                                    size_t input_count,
                                    const OxportBuffer *outputs,
                                    size_t output_count,
                                    OxportError **error);

/// Gives the buffers the values of the file again.
OxportStatus oxport_module_reset(const OxportModule *module, OxportError **error);

/// The current value of a buffer that calls change, by its name (the `path` of `oxport_program_buffer`), as the only
/// one of `*results`. Later calls do not change it.
OxportStatus oxport_module_get_buffer(const OxportModule *module,
                                      const char *name,
                                      OxportResults **results,
                                      OxportError **error);

/// Replaces the value of a buffer that calls change by a copy of `tensor`, which has the same dtype and sizes.
OxportStatus oxport_module_set_buffer(const OxportModule *module,
                                      const char *name,
                                      const OxportValue *tensor,
                                      OxportError **error);

/// The number of results; 0 for NULL.
size_t oxport_results_count(const OxportResults *results);

/// A result; NULL if there is none. The value and all that it points to live as long as `results`. A tensor need not be
/// in row-major order: see `oxport_is_contiguous` and `oxport_results_copy`.
const OxportValue *oxport_results_get(const OxportResults *results, size_t index);

/// The key of a result, as `oxport_program_output` says it: "out.0", "mut.NAME", "inmut.0"; NULL if there is none.
const char *oxport_results_key(const OxportResults *results, size_t index);

/// The result with this key; NULL if there is none.
const OxportValue *oxport_results_find(const OxportResults *results, const char *key);

/// Writes a result to a buffer of the caller, in row-major order; an int, float or bool as a tensor without dimensions.
/// The dtype and sizes of the buffer must be those of the result. On an error nothing is written.
OxportStatus oxport_results_copy(const OxportResults *results,
                                 size_t index,
                                 const OxportBuffer *buffer,
                                 OxportError **error);

/// Frees results. NULL does nothing.
void oxport_results_free(OxportResults *results);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* OXPORT_H */
