/// <reference types="vitest/config" />
import { fileURLToPath, URL } from 'node:url'
import vue from '@vitejs/plugin-vue'
import { defineConfig } from 'vite'
import { firstLoadShare } from './chunks'
import { messages } from './messages.plugin'

const BACKEND = process.env.NANOCLAW_DEV_SERVER ?? 'http://127.0.0.1:8000'

const source = (path: string) => fileURLToPath(new URL(`./src/${path}`, import.meta.url))

export default defineConfig(({ mode }) => ({
  base: '/',
  plugins: [vue(), messages(source('i18n'))],
  resolve: {
    alias: {
      '@': source(''),
      // markdown-it's own copies of these weigh as much as itself.
      'linkify-it': source('lib/markdown/linkify.ts'),
      entities: source('lib/markdown/entities.ts'),
      'uc.micro': source('lib/markdown/unicode.ts'),
      'punycode.js': source('lib/markdown/hosts.ts'),
    },
  },
  define: {
    __VUE_OPTIONS_API__: false,
    __VUE_PROD_DEVTOOLS__: false,
    __VUE_I18N_LEGACY_API__: false,
    __INTLIFY_PROD_DEVTOOLS__: false,
    // Messages are compiled at build time (messages.plugin.ts).
    __INTLIFY_DROP_MESSAGE_COMPILER__: true,
    __INTLIFY_JIT_COMPILATION__: false,
    __VUE_I18N_FULL_INSTALL__: false,
    __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: false,
  },
  build: {
    target: 'es2022',
    outDir: mode === 'mocked' ? 'dist-mocked' : 'dist',
    assetsDir: 'assets',
    assetsInlineLimit: 0,
    manifest: true,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
    rolldownOptions: {
      output: {
        // What every page needs, in one file: it changes rarely and compresses better together.
        codeSplitting: {
          groups: [
            { name: 'core', test: /node_modules[\\/](@vue|vue|vue-router|pinia|vue-i18n|@intlify|@tanstack|reka-ui[\\/]dist[\\/](ConfigProvider|shared[\\/]createContext))[\\/.]/ },
            { name: 'menus', test: /node_modules[\\/](@floating-ui|reka-ui[\\/]dist[\\/](Popper|Menu|DropdownMenu|FocusScope|DismissableLayer|Presence|RovingFocus|Collection|Primitive|Teleport))[\\/]/ },
            { name: 'icons', test: /node_modules[\\/]lucide-vue-next[\\/]/ },
            { name: 'markdown', test: /node_modules[\\/](markdown-it|mdurl|uc\.micro|punycode\.js|dompurify)[\\/]/ },
            { name: firstLoadShare(), minShareCount: 2 },
          ],
        },
      },
    },
  },
  server: {
    proxy: mode === 'mocked' ? undefined : { '/api': BACKEND, '/healthz': BACKEND, '/readyz': BACKEND },
  },
  test: {
    environment: 'jsdom',
    include: ['src/**/*.test.ts'],
    restoreMocks: true,
    // No test measures time; a busy machine may take long over any of them.
    testTimeout: 120_000,
    // So that tests see the same aliases as the build.
    server: { deps: { inline: ['markdown-it'] } },
  },
}))
