// WebGPU's flags (W3C "WebGPU", sections "GPUBufferUsage" and on), which TypeScript's own types leave out.

declare const GPUBufferUsage: Readonly<Record<"MAP_READ" | "COPY_SRC" | "COPY_DST" | "UNIFORM" | "STORAGE", number>>;
declare const GPUMapMode: Readonly<Record<"READ", number>>;
declare const GPUShaderStage: Readonly<Record<"COMPUTE", number>>;
declare const GPUTextureUsage: Readonly<Record<"COPY_SRC" | "RENDER_ATTACHMENT", number>>;
