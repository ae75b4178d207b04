/*
 * Goal: a person sees in a real browser what an account needs first: what to act on, recent pictures, credits, first steps and
 * models; and finds every page by its address, by the sidebar and on a narrow screen.
 * Method: the built console of a whole service in this process, in Chromium.
 */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { type Caller, SCOPES } from '../../core/access/credential.js';
import { createAccount, resumeAccount, suspendAccount } from '../../core/access/manage.js';
import { grantCredits } from '../../core/credits/operate.js';
import { createGeneration } from '../../core/generation/create-generation.js';
import { createPerson } from '../../core/people/manage-people.js';
import { consoleApp } from '../../core/people/own-keys.js';
import { until } from '../fixtures/clocks.js';
import { focusOn, openPages, untilInPage, type Visitor } from './page-harness.js';

const PICTURE = { model_key: 'picture', operation: 'image_generation', prompt: 'a cat', parameters: { size: '96x64' } };

describe('the overview in a browser', () => {
  let visitor: Visitor;
  let page: Page;
  const harness = openPages((next) => ({ page } = visitor = next));
  const open = (path = '/console') => harness().openSignedIn(visitor, path);

  it('begins empty, with the first steps', async () => {
    await open();
    await page.getByRole('heading', { name: 'No generations yet' }).waitFor();
    await page.getByRole('link', { name: 'Create a first picture' }).waitFor();
    await page.getByRole('link', { name: 'Open the playground' }).click();
    await page.getByRole('heading', { level: 1, name: 'Playground' }).waitFor();
  });

  it('shows recent pictures, the figures of the week and the models', async () => {
    const { person, harness: service } = harness().service;
    const { context } = service;
    const { appId } = await consoleApp(context, person.accountId);
    const caller: Caller = { accountId: person.accountId, appId, credentialId: person.personId, scopes: SCOPES };
    await service.startWorker();
    const { generation } = await createGeneration(context, caller, context.ids.uuid(), PICTURE);
    await until(async () => {
      const record = await context.generations.read(generation.generationId);
      return record?.kind === 'generation' && record.settledAt !== undefined;
    });
    await open();
    await page.getByRole('link', { name: /a cat/ }).first().waitFor();
    await page.getByText('Charged, last 7 days').waitFor();
    await page.getByText('None failed').waitFor();
    await page.getByText('Create a first picture (done)').waitFor();
    await page.getByRole('link', { name: 'All models' }).click();
    await page.locator('a[href="/console/models/picture"]').click();
    await page.getByRole('heading', { name: 'Parameters' }).waitFor();
    await page.getByRole('row', { name: /size/ }).waitFor();
  });

  it('says that the account is suspended', async () => {
    const { context } = harness().service.harness;
    const { accountId } = harness().service.person;
    await suspendAccount(context, accountId);
    await open();
    await page.getByRole('alert').filter({ hasText: 'suspended' }).first().waitFor();
    await resumeAccount(context, accountId);
  });

  it('offers another way to sign in while one can be set, and says afterwards that it is too late', async () => {
    const { context, clock } = harness().service.harness;
    const { accountId } = await createAccount(context, { name: 'a new account' });
    await grantCredits(context, { accountId, operationId: 'the only one', credits: 1, reason: 'to test' });
    const person = await createPerson(context, { accountId, email: 'new@example.com' });
    await harness().openSignedIn(visitor, '/console', person, { method: 'link' });
    await page.getByText('within 15 minutes of the sign-in').waitFor();
    await page.getByRole('link', { name: 'Set a password or add a passkey' }).waitFor();
    await page.getByRole('link', { name: 'Balance: 1 credit', exact: true }).waitFor();
    clock.advance(16 * 60_000);
    await page.reload();
    await page.getByText('Ask the operator for another link.').waitFor();
    expect(await page.getByRole('link', { name: 'Set a password or add a passkey' }).count()).to.equal(0);
  });

  it('gives cards of models one shape, whatever shape their pictures have', async () => {
    const tall = `data:image/svg+xml,${encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" width="10" height="90"/>')}`;
    await page.route('**/console/api/models', async (route) => {
      const response = await route.fetch();
      const { data, ...answer } = (await response.json()) as { data: { models: object[] } };
      const output = { media_id: 'tall', media_type: 'image', url: tall, width: 10, height: 90 };
      const sample = { output, thumbnails: { media_id: 'tall', small: tall, medium: tall, large: tall } };
      const models = data.models.map((model, index) => (index > 0 ? model : { ...model, sample }));
      await route.fulfill({ response, json: { ...answer, data: { models } } });
    });
    await open('/console/models');
    // The browser scales the 10 × 90 pixels to the width that the page names.
    await untilInPage(
      page,
      `(({ naturalWidth, naturalHeight }) => naturalHeight / naturalWidth === 9)(document.querySelector('.model-sample img') ?? {})`,
    );
    const shapes = await page.evaluate<number[]>(
      `[...document.querySelectorAll('.model-sample')].map(({ clientWidth, clientHeight }) => clientWidth / clientHeight)`,
    );
    expect(shapes).to.have.lengthOf.at.least(2);
    for (const shape of shapes) expect(shape).to.be.closeTo(16 / 9, 0.05);
  });

  it('says of an unknown address that there is no page, and leads on', async () => {
    await open();
    const response = await page.goto('/console/nowhere');
    expect(response?.status()).to.equal(404);
    await page.getByRole('heading', { level: 1, name: 'Page not found' }).waitFor();
    await page.getByRole('link', { name: 'Go to the overview' }).click();
    await focusOn(page, 'Overview');
  });

  for (const [from, to] of [
    ['/console/api-and-mcp', '/console/keys'],
    ['/console/sign-in', '/console/account'],
    ['/console/credits', '/console/usage'],
  ] as const) {
    it(`leads from ${from} to ${to}`, async () => {
      await open(from);
      expect(new URL(page.url()).pathname).to.equal(to);
    });
  }

  it('has a bar at the bottom of a narrow screen, whose last button opens the sidebar', async () => {
    await page.setViewportSize({ width: 360, height: 740 });
    await open();
    await page.getByRole('navigation', { name: 'Short' }).getByRole('link', { name: 'Generations' }).click();
    await page.getByRole('heading', { level: 1, name: 'Generations' }).waitFor();
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Usage' }).click();
    await page.getByRole('heading', { level: 1, name: 'Usage' }).waitFor();
    await page.getByRole('navigation', { name: 'Main' }).waitFor({ state: 'hidden' });
  });

  it('keeps the newer of two balances when the older answer arrives last', async () => {
    const { service } = harness();
    const { accountId } = await createAccount(service.harness.context, { name: 'an account with late answers' });
    const person = await createPerson(service.harness.context, { accountId, email: 'late@example.com' });
    await harness().openSignedIn(visitor, '/console', person);
    const balance = (credits: number) => page.getByRole('link', { name: `Balance: ${credits} credits`, exact: true });
    await balance(0).waitFor();
    let release: (() => Promise<void>) | undefined;
    await page.route('**/console/api/overview', async (route) => {
      if (release !== undefined) return route.continue();
      const response = await route.fetch();
      release = () => route.fulfill({ response });
    });
    // A page that becomes visible reads its balance again.
    const reload = () => page.evaluate("void document.dispatchEvent(new Event('visibilitychange'))");
    await reload();
    await until(() => Promise.resolve(release !== undefined));
    await grantCredits(service.harness.context, { accountId, operationId: 'late', credits: 25, reason: 'to test' });
    await reload();
    await balance(25).waitFor();
    const late = page.waitForEvent('requestfinished', (request) => request.url().endsWith('/console/api/overview'));
    await release?.();
    await late;
    await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))');
    expect(await balance(25).count()).to.equal(1);
  });

  it('shows one message while the server is unreachable, keeps the content, and reloads when it returns', async () => {
    await open();
    await page.getByText('Charged, last 7 days').waitFor();
    await page.route('**/console/api/**', (route) => route.abort());
    // A page with several lists of its own.
    const menu = page.getByRole('navigation', { name: 'Main' });
    await menu.getByRole('link', { name: 'Usage' }).click();
    const alert = page.getByRole('alert');
    await alert.filter({ hasText: 'Can’t reach the server. Retrying every 5 s.' }).waitFor();
    await menu.getByRole('link', { name: 'Overview' }).click();
    await alert.filter({ hasText: 'Can’t reach the server. Retrying every 5 s.' }).waitFor();
    await page.getByText('Charged, last 7 days').waitFor();
    expect(await alert.count()).to.equal(1);
    await page.unroute('**/console/api/**');
    await alert.waitFor({ state: 'hidden' });
    expect(visitor.faults).to.deep.equal([]);
  });

  it('says that the server can’t be reached, and shows the page once it can', async () => {
    await page.route('**/console/api/overview', (route) => route.abort());
    await open();
    await page.getByRole('alert').filter({ hasText: 'Can’t reach the server.' }).waitFor();
    await page.unroute('**/console/api/overview');
    await page.getByText('Recent', { exact: true }).waitFor();
  });
});
