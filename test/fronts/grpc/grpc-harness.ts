import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
} from '@bufbuild/protobuf';
import { anyUnpack } from '@bufbuild/protobuf/wkt';
import { Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import { pino } from 'pino';
import { OPERATOR_SCOPES, type ServiceCaller } from '../../../apps/grpc/callers.js';
import { TokenCallers, type TokenRates } from '../../../apps/grpc/token-callers.js';
import { DETAILS_KEY } from '../../../apps/grpc/error-status.js';
import { methodDefinition } from '../../../apps/grpc/definitions.js';
import {
  Generations,
  type WatchEventsResponse,
  type WatchGenerationResponse,
} from '../../../apps/grpc/generated/darkroom/v1/generations_pb.js';
import { Operation } from '../../../apps/grpc/generated/darkroom/v1/media_pb.js';
import { ErrorInfoSchema } from '../../../apps/grpc/generated/google/rpc/error_details_pb.js';
import { StatusSchema } from '../../../apps/grpc/generated/google/rpc/status_pb.js';
import { createGrpcServer, type GrpcServer, type GrpcServerOptions } from '../../../apps/grpc/server.js';
import { SCOPES } from '../../../core/access/credential.js';
import { newOwner, type Owner } from '../../fixtures/memory-stores.js';
import { type HarnessOptions, openServiceHarness, type ServiceHarness } from '../../harness/service-harness.js';
import { unary } from './grpc-client.js';

export const LIMITED: ServiceCaller = { name: 'limited', scopes: [...SCOPES], ratesPerMinute: { reads: 2, writes: 1 } };
/** Those that a harness knows, by their tokens. */
export const SERVICES: Record<string, ServiceCaller> = {
  limited: LIMITED,
  all: { name: 'all', scopes: [...SCOPES, ...OPERATOR_SCOPES] },
  reader: { name: 'reader', scopes: ['generations:read'] },
  expired: { name: 'expired', scopes: [...SCOPES], expiresAt: 1 },
  revoked: { name: 'revoked', scopes: [...SCOPES], isRevoked: true },
};
export const PICTURE = {
  modelKey: 'picture',
  operation: Operation.IMAGE_GENERATION,
  prompt: 'a lighthouse',
  parameters: { size: '96x64' },
};

export interface StageOptions
  extends
    HarnessOptions,
    Partial<Pick<GrpcServerOptions, 'observer' | 'requestTimeoutMs' | 'logger' | 'requireStores'>> {
  /** How many calls a minute a token may send; as many as it likes when absent. */
  readonly tokenRates?: TokenRates;
}

/** A server over its own harness, a client of it, and an account to act for. */
export class GrpcHarness {
  private constructor(
    readonly harness: ServiceHarness,
    readonly server: GrpcServer,
    readonly client: Client,
    readonly owner: Owner,
  ) {}

  static async open({
    observer,
    requestTimeoutMs,
    requireStores,
    tokenRates = { readsPerMinute: 0, writesPerMinute: 0 },
    logger = pino({ level: 'silent' }),
    ...options
  }: StageOptions = {}): Promise<GrpcHarness> {
    const harness = await openServiceHarness(options);
    const server = createGrpcServer({
      context: harness.context,
      callers: { find: ({ token }) => SERVICES[token ?? ''] },
      logger,
      observer,
      requestTimeoutMs,
      requireStores,
      publicUrl: () => 'https://darkroom.example',
      tokens: new TokenCallers(harness.authenticator, tokenRates),
    });
    const port = await server.listen('127.0.0.1', 0);
    return new GrpcHarness(
      harness,
      server,
      new Client(`127.0.0.1:${port}`, credentials.createInsecure()),
      await newOwner(harness.context, 'owner', 1_000),
    );
  }

  get port(): number {
    return Number(this.client.getChannel().getTarget().split(':').at(-1));
  }

  as(service: string | undefined, of: Partial<Owner> = this.owner): Metadata {
    const metadata = new Metadata();
    if (service !== undefined) metadata.set('authorization', `Bearer ${service}`);
    if (of.accountId !== undefined) metadata.set('darkroom-account-id', of.accountId);
    if (of.appId !== undefined) metadata.set('darkroom-app-id', of.appId);
    return metadata;
  }

  /** One call by a service, or with these metadata. */
  call<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    as: string | Metadata | undefined = 'all',
    of?: Partial<Owner>,
  ): Promise<MessageShape<O>> {
    return unary(this.client, method, request, as instanceof Metadata ? as : this.as(as, of));
  }

  /** The messages of a watched generation, as they come. */
  watch(generationId: string, metadata: Metadata): AsyncIterable<WatchGenerationResponse> {
    const { path, requestSerialize, responseDeserialize } = methodDefinition(Generations.method.watchGeneration);
    const request = create(Generations.method.watchGeneration.input, { generationId });
    const stream = this.client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request, metadata);
    return stream as AsyncIterable<WatchGenerationResponse>;
  }

  /** The events of an App from now on, as they come. */
  watchEvents(metadata: Metadata): AsyncIterable<WatchEventsResponse> {
    const { path, requestSerialize, responseDeserialize } = methodDefinition(Generations.method.watchEvents);
    const request = create(Generations.method.watchEvents.input, {});
    const stream = this.client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request, metadata);
    return stream as AsyncIterable<WatchEventsResponse>;
  }

  async picture(key: string): Promise<string> {
    const { generation } = await this.call(Generations.method.createGeneration, {
      input: PICTURE,
      idempotencyKey: key,
    });
    return generation?.generationId ?? '';
  }

  async close(): Promise<void> {
    this.client.close();
    await this.server.close(1_000);
    await this.harness.close();
  }
}

export const errorOf = (asked: Promise<unknown>): Promise<ServiceError> =>
  asked.then(
    () => {
      throw new Error('It was answered.');
    },
    (error: ServiceError) => error,
  );

/** The status and the code of a refusal. */
export const refusalOf = (error: ServiceError) => [error.code, detail(error, ErrorInfoSchema)?.reason];

export function detail<Desc extends DescMessage>(
  { metadata }: ServiceError,
  schema: Desc,
): MessageShape<Desc> | undefined {
  const { details } = fromBinary(StatusSchema, metadata.get(DETAILS_KEY)[0] as Buffer);
  return details.map((packed) => anyUnpack(packed, schema)).find((found) => found !== undefined);
}
