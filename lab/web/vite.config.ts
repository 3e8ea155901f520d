// The page is built to dist/ with relative addresses, so that it can lie in any folder of any server.
import { defineConfig } from "vite";

export default defineConfig({
  base: "./",
  build: { target: "es2022", modulePreload: { polyfill: false }, assetsInlineLimit: 0 },
  worker: { format: "es" },
  // The shader is the lab's.
  server: { fs: { allow: [".."] } },
});
