/**
 * Goal: the history checker finds each kind of broken guarantee, and reports nothing when all are kept. Method: a short
 * correct history, and for each rule a copy that breaks exactly that rule: the checker must name its invariant.
 */
import { expect } from 'chai';
import { EXPECTED } from '../../faults/clients/wishes.js';
import { invariantsOf } from '../finding.js';
import { ACCESS, BYTES, ENDS, KEYS, MONEY, VIEWS } from './breaches.js';
import { checkHistory } from './check-history.js';
import { IDS } from './clean-cases.js';
import { cleanHistory, QUIET_AT } from './clean-history.js';
import { ask, asked, entry, fail, record, spreadOverFences, the, wantUntil } from './draft-changes.js';

describe('the history checker', () => {
  it('finds nothing where every promise is kept', () => {
    expect(checkHistory(cleanHistory(), EXPECTED)).to.deep.equal([]);
  });

  for (const breaches of [MONEY, VIEWS, KEYS, BYTES, ACCESS, ENDS])
    for (const [invariant, changes] of Object.entries(breaches))
      for (const [what, change] of Object.entries(changes))
        it(`finds against ${invariant} that ${what}`, () => {
          const draft = cleanHistory();
          change(draft);
          expect(invariantsOf(checkHistory(draft, EXPECTED))).to.include(Number(invariant));
        });

  it('accepts entries without a key where older processes took part, but with no other key', () => {
    const draft = cleanHistory();
    draft.facts.hasOlderProcesses = true;
    delete entry(draft, IDS.succeeded, 'hold').attribution;
    expect(checkHistory(draft, EXPECTED)).to.deep.equal([]);
    the(entry(draft, IDS.succeeded, 'charge').attribution).modelKey = 'another-model';
    expect(checkHistory(draft, EXPECTED).map(({ invariant }) => invariant)).to.deep.equal([1]);
  });

  it('does not order answers that overlap', () => {
    const draft = cleanHistory();
    const late = asked(draft, 'create', 'key-succeeded');
    late.answered.at = 3_500;
    expect(checkHistory(draft, EXPECTED)).to.deep.equal([]);
  });

  it('does not count the time in which a store could not be had', () => {
    const draft = cleanHistory();
    draft.facts.troubledUntil = QUIET_AT + 15_000;
    record(draft, IDS.failed).completedAt = QUIET_AT + 20_000;
    expect(checkHistory(draft, EXPECTED).filter(({ invariant }) => invariant === 20)).to.deep.equal([]);
  });

  it('takes a refusal for true while the want may have lasted', () => {
    const draft = cleanHistory();
    wantUntil(draft, 15_000);
    const refuse = (at: number) =>
      ask(draft, 'rich', at, asked(draft, 'create', 'key-failed').request, {
        status: 402,
        code: 'CREDITS_INSUFFICIENT',
      });
    refuse(17_000);
    expect(checkHistory(draft, EXPECTED).filter(({ invariant }) => invariant === 13)).to.deep.equal([]);
    refuse(30_000);
    draft.facts.troubles = [{ from: 16_000, until: 28_000 }];
    expect(checkHistory(draft, EXPECTED).filter(({ invariant }) => invariant === 13)).to.deep.equal([]);
  });

  it('accepts that trouble keeps a request from arriving in time', () => {
    const draft = cleanHistory();
    ask(
      draft,
      'rich',
      20_000,
      { operation: 'get', generationId: IDS.succeeded },
      { status: 408, code: 'REQUEST_TIMEOUT' },
    );
    draft.facts.troubles.push({ from: 19_000, until: 20_005 });
    expect(checkHistory(draft, EXPECTED)).to.deep.equal([]);
  });

  it('accepts that trouble keeps something from succeeding', () => {
    const draft = cleanHistory();
    fail(draft, IDS.poor, 'TASK_TIMEOUT');
    draft.facts.bursts = [];
    draft.facts.troubles = [{ from: 25_000, until: 26_000 }];
    expect(checkHistory(draft, EXPECTED).filter(({ sentence }) => sentence.includes('asked for'))).to.deep.equal([]);
    fail(draft, IDS.poor, 'TASK_TIMEOUT', { runDeadlineAt: undefined, completedAt: 40_000 });
    expect(checkHistory(draft, EXPECTED).filter(({ sentence }) => sentence.includes('asked for'))).to.deep.equal([]);
  });

  it('accepts outputs of one answer with several fences of the worker that stored them', () => {
    const draft = cleanHistory();
    const g = spreadOverFences(draft, IDS.poor);
    expect(new Set(g.outputs.map(({ objectKey }) => objectKey.split('/')[2]))).to.have.lengthOf(2);
    the(g.attempt).delivered = g.outputs;
    expect(checkHistory(draft, EXPECTED)).to.deep.equal([]);
  });

  it('knows every invariant that can be seen from outside', () => {
    const tested = Object.keys({ ...MONEY, ...VIEWS, ...KEYS, ...BYTES, ...ACCESS }).map(Number);
    expect(tested).to.deep.equal([...Array.from({ length: 20 }, (_, index) => index + 1), 24]);
  });
});
