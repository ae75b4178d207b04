import { expect } from 'chai';
import type { WaitTimes } from '../../../apps/http/openai/operation.js';
import { verifyCredits } from '../../../core/credits/verify.js';
import { StoreUnavailable } from '../../../core/errors.js';
import type { Model } from '../../../core/catalog/model.js';
import type { Generation } from '../../../core/generation/generation.js';
import type { JsonObject } from '../../../core/json.js';
import { MODELS } from '../../fixtures/models.js';
import { until } from '../../fixtures/clocks.js';
import type { Owner } from '../../fixtures/memory-stores.js';
import { createRequestFixture, type RequestFixture } from '../../harness/request-fixture.js';
import { type HarnessOptions, openServiceHarness, type ServiceHarness } from '../../harness/service-harness.js';
import { type RunningServer, serve } from '../http/host/rest-client.js';
import { onChosenStores } from './chosen-stores.js';

/** The path of the tests' requests, unless they name another. */
export const GENERATIONS = '/v1/images/generations';

/** A request that the model `picture` of the fixtures delivers: 10 credits a picture of 96 by 64 pixels. */
export const PICTURE: JsonObject = { model: 'picture', prompt: 'a lighthouse', size: '96x64' };

/** The model `picture` under another name, with these sizes, the first of which is its default. */
export function pictureNamed(modelKey: string, ...sizes: string[]): Model {
  const [model] = MODELS as [Model];
  const { properties } = model.inputSchema as { readonly properties: JsonObject };
  const size = { type: 'string', enum: sizes, default: sizes[0] ?? '' };
  const inputSchema = { type: 'object', additionalProperties: false, properties: { ...properties, size } };
  return { ...model, modelKey, inputSchema };
}

/** Short times that still keep the phases of a wait apart. */
export const SHORT_WAITS: WaitTimes = { silentMs: 150, beatMs: 40, mostMs: 600 };

/** The bytes of a file whose store goes away before the first of them. */
export const UNREADABLE: AsyncIterable<Uint8Array> = {
  [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new StoreUnavailable('no connection')) }),
};

export interface ApiAnswer {
  readonly status: number;
  readonly reason: string;
  readonly headers: Headers;
  readonly body: JsonObject;
  /** The error object; empty for a success. */
  readonly error: JsonObject;
}

/** The OpenAI-compatible API over a service of its own, with the accounts of the request fixture and nothing else. */
export class OpenAiHarness {
  private constructor(
    readonly service: ServiceHarness,
    private readonly fixture: RequestFixture,
    readonly running: RunningServer,
  ) {}

  static async open(options: Parameters<typeof serve>[1] = {}, ofHarness: HarnessOptions = {}): Promise<OpenAiHarness> {
    const service = await openServiceHarness({ ...onChosenStores(), ...ofHarness });
    const fixture = await createRequestFixture(
      service.context,
      (name) => !/generation$|upload|frame|webhook/.test(name),
    );
    return new OpenAiHarness(service, fixture, await serve(service, options));
  }

  get context(): ServiceHarness['context'] {
    return this.service.context;
  }

  get owner(): Owner {
    return this.ownerOf('owner');
  }

  ownerOf(kind: string): Owner {
    return this.fixture.owners.get(kind) as Owner;
  }

  secret(of = 'owner'): string {
    return this.fixture.secrets.get(of) ?? '';
  }

  /** Sends a request as the owner; a header that is undefined is left out. */
  fetch(path: string, { headers = {}, ...init }: FetchInit = {}): Promise<Response> {
    const sent = { 'Authorization': `Bearer ${this.secret()}`, 'Content-Type': 'application/json', ...headers };
    const named = Object.entries(sent).filter((header): header is [string, string] => header[1] !== undefined);
    return fetch(this.running.origin + path, { ...init, headers: named });
  }

  async send(path: string, init: FetchInit = {}): Promise<ApiAnswer> {
    const response = await this.fetch(path, init);
    const text = await response.text();
    const body = (text === '' ? {} : JSON.parse(text)) as JsonObject;
    const { status, statusText: reason, headers } = response;
    return { status, reason, headers, body, error: (body['error'] ?? {}) as JsonObject };
  }

  /** Asks for pictures. */
  create(body: JsonObject = PICTURE, headers: Sent = {}): Promise<ApiAnswer> {
    return this.send(GENERATIONS, { method: 'POST', headers, body: JSON.stringify(body) });
  }

  /** All generations of the owner's App, the oldest first. */
  async generations(): Promise<Generation[]> {
    const { appId } = this.owner;
    const { items } = await this.context.generations.list({ of: 'app', appId }, { limit: 500 });
    return items.toReversed();
  }

  /** Expects that the books are right and that the owner has paid exactly `credits`. */
  async expectPaid(credits: number): Promise<void> {
    const read = () => this.context.accounts.read(this.owner.accountId);
    // A charge is written a little after the end of its generation.
    await until(async () => (await read())?.reserved === 0);
    const account = await read();
    expect([account?.available, account?.spent], 'what is left and what was paid').to.deep.equal([
      1_000 - credits,
      credits,
    ]);
    expect((await verifyCredits(this.context)).findings).to.deep.equal([]);
  }

  async close(): Promise<void> {
    await this.running.server.close(100);
    await this.service.close();
  }
}

export type Sent = Readonly<Record<string, string | undefined>>;
export interface FetchInit extends Omit<RequestInit, 'headers'> {
  readonly headers?: Sent;
}
