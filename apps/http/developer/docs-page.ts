import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Settings } from '../../../core/settings.js';
import { openApiDocument } from './openapi/document.js';
import type { RestMiddleware } from '../host/http-context.js';
import type { Endpoint } from '../host/routing.js';
import { ROUTES } from './routes.js';

/** Everything the page needs is served from here: it works offline, and tells nobody that it was opened. */
const POLICY = [
  "default-src 'none'", "script-src 'self'", "style-src 'self' 'unsafe-inline'", "img-src 'self' data:", "connect-src 'self'",
  "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'",
].join('; ');

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Darkroom API</title>
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="icon" type="image/png" href="docs/favicon-32x32.png">
</head>
<body>
<div id="swagger-ui"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/initializer.js"></script>
</body>
</html>
`;

const INITIALIZER = `SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#swagger-ui',
  validatorUrl: null,
  deepLinking: true,
  persistAuthorization: false,
});
`;

/** The API's description for programs, and the same as a page for people. */
export function docsEndpoints(settings: Settings): Endpoint[] {
  const documentText = JSON.stringify(openApiDocument(ROUTES, settings));
  return [
    ['GET', '/', toTheDocs],
    ['GET', '/openapi.json', serveText('/openapi.json', 'application/json; charset=utf-8', documentText)],
    ['GET', '/docs', serveText('/docs', 'text/html; charset=utf-8', PAGE)],
    ['GET', '/docs/initializer.js', serveText('/docs/initializer.js', 'text/javascript; charset=utf-8', INITIALIZER)],
    ['GET', '/docs/swagger-ui-bundle.js', servePackaged('swagger-ui-bundle.js', 'text/javascript; charset=utf-8')],
    ['GET', '/docs/swagger-ui.css', servePackaged('swagger-ui.css', 'text/css; charset=utf-8')],
    ['GET', '/docs/favicon-32x32.png', servePackaged('favicon-32x32.png', 'image/png')],
  ];
}

/** Whoever opens the bare address in a browser is shown what is there. */
const toTheDocs: RestMiddleware = async (ctx) => {
  ctx.state.route = '/';
  ctx.status = 302;
  ctx.set('Location', '/docs');
};

function serveText(path: string, type: string, text: string): RestMiddleware {
  const bytes = Buffer.from(text);
  return async (ctx) => {
    ctx.state.route = path;
    ctx.set({ 'Content-Type': type, 'Content-Security-Policy': POLICY, 'Cache-Control': 'no-cache' });
    ctx.body = bytes;
  };
}

/** A file of the swagger-ui-dist package, read when it is first asked for and kept. */
function servePackaged(name: string, type: string): RestMiddleware {
  const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  let bytes: Promise<Buffer> | undefined;
  return async (ctx) => {
    ctx.state.route = `/docs/${name}`;
    bytes ??= readFile(join(folder, name));
    ctx.set({ 'Content-Type': type, 'Cache-Control': 'public, max-age=3600' });
    ctx.body = await bytes;
  };
}
