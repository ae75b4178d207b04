import { servePackagedFile } from '../host/packaged-file.js';
import { createRouter } from '../host/routing.js';
import type { HttpFront } from '../host/server.js';
import { PAGE_STYLES } from './styles.js';

const CSS_TYPE = 'text/css; charset=utf-8';

/** The styles of all pages. */
export function pageAssets(): HttpFront {
  return () => [
    createRouter(
      [
        servePackagedFile('/pico.css', { package: '@picocss/pico', file: 'css/pico.min.css', mediaType: CSS_TYPE }),
        {
          method: 'GET',
          path: '/pages.css',
          async serve(ctx) {
            ctx.set({ 'Content-Type': CSS_TYPE, 'Cache-Control': 'public, max-age=3600' });
            ctx.body = PAGE_STYLES;
          },
        },
      ],
      '/assets',
    ),
  ];
}
