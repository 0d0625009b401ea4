import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  plugins: [react()],
  build: {
    target: 'es2022',
    // The policy of the service allows no inline script, and the browsers we serve know modulepreload.
    modulePreload: { polyfill: false },
    // What is inlined cannot be cached by itself.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 800,
    // One file: a script that is loaded again after an outage would not bring its styles along again.
    cssCodeSplit: false,
  },
  server: { proxy: { '/api': 'http://127.0.0.1:8080' } },
});
