import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pythonCheckers } from '../deploy/tools.js';
import { installDebianPackage } from '../servers/debian-package.js';
import { commandPath } from '../servers/find-program.js';

/** The programs of a container engine that tests start themselves. */
export interface EngineTools {
  readonly daemon: string;
  /** The client that belongs to the daemon: a newer one may need a plugin to build. */
  readonly client: string;
  /** Process 1 of the engine's process namespace. */
  readonly init: string;
  /** The program of Docker Compose. */
  readonly compose: string;
}

/** The programs, or a sentence with the reason why there is no engine. */
export function findEngineTools(): EngineTools | string {
  if (process.platform !== 'linux') return 'containers are tested on Linux only.';
  if (process.getuid?.() !== 0) return 'starting a container engine takes root.';
  const daemon = commandPath('dockerd');
  if (daemon === null) return 'dockerd is not on this machine; npm run containers:install installs it on Debian.';
  const client = [join(dirname(daemon), 'docker'), '/usr/bin/docker'].find((path) => existsSync(path));
  if (client === undefined) return `the client docker is not beside ${daemon}.`;
  const init = commandPath('tini') ?? commandPath('docker-init');
  if (init === null || commandPath('unshare') === null)
    return 'tini and unshare, which start the engine, are not on this machine.';
  const checkers = pythonCheckers();
  if (typeof checkers === 'string') return `Docker Compose is absent: ${checkers}`;
  return { daemon, client, init, compose: checkers.composePath };
}

/** Installs what is absent, from Debian and from Python's registry. Returns the reason where that cannot be done. */
export function installEngineTools(): string | undefined {
  const absent = [
    ...(commandPath('dockerd') === null ? ['docker.io', 'containerd'] : []),
    ...(commandPath('mmdebstrap') === null ? ['mmdebstrap'] : []),
  ];
  return absent.length === 0 ? undefined : installDebianPackage(...absent);
}
