import type { Settings } from '../../../core/settings.js';
import { openApiDocument } from './openapi/document.js';
import { servePackagedFile } from '../host/packaged-file.js';
import type { HttpHandler, HttpRoute } from '../host/routing.js';
import { ROUTES } from './routes.js';

/** Everything the page needs is served from here: it works offline, and sends nothing to third parties. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
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

/** The API's description as a document, and as a page. */
export function docsRoutes(settings: Settings): readonly HttpRoute[] {
  const documentText = JSON.stringify(openApiDocument(ROUTES, settings));
  return [
    { method: 'GET', path: '/openapi.json', serve: serveText('application/json; charset=utf-8', documentText) },
    { method: 'GET', path: '/docs', serve: serveText('text/html; charset=utf-8', PAGE) },
    { method: 'GET', path: '/docs/initializer.js', serve: serveText('text/javascript; charset=utf-8', INITIALIZER) },
    servePackaged('swagger-ui-bundle.js', 'text/javascript; charset=utf-8'),
    servePackaged('swagger-ui.css', 'text/css; charset=utf-8'),
    servePackaged('favicon-32x32.png', 'image/png'),
  ];
}

function serveText(type: string, text: string): HttpHandler {
  const bytes = Buffer.from(text);
  return async (ctx) => {
    ctx.set({ 'Content-Type': type, 'Content-Security-Policy': POLICY, 'Cache-Control': 'no-cache' });
    ctx.body = bytes;
  };
}

function servePackaged(file: string, mediaType: string): HttpRoute {
  return servePackagedFile(`/docs/${file}`, { package: 'swagger-ui-dist', file, mediaType });
}
