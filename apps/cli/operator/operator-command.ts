import { type Command, type CommandOptions, InvalidArgumentError, Option } from 'commander';
import type { Page, PageRequest } from '../../../core/paging.js';
import type { Operator } from '../../operator/operator.js';
import { usageFailure } from '../exit.js';
import type { CliIo } from '../io.js';
import type { GrpcOptions } from './grpc-place.js';
import { type ContextNeeds, storeCommand, type StoreOptions, withContext } from './store-command.js';

/** The gRPC library never closes a connection whose peer is silent, which would keep the process alive. */
const LEFT_BEHIND_MS = 100;

export type OperatorOptions = StoreOptions & Partial<GrpcOptions>;

/** A command that does the same on the stores of this installation and, with --grpc, on a server elsewhere. */
export function operatorCommand(parent: Command, nameAndArguments: string, options: CommandOptions = {}): Command {
  return storeCommand(parent, nameAndArguments, options)
    .addOption(
      new Option(
        '--grpc <host:port>',
        'run on the server with this gRPC address, with DARKROOM_SERVICE_TOKEN; encrypted, except to this machine',
      ).conflicts('config'),
    )
    .option('--grpc-ca <file>', 'the authority of the server certificate, if this machine does not trust it already')
    .option('--grpc-cert <file>', 'a client certificate')
    .option('--grpc-key <file>', 'and its key');
}

/**
 * Does the work on the stores or the server that the options name, and always closes them. Throws as `withContext` and
 * `openGrpcOperator` do.
 */
export async function withOperator(
  io: CliIo,
  options: OperatorOptions,
  work: (operator: Operator) => Promise<void>,
  needs: ContextNeeds = {},
): Promise<void> {
  const { grpc, grpcCa, grpcCert, grpcKey } = options;
  if (grpc === undefined) {
    if ((grpcCa ?? grpcCert ?? grpcKey) !== undefined)
      throw usageFailure('--grpc-ca, --grpc-cert and --grpc-key need --grpc, the address of the server.');
    const { StoreOperator } = await import('../../operator/store-operator.js');
    return withContext(io, options, (context) => work(new StoreOperator(context)), needs);
  }
  // Loaded only now: the other commands start faster without it.
  const { openGrpcOperator } = await import('./grpc-operator.js');
  const operator = openGrpcOperator(io, { ...options, grpc });
  try {
    await work(operator);
  } finally {
    operator.close();
    io.leaveBehind(LEFT_BEHIND_MS);
  }
}

export { moreJson } from '../../operator/records.js';

export interface PageOptions {
  readonly limit: number;
  readonly cursor?: string;
}

/** Lists come a page at a time: --limit lines, and --cursor where the page before ended. */
export function withPaging(command: Command): Command {
  return command
    .option('--limit <count>', 'the most lines to show, 1 to 1000', readLimit, 100)
    .option('--cursor <cursor>', 'continue where an earlier page ended');
}

export function pageRequest({ limit, cursor }: PageOptions): PageRequest {
  return { limit, ...(cursor ? { cursor } : {}) };
}

/** What to say under a page that is not the last. */
export function moreText(page: Page<unknown>): string {
  return page.nextCursor === undefined ? '' : `\nThere is more: --cursor ${page.nextCursor}`;
}

function readLimit(text: string): number {
  const limit = Number(text);
  if (!Number.isInteger(limit) || limit < 1 || limit > 1_000)
    throw new InvalidArgumentError('It must be an integer from 1 to 1000.');
  return limit;
}
