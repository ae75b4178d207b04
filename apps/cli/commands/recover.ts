import type { Command } from 'commander';
import type { CliIo } from '../io.js';
import { operatorCommand, withOperator, type OperatorOptions } from '../operator/operator-command.js';
import { facts, show } from '../terminal.js';
import { examples } from './examples.js';

const ABOUT = 'Workers do this by themselves on a schedule. A second run immediately after finds nothing to do.';

/** `darkroom recover`: does again what was cut, without waiting for a worker's next pass. */
export function addRecover(program: Command, io: CliIo): void {
  operatorCommand(program, 'recover')
    .description('complete what a crash interrupted: lost wake-ups, open holds, expired uploads')
    .addHelpText('after', examples(['darkroom recover'], ABOUT))
    .action((options: OperatorOptions) =>
      withOperator(
        io,
        options,
        async (operator) => {
          const total = await operator.recover();
          show(
            io,
            {
              json: total,
              text: facts(Object.entries(total).map(([name, count]) => [name.replaceAll('_', ' '), count] as const)),
            },
            options,
          );
        },
        { catalog: true },
      ),
    );
}
