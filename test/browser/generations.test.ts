/*
 * Goal: a person browses the generations of an App in a real browser: filters, pages, one generation at its own URL,
 * its live updates, cancel and delete.
 * Method: the built page of a whole service in this process, in Chromium, with a worker; one account with generations of
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
import { focusOn, openPages, pictureOf, untilInPage, type Visitor } from './page-harness.js';

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
  const tile = (id: string) => page.locator(`[data-id="${id}"]`);
  const open = (path: string) => harness().openSignedIn(visitor, path);
  const heading = (name: string) => page.getByRole('heading', { name, exact: true });

  it('shows pictures that load, and leads to each by an address of its own', async () => {
    const id = await made({ client_trace_id: 'first' });
    await open('/console/generations?trace=first');
    await tile(id).getByRole('link').waitFor();
    await pictureOf(page, '.grid-of-media img', 96);
    await tile(id).getByRole('link').click();
    await heading('Generation').waitFor();
    await focusOn(page, 'Generation');
    expect(new URL(page.url()).pathname).to.equal(`/console/generations/${id}`);
    await page.reload();
    await heading('Succeeded').waitFor();
    await pictureOf(page, '.outputs img', 96);
    const timeline = page.getByRole('listitem').filter({ has: page.locator('time') });
    expect(await timeline.allInnerTexts()).to.have.lengthOf(3);
    await page.getByText('10 credits').waitFor();
    await page.getByText('a cat').waitFor();
    await page.goBack();
    await tile(id).waitFor();
  });

  it('saves a picture as a file', async () => {
    const id = await made();
    await open(`/console/generations/${id}`);
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download picture' }).click();
    expect((await saving).suggestedFilename()).to.equal(`${id}-1.png`);
  });

  it('filters by what the address says, and keeps the filters in it', async () => {
    const mine = await made({ client_trace_id: 'filtered' });
    const refused = await made({ client_trace_id: 'filtered', model_key: 'picture-refused' });
    await open('/console/generations');
    await page.getByLabel('Trace id').fill('filtered');
    await page.getByLabel('Trace id').press('Enter');
    await tile(refused).waitFor();
    await page.getByLabel('Status').selectOption('succeeded');
    await tile(refused).waitFor({ state: 'detached' });
    await tile(mine).waitFor();
    expect(new URL(page.url()).search).to.equal('?trace=filtered&status=succeeded');
    await page.reload();
    await tile(mine).waitFor();
    expect(await page.locator('[data-id]').count()).to.equal(1);
    await page.getByLabel('Created to').fill('2001-01-01');
    await page.getByText('Nothing matches these filters.').waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await tile(refused).waitFor();
  });

  it('shows more, page by page, and goes on at the first new one', async () => {
    const ids = [];
    for (let index = 0; index < 26; index += 1)
      ids.push(await create({ model_key: 'picture-refused', client_trace_id: 'many' }));
    await open('/console/generations?trace=many');
    await page.getByRole('button', { name: 'Show more' }).click();
    await tile(ids[0] ?? '').waitFor();
    expect(await page.locator('[data-id]').count()).to.equal(26);
    expect(await page.getByRole('button', { name: 'Show more' }).count()).to.equal(0);
    const focused = "document.activeElement?.closest('[data-id]')?.dataset.id";
    await untilInPage(page, `${focused} === '${ids[1]}'`);
  });

  it('shows what happens while somebody looks, without asking again', async () => {
    await open('/console/generations?trace=live');
    await page.getByText('Nothing matches these filters.').waitFor();
    const id = await create({ model_key: 'picture-held', client_trace_id: 'live' });
    await tile(id).getByText('Running').waitFor();
    await tile(id).getByRole('link').click();
    await page.getByText('Running…').waitFor();
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await heading('Cancelled').waitFor();
    await page.getByText('Cancel requested').waitFor();
  });

  it('deletes one after a question, and says of its address that it is gone', async () => {
    const id = await made();
    await open(`/console/generations/${id}`);
    await page.getByRole('button', { name: 'Delete this generation' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete it' }).click();
    await page.getByRole('status').filter({ hasText: 'The generation is deleted.' }).waitFor();
    expect(new URL(page.url()).pathname).to.equal('/console/generations');
    await page.goto(`/console/generations/${id}`);
    await page.getByRole('alert').filter({ hasText: 'no longer kept' }).waitFor();
  });

  it('says why one failed, of another App too, and not what that was asked for', async () => {
    const id = await made({ model_key: 'picture-refused', prompt: 'of a program' }, studio);
    await open('/console/generations');
    await page.getByLabel('App').selectOption('studio');
    await tile(id).getByRole('link').click();
    await heading('Failed').waitFor();
    await page.getByText('The prompt was refused by the content policy.').waitFor();
    expect(await page.content()).not.to.include('of a program');
    await page.getByRole('link', { name: 'All generations' }).click();
    await tile(id).waitFor();
    expect(new URL(page.url()).search).to.equal(`?app=${studio.appId}`);
  });

  it('asks the server where events do not come', async () => {
    const id = await create({ model_key: 'picture-held' });
    await page.route('**/events', (route) => route.abort());
    await open(`/console/generations/${id}`);
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await heading('Cancelled').waitFor();
  });

  it('does not show a generation of another account', async () => {
    const id = '00000000-0000-7000-8000-000000000000';
    await open(`/console/generations/${id}`);
    await page.getByRole('alert').filter({ hasText: 'There is no such generation.' }).waitFor();
  });
});
