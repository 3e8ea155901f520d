// A stand-in for NVIDIA's run-time compiler, which takes seconds, where a test is about the driver: says that it compiled the
// kernels that it was given, for the device of driver.c.
#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// KERNEL(threads, blocks) name(arguments) { … }
int nvrtcCreateProgram(void **program, const char *source, const char *name, int count, const char **headers,
                       const char **names) {
    char *ptx = malloc(strlen(source) + 64);
    int length = sprintf(ptx, ".target sm_90\n"), taken;
    for (const char *at = source; (at = strstr(at, "KERNEL(")); at++) {
        const char *entry = at + strlen("KERNEL(");
        // Where the macro is defined, a word stands for the number.
        if (!isdigit((unsigned char)*entry)) continue;
        entry = strchr(entry, ')') + 2;
        taken = strcspn(entry, "(");
        length += sprintf(ptx + length, ".entry %.*s(\n", taken, entry);
    }
    *program = ptx;
    return 0;
}
int nvrtcCompileProgram(void *program, int count, const char **options) { return 0; }
int nvrtcGetPTXSize(void *program, size_t *bytes) { *bytes = strlen(program) + 1; return 0; }
int nvrtcGetPTX(void *program, char *text) { strcpy(text, program); return 0; }
int nvrtcDestroyProgram(void **program) { free(*program); *program = NULL; return 0; }
const char *nvrtcGetErrorString(int code) { return "no error"; }
