import { canShowForms } from './asking.js';

const ASKS = 'asks-';

/**
 * The revisions of 2025 tell what a client can do with its first message alone, and no process remembers it: the session
 * id, which the client sends with every later one, says it again. Undefined for a client of which nothing need be known.
 */
export function sessionIdFor(capabilities: unknown, uuid: string): string | undefined {
  return canShowForms(capabilities) ? `${ASKS}${uuid}` : undefined;
}

/** Whether the client of a session can ask a person. It says so of itself, and may as well. */
export function asksPeople(sessionId: string | undefined): boolean {
  return sessionId?.startsWith(ASKS) === true;
}
