import { fileURLToPath } from 'node:url';

/** Builds the account page into dist/web. All that it loads is in there: nothing is inline, nothing comes from outside. */
export default {
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/console/',
  publicDir: false,
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: fileURLToPath(new URL('../../dist/web', import.meta.url)),
    emptyOutDir: true,
    target: 'es2022',
    // A data: address would be inline.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    cssMinify: true,
  },
};
