/**
 * Goal: no server and no data outlives the process that started it, however that ended; data that is to be kept is
 * kept. Method: processes start servers, one of them paused, and end in every way there is; the process table and the
 * folder are looked at until both are clean.
 */
import { expect } from 'chai';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findProgram } from './find-program.js';
import { isGone } from './process-tree.js';
import { PROGRAMS } from './programs.js';
import { ScriptProcess } from './script-process.js';
import { orSkip, ServerAbsent } from './servers.js';
import { sizeOf } from '../harness/run-sizes.js';

const STARTED = /started (\{.*\})\n/;

/** Starts two servers, pauses one, says where they are, then does what `end` says. */
function starting(end: string, options = '{}'): ScriptProcess {
  return ScriptProcess.ofLines(`
    const { ServerProcess } = await import(here + 'server-process.js');
    const [one, other] = [await ServerProcess.start('toxiproxy', ${options}), await ServerProcess.start('versitygw')];
    await other.pause();
    const { supervision } = await import(here + 'supervision.js');
    const supervisor = (await supervision()).pid;
    console.log('started ' + JSON.stringify({ pids: [one.pid, other.pid], supervisor, folder: (await supervision()).freshFolder() }));
    ${end}`);
}

interface Start {
  readonly pids: readonly number[];
  readonly supervisor: number;
  readonly folder: string;
}

async function startOf(script: ScriptProcess): Promise<Start> {
  return JSON.parse((await script.until(STARTED))[1] ?? '') as Start;
}

describe('the end of a process with servers', () => {
  before(async function () {
    const isHere = findProgram(PROGRAMS.toxiproxy) && findProgram(PROGRAMS.versitygw);
    await orSkip(
      this,
      isHere
        ? Promise.resolve()
        : Promise.reject(
            new ServerAbsent('toxiproxy or versitygw is not on this machine: run `npm run servers:install`.'),
          ),
    );
  });

  const WAITS = 'setInterval(() => undefined, 1000);';
  const ends: readonly [string, string, NodeJS.Signals | null][] = [
    ['by SIGKILL', WAITS, 'SIGKILL'],
    ['with nothing left to do', '', null],
    ['by process.exit', 'process.exit(3);', null],
    ['by an error nobody caught', `setImmediate(() => { throw new Error('on purpose'); });`, null],
    ['by SIGINT', WAITS, 'SIGINT'],
    ['by SIGTERM', WAITS, 'SIGTERM'],
  ];
  for (const [name, end, signal] of ends.slice(0, sizeOf('processEnds'))) {
    it(`${name} is the end of its servers and their data`, async () => {
      const script = starting(end);
      const { pids, folder, supervisor } = await startOf(script);
      if (signal) script.child.kill(signal);
      await script.ended;
      await untilGone([...pids, supervisor]);
      expect(existsSync(folder)).to.equal(false);
    });
  }

  it('ends them also when the supervisor itself was killed', async () => {
    const script = starting(WAITS);
    const { pids, folder, supervisor } = await startOf(script);
    process.kill(supervisor, 'SIGKILL');
    await untilGone(pids);
    script.child.kill('SIGKILL');
    await script.ended;
    // Neither process is left to remove the folder.
    rmSync(join(folder, '..'), { recursive: true, force: true });
  });

  it('leaves data alone that was given a folder to stay in', async () => {
    const kept = mkdtempSync(join(tmpdir(), 'darkroom-kept-'));
    const script = starting(WAITS, JSON.stringify({ folder: kept }));
    const { pids } = await startOf(script);
    script.child.kill('SIGKILL');
    await script.ended;
    await untilGone(pids);
    expect(readFileSync(join(kept, 'log'), 'utf8')).to.be.a('string');
    rmSync(kept, { recursive: true });
  });
});

async function untilGone(pids: readonly number[]): Promise<void> {
  while (!pids.every(isGone)) await sleep(25);
}
