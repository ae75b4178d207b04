import { DEFAULT_SCOPES, SCOPES, type Audience } from '../../../core/access/credential.js';
import { createRouter, type HttpHandler, type HttpRouter } from '../host/routing.js';
import { RESOURCE_METADATA_PATHS, resourceUrl } from './resources.js';

/** Where the endpoints of the authorization server are, below the issuer. */
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
  readonly hasClientDocuments: boolean;
}

/** The public documents: of the authorization server (RFC 8414) and of the protected resources (RFC 9728). */
export function metadataRouter(options: MetadataOptions): HttpRouter {
  return createRouter([
    {
      method: 'GET',
      path: '/.well-known/oauth-authorization-server',
      serve: serveDocument(() => serverMetadata(options)),
    },
    ...options.audiences.map((audience) => ({
      method: 'GET' as const,
      path: RESOURCE_METADATA_PATHS[audience],
      serve: serveDocument(() => resourceMetadata(options.publicUrl(), audience)),
    })),
  ]);
}

function serverMetadata({ publicUrl, hasRegistration, hasClientDocuments }: MetadataOptions): object {
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
    client_id_metadata_document_supported: hasClientDocuments,
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

/** A page of any origin may read the document: it is the same for everybody. */
function serveDocument(read: () => object): HttpHandler {
  return async (ctx) => {
    ctx.set({
      'Content-Type': 'application/json; charset=utf-8',
      'Access-Control-Allow-Origin': '*',
      'Cache-Control': 'public, max-age=300',
    });
    ctx.body = JSON.stringify(read());
  };
}
