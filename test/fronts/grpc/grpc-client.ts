import { create, fromBinary, type DescMessage, type DescMethodUnary, type MessageInitShape, type MessageShape } from '@bufbuild/protobuf';
import { anyUnpack } from '@bufbuild/protobuf/wkt';
import { Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import { pino } from 'pino';
import { DETAILS_KEY } from '../../../apps/grpc/error-status.js';
import { Catalog } from '../../../apps/grpc/generated/darkroom/v1/catalog_pb.js';
import { Credits } from '../../../apps/grpc/generated/darkroom/v1/credits_pb.js';
import { Generations } from '../../../apps/grpc/generated/darkroom/v1/generations_pb.js';
import { Uploads } from '../../../apps/grpc/generated/darkroom/v1/uploads_pb.js';
import { Operation } from '../../../apps/grpc/generated/darkroom/v1/media_pb.js';
import { ErrorInfoSchema } from '../../../apps/grpc/generated/google/rpc/error_details_pb.js';
import { StatusSchema } from '../../../apps/grpc/generated/google/rpc/status_pb.js';
import { createGrpcServer } from '../../../apps/grpc/server.js';
import { methodDefinition } from '../../../apps/grpc/service-definition.js';
import type { ServiceCaller } from '../../../apps/grpc/service-callers.js';
import type { JsonObject } from '../../../core/json.js';
import type { World } from '../../fixtures/world.js';
import type { FrontAnswer, FrontClient, FrontRequest } from '../vectors/play.js';
import { completeOf, inputOf, modality, modelOf, prepareOf, preparedOf, taskOf } from './messages.js';

/** A refusal as it came over the wire. */
export interface GrpcAnswer extends FrontAnswer {
  readonly status: number;
}

/**
 * A client of a server of its own. Each API key of the scene stands for a service with the key's scopes, expiry and
 * revocation that acts for the key's account and App.
 */
export async function openGrpcClient(world: World, check: (request: FrontRequest, answer: GrpcAnswer) => void): Promise<FrontClient> {
  const services = new Map<string, ServiceCaller>();
  const server = createGrpcServer({ context: world.context, callers: { find: ({ token }) => services.get(token ?? '') }, logger: pino({ level: 'silent' }) });
  const port = await server.listen('127.0.0.1', 0);
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  return {
    async send(request) {
      const answer = await ask(client, request, await metadataOf(world, request, services));
      check(request, answer);
      return answer;
    },
    async close() {
      client.close();
      await server.close(1_000);
    },
  };
}

async function metadataOf({ context }: World, { credential }: FrontRequest, services: Map<string, ServiceCaller>): Promise<Metadata> {
  const metadata = new Metadata();
  if (credential === undefined) return metadata;
  metadata.set('authorization', `Bearer ${credential}`);
  const key = await context.credentials.findKey({ digest: context.digests.keyed(credential) });
  if (!key) return metadata;
  services.set(credential, {
    name: key.name, scopes: key.scopes, isRevoked: key.revokedAt !== undefined, ...(key.expiresAt === undefined ? {} : { expiresAt: key.expiresAt }),
  });
  metadata.set('darkroom-account-id', key.accountId);
  metadata.set('darkroom-app-id', key.appId);
  return metadata;
}

async function ask(client: Client, { operation, id = '', key, body }: FrontRequest, metadata: Metadata): Promise<GrpcAnswer> {
  const { method } = Generations;
  const keyed = key === undefined ? {} : { idempotencyKey: key };
  const call = <I extends DescMessage, O extends DescMessage>(desc: DescMethodUnary<I, O>, init: MessageInitShape<I>, shown: (response: MessageShape<O>) => JsonObject): Promise<GrpcAnswer> => (
    unary(client, desc, init, metadata).then((response) => ({
      status: 0, code: 'OK', message: '', data: shown(response), replayed: 'replayed' in response && response.replayed === true,
    }), refusal)
  );
  switch (operation) {
    case 'listModels': return call(Catalog.method.listModels, {}, ({ models }) => ({ models: models.map(modelOf) }));
    case 'getCredits': return call(Credits.method.getBalance, {}, ({ availableCredits, currency }) => {
      const available = Number(availableCredits);
      return { mode: 'formal', balance_credits: available, available_credits: available, remaining_credits: available, currency };
    });
    case 'estimateGeneration': return call(method.estimateGeneration, { input: inputOf(body) }, (estimate) => ({
      model_key: estimate.modelKey, operation: Operation[estimate.operation].toLowerCase(), estimated_credits: Number(estimate.estimatedCredits), currency: estimate.currency,
    }));
    case 'createGeneration': return call(method.createGeneration, { input: inputOf(body), ...keyed }, ({ generation }) => taskOf(present(generation)));
    case 'getGeneration': return call(method.getGeneration, { generationId: id }, ({ generation }) => taskOf(present(generation)));
    case 'cancelGeneration': return call(method.cancelGeneration, { generationId: id }, ({ generation }) => taskOf(present(generation)));
    case 'prepareUpload': return call(Uploads.method.prepareUpload, { ...prepareOf(body), ...keyed }, preparedOf);
    case 'completeUpload': return call(Uploads.method.completeUpload, { uploadId: id, ...completeOf(body), ...keyed }, ({ uploadId, mediaId, mediaType, byteSize }) => ({
      upload_id: uploadId, media_id: mediaId, status: 'ready', media_type: modality(mediaType) ?? '', byte_size: Number(byteSize),
    }));
  }
}

/** One call, with the message types of its method. Rejects with the library's error. */
export function unary<I extends DescMessage, O extends DescMessage>(client: Client, desc: DescMethodUnary<I, O>, init: MessageInitShape<I>, metadata: Metadata): Promise<MessageShape<O>> {
  const { path, requestSerialize, responseDeserialize } = methodDefinition(desc);
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(path, requestSerialize, responseDeserialize, create(desc.input, init), metadata, { deadline: Date.now() + 60_000 }, (error, response) => {
      if (error) reject(error); else resolve(response as MessageShape<O>);
    });
  });
}

/** Our code, from the details that came with the status. */
export function refusal(error: ServiceError): GrpcAnswer {
  const [bytes] = error.metadata.get(DETAILS_KEY);
  if (!(bytes instanceof Buffer)) throw error;
  const info = fromBinary(StatusSchema, bytes).details.map((detail) => anyUnpack(detail, ErrorInfoSchema)).find((detail) => detail !== undefined);
  if (!info) throw error;
  return { status: error.code, code: info.reason, message: error.details, replayed: false };
}

function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('The answer holds nothing.');
  return value;
}
