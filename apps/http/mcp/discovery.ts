import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { type PublicDocument, serveDocument } from '../host/pages.js';
import type { HttpRoute } from '../host/server.js';
import { listed, TOOLS } from './tools.js';

const PACKAGE = new URL('../../../../package.json', import.meta.url);
const { version } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as { readonly version: string };

/** The name of the server in every document and every response. */
export const IDENTITY = {
  name: 'darkroom',
  version,
  title: 'Darkroom',
  description: 'Makes images and videos from prompts, paid in credits.',
} as const;

/** The revisions of the protocol that are served, the newest first. */
export const REVISIONS = ['2026-07-28', '2025-11-25', '2025-06-18'] as const;

/** The path of the server. */
export const MCP_PATH = '/api/v1/developer/mcp';

const CARD_PATH = `${MCP_PATH}/server-card`;
const CARD_TYPE = 'application/mcp-server-card+json';
const CATALOG_TYPE = 'application/ai-catalog+json';
const CARD_SCHEMA = 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json';

/** The public documents by which clients find the server, from the address of the host alone. */
export function discoveryRoutes(publicUrl: () => string, take: PublicDocument['take']): readonly HttpRoute[] {
  const card = { read: () => serverCard(publicUrl()), mediaType: CARD_TYPE, take };
  return [
    ...serveDocument('/.well-known/ai-catalog.json', {
      read: () => catalog(publicUrl()),
      mediaType: CATALOG_TYPE,
      take,
    }),
    ...serveDocument(CARD_PATH, card),
  ];
}

function catalog(publicUrl: string): object {
  return {
    specVersion: '1.0',
    entries: [
      {
        identifier: `urn:air:${new URL(publicUrl).hostname.replaceAll(/[[\]]/g, '')}:mcp:${IDENTITY.name}`,
        displayName: IDENTITY.title,
        description: IDENTITY.description,
        version: IDENTITY.version,
        type: CARD_TYPE,
        url: publicUrl + CARD_PATH,
      },
    ],
  };
}

function serverCard(publicUrl: string): object {
  return {
    $schema: CARD_SCHEMA,
    name: `${reversedHost(publicUrl)}/${IDENTITY.name}`,
    title: IDENTITY.title,
    description: IDENTITY.description,
    version: IDENTITY.version,
    websiteUrl: `${publicUrl}/docs`,
    remotes: [{ type: 'streamable-http', url: publicUrl + MCP_PATH, supportedProtocolVersions: REVISIONS }],
    // The proposal for cards leaves tools out, since they differ between people on many servers. Here everybody has these.
    tools: TOOLS.map(listed),
  };
}

/** `com.example` of `example.com`; an address stays as it is, but for characters that a name may not have. */
function reversedHost(publicUrl: string): string {
  const host = new URL(publicUrl).hostname.replaceAll(/[[\]]/g, '');
  return isIP(host) > 0 ? host.replaceAll(':', '-') : host.split('.').toReversed().join('.');
}
