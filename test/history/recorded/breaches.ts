import { IDS, POOR, RICH } from './clean-cases.js';
import { balance, CAPPED, QUIET_AT } from './clean-history.js';
import {
  account,
  ask,
  asked,
  type Breaches,
  dataOf,
  entry,
  fail,
  record,
  SECRET,
  the,
  upload,
  wantUntil,
} from './draft-changes.js';

export const MONEY: Breaches = {
  1: {
    'an account has more than its entries add up to': (draft) => (account(draft, RICH).available += 1),
    'an account has spent less than its entries add up to': (draft) => (account(draft, RICH).spent -= 1),
    'more was issued than the operator granted': (draft) => (draft.facts.granted[RICH.accountId] = 99),
    'an entry is missing': (draft) => account(draft, RICH).entries.splice(2, 1),
    'an entry says another balance': (draft) => (entry(draft, IDS.failed, 'hold').availableAfter += 1),
    'a release goes to the wrong book': (draft) => (entry(draft, IDS.failed, 'release').to = 'spent'),
    'an entry names another key than its generation': (draft) =>
      (the(entry(draft, IDS.succeeded, 'charge').attribution).credentialId = IDS.random),
    'a generation and its entries name a key that never sent it': (draft) => {
      record(draft, IDS.succeeded).credentialId = IDS.random;
      for (const kind of ['hold', 'charge'] as const)
        the(entry(draft, IDS.succeeded, kind).attribution).credentialId = IDS.random;
    },
    'an entry of a generation names no key': (draft) => delete entry(draft, IDS.succeeded, 'charge').attribution,
    'a client is shown a balance that never was': (draft) => {
      the(draft.exchanges.find(({ request }) => request.operation === 'credits')?.answered).answer = balance(55);
    },
    'a client is shown a balance of long ago': (draft) =>
      ask(draft, 'rich', QUIET_AT, { operation: 'credits' }, balance(100)),
    'a client is shown a balance before it is had': (draft) =>
      ask(draft, 'rich', 3_500, { operation: 'credits' }, balance(96)),
    'verify finds something': (draft) => draft.atRest.verifyFindings.push('Something.'),
  },
  24: {
    'a key spends more than its cap': (draft) =>
      (the(draft.facts.parties.find(({ name }) => name === 'poor')).monthlyCap = 1),
    'credits of a capped key count for no month': (draft) => {
      for (const { attribution } of account(draft, POOR).entries) delete attribution?.capPeriod;
    },
    'an account counts otherwise than its entries': (draft) =>
      (the(account(draft, POOR).capUses?.get(CAPPED.keyId)).used += 1),
  },
  2: {
    'a fraction of a credit moves': (draft) => (entry(draft, IDS.failed, 'hold').credits = 2.5),
    'more is held than there is': (draft) => (the(account(draft, POOR).entries[0]).credits = 1),
  },
  3: {
    'a generation reserves another price': (draft) => (record(draft, IDS.succeeded).reservedCredits = 3),
    'a generation is charged for more than it delivered': (draft) => (record(draft, IDS.succeeded).chargedCredits = 2),
    'a failed generation is charged': (draft) => (record(draft, IDS.failed).chargedCredits = 1),
    'a client sees another reserve later': (draft) =>
      Object.assign(dataOf(asked(draft, 'get', IDS.succeeded)), { estimated_credits: 3, reserved_credits: 3 }),
  },
  4: {
    'a generation has no hold': (draft) => (entry(draft, IDS.failed, 'hold').generationId = IDS.random),
    'a hold was released twice': (draft) =>
      account(draft, RICH).entries.push({ ...entry(draft, IDS.failed, 'release') }),
    'less was released than was left': (draft) => (entry(draft, IDS.failed, 'release').credits = 2),
  },
  5: {
    'a generation was charged twice': (draft) =>
      account(draft, RICH).entries.push({ ...entry(draft, IDS.succeeded, 'charge') }),
    'the ledger charged another amount': (draft) => (entry(draft, IDS.succeeded, 'charge').credits = 2),
    'credits were charged for what never was': (draft) =>
      (entry(draft, IDS.succeeded, 'charge').generationId = IDS.random),
  },
  6: {
    'credits are held at rest': (draft) =>
      account(draft, RICH).holds.set(IDS.random, { generationId: IDS.random, credits: 0, heldAt: 1 }),
    'a hold of what never was is not given back': (draft) =>
      account(draft, RICH).entries.push({ ...entry(draft, IDS.failed, 'hold'), generationId: IDS.random }),
    'a generation is not settled': (draft) => delete record(draft, IDS.failed).settledAt,
  },
};

export const VIEWS: Breaches = {
  7: {
    'an end changes': (draft) =>
      Object.assign(dataOf(asked(draft, 'get', IDS.failed)), { status: 'cancelled', error: undefined }),
    'an ended generation is leased': (draft) =>
      (record(draft, IDS.failed).lease = { worker: 'w', fence: 1, renewedAt: 1, expiresAt: 2 }),
    'two answers that overlap show two ends': (draft) => {
      const get = asked(draft, 'get', IDS.failed);
      draft.exchanges.push(structuredClone(get));
      Object.assign(dataOf(get), { status: 'cancelled', error: undefined });
    },
  },
  8: {
    'a status goes back': (draft) => {
      asked(draft, 'create', 'key-succeeded').sentAt = 1_900;
      asked(draft, 'create', 'key-succeeded').answered.at = 1_950;
    },
    'updated_at goes back': (draft) => {
      dataOf(asked(draft, 'get', IDS.succeeded, 1))['updated_at'] = new Date(1_000).toISOString();
      dataOf(asked(draft, 'create', 'key-succeeded'))['updated_at'] = new Date(1_001).toISOString();
    },
  },
  9: {
    'an ended task is to be polled': (draft) => (dataOf(asked(draft, 'get', IDS.succeeded))['poll_after_ms'] = 2_000),
    'a success has no outputs': (draft) => (dataOf(asked(draft, 'get', IDS.succeeded))['outputs'] = []),
    'an output has another size than was asked for': (draft) =>
      (the(record(draft, IDS.succeeded).outputs[0]).widthPx = 64),
    'a failure has no error on record': (draft) => delete record(draft, IDS.failed).error,
  },
  10: {
    'a generation cancelled while queued is charged': (draft) => (record(draft, IDS.cancelled).chargedCredits = 1),
    'a generation cancelled while queued was begun': (draft) => (record(draft, IDS.cancelled).attemptsMade = 1),
    'an attempt began after the cancel': (draft) => (the(record(draft, IDS.stopped).attempt).startedAt = 9_500),
    'an acknowledged cancel is forgotten': (draft) => delete record(draft, IDS.stopped).cancelRequestedAt,
    'nobody had asked for a cancel': (draft) =>
      (draft.exchanges = draft.exchanges.filter(
        ({ request }) => request.operation !== 'cancel' || request.generationId !== IDS.stopped,
      )),
  },
  15: {
    'the record has another error than was shown': (draft) =>
      (the(record(draft, IDS.failed).error).code = 'INTERNAL_ERROR'),
    'clients are shown one output of two': (draft) => {
      for (const { request, answered } of draft.exchanges)
        if (
          request.operation === 'get' &&
          request.generationId === IDS.poor &&
          Array.isArray(answered?.answer.data?.['outputs'])
        )
          answered.answer.data['outputs'].splice(1);
    },
    'the record ended at another time than was shown': (draft) => (record(draft, IDS.failed).completedAt = 5_999),
    'the record ended otherwise than clients were shown': (draft) => (record(draft, IDS.failed).status = 'cancelled'),
  },
  3: {
    'the record has another time of creation than was shown': (draft) => (record(draft, IDS.failed).createdAt = 4_999),
  },
};

export const KEYS: Breaches = {
  11: {
    'two processes made two generations of one key': (draft) =>
      ask(draft, 'rich', 950_000, asked(draft, 'create', 'key-failed').request, {
        status: 202,
        code: 'OK',
        data: { ...dataOf(asked(draft, 'create', 'key-failed')), generation_id: IDS.random },
      }),
    'a second generation stands under a key, untold': (draft) =>
      draft.atRest.generations.push({ ...record(draft, IDS.failed), generationId: IDS.random }),
    'a generation stands under a key that nobody sent': (draft) =>
      (record(draft, IDS.failed).clientTraceId = 'another'),
    'another payload succeeds': (draft) =>
      Object.assign(the(asked(draft, 'create', 'key-succeeded', 0).answered.answer), {
        status: 202,
        code: 'OK',
        data: dataOf(asked(draft, 'create', 'key-succeeded')),
      }),
    'the same payload is said to be another': (draft) =>
      (asked(draft, 'create', 'key-failed', 0).answered.answer = { status: 409, code: 'IDEMPOTENCY_PAYLOAD_MISMATCH' }),
    'a completion has two effects': (draft) =>
      ask(draft, 'rich', 800, asked(draft, 'complete', 'complete-1').request, {
        status: 200,
        code: 'OK',
        data: { ...dataOf(asked(draft, 'complete', 'complete-1')), media_id: IDS.random },
      }),
  },
  12: {
    'what was accepted is not there': (draft) =>
      (draft.atRest.generations = draft.atRest.generations.filter(({ generationId }) => generationId !== IDS.failed)),
    'a void stands where a generation was accepted': (draft) =>
      (draft.atRest.generations = draft.atRest.generations.map((each) =>
        each.generationId === IDS.failed
          ? { kind: 'void', generationId: IDS.failed, ...RICH, version: 1, createdAt: 1, dueAt: 1 }
          : each,
      )),
    'an owner is denied what it was shown': (draft) =>
      (asked(draft, 'get', IDS.failed).answered.answer = {
        status: 404,
        code: 'TASK_NOT_FOUND',
        message: 'TASK_NOT_FOUND',
      }),
    'an account is gone': (draft) => draft.atRest.accounts.pop(),
  },
  13: {
    'a refused create left a generation': (draft) =>
      draft.atRest.generations.push({
        ...record(draft, IDS.failed),
        ...POOR,
        generationId: IDS.random,
        clientTraceId: 'poor-2',
      }),
    'a refusal for want of credits was not true': (draft) =>
      (asked(draft, 'create', 'key-failed', 0).answered.answer = { status: 402, code: 'CREDITS_INSUFFICIENT' }),
    'a refusal for want of credits came after the want': (draft) => {
      wantUntil(draft, 15_000);
      ask(draft, 'rich', 19_000, asked(draft, 'create', 'key-failed').request, {
        status: 402,
        code: 'CREDITS_INSUFFICIENT',
      });
    },
    'fewer of a burst are accepted than can be paid': (draft) => (the(draft.facts.bursts[0]).balance = 5),
    'more of a burst are accepted than can be paid': (draft) =>
      Object.assign(the(draft.facts.bursts[0]), { balance: 1, isExact: false }),
  },
  20: {
    'a client never learns what became of its request': (draft) =>
      (asked(draft, 'create', 'poor-2').answered.answer = { status: 503, code: 'SERVICE_UNAVAILABLE' }),
  },
};

export const BYTES: Breaches = {
  14: {
    'outputs were written under a later fence than was given': (draft) => (record(draft, IDS.succeeded).fence = 0),
  },
  16: {
    'a ready upload has other bytes': (draft) => (the(upload(draft).stored).sha256 = 'd'.repeat(64)),
    'a ready upload has no bytes': (draft) => delete upload(draft).stored,
    'an upload is ready as what nobody sent': (draft) =>
      (draft.exchanges = draft.exchanges.filter(
        ({ request, answered }) => request.operation !== 'put' || answered?.answer.status !== 200,
      )),
    'a completion names another medium than is on record': (draft) =>
      (dataOf(asked(draft, 'complete', 'complete-1'))['media_id'] = IDS.random),
    'an upload said to be ready is not on record': (draft) => (draft.atRest.uploads = []),
    'a delivered output is not in the store': (draft) =>
      (draft.atRest.objects = draft.atRest.objects.filter(({ key }) => !key.includes(IDS.succeeded))),
    'a signed address gives other bytes': (draft) =>
      (the(asked(draft, 'fetch', IDS.succeeded).answered.answer.bytes).sha256 = 'd'.repeat(64)),
    'a signed address gives another type': (draft) =>
      (the(asked(draft, 'fetch', IDS.succeeded).answered.answer.bytes).contentType = 'text/html'),
    'a fresh signed address is refused': (draft) =>
      (asked(draft, 'fetch', IDS.succeeded).answered.answer = { status: 403 }),
  },
};

export const ENDS: Breaches = {
  12: {
    'what must succeed failed in calm': (draft) => fail(draft, IDS.poor, 'TASK_TIMEOUT'),
    'nobody ran it, though there was calm enough': (draft) => {
      fail(draft, IDS.poor, 'TASK_TIMEOUT', { runDeadlineAt: undefined, completedAt: 90_000 });
      draft.facts.bursts = [];
      draft.facts.troubles = [{ from: 20_000, until: 30_000 }];
    },
    'a burst at rest failed, whatever the trouble': (draft) => {
      fail(draft, IDS.poor, 'TASK_TIMEOUT');
      draft.facts.troubles = [{ from: 20_000, until: 30_000 }];
    },
    'what must succeed failed with what no trouble makes': (draft) => {
      fail(draft, IDS.poor, 'INTERNAL_ERROR');
      draft.facts.bursts = [];
      draft.facts.troubles = [{ from: 20_000, until: 30_000 }];
    },
    'fewer outputs were delivered than were asked for': (draft) => record(draft, IDS.poor).outputs.pop(),
    'it succeeded where it was asked to fail': (draft) => {
      const g = record(draft, IDS.failed);
      g.status = 'succeeded';
    },
    'it failed with another error than was asked for': (draft) =>
      (the(record(draft, IDS.failed).error).code = 'TASK_TIMEOUT'),
  },
};

export const ACCESS: Breaches = {
  17: {
    'a foreign id is answered otherwise than a random one': (draft) =>
      (asked(draft, 'get', IDS.random).answered.answer = {
        status: 404,
        code: 'TASK_NOT_FOUND',
        message: 'Never was.',
      }),
    'a stranger is shown a generation': (draft) => {
      const get = asked(draft, 'get', IDS.succeeded, 0);
      get.answered.answer = asked(draft, 'get', IDS.succeeded).answered.answer;
    },
    'a foreign upload is used': (draft) =>
      Object.assign(asked(draft, 'create', 'poor-1').request, {
        body: { client_trace_id: 'poor-1', reference_upload_ids: [IDS.upload] },
      }),
    'an answer is about another generation': (draft) =>
      (dataOf(asked(draft, 'get', IDS.failed))['generation_id'] = IDS.stopped),
  },
  18: {
    'a revoked key is answered after 5 seconds': (draft) =>
      (the(draft.exchanges.find(({ by, sentAt }) => by === 'leaver' && sentAt === 18_000)?.answered).answer =
        balance(99)),
    'a good key is refused': (draft) =>
      (asked(draft, 'get', IDS.failed).answered.answer = { status: 401, code: 'DEVELOPER_TOKEN_INVALID' }),
    'a key is refused before it was revoked': (draft) => (the(draft.facts.revocations[0]).askedAt = 50_000),
    'a log has a secret in it': (draft) =>
      draft.atRest.texts.push({ where: 'the log of worker-1', text: `Authorization: Bearer ${SECRET}` }),
    'an answer has a secret in it': (draft) =>
      (asked(draft, 'create', 'poor-2').answered.answer.message = `Not for ${SECRET}.`),
  },
  19: {
    'a fault is told as an internal error': (draft) =>
      (asked(draft, 'create', 'key-failed', 0).answered.answer = { status: 500, code: 'INTERNAL_ERROR' }),
    'a code has another status': (draft) => (asked(draft, 'create', 'key-failed', 0).answered.answer.status = 500),
    'a request did not arrive in time, in calm': (draft) =>
      (asked(draft, 'create', 'key-failed', 0).answered.answer = { status: 408, code: 'REQUEST_TIMEOUT' }),
  },
  20: {
    'a generation has not ended': (draft) => {
      const g = record(draft, IDS.failed);
      g.status = 'running';
      delete g.completedAt;
    },
    'a generation ended long after its deadline': (draft) =>
      (record(draft, IDS.failed).completedAt = QUIET_AT + 20_000),
  },
};
