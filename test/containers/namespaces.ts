import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { EngineTools } from './engine-tools.js';
import { serveRegistryProxy } from './registry-proxy.js';

const PREFIX = 'darkroom-engine-';
const INSIDE = fileURLToPath(new URL('./inside.js', import.meta.url));

/** The Unix socket of the proxy, in the engine's folder. */
export const REGISTRIES = 'registries';

/**
 * Runs a command beside an engine of its own and returns its exit code. The engine, its containers and their data end
 * with the command or with this process, however that ends: they are in a process namespace that the kernel kills.
 */
export async function runBesideEngine(
  tools: EngineTools,
  command: readonly string[],
  images: readonly string[],
): Promise<number> {
  removeAbandoned();
  const folder = mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`));
  const proxy = await serveRegistryProxy(join(folder, REGISTRIES));
  const namespaces = ['--net', '--pid', '--mount', '--fork', '--kill-child=SIGKILL', '--mount-proc'];
  const inside = [tools.init, '-s', '--', process.execPath, INSIDE, folder, JSON.stringify(images), ...command];
  // Descriptor 3 closes when this process ends or gets SIGTERM. The process inside then ends too.
  const child = spawn('unshare', [...namespaces, ...inside], { stdio: ['inherit', 'inherit', 'inherit', 'pipe'] });
  const end = (): void => void child.stdio[3]?.destroy();
  // Ctrl-C reaches the command itself, from the terminal.
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', end);
  process.on('SIGHUP', end);
  try {
    return await new Promise<number>((resolve, reject) => {
      child.on('error', reject);
      child.on('exit', (code) => resolve(code ?? 1));
    });
  } finally {
    proxy.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Removes the folders of processes that were killed. */
function removeAbandoned(): void {
  for (const name of readdirSync(tmpdir()).filter((entry) => entry.startsWith(PREFIX))) {
    const owner = name.slice(PREFIX.length).split('-')[0] ?? '';
    if (!existsSync(join('/proc', owner))) rmSync(join(tmpdir(), name), { recursive: true, force: true });
  }
}
