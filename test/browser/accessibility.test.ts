/*
 * Goal: every page can be used by everybody: axe finds no violation, in light and in dark, and nothing is wider than a
 * screen of 360 px.
 * Method: the pages of a whole service in this process, in Chromium with axe-core, wide and light, then narrow and dark.
 */
import { AxeBuilder } from '@axe-core/playwright';
import { expect } from 'chai';
import { createApp, createKey, revokeKey } from '../../core/access/manage.js';
import { createGrant } from '../../core/people/grants.js';
import { createSignInLink } from '../../core/people/sign-in.js';
import { orSkip } from '../servers/server-absent.js';
import { PageHarness, type Visitor } from './page-harness.js';

const LOOKS = [
  { name: 'wide and light', viewport: { width: 1280, height: 900 }, colorScheme: 'light' },
  { name: 'narrow and dark', viewport: { width: 360, height: 740 }, colorScheme: 'dark' },
] as const;

/** A page: how it is reached, and what is there once it is ready. */
interface Shown {
  readonly name: string;
  readonly open: (visitor: Visitor, pages: PageHarness) => Promise<void>;
}

const path = (name: string, at: string): Shown => ({ name, open: async ({ page }) => void (await page.goto(at)) });

const section = (name: string, at: string, ready: string): Shown => ({
  name,
  open: async (visitor, pages) => {
    await pages.openSignedIn(visitor, at);
    await visitor.page.getByText(ready).first().waitFor();
  },
});

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
  section('API and MCP', '/console/api-and-mcp', 'an old key'),
  section('Credits', '/console/credits', 'Reserved'),
  section('Sign-in', '/console/sign-in', 'this browser'),
  {
    name: 'a new key',
    open: async (visitor, pages) => {
      await pages.openSignedIn(visitor, '/console/api-and-mcp');
      await visitor.page.getByText('What it may do, and for how long').click();
      await visitor.page.getByLabel('Name', { exact: true }).fill('new');
      await visitor.page.getByRole('button', { name: 'Make key' }).click();
      await visitor.page.locator('.secret').waitFor();
    },
  },
  {
    name: 'the form of a key with its details',
    open: async (visitor, pages) => {
      await pages.openSignedIn(visitor, '/console/api-and-mcp');
      await visitor.page.getByText('What it may do, and for how long').click();
      await visitor.page.getByLabel('Last day').waitFor();
    },
  },
  {
    name: 'a question before something is done',
    open: async (visitor, pages) => {
      await pages.openSignedIn(visitor, '/console/api-and-mcp');
      await visitor.page.getByRole('button', { name: 'Revoke the key laptop' }).click();
      await visitor.page.getByRole('dialog').waitFor();
    },
  },
  {
    name: 'a failed request',
    open: async (visitor, pages) => {
      await visitor.page.route('**/console/api/keys', (route) => route.abort());
      await pages.openSignedIn(visitor, '/console/api-and-mcp');
      await visitor.page.getByRole('button', { name: 'Try again' }).waitFor();
    },
  },
];

describe('every page', () => {
  let pages: PageHarness | undefined;
  before(async function () {
    pages = await orSkip(this, PageHarness.open());
    const { harness, person } = pages.service;
    const [app] = await Promise.all(
      ['studio', 'nightly renders'].map((name) => createApp(harness.context, { accountId: person.accountId, name })),
    );
    const appId = app?.appId ?? '';
    await createKey(harness.context, { appId, name: 'laptop', monthlyCap: 500 });
    const { key } = await createKey(harness.context, { appId, name: 'an old key', scopes: ['credits:read'] });
    await revokeKey(harness.context, key.keyId);
    const asked = { clientId: 'https://client.example/id', clientName: 'a program', audience: 'rest' } as const;
    await createGrant(harness.context, person, { ...asked, scopes: ['credits:read'], capCredits: 400 });
  });
  after(() => pages?.close());

  for (const { name: look, ...options } of LOOKS) {
    describe(look, () => {
      for (const { name, open } of PAGES) {
        it(`has no violation: ${name}`, async () => {
          if (!pages) return;
          const visitor = await pages.newVisitor({ ...options, reducedMotion: 'reduce' });
          await open(visitor, pages);
          const { violations, passes } = await new AxeBuilder({ page: visitor.page }).analyze();
          const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`);
          const width = await visitor.page.evaluate<number>('document.documentElement.scrollWidth');
          await visitor.context.close();
          expect(passes).to.have.lengthOf.at.least(10);
          expect(found).to.deep.equal([]);
          expect(width).to.be.at.most(options.viewport.width);
          expect(visitor.faults).to.deep.equal([]);
        });
      }
    });
  }
});
