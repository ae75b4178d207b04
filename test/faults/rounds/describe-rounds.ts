import { expect } from 'chai';
import type { Context } from 'mocha';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { orSkip } from '../../servers/servers.js';
import { EXPECTED } from '../clients/wishes.js';
import { Installation, type InstallationOptions } from '../harness/installation.js';
import { checkHistory } from '../../history/recorded/check-history.js';
import { Run } from './run.js';
import type { Round } from './schedule.js';
import type { Struck } from './struck.js';

export interface DescribedRounds extends Pick<InstallationOptions, 'objects' | 'cluster'> {
  readonly title: string;
  readonly rounds: readonly Round[];
  readonly seed: number;
  /** The command that replays the rounds. */
  readonly command: string;
  /** The folder for its logs, below the folder for temporary files. */
  readonly name: string;
  /** The previous release's program, for some of the processes. */
  readonly before?: (suite: Context) => Promise<string>;
  /** Receives what the faults did. */
  readonly onStruck?: (struck: readonly Struck[]) => void;
}

/** A suite that plays rounds of faults on one installation, and checks its history against every invariant. */
export function describeRounds({
  title,
  objects,
  cluster,
  rounds,
  seed,
  command,
  name,
  before: openBefore,
  onStruck = () => undefined,
}: DescribedRounds): void {
  describe(title, function suite() {
    this.timeout(600_000 + rounds.length * 120_000);
    const logs = join(tmpdir(), `darkroom-${name}-${seed}-${objects}-${process.pid}`);
    let installation: Installation | undefined;
    /** Ends whatever an unfinished run still does: it would keep the test process alive. */
    const over = new AbortController();

    before(async function open() {
      const program = await openBefore?.(this);
      installation = await orSkip(
        this,
        Installation.open({
          objects,
          ...(cluster === undefined ? {} : { cluster }),
          logs,
          name: `${name}-${process.pid}-${objects}`,
          hasVendors: program === undefined,
          ...(program === undefined ? {} : { before: program }),
        }),
      );
    });

    after(async function close() {
      over.abort();
      await installation?.close();
      const hasFailed = this.test?.parent?.tests.some((test) => test.isFailed()) ?? false;
      if (!hasFailed) await rm(logs, { recursive: true, force: true });
    });

    it('keep every promise they made', async () => {
      const again = `Run it again with: ${command}. Logs, history and findings are in ${logs}.`;
      const run = new Run(installation as Installation, rounds, seed, again, over.signal);
      const history = await run.play();
      await writeFile(
        join(logs, 'history.json'),
        JSON.stringify(history, (_, value: unknown) => (value instanceof Map ? [...value.values()] : value)),
      );
      onStruck(run.struck);
      for (const line of run.figures(history)) console.log(`      ${line}`);
      const findings = checkHistory(history, EXPECTED).map(({ invariant, sentence }) => `${invariant}: ${sentence}`);
      const all = [...run.complaints(history), ...findings];
      // There may be more findings than an assertion message shows.
      if (all.length > 0) await writeFile(join(logs, 'findings.txt'), `${all.join('\n')}\n`);
      expect(all, again).to.deep.equal([]);
    });
  });
}
