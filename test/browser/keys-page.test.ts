/*
 * Goal: a person creates, finds and revokes API keys in a real browser; a secret is shown once; an ended session and a
 * failed request lead on; the keyboard is enough.
 * Method: the built page of a whole service in this process, in Chromium. One service and one browser for the file:
 * each test creates what it needs under its own names.
 */
import { expect } from 'chai';
import type { Page, Response } from 'playwright-core';
import { createAccount, createApp, createKey } from '../../core/access/manage.js';
import { createPerson } from '../../core/people/manage-people.js';
import { appsForKeys } from '../../core/people/own-keys.js';
import { PASSWORD } from '../fronts/oauth/oauth-harness.js';
import { focusOn, openPages, tabTo, thumbnailOf, untilInPage, type Visitor } from './page-harness.js';
import { outputOf } from './shell.js';

const KEYS = '/console/keys';

describe('the page of API keys in a browser', () => {
  let visitor: Visitor;
  let page: Page;
  const harness = openPages((next) => ({ page } = visitor = next));
  before(() => harness().service.harness.startWorker());

  const open = (path = KEYS) => harness().openSignedIn(visitor, path);
  const createButton = () => page.getByRole('button', { name: 'Create key' }).first();
  const name = () => page.getByLabel('Name', { exact: true });
  const makeKey = async (as: string): Promise<string> => {
    if (!(await name().isVisible())) await createButton().click();
    await name().fill(as);
    await createButton().click();
    await page.getByRole('heading', { name: `“${as}” is ready` }).waitFor();
    return page.locator('.once code').innerText();
  };
  const rowOf = (text: string) => page.getByRole('row').filter({ hasText: text });
  const choose = async (key: string, act: string): Promise<void> => {
    await page.getByRole('button', { name: `Actions for ${key}` }).click();
    await page.getByRole('menuitem', { name: act }).click();
  };
  const confirm = () => page.getByRole('dialog').getByRole('button', { name: 'Revoke key' }).click();
  const hasText = async (text: string) => (await page.content()).includes(text);
  const callWith = async (secret: string) => (await harness().service.call(secret)).status;
  /** Makes a key for the default App of the account, without the page. */
  const keyOf = async (as: string) => {
    const { context } = harness().service.harness;
    const { defaultApp } = await appsForKeys(context, harness().service.person.accountId);
    return createKey(context, { appId: defaultApp.appId, name: as });
  };

  it('creates a key by a name, shows its secret, which works, and revokes it', async () => {
    await harness().signInByForm(visitor);
    expect(new URL(page.url()).pathname).to.equal('/console');
    await page.getByRole('link', { name: 'API keys' }).click();
    const secret = await makeKey('for the walk');
    expect(secret).to.match(/^svc_live_[0-9A-Za-z]{49}$/);
    expect(await callWith(secret)).to.equal(200);
    await page.getByRole('button', { name: 'I have copied it' }).click();
    expect(await hasText(secret)).to.equal(false);
    await rowOf('for the walk')
      .getByText(`${secret.slice(0, 12)}…${secret.slice(-4)}`)
      .waitFor();
    await choose('for the walk', 'Revoke…');
    await page.getByRole('dialog').getByText('Revoke the key “for the walk”?').waitFor();
    await confirm();
    await page.getByRole('status').filter({ hasText: 'The key for the walk is revoked.' }).waitFor();
    await focusOn(page, 'Keys');
    expect(await rowOf('for the walk').count()).to.equal(0);
    await page.getByLabel('Show ended keys').check();
    await rowOf('for the walk').getByText('Revoked').waitFor();
    harness().service.harness.clock.advance(5_000);
    expect(await callWith(secret)).to.equal(401);
  });

  it('gives a key fewer scopes, a last day and a limit', async () => {
    await open(`${KEYS}?new=1`);
    await page.getByLabel('Create pictures and videos, which spends credits').uncheck();
    await page.getByLabel('Expires').selectOption('On a date…');
    await page.getByLabel('Last day').fill('2099-12-31');
    await page.getByLabel('Monthly limit').fill('0');
    await name().fill('narrow');
    await createButton().click();
    await untilInPage(page, "document.activeElement.name === 'cap' && document.activeElement.validity.patternMismatch");
    await page.getByLabel('Monthly limit').fill('12');
    const secret = await makeKey('narrow');
    const row = rowOf('narrow');
    await row.getByText('of 12').waitFor();
    await row.getByRole('img', { name: '0 of 12 credits spent' }).waitFor();
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

  it('gives a key a number of days, and an App that is chosen', async () => {
    const { context } = harness().service.harness;
    const { accountId } = harness().service.person;
    await appsForKeys(context, accountId);
    await createApp(context, { accountId, name: 'another App' });
    const created = page.waitForResponse(
      (response: Response) => response.url().endsWith('/console/api/keys') && response.request().method() === 'POST',
    );
    await open(`${KEYS}?new=1`);
    await page.getByLabel('Expires').selectOption('After 90 days');
    await page.getByText('The key works until').waitFor();
    await page.getByLabel('App', { exact: true }).selectOption('another App');
    await makeKey('for a season');
    await rowOf('for a season').getByText('another App').waitFor();
    const { data } = (await (await created).json()) as {
      readonly data: { readonly key: { readonly expires_at: string } };
    };
    expect(Date.parse(data.key.expires_at)).to.be.closeTo(Date.now() + 90 * 86_400_000, 600_000);
  });

  it('shows at its field what the server refuses, and keeps what was written', async () => {
    await open(`${KEYS}?new=1`);
    await page.getByLabel('Monthly limit').fill('7');
    await name().fill('   ');
    await createButton().click();
    await page.getByText('A name must have 1 to 100 characters').waitFor();
    await focusOn(page, 'Name');
    expect(await name().getAttribute('aria-invalid')).to.equal('true');
    expect(await page.getByLabel('Monthly limit').inputValue()).to.equal('7');
    await name().fill('better');
    expect(await name().getAttribute('aria-invalid')).to.equal(null);
    for (const box of await page.getByRole('checkbox', { name: /:(read|write|manage)$/ }).all()) await box.uncheck();
    await createButton().click();
    await page.getByText('Tick what the key may do.').waitFor();
  });

  it('shows at its field what the browser refuses, one field after another', async () => {
    await open(`${KEYS}?new=1`);
    const limit = page.getByLabel('Monthly limit');
    await limit.fill('many');
    await createButton().click();
    await page.getByText('Fill in this field.').waitFor();
    await focusOn(page, 'Name');
    expect(await limit.getAttribute('aria-invalid')).to.equal(null);
    await name().fill('a key');
    await createButton().click();
    await page.getByText('Enter a whole number of at least 1.').waitFor();
    await focusOn(page, 'Monthly limitoptional, in credits');
    expect(await page.getByText('Fill in this field.').count()).to.equal(0);
    expect(await limit.getAttribute('aria-invalid')).to.equal('true');
  });

  it('shows the secret once: not after a reload, on the way back, or anywhere that stays', async () => {
    await open();
    const first = await makeKey('reloaded');
    expect(page.url()).not.to.include('svc_live_');
    expect(
      await page.evaluate('JSON.stringify([{...localStorage}, {...sessionStorage}, history.state])'),
    ).not.to.include('svc_live_');
    await page.reload();
    await rowOf('reloaded').waitFor();
    expect(await hasText(first)).to.equal(false);
    const second = await makeKey('left and back');
    await page.goto('/docs');
    await page.goBack();
    await rowOf('left and back').waitFor();
    expect(await hasText(second)).to.equal(false);
    const third = await makeKey('another page');
    await page.getByRole('link', { name: 'Connections' }).click();
    const question = page.getByRole('dialog').filter({ hasText: 'Leave without the secret?' });
    await question.getByRole('button', { name: 'Cancel' }).click();
    expect(await hasText(third)).to.equal(true);
    await page.getByRole('link', { name: 'Connections' }).click();
    await question.getByRole('button', { name: 'Leave' }).click();
    await page.getByRole('heading', { name: 'Connections', level: 1 }).waitFor();
    await page.goBack();
    await rowOf('another page').waitFor();
    expect(await hasText(third)).to.equal(false);
  });

  it('forgets the secret as soon as the page is left, also where the browser keeps the page', async () => {
    await open();
    const secret = await makeKey('kept by the browser');
    await page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))");
    await page.getByText('is ready').waitFor({ state: 'detached' });
    expect(await hasText(secret)).to.equal(false);
  });

  it('gives a first request that works as it is copied, and shows its picture', async () => {
    await visitor.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await open();
    const secret = await makeKey('for the first request');
    await page.getByText('Waiting for the first request').waitFor();
    await page.getByRole('button', { name: 'Copy the request' }).click();
    await page.getByRole('status').filter({ hasText: 'Copied the request.' }).waitFor();
    const request = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(request).to.include('$DARKROOM_API_KEY').and.not.include(secret);
    const answer = JSON.parse(await outputOf(request, { DARKROOM_API_KEY: secret })) as object;
    expect(answer).to.have.nested.property('data.status', 'succeeded');
    await page.getByText('credits charged').waitFor();
    await thumbnailOf(page, '.first-result img');
    await page.getByRole('button', { name: 'Copy as .env line' }).click();
    await page.getByRole('status').filter({ hasText: 'Copied the line.' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).to.equal(`DARKROOM_API_KEY=${secret}`);
    await page.getByRole('link', { name: 'Connections' }).click();
    await page.getByRole('heading', { name: 'Connections', level: 1 }).waitFor();
  });

  it('finds keys by name and by a whole secret, which does not get into the address', async () => {
    const { secret } = await keyOf('the leaked one');
    for (let count = 0; count < 10; count += 1) await keyOf(`one of many ${count}`);
    await open();
    await page.getByLabel('Find a key').fill('many 7');
    await rowOf('the leaked one').waitFor({ state: 'detached' });
    await rowOf('one of many 7').waitFor();
    await page.getByLabel('Find a key').fill(secret);
    await rowOf('the leaked one').waitFor();
    expect(await page.getByRole('row').count()).to.equal(2);
    expect(page.url()).not.to.include(secret.slice(-20));
    await page.getByLabel('Find a key').fill('no such key');
    await page.getByText('No active key matches').waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await rowOf('one of many 7').waitFor();
  });

  it('copies the id of a key, and leads to what it made', async () => {
    await visitor.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const { key } = await keyOf('with an id');
    await open(`${KEYS}?q=with+an+id`);
    await choose('with an id', 'Copy id');
    await page.getByRole('status').filter({ hasText: 'Copied the id.' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).to.equal(key.keyId);
    await choose('with an id', 'Show its generations');
    await page.getByRole('heading', { name: 'Generations', level: 1 }).waitFor();
    expect(new URL(page.url()).searchParams.get('key')).to.equal(key.keyId);
  });

  it('is used with the keyboard alone', async () => {
    await page.goto('/');
    await page.keyboard.press('Tab');
    await page.keyboard.type('ada@example.com');
    await page.keyboard.press('Tab');
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    await page.keyboard.press('Tab');
    await focusOn(page, 'Skip to content');
    await tabTo(page, 'API keys');
    await page.keyboard.press('Enter');
    await focusOn(page, 'API keys');
    await tabTo(page, 'Create key');
    await page.keyboard.press('Enter');
    await focusOn(page, 'Name');
    await page.keyboard.press('Escape');
    await focusOn(page, 'Create key');
    await page.keyboard.press('Enter');
    await focusOn(page, 'Name');
    await page.keyboard.type('typed');
    await page.keyboard.press('Enter');
    await focusOn(page, '“typed” is ready');
    await tabTo(page, 'I have copied it');
    await page.keyboard.press('Enter');
    await focusOn(page, 'Keys');
    const openRevoke = async (): Promise<void> => {
      await page.keyboard.press('Enter');
      await focusOn(page, 'Copy id');
      await page.keyboard.press('End');
      await focusOn(page, 'Revoke…');
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').waitFor();
    };
    await tabTo(page, 'Actions for typed');
    await openRevoke();
    await page.keyboard.press('Escape');
    await focusOn(page, 'Actions for typed');
    await openRevoke();
    await tabTo(page, 'Revoke key');
    await page.keyboard.press('Enter');
    await focusOn(page, 'Keys');
    expect(await rowOf('typed').count()).to.equal(0);
  });

  it('leads to sign-in and back when the session has ended', async () => {
    const read = ['overview', 'keys', 'apps'].map((what) => page.waitForResponse(`**/console/api/${what}`));
    await open(`${KEYS}?new=1`);
    await Promise.all(read);
    await visitor.context.clearCookies({ name: 'darkroom_session' });
    await name().fill('too late');
    await createButton().click();
    await page.waitForURL('**/sign-in?return=%2Fconsole%2Fkeys%3Fnew%3D1&ended=1');
    await page.getByRole('alert').filter({ hasText: 'Your session has ended.' }).waitFor();
    await page.getByLabel('E-mail address').fill('ada@example.com');
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('heading', { name: 'API keys', level: 1 }).waitFor();
    await name().waitFor();
    expect(await rowOf('too late').count()).to.equal(0);
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
    await harness().openSignedIn(visitor, KEYS, person);
    await page.getByText('Loading keys…').waitFor();
    answer();
    await page.getByText('No API keys yet').waitFor();
    expect(await page.getByText('Loading').count()).to.equal(0);
  });

  it('shows that the server is unreachable, and reloads the list when it returns', async () => {
    await keyOf('there in the end');
    await page.route('**/console/api/keys', (route) => route.abort());
    await open(`${KEYS}?q=there+in+the+end`);
    const failed = page.getByRole('alert').filter({ hasText: 'Can’t reach the server.' });
    await failed.waitFor();
    await page.unroute('**/console/api/keys');
    await rowOf('there in the end').waitFor();
    expect(await failed.count()).to.equal(0);
  });

  it('reports a failure after its dialog was closed, and not in the next dialog', async () => {
    await keyOf('first of two');
    await keyOf('second of two');
    await open(KEYS);
    let fail: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      fail = resolve;
    });
    await page.route('**/revoke', async (route) => {
      await held;
      await route.abort();
    });
    const ask = async (of: string): Promise<void> => {
      await page.getByRole('button', { name: `Actions for ${of}` }).click();
      await page.getByRole('menuitem', { name: 'Revoke…' }).click();
      await page.getByRole('dialog').getByText(`Revoke the key “${of}”?`).waitFor();
    };
    await ask('first of two');
    await page.getByRole('button', { name: 'Revoke key' }).click();
    await page.keyboard.press('Escape');
    await ask('second of two');
    fail();
    await page
      .locator('.toast')
      .filter({ hasText: 'Revoke the key “first of two”? Can’t reach the server.' })
      .waitFor();
    expect(await page.getByRole('dialog').getByRole('alert').count()).to.equal(0);
    await page.getByRole('dialog').getByText('Revoke the key “second of two”?').waitFor();
  });
});
