/**
 * Builds the API reference into dist/reference, as a service has it at /docs: a page for each resource, with styles, script and
 * fonts. Everything is loaded from there. Each text has compressed copies beside it.
 */
import { build } from 'esbuild';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { assetsIn, servedPages } from '../../dist/apps/reference/reference.js';
import { compressAll, licencesOf } from '../served-files.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const OUTPUT = join(ROOT, 'dist/reference');

rmSync(OUTPUT, { recursive: true, force: true });
const assets = await buildAssets(join(OUTPUT, 'assets'));
for (const [name, text] of servedPages(ROOT, assets)) {
  mkdirSync(dirname(join(OUTPUT, name)), { recursive: true });
  writeFileSync(join(OUTPUT, name), text);
}
writeFileSync(
  join(OUTPUT, 'licences.txt'),
  licencesOf(['@fontsource-variable/inter', '@fontsource-variable/geist-mono']),
);
compressAll(OUTPUT);

/** The names of the files contain a hash of their content, so that browsers may keep them. */
async function buildAssets(target) {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: ['reference.css', 'browser/reference.ts', 'browser/theme.ts'].map((path) =>
      join(ROOT, 'apps/reference', path),
    ),
    outdir: target,
    bundle: true,
    minify: true,
    format: 'esm',
    target: ['es2023', 'chrome125', 'firefox128', 'safari17.5'],
    entryNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    loader: { '.woff2': 'file' },
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
  });
  return assetsIn(Object.keys(metafile.outputs).map((file) => basename(file)));
}
