import type { RequestKind } from '../load/requests.js';
import { type Line, type Row, whole } from '../report.js';
import type { Run, Subject } from '../run.js';
import type { FillLedgerCommands } from '../servers/fill-ledger.js';
import { entriesRequests, usageRequests } from '../servers/sample.js';

const AIM_MS = 50;
const SAMPLES = 200;
/** For all requests until the sums are made. */
const MAX_REQUESTS = 10_000;

interface Caught {
  readonly requests: number;
  readonly elapsedMs: number;
  readonly longestMs: number;
}

/**
 * The ledger and the usage of one account with a long ledger, one request at a time: what its customer waits for, first
 * while the sums are made, and then.
 */
export async function measureUsage(run: Run): Promise<Row[]> {
  const { ledgerEntries } = run.sizes;
  const folder = run.newFolder('usage');
  const filler = run.start<FillLedgerCommands>('./servers/fill-ledger.js', [folder]);
  const { credential } = await filler.ask('fill', { entries: ledgerEntries });
  await filler.stop();
  const subject = await run.startSubject(folder);
  const { secret } = credential;
  const name = `of ${whole(ledgerEntries)} entries`;
  const uses = await catchUp(subject, usageRequests(secret, 'day'));
  const traces = await catchUp(subject, usageRequests(secret, 'client_trace_id'));
  const lines: Line[] = [
    caughtLine(`sums by day, model and key ${name}`, uses),
    caughtLine(`sums by client_trace_id ${name}`, traces),
  ];
  const times: Record<string, { readonly p50: number; readonly p99: number }> = {};
  const kinds: Readonly<Record<string, RequestKind>> = {
    'first page of the ledger': entriesRequests(secret),
    ...Object.fromEntries(BY.map((by) => [`a month's usage by ${by}`, usageRequests(secret, by)])),
  };
  for (const [what, kind] of Object.entries(kinds)) {
    const slice = { port: subject.port, kind, connections: 1, durationMs: 60_000, maxRequests: SAMPLES };
    await run.load.ask('run', slice);
    const { latencyMicros } = await run.load.ask('run', slice);
    times[what] = latencyMicros;
    lines.push(latencyLine(`${what}, ${name}: p50 and p99`, latencyMicros));
  }
  await subject.child.stop();
  return [{ name: 'usage', lines, figures: { entries: ledgerEntries, uses, traces, times } }];
}

const BY = ['day', 'model', 'key', 'client_trace_id'] as const;

/** Asks as a client would that does not wait, until the answer comes. */
async function catchUp({ port }: Subject, { targets: [target] }: RequestKind): Promise<Caught> {
  if (target === undefined) throw new Error('There is a target.');
  const beganAt = performance.now();
  let longestMs = 0;
  for (let requests = 1; requests <= MAX_REQUESTS; requests += 1) {
    const askedAt = performance.now();
    const answer = await fetch(`http://127.0.0.1:${port}${target.path}`, {
      headers: { authorization: `Bearer ${target.credential}` },
    });
    await answer.text();
    longestMs = Math.max(longestMs, performance.now() - askedAt);
    if (answer.status === 200) return { requests, elapsedMs: performance.now() - beganAt, longestMs };
    if (answer.status !== 503) throw new Error(`The server answered ${answer.status}.`);
  }
  throw new Error('The sums were not made in time.');
}

function caughtLine(what: string, { requests, elapsedMs, longestMs }: Caught): Line {
  const seconds = (elapsedMs / 1_000).toFixed(1);
  return { what, measured: `${seconds} s`, control: `${requests} requests, ${whole(longestMs)} ms the longest` };
}

function latencyLine(what: string, { p50, p99 }: { readonly p50: number; readonly p99: number }): Line {
  const ms = (micros: number) => `${(micros / 1_000).toFixed(1)} ms`;
  return { what, measured: ms(p50), control: ms(p99), aim: `< ${AIM_MS} ms`, isMet: p50 < AIM_MS * 1_000 };
}
