/**
 * Packs the TypeScript client as npm publishes it. Run after `npm run build`; the folder that the package goes to is
 * its argument, `dist/clients` when absent.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const target = process.argv[2] ?? at('../dist/clients');
const folder = mkdtempSync(join(tmpdir(), 'darkroom-pack-'));
try {
  for (const name of ['package.json', 'README.md']) cpSync(at(`typescript/${name}`), join(folder, name));
  cpSync(at('../LICENSE'), join(folder, 'LICENSE'));
  cpSync(at('../dist/clients/typescript/src'), join(folder, 'src'), { recursive: true });
  execFileSync('npm', ['pack', '--silent', '--pack-destination', target], { cwd: folder, stdio: 'inherit' });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
