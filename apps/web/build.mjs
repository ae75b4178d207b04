/**
 * Builds what browsers load: the account page into dist/web, and into dist/packages the files of packages that pages of the
 * service load as they are. All that the account page loads is in dist/web: nothing is inline, nothing comes from outside.
 */
import { build } from 'esbuild';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, extname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const BASE = '/console/';
/** By package. Each has the licence beside its files, as the licences require. */
const PACKAGED = {
  // Not for browsers: of 7 MB the service needs one file.
  'h264-mp4-encoder': ['embuild/dist/h264-mp4-encoder.node.js', 'package.json', 'LICENSE.md'],
  '@picocss/pico': ['css/pico.min.css', 'LICENSE.md'],
  'swagger-ui-dist': [
    'swagger-ui-bundle.js',
    'swagger-ui-bundle.js.LICENSE.txt',
    'swagger-ui.css',
    'favicon-32x32.png',
    'LICENSE',
    'NOTICE',
  ],
};

const at = (path) => fileURLToPath(new URL(path, import.meta.url));

await buildPage(at('../../dist/web'));
copyPackaged(at('../../dist/packages'));

/** The names of assets contain a hash of their content, so that browsers may keep them. */
async function buildPage(target) {
  rmSync(target, { recursive: true, force: true });
  const { metafile } = await build({
    absWorkingDir: target.slice(0, target.lastIndexOf('/dist/')),
    entryPoints: [at('src/main.tsx')],
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    outdir: join(target, 'assets'),
    entryNames: 'index-[hash]',
    define: { 'process.env.NODE_ENV': '"production"' },
    metafile: true,
    logLevel: 'warning',
  });
  const assets = Object.keys(metafile.outputs).map((file) => relative('dist/web', file));
  const asset = (ending) => assets.find((file) => extname(file) === ending);
  const entry = /<script type="module" src="\.\/src\/main\.tsx"><\/script>/;
  const page = readFileSync(at('index.html'), 'utf8');
  if (!entry.test(page)) throw new Error('apps/web/index.html does not load src/main.tsx as it did.');
  const loaded = `<script type="module" src="${BASE}${asset('.js')}"></script>
    <link rel="stylesheet" href="${BASE}${asset('.css')}" />`;
  writeFileSync(join(target, 'index.html'), page.replace(entry, loaded));
}

function copyPackaged(target) {
  rmSync(target, { recursive: true, force: true });
  const { resolve } = createRequire(import.meta.url);
  for (const [name, files] of Object.entries(PACKAGED)) {
    const folder = dirname(resolve(`${name}/package.json`));
    for (const file of files) {
      mkdirSync(dirname(join(target, name, file)), { recursive: true });
      cpSync(join(folder, file), join(target, name, file));
    }
  }
}
