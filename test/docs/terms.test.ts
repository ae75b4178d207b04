/**
 * Goal: one list of words, complete and without dead ones.
 * Method: the list is in order and without repeats; the words the code builds its money and its states from are in it,
 * as is the subject of every heading of the pages that explain them; every term is used on another page.
 */
import { expect } from 'chai';
import type { Book, EntryKind } from '../../core/credits/account.js';
import { TRANSITIONS } from '../../core/generation/decide.js';
import { allPages, readPage, tablesOf } from './pages.js';

const ENTRY_KINDS: Record<EntryKind, true> = { grant: true, adjustment: true, hold: true, charge: true, release: true };
const BOOKS: Record<Book, true> = { issued: true, available: true, reserved: true, spent: true };
const EXPLAINED_IN = ['docs/ledger.md', 'docs/state-machine.md'];
/** Headings that are about the page's own form. */
const PLAIN_HEADINGS = [
  'Transitions',
  'Changes of status',
  'Steps that keep the status',
  'Conditions that hold for every step',
  'What a crash leaves, and who cleans up',
];

const terms = tablesOf(readPage('docs/terms.md')).flatMap(({ rows }) => rows.map(([term = '']) => term));

describe('docs/terms.md', () => {
  it('lists each term once, in order', () => {
    const sorted = [...new Set(terms)].sort((a, b) => a.localeCompare(b, 'en', { sensitivity: 'base' }));
    expect(terms).to.deep.equal(sorted);
  });

  it('has every status, book and kind of entry', () => {
    const needed = [...Object.keys(TRANSITIONS), ...Object.keys(ENTRY_KINDS), ...Object.keys(BOOKS)];
    expect(needed.filter((word) => !terms.includes(word))).to.deep.equal([]);
  });

  it('has a term for every heading of the pages that explain the rules', () => {
    const headings = EXPLAINED_IN.flatMap((path) => readPage(path).headings).map(({ text }) => text);
    const unknown = headings.filter(
      (heading) => !PLAIN_HEADINGS.includes(heading) && !terms.some((term) => mentions(heading, term)),
    );
    expect(unknown).to.deep.equal([]);
  });

  it('has no term that no other page uses', () => {
    const others = allPages()
      .filter(({ path }) => path !== 'docs/terms.md')
      .map(({ text }) => text)
      .join('\n');
    expect(terms.filter((term) => !mentions(others, term))).to.deep.equal([]);
  });
});

/** Whole words, whatever their ending. */
function mentions(text: string, term: string): boolean {
  const stem = term.replace(/(?:y|e)$/, '');
  return new RegExp(`\\b${stem}\\w{0,5}\\b`, 'i').test(text);
}
