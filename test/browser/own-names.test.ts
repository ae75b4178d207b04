/*
 * Goal: the pages of a service on this machine work under localhost, passkeys included, while its public address has the
 * number; under the number they say where passkeys work.
 * Method: Chromium over a whole service in this process whose public address is http://127.0.0.1:PORT, with a worker.
 */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { referenceFile } from '../fixtures/reference-files.js';
import { DeviceAuthenticator } from './device-authenticator.js';
import { openPages, pictureOf, type Visitor } from './page-harness.js';

const SIGN_IN = '/console/account';

describe('pages under localhost of a service that is public under a number', () => {
  let visitor: Visitor;
  let page: Page;
  const harness = openPages((next) => ({ page } = visitor = next), { hasNumber: true });
  before(() => harness().service.harness.startWorker());

  it('sign in with a passkey that was made there', async () => {
    await DeviceAuthenticator.of(page);
    await harness().signInByForm(visitor, SIGN_IN);
    await page.getByLabel('Name of a new passkey').fill('laptop');
    await page.getByRole('button', { name: 'Add passkey' }).click();
    await page.getByRole('heading', { name: 'laptop', exact: true }).waitFor();
    await visitor.context.clearCookies();
    await page.goto(`/sign-in?return=${encodeURIComponent(SIGN_IN)}`);
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.waitForURL((url) => url.hostname === 'localhost' && url.pathname === SIGN_IN);
  });

  it('send a reference file and show the picture that was made', async () => {
    await harness().openSignedIn(visitor, '/console/playground');
    const png = { name: 'first.png', mimeType: 'image/png', buffer: Buffer.from(await referenceFile('png')) };
    await page.locator('input[type=file]').setInputFiles(png);
    await page.getByText('Ready').waitFor();
    await page.getByRole('radio', { name: '96 × 64' }).check();
    await page.getByLabel('Prompt', { exact: true }).fill('a cat');
    await page.getByRole('button', { name: 'Create image', exact: true }).click();
    await page.getByAltText('Image: a cat').click();
    await pictureOf(page, '.lightbox img', 96);
  });

  it('are where the sign-in page under the number leads for a passkey', async () => {
    const numbered = harness().origin.replace('localhost', '127.0.0.1');
    harness().otherOrigins.push(numbered);
    await page.goto(`${numbered}/sign-in`);
    expect(await page.getByRole('button', { name: 'Sign in with a passkey' }).count()).to.equal(0);
    await page.getByRole('link', { name: harness().origin }).click();
    await page.getByRole('button', { name: 'Sign in with a passkey' }).waitFor();
    expect(new URL(page.url()).origin).to.equal(harness().origin);
  });
});
