import { createRouter } from './routing.js';
import type { HttpFront } from './server.js';

/** The base address in a browser leads to a page of this server. */
export function startPage(path: string): HttpFront {
  return () => [
    createRouter([
      {
        method: 'GET',
        path: '/',
        async serve(ctx) {
          ctx.status = 302;
          ctx.set({ 'Location': path, 'Cache-Control': 'no-store' });
        },
      },
    ]),
  ];
}
