/*
 * Goal: a person makes pictures in a real browser: a form from the model's schema, with faults shown at their fields;
 * the cost before it is spent; reference files; one generation per intent, even if its answer is lost; and the result.
 * Files and pictures also work from another origin, and only from that one.
 * Method: the built page of a whole service in this process, in Chromium, with a worker.
 */
import { expect } from 'chai';
import type { Locator, Page } from 'playwright-core';
import { createAccount, resumeAccount, suspendAccount } from '../../core/access/manage.js';
import { grantCredits } from '../../core/credits/operate.js';
import type { Generation } from '../../core/generation/generation.js';
import { createPerson } from '../../core/people/manage-people.js';
import type { Person } from '../../core/people/person.js';
import { referenceFile } from '../fixtures/reference-files.js';
import { orSkip } from '../servers/server-absent.js';
import { ObjectsElsewhere } from './objects-elsewhere.js';
import { openPages, PageHarness, pictureOf, untilInPage, type Visitor } from './page-harness.js';

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
  const create = (what = 'image') => page.getByRole('button', { name: `Create ${what}`, exact: true });
  const size = (name = '96 × 64') => page.getByRole('radio', { name }).check();
  const pick = async (name: string): Promise<void> => {
    await page.getByRole('button', { name: /^Model: / }).click();
    await page.getByRole('menuitemradio', { name }).click();
  };
  /** The status beside the tabs. */
  const status = (name: string) => page.locator('.out-bar .badge').filter({ hasText: name }).waitFor();
  const cost = (text: string, available: number) =>
    page
      .locator('.cost')
      .filter({ hasText: text })
      .filter({ hasText: `of ${available}` })
      .waitFor();
  const number = (name: string) => page.getByRole('spinbutton', { name });
  const fieldOf = (control: Locator) => page.locator('.field').filter({ has: control });
  /** An expression for a file of a drag or of the clipboard. */
  const transferOf = async (name: string, mediaType: string): Promise<string> => {
    const bytes = JSON.stringify([...(await referenceFile('png'))]);
    const about = `${JSON.stringify(name)}, { type: ${JSON.stringify(mediaType)} }`;
    return `(() => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([new Uint8Array(${bytes})], ${about}));
      return transfer;
    })()`;
  };
  const drop = async (name: string, mediaType: string): Promise<void> => {
    const dataTransfer = await page.evaluateHandle(await transferOf(name, mediaType));
    await page.dispatchEvent('.drop', 'drop', { dataTransfer });
  };
  const paste = async (name: string, mediaType: string): Promise<void> => {
    const event = `new ClipboardEvent('paste', { clipboardData: ${await transferOf(name, mediaType)}, bubbles: true })`;
    await page.evaluate(`void document.querySelector('textarea').dispatchEvent(${event})`);
  };

  it('shows the cost, creates an image, shows it, and creates it again', async () => {
    await open();
    // A cost that is requested after the second create would be refused for lack of credits.
    const priced = page.waitForResponse(
      (response) => response.url().endsWith('/estimate') && response.request().postData()?.includes('96x64') === true,
    );
    await size();
    await priced;
    await cost('10 credits', 25);
    await prompt().fill('a cat');
    await create().click();
    await status('Succeeded');
    await untilInPage(page, "document.querySelector('.out-grid img')?.naturalWidth > 0");
    await page.getByAltText('Image: a cat').click();
    await pictureOf(page, '.lightbox img', 96);
    await page.keyboard.press('Escape');
    await cost('10 credits', 15);
    await create().click();
    await cost('10 credits', 5);
    await page.locator('.history li').nth(1).waitFor();
    const made = await generations();
    expect(made.map((one) => [one.prompt, one.parameters])).to.deep.equal([
      ['a cat', { size: '96x64', n: 1 }],
      ['a cat', { size: '96x64', n: 1 }],
    ]);
    await status('Succeeded');
    await page.getByRole('link', { name: 'Open', exact: true }).click();
    await page.waitForURL(/\/console\/generations\/[-0-9a-f]{36}$/);
  });

  it('shows the form and the result of the generation that the address names', async () => {
    await open();
    await size('512 × 512');
    await prompt().fill('a first cat');
    await create().click();
    await status('Succeeded');
    const first = new URL(page.url());
    expect(first.search).to.match(/^\?from=[-0-9a-f]{36}$/);
    await prompt().fill('a second cat');
    await size();
    await create().click();
    await page.waitForURL((url) => url.search !== first.search);
    await status('Succeeded');
    await page.goBack();
    await untilInPage(page, "document.querySelector('textarea')?.value === 'a first cat'");
    expect(await page.getByRole('radio', { name: '512 × 512' }).isChecked()).to.equal(true);
    await page.getByAltText('Image: a first cat').waitFor();
    await page.reload();
    await page.getByAltText('Image: a first cat').waitFor();
    expect(await prompt().inputValue()).to.equal('a first cat');
  });

  it('keeps the draft of the account until its person signs out', async () => {
    await open();
    await prompt().fill('a cat that is not finished');
    await size();
    await page.reload();
    await untilInPage(page, "document.querySelector('textarea')?.value === 'a cat that is not finished'");
    expect(await page.getByRole('radio', { name: '96 × 64' }).isChecked()).to.equal(true);
    expect(page.url()).to.not.include('cat');
    await page.getByRole('button', { name: /account menu/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByLabel('E-mail address').waitFor();
    expect(await page.evaluate('JSON.stringify(Object.keys(localStorage))')).to.not.include('draft');
    await open();
    expect(await prompt().inputValue()).to.equal('');
  });

  it('shares what is entered but the prompt before there is a result', async () => {
    await visitor.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await open();
    await prompt().fill('a cat that is not finished');
    await size();
    await number('Images').fill('3');
    await page.getByRole('button', { name: 'Share setup' }).click();
    await page.getByText('Address copied').waitFor();
    const address = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(address).to.not.include('cat');
    await page.evaluate('localStorage.clear()');
    await page.goto(address);
    await untilInPage(page, "new URL(location).searchParams.get('parameters') === null");
    await page.getByRole('radio', { name: '96 × 64', checked: true }).waitFor();
    expect(await number('Images').inputValue()).to.equal('3');
  });

  it('reports an unknown model in the address, until another one is chosen', async () => {
    await open('/console/playground?model=nope');
    await page.getByText('There is no model “nope”.').waitFor();
    await pick('Clip');
    await page.getByText('There is no model “nope”.').waitFor({ state: 'detached' });
  });

  it('does not replace what is written when another result is looked at', async () => {
    await open();
    await size();
    await prompt().fill('a first cat');
    await create().click();
    await status('Succeeded');
    const first = page.url();
    await create().click();
    await page.waitForURL((url) => url.href !== first);
    await prompt().fill('something else');
    await page.locator('.history-list a').nth(1).click();
    await page.waitForURL(first);
    expect(await prompt().inputValue()).to.equal('something else');
    await page.getByRole('button', { name: 'Use these settings' }).click();
    expect(await prompt().inputValue()).to.equal('a first cat');
  });

  it('is a form of the schema: each field says what it takes, and what is wrong with it', async () => {
    await open();
    await create().click();
    await fieldOf(prompt()).getByText('Write a prompt first.').waitFor();
    await untilInPage(page, "document.activeElement?.tagName === 'TEXTAREA'");
    await prompt().fill('a cat');
    await fieldOf(prompt()).locator('.error').waitFor({ state: 'detached' });
    await create().click();
    const sizes = page.getByRole('radiogroup', { name: 'Size' });
    await page.locator('.field').filter({ has: sizes }).locator('.error').waitFor();
    expect(await sizes.getAttribute('aria-invalid')).to.equal('true');
    await untilInPage(page, "document.activeElement?.closest('[role=radiogroup]') !== null");
    await size();
    await number('Images').fill('9');
    await fieldOf(number('Images')).getByText('Must be at most 4.', { exact: true }).waitFor();
    await page.locator('.cost').getByText('–', { exact: true }).waitFor();
    await create('images').waitFor();
    await number('Images').fill('');
    await page.getByLabel('Tuning').fill('{');
    await fieldOf(page.getByLabel('Tuning')).getByText('Tuning must be JSON.').waitFor();
    await page.getByLabel('Tuning').fill('{"strength": 7}');
    await fieldOf(page.getByLabel('Tuning')).locator('.error').filter({ hasText: 'strength' }).waitFor();
    await page.getByLabel('Tuning').fill('{"strength": 0.5}');
    await page.getByLabel('Style').fill('ink');
    await page.getByRole('button', { name: 'Negative prompt' }).click();
    await page.getByRole('textbox', { name: 'Negative prompt' }).fill('dogs');
    await cost('10 credits', 25);
    await create().click();
    await status('Succeeded');
    const [made] = await generations();
    expect(made?.parameters).to.deep.equal({ size: '96x64', n: 1, tuning: { strength: 0.5 }, style: 'ink' });
    expect(made?.negativePrompt).to.equal('dogs');
  });

  it('says what cannot be paid, before and after, with a way out', async () => {
    await open();
    await size();
    await number('Images').fill('4');
    const refusal = page.getByRole('alert').filter({ hasText: 'This would reserve 40 credits' });
    await refusal.filter({ hasText: 'the account has 25 available' }).waitFor();
    await prompt().fill('a cat');
    await create('4 images').click();
    await refusal.getByRole('link', { name: 'See usage' }).waitFor();
    expect(await generations()).to.deep.equal([]);
    await page.getByRole('button', { name: 'Images: one less' }).click();
    await page.getByRole('button', { name: 'Images: one less' }).click();
    await refusal.waitFor({ state: 'detached' });
    await cost('20 credits', 25);
  });

  it('shows the cost once credits that were missing are available, without another change', async () => {
    await open();
    await size();
    await prompt().fill('a cat');
    await number('Images').fill('4');
    const refusal = page.getByRole('alert').filter({ hasText: 'This would reserve 40 credits' });
    // Both the estimate and the creation are refused before.
    await refusal.waitFor();
    const refused = page.waitForResponse((response) => response.url().endsWith('/generations') && !response.ok());
    await create('4 images').click();
    await refused;
    const { accountId } = person;
    await grantCredits(context(), { accountId, operationId: `second ${accounts}`, credits: 30, reason: 'to test' });
    // The page reads the balance every 15 seconds, and when it is looked at.
    await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
    await cost('40 credits', 55);
    expect(await refusal.count()).to.equal(0);
  });

  it('creates once, though the answer is lost, again and again, and the button is pressed again', async () => {
    let lost = 0;
    await page.route('**/generations', async (route) => {
      if (route.request().method() !== 'POST' || lost >= 11) return route.continue();
      lost += 1;
      // It arrives, and its answer does not.
      await route.fetch();
      return route.abort();
    });
    await open();
    await size();
    await prompt().fill('a cat');
    await create().dblclick();
    await page.getByRole('alert').filter({ hasText: 'creates nothing twice' }).waitFor();
    await create().click();
    await status('Succeeded');
    expect(lost).to.equal(11);
    expect(await generations()).to.have.lengthOf(1);
  });

  it('takes the second click of a double click for the same intent', async () => {
    await open();
    await size();
    await prompt().fill('a cat');
    await create().dblclick();
    await status('Succeeded');
    expect(await generations()).to.have.lengthOf(1);
  });

  it('says that the same seed gives the same image before it charges', async () => {
    await open();
    await size();
    await prompt().fill('a cat');
    await number('Seed').fill('7');
    await create().click();
    await status('Succeeded');
    await create().click();
    await page.getByText('give the same result').waitFor();
    expect(await generations()).to.have.lengthOf(1);
    await page.getByRole('button', { name: 'Use another seed' }).click();
    const seed = Number(await number('Seed').inputValue());
    expect(seed).to.not.equal(7);
    await untilInPage(page, "document.activeElement?.matches('.act-bar [type=submit]')");
    await page.keyboard.press('Enter');
    await page.locator('.history li').nth(1).waitFor();
    expect((await generations()).map(({ parameters }) => parameters['seed'])).to.have.members([7, seed]);
    await number('Seed').fill('7');
    await page.getByRole('button', { name: 'Create image again' }).waitFor();
  });

  it('cancels what is under way, and says so', async () => {
    await open();
    await pick('Picture, hold');
    await size();
    await prompt().fill('a cat');
    await create().click();
    await status('Running');
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await status('Cancelled');
    await page.getByRole('heading', { name: 'Cancelled' }).waitFor();
    await page.getByText('Nothing was charged.').waitFor();
    await cost('10 credits', 25);
  });

  it('shows the progress of a generation, and clears it for the next one', async () => {
    let first: string | undefined;
    await page.route('**/generations/*/events', (route) => {
      first ??= route.request().url();
      const body = 'event: progress\ndata: {"type":"progress","progress":0.4}\n\n';
      return route.fulfill(
        route.request().url() === first ? { contentType: 'text/event-stream', body } : { status: 204 },
      );
    });
    await open();
    await pick('Picture, hold');
    await size();
    await prompt().fill('a cat');
    await create().click();
    await status('Running 40%');
    await prompt().fill('a dog');
    await create().click();
    await page.locator('.history li').nth(1).waitFor();
    await page.locator('.history li').first().and(page.locator('[aria-current]')).waitFor();
    await status('Running');
    expect(await page.locator('.out-bar .badge').innerText()).to.equal('Running');
  });

  it('says why a generation failed, and creates it again', async () => {
    await open();
    await pick('Picture, refuse');
    await size();
    await prompt().fill('a cat');
    await create().click();
    await status('Failed');
    await page.locator('.out-body').getByRole('alert').waitFor();
    await page.getByRole('button', { name: 'Create again · 10 credits' }).click();
    await page.locator('.history li').nth(1).waitFor();
    expect(await generations()).to.have.lengthOf(2);
  });

  it('takes files that are chosen, dropped and pasted, each for what it is', async () => {
    await open();
    await pick('Clip');
    await number('Duration seconds').fill('1');
    const png = { name: 'first.png', mimeType: 'image/png', buffer: Buffer.from(await referenceFile('png')) };
    await page.locator('input[type=file]').setInputFiles(png);
    await page.getByText('Ready').waitFor();
    await drop('last.png', 'image/png');
    await page.getByText('Ready').nth(1).waitFor();
    expect(await page.getByLabel('Role of last.png').inputValue()).to.equal('end_frame');
    await prompt().fill('a cat that jumps');
    await create('video').click();
    await status('Failed');
    const [made] = await generations();
    expect(made?.references.map(({ role }) => role)).to.deep.equal(['start_frame', 'end_frame']);
    await page.getByRole('button', { name: 'Remove first.png' }).click();
    await page.getByText('first.png').waitFor({ state: 'detached' });
    await paste('pasted.png', 'image/png');
    await page.getByRole('listitem').filter({ hasText: 'pasted.png' }).getByText('Ready').waitFor();
  });

  it('takes files without digests, which pages without TLS cannot compute', async () => {
    await page.addInitScript("Object.defineProperty(crypto, 'subtle', { value: undefined })");
    await open();
    expect(await page.evaluate('crypto.subtle === undefined')).to.equal(true);
    await drop('a.png', 'image/png');
    await page.getByText('Ready').waitFor();
    await size();
    await prompt().fill('a cat');
    await create().click();
    await status('Succeeded');
    expect((await generations())[0]?.references).to.have.lengthOf(1);
  });

  it('says which files the model does not take', async () => {
    await open();
    await drop('page.html', 'text/html');
    await page.getByText('page.html is not a PNG, JPEG or WebP image.').waitFor();
    await drop('a.png', 'image/png');
    await page.getByText('page.html is not').waitFor({ state: 'detached' });
    const buffer = Buffer.alloc(1024 * 1024 + 1);
    await page.locator('input[type=file]').setInputFiles({ name: 'large.png', mimeType: 'image/png', buffer });
    await page.getByText('large.png is larger than 1 MiB.').waitFor();
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'b.png', mimeType: 'image/png', buffer: Buffer.from('no picture') });
    const row = page.getByRole('listitem').filter({ hasText: 'b.png' });
    await row.getByText('must be a PNG, JPEG or WebP picture').waitFor();
    await size();
    await prompt().fill('a cat');
    await create().click();
    await page.getByRole('alert').filter({ hasText: 'A reference file was not uploaded' }).waitFor();
    await row.getByRole('button', { name: 'Remove b.png' }).click();
    await create().click();
    await status('Succeeded');
  });

  it('uses an output as a reference', async () => {
    await open();
    await size();
    await prompt().fill('a cat');
    await create().click();
    await status('Succeeded');
    await page.getByRole('button', { name: 'Use as reference' }).click();
    await page.getByText('Ready').waitFor();
    await create().click();
    await page.locator('.history li').nth(1).waitFor();
    expect((await generations()).map(({ references }) => references.length)).to.have.members([0, 1]);
  });

  it('shows that the account is suspended, before and after an attempt', async () => {
    await open();
    await size();
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
    const inMenu = () => untilInPage(page, "document.activeElement?.getAttribute('role') === 'menuitemradio'");
    await page.getByRole('button', { name: /^Model: / }).focus();
    await page.keyboard.press('Enter');
    await inMenu();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Model: Picture, hold. Change' }).waitFor();
    await page.keyboard.press('Enter');
    await inMenu();
    await page.keyboard.press('Home');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Model: Picture, deliver. Change' }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.type('a cat');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Space');
    expect(await page.getByRole('radio', { name: '96 × 64' }).isChecked()).to.equal(true);
    await page.keyboard.press('ArrowRight');
    expect(await page.getByRole('radio', { name: '512 × 512' }).isChecked()).to.equal(true);
    await page.keyboard.press('ControlOrMeta+Enter');
    await status('Succeeded');
    await page.keyboard.press('ControlOrMeta+Enter');
    await page.locator('.history li').nth(1).waitFor();
    await page.locator('.history li[aria-current] a').focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await untilInPage(
      page,
      "document.querySelector('.history li[aria-current]') === document.querySelectorAll('.history li')[1]",
    );
    await page.getByRole('tab', { name: 'Result' }).focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    await page.getByRole('tabpanel', { name: 'JSON' }).getByText('"model_key": "picture"').first().waitFor();
  });

  it('shows what is chosen where the system gives all colours', async () => {
    await page.emulateMedia({ forcedColors: 'active' });
    await open();
    await size();
    const groundOf = (selector: string) =>
      page.evaluate<string>(`getComputedStyle(document.querySelector('${selector}')).backgroundColor`);
    for (const [chosen, other] of [
      ['.shapes > :has(:checked)', '.shapes > :not(:has(:checked))'],
      ['[role=tab][aria-selected=true]', '[role=tab][aria-selected=false]'],
      ['.nav [aria-current]', '.nav a:not([aria-current])'],
    ] as const)
      expect(await groundOf(chosen), chosen).to.not.equal(await groundOf(other));
  });

  it('shows the result on a narrow screen once it is created', async () => {
    await page.setViewportSize({ width: 360, height: 740 });
    await open();
    await size();
    await prompt().fill('a cat');
    await create().click();
    await status('Succeeded');
    await untilInPage(page, "document.querySelector('.out-bar').getBoundingClientRect().top < innerHeight / 2");
    expect(await page.evaluate('document.documentElement.scrollWidth')).to.equal(360);
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
    await page.getByRole('radio', { name: '96 × 64' }).check();
    await page.getByLabel('Prompt', { exact: true }).fill('a cat');
    await page.getByRole('button', { name: 'Create image', exact: true }).click();
    await page.getByAltText('Image: a cat').click();
    await pictureOf(page, '.lightbox img', 96);
    await page.keyboard.press('Escape');
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download', exact: true }).click();
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
    await page.getByText('A reference file was not uploaded: the connection failed.').waitFor();
    elsewhere.allowed = harness.origin;
    await page.getByRole('button', { name: 'Upload one.png again' }).click();
    await page.getByText('Ready').waitFor();
    await visitor.context.close();
  });
});
