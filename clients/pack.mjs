/**
 * Packs the TypeScript client as npm publishes it. Run after `npm run build`; the folder that the package goes to is
 * its argument, `dist/clients` when absent.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const target = process.argv[2] ?? at('../dist/clients');
const built = at('../dist/clients/typescript/src');
if (!existsSync(built)) {
  console.error('There is nothing to pack yet: run npm run build first.');
  process.exit(1);
}
const folder = mkdtempSync(join(tmpdir(), 'darkroom-pack-'));
try {
  // Scripts are for the checkout: one of them refuses to publish its folder, which has no compiled code.
  const { scripts: _, ...manifest } = JSON.parse(readFileSync(at('typescript/package.json'), 'utf8'));
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  cpSync(at('typescript/README.md'), join(folder, 'README.md'));
  cpSync(at('../LICENSE'), join(folder, 'LICENSE'));
  cpSync(built, join(folder, 'src'), { recursive: true });
  const options = { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] };
  const name = execFileSync('npm', ['pack', '--silent', '--pack-destination', target], options).trim();
  console.log(join(target, name));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
