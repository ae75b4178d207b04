/*
 * Goal: the API reference can be read and searched by everybody: with a mouse, by keys, without scripts, on any screen, in
 * light and dark.
 * Method: the pages of a whole service in Chromium, with axe-core.
 */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { expectNoViolation } from './accessible.js';
import { openPages, tabTo, untilInPage, type Visitor } from './page-harness.js';

/** One of each kind, and short, as axe looks at every element. */
const PAGES = ['/docs', '/docs/usage', '/docs/guides/api-models'];
/** The longest ones, with the widest contents. */
const LONG_PAGES = ['/docs/generations', '/docs/webhooks', '/docs/openai', '/docs/errors', '/docs/guides/mcp'];
const WIDTHS = [360, 768, 1440];
const LOOKS = [
  { colorScheme: 'light', width: 1440 },
  { colorScheme: 'dark', width: 360 },
] as const;

const widthOf = (page: Page): Promise<number> => page.evaluate('document.documentElement.scrollWidth');

describe('the API reference', () => {
  let visitor: Visitor;
  const harness = openPages((opened) => (visitor = opened));
  const isShown = (selector: string): Promise<boolean> => visitor.page.locator(selector).first().isVisible();

  for (const { colorScheme, width } of LOOKS)
    it(`has no violation, ${colorScheme} and ${width} px wide`, async () => {
      const { context, page, faults } = await harness().newVisitor({ colorScheme, viewport: { width, height: 900 } });
      for (const path of PAGES) {
        await page.goto(path);
        // Checks folded sections too.
        await page.evaluate("for (const one of document.querySelectorAll('main details')) one.open = true");
        await expectNoViolation(page);
        expect(await widthOf(page), path).to.be.at.most(width);
      }
      await context.close();
      expect(faults).to.deep.equal([]);
    });

  for (const width of WIDTHS)
    it(`has no sideways scrolling at ${width} px`, async () => {
      const { page } = visitor;
      await page.setViewportSize({ width, height: 900 });
      for (const path of [...PAGES, ...LONG_PAGES]) {
        await page.goto(path);
        expect(await widthOf(page), path).to.be.at.most(width);
      }
    });

  it('leads from request to request by its navigation, and marks the one that is read', async () => {
    const { page } = visitor;
    await page.goto('/docs');
    await page.getByRole('link', { name: 'Cancel a generation' }).last().click();
    await page.waitForURL('**/docs/generations#cancelGeneration');
    await page.locator('.side a[aria-current=location]', { hasText: 'Cancel a generation' }).waitFor();
    await page.locator('.side').getByText('Webhooks', { exact: true }).first().click();
    await page
      .locator('.side')
      .getByRole('link', { name: /^Create a webhook/ })
      .click();
    await page.waitForURL('**/docs/webhooks#createWebhook');
    await page.getByRole('heading', { name: 'Create a webhook' }).waitFor();
  });

  it('opens what is folded around a field that is linked to', async () => {
    await visitor.page.goto('/docs/generations#getGeneration.200.GenerationTask.outputs.width');
    await visitor.page
      .locator('[id="getGeneration.200.GenerationTask.outputs.width"]')
      .getByText('In pixels.')
      .waitFor();
  });

  it('finds requests by name, method and path, and is reached by a key', async () => {
    const { page } = visitor;
    await page.goto('/docs/credits');
    await page.keyboard.press('/');
    await page.keyboard.type('post cancel');
    await page.locator('.side [role=status]', { hasText: '1 match' }).waitFor({ state: 'attached' });
    expect(await page.locator('.side nav a:visible').allInnerTexts()).to.have.lengthOf(1);
    await page.keyboard.press('Enter');
    await page.waitForURL('**/docs/generations#cancelGeneration');
  });

  it('copies a sample, in the language that was chosen on another page', async () => {
    const { page, context } = visitor;
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.goto('/docs/generations');
    const sample = page.locator('#createGeneration .samples');
    await sample.getByText('Python').click();
    await page.goto('/docs/credits');
    await page.locator('#getCredits').getByRole('button', { name: 'Copy' }).click();
    await page.locator('#getCredits').getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).to.match(
      /^import os\nfrom darkroom_client[^]*credits\(\)\)$/,
    );
  });

  it('names the address of this service in the set-up', async () => {
    await visitor.page.goto('/docs');
    await visitor.page.getByText(`export DARKROOM_URL=${harness().origin}`).waitFor();
  });

  it('breaks paths of the list of requests behind slashes alone on a narrow screen', async () => {
    const { page } = visitor;
    await page.setViewportSize({ width: 360, height: 740 });
    await page.goto('/docs');
    // The steps of a path are text nodes: one that is broken has two boxes.
    const boxes = await page.evaluate<number[]>(`[...document.querySelectorAll('.requests code')].flatMap((code) =>
      [...code.childNodes].filter(({ data }) => data).map((step) => {
        const range = document.createRange();
        range.selectNodeContents(step);
        return range.getClientRects().length;
      }))`);
    expect(boxes).to.have.lengthOf.above(50);
    expect(new Set(boxes)).to.deep.equal(new Set([1]));
  });

  it('changes the language of samples by keys', async () => {
    const { page } = visitor;
    await page.goto('/docs/credits');
    await page.locator('#getCredits input[value=curl]').focus();
    await page.keyboard.press('ArrowRight');
    await page.locator('#getCredits .of[data-language=typescript]').waitFor();
    await page.goto('/docs/credits');
    await tabTo(page, 'Skip to content');
    await page.keyboard.press('Enter');
    await untilInPage(page, "document.activeElement.id === 'main'");
  });

  it('is complete without scripts, with the navigation folded on a narrow screen', async () => {
    const { context, page } = await harness().newVisitor({
      javaScriptEnabled: false,
      viewport: { width: 360, height: 740 },
    });
    await page.goto('/docs/generations');
    await page.getByRole('heading', { name: 'Create a generation' }).waitFor();
    const sample = page.locator('#createGeneration .samples');
    await sample.getByText('curl "$DARKROOM_URL').waitFor();
    await sample.getByText('TypeScript').click();
    await sample.getByText("import { Darkroom } from 'darkroom-client'").waitFor();
    await page.getByText('All requests and pages').click();
    await page.locator('.menu').getByText('Uploads', { exact: true }).first().click();
    await page
      .locator('.menu')
      .getByRole('link', { name: /^Prepare the upload/ })
      .click();
    await page.waitForURL('**/docs/uploads#prepareUpload');
    expect(await page.locator('.find').first().isVisible()).to.equal(false);
    await context.close();
  });

  it('has the theme that was chosen in the console', async () => {
    const { page } = visitor;
    const colour = (): Promise<string> => page.evaluate('getComputedStyle(document.body).backgroundColor');
    await page.goto('/docs');
    const light = await colour();
    await page.evaluate("localStorage.setItem('darkroom.theme', 'dark')");
    await page.reload();
    expect(await colour()).to.not.equal(light);
  });

  it('leads back to the console', async () => {
    const { page } = visitor;
    await harness().openSignedIn(visitor, '/docs/webhooks');
    await page.getByRole('link', { name: 'Console' }).click();
    await page.waitForURL(/\/console/);
  });

  it('prints what is folded, without what is for the screen', async () => {
    const { page } = visitor;
    await page.goto('/docs/credits');
    expect(await isShown('.side')).to.equal(true);
    await page.emulateMedia({ media: 'print' });
    expect(await isShown('.side')).to.equal(false);
    await page.locator('#getCredits .errors a', { hasText: 'RATE_LIMITED' }).waitFor();
  });
});
