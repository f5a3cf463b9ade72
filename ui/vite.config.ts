/// <reference types="vitest/config" />
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { svelteTesting } from "@testing-library/svelte/vite";
import { defineConfig } from "vitest/config";

// The desktop loads `dist` from its own scheme, so every address is relative,
// and nothing may be inlined as a data: script that the content policy refuses.
export default defineConfig(({ mode }) => ({
  base: "./",
  plugins: [svelte(), ...(mode === "test" ? [svelteTesting()] : [])],
  clearScreen: false,
  // A test reads the script that the desktop runs in every frame; the development server gives out nothing beside the page.
  server: { port: 5173, strictPort: false, ...(mode === "test" ? { fs: { allow: [".", "../src-tauri/src/desktop"] } } : {}) },
  build: {
    target: "es2022",
    // `public/.gitkeep` comes back with every build: the desktop needs `dist` in a fresh checkout.
    emptyOutDir: true,
    assetsInlineLimit: 0,
    sourcemap: false,
    // The page is read from the program itself, not over a network: one large file costs nothing there.
    chunkSizeWarningLimit: 700,
  },
  test: {
    environment: "jsdom",
    setupFiles: ["./vitest.setup.ts"],
    restoreMocks: true,
    // Nothing is timed: a slow machine must not fail a test that a fast one passes.
    testTimeout: 30_000,
  },
}));
