/// <reference types="vite/client" />

interface Window {
  MSStream?: unknown
}
