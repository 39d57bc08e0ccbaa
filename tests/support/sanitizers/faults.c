/* Faults on purpose: .ci/sanitize calls each and ends unless it is reported. */

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

static volatile int32_t sink;

void heap_overrun(int32_t n) { /* the first byte behind n bytes */
    volatile uint8_t *data = malloc((size_t)n);
    data[0] = 1;
    sink = data[n];
    free((void *)data);
}

void stack_overrun(int32_t n) {
    volatile uint8_t data[16] = {0};
    sink = data[n];
}

void shift(int32_t n) { sink = 1 << n; }

void overflow(int32_t n) { sink = 0x7fffffff + n; }

void misaligned(int32_t n) {
    static _Alignas(8) uint8_t data[64];
    sink = *(volatile int32_t *)(data + n);
}

void uninitialised(int32_t n) {
    volatile uint8_t *data = malloc((size_t)n);
    if (data[0])
        sink = 1;
    free((void *)data);
}

void leak(int32_t n) {
    for (int32_t i = 0; i < n; i++)
        *(uint8_t *volatile)malloc(10) = 1;
}

void read_at(const volatile uint8_t *data) { sink = *data; }

static int32_t shared;

static void *add(void *count) {
    for (int32_t i = 0; i < *(int32_t *)count; i++)
        shared++;
    return NULL;
}

void race(int32_t n) {
    pthread_t other;
    if (pthread_create(&other, NULL, add, &n) == 0) {
        add(&n);
        pthread_join(other, NULL);
    }
}

#ifdef _OPENMP
void openmp(int32_t n) { /* no fault: the parts of a loop, which OpenMP alone keeps apart from what is before and after */
    int32_t *sums = calloc((size_t)n, sizeof(int32_t)), total = 0;
    for (int32_t round = 0; round < 20; round++) {
#pragma omp parallel for schedule(static) num_threads(4)
        for (int32_t i = 0; i < n; i++)
            sums[i] += i + round;
        for (int32_t i = 0; i < n; i++)
            total += sums[i] & 1;
    }
    sink = total;
    free(sums);
}

void openmp_race(int32_t n) { /* the parts of one loop write one number */
#pragma omp parallel for schedule(static) num_threads(4)
    for (int32_t i = 0; i < n; i++)
        shared += i;
}
#endif
