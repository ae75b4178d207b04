/*
 * Goal: the command palette and the shortcuts lead to every page, act and generation with the keyboard alone, and single
 * keys never take what is written into a field.
 * Method: the built page of a whole service in this process, in Chromium.
 */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { createKey } from '../../core/access/manage.js';
import { appsForKeys, consoleApp } from '../../core/people/own-keys.js';
import { SCOPES } from '../../core/access/credential.js';
import { createGeneration } from '../../core/generation/create-generation.js';
import { focusOn, openPages, untilInPage, type Visitor } from './page-harness.js';

const CONNECTIONS = '/console/connections';

describe('the command palette in a browser', () => {
  let visitor: Visitor;
  let page: Page;
  const harness = openPages((next) => ({ page } = visitor = next));
  before(async () => {
    const { harness: service, person } = harness().service;
    const { context } = service;
    const { accountId } = person;
    const { appId } = await consoleApp(context, accountId);
    const caller = { accountId, appId, credentialId: person.personId, scopes: SCOPES };
    const parameters = { size: '96x64' };
    for (const prompt of ['a heron in the reeds', 'an owl at night'])
      await createGeneration(context, caller, context.ids.uuid(), {
        model_key: 'picture',
        operation: 'image_generation',
        prompt,
        parameters,
      });
  });

  const open = async (path = CONNECTIONS): Promise<void> => {
    await harness().openSignedIn(visitor, path);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.getByRole('button', { name: /account menu$/ }).waitFor();
  };
  const palette = () => page.getByRole('dialog', { name: 'Search or jump to' });
  const field = () => page.getByRole('combobox', { name: 'Search or jump to' });
  const openPalette = async (): Promise<void> => {
    await page.keyboard.press('Control+k');
    await field().waitFor();
    await focusOn(page, 'Search or jump to');
  };
  const selected = () => palette().getByRole('option', { selected: true });
  const titleIs = (name: string) => page.getByRole('heading', { name, level: 1 }).waitFor();

  it('leads to a page by the beginning of its name, and moves the focus there', async () => {
    await open();
    await openPalette();
    await page.keyboard.type('usa');
    await selected().getByText('Usage').waitFor();
    await page.keyboard.press('Enter');
    await titleIs('Usage');
    await focusOn(page, 'Usage');
    expect(await palette().isVisible()).to.equal(false);
  });

  it('opens from the sidebar and for the key again, and gives the focus back', async () => {
    await open();
    await page.getByRole('button', { name: /^Search or jump to/ }).focus();
    await page.keyboard.press('Enter');
    await field().waitFor();
    await page.keyboard.press('Escape');
    await field().waitFor({ state: 'hidden' });
    await page.keyboard.press('Control+k');
    await field().waitFor();
    await page.keyboard.press('Control+k');
    await field().waitFor({ state: 'hidden' });
    expect(await page.evaluate('document.activeElement.className')).to.equal('jump');
  });

  it('moves the selection with arrows, around the ends, and names it to screen readers', async () => {
    await open();
    await openPalette();
    await page.keyboard.type('theme');
    await palette().getByRole('option').nth(1).waitFor();
    const active = async () =>
      page.evaluate<string>(
        `document.getElementById(document.activeElement.getAttribute('aria-activedescendant')).textContent`,
      );
    expect(await active()).to.equal('Switch to the light theme');
    await page.keyboard.press('ArrowDown');
    expect(await active()).to.equal('Switch to the dark theme');
    await palette()
      .getByText(/^Create “theme” with /)
      .waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    expect(await active()).to.equal('Switch to the light theme');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.documentElement.dataset.theme')).to.equal('dark');
  });

  it('shows recent generations, and opens one', async () => {
    await open();
    await openPalette();
    await palette().getByRole('group', { name: 'Actions' }).getByRole('option', { name: 'Create webhook' }).waitFor();
    await palette().getByRole('option', { name: 'a heron in the reeds' }).click();
    await page.waitForURL(/\/console\/generations\/[0-9a-f-]{36}$/);
    await page.getByText('a heron in the reeds').first().waitFor();
  });

  it('finds generations by words of their prompt', async () => {
    await open();
    await openPalette();
    await page.keyboard.type('owl nig');
    await selected().getByText('an owl at night').waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/console\/generations\/[0-9a-f-]{36}$/);
  });

  it('takes a text that matches nothing to the playground, and not into the address', async () => {
    await open();
    await openPalette();
    await page.keyboard.type('zzz a heron');
    await selected()
      .getByText(/^Create “zzz a heron” with /)
      .waitFor();
    await page.keyboard.press('Enter');
    await titleIs('Playground');
    const prompt = page.getByLabel('Prompt', { exact: true });
    await prompt.waitFor();
    expect(await prompt.inputValue()).to.equal('zzz a heron');
    expect(page.url()).not.to.include('zzz');
    await openPalette();
    await page.keyboard.type('zzz an owl');
    await selected()
      .getByText(/^Create “zzz an owl” with /)
      .waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await untilInPage(page, `[...document.querySelectorAll('textarea')].some(({ value }) => value === 'zzz an owl')`);
  });

  it('begins a key, copies the address of the MCP server, and signs out', async () => {
    await visitor.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await open();
    await openPalette();
    await page.keyboard.type('mcp');
    await selected().getByText('Copy MCP address').waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('status').filter({ hasText: 'The MCP address is copied.' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).to.equal(`${harness().origin}/api/v1/developer/mcp`);
    await openPalette();
    await page.keyboard.type('create key');
    await selected().getByText('Create key').waitFor();
    await page.keyboard.press('Enter');
    await focusOn(page, 'Name');
    await openPalette();
    await page.keyboard.type('sign o');
    await selected().getByText('Sign out').waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL('**/sign-in**');
  });

  it('lists the shortcuts for ?, and leads to the search of the page for /', async () => {
    const { context } = harness().service.harness;
    const { defaultApp } = await appsForKeys(context, harness().service.person.accountId);
    for (let count = 0; count < 10; count += 1)
      await createKey(context, { appId: defaultApp.appId, name: `key ${count}` });
    await open('/console/keys');
    await page.getByLabel('Find a key').waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('/');
    await focusOn(page, 'Find a key');
    await page.keyboard.type('a/?');
    expect(await page.getByLabel('Find a key').inputValue()).to.equal('a/?');
    expect(await page.getByRole('dialog').isVisible()).to.equal(false);
  });

  it('opens for / on a page without a search', async () => {
    await open();
    await page.keyboard.press('/');
    await field().waitFor();
    expect(await field().inputValue()).to.equal('');
  });

  it('leaves single keys alone where the person has turned them off', async () => {
    await visitor.context.addInitScript("localStorage.setItem('darkroom.shortcuts', 'off')");
    await open();
    await page.keyboard.press('?');
    await page.keyboard.press('/');
    expect(await page.getByRole('dialog').count()).to.equal(0);
    await openPalette();
  });
});
