/*
 * Goal: a person sees in a real browser the available credits, the usage by day, model, key and media type, with a plot
 * whose numbers are in a table, and every movement of credits with its generation; and saves the usage as CSV.
 * Method: the built page of a whole service in this process, in Chromium; an account whose person and key have created
 * generations.
 */
import { expect } from 'chai';
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { type Caller, SCOPES } from '../../core/access/credential.js';
import { createKey, resumeAccount, suspendAccount } from '../../core/access/manage.js';
import { createGeneration } from '../../core/generation/create-generation.js';
import { appsForKeys, consoleApp } from '../../core/people/own-keys.js';
import { until } from '../fixtures/clocks.js';
import { INTERNAL_ERROR, openPages, type Visitor } from './page-harness.js';

const PICTURE = { operation: 'image_generation', prompt: 'a cat', parameters: { size: '96x64' } };
const DAY_MS = 86_400_000;

describe('usage in a browser', () => {
  let visitor: Visitor;
  let page: Page;
  const made: string[] = [];
  const harness = openPages((next) => ({ page } = visitor = next));
  before(async () => {
    const { person, harness: service } = harness().service;
    const { context } = service;
    const { accountId } = person;
    const { appId } = await consoleApp(context, accountId);
    const { defaultApp } = await appsForKeys(context, accountId);
    const { key } = await createKey(context, { appId: defaultApp.appId, name: 'nightly renders' });
    const ada: Caller = { accountId, appId, credentialId: person.personId, scopes: SCOPES };
    const program: Caller = { ...ada, appId: defaultApp.appId, credentialId: key.keyId };
    await service.startWorker();
    const make = async (caller: Caller, modelKey: string): Promise<void> => {
      const body = { ...PICTURE, model_key: modelKey };
      const { generation } = await createGeneration(context, caller, context.ids.uuid(), body);
      await until(async () => {
        const record = await context.generations.read(generation.generationId);
        return record?.kind === 'generation' && record.settledAt !== undefined;
      });
      made.push(generation.generationId);
    };
    await make(ada, 'picture');
    await make(program, 'picture');
    await make(program, 'picture-refused');
    for (let index = 0; index < 10; index += 1) await make(program, 'picture');
  });

  const open = (path = '/console/usage') => harness().openSignedIn(visitor, path);
  const rowsOf = async (caption: string): Promise<string[][]> => {
    const table = page.getByRole('region', { name: caption }).getByRole('row');
    await table.first().waitFor();
    const texts = await table.allInnerTexts();
    return texts.map((text) => text.split('\t').map((cell) => cell.trim()));
  };
  const sums = async (caption: string): Promise<string[][]> => (await rowsOf(caption)).slice(1);

  const pick = (by: string) => page.getByLabel(by, { exact: true }).check({ force: true });

  it('is by day, model, key and media type, and its table says what the ledger does', async () => {
    await open();
    const byDay = await sums('Usage by day');
    expect(byDay).to.deep.equal([
      [byDay[0]?.[0], '13', '1', '130', '120', '10'],
      ['Total', '13', '1', '130', '120', '10'],
    ]);
    await pick('Model');
    expect(await sums('Usage by model')).to.deep.equal([
      ['picture', '12', '0', '120', '120', '0'],
      ['picture-refused', '1', '1', '10', '0', '10'],
      ['Total', '13', '1', '130', '120', '10'],
    ]);
    await pick('Key');
    expect(await sums('Usage by key')).to.deep.equal([
      ['nightly renders', '12', '1', '120', '110', '10'],
      ['ada@example.com', '1', '0', '10', '10', '0'],
      ['Total', '13', '1', '130', '120', '10'],
    ]);
    await pick('Media');
    expect((await sums('Usage by media type'))[0]).to.deep.equal(['Images', '13', '1', '130', '120', '10']);
    expect(new URL(page.url()).search).to.equal('?by=modality');
  });

  it('is drawn as bars whose values the pointer and the arrow keys show', async () => {
    await open();
    await rowsOf('Usage by day');
    const plot = page.getByRole('img', { name: /^Charged credits by day/ });
    await plot.focus();
    await page.keyboard.press('End');
    await plot.getByText('120 credits').waitFor();
    await page.getByRole('status').filter({ hasText: 'Images 120, Videos 0' }).waitFor();
    await page.keyboard.press('ArrowLeft');
    await plot.getByText('0 credits').waitFor();
    await page.keyboard.press('Escape');
    await plot.locator('.tip').waitFor({ state: 'detached' });
    await plot.locator('.hit').last().hover({ force: true });
    await plot.getByText('120 credits').waitFor();
    await page.getByLabel('Generations', { exact: true }).check({ force: true });
    await page.getByRole('heading', { name: 'Generations by day' }).waitFor();
  });

  it('shows another range, and says where nothing was used', async () => {
    await open();
    await page.getByLabel('Days', { exact: true }).selectOption('90');
    await rowsOf('Usage by day');
    await open('/console/usage?from=2001-01-01&to=2001-01-31');
    await page.getByText('No usage in these days').waitFor();
    await open('/console/usage?from=2001-01-01&to=2005-01-31');
    await page.getByRole('alert').filter({ hasText: 'at most 366 days' }).waitFor();
    expect(await page.getByRole('button', { name: 'Try again' }).count()).to.equal(0);
    await open('/console/usage?from=2001-01-31&to=2001-01-01');
    await page.getByText('and From not after To').waitFor();
    expect(await page.getByRole('alert').count()).to.equal(0);
  });

  it('is saved as CSV, with the same numbers', async () => {
    await open('/console/usage?by=model');
    await rowsOf('Usage by model');
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save as CSV' }).click();
    const download = await saving;
    const today = new Date().toISOString().slice(0, 10);
    const first = new Date(Date.now() - 30 * DAY_MS).toISOString().slice(0, 10);
    expect(download.suggestedFilename()).to.equal(`usage-by-model-${first}-${today}.csv`);
    const lines = (await readFile(await download.path(), 'utf8')).trim().split('\r\n');
    expect(lines.slice(1)).to.deep.equal(['picture,12,0,120,120,0', 'picture-refused,1,1,10,0,10']);
  });

  it('has every movement of credits, with its generation and who it was for, in balances that add up', async () => {
    await open();
    const before = await rowsOf('Entries of the ledger');
    expect(before[1]?.at(-1)).to.equal('880');
    await page.getByRole('button', { name: 'More entries' }).click();
    await page.getByText('to test with').waitFor();
    const rows = await rowsOf('Entries of the ledger');
    expect(rows).to.have.lengthOf(1 + 27 + 2);
    expect(rows[1]?.at(-1)).to.equal('880');
    expect(rows.at(-1)?.at(-1)).to.equal('0');
    const changes = rows.slice(2, -1).map((cells) => Number(cells.at(-2)?.replace(',', '')));
    expect(changes.reduce((sum, change) => sum + change, 0)).to.equal(880);
    expect(rows.some((cells) => cells.includes('ada@example.com'))).to.equal(true);
    await page.getByRole('link', { name: 'Generation of picture-refused' }).first().click();
    await page.locator('.generation-side').getByText('Failed').first().waitFor();
    expect(new URL(page.url()).pathname).to.equal(`/console/generations/${made[2]}`);
  });

  it('shows why the server refused it, and offers another try', async () => {
    await page.route('**/usage?**', (route) => route.fulfill(INTERNAL_ERROR));
    await open();
    const card = page.getByRole('region', { name: 'Charged credits by day', exact: true });
    await card.getByRole('alert').waitFor();
    await page.unroute('**/usage?**');
    await card.getByRole('button', { name: 'Try again' }).click();
    await rowsOf('Usage by day');
  });

  it('shows the balance of a suspended account, and that it is suspended', async () => {
    const { context } = harness().service.harness;
    const { accountId } = harness().service.person;
    await suspendAccount(context, accountId);
    await open();
    await page.getByRole('alert').filter({ hasText: 'This account is suspended' }).waitFor();
    await page.getByText('880').first().waitFor();
    await resumeAccount(context, accountId);
  });
});
