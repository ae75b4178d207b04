import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compareServers } from '../compare.js';
import { storeBytes } from '../disk.js';
import type { RequestKind } from '../load/requests.js';
import { comparisonLines, megabytes, type Row, whole } from '../report.js';
import type { Run, Subject } from '../run.js';
import type { FillCommands, Filled } from '../servers/fill.js';
import { createRequests, entriesRequests, listRequests, statusRequests } from '../servers/sample.js';
import { median } from '../statistics.js';

const AIM = { text: '≤ 1.15', atMost: 1.15 };
const MILLION = 1_000_000;
/** Starts of each kind; the median is reported. */
const STARTS = 3;

interface FilledServer extends Subject {
  readonly folder: string;
  readonly filled: Filled;
  readonly storeBytes: number;
}

/**
 * The same requests on a store with little data and on one with much data, side by side; and the size of the latter.
 */
export async function measureGrowth(run: Run): Promise<Row[]> {
  const { load, sizes } = run;
  const few = await startFilled(run, 'few', sizes.fewGenerations);
  const many = await startFilled(run, 'many', sizes.manyGenerations);
  await many.child.ask('databaseChecked', undefined);
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
    await measureStarts(run, few, many),
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
        what: `filled with ${whole(many.filled.count)}, a second`,
        measured: whole(many.filled.count / (many.filled.elapsedMs / 1_000)),
      },
    ],
    figures: { diskPerMillion, rssPerMillion, rssBytes: rss },
  };
}

/** How the server before ended, and how long the next one takes from the start of its process until it listens. */
async function measureStarts(run: Run, few: FilledServer, many: FilledServer): Promise<Row> {
  const times = { few: [] as number[], stopped: [] as number[], killed: [] as number[], restarted: [] as number[] };
  const checks: number[] = [];
  const start = async ({ folder }: FilledServer, into: number[]): Promise<Subject> => {
    const beganAt = performance.now();
    const server = await run.startSubject(folder);
    into.push(performance.now() - beganAt);
    return server;
  };
  for (let round = 0; round < STARTS; round += 1) {
    await (await start(few, times.few)).child.stop();
    const first = await start(many, times.stopped);
    checks.push(await first.child.ask('databaseChecked', undefined));
    await first.child.kill();
    const second = await start(many, times.killed);
    await second.child.ask('databaseChecked', undefined);
    await second.child.kill();
    // The id of the machine's start that the next server finds is another one than that of this machine.
    writeFileSync(join(many.folder, 'server.boot'), 'another start\n');
    await (await start(many, times.restarted)).child.stop();
  }
  const inMs = (all: readonly number[]) => `${whole(median(all))} ms`;
  const control = inMs(times.few);
  const what = `start with ${whole(many.filled.count)} generations, not ${whole(few.filled.count)}`;
  return {
    name: 'starts',
    lines: [
      { what: `${what}, after a stop`, measured: inMs(times.stopped), control },
      { what: '… after the process was killed', measured: inMs(times.killed), control },
      { what: '… after the machine failed: checked first', measured: inMs(times.restarted), control },
      { what: '… until the check beside it had ended', measured: inMs(checks) },
    ],
    figures: { ...times, checks },
  };
}

async function startFilled(run: Run, name: string, count: number): Promise<FilledServer> {
  const folder = run.newFolder(name);
  const filler = run.start<FillCommands>('./servers/fill.js', [folder]);
  const filled = await filler.ask('fill', { count, limitMs: run.sizes.fillLimitMs });
  await filler.stop();
  const bytes = storeBytes(folder);
  return { ...(await run.startSubject(folder)), folder, filled, storeBytes: bytes };
}
