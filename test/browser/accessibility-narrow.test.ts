/*
 * Goal: every page is accessible on a narrow screen, in dark colours: axe finds no violation, and nothing is wider than the screen.
 * Method: the pages of a whole service in this process, in Chromium with axe-core. The other look has a file of its own, which
 * runs at the same time.
 */
import { itShowsEveryPage } from './every-page.js';

describe('every page, narrow and dark', () =>
  itShowsEveryPage({ number: 1, viewport: { width: 360, height: 740 }, colorScheme: 'dark' }));
