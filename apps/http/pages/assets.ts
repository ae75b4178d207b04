import { servePackagedFile } from '../host/packaged-file.js';
import { createRouter, type HttpRoute } from '../host/routing.js';
import type { HttpFront } from '../host/server.js';
import { PAGE_ICON } from './icon.js';
import { PAGE_STYLES } from './styles.js';

const CSS_TYPE = 'text/css; charset=utf-8';

/** The styles and the icon of all pages. */
export function pageAssets(): HttpFront {
  return () => [
    createRouter(
      [
        servePackagedFile('/pico.css', { package: '@picocss/pico', file: 'css/pico.min.css', mediaType: CSS_TYPE }),
        serveText('/pages.css', CSS_TYPE, PAGE_STYLES),
        serveText('/icon.svg', 'image/svg+xml', PAGE_ICON),
      ],
      '/assets',
    ),
  ];
}

function serveText(path: string, mediaType: string, text: string): HttpRoute {
  return {
    method: 'GET',
    path,
    async serve(ctx) {
      ctx.set({ 'Content-Type': mediaType, 'Cache-Control': 'public, max-age=3600' });
      ctx.body = text;
    },
  };
}
