/*
 * Goal: an operator uses every function of the operator's area in a real browser: sees what needs attention, finds an
 * account, grants credits once whatever answers are lost, suspends and resumes it, creates Apps and keys, invites and resets
 * people, cancels generations, reloads the catalog and checks the ledgers; a sign-in with a passkey is asked for, and the
 * keyboard is enough.
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
import type { CatalogSource, ReadCatalog } from '../../core/ports/catalog.js';
import { MODELS } from '../fixtures/models.js';
import { generate, makeOperator } from '../fronts/console/console-harness.js';
import { DeviceAuthenticator } from './device-authenticator.js';
import { focusOn, openPages, tabTo, type Visitor } from './page-harness.js';

const ACCOUNTS = '/console/operator/accounts';
const QUARTER_MS = 15 * 60_000;

describe("the operator's area in a browser", () => {
  let olga: Person;
  let visitor: Visitor;
  let page: Page;
  /** The file of the catalog, as it is and as this process uses it. */
  let file: Awaited<ReturnType<CatalogSource['read']>>;
  let used: ReadCatalog = { models: MODELS.slice(0, 2), text: '# ours\nversion: 1\n', readAt: Date.now() };
  const catalogSource: CatalogSource = {
    name: 'catalog.yaml',
    inUse: () => used,
    read: () => Promise.resolve(file),
    reload: () => {
      if ('models' in file) used = file;
      return Promise.resolve(file);
    },
  };
  const harness = openPages((next) => ({ page } = visitor = next), {
    people: { hasOperatorArea: true },
    catalogSource,
  });
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
  /** Opens a dialog for credits, and fills it in. */
  const askFor = async (kind: 'Grant' | 'Adjust', credits: string, reason = 'an invoice'): Promise<void> => {
    await page.getByRole('button', { name: `${kind} credits…` }).click();
    await dialog().getByLabel('Amount').fill(credits);
    await dialog().getByLabel('Reason').fill(reason);
  };
  /** Chooses an act from a menu. */
  const choose = async (menu: string, act: string): Promise<void> => {
    await page.getByRole('button', { name: menu }).click();
    await page.getByRole('menuitem', { name: act }).click();
    await dialog().waitFor();
  };
  const rowOf = (name: string | RegExp) => page.getByRole('row').filter({ hasText: name });

  it('shows what happens and what waits longest, and leads there', async () => {
    const { secret } = await anAccount('of a busy studio');
    await generate(harness().service, secret, 'a lighthouse');
    await open('/console/operator');
    await page.getByText('Failed, last hour').waitFor();
    await page.getByRole('img', { name: 'Generations per half hour by outcome' }).waitFor();
    await page.getByRole('table').getByText('Ready. Not used in the last hour.').waitFor();
    await page.getByRole('heading', { name: 'Waiting longest' }).waitFor();
    await rowOf('of a busy studio').getByRole('link', { name: 'picture' }).click();
    await page.getByRole('button', { name: 'Show request' }).waitFor();
  });

  it('finds an account by its name, and leads to it and back', async () => {
    await anAccount('a studio to be found');
    await open(ACCOUNTS);
    await page.getByRole('searchbox').fill('TO BE FOUND');
    await page.getByRole('heading', { name: 'Accounts with “TO BE FOUND”' }).waitFor();
    await page.getByRole('link', { name: 'a studio to be found' }).click();
    await focusOn(page, 'a studio to be found');
    await page.getByText('to begin with').waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Accounts with “TO BE FOUND”' }).waitFor();
    await page.getByRole('searchbox').fill('nobody@example.com');
    await page.getByRole('heading', { name: 'No account matches' }).waitFor();
    await page.getByRole('button', { name: 'Show all accounts' }).click();
    await page.getByRole('heading', { name: 'All accounts' }).waitFor();
    expect(await page.getByRole('searchbox').inputValue()).to.equal('');
  });

  it('reads on behind the first page of a list', async () => {
    for (let index = 0; index < 26; index += 1) await createAccount(context(), { name: `one of many, ${index}` });
    await open(ACCOUNTS);
    await page.getByRole('searchbox').fill('one of many');
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
    await askFor('Grant', '50');
    await dialog().getByText('Balance after 150 credits').waitFor();
    const path = '**/console/api/operator/accounts/*/grants';
    await page.route(path, async (route) => {
      await route.fetch();
      await route.abort();
    });
    await confirm('Grant 50 credits');
    await dialog().getByRole('alert').filter({ hasText: 'Can’t reach the server.' }).waitFor();
    expect(await availableOf(accountId)).to.equal(150);
    await page.unroute(path);
    await confirm('Grant 50 credits');
    await said(/went through at .* already/);
    expect(await availableOf(accountId)).to.equal(150);
    const entry = rowOf('an invoice');
    await entry.getByText('Granted').waitFor();
    await entry.getByRole('cell', { name: '50', exact: true }).waitFor();
    await entry.getByText('olga@example.com').waitFor();
  });

  it('does not grant another amount after an answer that was lost, before the operator has looked', async () => {
    const { accountId } = await anAccount('to be granted to with doubt');
    await open(`${ACCOUNTS}/${accountId}`);
    await askFor('Grant', '50');
    const path = '**/console/api/operator/accounts/*/grants';
    await page.route(path, async (route) => {
      await route.fetch();
      await route.abort();
    });
    await confirm('Grant 50 credits');
    await dialog().getByRole('alert').waitFor();
    await page.unroute(path);
    await confirm('Cancel');
    await askFor('Grant', '60');
    await confirm('Grant 60 credits');
    await dialog().getByRole('alert').filter({ hasText: 'has gone through after all' }).waitFor();
    expect(await availableOf(accountId)).to.equal(150);
  });

  it('takes credits back with a reason, and says why it cannot', async () => {
    const { accountId } = await anAccount('to be corrected');
    await open(`${ACCOUNTS}/${accountId}`);
    await askFor('Adjust', '-101', 'a mistake');
    await confirm('Take back 101 credits');
    await dialog().getByRole('alert').filter({ hasText: 'below zero' }).waitFor();
    await dialog().getByLabel('Amount').fill('-40');
    await confirm('Take back 40 credits');
    await said('The entry is in the ledger.');
    expect(await availableOf(accountId)).to.equal(60);
    await rowOf('Adjusted').getByRole('cell', { name: '-40' }).waitFor();
    await focusOn(page, 'to be corrected');
  });

  it('suspends an account with its open generations, resumes and renames it', async () => {
    const { accountId, secret } = await anAccount('to be suspended');
    await generate(harness().service, secret, 'a lighthouse');
    await open(`${ACCOUNTS}/${accountId}`);
    await choose('More actions', 'Suspend…');
    await dialog().getByRole('checkbox').check();
    await confirm('Suspend account');
    await said('1 generation cancelled');
    await page.getByText(/^Suspended since/).waitFor();
    await choose('More actions', 'Resume…');
    await confirm('Resume account');
    await said('The account is resumed.');
    await choose('More actions', 'Rename…');
    await dialog().getByLabel('New name').fill('another name');
    await confirm('Rename account');
    await page.getByRole('heading', { name: 'another name' }).waitFor();
  });

  it('creates an account and a person, whose link is shown once', async () => {
    await open(ACCOUNTS);
    await page.getByRole('button', { name: 'Create account…' }).click();
    await dialog().getByLabel('Name', { exact: true }).fill('made in a browser');
    await confirm('Create account');
    await page.getByText('Nobody signs in for this account.').waitFor();
    await page.getByText('No entries yet').waitFor();
    await page.getByText('No API keys yet').waitFor();
    await page.getByRole('button', { name: 'Create person…' }).click();
    await dialog().getByLabel('E-mail address').fill('invited@example.com');
    await confirm('Create person');
    const link = await page.locator('.once code').innerText();
    expect(link).to.include('/sign-in/link/');
    const guest = await harness().newVisitor();
    await guest.page.goto(link);
    await guest.page.getByRole('button', { name: 'Sign in' }).click();
    await guest.page.getByText('Your sign-in link can’t be used again.').waitFor();
    expect(await guest.page.getByText('Operator', { exact: true }).count()).to.equal(0);
    await guest.context.close();
    await page.reload();
    await rowOf('invited@example.com').waitFor();
    expect(await page.content()).not.to.include('/sign-in/link/');
  });

  it('creates and renames an App, and creates a key, whose secret is shown once, and revokes it', async () => {
    const { accountId } = await createAccount(context(), { name: 'with programs' });
    await open(`${ACCOUNTS}/${accountId}`);
    await page.getByText('Create an App first.').waitFor();
    await page.getByRole('button', { name: 'Create App…' }).click();
    await dialog().getByLabel('Name').fill('shop');
    await confirm('Create App');
    await said('The App shop is created.');
    await choose('Actions for shop', 'Rename…');
    await dialog().getByLabel('Name').fill('web shop');
    await confirm('Rename App');
    await said('The App is renamed.');
    await page.getByRole('button', { name: 'Create key…' }).click();
    await dialog().getByLabel('Name').fill('backend');
    await dialog().getByLabel('Monthly limit').fill('500');
    await dialog().getByLabel('See the balance').uncheck();
    await confirm('Create key');
    const secret = await page.locator('.once code').innerText();
    expect(secret).to.match(/^svc_live_/);
    const asKey = () =>
      fetch(`${harness().service.origin}/api/v1/developer/models`, { headers: { Authorization: `Bearer ${secret}` } });
    expect((await asKey()).status).to.equal(200);
    await page.reload();
    const row = rowOf('backend');
    await row.getByText('web shop').waitFor();
    await row.getByRole('cell', { name: '500' }).waitFor();
    await row.getByText(`${secret.slice(0, 12)}…`).waitFor();
    expect(await row.getByText('balance').count(), 'a scope that was not ticked').to.equal(0);
    expect(await page.content()).not.to.include(secret);
    await choose('Actions for backend', 'Revoke…');
    await confirm('Revoke key');
    await said('The key backend is revoked.');
    await rowOf('backend').getByText('Revoked').waitFor();
  });

  it('resets, disables and enables a person', async () => {
    const { accountId } = await anAccount('with people');
    await createPerson(context(), { accountId, email: 'bob@example.com' });
    await open(`${ACCOUNTS}/${accountId}`);
    await choose('Actions for bob@example.com', 'Reset sign-in…');
    await confirm('Reset sign-in');
    await page.getByText('Copy the sign-in link of bob@example.com now: it is shown only once.').waitFor();
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await choose('Actions for bob@example.com', 'Disable…');
    await confirm('Disable person');
    await said('bob@example.com can’t sign in any more.');
    await choose('Actions for bob@example.com', 'Enable…');
    await confirm('Enable person');
    await said('bob@example.com can sign in again.');
  });

  it('creates a new sign-in link for a person who never signed in, and for nobody else', async () => {
    const { accountId } = await anAccount('with invited people');
    await createPerson(context(), { accountId, email: 'late@example.com' });
    const made = await createPerson(context(), { accountId, email: 'known@example.com' });
    const known = { ...made, lastSignInAt: context().clock.now(), version: made.version + 1 };
    await context().people.replace(known, made.version);
    await open(`${ACCOUNTS}/${accountId}`);
    await choose('Actions for late@example.com', 'New sign-in link…');
    await confirm('Create link');
    expect(await page.locator('.once code').innerText()).to.include('/sign-in/link/');
    await page.getByRole('button', { name: 'Actions for known@example.com' }).click();
    await page.getByRole('menuitem', { name: 'Disable…' }).waitFor();
    expect(await page.getByRole('menuitem', { name: 'New sign-in link…' }).count()).to.equal(0);
  });

  it('erases a trace, a person and an account, each only once the operator has confirmed that it is final', async () => {
    const { accountId } = await anAccount('to be erased');
    await createPerson(context(), { accountId, email: 'eve@example.com' });
    await open(`${ACCOUNTS}/${accountId}`);
    await choose('More actions', 'Erase a trace…');
    await dialog().getByLabel('client_trace_id').fill('order-17');
    await confirm('Erase trace');
    expect(await context().erasures.due(Number.MAX_SAFE_INTEGER, 10), 'not confirmed').to.deep.equal([]);
    await dialog().getByRole('checkbox').check();
    await confirm('Erase trace');
    await said('The trace is being erased.');
    await choose('Actions for eve@example.com', 'Erase…');
    await dialog().getByRole('checkbox').check();
    await confirm('Erase person');
    await said('The person is being erased');
    await choose('More actions', 'Erase account…');
    await dialog().getByText('Amounts, times and ids of the ledger stay.').waitFor();
    await dialog().getByRole('checkbox').check();
    await confirm('Erase account');
    await page.getByText('The account is being erased, since').waitFor();
    expect(await page.getByRole('button', { name: 'More actions' }).count()).to.equal(0);
    expect((await context().accounts.read(accountId))?.erasedAt).to.be.a('number');
  });

  it('shows the queue live, a request only when asked for, and cancels a generation', async () => {
    const { secret } = await anAccount('with work');
    await open('/console/operator/queue');
    await page.getByRole('heading', { name: 'Open generations' }).waitFor();
    expect(await rowOf('with work').count()).to.equal(0);
    const id = await generate(harness().service, secret, 'a secret lighthouse');
    await rowOf('with work').getByText('Queued').waitFor();
    await rowOf('with work').getByRole('link', { name: 'picture' }).click();
    await page.getByRole('button', { name: 'Show request' }).waitFor();
    expect(await page.content()).not.to.include('a secret lighthouse');
    await page.getByRole('button', { name: 'Show request' }).click();
    await page.getByText('a secret lighthouse').waitFor();
    await page.goBack();
    await page.getByRole('button', { name: `Cancel generation ${id}` }).click();
    await confirm('Cancel');
    await rowOf('with work').getByRole('link', { name: 'picture' }).click();
    await page.getByRole('button', { name: 'Cancel…' }).click();
    await confirm('Cancel generation');
    await said('The generation is cancelled.');
    await page.getByText('Cancelled', { exact: true }).first().waitFor();
    expect(await page.getByRole('button', { name: 'Cancel…' }).count()).to.equal(0);
  });

  it('shows the providers with their state in words', async () => {
    await open('/console/operator/providers');
    await page.getByRole('heading', { name: 'canned' }).waitFor();
    await page.getByText('Ready. Not used in the last hour.').waitFor();
  });

  it('shows the catalog, checks its file and reloads it', async () => {
    file = [{ line: 3, message: 'models[0].price is required.' }];
    await open('/console/operator/catalog');
    await rowOf('canned').first().waitFor();
    await page.getByText('# ours').waitFor();
    await page.getByRole('button', { name: 'Check file' }).click();
    await page.getByRole('heading', { name: '1 fault in catalog.yaml' }).waitFor();
    await page.getByText('Line 3', { exact: true }).waitFor();
    await page.getByText('models[0].price is required.').waitFor();
    file = { models: MODELS.slice(1, 3), text: '# new', readAt: Date.now() };
    await page.getByRole('button', { name: 'Check file' }).click();
    await page.getByRole('heading', { name: 'No faults. A reload would' }).waitFor();
    expect(used.models, 'a check changes nothing').to.have.lengthOf(2);
    await page.getByText('# ours').waitFor();
    await page.getByRole('button', { name: 'Reload…' }).click();
    await dialog().getByText('Other processes, such as workers, keep the catalog').waitFor();
    await confirm('Reload catalog');
    await said('The catalog is reloaded.');
    await focusOn(page, 'Reloaded');
    await page.getByText('# new').waitFor();
    expect(used.text).to.equal('# new');
  });

  it('says why the text of a catalog is not shown', async () => {
    const before = used;
    used = { ...used, text: 'api_key: 0123456789' };
    await open('/console/operator/catalog');
    await page.getByText('something in it looks like a secret').waitFor();
    used = before;
  });

  it('checks the ledgers, and stops a check', async () => {
    await open('/console/operator/ledger');
    await page.getByRole('button', { name: 'Check ledger' }).click();
    await page.getByText(/^All \d+ accounts balance\.$/).waitFor();
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
    await page.getByText('Checking…').waitFor();
    await page.getByRole('button', { name: 'Stop check' }).click();
    await page.getByText('Stopped before the end.').waitFor();
    await focusOn(page, 'All accounts');
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
      await page.getByRole('button', { name: 'Check ledger' }).click();
      await page.getByText('The server gave an answer that this page cannot read.').waitFor();
    });

  it('shows that a list could not be read, and reads it again', async () => {
    await page.route('**/console/api/operator/providers', (route) => route.abort());
    await open('/console/operator/providers');
    const failed = page.getByRole('alert').filter({ hasText: 'Can’t reach the server.' });
    await failed.waitFor();
    await page.unroute('**/console/api/operator/providers');
    await page.getByRole('heading', { name: 'canned' }).waitFor();
  });

  it('shows that nothing is open', async () => {
    await page.route('**/console/api/operator/work', async (route) => {
      const answer = await route.fetch();
      const body = (await answer.json()) as { readonly data: object };
      await route.fulfill({ response: answer, json: { ...body, data: { ...body.data, work: [] } } });
    });
    await open('/console/operator/queue');
    await page.getByText('Nothing is waiting').waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });

  describe('and its sign-in', () => {
    it('takes a passkey: an operator adds one, is promoted, and signs in again with it from the page', async () => {
      const { accountId } = await anAccount('of a new operator');
      const otto = await createPerson(context(), { accountId, email: 'otto@example.com' });
      await DeviceAuthenticator.of(page);
      await harness().openSignedIn(visitor, '/console/account', otto);
      expect(await page.getByText('Operator', { exact: true }).count()).to.equal(0);
      await page.getByLabel('Name of a new passkey').fill('laptop');
      await page.getByRole('button', { name: 'Add passkey' }).click();
      await said('The passkey laptop is added.');
      await promotePerson(context(), otto.personId);
      await page.reload();
      await page.getByText('As an operator you add a passkey after signing in with one.').waitFor();
      await page.getByRole('link', { name: 'Queue' }).click();
      await page.getByText('Operator pages need a sign-in with a passkey.').waitFor();
      await page.getByRole('button', { name: 'Sign in again with a passkey' }).click();
      await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
      await page.waitForURL('**/console/operator/queue');
      await page.getByText('All open').waitFor();
    });

    it('must be recent for a change, also where it has grown old while the page was open', async () => {
      const { accountId } = await anAccount('to be changed late');
      await open(`${ACCOUNTS}/${accountId}`);
      await page.getByRole('button', { name: 'More actions' }).waitFor();
      harness().service.harness.clock.advance(QUARTER_MS + 1_000);
      await choose('More actions', 'Suspend…');
      await confirm('Suspend account');
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
    await tabTo(page, 'Find an account');
    await page.keyboard.type('for the keyboard');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Accounts with “for the keyboard”' }).waitFor();
    await tabTo(page, 'for the keyboard');
    await page.keyboard.press('Enter');
    await focusOn(page, 'for the keyboard');
    await page.getByRole('button', { name: 'More actions' }).waitFor();
    await tabTo(page, 'More actions');
    await page.keyboard.press('Enter');
    await focusOn(page, 'Rename…');
    await page.keyboard.press('ArrowDown');
    await focusOn(page, 'Suspend…');
    await page.keyboard.press('Enter');
    await dialog().waitFor();
    await page.keyboard.press('Escape');
    await focusOn(page, 'More actions');
    await page.keyboard.press('Enter');
    await focusOn(page, 'Rename…');
    await page.keyboard.press('s');
    await focusOn(page, 'Suspend…');
    await page.keyboard.press('Enter');
    await dialog().waitFor();
    await tabTo(page, 'Suspend account');
    await page.keyboard.press('Enter');
    await said('The account is suspended.');
    await focusOn(page, 'for the keyboard');
    expect((await context().accounts.read(accountId))?.suspendedAt).to.be.a('number');
  });
});
