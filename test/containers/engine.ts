/**
 * A container engine of its own: its data, sockets and pid file are in one folder, and its network, processes and mounts
 * in namespaces of their own, so that nothing of it outlives the command that it was started for.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findEngineTools, type EngineTools } from './engine-tools.js';
import { RELAY_PORT } from './registry-proxy.js';

/** Names the engine's folder to the commands that run beside it. */
export const FOLDER_VARIABLE = 'TEST_CONTAINERS_FOLDER';
/** Set in its place where there is no engine: a sentence with the reason. */
export const ABSENT_VARIABLE = 'TEST_CONTAINERS_ABSENT';

/** The engine's address on the default bridge, at which containers reach its namespace. */
export const BRIDGE_ADDRESS = '172.17.0.1';

const READY_TRIES = 300;
const BETWEEN_TRIES_MS = 100;

export class Engine {
  private daemon: ChildProcess | undefined;

  constructor(
    readonly folder: string,
    private readonly tools: EngineTools,
  ) {}

  /** The engine of the command that this process belongs to. */
  static ofEnvironment(): Engine | string {
    const folder = process.env[FOLDER_VARIABLE];
    if (folder === undefined || folder === '')
      return process.env[ABSENT_VARIABLE] ?? 'this command was not started by npm run containers.';
    const tools = findEngineTools();
    return typeof tools === 'string' ? tools : new Engine(folder, tools);
  }

  /** Variables with which `docker` and `docker compose` are those of this engine. */
  get environment(): NodeJS.ProcessEnv {
    return {
      ...process.env,
      PATH: [join(this.folder, 'bin'), process.env['PATH']].join(delimiter),
      DOCKER_HOST: `unix://${join(this.folder, 'socket')}`,
      DOCKER_CONFIG: join(this.folder, 'client'),
      DOCKER_BUILDKIT: '1',
      [FOLDER_VARIABLE]: this.folder,
    };
  }

  /** Writes what the client needs. Builds reach package registries through the relay, and containers do not. */
  prepare(): void {
    for (const name of ['bin', 'client/cli-plugins', 'builds/cli-plugins'])
      mkdirSync(join(this.folder, name), { recursive: true });
    for (const client of ['client', 'builds'])
      symlinkSync(this.tools.compose, join(this.folder, client, 'cli-plugins', 'docker-compose'));
    this.useRegistriesThrough(RELAY_PORT);
    const wrapper = `#!/bin/sh
case " $* " in *" build "*) DOCKER_CONFIG='${join(this.folder, 'builds')}'; export DOCKER_CONFIG ;; esac
exec '${this.tools.client}' "$@"
`;
    writeFileSync(join(this.folder, 'bin', 'docker'), wrapper);
    chmodSync(join(this.folder, 'bin', 'docker'), 0o755);
  }

  /** Has builds use a proxy at this port of the engine's namespace. */
  useRegistriesThrough(port: number): void {
    const proxy = `http://${BRIDGE_ADDRESS}:${port}`;
    const config = { proxies: { default: { httpProxy: proxy, httpsProxy: proxy } } };
    writeFileSync(join(this.folder, 'builds', 'config.json'), JSON.stringify(config));
  }

  /** Starts the daemon, with containers whose restart policy says so. Resolves when it answers. */
  async start(): Promise<void> {
    const log = openSync(join(this.folder, 'log'), 'a');
    const at = (name: string): string => join(this.folder, name);
    const args = ['--data-root', at('data'), '--exec-root', at('exec'), '--pidfile', at('pid')];
    // Lowering the score needs a capability that containers and build machines often lack.
    const daemon = spawn(
      this.tools.daemon,
      ['--oom-score-adjust', '0', ...args, '--host', `unix://${at('socket')}`, '--shutdown-timeout', '5'],
      { stdio: ['ignore', log, log], env: this.environment },
    );
    closeSync(log);
    daemon.unref();
    this.daemon = daemon;
    for (let tries = 0; tries < READY_TRIES; tries += 1) {
      if (daemon.exitCode !== null || daemon.signalCode !== null) break;
      if (this.docker('version').status === 0) return;
      await sleep(BETWEEN_TRIES_MS);
    }
    throw new Error(`dockerd did not start: ${this.lastLog()}`);
  }

  /** Runs the client to its end. */
  docker(...args: readonly string[]): { status: number | null; stdout: string; stderr: string } {
    return spawnSync(join(this.folder, 'bin', 'docker'), args, {
      env: this.environment,
      encoding: 'utf8',
      maxBuffer: 1 << 28,
    });
  }

  /** Stops containers and the daemon. */
  async stop(): Promise<void> {
    const { daemon } = this;
    if (daemon === undefined || daemon.exitCode !== null || daemon.signalCode !== null) return;
    const ended = once(daemon, 'exit');
    daemon.kill('SIGTERM');
    await ended;
  }

  /** Kills the daemon, its helpers and the processes of all containers at once, as a power failure would. */
  async kill(): Promise<void> {
    const victims = processesBelow(Number(readFileSync(join(this.folder, 'pid'), 'utf8')), this.folder);
    for (const pid of victims) killIfThere(pid);
    while (victims.some(isThere)) await sleep(BETWEEN_TRIES_MS);
  }

  private lastLog(): string {
    return readFileSync(join(this.folder, 'log'), 'utf8').trim().split('\n').slice(-3).join('; ');
  }
}

/** The daemon first, so that it cannot react to the end of the others; then helpers, and what runs in containers. */
function processesBelow(daemon: number, folder: string): number[] {
  const parents = new Map<number, number>();
  const helpers: number[] = [];
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8');
      if (/^\S*containerd-shim|^\S*containerd\0/.test(command) && command.includes(folder)) helpers.push(Number(name));
    } catch {
      // It has ended since.
    }
  }
  const found = new Set([daemon, ...helpers]);
  for (let size = 0; size < found.size;) {
    size = found.size;
    for (const [pid, parent] of parents) if (found.has(parent)) found.add(pid);
  }
  return [...found];
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

/** Whether it runs: a zombie, which its parent has not asked for, does not. */
function isThere(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
