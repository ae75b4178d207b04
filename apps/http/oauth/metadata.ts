import { type Audience, DEFAULT_SCOPES, SCOPES } from '../../../core/access/credential.js';
import type { HttpContext } from '../host/http-context.js';
import { serveDocument } from '../host/pages.js';
import { createRouter, type HttpRouter } from '../host/server.js';

const REST_PATH = '/api/v1/developer';
const MCP_PATH = `${REST_PATH}/mcp`;

/** The paths of the two protected resources (RFC 8707, RFC 9728). */
const RESOURCE_PATHS: Readonly<Record<Audience, string>> = { rest: REST_PATH, mcp: MCP_PATH };

/** The identifier of a resource: its address. */
export function resourceUrl(publicUrl: string, audience: Audience): string {
  return publicUrl + RESOURCE_PATHS[audience];
}

/** The path of the metadata of a resource (RFC 9728 §3.1). */
const RESOURCE_METADATA_PATHS: Readonly<Record<Audience, string>> = {
  rest: `/.well-known/oauth-protected-resource${REST_PATH}`,
  mcp: `/.well-known/oauth-protected-resource${MCP_PATH}`,
};

export function resourceMetadataUrl(publicUrl: string, audience: Audience): string {
  return publicUrl + RESOURCE_METADATA_PATHS[audience];
}

/**
 * The resource of those served that a client names, with a slash at the end or without, and in any spelling of its
 * scheme, host and port; undefined for any other.
 */
export function audienceOf(publicUrl: string, resource: string, served: readonly Audience[]): Audience | undefined {
  if (!URL.canParse(resource)) return undefined;
  const named = new URL(resource).href.replace(/\/$/, '');
  return served.find((audience) => new URL(resourceUrl(publicUrl, audience)).href === named);
}

/** The paths of the endpoints of the authorization server, below the issuer. */
export const ENDPOINTS = {
  authorization: '/oauth/authorize',
  token: '/oauth/token',
  revocation: '/oauth/revoke',
  registration: '/oauth/register',
  device_authorization: '/oauth/device/code',
} as const;

export const GRANT_TYPES = [
  'authorization_code',
  'refresh_token',
  'urn:ietf:params:oauth:grant-type:device_code',
] as const;

export interface MetadataOptions {
  /** The issuer: the public address, without a path. */
  readonly publicUrl: () => string;
  /** The resources that tokens are given out for. */
  readonly audiences: readonly Audience[];
  readonly hasRegistration: boolean;
  /** Present where a client may be identified by a metadata document of its own. */
  readonly fetchClientDocument?: object | undefined;
}

export interface MetadataRouterOptions extends MetadataOptions {
  /** Counts a request for its client's address. Throws RATE_LIMITED. */
  readonly take: (ctx: HttpContext) => Promise<void>;
}

/** The public documents: of the authorization server (RFC 8414) and of the protected resources (RFC 9728). */
export function metadataRouter(options: MetadataRouterOptions): HttpRouter {
  const { publicUrl, audiences, take } = options;
  return createRouter([
    ...serveDocument('/.well-known/oauth-authorization-server', { read: () => serverMetadata(options), take }),
    ...audiences.flatMap((audience) => {
      const path = RESOURCE_METADATA_PATHS[audience];
      const document = { read: () => resourceMetadata(publicUrl(), audience), take };
      // Clients derive the path from the address that a person pasted, which may end in a slash.
      return [path, `${path}/`].flatMap((one) => serveDocument(one, document));
    }),
  ]);
}

function serverMetadata({ publicUrl, hasRegistration, fetchClientDocument }: MetadataOptions): object {
  const issuer = publicUrl();
  const { registration, ...endpoints } = ENDPOINTS;
  return {
    issuer,
    ...Object.fromEntries(Object.entries(endpoints).map(([name, path]) => [`${name}_endpoint`, issuer + path])),
    ...(hasRegistration ? { registration_endpoint: issuer + registration } : {}),
    scopes_supported: SCOPES,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: GRANT_TYPES,
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: fetchClientDocument !== undefined,
    service_documentation: `${issuer}/docs`,
  };
}

const NAMES: Readonly<Record<Audience, string>> = { rest: 'Darkroom API', mcp: 'Darkroom MCP server' };

function resourceMetadata(publicUrl: string, audience: Audience): object {
  return {
    resource: resourceUrl(publicUrl, audience),
    authorization_servers: [publicUrl],
    // Clients often ask for all that is listed here.
    scopes_supported: DEFAULT_SCOPES,
    bearer_methods_supported: ['header'],
    resource_name: NAMES[audience],
    resource_documentation: `${publicUrl}/docs`,
  };
}
