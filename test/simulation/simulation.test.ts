// Goal: every invariant holds for any seed; a run is determined by its seed alone; and violations are found. Method:
// the simulation as `npm run test:simulation` and `npm run test:mutants` start it, in separate processes. Their output
// is printed here too, a violation with the seed that replays it.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { sizeOf } from '../harness/run-sizes.js';
import { MUTANT_VARIABLE } from './mutants/switch.js';
import { SimulatedRun } from './simulated-run.js';

const HERE = (file: string) => fileURLToPath(new URL(file, import.meta.url));
const MUTANT_HOOK = new URL('./mutants/with-mutant.js', import.meta.url).href;

interface Ended {
  readonly code: number | null;
  readonly said: string;
}

function run(
  args: readonly string[],
  { env = {}, isShown = false }: { readonly env?: Record<string, string>; readonly isShown?: boolean } = {},
): Promise<Ended> {
  const child = spawn(process.execPath, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      if (isShown) process.stdout.write(text);
    });
  }
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, said }));
  });
}

async function timelineOf(seed: number): Promise<string> {
  const hash = createHash('sha256');
  await new SimulatedRun(seed, (line) => hash.update(line)).play();
  return hash.digest('hex');
}

describe('the simulation', function simulation() {
  this.timeout(0);

  const seeds = sizeOf('simulationSeeds');
  it(`finds nothing wrong in ${seeds.toLocaleString('en-US')} seeds`, async () => {
    const { code, said } = await run(
      ['--enable-source-maps', HERE('main.js'), '--seeds', String(seeds), '--from', '1'],
      { isShown: true },
    );
    expect(said).to.match(new RegExp(`^${seeds} seeds, [0-9]+ steps, 0 with a violation$`, 'm'));
    expect(code).to.equal(0);
  });

  it('plays a seed the same way every time, and every seed differently', async () => {
    const played = [1, 2, 3];
    const once: string[] = [];
    for (const seed of played) once.push(await timelineOf(seed));
    for (const seed of played.toReversed()) expect(await timelineOf(seed), `seed ${seed}`).to.equal(once[seed - 1]);
    expect(new Set(once).size).to.equal(played.length);
  });

  it('names the seed of a violation, and that seed shows it again', async () => {
    const wrong = { env: { [MUTANT_VARIABLE]: 'hold-after-insert' } };
    const { code, said } = await run(['--import', MUTANT_HOOK, HERE('main.js'), '--seeds', '3'], wrong);
    expect(code, said.slice(-500)).to.equal(1);
    const [, seed = '', what = ''] = /^Seed (\d+): (Invariant \d+: .*)$/m.exec(said) ?? [];
    const replayed = await run(['--import', MUTANT_HOOK, HERE('main.js'), '--seed', seed], wrong);
    expect(replayed.code).to.equal(1);
    expect(replayed.said)
      .to.include(`Seed ${seed}: ${what}`)
      .and.to.match(/generations\.insert/);
  });

  it('refuses unknown arguments with one sentence', async () => {
    for (const [args, sentence] of [
      [['--seeds', '0'], /^--seeds must be a whole number/],
      [['--seed', 'x'], /^--seed must be a whole number/],
      [['--hours', '-1'], /hours/],
      [['--hours', '5000'], /^--hours must be a number above 0, at most 1000/],
      [['--sed', '1'], /Unknown option '--sed'/],
    ] as const) {
      const { code, said } = await run([HERE('main.js'), ...args]);
      expect([code, said.trim().split('\n').length], said).to.deep.equal([2, 1]);
      expect(said).to.match(sentence);
    }
  });
});

describe('mutants of core', function mutants() {
  this.timeout(0);

  it('are found at their recorded seeds', async () => {
    const sample = sizeOf('playedMutants');
    const { code, said } = await run(
      [HERE('mutants/main.js'), '--sample', String(sample), '--passed', String(sizeOf('simulationSeeds'))],
      { isShown: true },
    );
    expect(said).to.include(`\n${sample} of ${sample} mutants found\n`);
    expect(code).to.equal(0);
  });
});
