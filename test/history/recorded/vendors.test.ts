/**
 * Goal: the history checker finds each way in which a vendor gets a generation that it must not get, and reports
 * nothing when every guarantee is kept. Method: the clean history as one of vendors' models, with correct submissions,
 * and the same with one of them wrong.
 */
import { expect } from 'chai';
import { EXPECTED } from '../../faults/clients/wishes.js';
import { vendorPrompt } from '../../faults/vendors/vendor-models.js';
import { checkHistory } from './check-history.js';
import { IDS } from './clean-cases.js';
import { cleanHistory, QUIET_AT } from './clean-history.js';
import { type HistoryDraft, record } from './draft-changes.js';
import type { NotFound, VendorSubmission, VendorTask } from './history.js';
import { checkPaid } from './rules/vendors.js';

const [EARLIER, LATER] = [QUIET_AT + 1_000, QUIET_AT + 11_000];
const SETTLE_MS = 3_000;

interface Seen {
  readonly policy?: 'fail' | 'resubmit';
  readonly submissions: readonly VendorSubmission[];
  readonly notFound?: readonly NotFound[];
}

/** The draft with its succeeded generation made by vendors, with this vendor history. */
function seenBy({ policy = 'fail', submissions, notFound = [] }: Seen): HistoryDraft {
  const draft = cleanHistory();
  draft.vendors = {
    submissions: submissions.map((one) => ({ ...one })),
    notFound: notFound.map((one) => ({ ...one })),
    terms: {
      policies: { 'sandbox-test': policy },
      paid: [],
      mostConcurrent: { west: 1 },
      settleMs: SETTLE_MS,
      longestDelayMs: 1_000,
    },
    lostWorkers: [],
  };
  // The clean history uses one model; only one generation of it has pictures that a vendor made.
  for (const generation of draft.atRest.generations)
    if (generation.generationId !== IDS.succeeded && generation.kind === 'generation')
      draft.vendors.submissions.push(...madeFor(draft, generation.generationId));
  return draft;
}

function madeFor(draft: HistoryDraft, generationId: string): VendorSubmission[] {
  const { clientTraceId = '', outputs } = record(draft, generationId);
  return outputs.map(({ sha256 }, index) => ({
    maker: `maker ${index}`,
    prompt: vendorPrompt(clientTraceId),
    arrivedAt: index,
    task: { ...TASK, endedAt: index, endToldAt: index, deliveredSha256: { trained: sha256, composite: '' } },
  }));
}

const CLEAN = record(cleanHistory(), IDS.succeeded);
const TASK: VendorTask = {
  id: 'a task',
  takenAt: EARLIER,
  endedAt: EARLIER + 500,
  endToldAt: EARLIER + 600,
  deliveredSha256: { trained: CLEAN.outputs[0]?.sha256 ?? '', composite: '' },
};
const FIRST: VendorSubmission = {
  maker: 'west',
  prompt: vendorPrompt(CLEAN.clientTraceId ?? ''),
  token: 'a token',
  arrivedAt: EARLIER,
  task: TASK,
};
const { task: _, ...LOST } = FIRST;
const { endToldAt: __, ...UNTOLD } = TASK;
const again = (maker = 'west'): VendorSubmission => ({
  ...FIRST,
  maker,
  arrivedAt: LATER,
  task: { ...TASK, id: 'another', takenAt: LATER, endedAt: LATER + 500, endToldAt: LATER + 500 },
});
const notFoundAt = (at: number): NotFound => ({ maker: 'west', token: 'a token', at });

function found(seen: Seen, change: (draft: HistoryDraft) => void = () => undefined): number[] {
  const draft = seenBy(seen);
  change(draft);
  return [...new Set(checkHistory(draft, EXPECTED).map(({ invariant }) => invariant))];
}

describe('the history checker, of vendors', () => {
  it('finds nothing where a generation came to one once', () => {
    expect(found({ submissions: [FIRST] })).to.deep.equal([]);
  });

  it('takes another submission for right once the first was refused, told to have ended, or not found twice', () => {
    const twice = [notFoundAt(EARLIER + 4_000), notFoundAt(EARLIER + 4_000 + SETTLE_MS)];
    expect(found({ submissions: [{ ...LOST, refusedAt: EARLIER }, again('east')] })).to.deep.equal([]);
    expect(found({ submissions: [FIRST, again('east')] })).to.deep.equal([]);
    expect(found({ submissions: [LOST, again()], notFound: twice })).to.deep.equal([]);
  });

  it('finds one that came again while nobody knew that the first had come to nothing', () => {
    const once = [notFoundAt(EARLIER + 4_000), notFoundAt(EARLIER + 3_000 + SETTLE_MS)];
    expect(found({ submissions: [LOST, again()] }), 'without asking').to.deep.equal([21]);
    expect(found({ submissions: [LOST, again()], notFound: once }), 'asked too early').to.deep.equal([21]);
    const early = [notFoundAt(EARLIER + 500), notFoundAt(EARLIER + 500 + SETTLE_MS)];
    expect(found({ submissions: [LOST, again()], notFound: early }), 'first asked too early').to.deep.equal([21]);
    expect(found({ submissions: [LOST, again('east')] }), 'at another vendor').to.deep.equal([21]);
    const untold = [{ ...FIRST, task: UNTOLD }, again('east')];
    expect(found({ submissions: untold }), 'ended, and nobody had heard').to.deep.equal([21]);
  });

  it('finds one that a vendor took after it had said that it had it not', () => {
    const late = { ...FIRST, task: { ...UNTOLD, takenAt: LATER - 1 } };
    const notFound = [notFoundAt(EARLIER + 4_000), notFoundAt(EARLIER + 4_000 + SETTLE_MS)];
    expect(found({ submissions: [late, again()], notFound })).to.deep.equal([21]);
  });

  it('allows a model that prefers a double submission to guess, but only in trouble', () => {
    const submissions = [{ ...FIRST, task: UNTOLD }, again()];
    const inTrouble = (draft: HistoryDraft) => draft.facts.troubles.push({ from: EARLIER, until: EARLIER + 1 });
    expect(found({ policy: 'resubmit', submissions }, inTrouble)).to.deep.equal([]);
    expect(found({ policy: 'resubmit', submissions })).to.deep.equal([21]);
  });

  it('finds a paid generation that is paid for twice, or delivered and paid for never', () => {
    const paidFor = (status: 'succeeded' | 'failed', submissions: readonly VendorSubmission[]) =>
      [...checkPaid({ generationId: 'g', modelKey: 'm', status }, submissions)].map(({ invariant }) => invariant);
    expect(paidFor('succeeded', [FIRST])).to.deep.equal([]);
    expect(paidFor('succeeded', [{ ...LOST, refusedAt: EARLIER }, again()]), 'a refusal costs nothing').to.deep.equal(
      [],
    );
    expect(paidFor('failed', [LOST])).to.deep.equal([]);
    expect(paidFor('failed', [FIRST])).to.deep.equal([]);
    expect(paidFor('succeeded', [FIRST, again()])).to.deep.equal([21]);
    expect(paidFor('failed', [FIRST, again()])).to.deep.equal([21]);
    expect(paidFor('succeeded', [LOST])).to.deep.equal([21]);
  });

  it('finds more tasks at once than a limit allows, but not those whose worker was lost', () => {
    const other = { ...again(), prompt: vendorPrompt('poor-1'), arrivedAt: EARLIER, task: { ...TASK, id: 'other' } };
    const submissions = [FIRST, other];
    const stillRuns = (draft: HistoryDraft) => {
      for (const id of [IDS.succeeded, IDS.poor]) record(draft, id).completedAt = EARLIER + 10_000;
    };
    const all = (change: (draft: HistoryDraft) => void) =>
      checkHistory(((draft) => (change(draft), draft))(seenBy({ submissions })), EXPECTED).filter(({ sentence }) =>
        sentence.includes('is its limit'),
      );
    expect(all(stillRuns)).to.have.lengthOf(2);
    expect(
      all(() => undefined),
      'of generations that have ended',
    ).to.deep.equal([]);
    const wasLost = (draft: HistoryDraft) => {
      stillRuns(draft);
      draft.vendors?.lostWorkers.push({ from: EARLIER - 1, until: EARLIER + 1 });
    };
    expect(all(wasLost)).to.deep.equal([]);
  });

  it('accepts that trouble loses some outputs, and finds a loss in calm, of all outputs, or of what no vendor made', () => {
    const badEnds = (change: (draft: HistoryDraft) => void) => {
      const draft = seenBy({ submissions: [FIRST] });
      draft.facts.bursts = [];
      draft.facts.troubles = [{ from: 20_000, until: 30_000 }];
      change(draft);
      return checkHistory(draft, EXPECTED).filter(({ sentence }) =>
        sentence.includes(`generation ${IDS.poor} succeeded with`),
      );
    };
    const loseOne = (draft: HistoryDraft) => record(draft, IDS.poor).outputs.pop();
    expect(badEnds(loseOne)).to.deep.equal([]);
    expect(
      badEnds((draft) => {
        loseOne(draft);
        draft.facts.troubles = [];
      }),
      'in calm',
    ).to.have.lengthOf(1);
    expect(
      badEnds((draft) => {
        loseOne(draft);
        loseOne(draft);
      }),
      'all of them',
    ).to.have.lengthOf(1);
    expect(
      badEnds((draft) => {
        loseOne(draft);
        delete draft.vendors;
      }),
      'of the sandbox',
    ).to.have.lengthOf(1);
  });

  it('finds what was delivered and not made for it, and what was made for nobody', () => {
    const foreign = { ...FIRST, task: { ...TASK, deliveredSha256: { trained: 'f'.repeat(64), composite: '' } } };
    expect(found({ submissions: [foreign] })).to.deep.equal([16]);
    expect(found({ submissions: [FIRST, { ...FIRST, prompt: 'Something else' }] })).to.deep.equal([11]);
  });

  it('finds one that was cancelled while it was queued', () => {
    const { clientTraceId = '' } = record(cleanHistory(), IDS.cancelled);
    const cancelled = { ...FIRST, prompt: vendorPrompt(clientTraceId) };
    expect(found({ submissions: [FIRST, cancelled] })).to.deep.equal([10]);
  });
});
