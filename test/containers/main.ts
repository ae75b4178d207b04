/**
 * `npm run containers -- COMMAND`: runs a command, by default a shell, beside a container engine of its own that has the
 * base images of deploy/. `docker` and `docker compose` are that engine's, and ports that containers publish are at
 * 127.0.0.1 for the command. `--node-only` before the command loads only the image's base, except in the full run. If no
 * engine can be installed, the command runs without one, and tests skip what needs it.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { neededTars } from './base-images.js';
import { findEngineTools } from './engine-tools.js';
import { ABSENT_VARIABLE } from './engine.js';
import { runBesideEngine } from './namespaces.js';

const words = process.argv.slice(2);
const nodeOnly = words[0] === '--node-only';
const [program = process.env['SHELL'] ?? 'sh', ...args] = words.slice(nodeOnly ? 1 : 0);
const tools = findEngineTools();
const tars = neededTars({ nodeOnly });

if (typeof tools === 'string') withoutEngine(tools);
else if (!tars.every((tar) => existsSync(tar)))
  withoutEngine('the base images are absent; npm run containers:install makes them.');
else process.exitCode = await runBesideEngine(tools, [program, ...args], tars);

function withoutEngine(reason: string): void {
  console.error(`No container engine: ${reason}`);
  const env = { ...process.env, [ABSENT_VARIABLE]: reason };
  process.exitCode = spawnSync(program, args, { stdio: 'inherit', env }).status ?? 1;
}
