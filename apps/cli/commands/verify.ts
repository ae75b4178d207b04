import type { Command } from 'commander';
import { counted, countedBooks } from '../counted.js';
import { Failure } from '../exit.js';
import type { CliIo } from '../io.js';
import { operatorCommand, withOperator, type OperatorOptions } from '../operator/operator-command.js';
import { show } from '../terminal.js';
import { examples } from './examples.js';

/** `darkroom verify`: recomputes every account from its ledger. */
export function addVerify(program: Command, io: CliIo): void {
  operatorCommand(program, 'verify')
    .description('recompute every account from its ledger and compare it with its generations')
    .addHelpText('after', examples(['darkroom verify']))
    .action((options: OperatorOptions) =>
      withOperator(io, options, async (operator) => {
        const { accounts, entries, generations, findings } = await operator.verifyCredits();
        const looked = countedBooks({ accounts, entries, generations });
        const text = findings.length === 0 ? `${looked} agree.` : findings.join('\n');
        show(io, { json: { accounts, entries, generations, findings }, text }, options);
        if (findings.length > 0) {
          throw new Failure(
            `The ledgers do not match in ${counted(findings.length, 'place')} (${looked} looked at).`,
            undefined,
            'shown',
          );
        }
      }),
    );
}
