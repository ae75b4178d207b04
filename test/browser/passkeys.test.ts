/*
 * Goal: a person adds a passkey on the account page, and signs in with it alone, in a real browser; the sign-in page says
 * what went wrong, and offers nothing where the browser has no passkeys.
 * Method: Chromium with its virtual authenticator, which stores passkeys and simulates the person's fingerprint.
 */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { removePasskey } from '../../core/people/passkeys.js';
import { beginSession, type SignedIn } from '../../core/people/sessions.js';
import { DeviceAuthenticator } from './device-authenticator.js';
import { focusOn, openPages, type Visitor } from './page-harness.js';

const ACCOUNT = '/console/account';

describe('passkeys in a browser', () => {
  let visitor: Visitor;
  let page: Page;
  const harness = openPages((next) => ({ page } = visitor = next));

  afterEach(async () => {
    for (const { credentialId } of (await owner()).person.passkeys) await remove(credentialId);
  });

  /** The person in a session that has just begun. */
  const owner = async (): Promise<SignedIn> => {
    const { harness: service, person } = harness().service;
    const current = (await service.context.people.read(person.personId)) ?? person;
    return beginSession(service.context, current, { method: 'password', userAgent: '' });
  };
  const remove = async (credentialId: string) =>
    removePasskey(harness().service.harness.context, await owner(), credentialId);

  const rowOf = (name: string) => page.getByRole('listitem').filter({ hasText: name });
  const signInButton = () => page.getByRole('button', { name: 'Sign in with a passkey' });
  const add = async (name: string): Promise<void> => {
    await page.getByLabel('Name of a new passkey').fill(name);
    await page.getByRole('button', { name: 'Add passkey' }).click();
  };
  /** Added on the account page; then the person is signed out, at the sign-in page. */
  const signedOutWithPasskey = async (): Promise<DeviceAuthenticator> => {
    const authenticator = await DeviceAuthenticator.of(page);
    await harness().openSignedIn(visitor, ACCOUNT);
    await add('laptop');
    await page.getByRole('heading', { name: 'laptop', exact: true }).waitFor();
    await visitor.context.clearCookies();
    await page.goto(`/sign-in?return=${encodeURIComponent(ACCOUNT)}`);
    return authenticator;
  };

  it('signs in with one that was added on the account page, and leads on', async () => {
    await signedOutWithPasskey();
    await signInButton().click();
    await page.waitForURL((url) => url.pathname === ACCOUNT);
    await rowOf('This browser').getByText('with a passkey').waitFor();
  });

  it('shows that none was used when the person is not verified, and offers another try', async () => {
    const authenticator = await signedOutWithPasskey();
    await authenticator.verifyPerson(false);
    await signInButton().click();
    await page.getByRole('alert').filter({ hasText: 'No passkey was used.' }).waitFor();
    await focusOn(page, 'Sign in with a passkey');
    await authenticator.verifyPerson(true);
    await signInButton().click();
    await page.waitForURL((url) => url.pathname === ACCOUNT);
  });

  it('refuses one that was removed, in the words of the service', async () => {
    await signedOutWithPasskey();
    await remove((await owner()).person.passkeys[0]?.credentialId ?? '');
    await signInButton().click();
    await page.getByRole('alert').filter({ hasText: 'The passkey was not accepted' }).waitFor();
    expect(new URL(page.url()).pathname).to.equal('/sign-in');
  });

  it('adds one for each device, and renames and removes it', async () => {
    await DeviceAuthenticator.of(page);
    await harness().openSignedIn(visitor, ACCOUNT);
    await add('laptop');
    await page.getByRole('status').filter({ hasText: 'laptop' }).waitFor();
    await add('again');
    await page.getByText('This device has a passkey for your account already.').waitFor();
    await focusOn(page, 'Name of a new passkey');
    await rowOf('laptop')
      .getByRole('button', { name: /^Rename/ })
      .click();
    await page.getByLabel('New name').fill('desk');
    await page.getByRole('button', { name: 'Save' }).click();
    await rowOf('desk')
      .getByRole('button', { name: /^Remove/ })
      .click();
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Remove/ })
      .click();
    await page.getByText('No passkeys yet.').waitFor();
  });

  it('asks for another sign-in before one is removed, also in a page that was left open, and comes back', async () => {
    const { clock } = harness().service.harness;
    await DeviceAuthenticator.of(page);
    await harness().openSignedIn(visitor, ACCOUNT);
    await add('laptop');
    const removal = rowOf('laptop').getByRole('button', { name: /^Remove/ });
    await removal.waitFor();
    clock.advance(16 * 60_000);
    await removal.click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Remove passkey' }).click();
    const refusal = dialog.getByRole('alert').filter({ hasText: 'a sign-in of the last 15 minutes' });
    await refusal.getByRole('button', { name: 'Sign in again' }).waitFor();
    await page.reload();
    await page.getByText('To add or remove one, sign in again').waitFor();
    expect(await removal.count()).to.equal(0);
    await page.getByRole('button', { name: 'Sign in again' }).click();
    await signInButton().click();
    await page.waitForURL((url) => url.pathname === ACCOUNT);
    await removal.click();
    await dialog.getByRole('button', { name: 'Remove passkey' }).click();
    await page.getByText('No passkeys yet.').waitFor();
  });

  it('offers none where the browser has none', async () => {
    await page.addInitScript('delete window.PublicKeyCredential');
    await page.goto('/sign-in');
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
    await page.waitForLoadState('networkidle');
    expect(await signInButton().isVisible()).to.equal(false);
    await harness().openSignedIn(visitor, ACCOUNT);
    await page.getByText('This browser can’t create').waitFor();
    expect(await page.getByLabel('Name of a new passkey').count()).to.equal(0);
  });
});
