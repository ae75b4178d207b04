import {
  create,
  type DescMessage,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
} from '@bufbuild/protobuf';
import { anyUnpack } from '@bufbuild/protobuf/wkt';
import { Client, credentials, Metadata, type ServiceError, status as Status } from '@grpc/grpc-js';
import { expect } from 'chai';
import { pino } from 'pino';
import { CallersFile } from '../../../apps/grpc/callers.js';
import { DETAILS_KEY, GRPC_STATUSES } from '../../../apps/grpc/error-status.js';
import { Catalog } from '../../../apps/grpc/generated/darkroom/v1/catalog_pb.js';
import { Credits } from '../../../apps/grpc/generated/darkroom/v1/credits_pb.js';
import { type Generation, Generations } from '../../../apps/grpc/generated/darkroom/v1/generations_pb.js';
import { Uploads } from '../../../apps/grpc/generated/darkroom/v1/uploads_pb.js';
import { ErrorInfoSchema } from '../../../apps/grpc/generated/google/rpc/error_details_pb.js';
import { StatusSchema } from '../../../apps/grpc/generated/google/rpc/status_pb.js';
import { methodDefinition } from '../../../apps/grpc/definitions.js';
import { createGrpcServer } from '../../../apps/grpc/server.js';
import type { Context } from '../../../core/context.js';
import type { ErrorCode } from '../../../core/errors.js';
import type { JsonObject } from '../../../core/json.js';
import type { FrontClient, FrontRequest } from '../vectors/play.js';
import type { Calling, GrpcAnswer } from './calling.js';
import { fixtureCallers, serviceTokenOf } from './fixture-services.js';
import {
  completedOf,
  completeOf,
  inputOf,
  listOf,
  modelOf,
  prepareOf,
  shownAs,
  statementOf,
  taskOf,
  uploadOf,
  usageOf,
  usageRequestOf,
} from './messages.js';
import { askWebhooks } from './webhook-calls.js';

export interface OpenGrpcClient {
  readonly client: FrontClient;
  close(): Promise<void>;
}

/** A server on a free port of this machine that knows the services of fixtures, and a client of it. */
export async function serveGrpc(context: Context): Promise<OpenGrpcClient> {
  const server = createGrpcServer({
    context,
    callers: new CallersFile(fixtureCallers(), 'callers.yaml'),
    logger: pino({ level: 'silent' }),
  });
  const port = await server.listen('127.0.0.1', 0);
  const opened = openGrpcClient(`127.0.0.1:${port}`, context);
  return { client: opened.client, close: () => opened.close().then(() => server.close(1_000)) };
}

/**
 * A client of the server at an address that holds each answer to its code's status. For a key of a fixture it calls as
 * the service that stands for its kind, and acts for the key's account and App. `context` is over the stores of the
 * server.
 */
export function openGrpcClient(address: string, context: Context): OpenGrpcClient {
  const client = new Client(address, credentials.createInsecure());
  return {
    client: {
      front: 'gRPC',
      async send(request) {
        const answer = await ask(client, request, await metadataOf(context, request));
        expect(answer.status, 'status').to.equal(answer.code === 'OK' ? 0 : GRPC_STATUSES[answer.code as ErrorCode]);
        return answer;
      },
    },
    close: () => Promise.resolve(client.close()),
  };
}

async function metadataOf(
  { credentials: keys, digests }: Context,
  { credential, appId }: FrontRequest,
): Promise<Metadata> {
  const metadata = new Metadata();
  if (credential === undefined) return metadata;
  const key = await keys.findKey({ digest: digests.keyed(credential) });
  metadata.set('authorization', `Bearer ${key ? serviceTokenOf(key.name) : credential}`);
  if (!key) return metadata;
  metadata.set('darkroom-account-id', key.accountId);
  metadata.set('darkroom-app-id', appId ?? key.appId);
  return metadata;
}

async function ask(client: Client, request: FrontRequest, metadata: Metadata): Promise<GrpcAnswer> {
  const { operation, id = '', key, webhookUrl, query = {}, body } = request;
  const { method } = Generations;
  const keyed = key === undefined ? {} : { idempotencyKey: key };
  const call: Calling = (desc, init, shown) =>
    unary(client, desc, init, metadata).then(
      (response) => ({
        status: 0,
        code: 'OK',
        message: '',
        data: typeof shown === 'function' ? shown(response) : memberOf(shownAs(desc.output, response), shown),
        replayed: 'replayed' in response && response.replayed === true,
      }),
      refusal,
    );
  switch (operation) {
    case 'listModels':
      return call(Catalog.method.listModels, {}, ({ models }) => ({ models: models.map(modelOf) }));
    case 'getModel':
      return call(Catalog.method.getModel, { modelKey: id }, ({ model }) => modelOf(present(model)));
    case 'getCredits':
      return call(Credits.method.getBalance, {}, ({ availableCredits, currency }) => {
        const available = Number(availableCredits);
        return {
          mode: 'formal',
          balance_credits: available,
          available_credits: available,
          remaining_credits: available,
          currency,
        };
      });
    case 'listCreditEntries':
      return call(Credits.method.listOwnEntries, listOf(query), statementOf);
    case 'getUsage':
      return call(Credits.method.getUsage, usageRequestOf(query), (usage) => usageOf(usage, query['by']));
    case 'estimateGeneration':
      return call(method.estimateGeneration, { input: inputOf(body) });
    case 'createGeneration':
      return call(
        method.createGeneration,
        { input: inputOf(body), ...keyed, ...(webhookUrl === undefined ? {} : { webhookUrl }) },
        'generation',
      );
    case 'getGeneration':
      return call(method.getGeneration, { generationId: id }, 'generation');
    case 'watchGeneration':
      return firstOf(client, Generations.method.watchGeneration, { generationId: id }, metadata);
    case 'watchEvents':
      return firstOf(client, Generations.method.watchEvents, { afterEventId: request.lastEventId ?? '' }, metadata);
    case 'listGenerations':
      return call(method.listGenerations, listOf(query));
    case 'cancelGeneration':
      return call(method.cancelGeneration, { generationId: id }, 'generation');
    case 'deleteGeneration':
      return call(method.deleteGeneration, { generationId: id }, () => ({ generation_id: id.toLowerCase() }));
    case 'getThumbnails':
      return call(method.getThumbnails, { generationId: id });
    case 'prepareUpload':
      return call(Uploads.method.prepareUpload, { ...prepareOf(body), ...keyed });
    case 'getUpload':
      return call(Uploads.method.getUpload, { uploadId: id }, uploadOf);
    case 'deleteUpload':
      return call(Uploads.method.deleteUpload, { uploadId: id });
    case 'completeUpload':
      return call(Uploads.method.completeUpload, { uploadId: id, ...completeOf(body), ...keyed }, completedOf);
    case 'createWebhook':
    case 'listWebhooks':
    case 'getWebhook':
    case 'updateWebhook':
    case 'deleteWebhook':
    case 'rotateWebhookSecret':
    case 'testWebhook':
    case 'listWebhookDeliveries':
    case 'replayWebhookDelivery':
    case 'replayWebhookDeliveries':
      return askWebhooks(call, operation, request);
  }
}

/** The first answer of a stream. */
function firstOf<I extends DescMessage, O extends DescMessage>(
  client: Client,
  desc: DescMethodServerStreaming<I, O>,
  init: MessageInitShape<I>,
  metadata: Metadata,
): Promise<GrpcAnswer> {
  const { path, requestSerialize, responseDeserialize } = methodDefinition(desc);
  const request = create(desc.input, init);
  return new Promise((resolve) => {
    const stream = client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request, metadata);
    stream.on('error', (error: ServiceError) => {
      if (error.code !== Status.CANCELLED) resolve(refusal(error));
    });
    stream.on('data', ({ generation }: { readonly generation?: Generation }) => {
      resolve({ status: 0, code: 'OK', message: '', data: taskOf(present(generation)), replayed: false });
      stream.cancel();
    });
  });
}

/** One call, with the message types of its method. Rejects with the library's error. */
export function unary<I extends DescMessage, O extends DescMessage>(
  client: Client,
  desc: DescMethodUnary<I, O>,
  init: MessageInitShape<I>,
  metadata: Metadata,
): Promise<MessageShape<O>> {
  const { path, requestSerialize, responseDeserialize } = methodDefinition(desc);
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      create(desc.input, init),
      metadata,
      { deadline: Date.now() + 60_000 },
      (error, response) => {
        if (error) reject(error);
        else resolve(response as MessageShape<O>);
      },
    );
  });
}

/** Our code, from the details that came with the status. */
export function refusal(error: ServiceError): GrpcAnswer {
  const [bytes] = error.metadata.get(DETAILS_KEY);
  if (!(bytes instanceof Buffer)) throw error;
  const info = fromBinary(StatusSchema, bytes)
    .details.map((detail) => anyUnpack(detail, ErrorInfoSchema))
    .find((detail) => detail !== undefined);
  if (!info) throw error;
  return { status: error.code, code: info.reason, message: error.details, replayed: false };
}

function memberOf(shown: JsonObject, name: string | undefined): JsonObject {
  return name === undefined ? shown : (present(shown[name]) as JsonObject);
}

function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('The answer holds nothing.');
  return value;
}
