/// <reference types="vitest/config" />
import { fileURLToPath, URL } from 'node:url'
import vue from '@vitejs/plugin-vue'
import { defineConfig } from 'vite'

const BACKEND = process.env.NANOCLAW_DEV_SERVER ?? 'http://127.0.0.1:8000'

export default defineConfig(({ mode }) => ({
  base: '/',
  plugins: [vue()],
  resolve: { alias: { '@': fileURLToPath(new URL('./src', import.meta.url)) } },
  define: {
    __VUE_OPTIONS_API__: false,
    __VUE_PROD_DEVTOOLS__: false,
    __VUE_I18N_LEGACY_API__: false,
    __INTLIFY_PROD_DEVTOOLS__: false,
    // Messages become data, not generated functions: the page's CSP forbids eval.
    __INTLIFY_JIT_COMPILATION__: true,
    __INTLIFY_DROP_MESSAGE_COMPILER__: false,
  },
  build: {
    target: 'es2022',
    outDir: mode === 'mocked' ? 'dist-mocked' : 'dist',
    assetsDir: 'assets',
    assetsInlineLimit: 0,
    manifest: true,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
  },
  server: {
    proxy: mode === 'mocked' ? undefined : { '/api': BACKEND, '/healthz': BACKEND, '/readyz': BACKEND },
  },
  test: {
    environment: 'jsdom',
    include: ['src/**/*.test.ts'],
    restoreMocks: true,
  },
}))
