import { Option, type Command, type CommandOptions } from 'commander';
import type { Operator } from '../../operator/operator.js';
import { usageFailure } from '../exit.js';
import type { CliIo } from '../io.js';
import type { GrpcOptions } from './grpc-place.js';
import { storeCommand, withContext, type ContextNeeds, type StoreOptions } from './store-command.js';

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
