/* The quick start: loads a program with one float32 input, runs it, prints the first output.
 *
 *     first PROGRAM ROWS COLUMNS
 */
#include <oxport.h>
#include <stdio.h>
#include <stdlib.h>

static int failed(const char *what, OxportError *error) {
    fprintf(stderr, "%s: %s\n", what, oxport_error_message(error));
    int status = (int)oxport_error_status(error);
    oxport_error_free(error);
    return status;
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: first PROGRAM ROWS COLUMNS\n");
        return OXPORT_STATUS_USAGE;
    }
    OxportProgram *program;
    OxportResults *results;
    OxportError *error;

    // Verified, optimized, planned. NULL: default options.
    if (oxport_program_load(argv[1], NULL, &program, &error) != OXPORT_STATUS_OK) {
        return failed(argv[1], error);
    }

    // An input is memory of the caller: it is read in place, and only during the call.
    const int64_t sizes[2] = {atoll(argv[2]), atoll(argv[3])};
    const size_t count = (size_t)(sizes[0] * sizes[1]);
    float *x = malloc(count * sizeof(float));
    for (size_t i = 0; x != NULL && i < count; i++) {
        x[i] = (float)i / 4;
    }
    OxportValue input = oxport_tensor(x, count * sizeof(float), OXPORT_DTYPE_FLOAT32, 2, sizes);
    OxportStatus status = oxport_program_run(program, &input, 1, &results, &error);
    free(x);
    if (status != OXPORT_STATUS_OK) {
        oxport_program_free(program);
        return failed("run", error);
    }

    // A result is memory of the library: it lives until it is freed.
    const OxportValue *output = oxport_results_get(results, 0);
    if (output->kind == OXPORT_KIND_TENSOR && output->tensor.dtype == OXPORT_DTYPE_FLOAT32 &&
        oxport_is_contiguous(output)) {
        const float *y = output->tensor.data;
        for (size_t i = 0; i < output->tensor.bytes / sizeof(float); i++) {
            printf("%.9g\n", (double)y[i]);
        }
    }
    oxport_results_free(results);
    oxport_program_free(program);
    return 0;
}
