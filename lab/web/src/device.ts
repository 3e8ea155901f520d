// The automaton on the graphics device: pipelines from the lab's shader, two buffers of cells that take turns, and the frames'
// numbers in a ring of slots.

import { plot, withChanceOf, type Rule, type Setting } from "./automaton";
import type { Engine, Form, Growing } from "./engine";
import { shader } from "./shader";

const SLOTS = 64, STRIDE = 256;
const GROUP = [16, 8] as const;

/** A device with every rule in both forms. */
export class Device implements Engine<Maze> {
  readonly isDevice = true;
  readonly gpu: GPUDevice;
  readonly name: string;
  /** A device in software: browsers that have no other cannot show a canvas of WebGPU either. */
  readonly isSoftware: boolean;
  private readonly layout: GPUBindGroupLayout;
  private readonly pipelines: Map<string, GPUComputePipeline>;

  private constructor(gpu: GPUDevice, name: string, isSoftware: boolean, layout: GPUBindGroupLayout, pipelines: Map<string, GPUComputePipeline>) {
    this.gpu = gpu;
    this.name = name;
    this.isSoftware = isSoftware;
    this.layout = layout;
    this.pipelines = pipelines;
  }

  /** Opens the browser's device; the reason if there is none. */
  static async open(): Promise<Device | string> {
    if (!("gpu" in navigator)) {
      return isSecureContext ? "This browser has no WebGPU." : "Browsers offer WebGPU to secure pages only: open this one by https or from localhost.";
    }
    const adapter = await navigator.gpu.requestAdapter({ powerPreference: "high-performance" });
    if (!adapter) return "This browser knows WebGPU, but offers no graphics device for it.";
    const { maxBufferSize, maxStorageBufferBindingSize } = adapter.limits;
    const gpu = await adapter.requestDevice({ requiredLimits: { maxBufferSize, maxStorageBufferBindingSize } });
    const { vendor, architecture, description } = adapter.info;
    const name = description || [vendor, architecture].filter(Boolean).join(" ") || "a device without a name";
    const uses = ["read-only-storage", "storage", "uniform", "storage"] as const;
    const layout = gpu.createBindGroupLayout({
      entries: uses.map((type, binding) => ({ binding, visibility: GPUShaderStage.COMPUTE, buffer: { type, hasDynamicOffset: type === "uniform" } })),
    });
    const module = gpu.createShaderModule({ code: shader });
    const pipelineLayout = gpu.createPipelineLayout({ bindGroupLayouts: [layout] });
    const pipelines = new Map<string, GPUComputePipeline>();
    for (const rule of ["grow", "fill", "dots"]) {
      for (const form of ["branches", "selects"]) {
        const entryPoint = `${rule}_${form}`;
        pipelines.set(entryPoint, await gpu.createComputePipelineAsync({ layout: pipelineLayout, compute: { module, entryPoint } }));
      }
    }
    return new Device(gpu, name, adapter.info.isFallbackAdapter || /swiftshader/i.test(name), layout, pipelines);
  }

  /** Cells that fit into one buffer. */
  get mostCells(): number {
    return Math.floor(Math.min(this.gpu.limits.maxStorageBufferBindingSize, this.gpu.limits.maxBufferSize) / 4);
  }

  maze(setting: Setting): Maze { return new Maze(this, setting); }

  pipeline(rule: Rule, form: Form): GPUComputePipeline {
    return this.pipelines.get(`${rule}_${form}`)!;
  }

  group(before: GPUBuffer, after: GPUBuffer, slots: GPUBuffer, status: GPUBuffer): GPUBindGroup {
    const resources = [{ buffer: before }, { buffer: after }, { buffer: slots, size: 32 }, { buffer: status }];
    return this.gpu.createBindGroup({ layout: this.layout, entries: resources.map((resource, binding) => ({ binding, resource })) });
  }
}

/** A maze on a device. */
export class Maze implements Growing {
  readonly setting: Setting;
  readonly buffers: readonly [GPUBuffer, GPUBuffer];
  rule: Rule = "grow";
  frame = 0;
  private readonly device: Device;
  private readonly slots: GPUBuffer;
  private readonly status: GPUBuffer;
  private readonly groups: readonly [GPUBindGroup, GPUBindGroup];
  private isClosed = false;

  constructor(device: Device, setting: Setting) {
    this.device = device;
    this.setting = setting;
    const { gpu } = device;
    const size = 4 * setting.width * setting.height;
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
    const cells = () => gpu.createBuffer({ size, usage });
    this.buffers = [cells(), cells()];
    this.slots = gpu.createBuffer({ size: SLOTS * STRIDE, usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST });
    this.status = gpu.createBuffer({ size: 8, usage });
    const [a, b] = this.buffers;
    this.groups = [device.group(a, b, this.slots, this.status), device.group(b, a, this.slots, this.status)];
    gpu.queue.writeBuffer(a, 0, plot(setting));
  }

  /** The buffer that holds the cells now. */
  get current(): GPUBuffer { return this.buffers[this.frame % 2 ? 1 : 0]; }

  /** Follows another rule, from these cells on. */
  begin(rule: Rule, cells: Uint32Array<ArrayBuffer>): void {
    this.rule = rule;
    this.frame = 0;
    this.device.gpu.queue.writeBuffer(this.buffers[0], 0, cells);
    this.device.gpu.queue.writeBuffer(this.status, 0, new Uint32Array(2));
  }

  /** So many frames, at most 64; the last of them reports. */
  advance(frames: number, form: Form): void {
    const { width, height, seed, chance, finish } = withChanceOf(this.rule, this.setting);
    const { gpu } = this.device;
    const count = Math.min(frames, SLOTS);
    const words = new Uint32Array(count * STRIDE / 4);
    for (let i = 0; i < count; i++) {
      words.set([width, height, this.frame + i, seed, chance, finish, i === count - 1 ? 1 : 0, 0], i * STRIDE / 4);
    }
    gpu.queue.writeBuffer(this.slots, 0, words);
    gpu.queue.writeBuffer(this.status, 0, new Uint32Array(1));
    const encoder = gpu.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(this.device.pipeline(this.rule, form));
    for (let i = 0; i < count; i++) {
      pass.setBindGroup(0, this.groups[(this.frame + i) % 2 ? 1 : 0], [i * STRIDE]);
      pass.dispatchWorkgroups(Math.ceil(width / GROUP[0]), Math.ceil(height / GROUP[1]));
    }
    pass.end();
    gpu.queue.submit([encoder.finish()]);
    this.frame += count;
  }

  /** Whether the rule goes on after the last frame that was handed over. */
  async goesOn(): Promise<boolean> {
    return (await this.read(this.status))[0] !== 0;
  }

  /** The cells now. */
  cells(): Promise<Uint32Array<ArrayBuffer>> { return this.read(this.current); }

  private async read(buffer: GPUBuffer): Promise<Uint32Array<ArrayBuffer>> {
    const { gpu } = this.device;
    const landing = gpu.createBuffer({ size: buffer.size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
    const encoder = gpu.createCommandEncoder();
    encoder.copyBufferToBuffer(buffer, 0, landing, 0, buffer.size);
    gpu.queue.submit([encoder.finish()]);
    await landing.mapAsync(GPUMapMode.READ);
    const words = new Uint32Array(landing.getMappedRange().slice(0));
    landing.destroy();
    return words;
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    for (const buffer of [...this.buffers, this.slots, this.status]) buffer.destroy();
  }
}
