// A program with buffers, a cache of keys and values, over several calls.
//
//     state PROGRAM X POSITIONS [X POSITIONS ...]
//
// Each X is a file of float32, each POSITIONS one of int64, in row-major order.
#include <oxport.hpp>

#include <cstdio>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <stdexcept>

template <class T> std::vector<T> read(const std::string &path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    std::vector<T> elements(file ? static_cast<std::size_t>(file.tellg()) / sizeof(T) : 0);
    const auto bytes = static_cast<std::streamsize>(elements.size() * sizeof(T));
    if (!file.seekg(0) || !file.read(reinterpret_cast<char *>(elements.data()), bytes)) {
        throw std::runtime_error("cannot read " + path);
    }
    return elements;
}

std::vector<std::int64_t> sizes_of(const OxportPort *port) { return {port->sizes, port->sizes + port->rank}; }

void print(const std::string &what, const std::vector<float> &elements) {
    std::printf("%s", what.c_str());
    for (float x : elements) {
        std::printf(" %.9g", static_cast<double>(x));
    }
    std::printf("\n");
}

int main(int argc, char **argv) try {
    if (argc < 4 || argc % 2 != 0) {
        std::fprintf(stderr, "usage: state PROGRAM X POSITIONS [X POSITIONS ...]\n");
        return OXPORT_STATUS_USAGE;
    }
    const oxport::Program program(argv[1], oxport::Options().set("threads", "2"));
    const auto x_sizes = sizes_of(program.inputs().at(0)), position_sizes = sizes_of(program.inputs().at(1));

    // The program can be shared; the module has buffers of its own.
    oxport::Module module(program);
    std::vector<float> first;
    for (int i = 2; i < argc; i += 2) {
        // The vectors are read in place.
        const auto x = read<float>(argv[i]);
        const auto positions = read<std::int64_t>(argv[i + 1]);
        const oxport::Results results = module.run({{x, x_sizes}, {positions, position_sizes}});

        // The results are read in place, too.
        print(results.key(0), results.copy<float>(0));
        std::printf("%s %lld\n", results.key(1).c_str(), static_cast<long long>(results.tensor<std::int64_t>(1)[0]));
        if (first.empty()) {
            first = results.copy<float>(0);
        }
    }
    print("mut.k", module.buffer("k").copy<float>(0));

    // A clone goes on by itself; a reset module begins again, and gives the same bits, here in a vector of ours.
    const oxport::Module clone = module.clone();
    module.reset();
    const auto x = read<float>(argv[2]);
    const auto positions = read<std::int64_t>(argv[3]);
    std::vector<float> again(first.size());
    module.run({{x, x_sizes}, {positions, position_sizes}}, {{again, sizes_of(program.outputs().at(0))}});
    const bool is_kept = clone.buffer("k").copy<float>(0) != module.buffer("k").copy<float>(0);
    std::printf("again %s, clone %s\n", again == first ? "equal" : "different", is_kept ? "kept" : "lost");

    // Putting a buffer back: its dtype and sizes are checked.
    const std::vector<float> zeros(clone.buffer("k").tensor<float>(0).size());
    module.set_buffer("k", {zeros, clone.buffer("k").tensor<float>(0).sizes()});
    try {
        module.set_buffer("k", {zeros, {static_cast<std::int64_t>(zeros.size())}});
    } catch (const oxport::Error &error) {
        std::printf("refused: %s\n", error.what());
    }
    return 0;
} catch (const oxport::Error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.status();
} catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
