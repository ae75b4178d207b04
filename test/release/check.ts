import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../docs/pages.js';
import { bufProgram } from '../servers/buf/buf.js';
import { breaksSince, type Interfaces, readBaseline, unmentioned } from './baseline.js';
import { breakingOf, sectionOf, sectionsOf } from './changelog.js';
import { type Contents, makeContents, writeChecksums } from './contents.js';
import { commandsOf, NODE_RELEASES } from './node-releases.js';
import { emptyHome, type Place, run } from './run.js';
import { inEmptyFolder, tryChart, tryPython, tryServer, tryTypescript } from './trials.js';

/** The most that a checkout may take with packages and build but without history, by `du -sm`. */
const MOST_CHECKOUT_MIB = 450;
/** Tests of the embedded stores, whose packages contain binaries. */
const QUICK_TESTS = ['dist/test/adapters/sqlite/open-sqlite.test.js', 'dist/test/adapters/files/*.test.js'];

export interface CheckOptions {
  /** The folder for the files of the release; its content is replaced. */
  readonly into: string;
  /** Whether what cannot be made or tried on this machine is an error. */
  readonly isComplete: boolean;
}

/** Builds a release and tries it. Prints a line for each step; throws a sentence at the first one that fails. */
export async function checkRelease({ into, isComplete }: CheckOptions): Promise<void> {
  const left: string[] = [];
  const missing = (reason: string): void => {
    if (isComplete) throw new Error(`The release is not complete without ${reason}`);
    left.push(reason);
  };
  rmSync(into, { recursive: true, force: true });
  mkdirSync(into, { recursive: true });
  const [oldest, middle, newest] = NODE_RELEASES;
  if (!oldest || !middle || !newest) throw new Error('Three Node releases have to be named.');
  await step('Node releases', async () => void (await Promise.all(NODE_RELEASES.map(commandsOf))));
  await inEmptyFolder(async (source) => {
    const place = { folder: source, environment: { ...process.env, ...onNode(await commandsOf(newest)) } };
    await step(`a clean checkout, built on Node ${newest.node}`, () => buildCheckout(place));
    for (const release of [middle, newest])
      await step(`quick tests on Node ${release.node}`, async () => {
        const environment = { ...process.env, ...onNode(await commandsOf(release)) };
        await run('node', ['node_modules/mocha/bin/mocha.js', '--reporter', 'dot', ...QUICK_TESTS], {
          ...place,
          environment,
        });
      });
    const contents = await step('the files of the release', () => makeContents(place, into, missing));
    await step('public interfaces', () => compareInterfaces(source, into, contents));
    await allSteps([
      step(`server on Node ${oldest.node}, with both clients`, async () =>
        tryServer(contents, {
          release: oldest,
          isGlobal: false,
          use: async (server) => {
            await tryTypescript(contents, server, await commandsOf(oldest));
            await tryPython(contents, server);
          },
        }),
      ),
      step(`server on Node ${middle.node}`, () => tryServer(contents, { release: middle, isGlobal: false })),
      step(`server on Node ${newest.node}, as a command`, () =>
        tryServer(contents, { release: newest, isGlobal: true }),
      ),
    ]);
    await step('chart', () => tryChart(contents, missing));
  });
  for (const name of writeChecksums(into)) console.log(`  ${name}`);
  for (const reason of left) console.log(`release: left out ${reason}`);
  console.log(`release: everything is in ${into}`);
}

async function step<T>(title: string, act: () => Promise<T>): Promise<T> {
  const began = Date.now();
  const result = await act();
  const detail = typeof result === 'string' ? ` (${result})` : '';
  console.log(`release: ${title}${detail}: ${((Date.now() - began) / 1_000).toFixed(0)} s`);
  return result;
}

/** Waits for steps that run at the same time. Throws the error of the first that failed, after all have ended. */
async function allSteps(steps: readonly Promise<unknown>[]): Promise<void> {
  const outcomes = await Promise.allSettled(steps);
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed) throw failed.reason;
}

function onNode(commands: readonly string[]): NodeJS.ProcessEnv {
  return { PATH: emptyHome('', commands)['PATH'] };
}

/** Copies the project's files, without what git ignores, and installs and builds them as `npm ci` does. */
async function buildCheckout(place: Place): Promise<string> {
  const list = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: ROOT });
  // Files that were deleted and not yet committed are still in the list.
  const archive = execFileSync('tar', ['--null', '--files-from=-', '--ignore-failed-read', '-cf', '-'], {
    cwd: ROOT,
    input: list,
    maxBuffer: 1024 ** 3,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  execFileSync('tar', ['-xf', '-', '-C', place.folder], { input: archive });
  await run('npm', ['ci'], place);
  await run('node', ['deploy/check-packages.mjs', '--import'], place);
  const mib = Number((await run('du', ['-sm', '.'], place)).split('\t')[0]);
  if (mib > MOST_CHECKOUT_MIB)
    throw new Error(`A built checkout takes ${mib} MiB, and at most ${MOST_CHECKOUT_MIB} are allowed.`);
  return `${mib} MiB`;
}

/** Compares the interfaces of the build with the last release's. Throws one sentence for each break that is not announced. */
async function compareInterfaces(source: string, into: string, { version }: Contents): Promise<string> {
  const after = JSON.parse(readFileSync(join(into, 'interfaces.json'), 'utf8')) as Interfaces;
  const baseline = readBaseline(source);
  const found = breaksSince(baseline, after, await bufProgram(), source);
  const changelog = readFileSync(join(source, 'CHANGELOG.md'), 'utf8');
  // A version that was cut has its own section, and compares with itself: its breaks were checked before.
  const isCut = sectionsOf(changelog).some(({ title }) => title === version) && baseline.version === version;
  const sentences = unmentioned(found, breakingOf(sectionOf(changelog, 'Unreleased')));
  if (sentences.length > 0) throw new Error(sentences.join('\n'));
  return `${found.length} breaks since ${baseline.version}${isCut ? ', which this is' : ', all in the changelog'}`;
}
