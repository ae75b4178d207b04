import { VECTORS_BY_TOPIC } from './all.js';
import { type FrontName, FRONTS } from './fronts.js';
import { HTTP_VECTORS } from './http-only.js';
import { type Difference, DIFFERENCES, LEFT_OUT, type Reason, REASONS } from './left-out.js';
import type { Vector } from './vector.js';

/** One vector on one set of adapters over one front: played to its end, or left out with a reason. */
export interface Noted {
  readonly lane: string;
  readonly front: FrontName;
  readonly topic: string;
  readonly reason: Reason | undefined;
}

const noted: Noted[] = [];

export function noteDown(vector: Noted): void {
  noted.push(vector);
}

/** All vectors noted in this process. */
export function tally(): readonly Noted[] {
  return noted;
}

const NAME_WIDTH = 44;
const NUMBER_WIDTH = 10;

/**
 * A table of the vectors that were played, by topic, set of adapters and front, with every reason why one was left out
 * or answered differently.
 */
export function report(): string {
  const lanes = [...new Set(tally().map(({ lane }) => lane))];
  return [...lanes.map(tableOf), reasons(), ''].join('\n');
}

function tableOf(lane: string): string {
  const rows = Object.entries(VECTORS_BY_TOPIC).map(([topic, vectors]) =>
    row(
      topic,
      FRONTS.map((front) => played(lane, front, topic, vectors.length)),
    ),
  );
  const leftOut = FRONTS.map((front) =>
    String(tally().filter((one) => one.lane === lane && one.front === front && one.reason !== undefined).length),
  );
  return [row(lane, FRONTS), ...rows, row('left out', leftOut), ''].join('\n');
}

/** So many, or so many of those that should have been. */
function played(lane: string, front: FrontName, topic: string, all: number): string {
  const tallied = tally().filter((one) => one.lane === lane && one.front === front && one.topic === topic);
  const count = tallied.filter(({ reason }) => reason === undefined).length;
  return tallied.length === all ? String(count) : `${count} of ${all - (tallied.length - count)}`;
}

function row(name: string, numbers: readonly string[]): string {
  return name.padEnd(NAME_WIDTH) + numbers.map((number) => number.padStart(NUMBER_WIDTH)).join('');
}

function reasons(): string {
  const lines = FRONTS.flatMap((front) => [
    ...(Object.keys(REASONS) as Reason[]).flatMap((reason) =>
      line(front, 'left out', LEFT_OUT[front][reason]?.length ?? 0, REASONS[reason]),
    ),
    ...(Object.keys(DIFFERENCES) as Difference[]).flatMap((difference) =>
      line(front, 'answered otherwise', different(front, difference), DIFFERENCES[difference]),
    ),
  ]);
  const http = Object.values(HTTP_VECTORS).flat().length;
  return [
    ...lines,
    ...line(
      'REST',
      'alone',
      http,
      'They are about the bytes of HTTP, in test/fronts/http/host/http-vectors.test.ts, and not played here.',
    ),
  ].join('\n');
}

function different(front: FrontName, difference: Difference): number {
  const isSo = ({ steps }: Vector) =>
    steps.some(
      (step) => 'operation' in step && step.otherwise?.over === front && step.otherwise.because === difference,
    );
  return Object.values(VECTORS_BY_TOPIC).flat().filter(isSo).length;
}

function line(front: FrontName, what: string, count: number, because: string): string[] {
  return count === 0 ? [] : [`${count} ${what} over ${front}: ${because}`];
}
