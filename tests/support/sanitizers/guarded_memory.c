/* A Python module whose import makes NumPy take each array's data from pages of its own, next to a page without access.
 *
 * An access one byte beyond an array is then a segmentation fault, whoever makes it: compiled code without a
 * sanitizer, and loads and stores of intrinsics that AddressSanitizer does not see, such as AVX-512's masked ones. With
 * GUARDED_MEMORY=start the page without access lies before each array, else behind it. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#define MAGIC 0x6c6f777072656331u

typedef struct {
    uint64_t magic;
    size_t size;
} header_t;

static size_t page;
static int at_start;

/* Behind the array: [none][... header data][none]. Before it: [header][none][data ...][none]. */
static size_t pages_of(size_t size) {
    size_t bytes = at_start ? size : size + sizeof(header_t);
    return (bytes + page - 1) / page * page + (bytes == 0) * page;
}

static char *header_of(char *data) {
    return at_start ? data - 2 * page : data - sizeof(header_t);
}

static header_t read_header(char *data) {
    header_t header;
    memcpy(&header, header_of(data), sizeof header);
    if (header.magic != MAGIC) {
        fprintf(stderr, "guarded_memory: the bytes before the array at %p were overwritten\n", (void *)data);
        abort();
    }
    return header;
}

static void *guarded_malloc(void *context, size_t size) {
    header_t header = {MAGIC, size};
    size_t before = at_start ? 2 * page : page, inner = pages_of(size);
    char *memory, *data;
    (void)context;
    if (size > SIZE_MAX / 4)
        return NULL;
    memory = mmap(NULL, before + inner + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    if (mprotect(memory + before, inner, PROT_READ | PROT_WRITE) ||
        (at_start && mprotect(memory, page, PROT_READ | PROT_WRITE))) {
        munmap(memory, before + inner + page);
        return NULL;
    }
    data = at_start ? memory + before : memory + before + inner - size;
    memcpy(header_of(data), &header, sizeof header);
    return data;
}

static void *guarded_calloc(void *context, size_t count, size_t size) {
    if (size && count > SIZE_MAX / 4 / size)
        return NULL;
    return guarded_malloc(context, count * size); /* new pages are 0 */
}

static void guarded_free(void *context, void *data, size_t size) {
    size_t before = at_start ? 2 * page : page, inner;
    (void)context, (void)size;
    if (data == NULL)
        return;
    inner = pages_of(read_header(data).size);
    munmap(at_start ? (char *)data - before : (char *)data + read_header(data).size - inner - before,
           before + inner + page);
}

static void *guarded_realloc(void *context, void *data, size_t size) {
    void *moved = guarded_malloc(context, size);
    if (moved && data) {
        size_t had = read_header(data).size;
        memcpy(moved, data, had < size ? had : size);
        guarded_free(context, data, had);
    }
    return moved;
}

static PyDataMem_Handler handler = {
    "guarded_memory", 1, {NULL, guarded_malloc, guarded_calloc, guarded_realloc, guarded_free},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "guarded_memory", NULL, -1, NULL, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_guarded_memory(void) {
    const char *where = getenv("GUARDED_MEMORY");
    PyObject *capsule, *old;
    import_array();
    page = (size_t)sysconf(_SC_PAGESIZE);
    at_start = where != NULL && strcmp(where, "start") == 0;
    capsule = PyCapsule_New(&handler, "mem_handler", NULL);
    if (capsule == NULL)
        return NULL;
    old = PyDataMem_SetHandler(capsule);
    Py_DECREF(capsule);
    if (old == NULL)
        return NULL;
    Py_DECREF(old);
    return PyModule_Create(&definition);
}
