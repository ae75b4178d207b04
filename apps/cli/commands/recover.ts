import type { Command } from 'commander';
import { mayBeMore, Recovery, type Recovered } from '../../../core/recovery/recover.js';
import { operatorCommand, withContext, type OperatorOptions } from '../operator/operator-command.js';
import { facts, show } from '../terminal.js';
import { examples } from './examples.js';

/** The most passes one command makes, so that it ends beside a server under load. */
const MAX_PASSES = 100;

const ABOUT = 'Workers do this by themselves on a schedule. A second run right after finds nothing left to do.';

/** `darkroom recover`: does again what was cut, without waiting for a worker's next pass. */
export function addRecover(program: Command): void {
  operatorCommand(program, 'recover')
    .description('finish what a crash left undone: lost wake-ups, open holds, expired uploads')
    .addHelpText('after', examples([
      'darkroom recover',
    ], ABOUT))
    .action((options: OperatorOptions) => withContext(options, async (context) => {
      const recovery = new Recovery(context);
      const total = Object.fromEntries(COUNTS.map((name) => [name, 0])) as Totals;
      for (let passes = 0; passes < MAX_PASSES; passes += 1) {
        const done = await recovery.pass();
        add(total, done);
        if (!mayBeMore(done, context.settings.recoveryBatch) && done.holds.nextCursor === undefined) break;
      }
      show({
        json: total,
        text: facts(Object.entries(total).map(([name, count]) => [name.replaceAll('_', ' '), count] as const)),
      }, options);
    }, { catalog: true }));
}

const COUNTS = [
  'generations_woken', 'generations_ended', 'generations_settled', 'generations_retired', 'holds_released', 'holds_settled',
  'uploads_removed', 'claims_removed', 'failed',
] as const;
type Totals = Record<(typeof COUNTS)[number], number>;

function add(total: Totals, { generations: g, holds, uploads, claimsRemoved }: Recovered): void {
  total.generations_woken += g.woken;
  total.generations_ended += g.ended;
  total.generations_settled += g.settled;
  total.generations_retired += g.retired;
  total.holds_released += holds.released;
  total.holds_settled += holds.settled;
  total.uploads_removed += uploads.removed;
  total.claims_removed += claimsRemoved;
  total.failed += g.failed + holds.failed + uploads.failed;
}
