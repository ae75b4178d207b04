/*
 * Goal: a person connects programs, sees what they spend and disconnects them, and copies settings of AI clients that
 * work, in a real browser.
 * Method: the built page of a whole service in this process, in Chromium.
 */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { createAccount } from '../../core/access/manage.js';
import { createPerson } from '../../core/people/manage-people.js';
import { createGrant } from '../../core/people/grants.js';
import { WebhookReceiver } from '../harness/webhook-receiver.js';
import { orSkip } from '../servers/server-absent.js';
import { focusOn, openPages, PageHarness, tabTo, type Visitor } from './page-harness.js';

const CONNECTIONS = '/console/connections';

describe('the page of connections in a browser', () => {
  let visitor: Visitor;
  let page: Page;
  const harness = openPages((next) => ({ page } = visitor = next));

  const rowOf = (name: string) => page.getByRole('row').filter({ hasText: name });
  const callWith = async (secret: string) => (await harness().service.call(secret)).status;

  it('connects a program by consent, shows it, and disconnects it', async () => {
    const { service } = harness();
    const program = new WebhookReceiver();
    program.statuses = [200];
    const redirectUri = `${await program.open()}/callback`;
    harness().otherOrigins.push(redirectUri);
    const clientId = await service.register({ client_name: 'a drawing program', redirect_uris: [redirectUri] });
    const { path, verifier } = service.request(clientId, { redirect_uri: redirectUri });
    await harness().signInByForm(visitor, path);
    await page.getByText('a drawing program').waitFor();
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.waitForURL(`${redirectUri}*`);
    program.close();
    const code = new URL(page.url()).searchParams.get('code') ?? '';
    const { body } = await service.exchange(clientId, code, verifier, redirectUri);
    const token = String(body['access_token']);
    expect(await callWith(token)).to.equal(200);
    await page.goto(CONNECTIONS);
    const row = rowOf('a drawing program');
    await row
      .getByText('See the balance of the account, and the ledger entries and usage of its own App alone')
      .waitFor();
    expect(await row.innerText())
      .to.include('See the pictures and videos that it made')
      .and.include('ada@example.com');
    await row.getByRole('button', { name: 'Disconnect a drawing program' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Disconnect' }).click();
    await page.getByText('No connections yet').waitFor();
    await focusOn(page, 'Connected programs');
    service.harness.clock.advance(5_000);
    expect(await callWith(token)).to.equal(401);
  });

  it('shows the spending against its bound, and offers no end to the connection of another person', async () => {
    const { context } = harness().service.harness;
    const { accountId } = await createAccount(context, { name: 'a shared account' });
    const [bob, eve] = await Promise.all(
      ['bob', 'eve'].map((name) => createPerson(context, { accountId, email: `${name}@example.com` })),
    );
    if (bob === undefined || eve === undefined) return expect.fail('Nobody was made.');
    await createGrant(context, bob, {
      clientId: 'https://client.example/id',
      clientName: 'a program of Bob',
      audience: 'mcp',
      asked: ['credits:read'],
      ticked: ['credits:read'],
      capCredits: 400,
    });
    await harness().openSignedIn(visitor, CONNECTIONS, eve);
    const row = rowOf('a program of Bob');
    await row.getByRole('img', { name: '0 of 400 credits spent' }).waitFor();
    expect(await row.innerText())
      .to.include('client.example')
      .and.include('bob@example.com')
      .and.include('Tools (MCP)');
    expect(await row.getByRole('button').count()).to.equal(0);
    await visitor.context.clearCookies();
    await harness().openSignedIn(visitor, CONNECTIONS, bob);
    await row.getByText('You', { exact: true }).waitFor();
    await row.getByRole('button', { name: 'Disconnect a program of Bob' }).waitFor();
  });

  it('gives what is to be copied with the real address of the service', async () => {
    const copied = await openToCopy(harness(), visitor);
    const url = `${harness().origin}/api/v1/developer/mcp`;
    expect(await copied('the address of the MCP server')).to.equal(url);
    expect(await copied('the command for Claude Code')).to.equal(`claude mcp add --transport http darkroom ${url}`);
    expect(JSON.parse(await copied('the settings for VS Code', 'VS Code'))).to.deep.equal({
      servers: { darkroom: { type: 'http', url } },
    });
    // Cursor cannot sign in: the service refuses redirects to cursor: addresses.
    expect(JSON.parse(await copied('the settings for Cursor', 'Cursor'))).to.deep.equal({
      mcpServers: { darkroom: { url, headers: { Authorization: 'Bearer ${env:DARKROOM_API_KEY}' } } },
    });
    expect(await copied('the settings for other clients', 'Other clients'))
      .to.include(url)
      .and.include('mcp-remote');
    await page.getByRole('tab', { name: 'Claude', exact: true }).click();
    await page.getByText('Claude connects from the internet').waitFor();
    expect((await fetch(url, { method: 'POST' })).status).to.equal(401);
  });

  it('is used with the keyboard alone, and has the client in its address', async () => {
    await harness().openSignedIn(visitor, CONNECTIONS);
    await page.getByRole('tab', { name: 'Claude Code' }).waitFor();
    await tabTo(page, 'Claude Code');
    await page.keyboard.press('ArrowRight');
    await focusOn(page, 'Claude');
    await page.keyboard.press('ArrowRight');
    await focusOn(page, 'Cursor');
    await page.keyboard.press('Tab');
    await focusOn(page, 'Create a key');
    await page.reload();
    expect(await page.getByRole('tab', { name: 'Cursor' }).getAttribute('aria-selected')).to.equal('true');
    await tabTo(page, 'Create a key');
    await page.keyboard.press('Enter');
    await focusOn(page, 'Name');
  });
});

describe('the page of connections of a service without OAuth, in a browser', () => {
  let pages: PageHarness | undefined;
  before(async function () {
    pages = await orSkip(this, PageHarness.open({ people: { hasOAuth: false } }));
  });
  after(() => pages?.close());

  it('gives settings for the MCP server that have a key', async () => {
    const harness = pages as PageHarness;
    const visitor = await harness.newVisitor();
    const copied = await openToCopy(harness, visitor);
    const url = `${harness.origin}/api/v1/developer/mcp`;
    expect(await copied('the command for Claude Code')).to.equal(
      `claude mcp add --transport http darkroom ${url} --header "Authorization: Bearer $DARKROOM_API_KEY"`,
    );
    const code = JSON.parse(await copied('the settings for VS Code', 'VS Code')) as {
      readonly inputs: readonly { readonly id: string }[];
    };
    expect(code).to.deep.include({
      servers: {
        darkroom: { type: 'http', url, headers: { Authorization: `Bearer \${input:${code.inputs[0]?.id}}` } },
      },
    });
    expect(await copied('the settings for Cursor', 'Cursor')).to.include('Bearer ${env:DARKROOM_API_KEY}');
    // The connectors of Claude take no key.
    expect(await visitor.page.getByRole('tab', { name: 'Claude', exact: true }).count()).to.equal(0);
    expect(await visitor.page.getByText('Connected programs').count()).to.equal(0);
  });
});

/** Opens the page. Returns what copies one of its texts, on the tab of a client, and reads it from the clipboard. */
async function openToCopy(
  harness: PageHarness,
  visitor: Visitor,
): Promise<(what: string, client?: string) => Promise<string>> {
  const { page, context } = visitor;
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await harness.openSignedIn(visitor, CONNECTIONS);
  return async (what, client) => {
    if (client !== undefined) await page.getByRole('tab', { name: client }).click();
    await page.getByRole('button', { name: `Copy ${what}` }).click();
    await page
      .getByRole('status')
      .filter({ hasText: `Copied ${what}.` })
      .waitFor();
    return page.evaluate<string>('navigator.clipboard.readText()');
  };
}
