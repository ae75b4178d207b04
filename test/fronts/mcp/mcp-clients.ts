import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import type { JsonObject } from '../../../core/json.js';

export const REVISIONS = ['2026-07-28', '2025-11-25'] as const;
export type Revision = (typeof REVISIONS)[number];

/** What a tool answered, as any client reads it. */
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

/** What a person says to a form; absent, the client cannot ask. */
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
