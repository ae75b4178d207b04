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

type Story = Draft<History>;

interface Breach { readonly invariant: number; readonly what: string; readonly make: (story: Story) => void }

const SECRET = 'SECRETSECRETSECRET';

function record(story: Story, generationId: string): Draft<Generation> {
  const found = story.atRest.generations.find((candidate) => candidate.generationId === generationId);
  if (found?.kind !== 'generation') throw new Error(`There is no generation ${generationId} in this story.`);
  return found;
}

function account(story: Story, { accountId }: typeof RICH): Story['atRest']['accounts'][number] {
  return the(story.atRest.accounts.find((candidate) => candidate.accountId === accountId));
}

function entry(story: Story, generationId: string, kind: Entry['kind']): Draft<Entry> {
  return the(story.atRest.accounts.flatMap(({ entries }) => entries).find((candidate) => candidate.generationId === generationId && candidate.kind === kind));
}

/** The answered exchange of this operation about a generation or under a key, the last unless numbered. */
function asked(story: Story, operation: Request['operation'], subject: string, index = -1): Draft<Exchange> & { answered: NonNullable<Draft<Exchange>['answered']> } {
  const isAbout = ({ request }: Draft<Exchange>) => request.operation === operation && Object.values(request).includes(subject);
  const found = story.exchanges.flatMap((exchange) => (isAbout(exchange) && exchange.answered ? [exchange as ReturnType<typeof asked>] : []));
  return the(found.at(index));
}

function dataOf(exchange: ReturnType<typeof asked>): JsonObject {
  return the(exchange.answered.answer.data);
}

function the<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('The story has no such thing.');
  return value;
}

function ask(story: Story, by: string, sentAt: number, request: Request, answer: NonNullable<Exchange['answered']>['answer']): void {
  story.exchanges.push({ by, through: 'rest-1', sentAt, request, answered: { at: sentAt + 10, answer } });
}

const upload = (story: Story) => the(story.atRest.uploads[0]);

const MONEY: readonly Breach[] = [
  { invariant: 1, what: 'an account has more than its entries add up to', make: (story) => { account(story, RICH).available += 1; } },
  { invariant: 1, what: 'an account has spent less than its entries add up to', make: (story) => { account(story, RICH).spent -= 1; } },
  { invariant: 1, what: 'more was issued than the operator granted', make: (story) => { story.facts.granted[RICH.accountId] = 99; } },
  { invariant: 1, what: 'an entry is missing', make: (story) => { account(story, RICH).entries.splice(2, 1); } },
  { invariant: 1, what: 'an entry says another balance', make: (story) => { entry(story, IDS.failed, 'hold').availableAfter += 1; } },
  { invariant: 1, what: 'a release goes to the wrong book', make: (story) => { entry(story, IDS.failed, 'release').to = 'spent'; } },
  { invariant: 1, what: 'a client is shown a balance that never was', make: (story) => { for (const name of ['balance_credits', 'available_credits', 'remaining_credits']) dataOf(the(story.exchanges.find(({ request }) => request.operation === 'credits') as ReturnType<typeof asked>))[name] = 55; } },
  { invariant: 1, what: 'a client is shown a balance of long ago', make: (story) => { ask(story, 'rich', QUIET_AT, { operation: 'credits' }, { status: 200, code: 'OK', data: { balance_credits: 100, available_credits: 100, remaining_credits: 100 } }); } },
  { invariant: 1, what: 'a client is shown a balance before it is had', make: (story) => { ask(story, 'rich', 3_500, { operation: 'credits' }, { status: 200, code: 'OK', data: { balance_credits: 96, available_credits: 96, remaining_credits: 96 } }); } },
  { invariant: 1, what: 'verify finds something', make: (story) => { story.atRest.verifyFindings.push('Something.'); } },
  { invariant: 2, what: 'a fraction of a credit moves', make: (story) => { entry(story, IDS.failed, 'hold').credits = 2.5; } },
  { invariant: 2, what: 'more is held than there is', make: (story) => { the(account(story, POOR).entries[0]).credits = 1; } },
  { invariant: 3, what: 'a generation reserves another price', make: (story) => { record(story, IDS.succeeded).reservedCredits = 3; } },
  { invariant: 3, what: 'a generation is charged for more than it delivered', make: (story) => { record(story, IDS.succeeded).chargedCredits = 2; } },
  { invariant: 3, what: 'a failed generation is charged', make: (story) => { record(story, IDS.failed).chargedCredits = 1; } },
  { invariant: 3, what: 'a client sees another reserve later', make: (story) => { Object.assign(dataOf(asked(story, 'get', IDS.succeeded)), { estimated_credits: 3, reserved_credits: 3 }); } },
  { invariant: 4, what: 'a generation has no hold', make: (story) => { entry(story, IDS.failed, 'hold').generationId = IDS.random; } },
  { invariant: 4, what: 'a hold was released twice', make: (story) => { account(story, RICH).entries.push({ ...entry(story, IDS.failed, 'release') }); } },
  { invariant: 4, what: 'less was released than was left', make: (story) => { entry(story, IDS.failed, 'release').credits = 2; } },
  { invariant: 5, what: 'a generation was charged twice', make: (story) => { account(story, RICH).entries.push({ ...entry(story, IDS.succeeded, 'charge') }); } },
  { invariant: 5, what: 'the ledger charged another amount', make: (story) => { entry(story, IDS.succeeded, 'charge').credits = 2; } },
  { invariant: 5, what: 'credits were charged for what never was', make: (story) => { entry(story, IDS.succeeded, 'charge').generationId = IDS.random; } },
  { invariant: 6, what: 'credits are held at rest', make: (story) => { account(story, RICH).holds.set(IDS.random, { generationId: IDS.random, credits: 0, heldAt: 1 }); } },
  { invariant: 6, what: 'a hold of what never was is not given back', make: (story) => { account(story, RICH).entries.push({ ...entry(story, IDS.failed, 'hold'), generationId: IDS.random }); } },
  { invariant: 6, what: 'a generation is not settled', make: (story) => { delete record(story, IDS.failed).settledAt; } },
];

const VIEWS: readonly Breach[] = [
  { invariant: 7, what: 'an end changes', make: (story) => { Object.assign(dataOf(asked(story, 'get', IDS.failed)), { status: 'cancelled', error: undefined }); } },
  { invariant: 7, what: 'an ended generation is leased', make: (story) => { record(story, IDS.failed).lease = { worker: 'w', fence: 1, renewedAt: 1, expiresAt: 2 }; } },
  { invariant: 8, what: 'a status goes back', make: (story) => { asked(story, 'create', 'key-succeeded').sentAt = 1_900; asked(story, 'create', 'key-succeeded').answered.at = 1_950; } },
  { invariant: 8, what: 'updated_at goes back', make: (story) => { dataOf(asked(story, 'get', IDS.succeeded, 1))['updated_at'] = new Date(1_000).toISOString(); dataOf(asked(story, 'create', 'key-succeeded'))['updated_at'] = new Date(1_001).toISOString(); } },
  { invariant: 9, what: 'an ended task is to be polled', make: (story) => { dataOf(asked(story, 'get', IDS.succeeded))['poll_after_ms'] = 2_000; } },
  { invariant: 9, what: 'a success has no outputs', make: (story) => { dataOf(asked(story, 'get', IDS.succeeded))['outputs'] = []; } },
  { invariant: 9, what: 'an output has another size than was asked for', make: (story) => { the(record(story, IDS.succeeded).outputs[0]).widthPx = 64; } },
  { invariant: 9, what: 'a failure has no error on record', make: (story) => { delete record(story, IDS.failed).error; } },
  { invariant: 10, what: 'a generation cancelled while queued is charged', make: (story) => { record(story, IDS.cancelled).chargedCredits = 1; } },
  { invariant: 10, what: 'a generation cancelled while queued was begun', make: (story) => { record(story, IDS.cancelled).attemptsMade = 1; } },
  { invariant: 10, what: 'an attempt began after the cancel', make: (story) => { the(record(story, IDS.stopped).attempt).startedAt = 9_500; } },
  { invariant: 10, what: 'an acknowledged cancel is forgotten', make: (story) => { delete record(story, IDS.stopped).cancelRequestedAt; } },
  { invariant: 10, what: 'nobody had asked for a cancel', make: (story) => { story.exchanges = story.exchanges.filter(({ request }) => request.operation !== 'cancel' || request.generationId !== IDS.stopped); } },
  { invariant: 7, what: 'two answers that overlap show two ends', make: (story) => { const get = asked(story, 'get', IDS.failed); story.exchanges.push(structuredClone(get)); Object.assign(dataOf(get), { status: 'cancelled', error: undefined }); } },
  { invariant: 15, what: 'the record has another error than was shown', make: (story) => { the(record(story, IDS.failed).error).code = 'INTERNAL_ERROR'; } },
  { invariant: 15, what: 'clients are shown one output of two', make: (story) => { for (const { request, answered } of story.exchanges) if (request.operation === 'get' && request.generationId === IDS.poor && Array.isArray(answered?.answer.data?.['outputs'])) answered.answer.data['outputs'].splice(1); } },
  { invariant: 15, what: 'the record ended at another time than was shown', make: (story) => { record(story, IDS.failed).completedAt = 5_999; } },
  { invariant: 3, what: 'the record has another time of creation than was shown', make: (story) => { record(story, IDS.failed).createdAt = 4_999; } },
  { invariant: 15, what: 'the record ended otherwise than clients were shown', make: (story) => { record(story, IDS.failed).status = 'cancelled'; } },
];

const KEYS: readonly Breach[] = [
  { invariant: 11, what: 'two processes made two generations of one key', make: (story) => { ask(story, 'rich', 950_000, asked(story, 'create', 'key-failed').request, { status: 202, code: 'OK', data: { ...dataOf(asked(story, 'create', 'key-failed')), generation_id: IDS.random } }); } },
  { invariant: 11, what: 'a second generation stands under a key, untold', make: (story) => { story.atRest.generations.push({ ...record(story, IDS.failed), generationId: IDS.random }); } },
  { invariant: 11, what: 'a generation stands under a key that nobody sent', make: (story) => { record(story, IDS.failed).clientTraceId = 'another'; } },
  { invariant: 11, what: 'another payload succeeds', make: (story) => { Object.assign(the(asked(story, 'create', 'key-succeeded', 0).answered.answer), { status: 202, code: 'OK', data: dataOf(asked(story, 'create', 'key-succeeded')) }); } },
  { invariant: 11, what: 'the same payload is said to be another', make: (story) => { asked(story, 'create', 'key-failed', 0).answered.answer = { status: 409, code: 'IDEMPOTENCY_PAYLOAD_MISMATCH' }; } },
  { invariant: 11, what: 'a completion has two effects', make: (story) => { ask(story, 'rich', 800, asked(story, 'complete', 'complete-1').request, { status: 200, code: 'OK', data: { ...dataOf(asked(story, 'complete', 'complete-1')), media_id: IDS.random } }); } },
  { invariant: 12, what: 'what was accepted is not there', make: (story) => { story.atRest.generations = story.atRest.generations.filter(({ generationId }) => generationId !== IDS.failed); } },
  { invariant: 12, what: 'a void stands where a generation was accepted', make: (story) => { story.atRest.generations = story.atRest.generations.map((each) => (each.generationId === IDS.failed ? { kind: 'void', generationId: IDS.failed, ...RICH, version: 1, createdAt: 1, dueAt: 1 } : each)); } },
  { invariant: 12, what: 'an owner is denied what it was shown', make: (story) => { asked(story, 'get', IDS.failed).answered.answer = { status: 404, code: 'TASK_NOT_FOUND', message: 'TASK_NOT_FOUND' }; } },
  { invariant: 12, what: 'an account is gone', make: (story) => { story.atRest.accounts.pop(); } },
  { invariant: 13, what: 'a refused create left a generation', make: (story) => { story.atRest.generations.push({ ...record(story, IDS.failed), ...POOR, generationId: IDS.random, clientTraceId: 'poor-2' }); } },
  { invariant: 13, what: 'a refusal for want of credits was not true', make: (story) => { asked(story, 'create', 'key-failed', 0).answered.answer = { status: 402, code: 'CREDITS_INSUFFICIENT' }; } },
  { invariant: 13, what: 'a refusal for want of credits came after the want', make: (story) => { wantUntil(story, 15_000); ask(story, 'rich', 19_000, asked(story, 'create', 'key-failed').request, { status: 402, code: 'CREDITS_INSUFFICIENT' }); } },
  { invariant: 13, what: 'fewer of a burst are accepted than can be paid', make: (story) => { the(story.facts.bursts[0]).balance = 5; } },
  { invariant: 13, what: 'more of a burst are accepted than can be paid', make: (story) => { Object.assign(the(story.facts.bursts[0]), { balance: 1, isExact: false }); } },
  { invariant: 20, what: 'a client never learns what became of its request', make: (story) => { asked(story, 'create', 'poor-2').answered.answer = { status: 503, code: 'SERVICE_UNAVAILABLE' }; } },
];

const BYTES: readonly Breach[] = [
  { invariant: 14, what: 'outputs were written under a later fence than was given', make: (story) => { record(story, IDS.succeeded).fence = 0; } },
  { invariant: 16, what: 'a ready upload has other bytes', make: (story) => { the(upload(story).stored).sha256 = 'd'.repeat(64); } },
  { invariant: 16, what: 'a ready upload has no bytes', make: (story) => { delete upload(story).stored; } },
  { invariant: 16, what: 'an upload is ready as what nobody sent', make: (story) => { story.exchanges = story.exchanges.filter(({ request, answered }) => request.operation !== 'put' || answered?.answer.status !== 200); } },
  { invariant: 16, what: 'a completion names another medium than is on record', make: (story) => { dataOf(asked(story, 'complete', 'complete-1'))['media_id'] = IDS.random; } },
  { invariant: 16, what: 'an upload said to be ready is not on record', make: (story) => { story.atRest.uploads = []; } },
  { invariant: 16, what: 'a delivered output is not in the store', make: (story) => { story.atRest.objects = story.atRest.objects.filter(({ key }) => !key.includes(IDS.succeeded)); } },
  { invariant: 16, what: 'a signed address gives other bytes', make: (story) => { the(asked(story, 'fetch', IDS.succeeded).answered.answer.bytes).sha256 = 'd'.repeat(64); } },
  { invariant: 16, what: 'a signed address gives another type', make: (story) => { the(asked(story, 'fetch', IDS.succeeded).answered.answer.bytes).contentType = 'text/html'; } },
  { invariant: 16, what: 'a fresh signed address is refused', make: (story) => { asked(story, 'fetch', IDS.succeeded).answered.answer = { status: 403 }; } },
];

/** As if all the rich account has had been held for something that was nothing, from its last entry until then. */
function wantUntil(story: Story, at: number): void {
  const { entries } = account(story, RICH);
  const last = the(entries.at(-1));
  const { availableAfter: credits } = last;
  const about = { accountId: RICH.accountId, generationId: IDS.random, credits } as const;
  entries.push(
    { ...about, sequence: last.sequence + 1, kind: 'hold', from: 'available', to: 'reserved', at: last.at, availableAfter: 0 },
    { ...about, sequence: last.sequence + 2, kind: 'release', from: 'reserved', to: 'available', at, availableAfter: credits },
  );
}

const ENDS: readonly Breach[] = [
  { invariant: 12, what: 'what must succeed failed in calm', make: (story) => { fail(story, IDS.poor, 'TASK_TIMEOUT'); } },
  { invariant: 12, what: 'nobody ran it, though there was calm enough', make: (story) => { fail(story, IDS.poor, 'TASK_TIMEOUT', { runDeadlineAt: undefined, completedAt: 90_000 }); story.facts.bursts = []; story.facts.troubles = [{ from: 20_000, until: 30_000 }]; } },
  { invariant: 12, what: 'a burst at rest failed, whatever the trouble', make: (story) => { fail(story, IDS.poor, 'TASK_TIMEOUT'); story.facts.troubles = [{ from: 20_000, until: 30_000 }]; } },
  { invariant: 12, what: 'what must succeed failed with what no trouble makes', make: (story) => { fail(story, IDS.poor, 'INTERNAL_ERROR'); story.facts.bursts = []; story.facts.troubles = [{ from: 20_000, until: 30_000 }]; } },
  { invariant: 12, what: 'fewer outputs were delivered than were asked for', make: (story) => { record(story, IDS.poor).outputs.pop(); } },
  { invariant: 12, what: 'it succeeded where it was asked to fail', make: (story) => { const g = record(story, IDS.failed); g.status = 'succeeded'; } },
  { invariant: 12, what: 'it failed with another error than was asked for', make: (story) => { the(record(story, IDS.failed).error).code = 'TASK_TIMEOUT'; } },
];

/** One that never failed in the clean story, as if it had. */
function fail(story: Story, generationId: string, code: 'TASK_TIMEOUT' | 'INTERNAL_ERROR', more: { readonly runDeadlineAt?: undefined; readonly completedAt?: number } = {}): void {
  const g = record(story, generationId);
  Object.assign(g, { status: 'failed', outputs: [], error: { code, message: 'No.', retryable: true } }, more);
  if ('runDeadlineAt' in more) delete g.runDeadlineAt;
}

const ACCESS: readonly Breach[] = [
  { invariant: 17, what: 'a foreign id is answered otherwise than a random one', make: (story) => { asked(story, 'get', IDS.random).answered.answer = { status: 404, code: 'TASK_NOT_FOUND', message: 'Never was.' }; } },
  { invariant: 17, what: 'a stranger is shown a generation', make: (story) => { const get = asked(story, 'get', IDS.succeeded, 0); get.answered.answer = asked(story, 'get', IDS.succeeded).answered.answer; } },
  { invariant: 17, what: 'a foreign upload is used', make: (story) => { Object.assign(asked(story, 'create', 'poor-1').request, { body: { client_trace_id: 'poor-1', reference_upload_ids: [IDS.upload] } }); } },
  { invariant: 17, what: 'an answer is about another generation', make: (story) => { dataOf(asked(story, 'get', IDS.failed))['generation_id'] = IDS.stopped; } },
  { invariant: 18, what: 'a revoked key is answered after 5 seconds', make: (story) => { the(story.exchanges.find(({ by, sentAt }) => by === 'leaver' && sentAt === 18_000)?.answered).answer = { status: 200, code: 'OK', data: { balance_credits: 99, available_credits: 99, remaining_credits: 99 } }; } },
  { invariant: 18, what: 'a good key is refused', make: (story) => { asked(story, 'get', IDS.failed).answered.answer = { status: 401, code: 'DEVELOPER_TOKEN_INVALID' }; } },
  { invariant: 18, what: 'a key is refused before it was revoked', make: (story) => { the(story.facts.revocations[0]).askedAt = 50_000; } },
  { invariant: 18, what: 'a log has a secret in it', make: (story) => { story.atRest.texts.push({ where: 'the log of worker-1', text: `Authorization: Bearer ${SECRET}` }); } },
  { invariant: 18, what: 'an answer has a secret in it', make: (story) => { asked(story, 'create', 'poor-2').answered.answer.message = `Not for ${SECRET}.`; } },
  { invariant: 19, what: 'a fault is told as an internal error', make: (story) => { asked(story, 'create', 'key-failed', 0).answered.answer = { status: 500, code: 'INTERNAL_ERROR' }; } },
  { invariant: 19, what: 'a code has another status', make: (story) => { asked(story, 'create', 'key-failed', 0).answered.answer.status = 500; } },
  { invariant: 20, what: 'a generation has not ended', make: (story) => { const g = record(story, IDS.failed); g.status = 'running'; delete g.completedAt; } },
  { invariant: 20, what: 'a generation ended long after its deadline', make: (story) => { record(story, IDS.failed).completedAt = QUIET_AT + 20_000; } },
];

describe('the history checker', () => {
  it('finds nothing where every promise is kept', () => {
    expect(checkHistory(cleanHistory())).to.deep.equal([]);
  });

  for (const { invariant, what, make } of [...MONEY, ...VIEWS, ...KEYS, ...BYTES, ...ACCESS, ...ENDS]) {
    it(`finds against ${invariant} that ${what}`, () => {
      const story = cleanHistory();
      make(story);
      expect(checkHistory(story).map((finding) => finding.invariant)).to.include(invariant);
    });
  }

  it('does not order answers that overlap', () => {
    const story = cleanHistory();
    const late = asked(story, 'create', 'key-succeeded');
    late.answered.at = 3_500;
    expect(checkHistory(story)).to.deep.equal([]);
  });

  it('does not count the time in which a store could not be had', () => {
    const story = cleanHistory();
    story.facts.troubledUntil = QUIET_AT + 15_000;
    record(story, IDS.failed).completedAt = QUIET_AT + 20_000;
    expect(checkHistory(story).filter(({ invariant }) => invariant === 20)).to.deep.equal([]);
  });

  it('takes a refusal for true while the want may have lasted', () => {
    const story = cleanHistory();
    wantUntil(story, 15_000);
    const refuse = (at: number) => ask(story, 'rich', at, asked(story, 'create', 'key-failed').request, { status: 402, code: 'CREDITS_INSUFFICIENT' });
    refuse(17_000);
    expect(checkHistory(story).filter(({ invariant }) => invariant === 13)).to.deep.equal([]);
    refuse(30_000);
    story.facts.troubles = [{ from: 16_000, until: 28_000 }];
    expect(checkHistory(story).filter(({ invariant }) => invariant === 13)).to.deep.equal([]);
  });

  it('lets trouble keep something from succeeding', () => {
    const story = cleanHistory();
    fail(story, IDS.poor, 'TASK_TIMEOUT');
    story.facts.bursts = [];
    story.facts.troubles = [{ from: 25_000, until: 26_000 }];
    expect(checkHistory(story).filter(({ sentence }) => sentence.includes('asked for'))).to.deep.equal([]);
    fail(story, IDS.poor, 'TASK_TIMEOUT', { runDeadlineAt: undefined, completedAt: 40_000 });
    expect(checkHistory(story).filter(({ sentence }) => sentence.includes('asked for'))).to.deep.equal([]);
  });

  it('says of what there is too little', () => {
    const story = cleanHistory();
    expect(whatIsMissing(story, 0)).to.deep.equal([]);
    expect(whatIsMissing(story, 100)).to.have.lengthOf(3);
    fail(story, IDS.poor, 'TASK_TIMEOUT');
    fail(story, IDS.succeeded, 'TASK_TIMEOUT');
    expect(whatIsMissing(story, 0)).to.deep.equal(['Of 2 generations that could only succeed 0 did.']);
  });

  it('knows every invariant that can be seen from outside', () => {
    const tested = new Set([...MONEY, ...VIEWS, ...KEYS, ...BYTES, ...ACCESS].map(({ invariant }) => invariant));
    expect([...tested].sort((a, b) => a - b)).to.deep.equal(Array.from({ length: 20 }, (_, index) => index + 1));
  });
});
