/*
 * Goal: a person makes pictures in a real browser: a form from the model's schema, with faults shown at their fields;
 * the cost before it is spent; reference files; one generation per intent, even if its answer is lost; and the result.
 * Files and pictures also work from another origin, and only from that one.
 * Method: the built page of a whole service in this process, in Chromium, with a worker.
 */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { createAccount, resumeAccount, suspendAccount } from '../../core/access/manage.js';
import { grantCredits } from '../../core/credits/operate.js';
import type { Generation } from '../../core/generation/generation.js';
import { createPerson } from '../../core/people/manage-people.js';
import type { Person } from '../../core/people/person.js';
import { referenceFile } from '../fixtures/reference-files.js';
import { orSkip } from '../servers/server-absent.js';
import { ObjectsElsewhere } from './objects-elsewhere.js';
import { focusOn, openPages, PageHarness, pictureOf, untilInPage, type Visitor } from './page-harness.js';

describe('the playground in a browser', () => {
  let visitor: Visitor;
  let page: Page;
  let person: Person;
  const harness = openPages((next) => ({ page } = visitor = next));
  before(async () => {
    await harness().service.harness.startWorker();
  });

  const context = () => harness().service.harness.context;
  let accounts = 0;
  beforeEach(async () => {
    accounts += 1;
    const { accountId } = await createAccount(context(), { name: `account ${accounts}` });
    await grantCredits(context(), { accountId, operationId: `first ${accounts}`, credits: 25, reason: 'to test' });
    person = await createPerson(context(), { accountId, email: `person-${accounts}@example.com` });
  });

  const open = (path = '/console/playground') => harness().openSignedIn(visitor, path, person);
  const generations = async (): Promise<readonly Generation[]> =>
    (await context().generations.list({ of: 'account', accountId: person.accountId }, { limit: 100 })).items;
  const prompt = () => page.getByLabel('Prompt', { exact: true });
  const create = () => page.getByRole('button', { name: 'Create', exact: true });
  const size = (value: string) => page.getByLabel('size').selectOption({ label: value });
  const heading = (name: string) => page.getByRole('heading', { name, exact: true });
  const estimate = (text: string) => page.locator('.estimate').filter({ hasText: text }).waitFor();
  const drop = async (name: string, mediaType: string): Promise<void> => {
    const bytes = JSON.stringify([...(await referenceFile('png'))]);
    const about = `${JSON.stringify(name)}, { type: ${JSON.stringify(mediaType)} }`;
    const dataTransfer = await page.evaluateHandle(`(() => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([new Uint8Array(${bytes})], ${about}));
      return transfer;
    })()`);
    await page.dispatchEvent('.drop', 'drop', { dataTransfer });
  };

  it('shows the cost, makes a picture, shows it, and makes it again', async () => {
    await open();
    await page.getByLabel('Model').selectOption('picture');
    await size('96x64');
    await estimate('10 credits at most, of 25 available');
    await prompt().fill('a cat');
    await create().click();
    await heading('Succeeded').waitFor();
    await focusOn(page, 'Succeeded');
    await pictureOf(page, '.outputs img', 96);
    await estimate('of 15 available');
    await page.getByRole('button', { name: 'Again with the same input' }).click();
    await estimate('of 5 available');
    const made = await generations();
    expect(made.map((one) => [one.prompt, one.parameters])).to.deep.equal([
      ['a cat', { size: '96x64', n: 1 }],
      ['a cat', { size: '96x64', n: 1 }],
    ]);
    await page.getByRole('link', { name: 'Details' }).click();
    await page.getByText('a cat').waitFor();
    await page.getByRole('link', { name: 'Open it in the playground' }).click();
    await heading('Playground').waitFor();
    await untilInPage(page, "document.querySelector('#prompt')?.value === 'a cat'");
  });

  it('is a form of the schema: each field says what it takes, and what is wrong with it', async () => {
    await open();
    await prompt().fill('a cat');
    await create().click();
    const fieldOf = (label: string) => page.locator('.field').filter({ has: page.getByLabel(label) });
    await fieldOf('size').locator('.field-fault').waitFor();
    expect(await page.getByLabel('size').getAttribute('aria-invalid')).to.equal('true');
    await size('96x64');
    await page.getByLabel('n (optional)').fill('9');
    await fieldOf('n (optional)').locator('.field-fault').waitFor();
    await page.getByLabel('n (optional)').fill('');
    await page.getByLabel('tuning').fill('{');
    await fieldOf('tuning').getByText('tuning must be JSON.').waitFor();
    await page.getByLabel('tuning').fill('{"strength": 7}');
    await fieldOf('tuning').locator('.field-fault').filter({ hasText: 'strength' }).waitFor();
    await page.getByLabel('tuning').fill('{"strength": 0.5}');
    await page.getByLabel('style').fill('ink');
    await page.getByLabel('Negative prompt').fill('dogs');
    await estimate('10 credits');
    await create().click();
    await heading('Succeeded').waitFor();
    const [made] = await generations();
    expect(made?.parameters).to.deep.equal({ size: '96x64', n: 1, tuning: { strength: 0.5 }, style: 'ink' });
    expect(made?.negativePrompt).to.equal('dogs');
  });

  it('says politely what cannot be paid, before and after', async () => {
    await open();
    await size('96x64');
    await page.getByLabel('n (optional)').fill('4');
    await estimate('This would reserve 40 credits; the account has 25 available.');
    await prompt().fill('a cat');
    await create().click();
    await page.getByRole('alert').filter({ hasText: 'This would reserve 40 credits' }).waitFor();
    expect(await generations()).to.deep.equal([]);
  });

  it('creates once, though the answer is lost, again and again, and the button is pressed again', async () => {
    let lost = 0;
    await page.route('**/generations', async (route) => {
      if (route.request().method() !== 'POST' || lost >= 6) return route.continue();
      lost += 1;
      // It arrives, and its answer does not.
      await route.fetch();
      return route.abort();
    });
    await open();
    await size('96x64');
    await prompt().fill('a cat');
    await create().dblclick();
    await page.getByRole('alert').filter({ hasText: 'creates nothing twice' }).waitFor();
    await create().click();
    await heading('Succeeded').waitFor();
    expect(lost).to.equal(6);
    expect(await generations()).to.have.lengthOf(1);
  });

  it('cancels what is under way, and says so', async () => {
    await open();
    await page.getByLabel('Model').selectOption('picture-held');
    await size('96x64');
    await prompt().fill('a cat');
    await create().click();
    await page.getByText('Running…').waitFor();
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await heading('Cancelled').waitFor();
    await estimate('of 25 available');
  });

  it('takes files that are picked and dropped, each for what it is', async () => {
    await open();
    await page.getByLabel('Model').selectOption('clip');
    await page.getByLabel('duration_seconds').fill('1');
    const png = { name: 'first.png', mimeType: 'image/png', buffer: Buffer.from(await referenceFile('png')) };
    await page.locator('input[type=file]').setInputFiles(png);
    await page.getByText('Ready').waitFor();
    await drop('last.png', 'image/png');
    await page.getByText('Ready').nth(1).waitFor();
    expect(await page.getByLabel('What last.png is').inputValue()).to.equal('end_frame');
    await prompt().fill('a cat that jumps');
    await create().click();
    await heading('Failed').waitFor();
    const [made] = await generations();
    expect(made?.references.map(({ role }) => role)).to.deep.equal(['start_frame', 'end_frame']);
    await page.getByRole('button', { name: 'Remove first.png' }).click();
    await page.getByText('first.png').waitFor({ state: 'detached' });
  });

  it('says at the file what it is not taken for, and lets it go', async () => {
    await open();
    await drop('page.html', 'text/html');
    const row = page.getByRole('listitem').filter({ hasText: 'page.html' });
    await row.getByRole('alert').waitFor();
    await row.getByRole('button', { name: 'Try again' }).waitFor();
    await size('96x64');
    await prompt().fill('a cat');
    await create().click();
    await page.getByRole('alert').filter({ hasText: 'A reference file was not uploaded' }).waitFor();
    await row.getByRole('button', { name: 'Remove page.html' }).click();
    await create().click();
    await heading('Succeeded').waitFor();
  });

  it('shows that the account is suspended, before and after an attempt', async () => {
    await open();
    await size('96x64');
    await prompt().fill('a cat');
    await suspendAccount(context(), person.accountId);
    await create().click();
    await page.getByRole('alert').filter({ hasText: 'The account is suspended.' }).waitFor();
    await page.reload();
    await page.getByRole('alert').filter({ hasText: 'until the operator resumes it' }).waitFor();
    await resumeAccount(context(), person.accountId);
    await page.reload();
    await create().waitFor();
  });

  it('is used with the keyboard alone', async () => {
    await open();
    await prompt().focus();
    await page.keyboard.type('a cat');
    await page.getByLabel('size').focus();
    await page.keyboard.press('ArrowDown');
    await create().focus();
    await page.keyboard.press('Enter');
    await heading('Succeeded').waitFor();
    await focusOn(page, 'Succeeded');
  });
});

describe('the playground with objects of another origin', () => {
  const elsewhere = new ObjectsElsewhere();
  let pages: PageHarness | undefined;
  before(async function () {
    pages = await orSkip(this, PageHarness.open({ elsewhere: (gate) => elsewhere.serve(gate) }));
    await pages.service.harness.startWorker();
    elsewhere.allowed = pages.origin;
  });
  after(async () => {
    await pages?.close();
    elsewhere.close();
  });

  it('sends files there and shows pictures from there, and its policy allows that origin and no other', async () => {
    const harness = pages as PageHarness;
    const visitor = await harness.newVisitor();
    const { page } = visitor;
    const answer = page.waitForResponse((response) => response.url().endsWith('/console/playground'));
    await harness.openSignedIn(visitor, '/console/playground');
    const policy = (await answer).headers()['content-security-policy'] ?? '';
    const [other = ''] = harness.otherOrigins;
    for (const directive of ['img-src', 'media-src', 'connect-src'])
      expect(policy).to.match(new RegExp(`${directive} 'self' ${other}( data: blob:)?(;|$)`));
    expect(policy.match(/https?:\/\/[^ ;]+/g)).to.deep.equal([other, other, other]);
    const png = { name: 'one.png', mimeType: 'image/png', buffer: Buffer.from(await referenceFile('png')) };
    await page.locator('input[type=file]').setInputFiles(png);
    await page.getByText('Ready').waitFor();
    await page.getByLabel('size').selectOption({ label: '96x64' });
    await page.getByLabel('Prompt', { exact: true }).fill('a cat');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await pictureOf(page, '.outputs img', 96);
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download picture' }).click();
    expect((await saving).suggestedFilename()).to.match(/-1\.png$/);
    expect(elsewhere.methods).to.include.members(['OPTIONS', 'PUT', 'GET']);
    await visitor.context.close();
    expect(visitor.faults).to.deep.equal([]);
  });

  it('shows that a file could not be sent where the store refuses uploads from pages', async () => {
    const harness = pages as PageHarness;
    elsewhere.allowed = 'https://another.example';
    const visitor = await harness.newVisitor();
    const { page } = visitor;
    await harness.openSignedIn(visitor, '/console/playground');
    const png = { name: 'one.png', mimeType: 'image/png', buffer: Buffer.from(await referenceFile('png')) };
    await page.locator('input[type=file]').setInputFiles(png);
    await page.getByRole('alert').filter({ hasText: 'could not be sent to where files are kept' }).waitFor();
    elsewhere.allowed = harness.origin;
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('Ready').waitFor();
    await visitor.context.close();
  });
});
