/*
 * Goal: a person sees in a real browser the available credits, the usage by day, model and key, with plots whose
 * numbers are in tables, and every movement of credits with its generation; and saves the usage as CSV.
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
import { openPages, untilInPage, type Visitor } from './page-harness.js';

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

  it('is by day, model and key, and its tables say what the ledger does', async () => {
    await open();
    const byDay = await sums('Credits by day, in credits');
    expect(byDay.at(-1)).to.deep.equal(['Total', '130', '120', '10']);
    expect(await sums('Generations by day')).to.deep.equal([
      [byDay[0]?.[0], '13', '1'],
      ['Total', '13', '1'],
    ]);
    await page.getByRole('combobox', { name: 'By', exact: true }).selectOption('Model');
    expect(await sums('Generations by model')).to.deep.equal([
      ['picture', '12', '0'],
      ['picture-refused', '1', '1'],
      ['Total', '13', '1'],
    ]);
    await page.getByRole('combobox', { name: 'By', exact: true }).selectOption('Key');
    const byKey = await sums('Credits by key, in credits');
    expect(byKey).to.have.deep.members([
      ['Total', '130', '120', '10'],
      ['ada@example.com', '10', '10', '0'],
      ['nightly renders', '120', '110', '10'],
    ]);
    expect(new URL(page.url()).search).to.equal('?by=key');
  });

  it('is drawn: bars in each plot, in the colours of the page, in light and in dark', async () => {
    await open();
    await rowsOf('Generations by day');
    const inked = (index: number) => `(() => {
      const canvas = document.querySelectorAll('.plot canvas')[${index}];
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      const seen = new Set();
      for (let at = 0; at < data.length; at += 4) if (data[at + 3] === 255) seen.add([data[at], data[at + 1], data[at + 2]].join());
      return JSON.stringify([...seen]);
    })()`;
    for (const [colorScheme, color] of [
      ['light', '1,114,173'],
      ['dark', '1,170,255'],
    ] as const) {
      await page.emulateMedia({ colorScheme });
      for (const index of [0, 1]) await untilInPage(page, `${inked(index)}.includes('"${color}"')`);
    }
  });

  it('shows another range, and says where nothing was used', async () => {
    await open();
    await page.getByLabel('Last days').selectOption('90');
    await rowsOf('Generations by day');
    await open('/console/usage?from=2001-01-01&to=2001-01-31');
    await page.getByText('Nothing was used in this time.').waitFor();
    await open('/console/usage?from=2001-01-01&to=2005-01-31');
    await page.getByRole('alert').filter({ hasText: 'at most 366 days' }).waitFor();
  });

  it('is saved as CSV, with the same numbers', async () => {
    await open('/console/usage?by=model');
    await rowsOf('Credits by model, in credits');
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
    await page.getByRole('button', { name: 'Show more' }).click();
    await page.getByText('to test with').waitFor();
    const rows = await rowsOf('Entries of the ledger');
    expect(rows).to.have.lengthOf(1 + 27 + 2);
    expect(rows[1]?.at(-1)).to.equal('880');
    expect(rows.at(-1)?.at(-1)).to.equal('0');
    const changes = rows.slice(2, -1).map((cells) => Number(cells.at(-2)?.replace(',', '')));
    expect(changes.reduce((sum, change) => sum + change, 0)).to.equal(880);
    expect(rows.some((cells) => cells.includes('ada@example.com'))).to.equal(true);
    await page.getByRole('link', { name: 'The generation of picture-refused' }).first().click();
    await page.getByRole('heading', { name: 'Failed' }).waitFor();
    expect(new URL(page.url()).pathname).to.equal(`/console/generations/${made[2]}`);
  });

  it('says why it could not be read, and reads it again', async () => {
    await page.route('**/usage?**', (route) => route.abort());
    await open();
    const card = page.getByRole('region', { name: 'Usage', exact: true });
    await card.getByRole('alert').waitFor();
    await page.unroute('**/usage?**');
    await card.getByRole('button', { name: 'Try again' }).click();
    await rowsOf('Generations by day');
  });

  it('shows the balance of a suspended account, and that it is suspended', async () => {
    const { context } = harness().service.harness;
    const { accountId } = harness().service.person;
    await suspendAccount(context, accountId);
    await open();
    await page.getByRole('alert').filter({ hasText: 'The account is suspended' }).waitFor();
    await page.getByText('880').waitFor();
    await resumeAccount(context, accountId);
  });
});
