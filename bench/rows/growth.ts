import { compareServers, type Server } from '../compare.js';
import { storeBytes } from '../disk.js';
import type { RequestKind } from '../load/requests.js';
import { comparisonLines, megabytes, whole, type Row } from '../report.js';
import type { Run } from '../run.js';
import type { FillCommands, Filled } from '../servers/fill.js';
import { createRequests, entriesRequests, listRequests, statusRequests } from '../servers/sample.js';

const AIM = { text: '≤ 1.15', atMost: 1.15 };
const MILLION = 1_000_000;

interface FilledServer extends Server {
  readonly filled: Filled;
  readonly storeBytes: number;
  readonly startMs: number;
}

/**
 * The same requests on a store that holds little and on one that holds much, side by side; and what much of it weighs.
 */
export async function measureGrowth(run: Run): Promise<Row[]> {
  const { load, sizes } = run;
  const few = await startFilled(run, 'few', sizes.fewGenerations);
  const many = await startFilled(run, 'many', sizes.manyGenerations);
  const compareBoth = (kind: (filled: Filled) => RequestKind) =>
    compareServers(
      load,
      [
        { server: many, kind: kind(many.filled) },
        { server: few, kind: kind(few.filled) },
      ],
      sizes,
    );
  const creating = await compareBoth(({ credential }) => createRequests(credential.secret));
  const reading = await compareBoth(({ credential, generationIds }) =>
    statusRequests(credential.secret, generationIds),
  );
  const listing = await compareBoth(({ credential }) => listRequests(credential.secret));
  const entries = await compareBoth(({ credential }) => entriesRequests(credential.secret));
  const rss = {
    few: (await few.child.ask('usage', undefined)).rssBytes,
    many: (await many.child.ask('usage', undefined)).rssBytes,
  };
  await Promise.all([few.child.stop(), many.child.stop()]);
  const name = `${whole(many.filled.count)} generations, not ${whole(few.filled.count)}`;
  return [
    {
      name: 'growth of create',
      lines: comparisonLines(`create, ${name}`, creating, AIM),
      figures: { ...creating, few: few.filled.count, many: many.filled.count },
    },
    {
      name: 'growth of status',
      lines: comparisonLines(`status, ${name}`, reading, AIM),
      figures: { ...reading, few: few.filled.count, many: many.filled.count },
    },
    {
      name: 'growth of lists',
      lines: comparisonLines(`lists of generations, ${name}`, listing, AIM),
      figures: { ...listing, few: few.filled.count, many: many.filled.count },
    },
    {
      name: 'growth of entries',
      lines: comparisonLines(`ledger entries, ${name}`, entries, AIM),
      figures: { ...entries, few: few.filled.count, many: many.filled.count },
    },
    footprint(few, many, rss),
  ];
}

function footprint(few: FilledServer, many: FilledServer, rss: { readonly few: number; readonly many: number }): Row {
  const added = many.filled.count - few.filled.count;
  const diskPerMillion = ((many.storeBytes - few.storeBytes) / added) * MILLION;
  const rssPerMillion = ((rss.many - rss.few) / added) * MILLION;
  return {
    name: 'footprint',
    lines: [
      { what: 'store on disk, a million generations', measured: megabytes(diskPerMillion) },
      { what: 'memory (RSS), a million generations more', measured: megabytes(rssPerMillion) },
      {
        what: `memory (RSS) with ${whole(many.filled.count)} and with ${whole(few.filled.count)} generations`,
        measured: megabytes(rss.many),
        control: megabytes(rss.few),
      },
      {
        what: `start with ${whole(many.filled.count)} and with ${whole(few.filled.count)} generations`,
        measured: `${whole(many.startMs)} ms`,
        control: `${whole(few.startMs)} ms`,
      },
      {
        what: `filled with ${whole(many.filled.count)}, a second`,
        measured: whole(many.filled.count / (many.filled.elapsedMs / 1_000)),
      },
    ],
    figures: { diskPerMillion, rssPerMillion, rssBytes: rss, startMs: { few: few.startMs, many: many.startMs } },
  };
}

async function startFilled(run: Run, name: string, count: number): Promise<FilledServer> {
  const folder = run.newFolder(name);
  const filler = run.start<FillCommands>('./servers/fill.js', [folder]);
  const filled = await filler.ask('fill', { count, limitMs: run.sizes.fillLimitMs });
  await filler.stop();
  const bytes = storeBytes(folder);
  const beganAt = performance.now();
  const server = await run.startSubject(folder);
  return { ...server, filled, storeBytes: bytes, startMs: performance.now() - beganAt };
}
