import type { Caller } from '../access/credential.js';
import type { Context } from '../context.js';
import type { Page, PageRequest } from '../paging.js';
import type { Generation } from './generation.js';

/** A page of the caller's own generations, newest first: those of its App, and not of others of the account. */
export function listGenerations(
  { generations, call }: Pick<Context, 'generations' | 'call'>,
  { accountId, appId }: Caller,
  page: PageRequest,
): Promise<Page<Generation>> {
  return generations.list(accountId, appId, page, call);
}
