import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parse } from 'node:path';
import { fileURLToPath } from 'node:url';
import PQueue from 'p-queue';
import { sizeOf } from '../../harness/run-sizes.js';
import { Misused, readOptions, runProgram, wholeNumber } from '../command-line.js';
import { findMutant, seedsOf, type Seeds, type Verdict } from './find-mutant.js';
import { MUTANTS } from './list/all.js';
import { MUTANT_LINE, type Mutant } from './mutant.js';
import { MutantThread, type Outcome } from './play-mutant.js';
import { CONTROL } from './switch.js';

const DEFAULT_SEEDS = 2000;

const USAGE = `Breaks core in one place at a time, and plays seeds until the simulation finds it.

Each mutant is played at its recorded seed first, and searched for when it is not found there.

  --search        searches for every mutant from the first seed, whatever is recorded
  --record        writes down the seed at which each mutant was found
  --seeds N       how many seeds a search may take (${DEFAULT_SEEDS})
  --from N        the first of them (1)
  --passed N      the first N seeds have just passed with core as it is, and are not played again without a mutant
  --only MUTANT   this one alone; may be given more than once
  --sample N      N mutants at their recorded seeds, spread evenly over the list
`;

const OPTIONS = {
  search: { type: 'boolean' },
  record: { type: 'boolean' },
  seeds: { type: 'string' },
  from: { type: 'string' },
  passed: { type: 'string' },
  only: { type: 'string', multiple: true },
  sample: { type: 'string' },
} as const;

interface Judged {
  readonly mutant: Mutant;
  readonly verdict: Verdict;
}

/** Each mutant keeps a copy of our modules in the memory of its thread. */
const MUTANTS_PER_THREAD = 24;

/** Plays on one thread per processor. */
class Pool {
  private readonly queue = new PQueue({ concurrency: availableParallelism() });
  private readonly idle: MutantThread[] = [];
  private readonly controlled = new Set<number>();

  constructor(passed: readonly number[]) {
    for (const seed of passed) this.controlled.add(seed);
  }

  /**
   * Unmodified core must pass at every seed that counts, or the seeds that find mutants prove nothing. Returns the
   * failures.
   */
  async control(seeds: readonly number[]): Promise<readonly Outcome[]> {
    const isNew = (seed: number) => !this.controlled.has(seed);
    const left = [...new Set(seeds)].filter(isNew).sort((a, b) => a - b);
    for (const seed of left) this.controlled.add(seed);
    const size = Math.ceil(left.length / availableParallelism());
    const parts = Array.from({ length: size === 0 ? 0 : Math.ceil(left.length / size) }, (_, index) =>
      left.slice(index * size, (index + 1) * size),
    );
    const outcomes = await Promise.all(parts.map((part) => this.queue.add(() => this.play(CONTROL, part))));
    return outcomes.filter(({ kind }) => kind !== 'survived');
  }

  find(mutant: Mutant, seeds: Seeds, recorded: number | undefined): Promise<Verdict> {
    return this.queue.add(() => findMutant((list) => this.play(mutant.name, list), { ...seeds, recorded }));
  }

  /** Side effects of an earlier mutant on a thread must not count for the next one: a new thread decides. */
  private async play(mutant: string, seeds: readonly number[]): Promise<Outcome> {
    const used = this.idle.pop();
    const outcome = used && (await this.playOn(used, mutant, seeds));
    return outcome && isVerdict(outcome) ? outcome : this.playOn(new MutantThread(), mutant, seeds);
  }

  private async playOn(thread: MutantThread, mutant: string, seeds: readonly number[]): Promise<Outcome> {
    const outcome = await thread.play(mutant, seeds);
    if (isVerdict(outcome) && thread.isUsable && thread.played < MUTANTS_PER_THREAD) this.idle.push(thread);
    else await thread.close();
    return outcome;
  }
}

function isVerdict({ kind }: Outcome): boolean {
  return kind === 'found' || kind === 'survived';
}

async function main(): Promise<number> {
  const values = readOptions(OPTIONS);
  const seeds = {
    seeds: wholeNumber('seeds', values.seeds) ?? DEFAULT_SEEDS,
    from: wholeNumber('from', values.from) ?? 1,
  };
  const sample = wholeNumber('sample', values.sample);
  const chosen = spread(choose(values.only), sample);
  const isSearch = values.search ?? (sample === undefined && sizeOf('mutantSearches') > 0);
  const recordedOf = ({ seed }: Mutant) => (isSearch ? undefined : seed);
  const passed = wholeNumber('passed', values.passed) ?? 0;
  const pool = new Pool(seedsOf({ seeds: passed, from: 1 }));
  const controlSeeds = isSearch ? seedsOf(seeds) : chosen.flatMap((mutant) => recordedOf(mutant) ?? seeds.from);
  if (!isSound(await pool.control(controlSeeds))) return 1;
  console.log(`Core as it is passes at ${new Set(controlSeeds).size} seeds.\n\n${heading()}`);

  // Each line is written as soon as those before it are, so that the table has the same order every time.
  const verdicts = chosen.map((mutant) => pool.find(mutant, seeds, recordedOf(mutant)));
  const judged: Judged[] = [];
  for (const [index, mutant] of chosen.entries()) {
    const verdict = await (verdicts[index] as Promise<Verdict>);
    judged.push({ mutant, verdict });
    console.log(line(mutant, verdict));
  }
  const found = new Map(
    judged.flatMap(({ mutant, verdict: { outcome } }) =>
      outcome.kind === 'found' ? [[mutant.name, outcome.found.seed] as const] : [],
    ),
  );
  if (!isSound(await pool.control([...found.values()]))) return 1;
  console.log(`${found.size} of ${chosen.length} mutants found`);
  if (values.record) record(found);
  else warnOfStale(judged, isSearch);
  return found.size === chosen.length ? 0 : 1;
}

function isSound(failed: readonly Outcome[]): boolean {
  const [first] = failed;
  if (first)
    console.log(`Without any mutant the simulation finds something too; look at that first: ${JSON.stringify(first)}`);
  return first === undefined;
}

function warnOfStale(judged: readonly Judged[], isSearch: boolean): void {
  const stale = judged.flatMap(({ mutant: { name, seed }, verdict }) =>
    verdict.isStale || (!isSearch && seed === undefined) ? [name] : [],
  );
  if (stale.length === 0) return;
  console.log(
    `Not found at a recorded seed, so that they were searched for: ${stale.join(', ')}. Record where they are found: npm run test:mutants -- --record`,
  );
}

function choose(names: readonly string[] | undefined): readonly Mutant[] {
  const unknown = names?.find((name) => !MUTANTS.some((mutant) => mutant.name === name));
  if (unknown !== undefined) throw new Misused(`There is no mutant ${unknown}.`);
  return MUTANTS.filter(({ name }) => names?.includes(name) ?? true);
}

/** This many of them, at equal distances. */
function spread<T>(all: readonly T[], count = all.length): readonly T[] {
  return all.filter(
    (_, index) => Math.floor((index * count) / all.length) !== Math.floor(((index - 1) * count) / all.length),
  );
}

/** The tables and their compiled files, so that the record counts without another build. */
const TABLES = new URL('../../../../test/simulation/mutants/list/', import.meta.url);
const COMPILED = new URL('./list/', import.meta.url);

/** Writes down the seed at which each mutant was found. */
function record(found: ReadonlyMap<string, number>): void {
  const names = readdirSync(TABLES).map((file) => parse(file).name);
  for (const name of names.filter((one) => one !== 'all'))
    for (const file of [new URL(`${name}.ts`, TABLES), new URL(`${name}.js`, COMPILED)]) {
      const table = readFileSync(file, 'utf8').replaceAll(MUTANT_LINE, (first: string, mutant: string) => {
        const seed = found.get(mutant);
        return seed === undefined ? first : first.replace(/(?:, seed \d+)?$/u, `, seed ${seed}`);
      });
      writeFileSync(file, table);
    }
  console.log(`Recorded in ${fileURLToPath(TABLES)}`);
}

const WIDTHS = [45, 10, 10, 6, 6] as const;
const MAX_SHOWN = 100;

function heading(): string {
  return row('mutant', 'breaks', 'caught by', 'seed', 'played', 'violation');
}

/** One line of the table: the seed at which a mutant was found, and how many were played for it. */
function line({ name, breaks }: Mutant, { outcome, seedsPlayed }: Verdict): string {
  const expected = breaks.join(', ');
  switch (outcome.kind) {
    case 'found': {
      const { invariant, seed, message } = outcome.found;
      return row(name, expected, String(invariant), String(seed), String(seedsPlayed), short(message));
    }
    case 'survived':
      return row(name, expected, '-', '-', String(seedsPlayed), 'nothing found');
    case 'hangs':
      return row(name, expected, 'hangs', '-', '-', 'no verdict in the time a seed may take');
    case 'error':
      return row(name, expected, 'error', '-', '-', short(outcome.message));
  }
}

function row(...cells: readonly string[]): string {
  return cells
    .map((cell, index) => cell.padEnd(WIDTHS[index] ?? 0))
    .join(' ')
    .trimEnd();
}

function short(message: string): string {
  const first = (message.split('\n')[0] ?? '').replace(/^Invariant \d+: /u, '');
  return first.length > MAX_SHOWN ? `${first.slice(0, MAX_SHOWN)}…` : first;
}

await runProgram(USAGE, main);
