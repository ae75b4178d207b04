import { expect } from 'chai';
import type { Locator } from 'playwright-core';
import { createApp, createKey, revokeKey } from '../../core/access/manage.js';
import { createGrant } from '../../core/people/grants.js';
import { createPerson } from '../../core/people/manage-people.js';
import type { SignInMethod } from '../../core/people/sessions.js';
import { createSignInLink } from '../../core/people/sign-in.js';
import type { CatalogSource, ReadCatalog } from '../../core/ports/catalog.js';
import { MODELS } from '../fixtures/models.js';
import { ReceivingSender } from '../fixtures/receiving-sender.js';
import { makeOperator } from '../fronts/console/console-harness.js';
import { sizeOf } from '../harness/run-sizes.js';
import { orSkip } from '../servers/server-absent.js';
import { expectNoViolation } from './accessible.js';
import { CONSOLE_STATES, makeConsoleStates, section, type Shown } from './console-states.js';
import { INTERNAL_ERROR, PageHarness, type Visitor } from './page-harness.js';

const path = (name: string, at: string): Shown => ({ name, open: async ({ page }) => void (await page.goto(at)) });

/** Returns the item that revokes the key. */
async function openKeyMenu(visitor: Visitor, pages: PageHarness): Promise<Locator> {
  await pages.openSignedIn(visitor, '/console/keys');
  await visitor.page.getByRole('button', { name: 'Actions for laptop' }).click();
  const item = visitor.page.getByRole('menuitem', { name: 'Revoke…' });
  await item.waitFor();
  return item;
}

const PAGES: readonly Shown[] = [
  path('sign-in', '/sign-in'),
  path('the code of a device', '/oauth/device'),
  path('a refusal', '/oauth/authorize?client_id=nobody'),
  path('a link that is over', '/sign-in/link/over'),
  {
    name: 'a sign-in link',
    open: async ({ page }, { service }) => {
      const { secret } = await createSignInLink(service.harness.context, service.person.personId);
      await page.goto(`/sign-in/link/${secret}`);
    },
  },
  {
    name: 'consent',
    open: async (visitor, pages) => {
      const { path: request } = pages.service.request(await pages.service.register({ client_name: 'a program' }));
      await pages.openSignedIn(visitor, request);
      await visitor.page.getByRole('button', { name: 'Allow' }).waitFor();
    },
  },
  section('API keys', '/console/keys', 'laptop'),
  section('API keys with those that ended', '/console/keys?ended=1', 'an old key'),
  section('API keys that no filter lets through', '/console/keys?q=none', 'No active key matches'),
  section('the form of a key', '/console/keys?new=1', 'Scopes, limit and expiry'),
  section('Connections', '/console/connections', 'a program'),
  section('Connections with settings of a client', '/console/connections?client=cursor', '.cursor/mcp.json'),
  section('Account', '/console/account', 'This browser'),
  ...CONSOLE_STATES,
  {
    name: 'a new key',
    open: async (visitor, pages) => {
      await pages.openSignedIn(visitor, '/console/keys?new=1');
      await visitor.page.getByLabel('Name', { exact: true }).fill('new');
      await visitor.page.getByRole('button', { name: 'Create key' }).click();
      await visitor.page.locator('.once').waitFor();
    },
  },
  {
    name: 'a key that is refused',
    open: async (visitor, pages) => {
      await pages.openSignedIn(visitor, '/console/keys?new=1');
      await visitor.page.getByLabel('Name', { exact: true }).fill('   ');
      await visitor.page.getByLabel('Expires').selectOption('On a date…');
      await visitor.page.getByLabel('Last day').fill('2099-12-31');
      await visitor.page.getByRole('button', { name: 'Create key' }).click();
      await visitor.page.getByText('A name must have').waitFor();
    },
  },
  {
    name: 'the menu of a key',
    open: async (visitor, pages) => void (await openKeyMenu(visitor, pages)),
  },
  {
    name: 'a question before something is done',
    open: async (visitor, pages) => {
      await (await openKeyMenu(visitor, pages)).click();
      await visitor.page.getByRole('dialog').waitFor();
    },
  },
  {
    name: 'the command palette',
    open: async (visitor, pages) => {
      await pages.openSignedIn(visitor, '/console/connections');
      await visitor.page.getByText('a program').first().waitFor();
      await visitor.page.keyboard.press('Control+k');
      await visitor.page.getByRole('option', { name: 'Create key' }).waitFor();
    },
  },
  {
    name: 'the list of shortcuts',
    open: async (visitor, pages) => {
      await pages.openSignedIn(visitor, '/console/connections');
      await visitor.page.getByText('a program').first().waitFor();
      await visitor.page.keyboard.press('?');
      await visitor.page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    },
  },
  {
    name: 'a failed request',
    open: async (visitor, pages) => {
      await visitor.page.route('**/console/api/keys', (route) => route.abort());
      await pages.openSignedIn(visitor, '/console/keys');
      await visitor.page.getByRole('alert').filter({ hasText: 'Can’t reach the server.' }).waitFor();
    },
  },
  {
    name: 'a refused request',
    open: async (visitor, pages) => {
      await visitor.page.route('**/console/api/keys', (route) => route.fulfill(INTERNAL_ERROR));
      await pages.openSignedIn(visitor, '/console/keys');
      await visitor.page.getByRole('button', { name: 'Try again' }).waitFor();
    },
  },
];

/** A page of the operator's area, to an operator who has signed in with a passkey unless another way is named. */
const operator = (name: string, at: string, ready: string, method: SignInMethod = 'passkey'): Shown => ({
  name: `operators: ${name}`,
  open: async (visitor, pages) => {
    await openAsOperator(visitor, pages, at, method);
    await visitor.page.getByText(ready).first().waitFor();
  },
});

const OPERATOR = 'olga@example.com';
const LOOKED_AT = { accounts: 2, entries: 3, generations: 1 };

async function openAsOperator(
  visitor: Visitor,
  pages: PageHarness,
  at: string,
  method: SignInMethod = 'passkey',
): Promise<void> {
  const { context } = pages.service.harness;
  const olga = (await context.people.findByEmail(OPERATOR)) ?? (await makeOperator(pages.service, OPERATOR));
  const shown = at.replace('ACCOUNT', pages.service.person.accountId);
  await pages.openSignedIn(visitor, `/console/operator/${shown}`, olga, { method });
}

/** What an operator is asked before a change of an account. */
const act = (name: string, menu: string, item: string): Shown => ({
  name: `operators: ${name}`,
  open: async (visitor, pages) => {
    await openAsOperator(visitor, pages, 'accounts/ACCOUNT');
    await visitor.page.getByRole('button', { name: menu }).click();
    await visitor.page.getByRole('menuitem', { name: item }).click();
    await visitor.page.getByRole('dialog').waitFor();
  },
});

const OPERATOR_PAGES: readonly Shown[] = [
  operator('the overview', '', 'Failed, last hour'),
  operator('accounts', 'accounts', 'All accounts'),
  operator('accounts that nothing matches', 'accounts?q=none', 'No account matches'),
  operator('an account', 'accounts/ACCOUNT', 'an old key'),
  operator('an account that is not there', 'accounts/00000000-0000-7000-8000-000000000000', 'There is no'),
  operator('the queue', 'queue', 'picture'),
  operator('providers', 'providers', 'Waiting'),
  operator('the catalog', 'catalog', 'In use by this process'),
  operator('the ledger check', 'ledger', 'Check ledger'),
  operator('a sign-in without a passkey', 'accounts', 'Operator pages need a sign-in', 'password'),
  {
    name: 'operators: the menu of an account',
    open: async (visitor, pages) => {
      await openAsOperator(visitor, pages, 'accounts/ACCOUNT');
      await visitor.page.getByRole('button', { name: 'More actions' }).click();
      await visitor.page.getByRole('menuitem', { name: 'Suspend…' }).waitFor();
    },
  },
  act('a change and what it will do', 'More actions', 'Suspend…'),
  act('an erasure to confirm', 'More actions', 'Erase a trace…'),
  act('a person to disable', 'Actions for bob@example.com', 'Disable…'),
  {
    name: 'operators: a key to create',
    open: async (visitor, pages) => {
      await openAsOperator(visitor, pages, 'accounts/ACCOUNT');
      await visitor.page.getByRole('button', { name: 'Create key…' }).click();
      await visitor.page.getByLabel('Monthly limit').waitFor();
    },
  },
  {
    name: 'operators: a grant that is refused',
    open: async (visitor, pages) => {
      await openAsOperator(visitor, pages, 'accounts/ACCOUNT');
      await visitor.page.getByRole('button', { name: 'Adjust credits…' }).click();
      await visitor.page.getByLabel('Amount').fill('-999999999999');
      await visitor.page.getByLabel('Reason').fill('a mistake');
      await visitor.page.getByRole('button', { name: /^Take back/ }).click();
      await visitor.page.getByRole('alert').waitFor();
    },
  },
  {
    name: 'operators: a link to copy',
    open: async (visitor, pages) => {
      await act('', 'Actions for bob@example.com', 'Reset sign-in…').open(visitor, pages);
      await visitor.page.getByRole('button', { name: 'Reset sign-in', exact: true }).click();
      await visitor.page.locator('.once').waitFor();
    },
  },
  {
    name: 'operators: a generation with its request',
    open: async (visitor, pages) => {
      await openAsOperator(visitor, pages, 'queue');
      await visitor.page.getByRole('link', { name: 'picture-held' }).first().click();
      await visitor.page.getByRole('button', { name: 'Show request' }).click();
      await visitor.page.getByText('a cat', { exact: true }).first().waitFor();
    },
  },
  {
    name: 'operators: faults of the catalog',
    open: async (visitor, pages) => {
      await openAsOperator(visitor, pages, 'catalog');
      await visitor.page.getByRole('button', { name: 'Check file' }).click();
      await visitor.page.getByText('Line 3', { exact: true }).waitFor();
    },
  },
  {
    name: 'operators: what a check has found',
    open: async (visitor, pages) => {
      await visitor.page.route('**/console/api/operator/verify', (route) =>
        route.fulfill({ body: `${JSON.stringify({ ...LOOKED_AT, findings: ['The books of an account differ.'] })}\n` }),
      );
      await openAsOperator(visitor, pages, 'ledger');
      await visitor.page.getByRole('button', { name: 'Check ledger' }).click();
      await visitor.page.getByText('do not match').waitFor();
    },
  },
];

/** A catalog whose file has a fault since it was read. */
const CATALOG: ReadCatalog = { models: MODELS, text: '# ours\nversion: 1\n', readAt: Date.now() };
const FAULTS = [{ line: 3, message: 'models[0].price is required.' }];
const CATALOG_SOURCE: CatalogSource = {
  name: 'catalog.yaml',
  inUse: () => CATALOG,
  read: () => Promise.resolve(FAULTS),
  reload: () => Promise.resolve(FAULTS),
};

/** How a page is looked at. */
interface Look {
  /** The number of the look: by default each state of a page has one of the two, in turn. */
  readonly number: 0 | 1;
  readonly viewport: { readonly width: number; readonly height: number };
  readonly colorScheme: 'light' | 'dark';
}

/** Tests pages in their states: axe finds no violation, and nothing is wider than the screen. */
export function itShowsEveryPage({ number, viewport, colorScheme }: Look): void {
  let pages: PageHarness | undefined;
  before(async function () {
    const webhookSender = new ReceivingSender(() => ({ status: 410 }));
    pages = await orSkip(
      this,
      PageHarness.open({ people: { hasOperatorArea: true }, webhookSender, catalogSource: CATALOG_SOURCE }),
    );
    const { harness, person } = pages.service;
    const [app] = await Promise.all(
      ['studio', 'nightly renders'].map((name) => createApp(harness.context, { accountId: person.accountId, name })),
    );
    const appId = app?.appId ?? '';
    await createKey(harness.context, { appId, name: 'laptop', monthlyCap: 500 });
    const { key } = await createKey(harness.context, { appId, name: 'an old key', scopes: ['credits:read'] });
    await revokeKey(harness.context, key.keyId);
    await createPerson(harness.context, { accountId: person.accountId, email: 'bob@example.com' });
    await createGrant(harness.context, person, {
      clientId: 'https://client.example/id',
      clientName: 'a program',
      audience: 'rest',
      asked: ['credits:read'],
      ticked: ['credits:read'],
      capCredits: 400,
    });
    await makeConsoleStates(pages);
  });
  after(() => pages?.close());

  const states = [...PAGES, ...OPERATOR_PAGES].filter((_, index) => sizeOf('pageLooks') > 1 || index % 2 === number);
  for (const { name, open } of states) {
    it(`has no violation: ${name}`, async () => {
      if (!pages) return;
      const visitor = await pages.newVisitor({ viewport, colorScheme, reducedMotion: 'reduce' });
      await open(visitor, pages);
      await expectNoViolation(visitor.page);
      const width = await visitor.page.evaluate<number>('document.documentElement.scrollWidth');
      await visitor.context.close();
      expect(width).to.be.at.most(viewport.width);
      expect(visitor.faults).to.deep.equal([]);
    });
  }
}
