import { comparisonOf, measureInTurn, middle, Side } from '../compare.js';
import { type Fleet, loadFleet, measureFleet } from '../fleet.js';
import type { RequestKind } from '../load/requests.js';
import { coresLine, fleetLines, type Row } from '../report.js';
import type { Run, Subject } from '../run.js';
import { createRequests, statusRequestsOf } from '../servers/sample.js';
import type { StoreServers } from '../servers/store-servers.js';

/** How many processes are compared. The sum of what they can do is bounded by the machine they share. */
export const PROCESSES = [1, 2, 4] as const;
/** Few enough for their keys to stay known to every process for as long as it may remember them. */
const ACCOUNTS = 64;
const STATUS_SAMPLES = 1_000;

type Kinds = Readonly<Record<'create' | 'status', RequestKind>>;

/** Create and status over MongoDB, by one process, two and four, beside one process that has its database in itself. */
export async function measureFronts(run: Run, stores: StoreServers): Promise<Row[]> {
  const embedded: Fleet = { fronts: [await run.startSubject(run.newFolder('embedded'))] };
  const folder = await stores.newInstallation(run, 'fronts');
  const fronts: Subject[] = [];
  while (fronts.length < Math.max(...PROCESSES)) fronts.push(await run.startSubject(folder));
  const embeddedKinds = await kindsOf(run, embedded);
  const kinds = await kindsOf(run, { fronts, stores });

  const rows: Row[] = [];
  for (const name of ['create', 'status'] as const) {
    const slice = (fleet: Fleet, { [name]: kind }: Kinds) =>
      new Side(() =>
        measureFleet(run.load, fleet, { kind, connections: run.sizes.connections, durationMs: run.sizes.sliceMs }),
      );
    const control = slice(embedded, embeddedKinds);
    const sides = PROCESSES.map((count) => slice({ fronts: fronts.slice(0, count), stores }, kinds));
    await measureInTurn([control, ...sides], run.sizes.rounds);
    rows.push(...rowsOf(name, control, sides));
  }
  await Promise.all([...embedded.fronts, ...fronts].map(({ child }) => child.stop()));
  return rows;
}

function rowsOf(name: string, control: Side, [one, ...more]: readonly Side[]): Row[] {
  if (one === undefined) return [];
  const beside = comparisonOf(one, control);
  const growth = more.map((side) => comparisonOf(side, one));
  return [
    { name: `distributed ${name}`, lines: fleetLines(`${name}, MongoDB not SQLite`, beside), figures: beside },
    ...growth.map((comparison, index): Row => {
      const what = `${name}, ${PROCESSES[index + 1]} processes not 1`;
      return {
        name: `distributed ${name} by ${PROCESSES[index + 1]}`,
        lines: fleetLines(what, comparison),
        figures: comparison,
      };
    }),
    {
      name: `distributed ${name}: cores`,
      lines: [one, ...more].map((side, index) => coresLine(`${name} by ${PROCESSES[index]}`, middle(side.shown))),
      figures: [one, ...more].map(({ shown }, index) => ({ processes: PROCESSES[index], ...middle(shown) })),
    },
  ];
}

/** Accounts of its own, and requests for them; every process is warmed up by them on the way. */
async function kindsOf({ load, sizes }: Run, fleet: Fleet<Subject>): Promise<Kinds> {
  const [processes, { connections }] = [fleet.fronts.length, sizes];
  const [durationMs, maxRequests] = [sizes.warmUpMs * processes, sizes.warmUpRequests * processes];
  const credentials = (await fleet.fronts[0]?.child.ask('createCredentials', { count: ACCOUNTS })) ?? [];
  const create = createRequests(...credentials.map(({ secret }) => secret));
  const { marks } = await loadFleet(load, fleet, {
    kind: create,
    connections,
    durationMs,
    maxRequests,
    isMarked: true,
  });
  const status = statusRequestsOf(marks.slice(-STATUS_SAMPLES));
  await loadFleet(load, fleet, { kind: status, connections, durationMs, maxRequests });
  return { create, status };
}
