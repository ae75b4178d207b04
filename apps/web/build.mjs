/**
 * Builds what browsers load: the console into dist/web, and into dist/packages the files of packages that pages of the
 * service load as they are. All that the console loads is in dist/web: nothing is inline, nothing comes from outside. Each text has
 * compressed copies beside it, which the server picks from.
 */
import { minify } from '@swc/core';
import { build } from 'esbuild';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, extname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compressAll, licencesOf } from '../served-files.mjs';

const BASE = '/console/';
const TARGETS = ['es2023', 'chrome125', 'firefox128', 'safari17.5'];
/** By package. Each has the licence beside its files, as the licences require. */
const PACKAGED = {
  // Not for browsers: of 7 MB the service needs one file.
  'h264-mp4-encoder': ['embuild/dist/h264-mp4-encoder.node.js', 'package.json', 'LICENSE.md'],
};
/** Packages of which the console's files contain parts; their licences go with them. */
const BUNDLED = ['preact', '@preact/signals', '@fontsource-variable/inter', '@fontsource-variable/geist-mono'];

const at = (path) => fileURLToPath(new URL(path, import.meta.url));

await buildConsole(at('../../dist/web'));
await buildPages(at('../../dist/pages'));
copyPackaged(at('../../dist/packages'));

/** The names of assets contain a hash of their content, so that browsers may keep them. */
async function buildConsole(target) {
  rmSync(target, { recursive: true, force: true });
  const icons = await drawIcons(join(target, 'assets'));
  const { metafile, outputFiles } = await build({
    absWorkingDir: target.slice(0, target.lastIndexOf('/dist/')),
    entryPoints: [at('src/main.tsx')],
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    target: TARGETS,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    outdir: join(target, 'assets'),
    entryNames: 'index-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    loader: { '.woff2': 'file' },
    legalComments: 'none',
    define: { 'process.env.NODE_ENV': '"production"', 'ICONS_URL': JSON.stringify(`${BASE}assets/${icons}`) },
    metafile: true,
    write: false,
    logLevel: 'warning',
  });
  for (const { path, contents, text } of outputFiles)
    writeFileSync(path, extname(path) === '.js' ? await shortened(text) : contents);
  const outputs = Object.entries(metafile.outputs);
  const urlOf = (file) => BASE + relative('dist/web', file);
  const [entry, { imports, cssBundle }] = outputs.find(([, { entryPoint }]) => entryPoint?.endsWith('main.tsx'));
  const atStart = imports.filter(({ kind }) => kind === 'import-statement').map(({ path }) => path);
  const fonts = outputs.map(([file]) => file).filter((file) => extname(file) === '.woff2');
  const head = [
    ...fonts.map((file) => `<link rel="preload" href="${urlOf(file)}" as="font" type="font/woff2" crossorigin />`),
    `<link rel="stylesheet" href="${urlOf(cssBundle)}" />`,
    ...atStart.map((file) => `<link rel="modulepreload" href="${urlOf(file)}" />`),
    `<script type="module" src="${urlOf(entry)}"></script>`,
  ];
  const source = /<script type="module" src="\.\/src\/main\.tsx"><\/script>/;
  const page = readFileSync(at('index.html'), 'utf8');
  if (!source.test(page)) throw new Error('apps/web/index.html does not load src/main.tsx as it did.');
  writeFileSync(join(target, 'index.html'), page.replace(source, head.join('\n    ')));
  writeFileSync(join(target, 'licences.txt'), licencesOf(BUNDLED, { lucide: at('lucide-licence.txt') }));
  compressAll(target);
}

/** A script with the same effect that is 3 % smaller after compression: esbuild does not look across statements. */
async function shortened(script) {
  const { code } = await minify(script, { compress: { passes: 2 }, mangle: true, module: true });
  return code;
}

/** Draws the icons that the console names into one file, each as a symbol with that id. Returns the name of the file. */
async function drawIcons(folder) {
  const { outputFiles } = await build({ entryPoints: [at('src/parts/icon-names.ts')], format: 'esm', write: false });
  const { ICON_NAMES } = await import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text)}`);
  const { icons, aliases } = createRequire(import.meta.url)('@iconify-json/lucide/icons.json');
  const symbols = ICON_NAMES.map((name) => {
    const { body } = icons[name] ?? icons[aliases[name]?.parent] ?? {};
    if (body === undefined) throw new Error(`Lucide has no icon ${name}.`);
    return `<symbol id="${name}" viewBox="0 0 24 24">${shapesOf(body)}</symbol>`;
  });
  const drawn = `<svg xmlns="http://www.w3.org/2000/svg">${symbols.join('')}</svg>`;
  const name = `icons-${createHash('sha256').update(drawn).digest('hex').slice(0, 8)}.svg`;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), drawn);
  return name;
}

/** The shapes of an icon, without the strokes that each icon repeats: the console's styles set them for all. */
function shapesOf(body) {
  const strokes =
    / (?:fill="none"|stroke="currentColor"|stroke-linecap="round"|stroke-linejoin="round"|stroke-width="2")/g;
  return body.replace(strokes, '').replaceAll('<g>', '').replaceAll('</g>', '');
}

/** Styles, fonts and the script of the pages that the server renders. */
async function buildPages(target) {
  rmSync(target, { recursive: true, force: true });
  await build({
    entryPoints: { pages: at('../http/pages/pages.css'), theme: at('../reference/browser/theme.ts') },
    outdir: target,
    bundle: true,
    minify: true,
    format: 'esm',
    target: TARGETS,
    assetNames: 'fonts/[name]-[hash]',
    loader: { '.woff2': 'file' },
    legalComments: 'none',
    logLevel: 'warning',
  });
  writeFileSync(
    join(target, 'licences.txt'),
    licencesOf(['@fontsource-variable/inter', '@fontsource-variable/geist-mono']),
  );
  compressAll(target);
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
