import type { Audience } from '../../../core/access/credential.js';

const REST_PATH = '/api/v1/developer';
const MCP_PATH = `${REST_PATH}/mcp`;

/** The paths of the two protected resources (RFC 8707, RFC 9728). */
export const RESOURCE_PATHS: Readonly<Record<Audience, string>> = { rest: REST_PATH, mcp: MCP_PATH };

/** The identifier of a resource: its address. */
export function resourceUrl(publicUrl: string, audience: Audience): string {
  return publicUrl + RESOURCE_PATHS[audience];
}

/** Where the metadata of a resource is (RFC 9728 §3.1). */
export const RESOURCE_METADATA_PATHS: Readonly<Record<Audience, string>> = {
  rest: `/.well-known/oauth-protected-resource${REST_PATH}`,
  mcp: `/.well-known/oauth-protected-resource${MCP_PATH}`,
};

export function resourceMetadataUrl(publicUrl: string, audience: Audience): string {
  return publicUrl + RESOURCE_METADATA_PATHS[audience];
}

/** The resource of those served that a client names, with a slash at the end or without; undefined for any other. */
export function audienceOf(publicUrl: string, resource: string, served: readonly Audience[]): Audience | undefined {
  const named = resource.replace(/\/$/, '');
  return served.find((audience) => resourceUrl(publicUrl, audience) === named);
}
