/**
 * Runs in the engine's namespaces: starts the engine, loads images, runs the command beside it, and stops the engine. It
 * ends at once when descriptor 3 closes, as the process that made the namespaces has ended then.
 */
import { spawn, spawnSync } from 'node:child_process';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { loadBaseImages } from './base-images.js';
import { findEngineTools } from './engine-tools.js';
import { Engine } from './engine.js';
import { REGISTRIES } from './namespaces.js';
import { serveRelay } from './registry-proxy.js';

const [folder = '', images = '[]', program = 'sh', ...args] = process.argv.slice(2);

const owner = new Socket({ fd: 3 });
owner.on('error', () => process.exit(1));
owner.on('close', () => process.exit(1));
owner.resume();
owner.unref();

const tools = findEngineTools();
if (typeof tools === 'string') throw new Error(tools);
spawnSync('ip', ['link', 'set', 'lo', 'up']);
const engine = new Engine(folder, tools);
engine.prepare();
const relay = await serveRelay(join(folder, REGISTRIES));
await engine.start();
for (const tar of JSON.parse(images) as readonly string[]) loadBaseImages(engine, tar);

// Ctrl-C is for the command.
process.on('SIGINT', () => undefined);
const command = spawn(program, args, { stdio: 'inherit', env: engine.environment });
process.exitCode = await new Promise<number>((resolve) => {
  command.on('error', (error) => {
    console.error(`${program} cannot be run (${error.message})`);
    resolve(127);
  });
  command.on('exit', (code) => resolve(code ?? 1));
});
relay.close();
await engine.stop();
process.exit();
