/* Loads the library at run time, runs one program in several threads at once, and unloads the library.
 *
 *     threads LIBRARY PROGRAM COUNT ROWS COLUMNS
 */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <oxport.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, ELEMENTS = 4096 };

/* A function of the library; POSIX says that a data pointer can hold one. */
#define FUNCTION(name) static __typeof__(&name) name##_
#define FIND(name) (*(void **)&name##_ = dlsym(library, #name))

static __typeof__(&oxport_program_run) run;
static __typeof__(&oxport_results_get) get;
static __typeof__(&oxport_results_free) free_results;
static __typeof__(&oxport_tensor) tensor;

typedef struct Job {
    const OxportProgram *program;
    int64_t sizes[2];
    int calls;
    int failures;
    float first[ELEMENTS];
    size_t bytes;
} Job;

static void *work(void *argument) {
    Job *job = argument;
    float x[ELEMENTS];
    for (size_t i = 0; i < ELEMENTS; i++) {
        x[i] = (float)(i % 17) / 4 - 2;
    }
    size_t bytes = (size_t)(job->sizes[0] * job->sizes[1]) * sizeof(float);
    for (int i = 0; i < job->calls; i++) {
        OxportResults *results = NULL;
        OxportValue input = tensor(x, bytes, OXPORT_DTYPE_FLOAT32, 2, job->sizes);
        if (run(job->program, &input, 1, &results, NULL) != OXPORT_STATUS_OK) {
            job->failures++;
            continue;
        }
        const OxportTensor *output = &get(results, 0)->tensor;
        if (i == 0) {
            job->bytes = output->bytes < sizeof job->first ? output->bytes : sizeof job->first;
            memcpy(job->first, output->data, job->bytes);
        } else if (memcmp(job->first, output->data, job->bytes) != 0) {
            job->failures++;
        }
        free_results(results);
    }
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: threads LIBRARY PROGRAM COUNT ROWS COLUMNS\n");
        return 2;
    }
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    FUNCTION(oxport_program_load);
    FUNCTION(oxport_program_free);
    FIND(oxport_program_load);
    FIND(oxport_program_free);
    *(void **)&run = dlsym(library, "oxport_program_run");
    *(void **)&get = dlsym(library, "oxport_results_get");
    *(void **)&free_results = dlsym(library, "oxport_results_free");
    *(void **)&tensor = dlsym(library, "oxport_tensor");
    OxportProgram *program = NULL;
    if (oxport_program_load_(argv[2], NULL, &program, NULL) != OXPORT_STATUS_OK) {
        fprintf(stderr, "cannot load %s\n", argv[2]);
        return 1;
    }
    static Job jobs[THREADS];
    pthread_t threads[THREADS];
    int failures = 0;
    for (int t = 0; t < THREADS; t++) {
        jobs[t].program = program;
        jobs[t].calls = atoi(argv[3]);
        jobs[t].sizes[0] = atoll(argv[4]);
        jobs[t].sizes[1] = atoll(argv[5]);
        failures += pthread_create(&threads[t], NULL, work, &jobs[t]) != 0;
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        failures += jobs[t].failures + (memcmp(jobs[t].first, jobs[0].first, jobs[0].bytes) != 0);
    }
    oxport_program_free_(program);
    printf("%d threads, %zu bytes, %d failures, dlclose %d\n", THREADS, jobs[0].bytes, failures, dlclose(library));
    return failures == 0 ? 0 : 1;
}
