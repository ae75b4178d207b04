import { Misused, readOptions, runProgram, wholeNumber } from '../command-line.js';
import { Violation } from '../observed.js';
import { type Bounds, type Case, CASES, DEFAULT_BOUNDS } from './cases.js';
import { explore, replay, reportOf } from './explore.js';

const USAGE = `Visits every state of a small service that can be reached within bounds, and checks each.

  --case NAME         one case alone: ${CASES.map(({ name }) => name).join(', ')}
  --depth N           the most choices in a row (${DEFAULT_BOUNDS.depth})
  --crashes N         processes that die (${DEFAULT_BOUNDS.crashes})
  --lost N            calls whose answer is lost (${DEFAULT_BOUNDS.lost})
  --leaps N           times that every lease lapses (${DEFAULT_BOUNDS.leaps})
  --retries N         requests that are sent again (${DEFAULT_BOUNDS.retries})
  --recoveries N      passes of recovery (${DEFAULT_BOUNDS.recoveries})
  --wakes N           wake-ups that are delivered (${DEFAULT_BOUNDS.wakes})
  --replay "A; B"     plays these choices of one case, and tells
`;

const NUMBERS = Object.keys(DEFAULT_BOUNDS) as (keyof Bounds)[];
const NUMBER_OPTIONS = Object.fromEntries(NUMBERS.map((name) => [name, { type: 'string' as const }]));

interface Asked {
  readonly bounds: Bounds;
  readonly cases: readonly Case[];
  readonly choices: readonly string[] | undefined;
}

function read(): Asked {
  const values = readOptions({ ...NUMBER_OPTIONS, case: { type: 'string' }, replay: { type: 'string' } });
  const given: Partial<Record<string, unknown>> = values;
  const bounds = Object.fromEntries(NUMBERS.map((name) => [name, numberOf(name, given[name])])) as unknown as Bounds;
  const cases = values.case === undefined ? CASES : CASES.filter(({ name }) => name === values.case);
  if (cases.length === 0) throw new Misused(`There is no case "${values.case}".`);
  if (values.replay !== undefined && cases.length !== 1)
    throw new Misused('A replay needs its case: give --case, too.');
  return {
    bounds,
    cases,
    choices: values.replay
      ?.split(';')
      .map((choice) => choice.trim())
      .filter((choice) => choice !== ''),
  };
}

function numberOf(name: keyof Bounds, text: unknown): number {
  return wholeNumber(name, typeof text === 'string' ? text : undefined, 0) ?? DEFAULT_BOUNDS[name];
}

/** Plays one run and prints it; returns whether nothing was violated. */
async function tell(setting: Case, bounds: Bounds, choices: readonly string[]): Promise<boolean> {
  try {
    await replay(setting, bounds, choices, (run, choice) =>
      console.log(`  ${new Date(run.service.time.now).toISOString()}  ${choice}`),
    );
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    console.log(error.message);
    return false;
  }
  console.log('Nothing was violated.');
  return true;
}

async function main(): Promise<number> {
  const { bounds, cases, choices } = read();
  for (const setting of cases) {
    if (choices) {
      console.log(`${setting.name}:`);
      if (!(await tell(setting, bounds, choices))) return 1;
      continue;
    }
    const began = process.cpuUsage();
    const findings = await explore(setting, bounds);
    const { user, system } = process.cpuUsage(began);
    console.log(`${reportOf(findings, bounds)}; ${((user + system) / 1e6).toFixed(1)} s`);
    if (findings.violation) return 1;
  }
  return 0;
}

await runProgram(USAGE, main);
