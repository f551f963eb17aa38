/* Prints the signature of a program, runs it on inputs, prints all results.
 *
 *     run PROGRAM [OPTION=VALUE ...] -- INPUT ...
 *
 * An INPUT of a tensor is a file with its elements in row-major order, `FILE`, or with other sizes than the program
 * says, `2x16:FILE`; of a number, a bool (0 or 1) or a str it is the value; of None it is anything.
 */
#include <inttypes.h>
#include <oxport.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_INPUTS = 64, MAX_DIMS = 64 };

/* What an input borrows. */
typedef struct Memory {
    void *data;
    int64_t sizes[MAX_DIMS];
} Memory;

static int failed(const char *what, OxportError *error) {
    fprintf(stderr, "%s: %s\n", what, oxport_error_message(error));
    if (strcmp(oxport_error_diagnostics(error), "[]") != 0) {
        fprintf(stderr, "%s\n", oxport_error_diagnostics(error));
    }
    int status = (int)oxport_error_status(error);
    oxport_error_free(error);
    return status;
}

static void print_port(const OxportPort *port) {
    printf("%s `%s`", port->key, port->path);
    if (port->kind == OXPORT_KIND_TENSOR) {
        printf(" %s[", oxport_dtype_name(port->dtype));
        for (size_t d = 0; d < port->rank; d++) {
            printf("%s%s", d > 0 ? ", " : "", port->size_texts[d]);
        }
        printf("] %s", port->device);
    }
    if (port->constant != NULL) {
        printf(" always %s", port->constant);
    }
    printf("\n");
}

/* Reads a whole file; the result is freed by the caller. */
static void *contents(const char *path, size_t *bytes) {
    FILE *file = fopen(path, "rb");
    void *data = NULL;
    long end = -1;
    if (file != NULL && fseek(file, 0, SEEK_END) == 0 && (end = ftell(file)) >= 0 && fseek(file, 0, SEEK_SET) == 0) {
        data = malloc((size_t)end + 1);
    }
    if (data != NULL && fread(data, 1, (size_t)end, file) != (size_t)end) {
        free(data);
        data = NULL;
    }
    if (file != NULL) {
        fclose(file);
    }
    *bytes = data == NULL ? 0 : (size_t)end;
    return data;
}

/* An input by its text; false if a file cannot be read. */
static bool parse(const OxportPort *port, const char *text, Memory *memory, OxportValue *value) {
    switch (port->kind) {
    case OXPORT_KIND_INT: *value = oxport_int(strtoll(text, NULL, 10)); return true;
    case OXPORT_KIND_FLOAT: *value = oxport_float(strtod(text, NULL)); return true;
    case OXPORT_KIND_BOOL: *value = oxport_bool(atoi(text)); return true;
    case OXPORT_KIND_STR: *value = oxport_str(text); return true;
    case OXPORT_KIND_TENSOR: break;
    default: *value = oxport_none(); return true;
    }
    size_t rank = 0, bytes = 0;
    const char *colon = strchr(text, ':');
    if (colon == NULL) {
        for (; rank < port->rank && rank < MAX_DIMS; rank++) {
            memory->sizes[rank] = port->sizes[rank];
        }
    } else {
        for (; text < colon && rank < MAX_DIMS; rank++) {
            char *end;
            memory->sizes[rank] = strtoll(text, &end, 10);
            text = end + 1;
        }
        text = colon + 1;
    }
    memory->data = contents(text, &bytes);
    *value = oxport_tensor(memory->data, bytes, port->dtype, rank, memory->sizes);
    return memory->data != NULL;
}

static void print_element(int32_t dtype, const unsigned char *at) {
    switch (dtype) {
    case OXPORT_DTYPE_FLOAT32: { float x; memcpy(&x, at, sizeof x); printf(" %.9g", (double)x); break; }
    case OXPORT_DTYPE_FLOAT64: { double x; memcpy(&x, at, sizeof x); printf(" %.17g", x); break; }
    case OXPORT_DTYPE_INT64: { int64_t x; memcpy(&x, at, sizeof x); printf(" %" PRId64, x); break; }
    case OXPORT_DTYPE_INT32: { int32_t x; memcpy(&x, at, sizeof x); printf(" %" PRId32, x); break; }
    case OXPORT_DTYPE_BOOL: printf(" %d", *at); break;
    default:
        printf(" 0x");
        for (size_t i = oxport_dtype_size(dtype); i-- > 0;) {
            printf("%02x", at[i]);
        }
    }
}

/* Prints a result in row-major order, whatever its strides are. */
static OxportStatus print_result(const OxportResults *results, size_t i, OxportError **error) {
    const OxportValue *value = oxport_results_get(results, i);
    *error = NULL;
    printf("%s", oxport_results_key(results, i));
    switch (value->kind) {
    case OXPORT_KIND_NONE: printf(" None\n"); return OXPORT_STATUS_OK;
    case OXPORT_KIND_INT: printf(" int %" PRId64 "\n", value->integer); return OXPORT_STATUS_OK;
    case OXPORT_KIND_BOOL: printf(" bool %" PRId64 "\n", value->integer); return OXPORT_STATUS_OK;
    case OXPORT_KIND_FLOAT: printf(" float %.17g\n", value->real); return OXPORT_STATUS_OK;
    case OXPORT_KIND_COMPLEX: printf(" complex %.17g %.17g\n", value->real, value->imaginary); return OXPORT_STATUS_OK;
    case OXPORT_KIND_STR: printf(" str %s\n", value->text); return OXPORT_STATUS_OK;
    default: break;
    }
    const OxportTensor *tensor = &value->tensor;
    size_t count = 1, size = oxport_dtype_size(tensor->dtype);
    printf(" %s[", oxport_dtype_name(tensor->dtype));
    for (size_t d = 0; d < tensor->rank; d++) {
        printf("%s%" PRId64, d > 0 ? ", " : "", tensor->sizes[d]);
        count *= (size_t)tensor->sizes[d];
    }
    printf("]");
    unsigned char *elements = malloc(count * size + 1);
    if (elements == NULL) {
        return OXPORT_STATUS_FAILED;
    }
    OxportBuffer buffer = {elements, count * size, tensor->dtype, tensor->rank, tensor->sizes};
    OxportStatus status = oxport_results_copy(results, i, &buffer, error);
    for (size_t k = 0; status == OXPORT_STATUS_OK && k < count; k++) {
        print_element(tensor->dtype, elements + k * size);
    }
    printf("\n");
    free(elements);
    return status;
}

int main(int argc, char **argv) {
    if (oxport_abi_version() != OXPORT_ABI_VERSION) {
        fprintf(stderr, "expected a library of ABI %d, got %u\n", OXPORT_ABI_VERSION, oxport_abi_version());
        return OXPORT_STATUS_USAGE;
    }
    if (argc < 2) {
        fprintf(stderr, "usage: run PROGRAM [OPTION=VALUE ...] -- INPUT ...\n");
        return OXPORT_STATUS_USAGE;
    }
    OxportError *error = NULL;
    OxportOptions *options = oxport_options_new();
    int next = 2;
    for (; next < argc && strcmp(argv[next], "--") != 0; next++) {
        char *value = strchr(argv[next], '=');
        if (value != NULL) {
            *value++ = '\0';
        }
        if (oxport_options_set(options, argv[next], value, &error) != OXPORT_STATUS_OK) {
            oxport_options_free(options);
            return failed(argv[next], error);
        }
    }
    OxportProgram *program = NULL;
    OxportStatus status = oxport_program_load(argv[1], options, &program, &error);
    oxport_options_free(options);
    if (status != OXPORT_STATUS_OK) {
        return failed(argv[1], error);
    }

    for (size_t i = 0; i < oxport_program_input_count(program); i++) {
        print_port(oxport_program_input(program, i));
    }
    for (size_t i = 0; i < oxport_program_output_count(program); i++) {
        print_port(oxport_program_output(program, i));
    }
    printf("\n");

    OxportValue inputs[MAX_INPUTS];
    Memory memory[MAX_INPUTS];
    size_t count = 0;
    memset(memory, 0, sizeof memory);
    for (next++; next < argc && count < MAX_INPUTS && oxport_program_input(program, count) != NULL; next++, count++) {
        if (!parse(oxport_program_input(program, count), argv[next], &memory[count], &inputs[count])) {
            fprintf(stderr, "cannot read %s\n", argv[next]);
        }
    }
    OxportResults *results = NULL;
    int code = 0;
    if (oxport_program_run(program, inputs, count, &results, &error) != OXPORT_STATUS_OK) {
        code = failed("run", error);
    }
    for (size_t i = 0; i < oxport_results_count(results) && code == 0; i++) {
        if (print_result(results, i, &error) != OXPORT_STATUS_OK) {
            code = failed("print", error);
        }
    }
    for (size_t i = 0; i < count; i++) {
        free(memory[i].data);
    }
    oxport_results_free(results);
    oxport_program_free(program);
    return code;
}
