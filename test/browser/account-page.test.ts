/*
 * Goal: a person manages their ways to sign in, their sessions and what they prefer, on the account page in a real
 * browser; the keyboard is enough.
 * Method: the built page of a whole service in this process, in Chromium. One service and one browser for the file:
 * each test creates what it needs under its own names.
 */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { createAccount } from '../../core/access/manage.js';
import { grantCredits } from '../../core/credits/operate.js';
import { createPerson } from '../../core/people/manage-people.js';
import { createSignInLink } from '../../core/people/sign-in.js';
import { PASSWORD } from '../fronts/oauth/oauth-harness.js';
import { DeviceAuthenticator } from './device-authenticator.js';
import { focusOn, openPages, tabTo, type Visitor } from './page-harness.js';

const ACCOUNT = '/console/account';

describe('the account page in a browser', () => {
  let visitor: Visitor;
  let page: Page;
  const harness = openPages((next) => ({ page } = visitor = next));

  const confirm = (name: string) => page.getByRole('dialog').getByRole('button', { name }).click();
  const signOutByMenu = async (): Promise<void> => {
    await page.getByRole('button', { name: /account menu$/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
  };

  it("writes numbers and dates as the reader's language has them", async () => {
    const { context } = harness().service.harness;
    const { accountId } = await createAccount(context, { name: 'a rich account' });
    await grantCredits(context, { accountId, operationId: 'first', credits: 1_234_567, reason: 'to be shown' });
    const person = await createPerson(context, { accountId, email: 'rich@example.com' });
    const reader = await harness().newVisitor({ locale: 'de-DE', timezoneId: 'Europe/Berlin' });
    await harness().openSignedIn(reader, '/console/usage', person);
    await reader.page.getByText('1.234.567', { exact: true }).first().waitFor();
    await reader.page.goto(ACCOUNT);
    await reader.page
      .getByText(/expires \d\d\.\d\d\.\d{4}, \d\d:\d\d if unused/)
      .first()
      .waitFor();
    await reader.context.close();
    expect(reader.faults).to.deep.equal([]);
  });

  it('signs out other browsers, and not this one', async () => {
    const elsewhere = await harness().newVisitor();
    await harness().openSignedIn(elsewhere);
    await harness().openSignedIn(visitor, ACCOUNT);
    await page.getByRole('button', { name: 'Sign out everywhere else' }).first().click();
    await confirm('Sign out everywhere else');
    await page.getByRole('status').filter({ hasText: 'You are signed out everywhere else.' }).waitFor();
    await elsewhere.page.goto('/');
    expect(new URL(elsewhere.page.url()).pathname).to.equal('/sign-in');
    await page.reload();
    await page.getByText('This browser', { exact: true }).waitFor();
    await elsewhere.context.close();
  });

  it('says why a sign-in that a provider gave without asking is not enough', async () => {
    const proof = { method: 'provider', authenticatedAt: 0 } as const;
    await harness().openSignedIn(visitor, ACCOUNT, undefined, proof);
    await page
      .getByText(/sign in again with a password, .*or once your provider has asked who you are/)
      .first()
      .waitFor();
    expect(await page.getByText('more than 15 minutes ago').count()).to.equal(0);
  });

  it('adds a passkey, which then signs in alone, and removes it', async () => {
    await DeviceAuthenticator.of(page);
    await harness().openSignedIn(visitor, ACCOUNT);
    await page.getByLabel('Name of a new passkey').fill('virtual key');
    await page.getByRole('button', { name: 'Add passkey' }).click();
    await page.getByRole('status').filter({ hasText: 'The passkey virtual key is added.' }).waitFor();
    await page.getByRole('button', { name: 'Sign out', exact: true }).first().click();
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.waitForURL('**/console');
    await page.goto(ACCOUNT);
    await page.getByText('with a passkey').first().waitFor();
    await page.getByRole('button', { name: 'Remove virtual key' }).click();
    await confirm('Remove passkey');
    await page.getByText('No passkeys yet.').waitFor();
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
      await page.getByText('Your sign-in link can’t be used again.').waitFor();
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
      await page.getByRole('link', { name: 'Overview' }).first().click();
      await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
      expect(await page.getByText('Your sign-in link can’t be used again.').count()).to.equal(0);
      await signOutByMenu();
      await page.getByLabel('E-mail address').fill('newcomer-0@example.com');
      await page.getByLabel('Password').fill(PASSWORD);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await page.waitForURL('**/console');
    });

    it('offers no sign-out to one who could not come back', async () => {
      await newcomer(16 * 60_000);
      await page.getByText('Ask the operator for another link.').waitFor();
      expect(await page.getByRole('link', { name: 'Set a password or add a passkey' }).count()).to.equal(0);
      await page.goto(ACCOUNT);
      await page.getByText('To set one, ask the operator for another sign-in link').waitFor();
      expect(await page.getByRole('button', { name: 'Sign in again' }).count()).to.equal(0);
    });
  });

  it('leads through another sign-in to what takes a recent one', async () => {
    const { clock } = harness().service.harness;
    await harness().signInByForm(visitor, ACCOUNT);
    clock.advance(16 * 60_000);
    await page.reload();
    await page.getByRole('button', { name: 'Sign in again' }).click();
    await page.getByLabel('E-mail address').fill('ada@example.com');
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.waitForURL('**/console/account');
    await page.getByRole('button', { name: 'Add passkey' }).waitFor();
  });

  it('changes the password and stays signed in', async () => {
    await harness().openSignedIn(visitor, ACCOUNT);
    const change = async (from: string, to: string, again = to): Promise<void> => {
      await page.getByLabel('Current password').fill(from);
      await page.getByLabel('New password', { exact: true }).fill(to);
      await page.getByLabel('New password again').fill(again);
      await page.getByRole('button', { name: 'Change password' }).click();
    };
    await change(PASSWORD, `${PASSWORD} too`, 'something else entirely');
    await page.getByText('The two new passwords differ.').waitFor();
    await focusOn(page, 'New password again');
    await change('wrong password!', `${PASSWORD} too`);
    await page.getByText('The current password is wrong.').waitFor();
    await focusOn(page, 'Current password');
    await change(PASSWORD, `${PASSWORD} too`);
    await page.getByRole('status').filter({ hasText: 'The password is set.' }).waitFor();
    await change(`${PASSWORD} too`, PASSWORD);
    await page.getByText('This browser', { exact: true }).waitFor();
  });

  it('keeps the theme and the choice of shortcuts in this browser', async () => {
    const themeOf = () => page.evaluate('document.documentElement.dataset.theme ?? null');
    await harness().openSignedIn(visitor, ACCOUNT);
    expect(await themeOf()).to.equal(null);
    await page.getByRole('radio', { name: 'Dark' }).check();
    expect(await themeOf()).to.equal('dark');
    await page.getByLabel('Single-key shortcuts').uncheck();
    await page.reload();
    await page.getByRole('radio', { name: 'Dark' }).waitFor();
    expect(await themeOf()).to.equal('dark');
    expect(await page.getByLabel('Single-key shortcuts').isChecked()).to.equal(false);
    await page.getByRole('radio', { name: 'System' }).check();
    expect(await themeOf()).to.equal(null);
  });

  it('is used with the keyboard alone', async () => {
    const elsewhere = await harness().newVisitor();
    await harness().openSignedIn(elsewhere);
    await harness().openSignedIn(visitor, ACCOUNT);
    await page.getByRole('button', { name: 'Sign out everywhere else' }).waitFor();
    await tabTo(page, 'Current password');
    await page.keyboard.type('wrong password!');
    await page.keyboard.press('Tab');
    await page.keyboard.type(`${PASSWORD} too`);
    await page.keyboard.press('Tab');
    await page.keyboard.type(`${PASSWORD} too`);
    await page.keyboard.press('Enter');
    await page.getByText('The current password is wrong.').waitFor();
    await focusOn(page, 'Current password');
    await tabTo(page, 'Sign out everywhere else');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await focusOn(page, 'Sign out everywhere else');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await focusOn(page, 'Where you are signed in');
    await tabTo(page, 'System');
    await page.keyboard.press('ArrowRight');
    expect(await page.evaluate('document.documentElement.dataset.theme')).to.equal('light');
    await elsewhere.context.close();
  });
});
