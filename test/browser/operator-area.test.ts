/*
 * Goal: an operator uses every function of the operator's area in a real browser: finds an account, grants credits once
 * whatever answers are lost, suspends and resumes it, invites and resets people, cancels work and checks the books; a
 * sign-in with a passkey is asked for, and the keyboard is enough.
 * Method: the built page of a whole service in this process, in Chromium with its virtual authenticator. Each test has
 * its own account.
 */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { createAccount, createApp, createKey } from '../../core/access/manage.js';
import { grantCredits } from '../../core/credits/operate.js';
import { createPerson } from '../../core/people/manage-people.js';
import { promotePerson } from '../../core/people/operators.js';
import type { Person } from '../../core/people/person.js';
import { generate, makeOperator } from '../fronts/console/console-harness.js';
import { DeviceAuthenticator } from './device-authenticator.js';
import { focusOn, openPages, tabTo, type Visitor } from './page-harness.js';

const ACCOUNTS = '/console/operator/accounts';
const QUARTER_MS = 15 * 60_000;

describe("the operator's area in a browser", () => {
  let olga: Person;
  let visitor: Visitor;
  let page: Page;
  const harness = openPages((next) => ({ page } = visitor = next), { people: { hasOperatorArea: true } });
  before(async () => {
    olga = await makeOperator(harness().service, 'olga@example.com');
  });

  const context = () => harness().service.harness.context;

  const open = (path: string) => harness().openSignedIn(visitor, path, olga, { method: 'passkey' });
  const dialog = () => page.getByRole('dialog');
  const confirm = (name: string) => dialog().getByRole('button', { name, exact: true }).click();
  const said = (text: string | RegExp) => page.getByRole('status').filter({ hasText: text }).waitFor();
  /** An account with a key, and 100 credits. */
  const anAccount = async (name: string) => {
    const { accountId } = await createAccount(context(), { name });
    await grantCredits(context(), { accountId, operationId: 'first', credits: 100, reason: 'to begin with' });
    const { appId } = await createApp(context(), { accountId, name: 'an App' });
    const { secret } = await createKey(context(), { appId, name: 'a key' });
    return { accountId, secret };
  };
  const availableOf = async (accountId: string) => (await context().accounts.read(accountId))?.available;
  const askFor = async (credits: string, reason = 'an invoice'): Promise<void> => {
    await page.getByLabel('Amount, in').fill(credits);
    await page.getByLabel('Reason').fill(reason);
    await page.getByRole('button', { name: 'Go on' }).click();
    await dialog().waitFor();
  };

  it('finds an account by its name, and leads to it and back', async () => {
    await anAccount('a studio to be found');
    await open(ACCOUNTS);
    await page.getByRole('searchbox').fill('TO BE FOUND');
    await page.getByRole('button', { name: 'Find' }).click();
    await page.getByRole('link', { name: 'a studio to be found' }).click();
    await focusOn(page, 'Account');
    await page.getByText('to begin with').waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'All accounts' }).waitFor();
    await page.getByRole('searchbox').fill('nobody@example.com');
    await page.getByRole('button', { name: 'Find' }).click();
    await page.getByText('There is no such account.').waitFor();
  });

  it('reads on behind the first page of a list', async () => {
    for (let index = 0; index < 26; index += 1) await createAccount(context(), { name: `one of many, ${index}` });
    await open(ACCOUNTS);
    await page.getByRole('searchbox').fill('one of many');
    await page.getByRole('button', { name: 'Find' }).click();
    const rows = page.getByRole('link', { name: /^one of many/ });
    await page.getByRole('heading', { name: 'Accounts with “one of many”' }).waitFor();
    await rows.nth(24).waitFor();
    expect(await rows.count(), 'on the first page').to.equal(25);
    await page.getByRole('button', { name: 'More accounts' }).click();
    await rows.nth(25).waitFor();
    expect(await rows.count()).to.equal(26);
  });

  it('grants credits once, though the answer is lost and the button is clicked again', async () => {
    const { accountId } = await anAccount('to be granted to');
    await open(`${ACCOUNTS}/${accountId}`);
    await askFor('50');
    await dialog().getByText('150').waitFor();
    const path = '**/console/api/operator/accounts/*/grants';
    await page.route(path, async (route) => {
      await route.fetch();
      await route.abort();
    });
    await confirm('Grant');
    await dialog().getByRole('alert').filter({ hasText: 'could not be reached' }).waitFor();
    expect(await availableOf(accountId)).to.equal(150);
    await page.unroute(path);
    await confirm('Grant');
    await said(/went through at .* already/);
    expect(await availableOf(accountId)).to.equal(150);
    await page.getByRole('heading', { name: 'Grant 50' }).waitFor();
    await page.getByText('olga@example.com').first().waitFor();
  });

  it('does not grant another amount after an answer that was lost, before the operator has looked', async () => {
    const { accountId } = await anAccount('to be granted to with doubt');
    await open(`${ACCOUNTS}/${accountId}`);
    await askFor('50');
    const path = '**/console/api/operator/accounts/*/grants';
    await page.route(path, async (route) => {
      await route.fetch();
      await route.abort();
    });
    await confirm('Grant');
    await dialog().getByRole('alert').waitFor();
    await page.unroute(path);
    await confirm('Cancel');
    await askFor('60');
    await confirm('Grant');
    await dialog().getByRole('alert').filter({ hasText: 'has gone through after all' }).waitFor();
    expect(await availableOf(accountId)).to.equal(150);
  });

  it('takes credits back with a reason, and says why it cannot', async () => {
    const { accountId } = await anAccount('to be corrected');
    await open(`${ACCOUNTS}/${accountId}`);
    await page.getByLabel('Kind').selectOption('Adjustment');
    await askFor('-101', 'a mistake');
    await confirm('Adjust');
    await dialog().getByRole('alert').filter({ hasText: 'below zero' }).waitFor();
    await confirm('Cancel');
    await askFor('-40', 'a mistake');
    await confirm('Adjust');
    await said('It is in the ledger.');
    expect(await availableOf(accountId)).to.equal(60);
    await page.getByRole('heading', { name: 'Adjustment -40' }).waitFor();
    await focusOn(page, 'Grant or adjust');
  });

  it('suspends an account with its work, resumes and renames it', async () => {
    const { accountId, secret } = await anAccount('to be suspended');
    await generate(harness().service, secret, 'a lighthouse');
    await open(`${ACCOUNTS}/${accountId}`);
    await page.getByRole('button', { name: 'Suspend' }).click();
    await dialog().getByRole('checkbox').check();
    await confirm('Suspend it');
    await said('1 generation cancelled');
    await page.getByText(/^Suspended since/).waitFor();
    await page.getByRole('button', { name: 'Resume' }).click();
    await confirm('Resume it');
    await said('The account is resumed.');
    await page.getByRole('button', { name: 'Rename' }).click();
    await dialog().getByLabel('New name').fill('another name');
    await confirm('Rename');
    await page.getByRole('heading', { name: 'another name' }).waitFor();
  });

  it('creates an account and a person, whose link is shown once', async () => {
    await open(ACCOUNTS);
    await page.getByRole('button', { name: 'New account' }).click();
    await dialog().getByLabel('Name').fill('made in a browser');
    await confirm('Create account');
    await page.getByText('Nobody signs in for this account.').waitFor();
    await page.getByText('There are no entries yet.').waitFor();
    await page.getByText('The account has no keys.').waitFor();
    await page.getByRole('button', { name: 'New person' }).click();
    await dialog().getByLabel('E-mail address').fill('invited@example.com');
    await confirm('Create person');
    const link = await page.locator('.secret code').innerText();
    expect(link).to.include('/sign-in/link/');
    const guest = await harness().newVisitor();
    await guest.page.goto(link);
    await guest.page.getByRole('button', { name: 'Sign in' }).click();
    await guest.page.getByText('Your sign-in link worked once.').waitFor();
    expect(await guest.page.getByText('Operator', { exact: true }).count()).to.equal(0);
    await guest.context.close();
    await page.reload();
    await page.getByText('invited@example.com').waitFor();
    expect(await page.content()).not.to.include('/sign-in/link/');
  });

  it('resets, disables and enables a person', async () => {
    const { accountId } = await anAccount('with people');
    await createPerson(context(), { accountId, email: 'bob@example.com' });
    await open(`${ACCOUNTS}/${accountId}`);
    await page.getByRole('button', { name: 'Reset the sign-in of bob@example.com' }).click();
    await confirm('Reset it');
    await page.getByText('The link for bob@example.com is shown this once.').waitFor();
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByRole('button', { name: 'Disable bob@example.com' }).click();
    await confirm('Disable them');
    await said('bob@example.com may not sign in any more.');
    await page.getByRole('button', { name: 'Enable bob@example.com' }).click();
    await confirm('Enable them');
    await said('bob@example.com may sign in.');
  });

  it('erases a trace, a person and an account, each only once the operator has confirmed that it is final', async () => {
    const { accountId } = await anAccount('to be erased');
    await createPerson(context(), { accountId, email: 'eve@example.com' });
    await open(`${ACCOUNTS}/${accountId}`);
    await page.getByRole('button', { name: 'Erase a trace' }).click();
    await dialog().getByLabel('client_trace_id').fill('order-17');
    await confirm('Erase it');
    expect(await context().erasures.due(Number.MAX_SAFE_INTEGER, 10), 'not confirmed').to.deep.equal([]);
    await dialog().getByRole('checkbox').check();
    await confirm('Erase it');
    await said('It is being erased.');
    await page.getByRole('button', { name: 'Erase eve@example.com' }).click();
    await dialog().getByRole('checkbox').check();
    await confirm('Erase them');
    await said('The person is being erased');
    await page.getByRole('button', { name: 'Erase the account' }).click();
    await dialog().getByText('Amounts, times and ids of the ledger stay.').waitFor();
    await dialog().getByRole('checkbox').check();
    await confirm('Erase it');
    await page.getByText('The account is being erased, since').waitFor();
    expect(await page.getByRole('button', { name: 'Resume' }).count()).to.equal(0);
    expect((await context().accounts.read(accountId))?.erasedAt).to.be.a('number');
  });

  it('shows open work, a prompt on request, and cancels it', async () => {
    const { secret } = await anAccount('with work');
    const id = await generate(harness().service, secret, 'a secret lighthouse');
    await open('/console/operator/queue');
    await page.getByText('Oldest hold').waitFor();
    await page.goto(`/console/operator/queue/${id}`);
    await page.getByRole('button', { name: 'Show the prompt' }).waitFor();
    expect(await page.content()).not.to.include('a secret lighthouse');
    await page.getByRole('button', { name: 'Show the prompt' }).click();
    await page.getByText('a secret lighthouse').waitFor();
    await page.getByRole('button', { name: `Cancel the generation ${id}` }).click();
    await confirm('End it');
    await said('The generation is cancelled.');
    await page.getByRole('heading', { name: 'picture, cancelled' }).waitFor();
  });

  it('shows the providers', async () => {
    await open('/console/operator/providers');
    await page.getByRole('heading', { name: 'canned' }).waitFor();
    await page.getByText('Not used in the last hour').waitFor();
  });

  it('checks the books, and stops a check', async () => {
    await open('/console/operator/ledger');
    await page.getByRole('button', { name: 'Check the books' }).click();
    await page.getByText(/accounts?, .* agree\.$/).waitFor();
    const { accounts } = context();
    const list = accounts.list.bind(accounts);
    let letGo: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    accounts.list = async (...given) => {
      await held;
      return list(...given);
    };
    await page.getByRole('button', { name: 'Check again' }).click();
    await page.getByText('looked at…').waitFor();
    await page.getByRole('button', { name: 'Stop the check' }).click();
    await page.getByText('Stopped after').waitFor();
    accounts.list = list;
    letGo();
  });

  for (const [answer, response] of Object.entries({
    'refuses it': { status: 502, contentType: 'text/html', body: '<h1>Bad Gateway</h1>' },
    'answers itself': { status: 200, contentType: 'text/html', body: '<h1>Please wait</h1>\n' },
  }))
    it(`shows that a check cannot be read where a proxy ${answer}`, async () => {
      await page.route('**/console/api/operator/verify', (route) => route.fulfill(response));
      await open('/console/operator/ledger');
      await page.getByRole('button', { name: 'Check the books' }).click();
      await page.getByText('The server gave an answer that this page cannot read.').waitFor();
    });

  it('shows that a list could not be read, and reads it again', async () => {
    await page.route('**/console/api/operator/providers', (route) => route.abort());
    await open('/console/operator/providers');
    const failed = page.getByRole('alert').filter({ hasText: 'The server could not be reached.' });
    await failed.waitFor();
    await page.unroute('**/console/api/operator/providers');
    await failed.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: 'canned' }).waitFor();
  });

  it('shows that nothing is open', async () => {
    await page.route('**/console/api/operator/work', async (route) => {
      const answer = await route.fetch();
      const body = (await answer.json()) as { readonly data: object };
      await route.fulfill({ response: answer, json: { ...body, data: { ...body.data, work: [] } } });
    });
    await open('/console/operator/queue');
    await page.getByText('Nothing is open').waitFor();
  });

  describe('and its sign-in', () => {
    it('takes a passkey: an operator adds one, is promoted, and signs in again with it from the page', async () => {
      const { accountId } = await anAccount('of a new operator');
      const otto = await createPerson(context(), { accountId, email: 'otto@example.com' });
      await DeviceAuthenticator.of(page);
      await harness().openSignedIn(visitor, '/console/account', otto);
      expect(await page.getByText('Operator', { exact: true }).count()).to.equal(0);
      await page.getByLabel('Name of a new passkey').fill('laptop');
      await page.getByRole('button', { name: 'Add a passkey' }).click();
      await said('The passkey laptop is added.');
      await promotePerson(context(), otto.personId);
      await page.reload();
      await page.getByText('As an operator you add a passkey after signing in with one.').waitFor();
      await page.getByRole('link', { name: 'Open work' }).click();
      await page.getByRole('heading', { name: 'A passkey is needed' }).waitFor();
      await page.getByRole('button', { name: 'Sign in again with a passkey' }).click();
      await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
      await page.waitForURL('**/console/operator/queue');
      await page.getByText('Oldest hold').waitFor();
    });

    it('must be recent for a change, also where it has grown old while the page was open', async () => {
      const { accountId } = await anAccount('to be changed late');
      await open(`${ACCOUNTS}/${accountId}`);
      await page.getByRole('button', { name: 'Suspend' }).waitFor();
      harness().service.harness.clock.advance(QUARTER_MS + 1_000);
      await page.getByRole('button', { name: 'Suspend' }).click();
      await confirm('Suspend it');
      await dialog().getByRole('alert').filter({ hasText: 'sign in again' }).waitFor();
      await dialog().getByRole('button', { name: 'Sign in again with a passkey' }).waitFor();
      await confirm('Cancel');
      await page.getByText('You signed in more than 15 minutes ago.').waitFor();
      expect((await context().accounts.read(accountId))?.suspendedAt).to.equal(undefined);
    });
  });

  it('is used with the keyboard alone', async () => {
    const { accountId } = await anAccount('for the keyboard');
    await open(ACCOUNTS);
    await page.getByRole('searchbox').waitFor();
    await tabTo(page, 'Accounts');
    await page.getByRole('searchbox').focus();
    await page.keyboard.type('for the keyboard');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Accounts with “for the keyboard”' }).waitFor();
    await tabTo(page, 'for the keyboard');
    await page.keyboard.press('Enter');
    await focusOn(page, 'Account');
    await page.getByRole('button', { name: 'Suspend' }).waitFor();
    await tabTo(page, 'Suspend');
    await page.keyboard.press('Enter');
    await dialog().waitFor();
    await page.keyboard.press('Escape');
    await focusOn(page, 'Suspend');
    await page.keyboard.press('Enter');
    await tabTo(page, 'Suspend it');
    await page.keyboard.press('Enter');
    await said('The account is suspended.');
    await focusOn(page, 'for the keyboard');
    expect((await context().accounts.read(accountId))?.suspendedAt).to.be.a('number');
  });
});
