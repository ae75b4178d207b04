/*
 * Goal: a person browses the generations of all Apps of the account in a real browser: rows of pictures, filters, pages, one
 * generation in a drawer and at its own address, its live updates, the lightbox, cancel and delete.
 * Method: the built console of a whole service in this process, in Chromium, with a worker; one account with generations of
 * each status.
 */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { type Caller, SCOPES } from '../../core/access/credential.js';
import { createApp } from '../../core/access/manage.js';
import { createGeneration } from '../../core/generation/create-generation.js';
import type { JsonObject } from '../../core/json.js';
import { consoleApp } from '../../core/people/own-keys.js';
import { until } from '../fixtures/clocks.js';
import { focusOn, openPages, thumbnailOf, untilInPage, type Visitor } from './page-harness.js';

const PICTURE = { model_key: 'picture', operation: 'image_generation', prompt: 'a cat', parameters: { size: '96x64' } };

describe('generations in a browser', () => {
  let visitor: Visitor;
  let page: Page;
  let caller: Caller;
  let studio: Caller;
  const harness = openPages((next) => ({ page } = visitor = next));
  before(async () => {
    const { person, harness: service } = harness().service;
    const { accountId, personId: credentialId } = person;
    const { appId } = await consoleApp(service.context, accountId);
    caller = { accountId, appId, credentialId, scopes: SCOPES };
    studio = { ...caller, appId: (await createApp(service.context, { accountId, name: 'studio' })).appId };
    await service.startWorker();
  });

  const context = () => harness().service.harness.context;
  const create = async (changes: JsonObject = {}, as = caller): Promise<string> => {
    const { generation } = await createGeneration(context(), as, context().ids.uuid(), { ...PICTURE, ...changes });
    return generation.generationId;
  };
  const ended = async (id: string): Promise<string> => {
    await until(async () => {
      const record = await context().generations.read(id);
      return record?.kind === 'generation' && record.settledAt !== undefined;
    });
    return id;
  };
  const made = async (changes: JsonObject = {}, as = caller) => ended(await create(changes, as));
  const tile = (id: string) => page.locator(`a[href^="/console/generations/${id}"]`);
  const open = (path: string) => harness().openSignedIn(visitor, path);
  const drawer = () => page.getByRole('dialog', { name: 'Generation', exact: true });
  const pathname = () => new URL(page.url()).pathname;

  it('shows pictures that load, and opens one in a drawer with an address of its own', async () => {
    const id = await made({ prompt: 'the first cat' });
    await open('/console/generations');
    await tile(id).waitFor();
    await thumbnailOf(page, `a[href^="/console/generations/${id}"] img`);
    await tile(id).click();
    await drawer().getByText('Timeline').waitFor();
    expect(pathname()).to.equal(`/console/generations/${id}`);
    await drawer().getByText('10 credits charged').waitFor();
    await drawer().getByText('the first cat').first().waitFor();
    await drawer().getByRole('button', { name: 'Close' }).click();
    await untilInPage(page, `location.pathname === '/console/generations'`);
    await tile(id).waitFor();
  });

  it('shows one as a page where its address is opened, with what is stored of it', async () => {
    const id = await made({ prompt: 'a cat alone', client_trace_id: 'order-17' });
    await open(`/console/generations/${id}`);
    await page.getByRole('heading', { level: 1, name: 'a cat alone' }).waitFor();
    await thumbnailOf(page, '.stage img');
    const timeline = page.locator('.timeline li');
    const events = (await timeline.allInnerTexts()).map((text) => text.split('\n')[0]);
    expect(events).to.deep.equal(['Created', 'Started', 'Sent to the provider', 'Succeeded', 'Settled']);
    const files = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Files', exact: true }) });
    expect(await files.innerText()).to.match(/Image\s+[\d.]+ k?B.*\s+Kept until\s+\S/s);
    await page.getByRole('button', { name: 'Copy trace id order-17' }).waitFor();
    await page.getByRole('tab', { name: 'Code' }).click();
    const code = () => page.getByRole('tabpanel').locator('pre').last().innerText();
    expect(await code())
      .to.include('/generations')
      .and.to.include('"prompt":"a cat alone"');
    await page.getByRole('radio', { name: 'Python' }).check();
    expect(await code())
      .to.include('from darkroom_client import')
      .and.to.include('"a cat alone"');
    await page.getByRole('tab', { name: /Ledger entries/ }).click();
    await page.getByRole('row', { name: /Charged/ }).waitFor();
    await page.keyboard.press('ArrowRight');
    await page.getByText('No webhook was notified.').waitFor();
    await page.getByRole('link', { name: 'Generations' }).first().click();
    await tile(id).waitFor();
  });

  it('opens it again in the drawer after Back, and without it after another Back', async () => {
    const id = await made();
    await open('/console/generations');
    await tile(id).click();
    await drawer().getByText('Timeline').waitFor();
    await page.goBack();
    await drawer().waitFor({ state: 'hidden' });
    await page.goForward();
    await drawer().getByText('Timeline').waitFor();
  });

  it('goes back to the list as it closes the drawer, so that Back does not open it again', async () => {
    const [older, newer] = [await made(), await made()];
    await open('/console/models');
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Generations' }).click();
    await tile(newer).click();
    await drawer().getByText('Timeline').waitFor();
    await page.keyboard.press('j');
    await untilInPage(page, `location.pathname.endsWith('${older}')`);
    await drawer().getByRole('button', { name: 'Close' }).click();
    await untilInPage(page, `location.pathname === '/console/generations'`);
    await drawer().waitFor({ state: 'hidden' });
    await page.goBack();
    await untilInPage(page, `location.pathname === '/console/models'`);
  });

  it('says how many outputs are missing, and what was released for them', async () => {
    const id = await made({ parameters: { size: '96x64', n: 2 } });
    await page.route(`**/console/api/generations/${id}`, async (route) => {
      const response = await route.fetch();
      const { data, ...answer } = (await response.json()) as {
        data: { ledger: object[]; request: object; created_at: string };
      };
      const ledger = [...data.ledger, { kind: 'released', credits: 20, at: data.created_at }];
      const request = { ...data.request, parameters: { size: '96x64', n: 4 } };
      await route.fulfill({ response, json: { ...answer, data: { ...data, ledger, request } } });
    });
    await open(`/console/generations/${id}`);
    const side = page.locator('.generation-side');
    await side.getByText('2 of 4 images').waitFor();
    await side.getByText('20 credits charged, 20 released').waitFor();
  });

  it('explains why a search is refused, and offers no second try', async () => {
    await open('/console/generations?q=%25_');
    await page.getByRole('alert').filter({ hasText: 'A search needs a letter or a digit.' }).waitFor();
    expect(await page.getByRole('button', { name: 'Try again' }).count()).to.equal(0);
  });

  it('stays in the drawer where the browser reports late that it was closed before', async () => {
    const id = await made();
    await open('/console/generations');
    await tile(id).click();
    await drawer().getByText('Timeline').waitFor();
    await drawer().evaluate((dialog) => dialog.dispatchEvent(new Event('close')));
    expect(pathname()).to.equal(`/console/generations/${id}`);
    await drawer().getByText('Timeline').waitFor();
    await page.keyboard.press('Escape');
    await drawer().waitFor({ state: 'hidden' });
    await untilInPage(page, `location.pathname === '/console/generations'`);
  });

  it('goes to older and newer ones with J and K, and closes with Escape', async () => {
    const [older, newer] = [await made(), await made()];
    await open('/console/generations');
    await tile(newer).click();
    await drawer().getByText('Timeline').waitFor();
    await page.keyboard.press('j');
    await untilInPage(page, `location.pathname.endsWith('${older}')`);
    await drawer().getByText('Timeline').waitFor();
    await page.keyboard.press('k');
    await untilInPage(page, `location.pathname.endsWith('${newer}')`);
    await page.keyboard.press('Escape');
    await untilInPage(page, `location.pathname === '/console/generations'`);
    await drawer().waitFor({ state: 'hidden' });
  });

  it('fills rows from sizes alone, before a picture is loaded', async () => {
    const sizes = ['96x64', '512x512', '96x64', '96x64', '512x512', '512x512', '96x64', '512x512', '96x64', '96x64'];
    for (const size of sizes) await made({ parameters: { size } });
    await page.route('**/thumbnails/**', (route) => route.abort());
    await page.route('**/objects/**', (route) => route.abort());
    await open('/console/generations');
    await page.locator('.tile').first().waitFor();
    const rows = await page.evaluate<{ top: number; left: number; right: number; bottom: number }[]>(
      `[...document.querySelectorAll('.shot')].map((one) => { const { top, left, right, bottom } = one.getBoundingClientRect(); return { top, left, right, bottom }; })`,
    );
    const byRow = new Map<number, typeof rows>();
    for (const one of rows) byRow.set(Math.round(one.top), [...(byRow.get(Math.round(one.top)) ?? []), one]);
    const width = await page.evaluate<number>(`document.querySelector('.tiles').clientWidth`);
    const whole = [...byRow.values()].slice(0, -1);
    expect(whole).not.to.deep.equal([]);
    for (const row of whole) {
      expect(new Set(row.map(({ bottom }) => Math.round(bottom))).size).to.equal(1);
      const used = (row.at(-1)?.right ?? 0) - (row[0]?.left ?? 0);
      expect(used).to.be.within(width * 0.85, width + 1);
    }
  });

  it('saves a picture as a file, and shows it in full screen', async () => {
    const id = await made({ parameters: { size: '96x64', n: 2 } });
    await open(`/console/generations/${id}`);
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download', exact: true }).click();
    expect((await saving).suggestedFilename()).to.equal(`${id}-1.png`);
    await page.getByRole('button', { name: 'Show in full screen' }).click();
    const light = page.getByRole('dialog', { name: 'Output' });
    await light.getByText('1 of 2').waitFor();
    await page.keyboard.press('ArrowRight');
    await light.getByText('2 of 2').waitFor();
    expect(await light.getByRole('button', { name: 'Next' }).isDisabled()).to.equal(true);
    await page.keyboard.press('Escape');
    await light.waitFor({ state: 'hidden' });
  });

  it('filters by what the address says, and keeps the filters in it', async () => {
    const mine = await made({}, studio);
    const refused = await made({ model_key: 'picture-refused' }, studio);
    await open('/console/generations');
    await page.getByLabel('App').selectOption({ label: 'App: studio' });
    await tile(refused).waitFor();
    await page.getByLabel('Status').selectOption('succeeded');
    await tile(refused).waitFor({ state: 'detached' });
    await tile(mine).waitFor();
    expect(new URL(page.url()).search).to.equal(`?app=${studio.appId}&status=succeeded`);
    await page.reload();
    await tile(mine).waitFor();
    expect(await tile(refused).count()).to.equal(0);
    await page.getByLabel('Status').selectOption('cancelled');
    await page.getByRole('heading', { name: 'Nothing matches Cancelled' }).waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await tile(refused).waitFor();
    expect(new URL(page.url()).search).to.equal('');
  });

  it('lists the same in lines, by the switch at the top', async () => {
    const id = await made({ prompt: 'a cat in a line' });
    await open('/console/generations');
    await page.getByLabel('List', { exact: true }).check({ force: true });
    const line = page.getByRole('row').filter({ has: tile(id) });
    await line.getByText('Succeeded').waitFor();
    await line.getByText('a cat in a line').waitFor();
    expect(new URL(page.url()).search).to.equal('?view=list');
    await page.setViewportSize({ width: 800, height: 740 });
    await page.locator('.tile').first().waitFor();
    await page.setViewportSize({ width: 900, height: 740 });
    await line.getByText('a cat in a line').waitFor();
  });

  it('loads the pages behind the first one when the end is near, and moves no picture', async () => {
    const ids = [];
    for (let index = 0; index < 70; index += 1) ids.push(await create({ model_key: 'picture-refused' }, studio));
    for (const id of ids) await ended(id);
    await open(`/console/generations?app=${studio.appId}&status=failed`);
    await tile(ids.at(-1) ?? '').waitFor();
    const places = () =>
      page.evaluate<Record<string, string>>(
        `Object.fromEntries([...document.querySelectorAll('.tile-link')].map((one) => {
          const { left, top, width, height } = one.getBoundingClientRect();
          return [one.pathname, [left, top + scrollY, width, height].map(Math.round).join(' ')];
        }))`,
      );
    const before = await places();
    // The wheel moves what the pointer is over.
    await page.mouse.move(640, 400);
    // At the end of the page it does nothing, so that a page that loads no more is found.
    while (!(await tile(ids[0] ?? '').isVisible())) await page.mouse.wheel(0, 20_000);
    const after = await places();
    expect(before).not.to.deep.equal({});
    expect(Object.keys(after)).to.have.lengthOf.above(Object.keys(before).length);
    expect(after).to.include(before);
  });

  it('shows what happens while somebody looks', async () => {
    await open('/console/generations');
    await page.locator('.tile').first().waitFor();
    const id = await create({ model_key: 'picture-held' });
    await tile(id).getByText('Running').waitFor();
    await tile(id).click();
    await drawer().getByText('Running').first().waitFor();
    await drawer().getByRole('button', { name: 'Cancel', exact: true }).click();
    await drawer().locator('.generation-side').getByText('Cancelled').first().waitFor();
    await drawer().getByText('Cancel requested').waitFor();
  });

  it('does not move what a person reads: new ones wait behind a button', async () => {
    for (let index = 0; index < 20; index += 1) await create({ model_key: 'picture-refused' });
    await open('/console/generations');
    await page.locator('.tile').first().waitFor();
    await page.mouse.wheel(0, 600);
    await untilInPage(page, 'window.scrollY > 300');
    const id = await create({ model_key: 'picture-refused' });
    await page.getByRole('button', { name: '1 new' }).waitFor();
    expect(await tile(id).count()).to.equal(0);
    await page.getByRole('button', { name: '1 new' }).click();
    await tile(id).waitFor();
    await untilInPage(page, 'window.scrollY === 0');
  });

  it('deletes one in the drawer, and its tile with it, before the list is read again', async () => {
    const id = await made();
    await open('/console/generations');
    await tile(id).waitFor();
    await page.route('**/console/api/generations?*', (route) => route.abort());
    await tile(id).click();
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Delete…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete generation' }).click();
    await page.getByText('The generation is deleted.').first().waitFor();
    await tile(id).waitFor({ state: 'hidden' });
    await page.unroute('**/console/api/generations?*');
  });

  it('deletes one after a question, and says of its address that it is gone', async () => {
    const id = await made();
    await open(`/console/generations/${id}`);
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Delete…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete generation' }).click();
    await page.getByText('The generation is deleted.').first().waitFor();
    expect(pathname()).to.equal('/console/generations');
    await page.goto(`/console/generations/${id}`);
    await page.getByRole('alert').filter({ hasText: 'no longer kept' }).waitFor();
  });

  it('says why one of another App failed, and what was asked for', async () => {
    const id = await made({ model_key: 'picture-refused', prompt: 'of a program' }, studio);
    await open('/console/generations');
    await tile(id).getByText('The prompt was refused by the content policy.').waitFor();
    await tile(id).click();
    await drawer().locator('.generation-side').getByText('Failed').first().waitFor();
    await drawer().getByText('CONTENT_REJECTED_INPUT').first().waitFor();
    await drawer().getByText('of a program').first().waitFor();
  });

  it('asks the server where events do not come', async () => {
    const id = await create({ model_key: 'picture-held' });
    await page.route('**/events', (route) => route.abort());
    await open(`/console/generations/${id}`);
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await page.locator('.generation-side').getByText('Cancelled').first().waitFor();
  });

  it('does not show a generation of another account', async () => {
    const id = '00000000-0000-7000-8000-000000000000';
    await open(`/console/generations/${id}`);
    const said = page.getByRole('alert').filter({ hasText: 'There is no such generation.' });
    expect(await said.getByRole('button').count()).to.equal(0);
    await said.getByRole('link', { name: 'Back to Generations' }).click();
    await page.locator('.tile').first().waitFor();
  });

  it('moves the focus to the title of a page, and back to the tile behind the drawer', async () => {
    const id = await made();
    await open('/console/generations');
    await tile(id).focus();
    await page.keyboard.press('Enter');
    await drawer().getByText('Timeline').waitFor();
    await page.keyboard.press('Escape');
    await untilInPage(page, `document.activeElement.getAttribute('href')?.includes('${id}')`);
    await page.getByRole('link', { name: 'Overview' }).click();
    await focusOn(page, 'Overview');
  });
});
