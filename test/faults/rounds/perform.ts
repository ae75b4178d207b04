import type { Installation } from '../harness/installation.js';
import type { Link } from '../harness/toxiproxy.js';
import { sufferAtVendor, type VendorTrouble } from '../vendors/vendor-trouble.js';
import { troubleCluster } from './cluster-faults.js';
import type { Action, Performed } from './schedule.js';

type ActionTo<T extends Action['to']> = Extract<Action, { readonly to: T }>;

/**
 * Performs a fault's action. Processes that another fault has ended are awaited or restarted, so that there is
 * something to strike.
 */
export async function perform(
  installation: Installation,
  action: Action,
  pause: (ms: number) => Promise<void>,
): Promise<Performed> {
  switch (action.to) {
    case 'processes':
      return troubleProcesses(installation, action);
    case 'store':
      return troubleStore(installation, action, pause);
    case 'cluster':
      return troubleCluster(installation.clusterInUse, action, pause);
    case 's3':
      return suffer(action, (name) => installation.ways(name).trouble);
    case 'vendors':
      return troubleVendors(installation, action);
    case 'receivers':
      return suffer(action, (name) => installation.watchedInUse.receivers.receiver(name));
    case 'links':
      return poison(action, (name) => installation.ways(name)[action.store]);
    case 'vendor-links':
      return poison(action, (name) => installation.vendorsInUse.link(name));
    case 'receiver-links':
      return poison(action, (name) => installation.watchedInUse.receivers.link(name));
    case 'streams':
      return poison(action, (name) => installation.watchedInUse.streams[name]);
  }
}

async function troubleProcesses(
  installation: Installation,
  { does, targets }: ActionTo<'processes'>,
): Promise<Performed> {
  const troubled = targets.map((name) => installation.process(name));
  await Promise.all(troubled.map((process) => process.ensureStarted()));
  const struck = troubled.filter((process) => {
    if (does === 'freeze') return process.freeze();
    return does === 'SIGTERM' ? process.askToEnd() : process.kill();
  });
  const hits = () => struck.length;
  if (does === 'freeze')
    return {
      hits,
      undo: async () => {
        for (const process of troubled) process.thaw();
      },
    };
  // Not awaited: a start may take long while another fault lasts, and all starts are awaited when everything is healed.
  // A failed start is reported again there.
  return {
    hits,
    undo: async () => {
      for (const process of troubled) process.startAgain().catch(() => undefined);
    },
  };
}

/** Each of three workers makes five of them, after which it pauses the vendor. */
const CALLS_IN_SILENCE = 15;
const LOSSES_OF_EACH = 2;
const LOOK_EVERY_MS = 20;

async function troubleStore(
  installation: Installation,
  { does, targets: [store] }: ActionTo<'store'>,
  pause: (ms: number) => Promise<void>,
): Promise<Performed> {
  const server = installation.server(store);
  while (server.pid === undefined) await pause(LOOK_EVERY_MS);
  if (does === 'freeze') {
    await server.pause();
    return { hits: () => 1, undo: async () => server.resume() };
  }
  await server.kill();
  return { hits: () => 1, undo: () => server.restart() };
}

async function poison<N>(
  { targets, toxic, directions, toxicity }: Omit<ActionTo<'links'>, 'to' | 'store' | 'targets'> & Targets<N>,
  linkOf: (name: N) => Link | readonly Link[],
): Promise<Performed> {
  const links = targets.flatMap(linkOf);
  const antidotes = await Promise.all(
    links.flatMap((link) => directions.map((direction) => link.poison(toxic, direction, toxicity))),
  );
  const sent = () => links.reduce((sum, link) => sum + link.sent, 0);
  const before = sent();
  return {
    hits: () => sent() - before,
    undo: async () => {
      await Promise.all(antidotes.map((take) => take()));
    },
  };
}

interface Targets<N> {
  readonly targets: readonly N[];
}

/** A server that can be made to suffer something. */
interface Sufferer<T, S> {
  suffer(trouble: T): S;
  cure(suffering: S): void;
}

async function suffer<N, T, S extends { readonly hits: number }>(
  { targets, trouble }: Targets<N> & { readonly trouble: T },
  serverOf: (name: N) => Sufferer<T, S>,
): Promise<Performed> {
  const suffering = targets.map((name) => {
    const server = serverOf(name);
    return { server, suffered: server.suffer(trouble) };
  });
  return {
    hits: () => suffering.reduce((sum, { suffered }) => sum + suffered.hits, 0),
    undo: async () => {
      for (const { server, suffered } of suffering) server.cure(suffered);
    },
  };
}

async function troubleVendors(
  { vendorsInUse }: Installation,
  { targets, trouble }: ActionTo<'vendors'>,
): Promise<Performed> {
  const suffering = targets.map((name) => sufferAtVendor(vendorsInUse.server(name), trouble));
  const hits = () => suffering.reduce((sum, one) => sum + one.hits, 0);
  return {
    hits,
    hasHitEnough: () => {
      if (trouble === 'silence') return suffering.some((one) => one.hits >= CALLS_IN_SILENCE);
      return isLoss(trouble) ? suffering.every((one) => one.hits >= LOSSES_OF_EACH) : hits() > 0;
    },
    undo: async () => {
      for (const one of suffering) one.cure();
    },
  };
}

/** Whether the outcome of a submission stays unknown: what follows differs from vendor to vendor. */
function isLoss(trouble: VendorTrouble): boolean {
  return trouble === 'requests-lost' || trouble === 'answers-lost';
}
