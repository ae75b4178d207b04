import type { Scope } from '../../../core/access/credential.js';
import { shownName } from '../../../core/people/grants.js';

/*
 * How people are shown a program that asks to be connected, or is: the same on the page of consent, the page of a device
 * and the account page.
 */

/** What each scope lets a connected program do, in words for its person; what spends credits says so. */
export const PROGRAM_SCOPE_TEXTS: Readonly<Record<Scope, string>> = {
  'credits:read': 'See the balance of the account, and the ledger entries and usage of its own App alone',
  'generations:read': 'See the pictures and videos that it made',
  'generations:write': 'Make pictures and videos, which spends credits of the account',
  'uploads:write': 'Upload files to work with',
  'webhooks:manage': 'Choose addresses that are told of what it made, with the results',
};

/**
 * The address of the document that a client is identified by; undefined for other clients. Its text is safe to show: hosts
 * beyond ASCII are in Punycode, and other characters beyond it are percent-encoded.
 */
export function documentUrl(clientId: string): URL | undefined {
  if (!URL.canParse(clientId)) return undefined;
  const url = new URL(clientId);
  return url.protocol === 'https:' ? url : undefined;
}

/** The name that people are shown for a client: the one that it gave itself, or else its id. */
export function clientNameOf({ clientId, clientName }: NamedClient): string {
  return shownName(clientName ?? documentUrl(clientId)?.href ?? clientId);
}

interface NamedClient {
  readonly clientId: string;
  readonly clientName?: string | undefined;
}
