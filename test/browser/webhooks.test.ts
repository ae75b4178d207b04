/*
 * Goal: a person creates, changes and deletes webhooks in a real browser, sees a secret once, sees the webhooks of all
 * Apps with their health and every delivery with its tries, and sends one again.
 * Method: the built page of a whole service in this process, in Chromium, with a worker, and receivers whose answers the
 * test gives.
 */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { type Caller, SCOPES } from '../../core/access/credential.js';
import { createApp } from '../../core/access/manage.js';
import { createGeneration } from '../../core/generation/create-generation.js';
import { createEndpoint } from '../../core/webhooks/manage-endpoints.js';
import { ReceivingSender } from '../fixtures/receiving-sender.js';
import { focusOn, openPages, tabTo, type Visitor } from './page-harness.js';

const PICTURE = { model_key: 'picture', operation: 'image_generation', prompt: 'a cat', parameters: { size: '96x64' } };
const UNKNOWN = '00000000-0000-7000-8000-000000000000';

describe('webhooks in a browser', () => {
  const sender = new ReceivingSender();
  let visitor: Visitor;
  let page: Page;
  let caller: Caller;
  const harness = openPages((next) => ({ page } = visitor = next), { webhookSender: sender });
  before(async () => {
    await harness().service.harness.startWorker();
  });

  let apps = 0;
  beforeEach(async () => {
    sender.receive = () => ({ status: 204 });
    const { person, harness: service } = harness().service;
    const { accountId, personId: credentialId } = person;
    apps += 1;
    const { appId } = await createApp(service.context, { accountId, name: `app ${apps}` });
    caller = { accountId, appId, credentialId, scopes: SCOPES };
  });

  const open = (query = `?app=${caller.appId}`) => harness().openSignedIn(visitor, `/console/webhooks${query}`);
  const dialog = () => page.getByRole('dialog');
  const button = (name: string | RegExp) => page.getByRole('button', { name });
  const address = () => page.getByRole('textbox', { name: 'Address' });
  const inDialog = (name: string) => dialog().getByRole('button', { name }).click();
  const saved = (text: string) => page.getByRole('status').filter({ hasText: text }).waitFor();
  /** Creates a webhook in the dialog, and returns its secret. */
  const create = async (url: string): Promise<string> => {
    await button('Create webhook').first().click();
    await address().fill(url);
    await inDialog('Create webhook');
    await page.getByRole('heading', { name: 'Webhook created' }).waitFor();
    return page.locator('.once code').innerText();
  };
  /** Opens the page of a new webhook, and returns its id. */
  const made = async (url: string, query = ''): Promise<string> => {
    const { endpoint } = await createEndpoint(harness().service.harness.context, caller, { url });
    await harness().openSignedIn(visitor, `/console/webhooks/${endpoint.endpointId}${query}`);
    await page.getByRole('heading', { level: 1, name: url.replace('https://', '') }).waitFor();
    return endpoint.endpointId;
  };
  const generate = async (): Promise<string> => {
    const { context } = harness().service.harness;
    const { generation } = await createGeneration(context, caller, context.ids.uuid(), PICTURE);
    return generation.generationId;
  };
  /** Waits until the log has a line with this text. */
  const logged = (text: string | RegExp) => page.getByRole('row').filter({ hasText: text }).first().waitFor();
  const act = async (name: string): Promise<void> => {
    await button('More actions').click();
    await page.getByRole('menuitem', { name }).click();
  };

  it('creates one, and shows its secret once: not after a reload, or anywhere that stays', async () => {
    await open();
    const secret = await create('https://a.example/hook');
    expect(secret).to.match(/^whsec_/);
    await focusOn(page, 'Webhook created');
    await page.getByText('verifyWebhook(body').waitFor();
    const stored = 'JSON.stringify([{...localStorage}, {...sessionStorage}, history.state])';
    expect(await page.evaluate(stored)).not.to.include(secret);
    await page.reload();
    await page.getByRole('link', { name: 'a.example/hook' }).waitFor();
    expect(await page.content()).not.to.include(secret);
    expect(page.url()).not.to.include('whsec_');
  });

  it('says at the field which address is refused, and that one is there already', async () => {
    await open();
    await button('Create webhook').first().click();
    await address().fill('http://a.example/hook');
    await inDialog('Create webhook');
    await dialog().getByText('Must be an address').waitFor();
    await focusOn(page, 'Address');
    expect(await address().getAttribute('aria-invalid')).to.equal('true');
    expect(await address().inputValue()).to.equal('http://a.example/hook');
    for (const name of ['succeeded', 'failed', 'cancelled'])
      await dialog()
        .getByRole('checkbox', { name: `generation.${name}` })
        .uncheck();
    await address().fill('https://a.example/hook');
    expect(await address().getAttribute('aria-invalid')).to.equal(null);
    await inDialog('Create webhook');
    await dialog()
      .getByText(/^Must /)
      .waitFor();
    await inDialog('Cancel');
    await create('https://a.example/hook');
    await button('I have copied it').click();
    await button('Create webhook').first().click();
    await address().fill('https://a.example/hook');
    await inDialog('Create webhook');
    await dialog().getByText('has a webhook with this url').waitFor();
  });

  it('lists those of all Apps with their health, or those of one App', async () => {
    const { context } = harness().service.harness;
    const { accountId } = caller;
    const other = await createApp(context, { accountId, name: `another of ${apps}` });
    await createEndpoint(context, { ...caller, appId: other.appId }, { url: 'https://other.example/hook' });
    await made('https://one.example/hook');
    await open('');
    const row = (text: string) => page.getByRole('row').filter({ hasText: text });
    await row('other.example/hook').getByText(`another of ${apps}`).waitFor();
    await row('one.example/hook').getByText('Unused').waitFor();
    await generate();
    await row('one.example/hook').getByText('Healthy').waitFor();
    await page.getByLabel('App', { exact: true }).selectOption({ value: caller.appId });
    await row('one.example/hook').waitFor();
    expect(await row('other.example/hook').count()).to.equal(0);
    expect(page.url()).to.include(`app=${caller.appId}`);
    const empty = await createApp(context, { accountId, name: `empty of ${apps}` });
    await open(`?app=${empty.appId}`);
    await page.getByText('No webhooks in this App').waitFor();
    await button('Show all Apps').click();
    await row('other.example/hook').waitFor();
  });

  it('edits, disables and enables it, rotates its secret, and deletes it', async () => {
    await made('https://b.example/hook');
    await button('Edit').click();
    await dialog()
      .getByRole('checkbox', { name: /generation\.running/ })
      .check();
    await dialog()
      .getByRole('checkbox', { name: /generation\.cancelled/ })
      .uncheck();
    await page.getByLabel('Description').fill('of the shop');
    await inDialog('Save changes');
    await page.getByText('of the shop').waitFor();
    const tags = page.getByRole('listitem').filter({ hasText: 'generation.' });
    expect(await tags.allInnerTexts()).to.deep.equal([
      'generation.running',
      'generation.succeeded',
      'generation.failed',
    ]);
    await act('Disable');
    await page.getByText('It was disabled in the console or over the API.').waitFor();
    expect(await page.locator('.badge').first().getAttribute('class')).to.equal('badge');
    await page.locator('.badge').getByText('Disabled', { exact: true }).waitFor();
    await button('Enable').click();
    await page.getByText('It was disabled in the console or over the API.').waitFor({ state: 'detached' });
    await act('Rotate secret…');
    await inDialog('Rotate secret');
    await page.getByText('and with the previous one until').waitFor();
    expect(await page.locator('.once code').innerText()).to.match(/^whsec_/);
    await focusOn(page, 'New secret');
    await button('I have copied it').click();
    await act('Delete…');
    await dialog().getByText('Nothing more is sent to https://b.example/hook').waitFor();
    await inDialog('Delete webhook');
    await saved('The webhook is deleted.');
    await page.waitForURL(/\/console\/webhooks$/);
    await page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor();
    expect(await page.getByText('b.example/hook').count()).to.equal(0);
  });

  it('shows messages with their tries, and sends one again', async () => {
    await made('https://c.example/hook');
    await page.getByText('No deliveries yet').waitFor();
    sender.receive = () => ({ status: 503, body: { bytes: 5_000, text: '{"error":"database is locked"}' } });
    const id = await generate();
    await logged(/503.*Retrying/);
    const shown = page.getByRole('complementary', { name: 'Delivery' });
    await shown.getByText(/next try in/).waitFor();
    await shown.getByText('Try 1').waitFor();
    await shown.getByText(`"generation_id": "${id}"`).waitFor();
    await shown.getByRole('tab', { name: 'Response' }).click();
    await shown.getByRole('tabpanel').getByText('{"error":"database is locked"}').waitFor();
    await shown.getByText('The first 1,024 of 5,000 bytes.').waitFor();
    await shown.getByRole('tab', { name: 'Headers' }).click();
    await shown.getByText('https://c.example/hook').waitFor();
    expect(await shown.getByRole('link', { name: 'a cat' }).getAttribute('href')).to.equal(
      `/console/generations/${id}`,
    );
    sender.receive = () => ({ status: 204 });
    await button('Send now').click();
    await logged(/204.*Delivered/);
    await button('Resend').first().waitFor();
    await page.getByLabel('State').selectOption('exhausted');
    await page.getByText('No delivery matches these filters').waitFor();
    expect(page.url()).to.include('state=exhausted');
    await button('Clear filters').click();
    await page.getByLabel('Generation id').fill(id);
    await page.waitForURL(/generation=/);
    await logged('204');
    await page.getByLabel('Generation id').fill(UNKNOWN);
    await page.getByText('No delivery matches these filters').waitFor();
  });

  it('leaves what waits out of the part that was delivered', async () => {
    await made('https://w.example/hook');
    await generate();
    await logged(/204.*Delivered/);
    sender.receive = () => ({ status: 503 });
    await generate();
    await logged(/503.*Retrying/);
    await page.reload();
    const delivered = page.locator('.figures > div').filter({ hasText: 'Delivered' });
    await delivered.getByText('1 of 1', { exact: true }).waitFor();
    await delivered.getByText('100%').waitFor();
    await page.locator('.figures > div').filter({ hasText: 'Waiting' }).getByText('next try').waitFor();
  });

  it('shows what came of the deliveries of each hour', async () => {
    await made('https://p.example/hook');
    await generate();
    await logged(/204.*Delivered/);
    await page.reload();
    const plot = page.getByRole('img', { name: 'Deliveries per hour: Last 48 hours' });
    await plot.focus();
    await page.keyboard.press('End');
    const tip = page.locator('.plot .tip');
    await tip.filter({ hasText: 'Delivered1' }).filter({ hasText: 'Failed0' }).waitFor();
    await page.keyboard.press('ArrowLeft');
    await tip.filter({ hasText: 'Delivered0' }).waitFor();
    await page.keyboard.press('Escape');
    await tip.waitFor({ state: 'detached' });
  });

  it('sends a test event, and shows its delivery', async () => {
    await made('https://t.example/hook', '?state=exhausted');
    sender.receive = ({ event }) => ({ status: event === 'generation.test' ? 418 : 204 });
    await button('Send test event').click();
    await logged(/418.*Gave up.*generation\.test/s);
    const shown = page.getByRole('complementary', { name: 'Delivery' });
    await shown.getByText('after 1 try').waitFor();
    await shown.getByText('"test": true').waitFor();
    await shown.getByText('None: this is a test event.').waitFor();
    expect(page.url()).to.include('delivery=').and.not.include('state=');
    await page.reload();
    await shown.getByText('after 1 try').waitFor();
  });

  it('shows that the receiver is gone, and resends what failed once it is enabled', async () => {
    await made('https://d.example/hook');
    sender.receive = () => ({ status: 410 });
    await generate();
    await logged('Not sent');
    await page.reload();
    await page.getByText('It was disabled because its address answered 410 Gone.').waitFor();
    await page.locator('.badge.fail').getByText('Disabled', { exact: true }).waitFor();
    const resend = async (): Promise<void> => {
      await button('Resend failed…').click();
      await dialog().getByText('1 delivery', { exact: true }).waitFor();
      await inDialog('Resend');
    };
    await resend();
    await dialog().getByText('The webhook is disabled; enable it').waitFor();
    await inDialog('Cancel');
    sender.receive = () => ({ status: 204 });
    await button('Enable').click();
    await button('Enable').waitFor({ state: 'detached' });
    await resend();
    await page.locator('.toast').filter({ hasText: 'Resending 1 delivery.' }).waitFor();
    await logged(/204.*Delivered/);
  });

  it("creates the App's own secret for per-request webhooks, and shows their deliveries", async () => {
    await open();
    await button('Create secret…').click();
    await inDialog('Create secret');
    expect(await page.locator('.once code').innerText()).to.match(/^whsec_/);
    await button('I have copied it').click();
    await page.getByRole('link', { name: 'Per-request webhooks' }).click();
    await page.getByText('No deliveries yet').waitFor();
    const { context } = harness().service.harness;
    await createGeneration(context, caller, context.ids.uuid(), PICTURE, { webhookUrl: 'https://single.example/one' });
    await logged(/204.*Delivered/);
    await page.getByRole('complementary').getByText('https://single.example/one').first().waitFor();
  });

  it('does not show a webhook or a delivery that is not of the account', async () => {
    await harness().openSignedIn(visitor, `/console/webhooks/${UNKNOWN}`);
    await page.getByRole('alert').filter({ hasText: 'There is no such webhook.' }).waitFor();
    await page.getByRole('link', { name: 'Back to Webhooks' }).waitFor();
    await made('https://e.example/hook', `?delivery=${UNKNOWN}`);
    await page.getByRole('alert').filter({ hasText: 'There is no such delivery.' }).waitFor();
    await page.getByText('Deliveries are kept for 30 days after their last change.').waitFor();
  });

  it('can be used with the keyboard alone', async () => {
    await made('https://k.example/hook');
    await generate();
    await logged('204');
    await tabTo(page, 'Send test event');
    await page.keyboard.press('Enter');
    await logged('generation.test');
    const [name = ''] = await page.locator('.row-link').filter({ hasText: 'generation.succeeded' }).allTextContents();
    await tabTo(page, name);
    await page.keyboard.press('Enter');
    await page.getByRole('complementary').getByRole('link', { name: 'a cat' }).waitFor();
    await focusOn(page, name);
    await tabTo(page, 'Request');
    await page.keyboard.press('ArrowRight');
    await focusOn(page, 'Response');
    await page.goto(page.url().replace(/\?.*/, ''));
    await tabTo(page, 'More actions');
    await page.keyboard.press('Enter');
    await focusOn(page, 'Disable');
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    await dialog().getByText('Delete this webhook?').waitFor();
    await page.keyboard.press('Escape');
    await focusOn(page, 'More actions');
  });

  it('shows a delivery over the log where there is no room beside it', async () => {
    await page.setViewportSize({ width: 360, height: 740 });
    await made('https://n.example/hook');
    await generate();
    await logged('204');
    await page.locator('.row-link').click();
    await dialog().getByText('Try 1').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('.row-link').waitFor();
    expect(page.url()).not.to.include('delivery=');
  });
});
