/* The library `_flexmb_kernels`: the functions of flexmb/kernels/calls.py as functions of Python.

flexmb/kernels/build.py writes the compiled functions into objects, each with the form `int entry(const int64_t *in,
int64_t *out)`, and `table.h`: their names, the forms of their arguments and of their results. This file converts
arguments and results. Forms:

    R<n>;      a record, with the layout LAYOUTS[n] (flexmb/kernels/base/pointed.py)
    A<d|i|b><n>  an array of n dimensions: float64, int64 or bool
    d i b      float, int, bool
    ( ... )    a tuple
    N          None

Stable ABI of Python 3.11; the library needs the C library and libm. Calls keep the lock of the interpreter, except those
of functions that work for long (`unlocked`): the caller holds the records, and the views hold the arrays. */
#if !defined(_WIN32)
#define _GNU_SOURCE /* for threads and signals */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#endif
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MOST 96 /* numbers in a row of arguments or results; build.py checks it */
#define ARRAYS 24 /* arrays among them; build.py checks it */

typedef int (*Entry)(const int64_t *, int64_t *);
typedef struct {
    const char *name, *text; /* of the function, and its arguments as in calls.py */
    const char *in, *out;
    Entry entries[2]; /* for the baseline of the processor, and for x86-64-v3 */
    int unlocked;     /* whether other threads of Python run during a call */
} Row;

/* a law between two frames, of the form of flexmb/kernels/base/frame_call.py, which compiled functions call by address */
typedef struct {
    const char *name;
    void (*entries[2])(int64_t, double, const double *, const double *, const double *, double *);
} LawRow;

static PyObject *call(const Row *row, PyObject *const *arguments, Py_ssize_t count);
#include "table.h"

/* what compiled functions call in numba's runtime */
typedef struct {
    size_t count;
    void *destructor, *destructor_info, *data;
    size_t size;
    void *allocator;
} Info;

#if defined(_WIN32)
#define OWN
#else
#define OWN __attribute__((visibility("hidden")))
#endif

OWN void *NRT_MemInfo_alloc_aligned(size_t size, uint32_t align) {
    char *raw = align && !(align & (align - 1)) ? malloc(sizeof(Info) + size + align) : NULL;
    if (!raw) return NULL;
    Info *info = (Info *)raw;
    memset(info, 0, sizeof *info);
    info->count = 1;
    info->size = size;
    info->data = (void *)(((uintptr_t)(raw + sizeof(Info)) + align - 1) & ~(uintptr_t)(align - 1));
    return info;
}
OWN void *NRT_MemInfo_alloc(size_t size) { return NRT_MemInfo_alloc_aligned(size, 16); }
OWN void NRT_MemInfo_call_dtor(void *info) { free(info); }
OWN void *NRT_Allocate(size_t size) { return malloc(size); }
OWN void NRT_Free(void *memory) { free(memory); }
/* all arrays that kernels reshape are contiguous */
OWN int numba_attempt_nocopy_reshape(intptr_t nd, const intptr_t *dims, const intptr_t *strides, intptr_t new_nd,
                                     const intptr_t *new_dims, intptr_t *new_strides, intptr_t item, int fortran) {
    (void)nd, (void)dims, (void)strides, (void)fortran;
    for (intptr_t i = new_nd - 1; i >= 0; i--) {
        new_strides[i] = item;
        item *= new_dims[i];
    }
    return 1;
}

/* Loops that threads share: flexmb/kernels/base/sharing.py. Each thread takes the next turns that nobody has taken, so
that the caller waits only for turns that a thread has begun: a thread whose core is busy takes none. */
#if defined(_WIN32)
#define SHARE 0
#else
#define SHARE (int64_t)(intptr_t)share
#define MOST_THREADS 8 /* THREADS of flexmb/kernels/base/sharing.py */
#define PARTS 8 /* parts of a loop for each thread */
#define PATIENCE 3000 /* looks for another loop before a thread sleeps: some fifty microseconds */

typedef struct {
    Entry entry;
    const int64_t *row;
    int64_t count, part;
} Loop;

static struct {
    pthread_mutex_t lock; /* of all but the atomic numbers */
    pthread_cond_t wake;
    int workers, asleep, lanes, joined;
    int open; /* whether workers may still join the present loop */
    Loop loop;
    atomic_long number; /* of loops so far */
    atomic_llong next;  /* the first turn that nobody has taken */
    atomic_int working, failed;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};
static atomic_flag taken = ATOMIC_FLAG_INIT; /* another thread of Python shares a loop */

static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int turns(const Loop *loop, int64_t first, int64_t end, int64_t lane) {
    int64_t in[MOST], out[MOST];
    int numbers = (int)loop->row[1];
    memcpy(in, loop->row + 2, (size_t)numbers * sizeof *in);
    in[numbers - 3] = first, in[numbers - 2] = end, in[numbers - 1] = lane;
    return loop->entry(in, out);
}

static void take_turns(const Loop *loop, int64_t lane) {
    int64_t first;
    while ((first = atomic_fetch_add(&pool.next, loop->part)) < loop->count) {
        int64_t end = first + loop->part < loop->count ? first + loop->part : loop->count;
        if (turns(loop, first, end, lane)) atomic_store(&pool.failed, 1);
    }
}

static void *worker(void *nothing) {
    long seen = -1;
    for (;;) {
        for (int k = 0; k < PATIENCE && atomic_load(&pool.number) == seen; k++) pause_briefly();
        pthread_mutex_lock(&pool.lock);
        while (atomic_load(&pool.number) == seen) {
            pool.asleep++;
            pthread_cond_wait(&pool.wake, &pool.lock);
            pool.asleep--;
        }
        seen = atomic_load(&pool.number);
        int lane = pool.open && pool.joined + 1 < pool.lanes ? ++pool.joined : 0;
        Loop loop = pool.loop;
        if (lane) atomic_fetch_add(&pool.working, 1);
        pthread_mutex_unlock(&pool.lock);
        if (!lane) continue;
        take_turns(&loop, lane);
        atomic_fetch_sub(&pool.working, 1);
    }
    return nothing;
}

static void in_child(void) { /* of a fork, which has one thread */
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.wake, NULL);
    pool.workers = pool.asleep = pool.open = 0;
    atomic_store(&pool.working, 0);
    atomic_flag_clear(&taken);
}

static void start_workers(int count) {
    static int known;
    if (!known) known = 1, pthread_atfork(NULL, NULL, in_child);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before); /* workers leave signals to Python */
    while (pool.workers < count) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, worker, NULL)) break;
        pthread_detach(thread);
        pool.workers++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Does all turns of a loop; 0, or 1 if one of them raised an exception. */
static int64_t share(const int64_t *row, int64_t count, int64_t threads) {
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    Loop loop = {(Entry)(intptr_t)row[0], row, count, count / (PARTS * threads) + 1};
    if (threads < 2 || atomic_flag_test_and_set(&taken)) return turns(&loop, 0, count, 0) != 0;
    pthread_mutex_lock(&pool.lock);
    if (pool.workers < threads - 1) start_workers((int)threads - 1);
    pool.loop = loop, pool.lanes = (int)threads, pool.joined = 0, pool.open = 1;
    atomic_store(&pool.next, 0);
    atomic_store(&pool.failed, 0);
    atomic_fetch_add(&pool.number, 1);
    if (pool.asleep) pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.lock);
    take_turns(&loop, 0);
    pthread_mutex_lock(&pool.lock);
    pool.open = 0;
    pthread_mutex_unlock(&pool.lock);
    for (int k = 1; atomic_load(&pool.working); k++)
        if (k % 1024) pause_briefly();
        else sched_yield();
    int failed = atomic_load(&pool.failed);
    atomic_flag_clear(&taken);
    return failed;
}
#endif

static PyObject *ADDRESS, *FORM, *NUMPY, *LOADS, *layouts[sizeof LAYOUTS / sizeof *LAYOUTS];
static int variant;

typedef struct {
    int64_t in[MOST];
    Py_buffer views[ARRAYS];
    PyObject *originals[ARRAYS]; /* of views of copies: strided or read-only arrays; else NULL */
    int numbers, arrays;
} Packed;

static PyObject *contiguous_copy(PyObject *array) {
    PyObject *copy = NULL, *one = Py_BuildValue("(O)", array), *named = Py_BuildValue("{s:s}", "order", "C");
    PyObject *function = PyObject_GetAttrString(NUMPY, "array");
    if (one && named && function) copy = PyObject_Call(function, one, named);
    Py_XDECREF(one), Py_XDECREF(named), Py_XDECREF(function);
    return copy;
}

/* 1: packed; 0: of another form; -1: an exception is set */
static int take_array(const char **form, PyObject *o, Packed *p) {
    char kind = *(*form)++;
    int ndim = *(*form)++ - '0';
    Py_buffer *view = &p->views[p->arrays];
    if (PyObject_GetBuffer(o, view, PyBUF_STRIDES | PyBUF_FORMAT)) {
        PyErr_Clear();
        return 0;
    }
    const char *format = view->format;
    int good = view->ndim == ndim &&
               (kind == 'd'   ? !strcmp(format, "d")
                : kind == 'b' ? !strcmp(format, "?")
                              : view->itemsize == 8 && (!strcmp(format, "l") || !strcmp(format, "q")));
    int direct = good && !view->readonly && PyBuffer_IsContiguous(view, 'C');
    p->originals[p->arrays] = NULL;
    if (!direct) PyBuffer_Release(view);
    if (!good) return 0;
    if (!direct) {
        PyObject *copy = contiguous_copy(o);
        if (!copy) return -1;
        int failed = PyObject_GetBuffer(copy, view, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE | PyBUF_FORMAT);
        Py_DECREF(copy); /* the view keeps it */
        if (failed) return -1;
        Py_INCREF(o);
        p->originals[p->arrays] = o;
    }
    p->arrays++;
    p->in[p->numbers++] = (int64_t)(intptr_t)view->buf;
    for (int k = 0; k < ndim; k++) p->in[p->numbers++] = view->shape[k];
    return 1;
}

static int take(const char **form, PyObject *o, Packed *p) {
    char c = *(*form)++;
    if (c == 'A') return take_array(form, o, p);
    if (c == 'R') {
        PyObject *layout = layouts[strtol(*form, (char **)form, 10)], *own = PyObject_GetAttr(o, FORM), *address;
        (*form)++; /* the semicolon */
        if (!own) {
            PyErr_Clear();
            return 0;
        }
        int same = own == layout || (PyUnicode_Check(own) && !PyUnicode_Compare(own, layout));
        Py_DECREF(own);
        if (!same) return 0;
        if (!(address = PyObject_GetAttr(o, ADDRESS))) return -1;
        p->in[p->numbers++] = PyLong_AsLongLong(address);
        Py_DECREF(address);
        return PyErr_Occurred() ? -1 : 1;
    }
    if (c == 'd') {
        double x = PyFloat_AsDouble(o);
        memcpy(&p->in[p->numbers++], &x, 8);
    } else if (c == 'i') {
        p->in[p->numbers++] = PyLong_AsLongLong(o);
    } else if (c == 'b') {
        p->in[p->numbers++] = PyObject_IsTrue(o);
    } else if (c == '(') {
        if (!PyTuple_Check(o)) return 0;
        for (Py_ssize_t k = 0, n = PyTuple_Size(o); k < n; k++) {
            int good = **form == ')' ? 0 : take(form, PyTuple_GetItem(o, k), p);
            if (good != 1) return good;
        }
        return *(*form)++ == ')';
    } else { /* N */
        return o == Py_None;
    }
    if (!PyErr_Occurred()) return 1;
    PyErr_Clear();
    return 0;
}

/* Writes copies back to strided arrays; 0, or -1 with an exception */
static int release(const Row *row, Packed *p, int called) {
    int outcome = 0;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    for (int k = 0; k < p->arrays; k++) {
        PyObject *original = p->originals[k], *copy = p->views[k].obj, *fresh;
        if (original && called) {
            Py_buffer view;
            if (PyObject_GetBuffer(original, &view, PyBUF_STRIDES)) {
                outcome = -1;
            } else if (!view.readonly) {
                if (PyObject_SetItem(original, Py_Ellipsis, copy)) outcome = -1;
                PyBuffer_Release(&view);
            } else {
                PyBuffer_Release(&view);
                if (!(fresh = contiguous_copy(original))) {
                    outcome = -1;
                } else if (PyObject_GetBuffer(fresh, &view, PyBUF_C_CONTIGUOUS)) {
                    outcome = -1;
                } else {
                    if (memcmp(view.buf, p->views[k].buf, (size_t)view.len)) {
                        PyErr_Format(PyExc_ValueError, "%s writes to an array that is read-only", row->name);
                        outcome = -1;
                    }
                    PyBuffer_Release(&view);
                }
                Py_XDECREF(fresh);
            }
        }
        Py_XDECREF(original);
        PyBuffer_Release(&p->views[k]);
    }
    if (type) PyErr_Restore(type, value, trace);
    return outcome;
}

static PyObject *give(const char **form, const int64_t **at) {
    char c = *(*form)++;
    if (c == 'd') {
        double x;
        memcpy(&x, (*at)++, 8);
        return PyFloat_FromDouble(x);
    }
    if (c == 'i') return PyLong_FromLongLong(*(*at)++);
    if (c == 'b') return PyBool_FromLong((long)*(*at)++);
    if (c != '(') Py_RETURN_NONE;
    PyObject *list = PyList_New(0);
    while (list && **form != ')') {
        PyObject *o = give(form, at);
        if (!o || PyList_Append(list, o)) Py_CLEAR(list);
        Py_XDECREF(o);
    }
    (*form)++;
    PyObject *tuple = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}

/* Raises the exception of a compiled function: a class and its arguments, pickled by numba */
static void raise_as(const Row *row, int status, const int64_t *out) {
    PyObject *loaded = NULL;
    if (status < 0 && PyErr_Occurred()) return;
    if (status > 0 && out[0]) {
        PyObject *bytes = PyBytes_FromStringAndSize((const char *)(intptr_t)out[0], (Py_ssize_t)out[1]);
        loaded = bytes ? PyObject_CallFunctionObjArgs(LOADS, bytes, NULL) : NULL;
        Py_XDECREF(bytes);
    }
    if (loaded && PyTuple_Check(loaded) && PyTuple_Size(loaded) > 1) {
        PyObject *type = PyTuple_GetItem(loaded, 0), *values = PyTuple_GetItem(loaded, 1);
        PyErr_SetObject(type, values);
    } else {
        PyErr_Clear();
        PyErr_Format(PyExc_RuntimeError, "The compiled function %s failed with status %d.", row->name, status);
    }
    Py_XDECREF(loaded);
}

static PyObject *describe(PyObject *o) {
    PyObject *form = PyObject_GetAttr(o, FORM);
    if (form) return form;
    PyErr_Clear();
    Py_buffer view;
    if (PyObject_GetBuffer(o, &view, PyBUF_STRIDES | PyBUF_FORMAT)) {
        PyErr_Clear();
        return PyObject_Repr((PyObject *)Py_TYPE(o));
    }
    PyObject *text = PyUnicode_FromFormat("an array of %d dimensions, type '%s'", view.ndim, view.format);
    PyBuffer_Release(&view);
    return text;
}

static PyObject *call(const Row *row, PyObject *const *arguments, Py_ssize_t count) {
    Packed p;
    int64_t out[MOST] = {0};
    const char *form = row->in;
    Py_ssize_t k = 0;
    int good = 1, status = 0;
    p.numbers = p.arrays = 0;
    for (; k < count && good == 1; k++) good = *form ? take(&form, arguments[k], &p) : 0;
    if (good == 1 && *form) good = 0, k++;
    if (good == 1) {
        PyThreadState *paused = row->unlocked ? PyEval_SaveThread() : NULL;
        status = row->entries[variant](p.in, out);
        if (paused) PyEval_RestoreThread(paused);
    }
    if (release(row, &p, good == 1) || good < 0) return NULL;
    if (!good) {
        PyObject *found = k <= count ? describe(arguments[k - 1]) : PyUnicode_FromString("no argument");
        if (found)
            PyErr_Format(PyExc_TypeError, "%s: argument %zd is %U; expected arguments: %s (flexmb/kernels/calls.py)",
                         row->name, k, found, row->text);
        Py_XDECREF(found);
        return NULL;
    }
    if (status) {
        raise_as(row, status, out);
        return NULL;
    }
    const int64_t *at = out;
    form = row->out;
    return give(&form, &at);
}

static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_flexmb_kernels", "The compiled functions of flexmb.", -1,
                                    METHODS, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__flexmb_kernels(void) {
    PyObject *module = PyModule_Create(&MODULE), *pickle = PyImport_ImportModule("pickle");
    ADDRESS = PyUnicode_InternFromString("address");
    FORM = PyUnicode_InternFromString("form");
    NUMPY = PyImport_ImportModule("numpy");
    LOADS = pickle ? PyObject_GetAttrString(pickle, "loads") : NULL;
    Py_XDECREF(pickle);
    for (size_t k = 0; k < sizeof LAYOUTS / sizeof *LAYOUTS; k++)
        if (!(layouts[k] = PyUnicode_InternFromString(LAYOUTS[k]))) return NULL;
#if (defined(X86_64) || defined(X86_64_V3_ONLY)) && defined(__GNUC__)
    __builtin_cpu_init();
    variant = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
              __builtin_cpu_supports("bmi2");
#endif
#if defined(X86_64_V3_ONLY) && defined(__GNUC__)
    if (!variant) {
        PyErr_SetString(PyExc_ImportError, "it was built on a machine whose processor has AVX2, FMA and BMI2, which this "
                                           "one has not; install the package again on this machine");
        return NULL;
    }
#endif
    if (!module || !ADDRESS || !FORM || !NUMPY || !LOADS) return NULL;
    if (PyModule_AddStringConstant(module, "SOURCES", SOURCES) ||
        PyModule_AddStringConstant(module, "LAW_SOURCES", LAW_SOURCES) ||
        PyModule_AddStringConstant(module, "PROCESSOR", VARIANTS[variant]))
        return NULL;
    PyObject *laws = PyDict_New();
    if (!laws) return NULL;
    for (size_t k = 0; k < sizeof LAWS / sizeof *LAWS; k++) {
        PyObject *address = PyLong_FromLongLong((int64_t)(intptr_t)LAWS[k].entries[variant]);
        int failed = !address || PyDict_SetItemString(laws, LAWS[k].name, address);
        Py_XDECREF(address);
        if (failed) return NULL;
    }
    PyObject *entries = PyDict_New();
    if (!entries) return NULL;
    for (size_t k = 0; k < sizeof ROWS / sizeof *ROWS; k++) {
        PyObject *address = PyLong_FromLongLong((int64_t)(intptr_t)ROWS[k]->entries[variant]);
        int failed = !address || PyDict_SetItemString(entries, ROWS[k]->name, address);
        Py_XDECREF(address);
        if (failed) return NULL;
    }
    PyObject *shared = PyLong_FromLongLong(SHARE);
    int failed = !shared || PyModule_AddObjectRef(module, "LAWS", laws) ||
                 PyModule_AddObjectRef(module, "ENTRIES", entries) || PyModule_AddObjectRef(module, "SHARE", shared);
    Py_DECREF(laws);
    Py_DECREF(entries);
    Py_XDECREF(shared);
    return failed ? NULL : module;
}
