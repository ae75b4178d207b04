/**
 * Goal: the history checker finds each kind of broken promise, and finds nothing where all are kept.
 * Method: a short history in which everything is right, and for each rule the same one with exactly that rule broken: the
 * checker must name its invariant.
 */
import { expect } from 'chai';
import type { Generation } from '../../../core/generation/generation.js';
import type { Entry } from '../../../core/credits/account.js';
import type { JsonObject } from '../../../core/json.js';
import { checkHistory } from './check-history.js';
import { whatIsMissing } from './enough.js';
import { cleanHistory, IDS, POOR, QUIET_AT, RICH, type Draft } from './clean-history.js';
import type { Exchange, History, Request } from './history.js';

type HistoryDraft = Draft<History>;

interface Breach { readonly invariant: number; readonly what: string; readonly make: (draft: HistoryDraft) => void }

const SECRET = 'SECRETSECRETSECRET';

function record(draft: HistoryDraft, generationId: string): Draft<Generation> {
  const found = draft.atRest.generations.find((candidate) => candidate.generationId === generationId);
  if (found?.kind !== 'generation') throw new Error(`There is no generation ${generationId} in this draft.`);
  return found;
}

function account(draft: HistoryDraft, { accountId }: typeof RICH): HistoryDraft['atRest']['accounts'][number] {
  return the(draft.atRest.accounts.find((candidate) => candidate.accountId === accountId));
}

function entry(draft: HistoryDraft, generationId: string, kind: Entry['kind']): Draft<Entry> {
  return the(draft.atRest.accounts.flatMap(({ entries }) => entries).find((candidate) => candidate.generationId === generationId && candidate.kind === kind));
}

/** The answered exchange of this operation about a generation or under a key, the last unless numbered. */
function asked(draft: HistoryDraft, operation: Request['operation'], subject: string, index = -1): Draft<Exchange> & { answered: NonNullable<Draft<Exchange>['answered']> } {
  const isAbout = ({ request }: Draft<Exchange>) => request.operation === operation && Object.values(request).includes(subject);
  const found = draft.exchanges.flatMap((exchange) => (isAbout(exchange) && exchange.answered ? [exchange as ReturnType<typeof asked>] : []));
  return the(found.at(index));
}

function dataOf(exchange: ReturnType<typeof asked>): JsonObject {
  return the(exchange.answered.answer.data);
}

function the<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('The draft has no such thing.');
  return value;
}

function ask(draft: HistoryDraft, by: string, sentAt: number, request: Request, answer: NonNullable<Exchange['answered']>['answer']): void {
  draft.exchanges.push({ by, through: 'rest-1', sentAt, request, answered: { at: sentAt + 10, answer } });
}

const upload = (draft: HistoryDraft) => the(draft.atRest.uploads[0]);

const MONEY: readonly Breach[] = [
  { invariant: 1, what: 'an account has more than its entries add up to', make: (draft) => { account(draft, RICH).available += 1; } },
  { invariant: 1, what: 'an account has spent less than its entries add up to', make: (draft) => { account(draft, RICH).spent -= 1; } },
  { invariant: 1, what: 'more was issued than the operator granted', make: (draft) => { draft.facts.granted[RICH.accountId] = 99; } },
  { invariant: 1, what: 'an entry is missing', make: (draft) => { account(draft, RICH).entries.splice(2, 1); } },
  { invariant: 1, what: 'an entry says another balance', make: (draft) => { entry(draft, IDS.failed, 'hold').availableAfter += 1; } },
  { invariant: 1, what: 'a release goes to the wrong book', make: (draft) => { entry(draft, IDS.failed, 'release').to = 'spent'; } },
  { invariant: 1, what: 'a client is shown a balance that never was', make: (draft) => { for (const name of ['balance_credits', 'available_credits', 'remaining_credits']) dataOf(the(draft.exchanges.find(({ request }) => request.operation === 'credits') as ReturnType<typeof asked>))[name] = 55; } },
  { invariant: 1, what: 'a client is shown a balance of long ago', make: (draft) => { ask(draft, 'rich', QUIET_AT, { operation: 'credits' }, { status: 200, code: 'OK', data: { balance_credits: 100, available_credits: 100, remaining_credits: 100 } }); } },
  { invariant: 1, what: 'a client is shown a balance before it is had', make: (draft) => { ask(draft, 'rich', 3_500, { operation: 'credits' }, { status: 200, code: 'OK', data: { balance_credits: 96, available_credits: 96, remaining_credits: 96 } }); } },
  { invariant: 1, what: 'verify finds something', make: (draft) => { draft.atRest.verifyFindings.push('Something.'); } },
  { invariant: 2, what: 'a fraction of a credit moves', make: (draft) => { entry(draft, IDS.failed, 'hold').credits = 2.5; } },
  { invariant: 2, what: 'more is held than there is', make: (draft) => { the(account(draft, POOR).entries[0]).credits = 1; } },
  { invariant: 3, what: 'a generation reserves another price', make: (draft) => { record(draft, IDS.succeeded).reservedCredits = 3; } },
  { invariant: 3, what: 'a generation is charged for more than it delivered', make: (draft) => { record(draft, IDS.succeeded).chargedCredits = 2; } },
  { invariant: 3, what: 'a failed generation is charged', make: (draft) => { record(draft, IDS.failed).chargedCredits = 1; } },
  { invariant: 3, what: 'a client sees another reserve later', make: (draft) => { Object.assign(dataOf(asked(draft, 'get', IDS.succeeded)), { estimated_credits: 3, reserved_credits: 3 }); } },
  { invariant: 4, what: 'a generation has no hold', make: (draft) => { entry(draft, IDS.failed, 'hold').generationId = IDS.random; } },
  { invariant: 4, what: 'a hold was released twice', make: (draft) => { account(draft, RICH).entries.push({ ...entry(draft, IDS.failed, 'release') }); } },
  { invariant: 4, what: 'less was released than was left', make: (draft) => { entry(draft, IDS.failed, 'release').credits = 2; } },
  { invariant: 5, what: 'a generation was charged twice', make: (draft) => { account(draft, RICH).entries.push({ ...entry(draft, IDS.succeeded, 'charge') }); } },
  { invariant: 5, what: 'the ledger charged another amount', make: (draft) => { entry(draft, IDS.succeeded, 'charge').credits = 2; } },
  { invariant: 5, what: 'credits were charged for what never was', make: (draft) => { entry(draft, IDS.succeeded, 'charge').generationId = IDS.random; } },
  { invariant: 6, what: 'credits are held at rest', make: (draft) => { account(draft, RICH).holds.set(IDS.random, { generationId: IDS.random, credits: 0, heldAt: 1 }); } },
  { invariant: 6, what: 'a hold of what never was is not given back', make: (draft) => { account(draft, RICH).entries.push({ ...entry(draft, IDS.failed, 'hold'), generationId: IDS.random }); } },
  { invariant: 6, what: 'a generation is not settled', make: (draft) => { delete record(draft, IDS.failed).settledAt; } },
];

const VIEWS: readonly Breach[] = [
  { invariant: 7, what: 'an end changes', make: (draft) => { Object.assign(dataOf(asked(draft, 'get', IDS.failed)), { status: 'cancelled', error: undefined }); } },
  { invariant: 7, what: 'an ended generation is leased', make: (draft) => { record(draft, IDS.failed).lease = { worker: 'w', fence: 1, renewedAt: 1, expiresAt: 2 }; } },
  { invariant: 8, what: 'a status goes back', make: (draft) => { asked(draft, 'create', 'key-succeeded').sentAt = 1_900; asked(draft, 'create', 'key-succeeded').answered.at = 1_950; } },
  { invariant: 8, what: 'updated_at goes back', make: (draft) => { dataOf(asked(draft, 'get', IDS.succeeded, 1))['updated_at'] = new Date(1_000).toISOString(); dataOf(asked(draft, 'create', 'key-succeeded'))['updated_at'] = new Date(1_001).toISOString(); } },
  { invariant: 9, what: 'an ended task is to be polled', make: (draft) => { dataOf(asked(draft, 'get', IDS.succeeded))['poll_after_ms'] = 2_000; } },
  { invariant: 9, what: 'a success has no outputs', make: (draft) => { dataOf(asked(draft, 'get', IDS.succeeded))['outputs'] = []; } },
  { invariant: 9, what: 'an output has another size than was asked for', make: (draft) => { the(record(draft, IDS.succeeded).outputs[0]).widthPx = 64; } },
  { invariant: 9, what: 'a failure has no error on record', make: (draft) => { delete record(draft, IDS.failed).error; } },
  { invariant: 10, what: 'a generation cancelled while queued is charged', make: (draft) => { record(draft, IDS.cancelled).chargedCredits = 1; } },
  { invariant: 10, what: 'a generation cancelled while queued was begun', make: (draft) => { record(draft, IDS.cancelled).attemptsMade = 1; } },
  { invariant: 10, what: 'an attempt began after the cancel', make: (draft) => { the(record(draft, IDS.stopped).attempt).startedAt = 9_500; } },
  { invariant: 10, what: 'an acknowledged cancel is forgotten', make: (draft) => { delete record(draft, IDS.stopped).cancelRequestedAt; } },
  { invariant: 10, what: 'nobody had asked for a cancel', make: (draft) => { draft.exchanges = draft.exchanges.filter(({ request }) => request.operation !== 'cancel' || request.generationId !== IDS.stopped); } },
  { invariant: 7, what: 'two answers that overlap show two ends', make: (draft) => { const get = asked(draft, 'get', IDS.failed); draft.exchanges.push(structuredClone(get)); Object.assign(dataOf(get), { status: 'cancelled', error: undefined }); } },
  { invariant: 15, what: 'the record has another error than was shown', make: (draft) => { the(record(draft, IDS.failed).error).code = 'INTERNAL_ERROR'; } },
  { invariant: 15, what: 'clients are shown one output of two', make: (draft) => { for (const { request, answered } of draft.exchanges) if (request.operation === 'get' && request.generationId === IDS.poor && Array.isArray(answered?.answer.data?.['outputs'])) answered.answer.data['outputs'].splice(1); } },
  { invariant: 15, what: 'the record ended at another time than was shown', make: (draft) => { record(draft, IDS.failed).completedAt = 5_999; } },
  { invariant: 3, what: 'the record has another time of creation than was shown', make: (draft) => { record(draft, IDS.failed).createdAt = 4_999; } },
  { invariant: 15, what: 'the record ended otherwise than clients were shown', make: (draft) => { record(draft, IDS.failed).status = 'cancelled'; } },
];

const KEYS: readonly Breach[] = [
  { invariant: 11, what: 'two processes made two generations of one key', make: (draft) => { ask(draft, 'rich', 950_000, asked(draft, 'create', 'key-failed').request, { status: 202, code: 'OK', data: { ...dataOf(asked(draft, 'create', 'key-failed')), generation_id: IDS.random } }); } },
  { invariant: 11, what: 'a second generation stands under a key, untold', make: (draft) => { draft.atRest.generations.push({ ...record(draft, IDS.failed), generationId: IDS.random }); } },
  { invariant: 11, what: 'a generation stands under a key that nobody sent', make: (draft) => { record(draft, IDS.failed).clientTraceId = 'another'; } },
  { invariant: 11, what: 'another payload succeeds', make: (draft) => { Object.assign(the(asked(draft, 'create', 'key-succeeded', 0).answered.answer), { status: 202, code: 'OK', data: dataOf(asked(draft, 'create', 'key-succeeded')) }); } },
  { invariant: 11, what: 'the same payload is said to be another', make: (draft) => { asked(draft, 'create', 'key-failed', 0).answered.answer = { status: 409, code: 'IDEMPOTENCY_PAYLOAD_MISMATCH' }; } },
  { invariant: 11, what: 'a completion has two effects', make: (draft) => { ask(draft, 'rich', 800, asked(draft, 'complete', 'complete-1').request, { status: 200, code: 'OK', data: { ...dataOf(asked(draft, 'complete', 'complete-1')), media_id: IDS.random } }); } },
  { invariant: 12, what: 'what was accepted is not there', make: (draft) => { draft.atRest.generations = draft.atRest.generations.filter(({ generationId }) => generationId !== IDS.failed); } },
  { invariant: 12, what: 'a void stands where a generation was accepted', make: (draft) => { draft.atRest.generations = draft.atRest.generations.map((each) => (each.generationId === IDS.failed ? { kind: 'void', generationId: IDS.failed, ...RICH, version: 1, createdAt: 1, dueAt: 1 } : each)); } },
  { invariant: 12, what: 'an owner is denied what it was shown', make: (draft) => { asked(draft, 'get', IDS.failed).answered.answer = { status: 404, code: 'TASK_NOT_FOUND', message: 'TASK_NOT_FOUND' }; } },
  { invariant: 12, what: 'an account is gone', make: (draft) => { draft.atRest.accounts.pop(); } },
  { invariant: 13, what: 'a refused create left a generation', make: (draft) => { draft.atRest.generations.push({ ...record(draft, IDS.failed), ...POOR, generationId: IDS.random, clientTraceId: 'poor-2' }); } },
  { invariant: 13, what: 'a refusal for want of credits was not true', make: (draft) => { asked(draft, 'create', 'key-failed', 0).answered.answer = { status: 402, code: 'CREDITS_INSUFFICIENT' }; } },
  { invariant: 13, what: 'a refusal for want of credits came after the want', make: (draft) => { wantUntil(draft, 15_000); ask(draft, 'rich', 19_000, asked(draft, 'create', 'key-failed').request, { status: 402, code: 'CREDITS_INSUFFICIENT' }); } },
  { invariant: 13, what: 'fewer of a burst are accepted than can be paid', make: (draft) => { the(draft.facts.bursts[0]).balance = 5; } },
  { invariant: 13, what: 'more of a burst are accepted than can be paid', make: (draft) => { Object.assign(the(draft.facts.bursts[0]), { balance: 1, isExact: false }); } },
  { invariant: 20, what: 'a client never learns what became of its request', make: (draft) => { asked(draft, 'create', 'poor-2').answered.answer = { status: 503, code: 'SERVICE_UNAVAILABLE' }; } },
];

const BYTES: readonly Breach[] = [
  { invariant: 14, what: 'outputs were written under a later fence than was given', make: (draft) => { record(draft, IDS.succeeded).fence = 0; } },
  { invariant: 16, what: 'a ready upload has other bytes', make: (draft) => { the(upload(draft).stored).sha256 = 'd'.repeat(64); } },
  { invariant: 16, what: 'a ready upload has no bytes', make: (draft) => { delete upload(draft).stored; } },
  { invariant: 16, what: 'an upload is ready as what nobody sent', make: (draft) => { draft.exchanges = draft.exchanges.filter(({ request, answered }) => request.operation !== 'put' || answered?.answer.status !== 200); } },
  { invariant: 16, what: 'a completion names another medium than is on record', make: (draft) => { dataOf(asked(draft, 'complete', 'complete-1'))['media_id'] = IDS.random; } },
  { invariant: 16, what: 'an upload said to be ready is not on record', make: (draft) => { draft.atRest.uploads = []; } },
  { invariant: 16, what: 'a delivered output is not in the store', make: (draft) => { draft.atRest.objects = draft.atRest.objects.filter(({ key }) => !key.includes(IDS.succeeded)); } },
  { invariant: 16, what: 'a signed address gives other bytes', make: (draft) => { the(asked(draft, 'fetch', IDS.succeeded).answered.answer.bytes).sha256 = 'd'.repeat(64); } },
  { invariant: 16, what: 'a signed address gives another type', make: (draft) => { the(asked(draft, 'fetch', IDS.succeeded).answered.answer.bytes).contentType = 'text/html'; } },
  { invariant: 16, what: 'a fresh signed address is refused', make: (draft) => { asked(draft, 'fetch', IDS.succeeded).answered.answer = { status: 403 }; } },
];

/** As if all the rich account has had been held for something that was nothing, from its last entry until then. */
function wantUntil(draft: HistoryDraft, at: number): void {
  const { entries } = account(draft, RICH);
  const last = the(entries.at(-1));
  const { availableAfter: credits } = last;
  const about = { accountId: RICH.accountId, generationId: IDS.random, credits } as const;
  entries.push(
    { ...about, sequence: last.sequence + 1, kind: 'hold', from: 'available', to: 'reserved', at: last.at, availableAfter: 0 },
    { ...about, sequence: last.sequence + 2, kind: 'release', from: 'reserved', to: 'available', at, availableAfter: credits },
  );
}

const ENDS: readonly Breach[] = [
  { invariant: 12, what: 'what must succeed failed in calm', make: (draft) => { fail(draft, IDS.poor, 'TASK_TIMEOUT'); } },
  { invariant: 12, what: 'nobody ran it, though there was calm enough', make: (draft) => { fail(draft, IDS.poor, 'TASK_TIMEOUT', { runDeadlineAt: undefined, completedAt: 90_000 }); draft.facts.bursts = []; draft.facts.troubles = [{ from: 20_000, until: 30_000 }]; } },
  { invariant: 12, what: 'a burst at rest failed, whatever the trouble', make: (draft) => { fail(draft, IDS.poor, 'TASK_TIMEOUT'); draft.facts.troubles = [{ from: 20_000, until: 30_000 }]; } },
  { invariant: 12, what: 'what must succeed failed with what no trouble makes', make: (draft) => { fail(draft, IDS.poor, 'INTERNAL_ERROR'); draft.facts.bursts = []; draft.facts.troubles = [{ from: 20_000, until: 30_000 }]; } },
  { invariant: 12, what: 'fewer outputs were delivered than were asked for', make: (draft) => { record(draft, IDS.poor).outputs.pop(); } },
  { invariant: 12, what: 'it succeeded where it was asked to fail', make: (draft) => { const g = record(draft, IDS.failed); g.status = 'succeeded'; } },
  { invariant: 12, what: 'it failed with another error than was asked for', make: (draft) => { the(record(draft, IDS.failed).error).code = 'TASK_TIMEOUT'; } },
];

/** One that never failed in the clean draft, as if it had. */
function fail(draft: HistoryDraft, generationId: string, code: 'TASK_TIMEOUT' | 'INTERNAL_ERROR', more: { readonly runDeadlineAt?: undefined; readonly completedAt?: number } = {}): void {
  const g = record(draft, generationId);
  Object.assign(g, { status: 'failed', outputs: [], error: { code, message: 'No.', retryable: true } }, more);
  if ('runDeadlineAt' in more) delete g.runDeadlineAt;
}

const ACCESS: readonly Breach[] = [
  { invariant: 17, what: 'a foreign id is answered otherwise than a random one', make: (draft) => { asked(draft, 'get', IDS.random).answered.answer = { status: 404, code: 'TASK_NOT_FOUND', message: 'Never was.' }; } },
  { invariant: 17, what: 'a stranger is shown a generation', make: (draft) => { const get = asked(draft, 'get', IDS.succeeded, 0); get.answered.answer = asked(draft, 'get', IDS.succeeded).answered.answer; } },
  { invariant: 17, what: 'a foreign upload is used', make: (draft) => { Object.assign(asked(draft, 'create', 'poor-1').request, { body: { client_trace_id: 'poor-1', reference_upload_ids: [IDS.upload] } }); } },
  { invariant: 17, what: 'an answer is about another generation', make: (draft) => { dataOf(asked(draft, 'get', IDS.failed))['generation_id'] = IDS.stopped; } },
  { invariant: 18, what: 'a revoked key is answered after 5 seconds', make: (draft) => { the(draft.exchanges.find(({ by, sentAt }) => by === 'leaver' && sentAt === 18_000)?.answered).answer = { status: 200, code: 'OK', data: { balance_credits: 99, available_credits: 99, remaining_credits: 99 } }; } },
  { invariant: 18, what: 'a good key is refused', make: (draft) => { asked(draft, 'get', IDS.failed).answered.answer = { status: 401, code: 'DEVELOPER_TOKEN_INVALID' }; } },
  { invariant: 18, what: 'a key is refused before it was revoked', make: (draft) => { the(draft.facts.revocations[0]).askedAt = 50_000; } },
  { invariant: 18, what: 'a log has a secret in it', make: (draft) => { draft.atRest.texts.push({ where: 'the log of worker-1', text: `Authorization: Bearer ${SECRET}` }); } },
  { invariant: 18, what: 'an answer has a secret in it', make: (draft) => { asked(draft, 'create', 'poor-2').answered.answer.message = `Not for ${SECRET}.`; } },
  { invariant: 19, what: 'a fault is told as an internal error', make: (draft) => { asked(draft, 'create', 'key-failed', 0).answered.answer = { status: 500, code: 'INTERNAL_ERROR' }; } },
  { invariant: 19, what: 'a code has another status', make: (draft) => { asked(draft, 'create', 'key-failed', 0).answered.answer.status = 500; } },
  { invariant: 20, what: 'a generation has not ended', make: (draft) => { const g = record(draft, IDS.failed); g.status = 'running'; delete g.completedAt; } },
  { invariant: 20, what: 'a generation ended long after its deadline', make: (draft) => { record(draft, IDS.failed).completedAt = QUIET_AT + 20_000; } },
];

describe('the history checker', () => {
  it('finds nothing where every promise is kept', () => {
    expect(checkHistory(cleanHistory())).to.deep.equal([]);
  });

  for (const { invariant, what, make } of [...MONEY, ...VIEWS, ...KEYS, ...BYTES, ...ACCESS, ...ENDS]) {
    it(`finds against ${invariant} that ${what}`, () => {
      const draft = cleanHistory();
      make(draft);
      expect(checkHistory(draft).map((finding) => finding.invariant)).to.include(invariant);
    });
  }

  it('does not order answers that overlap', () => {
    const draft = cleanHistory();
    const late = asked(draft, 'create', 'key-succeeded');
    late.answered.at = 3_500;
    expect(checkHistory(draft)).to.deep.equal([]);
  });

  it('does not count the time in which a store could not be had', () => {
    const draft = cleanHistory();
    draft.facts.troubledUntil = QUIET_AT + 15_000;
    record(draft, IDS.failed).completedAt = QUIET_AT + 20_000;
    expect(checkHistory(draft).filter(({ invariant }) => invariant === 20)).to.deep.equal([]);
  });

  it('takes a refusal for true while the want may have lasted', () => {
    const draft = cleanHistory();
    wantUntil(draft, 15_000);
    const refuse = (at: number) => ask(draft, 'rich', at, asked(draft, 'create', 'key-failed').request, { status: 402, code: 'CREDITS_INSUFFICIENT' });
    refuse(17_000);
    expect(checkHistory(draft).filter(({ invariant }) => invariant === 13)).to.deep.equal([]);
    refuse(30_000);
    draft.facts.troubles = [{ from: 16_000, until: 28_000 }];
    expect(checkHistory(draft).filter(({ invariant }) => invariant === 13)).to.deep.equal([]);
  });

  it('lets trouble keep something from succeeding', () => {
    const draft = cleanHistory();
    fail(draft, IDS.poor, 'TASK_TIMEOUT');
    draft.facts.bursts = [];
    draft.facts.troubles = [{ from: 25_000, until: 26_000 }];
    expect(checkHistory(draft).filter(({ sentence }) => sentence.includes('asked for'))).to.deep.equal([]);
    fail(draft, IDS.poor, 'TASK_TIMEOUT', { runDeadlineAt: undefined, completedAt: 40_000 });
    expect(checkHistory(draft).filter(({ sentence }) => sentence.includes('asked for'))).to.deep.equal([]);
  });

  it('says of what there is too little', () => {
    const draft = cleanHistory();
    expect(whatIsMissing(draft, 0)).to.deep.equal([]);
    expect(whatIsMissing(draft, 100)).to.have.lengthOf(3);
    fail(draft, IDS.poor, 'TASK_TIMEOUT');
    fail(draft, IDS.succeeded, 'TASK_TIMEOUT');
    expect(whatIsMissing(draft, 0)).to.deep.equal(['Of 2 generations that could only succeed 0 did.']);
  });

  it('knows every invariant that can be seen from outside', () => {
    const tested = new Set([...MONEY, ...VIEWS, ...KEYS, ...BYTES, ...ACCESS].map(({ invariant }) => invariant));
    expect([...tested].sort((a, b) => a - b)).to.deep.equal(Array.from({ length: 20 }, (_, index) => index + 1));
  });
});
