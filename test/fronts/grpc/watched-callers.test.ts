// Goal: a service that is removed from the callers file is refused without a restart, and a mistake in the file locks
// out no service that may call.
// Method: the file is rewritten, broken, removed and restored under a running watch, which is polled until its answer
// changes.
import { expect } from 'chai';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Logger, pino } from 'pino';
import { CallersInvalid, digestOf, WatchedCallers } from '../../../apps/grpc/callers.js';

const INTERVAL_MS = 5;
const listing = (...tokens: readonly string[]): string =>
  JSON.stringify({
    callers: tokens.map((token) => ({ name: token, token_sha256: digestOf(token), scopes: ['credits:read'] })),
  });

describe('a file of callers that is watched', () => {
  let folder: string;
  let path: string;
  let callers: WatchedCallers | undefined;
  let warnings: string[];
  let logger: Logger;
  const known = (token: string): boolean => callers?.find({ token, certificateNames: [] }) !== undefined;
  const until = async (holds: () => boolean): Promise<void> => {
    while (!holds()) await sleep(5);
  };

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-callers-'));
    path = join(folder, 'callers.yaml');
    warnings = [];
    logger = pino(
      { level: 'warn' },
      {
        write: (line: string) => {
          warnings.push(line);
        },
      },
    );
  });
  afterEach(() => {
    callers?.close();
    rmSync(folder, { recursive: true });
  });

  /**
   * A second watch of the same interval, begun after the first, has seen two changes: the first has polled meanwhile.
   */
  async function untilLookedAtAgain(): Promise<void> {
    const other = join(folder, 'other.yaml');
    writeFileSync(other, listing('first'));
    const control = new WatchedCallers(other, pino({ level: 'silent' }), INTERVAL_MS);
    for (const token of ['second', 'third']) {
      writeFileSync(other, listing(token, token.repeat(2)));
      await until(() => control.find({ token, certificateNames: [] }) !== undefined);
    }
    control.close();
  }

  it('takes effect as it is now, whether it is overwritten or replaced', async () => {
    writeFileSync(path, listing('one', 'two'));
    callers = new WatchedCallers(path, logger, INTERVAL_MS);
    expect([known('one'), known('two')]).to.deep.equal([true, true]);
    writeFileSync(path, listing('two'));
    await until(() => !known('one'));
    writeFileSync(`${path}.new`, listing('three'));
    renameSync(`${path}.new`, path);
    await until(() => known('three'));
    expect([known('two'), warnings]).to.deep.equal([false, []]);
  });

  it('is read again immediately on request', () => {
    writeFileSync(path, listing('one'));
    callers = new WatchedCallers(path, logger, 3_600_000);
    writeFileSync(path, listing('two'));
    callers.readAgain();
    expect([known('one'), known('two')]).to.deep.equal([false, true]);
    writeFileSync(path, 'callers: [');
    callers.readAgain();
    expect([known('two'), warnings.length]).to.deep.equal([true, 1]);
  });

  it('keeps its previous content when it is invalid or missing, which is logged once each, until it can be used again', async () => {
    writeFileSync(path, listing('one'));
    callers = new WatchedCallers(path, logger, INTERVAL_MS);
    writeFileSync(path, 'callers: [');
    await until(() => warnings.length === 1);
    rmSync(path);
    await until(() => warnings.length === 2);
    await untilLookedAtAgain();
    expect([known('one'), warnings.length]).to.deep.equal([true, 2]);
    expect(warnings.every((line) => line.includes('callers not read'))).to.equal(true);
    writeFileSync(path, listing('two'));
    await until(() => known('two'));
    expect(known('one')).to.equal(false);
    expect(warnings.join(''), 'a slip has a sentence and no stack')
      .to.include('callers.yaml:1')
      .and.not.include('    at ');
  });

  it('must be usable at the start', () => {
    writeFileSync(path, 'callers: [');
    expect(() => new WatchedCallers(path, logger)).to.throw(CallersInvalid);
  });
});
