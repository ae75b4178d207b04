import { pino } from 'pino';
import type { RestLimits } from '../../../../apps/http/http-fronts.js';
import type { HttpHost } from '../../../../apps/http/host/server.js';
import {
  createHttpFronts,
  pathsOf,
  DEFAULT_REST_LIMITS,
  type HttpFrontsOptions,
} from '../../../harness/http-fronts.js';
import type { JsonObject } from '../../../../core/json.js';
import { createRequestFixture, type RequestFixture } from '../../../harness/request-fixture.js';
import { type HarnessOptions, openServiceHarness, type ServiceHarness } from '../../../harness/service-harness.js';
import type { FrontAnswer, FrontRequest } from '../../vectors/play.js';

export const BASE = '/api/v1/developer';

export interface RunningServer {
  readonly server: HttpHost;
  readonly origin: string;
  readonly port: number;
}

/** A server on a free port of this machine, over a harness. */
export async function serve(
  harness: ServiceHarness,
  options: Partial<Omit<HttpFrontsOptions, 'limits'>> & { readonly limits?: Partial<RestLimits> } = {},
): Promise<RunningServer> {
  let origin = 'http://127.0.0.1';
  const server = createHttpFronts(servedOptions(harness, options, () => origin));
  const { port } = await server.listen('127.0.0.1', 0);
  origin = `http://127.0.0.1:${port}`;
  return { server, port, origin };
}

/** The paths of all routes that `serve` serves, as patterns. */
export function servedPaths(harness: ServiceHarness, options: Parameters<typeof serve>[1] = {}): readonly string[] {
  return pathsOf(servedOptions(harness, options, () => 'http://127.0.0.1'));
}

function servedOptions(
  harness: ServiceHarness,
  options: NonNullable<Parameters<typeof serve>[1]>,
  publicUrl: () => string,
): HttpFrontsOptions {
  return {
    context: harness.context,
    authenticator: harness.authenticator,
    logger: pino({ level: 'silent' }),
    readiness: () => Promise.resolve(true),
    publicUrl,
    mcp: { confirmAboveCredits: 100 },
    ...options,
    limits: {
      ...DEFAULT_REST_LIMITS,
      readsPerMinute: 0,
      writesPerMinute: 0,
      failedAuthenticationsPerMinute: 0,
      ...options.limits,
    },
  };
}

/** REST over a service of its own, with the accounts of the fixture. */
export class RestHarness {
  private constructor(
    readonly harness: ServiceHarness,
    readonly fixture: RequestFixture,
    private readonly running: RunningServer,
  ) {}

  static async open(options: Parameters<typeof serve>[1] = {}, ofHarness: HarnessOptions = {}): Promise<RestHarness> {
    const harness = await openServiceHarness(ofHarness);
    const fixture = await createRequestFixture(harness.context);
    return new RestHarness(harness, fixture, await serve(harness, options));
  }

  get server(): HttpHost {
    return this.running.server;
  }

  get origin(): string {
    return this.running.origin;
  }

  get port(): number {
    return this.running.port;
  }

  /** The secret of the owner. */
  get credential(): string {
    return this.fixture.secrets.get('owner') as string;
  }

  async close(): Promise<void> {
    await this.server.close(100);
    await this.harness.close();
  }
}

type Path = (id: string, deliveryId: string) => string;

const PATHS: Readonly<Record<FrontRequest['operation'], readonly [method: string, path: Path]>> = {
  listModels: ['GET', () => '/models'],
  getModel: ['GET', (id) => `/models/${id}`],
  getCredits: ['GET', () => '/credits'],
  listCreditEntries: ['GET', () => '/credits/entries'],
  getUsage: ['GET', () => '/usage'],
  createGeneration: ['POST', () => '/generations'],
  listGenerations: ['GET', () => '/generations'],
  estimateGeneration: ['POST', () => '/generations/estimate'],
  getGeneration: ['GET', (id) => `/generations/${id}`],
  watchGeneration: ['GET', (id) => `/generations/${id}/events`],
  watchEvents: ['GET', () => '/events'],
  deleteGeneration: ['DELETE', (id) => `/generations/${id}`],
  getThumbnails: ['GET', (id) => `/generations/${id}/thumbnails`],
  cancelGeneration: ['POST', (id) => `/generations/${id}/cancel`],
  prepareUpload: ['POST', () => '/uploads'],
  deleteUpload: ['DELETE', (id) => `/uploads/${id}`],
  getUpload: ['GET', (id) => `/uploads/${id}`],
  completeUpload: ['POST', (id) => `/uploads/${id}/complete`],
  createWebhook: ['POST', () => '/webhooks'],
  listWebhooks: ['GET', () => '/webhooks'],
  getWebhook: ['GET', (id) => `/webhooks/${id}`],
  updateWebhook: ['PATCH', (id) => `/webhooks/${id}`],
  deleteWebhook: ['DELETE', (id) => `/webhooks/${id}`],
  rotateWebhookSecret: ['POST', (id) => `/webhooks/${id}/secret`],
  testWebhook: ['POST', (id) => `/webhooks/${id}/test`],
  listWebhookDeliveries: ['GET', (id) => `/webhooks/${id}/deliveries`],
  replayWebhookDelivery: ['POST', (id, deliveryId) => `/webhooks/${id}/deliveries/${deliveryId}/replay`],
  replayWebhookDeliveries: ['POST', (id) => `/webhooks/${id}/replay`],
};

export function toHttp({
  operation,
  credential,
  appId,
  key,
  id = '',
  deliveryId = '',
  webhookUrl,
  lastEventId,
  query,
  body,
}: FrontRequest): {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
} {
  const [method, path] = PATHS[operation];
  const headers: Record<string, string> = {
    ...(credential === undefined ? {} : { Authorization: `Bearer ${credential}` }),
    ...(appId === undefined ? {} : { 'X-App-Id': appId }),
    ...(key === undefined ? {} : { 'Idempotency-Key': key }),
    ...(webhookUrl === undefined ? {} : { 'Darkroom-Webhook-Url': webhookUrl }),
    ...(lastEventId === undefined ? {} : { 'Last-Event-ID': lastEventId }),
    ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
  };
  return {
    method,
    path: BASE + path(encoded(id), encoded(deliveryId)) + queryOf(query),
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  };
}

function encoded(id: string): string {
  return encodeURIComponent(id).replaceAll('%25', '%');
}

function queryOf(query: FrontRequest['query']): string {
  return query === undefined ? '' : `?${new URLSearchParams(query).toString()}`;
}

/** For a stream of events, an envelope with the task of the first event as its data. */
async function envelopeOf(response: Response): Promise<JsonObject> {
  if (!(response.headers.get('content-type') ?? '').startsWith('text/event-stream'))
    return (await response.json()) as JsonObject;
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk as Uint8Array).toString();
    const [, event] = /^data: (.*)\n\n/m.exec(text) ?? [];
    if (event !== undefined) {
      const { task } = JSON.parse(event) as { readonly task: JsonObject };
      return { success: true, code: 'OK', message: '', request_id: response.headers.get('x-request-id'), data: task };
    }
  }
  throw new Error(`The stream ended without an event: ${text}`);
}

export interface HttpAnswer extends FrontAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly envelope: JsonObject;
}

export async function sendHttp(origin: string, request: FrontRequest): Promise<HttpAnswer> {
  const { path, ...init } = toHttp(request);
  const response = await fetch(origin + path, init);
  const envelope = await envelopeOf(response);
  return {
    status: response.status,
    headers: response.headers,
    envelope,
    code: envelope['code'] as string,
    message: envelope['message'] as string,
    replayed: response.headers.get('idempotency-replayed') === 'true',
    ...(envelope['data'] === undefined ? {} : { data: envelope['data'] as JsonObject }),
  };
}
