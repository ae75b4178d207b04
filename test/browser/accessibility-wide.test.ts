/*
 * Goal: every page is accessible on a wide screen, in light colours: axe finds no violation, and nothing is wider than the screen.
 * Method: the pages of a whole service in this process, in Chromium with axe-core. The other look has a file of its own, which
 * runs at the same time.
 */
import { itShowsEveryPage } from './every-page.js';

describe('every page, wide and light', () =>
  itShowsEveryPage({ number: 0, viewport: { width: 1280, height: 900 }, colorScheme: 'light' }));
