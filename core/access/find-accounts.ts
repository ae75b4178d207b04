import type { Context } from '../context.js';
import type { Account } from '../credits/account.js';
import { fieldInvalid, isText } from '../fields.js';
import { matchingPage } from '../matching-page.js';
import type { Page, PageRequest } from '../paging.js';
import { readSignInEmail } from '../people/manage-people.js';
import { isUuid } from '../uuid.js';

type Ports = Pick<Context, 'accounts' | 'credentials' | 'people' | 'generations' | 'call'>;

const MAX_SEARCH = 254;

/**
 * The accounts that an operator looks for: by their id, or that of an App, a key, a person or a generation of theirs, by
 * the e-mail address of a person, or by a part of their name in any case. Names are looked for in a bounded number of
 * reads, so a page may hold fewer than asked for, or none, although there are more. Throws FIELD_INVALID.
 */
export async function findAccounts(ports: Ports, search: string, page: PageRequest): Promise<Page<Account>> {
  const text = search.trim();
  if (text === '' || text.length > MAX_SEARCH || !isText(text))
    throw fieldInvalid('/search', `A search must have 1 to ${MAX_SEARCH} characters.`);
  const accountId = isUuid(text) ? await accountOf(ports, text.toLowerCase()) : await accountOfEmail(ports, text);
  if (accountId !== undefined || isUuid(text)) {
    const account = accountId === undefined ? null : await ports.accounts.read(accountId, ports.call);
    return { items: account === null ? [] : [account] };
  }
  const part = text.toLowerCase();
  return matchingPage(
    (asked) => ports.accounts.list(asked, ports.call),
    ({ name }) => name.toLowerCase().includes(part),
    page,
  );
}

/** Whose id it is. No two things have one. */
async function accountOf({ accounts, credentials, people, generations, call }: Ports, id: string) {
  if (await accounts.read(id, call, 'totals')) return id;
  const thing =
    (await credentials.readApp(id, call)) ??
    (await credentials.findKey({ keyId: id })) ??
    (await people.read(id, call)) ??
    (await generations.read(id, call));
  return thing?.accountId;
}

async function accountOfEmail({ people }: Ports, text: string): Promise<string | undefined> {
  return text.includes('@') ? (await people.findByEmail(readSignInEmail(text)))?.accountId : undefined;
}
