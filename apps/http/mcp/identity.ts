import { readFileSync } from 'node:fs';

const PACKAGE = new URL('../../../../package.json', import.meta.url);
const { name, version } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as {
  readonly name: string;
  readonly version: string;
};

/** What the server calls itself, in every document and every answer. */
export const IDENTITY = {
  name,
  version,
  title: 'Darkroom',
  description: 'Makes images and videos from prompts, paid in credits.',
} as const;

/** The revisions of the protocol that are served, the newest first. */
export const REVISIONS = ['2026-07-28', '2025-11-25', '2025-06-18'] as const;

/** The path of the server. */
export const MCP_PATH = '/api/v1/developer/mcp';
