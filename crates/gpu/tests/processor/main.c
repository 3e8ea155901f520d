// Behind launch.h and the table KERNELS: reads a launch from standard input, and writes the sink to standard output.

int main(void) {
    u32 n[11];
    static Launch launch;
    if (fread(n, 4, 11, stdin) != 11 || fread(&launch.keys, sizeof launch.keys, 1, stdin) != 1) return 1;
    u32 blocks = n[3], source_blocks = n[4];
    uint4 *source = calloc(source_blocks, 16), *sink = calloc(blocks, 16);
    if (fread(source, 16, source_blocks, stdin) != source_blocks) return 2;
    launch.kernel = KERNELS[n[0]].kernel;
    launch.has_barriers = KERNELS[n[0]].has_barriers;
    launch.grid = n[1];
    launch.threads = n[2];
    launch.source = source;
    launch.sink = sink;
    launch.blocks = blocks;
    launch.skip = n[5];
    launch.rounds = n[6];
    memcpy(launch.counter, n + 7, sizeof launch.counter);
    run(&launch);
    return fwrite(sink, 16, blocks, stdout) != blocks;
}
