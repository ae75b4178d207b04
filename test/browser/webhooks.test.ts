/*
 * Goal: a person creates, changes and deletes webhooks in a real browser, sees a secret once, sees every delivery with
 * its attempts, and sends one again.
 * Method: the built page of a whole service in this process, in Chromium, with a worker, and receivers whose answers the
 * test gives.
 */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { type Caller, SCOPES } from '../../core/access/credential.js';
import { createApp } from '../../core/access/manage.js';
import { createGeneration } from '../../core/generation/create-generation.js';
import { ReceivingSender } from '../fixtures/receiving-sender.js';
import { focusOn, openPages, type Visitor } from './page-harness.js';

const PICTURE = { model_key: 'picture', operation: 'image_generation', prompt: 'a cat', parameters: { size: '96x64' } };

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

  const open = () => harness().openSignedIn(visitor, `/console/webhooks?app=${caller.appId}`);
  const address = () => page.getByRole('textbox', { name: 'Address' });
  const make = async (url: string): Promise<string> => {
    await address().fill(url);
    await page.getByRole('button', { name: 'Make webhook' }).click();
    await page.getByRole('heading', { name: 'Your new webhook' }).waitFor();
    return page.locator('.secret code').innerText();
  };
  const made = async (url: string): Promise<void> => {
    await open();
    await make(url);
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByRole('link', { name: url }).click();
    await page.getByRole('heading', { name: url }).waitFor();
  };
  const confirm = (name: string) => page.getByRole('dialog').getByRole('button', { name }).click();
  const create = async (): Promise<void> => {
    const { context } = harness().service.harness;
    await createGeneration(context, caller, context.ids.uuid(), PICTURE);
  };
  /** Reads the log again until it says so. */
  const logged = async (text: string): Promise<void> => {
    const row = page.getByRole('listitem').filter({ hasText: text });
    while ((await row.count()) === 0) {
      await page.getByRole('button', { name: 'Read again' }).click();
      await page.getByRole('status').filter({ hasText: 'up to date' }).waitFor();
    }
  };

  it('makes one, and shows its secret once: not after a reload, or anywhere that stays', async () => {
    await open();
    const secret = await make('https://a.example/hook');
    expect(secret).to.match(/^whsec_/);
    await focusOn(page, 'Your new webhook');
    expect(await page.evaluate('JSON.stringify([{...localStorage}, {...sessionStorage}])')).to.equal('[{},{}]');
    await page.reload();
    await page.getByRole('link', { name: 'https://a.example/hook' }).waitFor();
    expect(await page.content()).not.to.include(secret);
  });

  it('says at the field which address is refused, and that one is there already', async () => {
    await open();
    await address().fill('http://a.example/hook');
    await page.getByRole('button', { name: 'Make webhook' }).click();
    await page.getByRole('alert').filter({ hasText: 'url must be an address' }).waitFor();
    expect(await address().getAttribute('aria-invalid')).to.equal('true');
    expect(await address().inputValue()).to.equal('http://a.example/hook');
    await make('https://a.example/hook');
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await address().fill('https://a.example/hook');
    await page.getByRole('button', { name: 'Make webhook' }).click();
    await page.getByRole('alert').filter({ hasText: 'has a webhook with this url' }).waitFor();
  });

  it('edits, disables and enables it, makes another secret, and deletes it', async () => {
    await made('https://b.example/hook');
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('begins to run').check();
    await page.getByLabel('is cancelled').uncheck();
    await page.getByLabel('Description').fill('of the shop');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('a generation begins to run, succeeds, fails').waitFor();
    await page.getByText('of the shop').waitFor();
    await page.getByRole('button', { name: 'Disable' }).click();
    await page.getByText(/^Disabled .* on request\.$/).waitFor();
    await page.getByRole('button', { name: 'Enable' }).click();
    await page.getByRole('button', { name: 'Disable' }).waitFor();
    await page.getByRole('button', { name: 'New secret' }).click();
    await confirm('Make it');
    await page.getByText('and with the one before it until').waitFor();
    expect(await page.locator('.secret code').innerText()).to.match(/^whsec_/);
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByRole('button', { name: 'Delete this webhook' }).click();
    await confirm('Delete it');
    await page.getByRole('status').filter({ hasText: 'The webhook is deleted.' }).waitFor();
    await page.getByText('The App has none yet.').waitFor();
  });

  it('shows messages with their attempts, and sends one again', async () => {
    await made('https://c.example/hook');
    sender.receive = () => ({ status: 503 });
    await create();
    await logged('To be tried again');
    await page.getByText('One attempt').click();
    await page.getByText('answered 503').waitFor();
    sender.receive = () => ({ status: 204 });
    await page.getByRole('button', { name: /^Send again: a generation succeeds/ }).click();
    await page.getByRole('status').filter({ hasText: 'It is sent again.' }).waitFor();
    await logged('Delivered');
    await page.getByLabel('State').selectOption('Given up');
    await page.getByText('None is in this state.').waitFor();
  });

  it('shows that the receiver is gone, and resends a time range once it is enabled', async () => {
    await made('https://d.example/hook');
    sender.receive = () => ({ status: 410 });
    await create();
    await logged('Not sent: the webhook was disabled');
    await page.reload();
    await page.getByText('it answered 410, which says that it is gone').waitFor();
    const replay = async (): Promise<void> => {
      await page.getByRole('button', { name: 'Send a time again' }).click();
      await page.getByLabel('From').fill('2001-01-01T00:00');
      await page.getByRole('dialog').getByRole('button', { name: 'Send again' }).click();
    };
    await replay();
    await page.getByRole('alert').filter({ hasText: 'The webhook is disabled; enable it' }).waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    sender.receive = () => ({ status: 204 });
    await page.getByRole('button', { name: 'Enable' }).click();
    await page.getByRole('button', { name: 'Disable' }).waitFor();
    await replay();
    await page.getByRole('status').filter({ hasText: 'One is sent again.' }).waitFor();
    await logged('Delivered');
  });

  it("makes the App's own secret for addresses of single generations", async () => {
    await open();
    await page.getByRole('button', { name: 'Make a secret for addresses of single generations' }).click();
    await confirm('Make it');
    expect(await page.locator('.secret code').innerText()).to.match(/^whsec_/);
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByRole('link', { name: 'What was sent there' }).click();
    await page.getByText('It was told nothing yet.').waitFor();
  });

  it('does not show a webhook of another App', async () => {
    const path = `/console/webhooks/00000000-0000-7000-8000-000000000000?app=${caller.appId}`;
    await harness().openSignedIn(visitor, path);
    await page.getByRole('alert').filter({ hasText: 'The App has no webhook with this id.' }).waitFor();
  });
});
