// oxport for C++17: handles that free themselves, typed views of tensors, exceptions. A thin layer over oxport.h, whose
// comments say what the functions do; docs/embedding-c.md is the introduction.
//
// Handles are moved, not copied. What is said of threads there holds here: calls that are `const` may be made by
// several threads at once.

#ifndef OXPORT_HPP
#define OXPORT_HPP

#include "oxport.h"

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

static_assert(sizeof(bool) == 1, "oxport: expected a bool of one byte");

namespace oxport {

/// Why a call failed.
class Error : public std::runtime_error {
public:
    Error(OxportStatus status, const std::string &message, std::string diagnostics = "[]")
        : std::runtime_error(message), status_(status), diagnostics_(std::move(diagnostics)) {}
    /// The kind of failure.
    OxportStatus status() const noexcept { return status_; }
    /// All diagnostics of a program that is not valid, as JSON.
    const std::string &diagnostics() const noexcept { return diagnostics_; }

private:
    OxportStatus status_;
    std::string diagnostics_;
};

namespace detail {

/// A place for an error, which `check` throws.
class Failure {
public:
    Failure() = default;
    Failure(const Failure &) = delete;
    Failure &operator=(const Failure &) = delete;
    ~Failure() { oxport_error_free(error_); }
    OxportError **place() noexcept { return &error_; }
    void check(OxportStatus status) const {
        if (status != OXPORT_STATUS_OK) {
            throw Error(status, oxport_error_message(error_), oxport_error_diagnostics(error_));
        }
    }

private:
    OxportError *error_ = nullptr;
};

struct Free {
    void operator()(OxportOptions *handle) const noexcept { oxport_options_free(handle); }
    void operator()(OxportProgram *handle) const noexcept { oxport_program_free(handle); }
    void operator()(OxportModule *handle) const noexcept { oxport_module_free(handle); }
    void operator()(OxportResults *handle) const noexcept { oxport_results_free(handle); }
};

template <class T> using Handle = std::unique_ptr<T, Free>;

template <class T> struct DtypeOf {
    static_assert(!std::is_same_v<T, T>, "oxport: no dtype has this element type");
};
template <> struct DtypeOf<std::uint8_t> { static constexpr std::int32_t value = OXPORT_DTYPE_UINT8; };
template <> struct DtypeOf<std::int8_t> { static constexpr std::int32_t value = OXPORT_DTYPE_INT8; };
template <> struct DtypeOf<std::int16_t> { static constexpr std::int32_t value = OXPORT_DTYPE_INT16; };
template <> struct DtypeOf<std::int32_t> { static constexpr std::int32_t value = OXPORT_DTYPE_INT32; };
template <> struct DtypeOf<std::int64_t> { static constexpr std::int32_t value = OXPORT_DTYPE_INT64; };
template <> struct DtypeOf<std::uint16_t> { static constexpr std::int32_t value = OXPORT_DTYPE_UINT16; };
template <> struct DtypeOf<std::uint32_t> { static constexpr std::int32_t value = OXPORT_DTYPE_UINT32; };
template <> struct DtypeOf<std::uint64_t> { static constexpr std::int32_t value = OXPORT_DTYPE_UINT64; };
template <> struct DtypeOf<float> { static constexpr std::int32_t value = OXPORT_DTYPE_FLOAT32; };
template <> struct DtypeOf<double> { static constexpr std::int32_t value = OXPORT_DTYPE_FLOAT64; };
template <> struct DtypeOf<bool> { static constexpr std::int32_t value = OXPORT_DTYPE_BOOL; };
template <> struct DtypeOf<std::complex<float>> { static constexpr std::int32_t value = OXPORT_DTYPE_COMPLEX64; };
template <> struct DtypeOf<std::complex<double>> { static constexpr std::int32_t value = OXPORT_DTYPE_COMPLEX128; };

} // namespace detail

/// The OxportDtype of an element type.
template <class T> inline constexpr std::int32_t dtype_of = detail::DtypeOf<std::remove_cv_t<T>>::value;

/// PyTorch's name of a dtype: "float32".
inline std::string dtype_name(std::int32_t dtype) {
    const char *name = oxport_dtype_name(dtype);
    return name == nullptr ? "unknown" : name;
}

/// An input. It borrows the elements of a tensor: they must live until the call has ended.
class Input {
public:
    Input() : value_(oxport_none()) {}
    template <class T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int> = 0>
    Input(T value) : value_(oxport_int(static_cast<std::int64_t>(value))) {}
    Input(double value) : value_(oxport_float(value)) {}
    Input(bool value) : value_(oxport_bool(value)) {}
    Input(std::string text) : value_(oxport_str(nullptr)), text_(std::move(text)) {}
    Input(const char *text) : Input(std::string(text)) {}

    /// `count` elements from `data` on, in row-major order.
    template <class T>
    Input(const T *data, std::size_t count, std::vector<std::int64_t> sizes)
        : value_(oxport_tensor(data, count * sizeof(T), dtype_of<T>, sizes.size(), nullptr)),
          sizes_(std::move(sizes)) {}
    /// The elements of a vector, in row-major order. The vector must neither go nor grow before the call has ended.
    template <class T>
    Input(const std::vector<T> &elements, std::vector<std::int64_t> sizes)
        : Input(elements.data(), elements.size(), std::move(sizes)) {}
    /// Elements of any dtype: `bytes` bytes from `data` on.
    Input(const void *data, std::size_t bytes, std::int32_t dtype, std::vector<std::int64_t> sizes)
        : value_(oxport_tensor(data, bytes, dtype, sizes.size(), nullptr)), sizes_(std::move(sizes)) {}

    /// The same elements with other strides, in elements, and another first element.
    Input strided(std::vector<std::int64_t> strides, std::size_t offset = 0) const {
        if (strides.size() != sizes_.size()) {
            throw Error(OXPORT_STATUS_USAGE, "expected as many strides as sizes");
        }
        Input other = *this;
        other.strides_ = std::move(strides);
        other.value_.tensor.offset = offset;
        return other;
    }

    /// The value for C; it points into this object.
    OxportValue get() const noexcept {
        OxportValue value = value_;
        value.tensor.sizes = sizes_.data();
        value.tensor.strides = strides_.empty() ? nullptr : strides_.data();
        value.text = text_.c_str();
        return value;
    }

private:
    OxportValue value_;
    std::vector<std::int64_t> sizes_, strides_;
    std::string text_;
};

/// A tensor of a result, read in place. It lives as long as the Results.
template <class T> class Tensor {
public:
    explicit Tensor(const OxportValue &value) : value_(&value) {
        if (value.kind != OXPORT_KIND_TENSOR) {
            throw Error(OXPORT_STATUS_USAGE, "expected a tensor, got a value of another kind");
        }
        if (value.tensor.dtype != dtype_of<T>) {
            throw Error(OXPORT_STATUS_USAGE,
                        "expected " + dtype_name(dtype_of<T>) + ", got " + dtype_name(value.tensor.dtype));
        }
    }
    std::size_t rank() const noexcept { return value_->tensor.rank; }
    std::vector<std::int64_t> sizes() const { return {value_->tensor.sizes, value_->tensor.sizes + rank()}; }
    std::vector<std::int64_t> strides() const { return {value_->tensor.strides, value_->tensor.strides + rank()}; }
    /// The number of elements.
    std::size_t size() const noexcept {
        std::size_t count = 1;
        for (std::size_t d = 0; d < rank(); d++) {
            count *= static_cast<std::size_t>(value_->tensor.sizes[d]);
        }
        return count;
    }
    /// Whether the elements lie in row-major order.
    bool is_contiguous() const noexcept { return oxport_is_contiguous(value_); }
    /// The first element; the others are where the strides say.
    const T *data() const noexcept { return static_cast<const T *>(value_->tensor.data); }
    /// The elements in row-major order, of a tensor that has them so.
    const T *begin() const { return in_order(); }
    const T *end() const { return in_order() + size(); }
    const T &operator[](std::size_t i) const { return in_order()[i]; }

private:
    const T *in_order() const {
        if (!is_contiguous()) {
            throw Error(OXPORT_STATUS_USAGE, "expected a tensor in row-major order: use Results::copy or strides");
        }
        return data();
    }
    const OxportValue *value_;
};

/// The results of a call.
class Results {
public:
    explicit Results(OxportResults *handle) : handle_(handle) {}
    std::size_t size() const noexcept { return oxport_results_count(handle_.get()); }
    std::string key(std::size_t i) const { return at(i), oxport_results_key(handle_.get(), i); }
    /// A value as C sees it.
    const OxportValue &operator[](std::size_t i) const { return at(i); }
    const OxportValue &operator[](const std::string &key) const {
        const OxportValue *value = oxport_results_find(handle_.get(), key.c_str());
        return value == nullptr ? throw Error(OXPORT_STATUS_USAGE, "no result has the key " + key) : *value;
    }
    /// A tensor, read in place.
    template <class T> Tensor<T> tensor(std::size_t i) const { return Tensor<T>((*this)[i]); }
    template <class T> Tensor<T> tensor(const std::string &key) const { return Tensor<T>((*this)[key]); }
    /// The elements of a tensor in row-major order, copied to memory of the caller.
    template <class T> void copy(std::size_t i, T *to, std::size_t count) const {
        Tensor<T> from(at(i));
        const std::vector<std::int64_t> sizes = from.sizes();
        const OxportBuffer buffer = {to, count * sizeof(T), dtype_of<T>, sizes.size(), sizes.data()};
        detail::Failure error;
        error.check(oxport_results_copy(handle_.get(), i, &buffer, error.place()));
    }
    /// The same, as a vector.
    template <class T> std::vector<T> copy(std::size_t i) const {
        std::vector<T> elements(tensor<T>(i).size());
        copy(i, elements.data(), elements.size());
        return elements;
    }
    const OxportResults *get() const noexcept { return handle_.get(); }

private:
    const OxportValue &at(std::size_t i) const {
        const OxportValue *value = oxport_results_get(handle_.get(), i);
        if (value == nullptr) {
            throw Error(OXPORT_STATUS_USAGE,
                        "expected one of " + std::to_string(size()) + " results, got " + std::to_string(i));
        }
        return *value;
    }
    detail::Handle<OxportResults> handle_;
};

/// A buffer that a result is written to, in row-major order.
class Output {
public:
    /// The result is not wanted.
    Output() : buffer_{nullptr, 0, 0, 0, nullptr} {}
    template <class T>
    Output(T *data, std::size_t count, std::vector<std::int64_t> sizes)
        : buffer_{data, count * sizeof(T), dtype_of<T>, sizes.size(), nullptr}, sizes_(std::move(sizes)) {}
    template <class T>
    Output(std::vector<T> &elements, std::vector<std::int64_t> sizes)
        : Output(elements.data(), elements.size(), std::move(sizes)) {}
    /// The buffer for C; it points into this object.
    OxportBuffer get() const noexcept {
        OxportBuffer buffer = buffer_;
        buffer.sizes = sizes_.data();
        return buffer;
    }

private:
    OxportBuffer buffer_;
    std::vector<std::int64_t> sizes_;
};

/// How a program is loaded.
class Options {
public:
    Options() : handle_(oxport_options_new()) {}
    Options &set(const std::string &name, const std::string &value) {
        detail::Failure error;
        error.check(oxport_options_set(handle_.get(), name.c_str(), value.c_str(), error.place()));
        return *this;
    }
    const OxportOptions *get() const noexcept { return handle_.get(); }

private:
    detail::Handle<OxportOptions> handle_;
};

using Inputs = std::vector<Input>;
using Outputs = std::vector<Output>;

namespace detail {

template <class To, class From> std::vector<To> as_c(const std::vector<From> &all) {
    std::vector<To> list;
    list.reserve(all.size());
    for (const From &one : all) {
        list.push_back(one.get());
    }
    return list;
}

} // namespace detail

/// A program that is ready to run; any number of threads may call one.
class Program {
public:
    explicit Program(const std::string &file, const Options &options = Options()) {
        require_abi();
        OxportProgram *program = nullptr;
        detail::Failure error;
        error.check(oxport_program_load(file.c_str(), options.get(), &program, error.place()));
        handle_.reset(program);
    }
    /// A program of the bytes of an archive.
    Program(const std::uint8_t *bytes, std::size_t count, const Options &options = Options()) {
        require_abi();
        OxportProgram *program = nullptr;
        detail::Failure error;
        error.check(oxport_program_from_bytes(bytes, count, options.get(), &program, error.place()));
        handle_.reset(program);
    }
    std::vector<const OxportPort *> inputs() const { return ports(oxport_program_input_count, oxport_program_input); }
    std::vector<const OxportPort *> outputs() const {
        return ports(oxport_program_output_count, oxport_program_output);
    }
    std::vector<const OxportPort *> buffers() const {
        return ports(oxport_program_buffer_count, oxport_program_buffer);
    }
    std::string json() const { return oxport_program_json(handle_.get()); }
    /// Calls the program with the buffers of the file.
    Results run(const Inputs &inputs) const {
        const auto values = detail::as_c<OxportValue>(inputs);
        OxportResults *results = nullptr;
        detail::Failure error;
        error.check(oxport_program_run(handle_.get(), values.data(), values.size(), &results, error.place()));
        return Results(results);
    }
    /// The same, with the first results written to memory of the caller.
    void run(const Inputs &inputs, const Outputs &outputs) const {
        const auto values = detail::as_c<OxportValue>(inputs);
        const auto to = detail::as_c<OxportBuffer>(outputs);
        detail::Failure error;
        error.check(oxport_program_run_into(handle_.get(), values.data(), values.size(), to.data(), to.size(),
                                            error.place()));
    }
    const OxportProgram *get() const noexcept { return handle_.get(); }

private:
    static void require_abi() {
        if (oxport_abi_version() != OXPORT_ABI_VERSION) {
            throw Error(OXPORT_STATUS_USAGE, "the header and the library of oxport have different ABI versions");
        }
    }
    template <class Count, class Get> std::vector<const OxportPort *> ports(Count count, Get port) const {
        std::vector<const OxportPort *> all;
        for (std::size_t i = 0; i < count(handle_.get()); i++) {
            all.push_back(port(handle_.get(), i));
        }
        return all;
    }
    detail::Handle<OxportProgram> handle_;
};

/// A program with buffers of its own, which its calls change.
class Module {
public:
    explicit Module(const Program &program) {
        OxportModule *module = nullptr;
        detail::Failure error;
        error.check(oxport_module_new(program.get(), &module, error.place()));
        handle_.reset(module);
    }
    /// Another module with the current buffers.
    Module clone() const {
        OxportModule *module = nullptr;
        detail::Failure error;
        error.check(oxport_module_clone(handle_.get(), &module, error.place()));
        return Module(module);
    }
    Results run(const Inputs &inputs) {
        const auto values = detail::as_c<OxportValue>(inputs);
        OxportResults *results = nullptr;
        detail::Failure error;
        error.check(oxport_module_run(handle_.get(), values.data(), values.size(), &results, error.place()));
        return Results(results);
    }
    /// The same, with the first results written to memory of the caller.
    void run(const Inputs &inputs, const Outputs &outputs) {
        const auto values = detail::as_c<OxportValue>(inputs);
        const auto to = detail::as_c<OxportBuffer>(outputs);
        detail::Failure error;
        error.check(oxport_module_run_into(handle_.get(), values.data(), values.size(), to.data(), to.size(),
                                           error.place()));
    }
    /// Gives the buffers the values of the file again.
    void reset() {
        detail::Failure error;
        error.check(oxport_module_reset(handle_.get(), error.place()));
    }
    /// The current value of a buffer, as the only result.
    Results buffer(const std::string &name) const {
        OxportResults *results = nullptr;
        detail::Failure error;
        error.check(oxport_module_get_buffer(handle_.get(), name.c_str(), &results, error.place()));
        return Results(results);
    }
    /// Replaces the value of a buffer by a copy.
    void set_buffer(const std::string &name, const Input &tensor) {
        const OxportValue value = tensor.get();
        detail::Failure error;
        error.check(oxport_module_set_buffer(handle_.get(), name.c_str(), &value, error.place()));
    }

private:
    explicit Module(OxportModule *module) : handle_(module) {}
    detail::Handle<OxportModule> handle_;
};

} // namespace oxport

#endif // OXPORT_HPP
