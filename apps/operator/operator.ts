import type { DescMessage, DescMethodUnary, Message, MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import type { Call, Erasing, Files, Identity, Machine, Models, Money, Webhooks, Work } from '../../core/context.js';
import type { JsonObject } from '../../core/json.js';
import type { Access } from '../grpc/generated/darkroom/v1/access_pb.js';
import type { Credits } from '../grpc/generated/darkroom/v1/credits_pb.js';
import type { Operations } from '../grpc/generated/darkroom/v1/operations_pb.js';
import type { People } from '../grpc/generated/darkroom/v1/people_pb.js';

// Types only: commands import this file, and must not load the messages before they run.

export type {
  ApiKey,
  GetAccountStorageResponse,
  SuspendAccountResponse,
} from '../grpc/generated/darkroom/v1/access_pb.js';
export type { Account } from '../grpc/generated/darkroom/v1/accounts_pb.js';
export type { Erasure } from '../grpc/generated/darkroom/v1/erasure_pb.js';
export type { GetAccountUsageResponse } from '../grpc/generated/darkroom/v1/credits_pb.js';
export type {
  GenerationRecord,
  GetModelCostsResponse,
  InspectGenerationResponse,
} from '../grpc/generated/darkroom/v1/operations_pb.js';
export type { Person, ResetPersonResponse } from '../grpc/generated/darkroom/v1/people_pb.js';
export type { ConnectedProvider, ProviderCost, ProviderWorker } from '../grpc/generated/darkroom/v1/providers_pb.js';

/** See `messageJson`. */
export type MessageJson = (message: Message | undefined) => JsonObject;

export interface CallOptions {
  /** For all tries of a call over a network together, in milliseconds; 60,000 when absent. */
  readonly timeoutMs?: number;
}

/** Calls one method of the operators' services, in this process or over a network. */
export type UnaryCall = <I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
  options?: CallOptions,
) => Promise<MessageShape<O>>;

export type Service = typeof Access | typeof Credits | typeof Operations | typeof People;
export type Calling<S extends Service> = {
  readonly [M in keyof S['method']]: S['method'][M] extends DescMethodUnary<infer I, infer O>
    ? (request: MessageInitShape<I>, options?: CallOptions) => Promise<MessageShape<O>>
    : never;
};

/** The capabilities that the operators' services use together: recovery alone uses all but the call. */
export type OperatorContext = Money & Work & Files & Identity & Models & Webhooks & Erasing & Machine & Call;

/**
 * The operators' services, each with its methods. They throw a `ServiceError` for what the methods refuse, wherever they
 * run.
 */
export interface OperatorClient {
  readonly access: Calling<typeof Access>;
  readonly credits: Omit<Calling<typeof Credits>, 'getBalance' | 'listOwnEntries' | 'getUsage'>;
  readonly operations: Calling<typeof Operations>;
  readonly people: Calling<typeof People>;
}
