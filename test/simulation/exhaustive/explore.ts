import { Misused } from '../command-line.js';
import { Violation, violation } from '../observed.js';
import { checkAftermath } from './aftermath.js';
import type { Bounds, Case } from './cases.js';
import { Interned } from './small-process.js';
import { SmallRun } from './small-run.js';
import { checkState } from './state-checks.js';
import { digestOf, restDigestOf } from './state-digest.js';

export interface Findings {
  readonly setting: string;
  readonly states: number;
  /** Runs from the start: no state can be copied, so each choice except the first of a state repeats its run. */
  readonly runs: number;
  readonly steps: number;
  /** Different states from which everything was brought to rest. */
  readonly aftermaths: number;
  readonly deepest: number;
  /** Whether no run exceeded the depth bound: then the search within the other bounds is complete. */
  readonly isWhole: boolean;
  readonly violation?: { readonly message: string; readonly choices: readonly string[] };
}

/** A state on the path to the current one: its possible choices, and how many of these were tried. */
interface Junction {
  readonly choices: readonly string[];
  readonly observed: readonly number[];
  tried: number;
}

/** Depth-first search through every state of a case within the bounds; stops at the first violation. */
export async function explore(setting: Case, bounds: Bounds): Promise<Findings> {
  return new Exploration(setting, bounds).all();
}

/** Repeats one run, by the names of its choices, with every check; throws its violation. */
export async function replay(
  setting: Case,
  bounds: Bounds,
  choices: readonly string[],
  watch: (run: SmallRun, choice: string) => void,
): Promise<void> {
  const run = new SmallRun(setting, bounds, new Interned());
  await run.open();
  for (const name of choices) {
    watch(run, name);
    await takeNamed(run, name);
    checkState(await run.service.snapshot(), run.service.witness.told);
  }
  if (run.isQuiet) {
    checkUndisturbed(run);
    await checkAftermath(run);
  }
}

async function takeNamed(run: SmallRun, name: string): Promise<void> {
  const choices = run.choices();
  const choice = choices.find((one) => one.name === name);
  if (!choice)
    throw new Misused(`Here one cannot choose "${name}", only: ${choices.map((one) => one.name).join('; ')}.`);
  await run.take(choice);
}

/** Requires textbook answers if nothing failed and no time passed. */
function checkUndisturbed({ isUndisturbed, service: { witness }, setting, spent }: SmallRun): void {
  if (!isUndisturbed || spent.retries > 0) return;
  if (witness.told.size !== setting.accepted)
    throw violation`13: undisturbed, ${witness.told.size} keys were accepted, not ${setting.accepted}`;
  const odd = [...witness.refusals].filter((code) => !setting.refusals.some((allowed) => allowed === code));
  if (odd.length > 0) throw violation`11: undisturbed, a client was refused with ${odd.join()}`;
}

class Exploration {
  private readonly interned = new Interned();
  /** Digest of each visited state, with the fewest choices by which it was reached. */
  private readonly seen = new Map<string, number>();
  private readonly settledFrom = new Set<string>();
  private readonly way: Junction[] = [];
  private runs = 0;
  private steps = 0;
  private deepest = 0;
  private cuts = 0;

  constructor(
    private readonly setting: Case,
    private readonly bounds: Bounds,
  ) {}

  async all(): Promise<Findings> {
    try {
      for (let run = await this.again(); ;) {
        if (await this.isNewAt(run)) await this.branch(run);
        else {
          while (this.way.length > 0 && isExhausted(this.way.at(-1))) this.way.pop();
          const junction = this.way.at(-1);
          if (!junction) return this.findings();
          junction.tried += 1;
          run = await this.again();
        }
      }
    } catch (error) {
      const message =
        error instanceof Error
          ? error instanceof Violation
            ? error.message
            : (error.stack ?? error.message)
          : String(error);
      return { ...this.findings(), isWhole: false, violation: { message, choices: this.chosen() } };
    }
  }

  /** Continues from a new state with the first of its choices. */
  private async branch(run: SmallRun): Promise<void> {
    const choices = run.choices();
    const [first] = choices;
    if (!first) throw new Error('A state without choices has no branches.');
    this.way.push({
      choices: choices.map(({ name }) => name),
      observed: run.processes.map(({ observed }) => observed),
      tried: 1,
    });
    this.steps += 1;
    await run.take(first);
  }

  /** Whether this state is new and has a possible choice. */
  private async isNewAt(run: SmallRun): Promise<boolean> {
    const depth = this.way.length;
    this.deepest = Math.max(this.deepest, depth);
    const snapshot = await run.service.snapshot();
    const digest = digestOf(run, snapshot, this.bounds);
    const before = this.seen.get(digest);
    // A state that was cut short must be visited again if it can be reached sooner. Without cuts everything after it
    // was visited.
    if (before !== undefined && (before <= depth || this.cuts === 0)) return false;
    this.seen.set(digest, depth);
    checkState(snapshot, run.service.witness.told);
    if (run.isQuiet) await this.comeToRest(run, restDigestOf(run, snapshot));
    if (run.choices().length === 0) return false;
    if (depth < this.bounds.depth) return true;
    this.cuts += 1;
    return false;
  }

  /**
   * Faults may stop here. Stopping them ends a run, so another run does it. Its end depends only on the stored data,
   * because all processes are gone by then.
   */
  private async comeToRest(run: SmallRun, digest: string): Promise<void> {
    checkUndisturbed(run);
    if (this.settledFrom.has(digest)) return;
    this.settledFrom.add(digest);
    await checkAftermath(await this.again());
  }

  /** A run that repeats the current path from its start. */
  private async again(): Promise<SmallRun> {
    this.runs += 1;
    const run = new SmallRun(this.setting, this.bounds, this.interned);
    await run.open();
    const last = this.way.at(-1);
    run.isObserving = false;
    for (const junction of this.way) {
      if (junction === last) {
        run.processes.forEach((process, index) => {
          process.observed = junction.observed[index] ?? 0;
        });
        run.isObserving = true;
      }
      await takeNamed(run, junction.choices[junction.tried - 1] ?? '');
      this.steps += 1;
    }
    run.isObserving = true;
    return run;
  }

  private chosen(): string[] {
    return this.way.map(({ choices, tried }) => choices[tried - 1] ?? '');
  }

  private findings(): Findings {
    const { runs, steps, deepest } = this;
    return {
      setting: this.setting.name,
      states: this.seen.size,
      runs,
      steps,
      aftermaths: this.settledFrom.size,
      deepest,
      isWhole: this.cuts === 0,
    };
  }
}

function isExhausted(junction: Junction | undefined): boolean {
  return junction !== undefined && junction.tried >= junction.choices.length;
}

/** One line about the search, and how to reproduce a violation. */
export function reportOf(findings: Findings, bounds: Bounds): string {
  const { setting, states, runs, steps, aftermaths, deepest, isWhole, violation: broken } = findings;
  const extent = isWhole ? 'all there is within the bounds' : `cut at ${bounds.depth} choices`;
  const line = `${setting}: ${states} states, ${runs} runs, ${steps} steps, ${aftermaths} ends, deepest ${deepest}; ${broken ? 'stopped at a violation' : extent}`;
  if (!broken) return line;
  const { depth, ...budgets } = bounds;
  const options = Object.entries({ depth, ...budgets })
    .map(([name, value]) => `--${name} ${value}`)
    .join(' ');
  return [
    line,
    broken.message,
    ...broken.choices.map((choice, index) => `  ${index + 1}. ${choice}`),
    `Replay with: node dist/test/simulation/exhaustive/main.js --case "${setting}" ${options} --replay "${broken.choices.join('; ')}"`,
  ].join('\n');
}
