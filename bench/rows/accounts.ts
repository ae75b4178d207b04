import { comparisonOf, measureInTurn, Side, type Measured } from '../compare.js';
import { loadFleet, measureFleet, type Fleet } from '../fleet.js';
import { fleetLines, type Row } from '../report.js';
import type { Run, Subject } from '../run.js';
import { createRequests } from '../servers/sample.js';
import type { StoreServers } from '../servers/store-servers.js';
import { median } from '../statistics.js';

const ACCOUNTS = 1_000;
const FRONTS = [1, 4] as const;
/** Fewer than the generations that an account may have open by default. */
const MOST_IN_A_SLICE = 900;

interface Case {
  readonly fronts: number;
  readonly side: Side;
  readonly commandsPerWrite: number[];
  readonly conflictsPerWrite: number[];
}

/** Creates that all fall on one account, beside the same creates dealt out among a thousand. */
export async function measureAccounts(run: Run, stores: StoreServers): Promise<Row[]> {
  const folder = await stores.newInstallation(run, 'accounts');
  const fronts: Subject[] = [];
  while (fronts.length < Math.max(...FRONTS)) fronts.push(await run.startSubject(folder));
  const [first] = fronts;
  if (first === undefined) return [];
  const create = async (count: number) =>
    (await first.child.ask('createCredentials', { count })).map(({ secret }) => secret);
  const many = await create(ACCOUNTS);
  // A hot account's holds stay open, so each slice gets a new one.
  const hot = await create(run.sizes.rounds * FRONTS.length);
  const { connections, warmUpMs, warmUpRequests } = run.sizes;
  await loadFleet(
    run.load,
    { fronts },
    {
      kind: createRequests(...many),
      connections,
      durationMs: warmUpMs * fronts.length,
      maxRequests: warmUpRequests * fronts.length,
    },
  );

  const caseOf = (count: number, next: () => readonly string[]): Case => {
    const [commandsPerWrite, conflictsPerWrite]: [number[], number[]] = [[], []];
    const fleet = { fronts: fronts.slice(0, count), stores };
    const side = new Side(async () => {
      const { measured, creates, applied, conflicts } = await measureWrites(run, fleet, next());
      commandsPerWrite.push(creates / applied);
      conflictsPerWrite.push(conflicts / applied);
      return measured;
    });
    return { fronts: count, side, commandsPerWrite, conflictsPerWrite };
  };
  const pairs = FRONTS.map((count) => ({
    hot: caseOf(count, () => [hot.pop() ?? '']),
    many: caseOf(count, () => many),
  }));
  await measureInTurn(
    pairs.flatMap((pair) => [pair.hot.side, pair.many.side]),
    run.sizes.rounds,
  );
  await Promise.all(fronts.map(({ child }) => child.stop()));
  return pairs.map(rowOf);
}

function rowOf({ hot, many }: { readonly hot: Case; readonly many: Case }): Row {
  const name = `by ${hot.fronts}`;
  const comparison = comparisonOf(hot.side, many.side);
  const [commands, conflicts] = [
    [hot, many].map((one) => median(one.commandsPerWrite)),
    [hot, many].map((one) => median(one.conflictsPerWrite)),
  ];
  return {
    name: `hot account ${name}`,
    lines: [
      ...fleetLines(`create ${name}, 1 account not ${ACCOUNTS.toLocaleString('en')}`, comparison),
      {
        what: `create ${name}: commands a write of an account`,
        measured: commands[0]?.toFixed(1) ?? '',
        control: commands[1]?.toFixed(1) ?? '',
      },
      {
        what: `create ${name}: writes lost to others, for each that stands`,
        measured: conflicts[0]?.toFixed(2) ?? '',
        control: conflicts[1]?.toFixed(2) ?? '',
      },
    ],
    figures: { ...comparison, commandsPerWrite: commands, conflictsPerWrite: conflicts },
  };
}

interface WritesMeasured {
  readonly measured: Measured;
  readonly creates: number;
  readonly applied: number;
  readonly conflicts: number;
}

async function measureWrites(
  { load, sizes }: Run,
  fleet: Fleet<Subject>,
  secrets: readonly string[],
): Promise<WritesMeasured> {
  const counted = () => Promise.all(fleet.fronts.map(({ child }) => child.ask('accountWrites', undefined)));
  const before = await counted();
  const { requests, ...measured } = await measureFleet(load, fleet, {
    kind: createRequests(...secrets),
    connections: sizes.connections,
    durationMs: sizes.sliceMs,
    maxRequests: MOST_IN_A_SLICE,
  });
  const after = await counted();
  const grown = (of: 'applied' | 'conflicts') =>
    after.reduce((sum, counts, index) => sum + counts[of] - (before[index]?.[of] ?? 0), 0);
  return { measured, creates: requests, applied: grown('applied'), conflicts: grown('conflicts') };
}
