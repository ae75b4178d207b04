import { parseArgs } from 'node:util';
import { DEFAULT_BOUNDS, type Bounds } from './bounds.js';
import { CASES, type Case } from './cases.js';
import { explore, replay } from './explore.js';
import { reportOf } from './report.js';

const USAGE = `Usage: node dist/test/simulation/exhaustive/main.js [--case NAME] [--depth N] [--crashes N] [--lost N] [--leaps N] [--retries N]
       [--recoveries N] [--replay "CHOICE; CHOICE; …"]
Cases: ${CASES.map(({ name }) => name).join(', ')}.`;

const NUMBERS = Object.keys(DEFAULT_BOUNDS) as (keyof Bounds)[];
const NUMBER_OPTIONS = Object.fromEntries(NUMBERS.map((name) => [name, { type: 'string' as const }]));

interface Asked { readonly bounds: Bounds; readonly cases: readonly Case[]; readonly choices: readonly string[] | undefined }

function read(args: readonly string[]): Asked {
  const { values } = parseArgs({ args: [...args], options: { ...NUMBER_OPTIONS, case: { type: 'string' }, replay: { type: 'string' } } });
  const given: Partial<Record<string, unknown>> = values;
  const bounds = Object.fromEntries(NUMBERS.map((name) => [name, numberOf(name, given[name])])) as unknown as Bounds;
  const cases = values.case === undefined ? CASES : CASES.filter(({ name }) => name === values.case);
  if (cases.length === 0) throw new Error(`There is no case "${values.case}".`);
  if (values.replay !== undefined && cases.length !== 1) throw new Error('A replay needs its case: give --case, too.');
  return { bounds, cases, choices: values.replay?.split(';').map((choice) => choice.trim()).filter((choice) => choice !== '') };
}

function numberOf(name: keyof Bounds, text: unknown): number {
  if (text === undefined) return DEFAULT_BOUNDS[name];
  if (typeof text !== 'string' || !/^[0-9]{1,6}$/.test(text)) throw new Error(`--${name} must be a whole number from 0 to 999999.`);
  return Number(text);
}

async function main({ bounds, cases, choices }: Asked): Promise<boolean> {
  for (const setting of cases) {
    if (choices) {
      console.log(`${setting.name}:`);
      await replay(setting, bounds, choices, (run, choice) => console.log(`  ${new Date(run.world.time.now).toISOString()}  ${choice}`));
      console.log('Nothing was violated.');
      continue;
    }
    const began = process.cpuUsage();
    const findings = await explore(setting, bounds);
    const { user, system } = process.cpuUsage(began);
    console.log(`${reportOf(findings, bounds)}; ${((user + system) / 1e6).toFixed(1)} s`);
    if (findings.violation) return false;
  }
  return true;
}

try {
  const asked = read(process.argv.slice(2));
  try {
    if (!await main(asked)) process.exitCode = 1;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  console.error(USAGE);
  process.exitCode = 1;
}
