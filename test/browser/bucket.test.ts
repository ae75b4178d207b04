/*
 * Goal: the playground works where signed addresses lead to a bucket: the browser sends a reference file there exactly
 * as signed, and shows and saves pictures from there.
 * Method: the built page of a whole service in this process, in Chromium, on a real S3 store, with its default CORS
 * rules.
 */
import { expect } from 'chai';
import { referenceFile } from '../fixtures/reference-files.js';
import { freshBucket, type FreshBucket } from '../servers/fresh-places.js';
import { s3Server } from '../servers/servers.js';
import { orSkip } from '../servers/server-absent.js';
import { openIn } from '../adapters/minio/minio-buckets.js';
import { PageHarness, pictureOf } from './page-harness.js';

describe('the playground on a bucket of MinIO', () => {
  let bucket: FreshBucket | undefined;
  let pages: PageHarness | undefined;
  before(async function () {
    bucket = freshBucket(await orSkip(this, s3Server('minio')));
    const store = await openIn(bucket);
    pages = await orSkip(this, PageHarness.open({ store }));
    pages.otherOrigins.push(new URL(bucket.endpoint).origin);
    await pages.service.harness.startWorker();
  });
  after(async () => {
    await pages?.close();
    await bucket?.remove();
  });

  it('sends a file, shows the picture that was made, and saves it', async () => {
    const harness = pages as PageHarness;
    const visitor = await harness.newVisitor();
    const { page } = visitor;
    await harness.openSignedIn(visitor, '/console/playground');
    const png = { name: 'one.png', mimeType: 'image/png', buffer: Buffer.from(await referenceFile('png')) };
    const sent = page.waitForRequest((request) => request.method() === 'PUT');
    await page.locator('input[type=file]').setInputFiles(png);
    await page.getByText('Ready').waitFor();
    const { origin } = new URL((await sent).url());
    expect(harness.otherOrigins).to.deep.equal([origin]);
    await page.getByRole('radio', { name: '96 × 64' }).check();
    await page.getByLabel('Prompt', { exact: true }).fill('a cat');
    await page.getByRole('button', { name: 'Create image', exact: true }).click();
    await page.getByAltText('Image: a cat').click();
    await pictureOf(page, '.lightbox img', 96);
    await page.keyboard.press('Escape');
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download', exact: true }).click();
    expect((await saving).suggestedFilename()).to.match(/-1\.png$/);
    await visitor.context.close();
    expect(visitor.faults).to.deep.equal([]);
  });
});
