/** Shared by the builds of files for browsers. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const PACKAGES = fileURLToPath(new URL('../node_modules/', import.meta.url));

/** The licences of packages of which built files contain parts, and those in files of our own, by name. */
export function licencesOf(packages, files = {}) {
  const found = packages.map((name) => {
    const folder = join(PACKAGES, name);
    const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
    if (file === undefined) throw new Error(`The package ${name} has no file with its licence.`);
    return [name, join(folder, file)];
  });
  return [...found, ...Object.entries(files)]
    .map(([name, path]) => `${name}\n\n${readFileSync(path, 'utf8').trim()}\n`)
    .join(`\n${'-'.repeat(80)}\n\n`);
}

/** Writes compressed copies beside every file of a folder. Fonts are compressed already. */
export function compressAll(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile() || extname(entry.name) === '.woff2') continue;
    const path = join(entry.parentPath, entry.name);
    const bytes = readFileSync(path);
    const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.byteLength };
    writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params }));
    writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
  }
}
