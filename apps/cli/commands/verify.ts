import type { Command } from 'commander';
import { verifyCredits } from '../../../core/credits/verify.js';
import { Failure } from '../exit.js';
import { operatorCommand, withContext, type OperatorOptions } from '../operator/operator-command.js';
import { show } from '../terminal.js';
import { examples } from './examples.js';

/** `darkroom verify`: recomputes every account from its ledger. */
export function addVerify(program: Command): void {
  operatorCommand(program, 'verify')
    .description('recompute every account from its ledger and compare it with its generations')
    .addHelpText('after', examples(['darkroom verify']))
    .action((options: OperatorOptions) => withContext(options, async (context) => {
      const { accounts, entries, generations, findings } = await verifyCredits(context);
      const counted = `${accounts} accounts, ${entries} entries and ${generations} generations`;
      const text = findings.length === 0 ? `${counted} agree.` : findings.join('\n');
      show({ json: { accounts, entries, generations, findings }, text }, options);
      if (findings.length > 0) {
        throw new Failure(`The books are wrong in ${findings.length} places (${counted} looked at).`, undefined, 'shown');
      }
    }));
}
