import type { Installation } from '../stage/installation.js';
import type { Deed, ProcessName } from './schedule.js';

type Undo = () => Promise<void>;

/** Does what a fault says, and answers how it is undone. Undoing starts again what was ended, if it can start by now. */
export async function perform(installation: Installation, deed: Deed): Promise<Undo> {
  switch (deed.to) {
    case 'processes': return troubleProcesses(installation, deed);
    case 'store': return troubleStore(installation, deed);
    case 'links': return troubleLinks(installation, deed);
    case 's3': {
      const troubles = deed.processes.map((name) => installation.ways(name).trouble);
      for (const trouble of troubles) trouble.suffer(deed.trouble);
      return async () => { for (const trouble of troubles) trouble.suffer(undefined); };
    }
  }
}

async function troubleProcesses(installation: Installation, { does, processes }: Extract<Deed, { to: 'processes' }>): Promise<Undo> {
  const troubled = processes.map((name: ProcessName) => installation.process(name));
  if (does === 'freeze') {
    for (const process of troubled) process.freeze();
    return async () => { for (const process of troubled) process.thaw(); };
  }
  if (does === 'SIGTERM') for (const process of troubled) process.askToEnd();
  else await Promise.all(troubled.map((process) => process.end('SIGKILL')));
  // Not waited for: it may be long in starting while another fault lasts, and is waited for when all are healed.
  // One that cannot be started says so there again.
  return async () => { for (const process of troubled) process.startAgain().catch(() => undefined); };
}

async function troubleStore(installation: Installation, { does, store }: Extract<Deed, { to: 'store' }>): Promise<Undo> {
  const server = store === 'mongo' ? installation.mongo : installation.s3;
  if (does === 'freeze') {
    await server.pause();
    return async () => server.resume();
  }
  await server.kill();
  return () => server.restart();
}

async function troubleLinks(installation: Installation, { store, processes, toxic, directions }: Extract<Deed, { to: 'links' }>): Promise<Undo> {
  const links = processes.map((name) => installation.ways(name)[store]);
  await Promise.all(links.flatMap((link) => directions.map((direction) => link.poison(toxic, direction))));
  return async () => { await Promise.all(links.map((link) => link.heal())); };
}
