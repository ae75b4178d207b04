import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import type { RestLimits } from '../../../apps/http/http-fronts.js';
import type { HttpFrontsOptions } from '../../harness/http-fronts.js';
import { type Audience, type Scope, SCOPES } from '../../../core/access/credential.js';
import { createKey } from '../../../core/access/manage.js';
import type { JsonObject } from '../../../core/json.js';
import { issueToken, newPerson } from '../../fixtures/access-tokens.js';
import { newOwner, type Owner } from '../../fixtures/memory-stores.js';
import { type HarnessOptions, openServiceHarness, type ServiceHarness } from '../../harness/service-harness.js';
import { BASE, type RunningServer, serve } from '../http/host/rest-client.js';

export const REVISIONS = ['2026-07-28', '2025-11-25'] as const;
export type Revision = (typeof REVISIONS)[number];

/** A tool's answer, as any client reads it. */
export interface ToolAnswer {
  readonly isError?: boolean;
  readonly content: readonly (JsonObject & { readonly type: string })[];
  readonly structuredContent?: JsonObject;
  readonly _meta?: JsonObject;
}

export interface CallOptions {
  readonly onprogress?: (progress: { readonly progress: number; readonly message?: string | undefined }) => unknown;
  readonly signal?: AbortSignal;
}

/** A client of either era. */
export interface TestClient {
  readonly serverVersion: { readonly name: string; readonly version: string } | undefined;
  readonly tools: () => Promise<readonly JsonObject[]>;
  readonly call: (name: string, args?: JsonObject, options?: CallOptions) => Promise<ToolAnswer>;
  readonly close: () => Promise<void>;
}

/** A person's reply to a form; if absent, the client does not support elicitation. */
export type Person = (form: JsonObject) => Promise<{ readonly action: string; readonly content?: JsonObject }>;

/** Connects a client of an era; `person` answers the forms that it shows. */
export function connectClient(
  url: string,
  revision: Revision,
  credential: string,
  person?: Person,
): Promise<TestClient> {
  return revision === '2026-07-28' ? modern(url, credential, person) : old(url, credential, person);
}

async function modern(url: string, credential: string, person?: Person): Promise<TestClient> {
  const client = new ModernClient(
    { name: 'test', version: '1' },
    {
      capabilities: person ? { elicitation: { form: {} } } : {},
      versionNegotiation: { mode: { pin: '2026-07-28' } },
    },
  );
  if (person)
    client.setRequestHandler(
      'elicitation/create',
      async ({ params }) => (await person({ ...params } as JsonObject)) as never,
    );
  await client.connect(new ModernTransport(new URL(url), { requestInit: withBearer(credential) }));
  return {
    serverVersion: client.getServerVersion(),
    tools: async () => (await client.listTools()).tools as unknown as JsonObject[],
    call: async (name, args = {}, options = {}) =>
      (await client.callTool({ name, arguments: args }, options)) as unknown as ToolAnswer,
    close: () => client.close(),
  };
}

async function old(url: string, credential: string, person?: Person): Promise<TestClient> {
  const client = new OldClient({ name: 'test', version: '1' }, { capabilities: person ? { elicitation: {} } : {} });
  if (person)
    client.setRequestHandler(
      ElicitRequestSchema,
      async ({ params }) => (await person({ ...params } as JsonObject)) as never,
    );
  const transport = new OldTransport(new URL(url), { requestInit: withBearer(credential) });
  await client.connect(transport);
  return {
    serverVersion: client.getServerVersion(),
    tools: async () => (await client.listTools()).tools as unknown as JsonObject[],
    call: async (name, args = {}, options = {}) =>
      (await client.callTool({ name, arguments: args }, undefined, options)) as unknown as ToolAnswer,
    close: () => client.close(),
  };
}

function withBearer(credential: string): RequestInit {
  return { headers: { Authorization: `Bearer ${credential}` } };
}

export const MCP = `${BASE}/mcp`;
export const sayingYes: Person = () => Promise.resolve({ action: 'accept', content: { confirm: true } });
export const sayingNo: Person = () => Promise.resolve({ action: 'decline' });

/** The whole service with its HTTP fronts, one account with credits, and clients of both eras. */
export class McpHarness {
  private readonly clients: TestClient[] = [];

  private constructor(
    readonly service: ServiceHarness,
    private readonly running: RunningServer,
    readonly owner: Owner,
  ) {}

  static async open(
    options: Partial<Omit<HttpFrontsOptions, 'limits'>> & { readonly limits?: Partial<RestLimits> } = {},
    harness: HarnessOptions = {},
  ): Promise<McpHarness> {
    const service = await openServiceHarness(harness);
    const running = await serve(service, options);
    return new McpHarness(service, running, await newOwner(service.context, 'an account', 1_000));
  }

  get origin(): string {
    return this.running.origin;
  }

  get url(): string {
    return this.origin + MCP;
  }

  async close(): Promise<void> {
    for (const client of this.clients) await client.close().catch(() => undefined);
    await this.running.server.close(0);
    await this.service.close();
  }

  /** Stops the server as a stopping process does. */
  stop(graceMs: number): Promise<void> {
    return this.running.server.close(graceMs);
  }

  async key(scopes: readonly Scope[] = SCOPES, more: { readonly monthlyCap?: number } = {}): Promise<string> {
    const { appId } = this.owner;
    return (await createKey(this.service.context, { appId, name: 'a key', scopes, ...more })).secret;
  }

  async token(audience: Audience, capCredits?: number): Promise<string> {
    const { context } = this.service;
    const person = await newPerson(context, this.owner.accountId);
    const cap = capCredits === undefined ? {} : { capCredits };
    return (await issueToken(context, person, { clientId: 'a client', scopes: SCOPES, audience, ...cap })).secret;
  }

  /** Connects a client of an era; `person` answers the forms that it shows. */
  async connect(revision: Revision, credential: string, person?: Person): Promise<TestClient> {
    const client = await connectClient(this.url, revision, credential, person);
    this.clients.push(client);
    return client;
  }

  /** A request to REST, and its data. */
  async rest(credential: string, method: string, path: string, body?: JsonObject, key?: string): Promise<JsonObject> {
    const response = await fetch(this.origin + BASE + path, {
      method,
      headers: {
        Authorization: `Bearer ${credential}`,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...(key === undefined ? {} : { 'Idempotency-Key': key }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return (await response.json()) as JsonObject;
  }

  /** One message as it goes over the wire. */
  post(message: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return fetch(this.url, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        'Accept': 'application/json, text/event-stream',
        ...headers,
      },
      body: typeof message === 'string' ? message : JSON.stringify(message),
    });
  }
}

/** The code that a tool refused with; `OK` for a result. */
export function codeOf({ isError, content }: ToolAnswer): string {
  return isError === true ? (textOf({ content }).split(':')[0] ?? '') : 'OK';
}

export function textOf({ content }: Pick<ToolAnswer, 'content'>): string {
  return asText(content.find(({ type }) => type === 'text')?.['text']);
}

/** A member that is a text; empty for any other. */
export function asText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The arguments of a generation of a picture, which costs 10 credits for each. */
export function picture(idempotencyKey: string, more: JsonObject = {}): JsonObject {
  return {
    model_key: 'picture',
    prompt: 'A house by the sea',
    parameters: { size: '96x64' },
    idempotency_key: idempotencyKey,
    wait_seconds: 0,
    ...more,
  };
}

/** A message of the newest revision, as a client frames it. */
export function modernMessage(
  method: string,
  params: JsonObject = {},
  capabilities: JsonObject = {},
): {
  readonly body: JsonObject;
  readonly headers: Record<string, string>;
} {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  };
  const { name } = params;
  return {
    body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } },
    headers: {
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': method,
      ...(typeof name === 'string' ? { 'Mcp-Name': name } : {}),
    },
  };
}
