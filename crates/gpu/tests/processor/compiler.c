// A stand-in for NVIDIA's run-time compiler, which takes seconds, where a test is about the driver: says that it compiled what it
// was given, for the device of driver.c.
#include <stddef.h>
#include <string.h>

static const char ptx[] = ".target sm_90\n.entry ctr(\n.entry cbc_decrypt(\n";

int nvrtcCreateProgram(void **program, const char *source, const char *name, int count, const char **headers,
                       const char **names) {
    *program = (void *)ptx;
    return 0;
}
int nvrtcCompileProgram(void *program, int count, const char **options) { return 0; }
int nvrtcGetPTXSize(void *program, size_t *bytes) { *bytes = sizeof ptx; return 0; }
int nvrtcGetPTX(void *program, char *text) { memcpy(text, ptx, sizeof ptx); return 0; }
int nvrtcDestroyProgram(void **program) { *program = NULL; return 0; }
const char *nvrtcGetErrorString(int code) { return "no error"; }
