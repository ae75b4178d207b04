/*
 * Goal: a person uses every function of the account page in a real browser; a secret is shown once; an ended session
 * and a failed request lead on; the keyboard is enough.
 * Method: the built page of a whole service in this process, in Chromium. One service and one browser for the file:
 * each test creates what it needs under its own names.
 */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { createAccount, createKey } from '../../core/access/manage.js';
import { grantCredits } from '../../core/credits/operate.js';
import { createPerson } from '../../core/people/manage-people.js';
import { appsForKeys } from '../../core/people/own-keys.js';
import { createSignInLink } from '../../core/people/sign-in.js';
import { PASSWORD, REDIRECT } from '../fronts/oauth/oauth-harness.js';
import { orSkip } from '../servers/server-absent.js';
import { DeviceAuthenticator } from './device-authenticator.js';
import { focusOn, openPages, PageHarness, tabTo, type Visitor } from './page-harness.js';
import { outputOf } from './shell.js';

describe('the account page in a browser', () => {
  let visitor: Visitor;
  let page: Page;
  const harness = openPages((next) => ({ page } = visitor = next));

  const makeKey = async (name: string): Promise<string> => {
    await page.getByLabel('Name', { exact: true }).fill(name);
    await page.getByRole('button', { name: 'Make key' }).click();
    await page.getByRole('heading', { name: `Your new key “${name}”` }).waitFor();
    return page.locator('.secret code').innerText();
  };
  const rowOf = (name: string) => page.getByRole('listitem').filter({ hasText: name });
  const confirm = (name: string) => page.getByRole('dialog').getByRole('button', { name }).click();
  const hasText = async (text: string) => (await page.content()).includes(text);
  const callWith = async (secret: string) => (await harness().service.call(secret)).status;

  describe('with a key', () => {
    it('makes it by a name, shows its secret, which works, and revokes it', async () => {
      await harness().signInByForm(visitor);
      expect(new URL(page.url()).pathname).to.equal('/console/keys');
      const secret = await makeKey('for the walk');
      expect(secret).to.match(/^svc_live_[0-9A-Za-z]{49}$/);
      expect(await callWith(secret)).to.equal(200);
      await page.getByRole('button', { name: 'I have copied it' }).click();
      expect(await hasText(secret)).to.equal(false);
      await rowOf('for the walk').getByRole('button').first().click();
      await confirm('Revoke the key');
      await page.getByRole('status').filter({ hasText: 'The key for the walk is revoked.' }).waitFor();
      await focusOn(page, 'API keys');
      await rowOf('for the walk')
        .getByText(/^revoked/)
        .waitFor();
      harness().service.harness.clock.advance(5_000);
      expect(await callWith(secret)).to.equal(401);
    });

    it('gives it fewer scopes, a last day and a limit', async () => {
      await harness().openSignedIn(visitor);
      await page.getByText('What it may do, and for how long').click();
      await page.getByLabel('Make pictures and videos, which spends credits').uncheck();
      await page.getByLabel('Last day').fill('2099-12-31');
      await page.getByLabel('Spend at most in a month').fill('12');
      const secret = await makeKey('narrow');
      const row = rowOf('narrow');
      await row.getByText('0 of 12 credits').waitFor();
      expect(await row.innerText())
        .to.include('2099')
        .and.not.include('spends credits');
      const denied = await fetch(`${harness().origin}/api/v1/developer/generations/estimate`, {
        method: 'POST',
        headers: { 'Authorization': `Bearer ${secret}`, 'Content-Type': 'application/json' },
        body: '{}',
      });
      expect(denied.status).to.equal(403);
    });

    it('shows what the server refuses, and keeps what was written', async () => {
      await harness().openSignedIn(visitor);
      await page.getByLabel('Name', { exact: true }).fill('   ');
      await page.getByRole('button', { name: 'Make key' }).click();
      await page.getByRole('alert').filter({ hasText: 'A name must have 1 to 100 characters' }).waitFor();
    });

    it('shows the secret once: not after a reload, on the way back, or anywhere that stays', async () => {
      await harness().openSignedIn(visitor);
      const first = await makeKey('reloaded');
      expect(page.url()).not.to.include('svc_live_');
      expect(await page.evaluate('JSON.stringify([{...localStorage}, {...sessionStorage}, history.state])')).to.equal(
        '[{},{},null]',
      );
      await page.reload();
      await rowOf('reloaded').waitFor();
      expect(await hasText(first)).to.equal(false);
      const second = await makeKey('left and back');
      await page.goto('/docs');
      await page.goBack();
      await rowOf('left and back').waitFor();
      expect(await hasText(second)).to.equal(false);
      const third = await makeKey('another section');
      await page.getByRole('link', { name: 'Credits' }).click();
      await page.getByText('can be spent now').waitFor();
      await page.goBack();
      await rowOf('another section').waitFor();
      expect(await hasText(third)).to.equal(false);
    });

    it('forgets the secret as soon as the page is left, also where the browser keeps the page', async () => {
      await harness().openSignedIn(visitor);
      const secret = await makeKey('kept by the browser');
      await page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))");
      await page.getByRole('button', { name: 'Make key' }).waitFor();
      expect(await hasText(secret)).to.equal(false);
    });
  });

  it('connects a program by consent, shows it, and disconnects it', async () => {
    const { service } = harness();
    const clientId = await service.register({ client_name: 'a drawing program' });
    const { path, verifier } = service.request(clientId);
    await page.route(`${REDIRECT}*`, (route) => route.fulfill({ body: 'the program' }));
    await harness().signInByForm(visitor, path);
    await page.getByText('a drawing program').waitFor();
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.waitForURL(`${REDIRECT}*`);
    const code = new URL(page.url()).searchParams.get('code') ?? '';
    const { body } = await service.exchange(clientId, code, verifier);
    const token = String(body['access_token']);
    expect(await callWith(token)).to.equal(200);
    await page.goto('/');
    await rowOf('a drawing program')
      .getByText('the ledger entries and usage of its own App alone; see the pictures and videos that it made')
      .waitFor();
    await rowOf('a drawing program').getByRole('button', { name: 'Disconnect a drawing program' }).click();
    await confirm('Disconnect it');
    await page.getByText('No program is connected.').waitFor();
    await focusOn(page, 'Connected programs');
    service.harness.clock.advance(5_000);
    expect(await callWith(token)).to.equal(401);
  });

  it('gives what is to be copied with the real address of the service', async () => {
    const copied = await openToCopy(harness(), visitor);
    const url = `${harness().origin}/api/v1/developer/mcp`;
    expect(await copied('the address of the MCP server')).to.equal(url);
    expect(await copied('the command for Claude Code')).to.equal(`claude mcp add --transport http darkroom ${url}`);
    expect(JSON.parse(await copied('the settings for Visual Studio Code'))).to.deep.equal({
      servers: { darkroom: { type: 'http', url } },
    });
    // Cursor cannot sign in: the service refuses redirects to cursor: addresses.
    expect(JSON.parse(await copied('the settings for Cursor'))).to.deep.equal({
      mcpServers: { darkroom: { url, headers: { Authorization: 'Bearer ${env:DARKROOM_API_KEY}' } } },
    });
    expect((await fetch(url, { method: 'POST' })).status).to.equal(401);
    const request = await copied('the request');
    const secret = await makeKey('for the first request');
    const stdout = await outputOf(request, { DARKROOM_API_KEY: secret });
    expect(JSON.parse(stdout)).to.include({ success: true });
  });

  it('is used with the keyboard alone', async () => {
    await page.goto('/');
    await page.keyboard.press('Tab');
    await page.keyboard.type('ada@example.com');
    await page.keyboard.press('Tab');
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Make key' }).waitFor();
    await page.keyboard.press('Tab');
    await focusOn(page, 'Skip to the content');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await page.keyboard.type('typed');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Your new key “typed”' }).waitFor();
    await focusOn(page, 'Your new key “typed”');
    await tabTo(page, 'I have copied it');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Make key' }).waitFor();
    await tabTo(page, 'Revoke the key typed');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await focusOn(page, 'Revoke the key typed');
    await page.keyboard.press('Enter');
    await tabTo(page, 'Revoke the key');
    await page.keyboard.press('Enter');
    await rowOf('typed')
      .getByText(/^revoked/)
      .waitFor();
    await focusOn(page, 'API keys');
    await tabTo(page, 'Darkroom');
    await tabTo(page, 'Usage and credits');
    await page.keyboard.press('Enter');
    await page.getByText('can be spent now').waitFor();
    await focusOn(page, 'Usage and credits');
  });

  it('leads to sign-in and back when the session has ended', async () => {
    const read = ['overview', 'keys', 'apps', 'connections'].map((what) =>
      page.waitForResponse(`**/console/api/${what}`),
    );
    await harness().openSignedIn(visitor, '/console/keys');
    await Promise.all(read);
    await visitor.context.clearCookies({ name: 'darkroom_session' });
    await page.getByLabel('Name', { exact: true }).fill('too late');
    await page.getByRole('button', { name: 'Make key' }).click();
    await page.waitForURL('**/sign-in?return=%2Fconsole%2Fkeys');
    await page.getByLabel('E-mail address').fill('ada@example.com');
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('heading', { name: 'API and MCP', level: 1 }).waitFor();
    expect(await rowOf('too late').count()).to.equal(0);
  });

  it("writes numbers and dates as the reader's language has them", async () => {
    const { context } = harness().service.harness;
    const { accountId } = await createAccount(context, { name: 'a rich account' });
    await grantCredits(context, { accountId, operationId: 'first', credits: 1_234_567, reason: 'to be shown' });
    const person = await createPerson(context, { accountId, email: 'rich@example.com' });
    const reader = await harness().newVisitor({ locale: 'de-DE', timezoneId: 'Europe/Berlin' });
    await harness().openSignedIn(reader, '/console/usage', person);
    await reader.page.getByText('1.234.567', { exact: true }).first().waitFor();
    await reader.page.getByRole('link', { name: 'Sign-in' }).click();
    await reader.page
      .getByText(/^\d\d\.\d\d\.\d{4}, \d\d:\d\d, with a password$/)
      .first()
      .waitFor();
    await reader.context.close();
    expect(reader.faults).to.deep.equal([]);
  });

  it('shows that it is loading, and that there is nothing yet', async () => {
    const { context } = harness().service.harness;
    const { accountId } = await createAccount(context, { name: 'an empty account' });
    const person = await createPerson(context, { accountId, email: 'empty@example.com' });
    let answer: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route('**/console/api/keys', async (route) => {
      await held;
      await route.continue();
    });
    await harness().openSignedIn(visitor, '/', person);
    await page.getByText('Loading keys…').waitFor();
    answer();
    await page.getByText('There are no keys yet.').waitFor();
    await page.getByText('No program is connected.').waitFor();
    expect(await page.getByText('Loading').count()).to.equal(0);
  });

  it('shows that a request failed, and tries again', async () => {
    const { context } = harness().service.harness;
    const { defaultApp } = await appsForKeys(context, harness().service.person.accountId);
    await createKey(context, { appId: defaultApp.appId, name: 'there in the end' });
    await page.route('**/console/api/keys', (route) => route.abort());
    await harness().openSignedIn(visitor);
    const failed = page.getByRole('alert').filter({ hasText: 'The server could not be reached.' });
    await failed.waitFor();
    await page.unroute('**/console/api/keys');
    await failed.getByRole('button', { name: 'Try again' }).click();
    await rowOf('there in the end').waitFor();
    expect(await failed.count()).to.equal(0);
  });

  it('signs out other browsers, and not this one', async () => {
    const elsewhere = await harness().newVisitor();
    await harness().openSignedIn(elsewhere);
    await harness().openSignedIn(visitor, '/console/account');
    await page.getByRole('button', { name: 'Sign out everywhere else' }).first().click();
    await confirm('Sign out everywhere else');
    await page.getByRole('status').filter({ hasText: 'You are signed out everywhere else.' }).waitFor();
    await elsewhere.page.goto('/');
    expect(new URL(elsewhere.page.url()).pathname).to.equal('/sign-in');
    await page.reload();
    await page.getByText('this browser').waitFor();
    await elsewhere.context.close();
  });

  it('says why a sign-in that a provider gave without asking is not enough', async () => {
    const proof = { method: 'provider', authenticatedAt: 0 } as const;
    await harness().openSignedIn(visitor, '/console/account', undefined, proof);
    await page
      .getByText(/sign in again with a password, .*or once your provider has asked who you are/)
      .first()
      .waitFor();
    expect(await page.getByText('more than 15 minutes ago').count()).to.equal(0);
  });

  it('adds a passkey, which then signs in alone, and removes it', async () => {
    await DeviceAuthenticator.of(page);
    await harness().openSignedIn(visitor, '/console/account');
    await page.getByLabel('Name of a new passkey').fill('virtual key');
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByRole('status').filter({ hasText: 'The passkey virtual key is added.' }).waitFor();
    await page.getByRole('button', { name: 'Sign out', exact: true }).first().click();
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.waitForURL('**/console/keys');
    await page.getByRole('link', { name: 'Sign-in' }).click();
    await page.getByText('with a passkey').first().waitFor();
    await page.getByRole('button', { name: 'Remove virtual key' }).click();
    await confirm('Remove it');
    await page.getByText('You have none.').waitFor();
  });

  describe('for a person without a password', () => {
    const newcomer = async (ageMs = 0): Promise<void> => {
      const { context, clock } = harness().service.harness;
      const { accountId } = harness().service.person;
      const email = `newcomer-${ageMs}@example.com`;
      const { personId } = await createPerson(context, { accountId, email });
      const { secret } = await createSignInLink(context, personId);
      await page.goto(`/sign-in/link/${secret}`);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByText('Your sign-in link worked once.').waitFor();
      clock.advance(ageMs);
      await page.reload();
    };

    it('leads from the link to a password, with which they come back', async () => {
      await newcomer();
      await page.getByRole('link', { name: 'Set a password or add a passkey' }).click();
      await page.getByLabel('New password', { exact: true }).fill(PASSWORD);
      await page.getByLabel('New password again').fill(PASSWORD);
      await page.getByRole('button', { name: 'Set password' }).click();
      await page.getByLabel('Current password').waitFor();
      await page.getByRole('link', { name: 'Credits' }).click();
      await page.getByText('can be spent now').waitFor();
      expect(await page.getByText('Your sign-in link worked once.').count()).to.equal(0);
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByLabel('E-mail address').fill('newcomer-0@example.com');
      await page.getByLabel('Password').fill(PASSWORD);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await page.waitForURL('**/console/keys');
    });

    it('offers no sign-out to one who could not come back', async () => {
      await newcomer(16 * 60_000);
      await page.getByRole('link', { name: 'Set a password or add a passkey' }).click();
      await page.getByText('To set one, ask the operator for another sign-in link').waitFor();
      expect(await page.getByRole('button', { name: 'Sign in again' }).count()).to.equal(0);
    });
  });

  it('leads through another sign-in to what takes a recent one', async () => {
    const { clock } = harness().service.harness;
    await harness().signInByForm(visitor, '/console/account');
    clock.advance(16 * 60_000);
    await page.reload();
    await page.getByRole('button', { name: 'Sign in again' }).click();
    await page.getByLabel('E-mail address').fill('ada@example.com');
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.waitForURL('**/console/account');
    await page.getByRole('button', { name: 'Add a passkey' }).waitFor();
  });

  it('changes the password and stays signed in', async () => {
    await harness().openSignedIn(visitor, '/console/account');
    const change = async (from: string, to: string, again = to): Promise<void> => {
      await page.getByLabel('Current password').fill(from);
      await page.getByLabel('New password', { exact: true }).fill(to);
      await page.getByLabel('New password again').fill(again);
      await page.getByRole('button', { name: 'Change password' }).click();
    };
    await change(PASSWORD, `${PASSWORD} too`, 'something else entirely');
    await page.getByRole('alert').filter({ hasText: 'The two new passwords differ.' }).waitFor();
    await change('wrong password!', `${PASSWORD} too`);
    await page.getByRole('alert').filter({ hasText: 'The current password is wrong.' }).waitFor();
    await change(PASSWORD, `${PASSWORD} too`);
    await page.getByRole('status').filter({ hasText: 'The password is set.' }).waitFor();
    await change(`${PASSWORD} too`, PASSWORD);
    await page.getByText('this browser').waitFor();
  });
});

describe('the account page of a service without OAuth, in a browser', () => {
  let pages: PageHarness | undefined;
  before(async function () {
    pages = await orSkip(this, PageHarness.open({ people: { hasOAuth: false } }));
  });
  after(() => pages?.close());

  it('gives settings for the MCP server that have a key', async () => {
    const harness = pages as PageHarness;
    const copied = await openToCopy(harness, await harness.newVisitor());
    const url = `${harness.origin}/api/v1/developer/mcp`;
    expect(await copied('the command for Claude Code')).to.equal(
      `claude mcp add --transport http darkroom ${url} --header "Authorization: Bearer $DARKROOM_API_KEY"`,
    );
    const code = JSON.parse(await copied('the settings for Visual Studio Code')) as {
      readonly inputs: readonly { readonly id: string }[];
    };
    expect(code).to.deep.include({
      servers: {
        darkroom: { type: 'http', url, headers: { Authorization: `Bearer \${input:${code.inputs[0]?.id}}` } },
      },
    });
    expect(await copied('the settings for Cursor')).to.include('Bearer ${env:DARKROOM_API_KEY}');
  });
});

/** Opens the page. Returns what copies one of its texts and reads it from the clipboard. */
async function openToCopy(harness: PageHarness, visitor: Visitor): Promise<(what: string) => Promise<string>> {
  const { page, context } = visitor;
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await harness.openSignedIn(visitor);
  return async (what) => {
    await page.getByRole('button', { name: `Copy ${what}` }).click();
    await page
      .getByRole('status')
      .filter({ hasText: `Copied ${what}.` })
      .waitFor();
    return page.evaluate<string>('navigator.clipboard.readText()');
  };
}
