// Draws a maze into the page's canvas, and into a picture that can be saved (a WebGPU canvas cannot be read later). With a
// device in software the canvas is a plain one, and what was drawn is copied to it.

import shader from "./display.wgsl?raw";
import type { Device, Maze } from "./device";
import type { Display } from "./engine";
import { channels, fit, onColours, placed } from "./look";

function palette(colours: readonly string[]): Float32Array<ArrayBuffer> {
  const padded = new Float32Array(12 * 4);
  padded.set(colours.flatMap(colour => [...channels(colour).map(channel => channel / 255), 1]));
  return padded;
}

export class DeviceDisplay implements Display<Maze> {
  private readonly device: Device;
  readonly canvas: HTMLCanvasElement;
  private readonly context: GPUCanvasContext | null;
  private readonly plain: CanvasRenderingContext2D | null;
  private isCopying = false;
  private readonly format: GPUTextureFormat;
  private readonly pipeline: GPURenderPipeline;
  private readonly view: GPUBuffer;
  private readonly colours: GPUBuffer;
  private groups: { maze: Maze; of: readonly GPUBindGroup[] } | null = null;

  constructor(device: Device, canvas: HTMLCanvasElement) {
    this.device = device;
    this.canvas = canvas;
    const { gpu } = device;
    this.format = navigator.gpu.getPreferredCanvasFormat();
    // The address may ask for the one that graphics cards get: `?display=canvas`.
    const isPlain = device.isSoftware && new URLSearchParams(location.search).get("display") !== "canvas";
    this.context = isPlain ? null : canvas.getContext("webgpu") as GPUCanvasContext | null;
    this.context?.configure({ device: gpu, format: this.format, alphaMode: "opaque" });
    this.plain = this.context ? null : canvas.getContext("2d");
    if (!this.context && !this.plain) throw new Error("The canvas can show nothing.");
    const module = gpu.createShaderModule({ code: shader });
    this.pipeline = gpu.createRenderPipeline({
      layout: "auto", vertex: { module, entryPoint: "corner" }, fragment: { module, entryPoint: "colour", targets: [{ format: this.format }] },
    });
    const usage = GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST;
    this.view = gpu.createBuffer({ size: 32, usage });
    this.colours = gpu.createBuffer({ size: 12 * 16, usage });
    onColours(colours => gpu.queue.writeBuffer(this.colours, 0, palette(colours)));
  }

  fit(): void { fit(this.canvas, this.device.gpu.limits.maxTextureDimension2D); }

  draw(maze: Maze): void {
    if (!this.context) return void this.copy(maze);
    const encoder = this.device.gpu.createCommandEncoder();
    this.record(encoder, maze, this.context.getCurrentTexture().createView());
    this.device.gpu.queue.submit([encoder.finish()]);
  }

  /** What is shown, as PNG. */
  async picture(maze: Maze): Promise<Blob> {
    const image = await this.image(maze);
    const flat = new OffscreenCanvas(image.width, image.height);
    flat.getContext("2d")!.putImageData(image, 0, 0);
    return flat.convertToBlob({ type: "image/png" });
  }

  /** One at a time: what comes meanwhile is passed over. */
  private async copy(maze: Maze): Promise<void> {
    if (this.isCopying) return;
    this.isCopying = true;
    try {
      this.plain!.putImageData(await this.image(maze), 0, 0);
    } catch (error) {
      // Of a maze that was closed meanwhile there is nothing to show.
      if (!(error instanceof DOMException)) throw error;
    } finally {
      this.isCopying = false;
    }
  }

  private async image(maze: Maze): Promise<ImageData> {
    const { gpu } = this.device;
    const { width, height } = this.canvas;
    const texture = gpu.createTexture({ size: [width, height], format: this.format, usage: GPUTextureUsage.RENDER_ATTACHMENT | GPUTextureUsage.COPY_SRC });
    const stride = Math.ceil(width * 4 / 256) * 256;
    const landing = gpu.createBuffer({ size: stride * height, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
    const encoder = gpu.createCommandEncoder();
    this.record(encoder, maze, texture.createView());
    encoder.copyTextureToBuffer({ texture }, { buffer: landing, bytesPerRow: stride }, [width, height]);
    gpu.queue.submit([encoder.finish()]);
    await landing.mapAsync(GPUMapMode.READ);
    const bytes = new Uint8Array(landing.getMappedRange());
    const image = new ImageData(width, height);
    const isBlueFirst = this.format.startsWith("bgra");
    for (let y = 0; y < height; y++) {
      for (let from = y * stride, to = 4 * y * width; to < 4 * (y + 1) * width; from += 4, to += 4) {
        image.data[to] = bytes[from + (isBlueFirst ? 2 : 0)]!;
        image.data[to + 1] = bytes[from + 1]!;
        image.data[to + 2] = bytes[from + (isBlueFirst ? 0 : 2)]!;
        image.data[to + 3] = 255;
      }
    }
    landing.destroy();
    texture.destroy();
    return image;
  }

  private record(encoder: GPUCommandEncoder, maze: Maze, view: GPUTextureView): void {
    const { gpu } = this.device;
    const { width, height } = maze.setting;
    const { left, top, pixels } = placed(this.canvas, maze.setting);
    const words = new Float32Array(8);
    new Uint32Array(words.buffer).set([width, height], 0);
    words.set([left, top, pixels], 2);
    new Uint32Array(words.buffer)[5] = maze.rule === "fill" ? 1 : 0;
    gpu.queue.writeBuffer(this.view, 0, words);
    if (this.groups?.maze !== maze) {
      const layout = this.pipeline.getBindGroupLayout(0);
      const group = (buffer: GPUBuffer) => gpu.createBindGroup({
        layout, entries: [buffer, this.view, this.colours].map((buffer, binding) => ({ binding, resource: { buffer } })),
      });
      this.groups = { maze, of: maze.buffers.map(group) };
    }
    const pass = encoder.beginRenderPass({ colorAttachments: [{ view, loadOp: "clear", storeOp: "store", clearValue: [0, 0, 0, 1] }] });
    pass.setPipeline(this.pipeline);
    pass.setBindGroup(0, this.groups.of[maze.frame % 2]!);
    pass.draw(3);
    pass.end();
  }
}
