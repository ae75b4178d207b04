import { AxeBuilder } from '@axe-core/playwright';
import { expect } from 'chai';
import type { Page } from 'playwright-core';

/** Fails if axe finds a violation in a page, with the elements that violate a rule. */
export async function expectNoViolation(page: Page): Promise<void> {
  // The other mode opens a second page to collect the results of frames. The pages have no frames.
  const { violations, passes } = await new AxeBuilder({ page }).setLegacyMode().analyze();
  const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`);
  expect(passes).to.have.lengthOf.at.least(10);
  expect(found, page.url()).to.deep.equal([]);
}
