import type { Command } from 'commander';
import type { CliIo } from '../io.js';
import { operatorCommand, withOperator, type OperatorOptions } from '../operator/operator-command.js';
import { moreJson, moreText, pageRequest, withPaging, type PageOptions } from '../operator/paging.js';
import { entryJson } from '../../operator/records.js';
import { isoTime, show, table } from '../terminal.js';
import { EXAMPLE_ID, examples } from './examples.js';

/** `darkroom ledger`: every movement of an account's credits, oldest first. */
export function addLedger(program: Command, io: CliIo): void {
  withPaging(operatorCommand(program, 'ledger <account_id>'))
    .description("show an account's ledger, oldest entry first")
    .addHelpText(
      'after',
      examples([`darkroom ledger ${EXAMPLE_ID}`, `darkroom ledger ${EXAMPLE_ID} --limit 1000 --json`]),
    )
    .action((accountId: string, options: OperatorOptions & PageOptions) =>
      withOperator(io, options, async (operator) => {
        const page = await operator.listEntries(accountId, pageRequest(options));
        const rows = page.items.map((e) => [
          e.sequence,
          isoTime(e.at),
          e.kind,
          `${e.from} to ${e.to}`,
          e.credits,
          e.availableAfter,
          e.generationId ?? e.operationId,
          e.reason,
        ]);
        const text =
          table(['entry', 'at', 'kind', 'moved', 'credits', 'available', 'for', 'reason'], rows) + moreText(page);
        show(io, { json: { entries: page.items.map(entryJson), ...moreJson(page) }, text }, options);
      }),
    );
}
