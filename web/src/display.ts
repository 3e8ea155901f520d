// Draws a maze into the page's canvas, and into a picture that can be saved (a WebGPU canvas cannot be read later). With a
// device in software the canvas is a plain one, and what was drawn is copied to it.

import shader from "./display.wgsl?raw";
import type { Device, Maze } from "./device";

// Floor, wall, head, reserved, open, dot, claimed, filled, way, ends, outside.
const LIGHT = ["#d5dce6", "#2b3646", "#e07b00", "#f0b060", "#fbfcfe", "#1f6feb", "#8ab8ff", "#b9c3cf", "#d92f5f", "#14844c", "#f4f6f9"];
const DARK = ["#1d2632", "#05080c", "#ffb454", "#a5682a", "#a9b6c6", "#0a4fd0", "#4a86e8", "#3d4856", "#ff4d7d", "#3ddc84", "#0d1117"];

function channels(colours: string[]): Float32Array<ArrayBuffer> {
  const numbers = colours.flatMap(colour => [1, 3, 5].map(at => parseInt(colour.slice(at, at + 2), 16) / 255).concat(1));
  const padded = new Float32Array(12 * 4);
  padded.set(numbers);
  return padded;
}

export class Display {
  private readonly device: Device;
  private readonly canvas: HTMLCanvasElement;
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
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const paint = () => gpu.queue.writeBuffer(this.colours, 0, channels(dark.matches ? DARK : LIGHT));
    dark.addEventListener("change", paint);
    paint();
  }

  /** Follows the canvas' size on the page; says whether it changed. */
  fit(): boolean {
    const most = this.device.gpu.limits.maxTextureDimension2D;
    const scale = window.devicePixelRatio || 1;
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight].map(length => Math.max(1, Math.min(most, Math.round(length * scale))));
    if (this.canvas.width === width && this.canvas.height === height) return false;
    this.canvas.width = width!;
    this.canvas.height = height!;
    return true;
  }

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
    const exact = Math.min(this.canvas.width / width, this.canvas.height / height);
    // Whole pixels where there is room: walls of equal width.
    const pixels = exact >= 2 ? Math.floor(exact) : exact;
    const words = new Float32Array(8);
    new Uint32Array(words.buffer).set([width, height], 0);
    words[2] = Math.floor((this.canvas.width - width * pixels) / 2);
    words[3] = Math.floor((this.canvas.height - height * pixels) / 2);
    words[4] = pixels;
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
